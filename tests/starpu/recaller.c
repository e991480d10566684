/* SPDX-License-Identifier: Apache-2.0
 *
 * A policy that changes its mind: each ready task is committed to the first device, and whenever
 * another one is idle, the last of these that has not begun is taken back for it.
 */
#include <stdlib.h>
#include <symph/scheduler.h>

struct recaller {
    uint32_t *ready, count;
    uint32_t next;  /* device of what was taken back last */
    uint8_t *asked; /* per task: a world need not give it back */
};

static int init(struct sy_scheduler *scheduler, const struct sy_view *view, const char *args) {
    (void)args;
    struct recaller *r = calloc(1, sizeof *r);
    scheduler->state = r;
    if (r == NULL) {
        return -12; /* -ENOMEM */
    }
    r->ready = calloc(view->task_capacity + 1u, sizeof *r->ready);
    r->asked = calloc(view->task_capacity + 1u, sizeof *r->asked);
    return r->ready && r->asked ? 0 : -12;
}

static void finish(struct sy_scheduler *scheduler) {
    struct recaller *r = scheduler->state;
    if (r) {
        free(r->ready);
        free(r->asked);
        free(r);
    }
}

static void task_ready(struct sy_scheduler *scheduler, const struct sy_view *view, uint32_t task) {
    struct recaller *r = scheduler->state;
    (void)view;
    r->ready[r->count++] = task;
}

static uint32_t idle_device(const struct sy_view *view) {
    for (uint32_t d = 1; d < view->machine->device_count; d++) {
        if (view->devices[d].running == SY_NONE && view->devices[d].queue_length == 0) {
            return d;
        }
    }
    return SY_NONE;
}

static uint32_t last_waiting(const struct recaller *r, const struct sy_view *view) {
    for (uint32_t t = view->task_capacity; t-- > 0;) {
        if (view->task_device[t] == 0 && view->task_state[t] == SY_TASK_READY && !r->asked[t]) {
            return t;
        }
    }
    return SY_NONE;
}

static uint32_t decide(struct sy_scheduler *scheduler, const struct sy_view *view,
                       struct sy_decision *ret, uint32_t capacity) {
    struct recaller *r = scheduler->state;
    (void)capacity;
    if (r->count) {
        uint32_t task = r->ready[--r->count];
        *ret = (struct sy_decision){.kind = SY_RUN,
                                    .task = task,
                                    .device = r->asked[task] ? r->next : 0,
                                    .expected_ns = view->best_ns[task]};
        return 1;
    }
    uint32_t device = idle_device(view);
    uint32_t task = device == SY_NONE ? SY_NONE : last_waiting(r, view);
    if (task == SY_NONE) {
        return 0;
    }
    r->next = device;
    r->asked[task] = 1;
    *ret = (struct sy_decision){.kind = SY_RECALL, .task = task, .device = 0};
    return 1;
}

static const struct sy_scheduler_ops recaller = {.name = "recaller",
                                                 .summary = "takes tasks back for idle devices",
                                                 .init = init,
                                                 .finish = finish,
                                                 .task_ready = task_ready,
                                                 .decide = decide};

SY_SCHEDULER_PLUGIN(recaller);
