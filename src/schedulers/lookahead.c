/* SPDX-License-Identifier: Apache-2.0
 *
 * HEFT with one step of lookahead (Bittencourt et al. 2010): the device after which the worst child
 * can finish soonest.
 */
#include "schedulers/plan_on_arrival.h"

static double child_finish(struct arrival_plan *f, const struct sy_view *view, uint32_t child) {
    const struct sy_machine *m = view->machine;
    double best = INFINITY, ready_ns = 0;
    uint32_t memory = SY_NONE, before;
    for (uint32_t d = 0; d < m->device_count; d++) {
        double ns = sy_arrival_length_ns(f, view, child, d);
        if (!isfinite(ns) || view->devices[d].lost) {
            continue;
        }
        if (m->devices[d].memory != memory) {
            memory = m->devices[d].memory;
            ready_ns = sy_draft_inputs_ns(&f->plan, view, child, memory);
        }
        best = fmin(best, sy_arrival_slot_ns(f, view, d, ready_ns, ns, &before) + ns);
    }
    return best;
}

static double lookahead_finish(struct arrival_plan *f, const struct sy_view *view, uint32_t task,
                               uint32_t device, double start_ns, double end_ns, uint32_t before) {
    double makespan_ns = f->plan.makespan_ns, worst = end_ns;
    sy_draft_place(&f->plan, task, device, start_ns, end_ns, before);
    for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
        worst = fmax(worst, child_finish(f, view, view->succ[e]));
    }
    sy_draft_remove(&f->plan, task);
    f->plan.makespan_ns = makespan_ns;
    return worst;
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    int code = sy_arrival_init(s, view, args, sizeof(struct arrival_plan));
    if (!code) {
        ((struct arrival_plan *)s->state)->score = lookahead_finish;
    }
    return code;
}

PLAN_ON_ARRIVAL(sy_policy_lookahead, "lookahead", "HEFT that looks one task ahead when it places",
                init);
