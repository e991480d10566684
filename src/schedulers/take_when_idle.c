/* SPDX-License-Identifier: Apache-2.0
 *
 * What the policies share in which an idle device takes a task; see take_when_idle.h.
 */
#include "schedulers/take_when_idle.h"
#include <errno.h>

int sy_when_idle_init(struct sy_scheduler *s, const struct sy_view *view, const char *args,
                      sy_when_idle_key *key) {
    int code = sy_policy_init(s, view, args, sizeof(struct when_idle));
    if (code) {
        return code;
    }
    struct when_idle *w = s->state;
    w->key = key;
    uint32_t classes = view->machine->class_count;
    w->pools = sy_arena_alloc(w->base.arena, classes, sizeof *w->pools);
    for (uint32_t c = 0; w->pools && !code && c < classes; c++) {
        code = sy_pool_init(&w->pools[c], &w->base, view);
    }
    return w->pools ? code : -ENOMEM;
}

void sy_when_idle_job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct when_idle *w = s->state;
    sy_order_arrived(&w->base, view, job);
    sy_rank_upward(&w->base, view, job, w->base.rank);
}

void sy_when_idle_task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct when_idle *w = s->state;
    uint32_t classes = view->machine->class_count;
    w->waiting++;
    w->arrivals++;
    for (uint32_t c = 0; c < classes; c++) {
        if (isfinite(view->time_ns[(size_t)task * classes + c])) {
            sy_pool_push(&w->pools[c], view, task, w->key(w, view, task, c));
        }
    }
}

static uint32_t take(struct when_idle *w, const struct sy_view *view, uint32_t class_index) {
    struct pool *pool = &w->pools[class_index];
    uint32_t task;
    do {
        task = sy_pool_pop(pool, &w->base, view);
    } while (task != SY_NONE &&
             (view->task_device[task] != SY_NONE || view->task_state[task] != SY_TASK_READY));
    return task;
}

static bool is_idle(const struct sy_view *view, uint32_t device) {
    const struct sy_view_device *d = &view->devices[device];
    return d->running == SY_NONE && d->queue_length == 0 && !d->lost;
}

/* Accelerators choose before CPU cores, as StarPU's drivers tend to. */
uint32_t sy_when_idle_decide(struct sy_scheduler *s, const struct sy_view *view,
                             struct sy_decision *ret, uint32_t capacity) {
    struct when_idle *w = s->state;
    const struct sy_machine *m = view->machine;
    (void)capacity;
    for (uint32_t d = m->device_count; w->waiting && d-- > 0;) {
        uint32_t class_index = m->devices[d].class_index;
        if (!is_idle(view, d) || !w->pools[class_index].count) {
            continue;
        }
        uint32_t task = take(w, view, class_index);
        if (task == SY_NONE) {
            continue;
        }
        w->waiting--;
        double exec_ns = sy_estimate_exec_ns(&w->base, view, task, d);
        sy_order_charge(&w->base, view, task, exec_ns);
        *ret =
            (struct sy_decision){.kind = SY_RUN, .task = task, .device = d, .expected_ns = exec_ns};
        return 1;
    }
    return 0;
}
