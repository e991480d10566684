/* SPDX-License-Identifier: Apache-2.0
 *
 * A static schedule, and what an order of tasks with a device each comes to.
 *
 * In: workload, order, devices. Out: start and end of every task, the makespan. Never knows: how
 * the order was found. Invariant: a plan that evaluate accepted is feasible in the model.
 */
#include "bounds/timeline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int sy_schedule_init(struct sy_schedule *plan, uint32_t task_count) {
    size_t count = (size_t)task_count + 1;
    *plan = (struct sy_schedule){
        .task_count = task_count,
        .device = calloc(count, sizeof(*plan->device)),
        .start_ns = calloc(count, sizeof(*plan->start_ns)),
        .end_ns = calloc(count, sizeof(*plan->end_ns)),
    };
    if (plan->device == NULL || plan->start_ns == NULL || plan->end_ns == NULL) {
        sy_schedule_finish(plan);
        return -ENOMEM;
    }
    return 0;
}

void sy_schedule_finish(struct sy_schedule *plan) {
    free(plan->device);
    free(plan->start_ns);
    free(plan->end_ns);
    *plan = (struct sy_schedule){0};
}

void sy_schedule_copy(const struct sy_schedule *from, struct sy_schedule *ret_to) {
    SY_ASSERT(from->task_count == ret_to->task_count);
    memcpy(ret_to->device, from->device, from->task_count * sizeof(*from->device));
    memcpy(ret_to->start_ns, from->start_ns, from->task_count * sizeof(*from->start_ns));
    memcpy(ret_to->end_ns, from->end_ns, from->task_count * sizeof(*from->end_ns));
    ret_to->makespan_ns = from->makespan_ns;
}

struct timed_task {
    double start, end;
    uint32_t rank, task; /* rank: topological, so that tasks of no length stay in order */
};

static int compare_timed(const void *a, const void *b) {
    const struct timed_task *x = a, *y = b;
    int order = SY_ORDER(x->start, y->start);
    order = order ? order : SY_ORDER(x->end, y->end);
    return order ? order : SY_ORDER(x->rank, y->rank);
}

static int order_by_start(const struct sy_workload *workload, const struct sy_schedule *plan,
                          uint32_t *ret_order) {
    struct timed_task *timed = malloc(((size_t)plan->task_count + 1) * sizeof(*timed));
    if (timed == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < plan->task_count; i++) {
        uint32_t task = workload->order[i];
        timed[i] = (struct timed_task){plan->start_ns[task], plan->end_ns[task], i, task};
    }
    qsort(timed, plan->task_count, sizeof(*timed), compare_timed);
    for (uint32_t i = 0; i < plan->task_count; i++) {
        ret_order[i] = timed[i].task;
    }
    free(timed);
    return 0;
}

static bool inputs_done(const struct sy_workload *workload, const double *end, uint32_t task) {
    for (uint32_t e = workload->pred_start[task]; e < workload->pred_start[task + 1]; e++) {
        if (end[workload->pred[e]] < 0) {
            return false;
        }
    }
    return true;
}

/* One task onto the timeline. False if it cannot be there now. */
static bool place_task(const struct sy_bound_model *model, struct sy_timeline *line, bool insert,
                       uint32_t task, struct sy_schedule *plan) {
    uint32_t device = plan->device[task];
    if (device >= model->device_count || plan->end_ns[task] >= 0 ||
        !inputs_done(model->workload, plan->end_ns, task)) {
        return false;
    }
    const struct sy_device *where = &model->machine->devices[device];
    double time = sy_bound_time_ns(model, task, where->class_index);
    double ready = sy_bound_inputs_ns(model, plan->end_ns, plan->device, task, where->memory);
    uint32_t place = device;
    double start = insert ? sy_timeline_find(line, device, ready, time, &place)
                          : fmax(ready, line->free_ns[device]);
    if (!isfinite(start + time)) {
        return false;
    }
    sy_timeline_place(line, device, place, start, start + time);
    plan->start_ns[task] = start;
    plan->end_ns[task] = start + time;
    plan->makespan_ns = fmax(plan->makespan_ns, start + time);
    return true;
}

static int place_all(const struct sy_bound_model *model, const uint32_t *order, bool insert,
                     struct sy_schedule *plan) {
    struct sy_timeline line;
    int r = sy_timeline_init(&line, model, model->arena);
    for (uint32_t t = 0; t < plan->task_count; t++) {
        plan->end_ns[t] = -1;
    }
    for (uint32_t i = 0; r == 0 && i < plan->task_count; i++) {
        bool known = order[i] < plan->task_count;
        r = known && place_task(model, &line, insert, order[i], plan) ? 0 : -EINVAL;
    }
    return r;
}

int sy_schedule_evaluate(const struct sy_workload *workload, const uint32_t *order, bool insert,
                         struct sy_schedule *plan) {
    SY_ASSERT(plan->task_count == workload->task_count);
    uint32_t *sorted = malloc(((size_t)plan->task_count + 1) * sizeof(*sorted));
    struct sy_bound_model model = {0};
    struct sy_schedule work = {0};
    int r = sorted == NULL ? -ENOMEM : sy_schedule_init(&work, plan->task_count);
    if (r == 0) {
        r = sy_bound_model_init(&model, workload);
    }
    if (r == 0 && order == NULL) {
        r = order_by_start(workload, plan, sorted);
    }
    if (r == 0) {
        memcpy(work.device, plan->device, plan->task_count * sizeof(*plan->device));
        r = place_all(&model, order == NULL ? sorted : order, insert, &work);
    }
    if (r == 0) {
        sy_schedule_copy(&work, plan);
    }
    sy_bound_model_finish(&model);
    sy_schedule_finish(&work);
    free(sorted);
    return r;
}
