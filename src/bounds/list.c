/* SPDX-License-Identifier: Apache-2.0
 *
 * List scheduling with insertion (HEFT's second half: Topcuoglu, Hariri, Wu 2002, section 4.2).
 *
 * In: priorities and handicaps. Out: a schedule. Never knows: the search around it. Invariant:
 * ties break by task and device index, so equal inputs give equal schedules.
 */
#include "bounds/list.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static void fill_below(struct sy_list *list) {
    const struct sy_workload *workload = list->model->workload;
    for (uint32_t i = list->model->task_count; i-- > 0;) {
        uint32_t task = workload->order[i];
        double below = 0;
        for (uint32_t e = workload->succ_start[task]; e < workload->succ_start[task + 1]; e++) {
            uint32_t next = workload->succ[e];
            below = fmax(below, workload->best_ns[next] + list->below_ns[next]);
        }
        list->below_ns[task] = below;
    }
}

int sy_list_init(struct sy_list *list, const struct sy_bound_model *model, struct sy_arena *arena) {
    size_t tasks = (size_t)model->task_count + 1;
    *list = (struct sy_list){
        .model = model,
        .waiting = sy_arena_alloc(arena, tasks, sizeof(uint32_t)),
        .ready.entries = sy_arena_alloc(arena, tasks, sizeof(struct sy_heap_entry)),
        .below_ns = sy_arena_alloc(arena, tasks, sizeof(double)),
        .arrival_ns = sy_arena_alloc(arena, model->memory_count, sizeof(double)),
        .device = sy_arena_alloc(arena, tasks, sizeof(uint32_t)),
        .start_ns = sy_arena_alloc(arena, tasks, sizeof(double)),
        .end_ns = sy_arena_alloc(arena, tasks, sizeof(double)),
    };
    if (list->waiting == NULL || list->ready.entries == NULL || list->below_ns == NULL ||
        list->arrival_ns == NULL || list->device == NULL || list->start_ns == NULL ||
        list->end_ns == NULL || sy_timeline_init(&list->line, model, arena) < 0) {
        return -ENOMEM;
    }
    fill_below(list);
    return 0;
}

static void push(struct sy_list *list, const double *priority, uint32_t task) {
    sy_heap_push(&list->ready, (struct sy_heap_entry){-priority[task], task, task});
}

static void start_over(struct sy_list *list, const double *priority) {
    const struct sy_workload *workload = list->model->workload;
    sy_timeline_clear(&list->line);
    list->ready.count = 0;
    for (uint32_t t = 0; t < list->model->task_count; t++) {
        list->waiting[t] = workload->pred_start[t + 1] - workload->pred_start[t];
        if (list->waiting[t] == 0) {
            push(list, priority, t);
        }
    }
}

static void fill_arrivals(struct sy_list *list, uint32_t task) {
    const struct sy_bound_model *model = list->model;
    const struct sy_workload *workload = model->workload;
    const uint32_t memories = model->memory_count;
    double *arrival = list->arrival_ns;
    memcpy(arrival, &model->release_ns[(size_t)task * memories], memories * sizeof(*arrival));
    for (uint32_t e = workload->pred_start[task]; e < workload->pred_start[task + 1]; e++) {
        uint32_t producer = workload->pred[e];
        size_t row = (size_t)model->machine->devices[list->device[producer]].memory * memories;
        double end = list->end_ns[producer], bytes = model->edge_bytes[e];
        for (uint32_t m = 0; m < memories; m++) {
            double hop =
                bytes > 0 ? model->latency_ns[row + m] + bytes * model->ns_per_byte[row + m] : 0;
            arrival[m] = end + hop > arrival[m] ? end + hop : arrival[m];
        }
    }
}

/* Puts the task where it ends first, handicap included. Returns its end; INFINITY: nowhere. */
static double place(struct sy_list *list, uint32_t task, const double *handicap_ns) {
    const struct sy_bound_model *model = list->model;
    double best_value = INFINITY, best_start = 0, best_end = INFINITY;
    uint32_t best_device = SY_NONE, best_place = 0;
    fill_arrivals(list, task);
    for (uint32_t d = 0; d < model->device_count; d++) {
        const struct sy_device *device = &model->machine->devices[d];
        double time = sy_bound_time_ns(model, task, device->class_index);
        double bias = handicap_ns == NULL ? 0 : handicap_ns[device->class_index];
        double ready = list->arrival_ns[device->memory];
        if (!(ready + time + bias < best_value)) {
            continue;
        }
        uint32_t gap;
        double start = sy_timeline_find(&list->line, d, ready, time, &gap);
        if (start + time + bias < best_value) {
            best_value = start + time + bias;
            best_start = start;
            best_end = start + time;
            best_device = d;
            best_place = gap;
        }
    }
    if (best_device != SY_NONE) {
        sy_timeline_place(&list->line, best_device, best_place, best_start, best_end);
        list->device[task] = best_device;
        list->start_ns[task] = best_start;
        list->end_ns[task] = best_end;
    }
    return best_end;
}

double sy_list_run(struct sy_list *list, const double *priority, const double *handicap_ns,
                   double limit_ns) {
    const struct sy_workload *workload = list->model->workload;
    const uint32_t classes = list->model->class_count;
    double makespan = 0;
    start_over(list, priority);
    while (list->ready.count > 0) {
        uint32_t task = sy_heap_take(&list->ready, 0).item;
        double end = place(list, task, handicap_ns ? &handicap_ns[(size_t)task * classes] : NULL);
        if (!(end + list->below_ns[task] <= limit_ns)) {
            return INFINITY;
        }
        makespan = end > makespan ? end : makespan;
        for (uint32_t e = workload->succ_start[task]; e < workload->succ_start[task + 1]; e++) {
            if (--list->waiting[workload->succ[e]] == 0) {
                push(list, priority, workload->succ[e]);
            }
        }
    }
    return makespan;
}
