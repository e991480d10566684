/* SPDX-License-Identifier: Apache-2.0
 *
 * What the policies share that place a task the moment it is ready; see place_when_ready.h.
 */
#include "schedulers/place_when_ready.h"
#include <errno.h>

struct sy_choice sy_when_ready_on(struct when_ready *w, const struct sy_view *view, uint32_t task,
                                  uint32_t device) {
    double exec_ns = sy_estimate_exec_ns(&w->base, view, task, device);
    return (struct sy_choice){device, 0, exec_ns};
}

bool sy_when_ready_can(const struct sy_view *view, uint32_t task, uint32_t device) {
    return isfinite(sy_estimate_time_ns(view, task, device)) && !view->devices[device].lost;
}

int sy_when_ready_init(struct sy_scheduler *s, const struct sy_view *view, const char *args,
                       sy_when_ready_choose *choose, bool ranked, bool history) {
    int code = sy_policy_init(s, view, args, sizeof(struct when_ready));
    if (code) {
        return code;
    }
    struct when_ready *w = s->state;
    w->choose = choose;
    w->ranked = ranked;
    code = sy_pool_init(&w->ready, &w->base, view);
    return !code && history ? sy_policy_use_drift(&w->base, view) : code;
}

void sy_when_ready_job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct when_ready *w = s->state;
    sy_order_arrived(&w->base, view, job);
    if (w->ranked) {
        sy_rank_upward(&w->base, view, job, w->base.rank);
    }
}

void sy_when_ready_task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct when_ready *w = s->state;
    sy_pool_push(&w->ready, view, task, w->ranked ? w->base.rank[task] : -w->arrivals++);
}

/* One decision a call: the next choice must see the queue that this one makes longer. */
uint32_t sy_when_ready_decide(struct sy_scheduler *s, const struct sy_view *view,
                              struct sy_decision *ret, uint32_t capacity) {
    struct when_ready *w = s->state;
    (void)capacity;
    uint32_t task = sy_pool_peek(&w->ready, &w->base, view);
    if (task == SY_NONE) {
        return 0;
    }
    struct sy_choice choice = w->choose(w, view, task);
    if (choice.device == SY_NONE) {
        return 0; /* every device that could is lost: wait for one */
    }
    sy_pool_pop(&w->ready, &w->base, view);
    double key = w->ranked ? w->base.rank[task] : 0;
    *ret = (struct sy_decision){.kind = SY_RUN,
                                .task = task,
                                .device = choice.device,
                                .priority = sy_order_priority(&w->base, view, task, key),
                                .expected_ns = choice.exec_ns};
    sy_order_charge(&w->base, view, task, choice.exec_ns);
    return 1;
}
