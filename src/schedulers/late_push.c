/* SPDX-License-Identifier: Apache-2.0
 *
 * Late binding: a task need not wait for a long one to end on a core, where the world lets it push
 * that aside. It does if its job loses more by waiting, in times alone, than the other's by
 * standing aside, and comes first by the order of jobs anyway. Between tasks of one job nothing is
 * pushed, nor without an order.
 */
#include "schedulers/late_binding.h"

#define PUSH_MOST 16 /* tasks of the window, from the first on */
/* Of a core, there and back, and what a task needs that lost its caches: */
#define SWITCH_NS 100e3

static double rest_ns(const struct sy_view *view, uint32_t device) {
    return view->devices[device].running_end_ns - view->now_ns;
}

/* What a job loses by a nanosecond more. */
static double dearness(const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    return (j->weight > 0 ? j->weight : 1) / sy_most(j->isolated_ns, 1);
}

/* While nothing becomes ready, waiting for what runs becomes cheaper, unless that is late. */
bool sy_late_may_push(struct late *l, const struct sy_view *view) {
    bool could = false, may = false;
    if (l->base.order == ORDER_NONE || l->mode.gate) {
        return false;
    }
    for (uint32_t d = 0; !may && d < view->machine->device_count; d++) {
        could |= view->devices[d].preemptible;
        may = view->devices[d].preemptible && (l->unseen || rest_ns(view, d) < 0);
    }
    l->unseen &= !could; /* else they are still to be looked at, when what pushed has ended */
    return may;
}

/* Gain over cost of pushing aside what runs there, in times alone; not positive: leave it. */
static double worth(const struct late *l, const struct sy_view *view, uint32_t task,
                    uint32_t device, double takes_ns) {
    uint32_t job = view->task_job[task], other = view->task_job[view->devices[device].running];
    double key = sy_order_job_key(&l->base, view, job);
    double other_key = sy_order_job_key(&l->base, view, other);
    if (job == other || !(key > other_key)) {
        return 0;
    }
    double sooner_ns = sy_least(l->mind_ns[task], 1e18) - view->now_ns - takes_ns;
    return sooner_ns * dearness(view, job) - takes_ns * dearness(view, other);
}

static struct late_choice best_push(const struct late *l, const struct sy_view *view,
                                    uint32_t task) {
    struct late_choice best = {.device = SY_NONE};
    uint32_t memory = SY_NONE;
    double travel_ns = 0, most = 0;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        double alone_ns = sy_estimate_time_ns(view, task, d);
        if (!view->devices[d].preemptible || !isfinite(alone_ns)) {
            continue;
        }
        if (view->machine->devices[d].memory != memory) {
            memory = view->machine->devices[d].memory;
            travel_ns = sy_late_inputs_ns(l, view, task, memory, false);
        }
        double gain = worth(l, view, task, d, travel_ns + alone_ns + SWITCH_NS);
        if (gain > most) {
            double exec_ns = sy_estimate_exec_ns(&l->base, view, task, d);
            most = gain;
            best = (struct late_choice){.device = d,
                                        .exec_ns = exec_ns,
                                        .finish_ns = view->now_ns + travel_ns + exec_ns,
                                        .travel_ns = travel_ns};
        }
    }
    return best;
}

/* One at a time: the world is asked again when it is under way. */
uint32_t sy_late_push(struct late *l, const struct sy_view *view, struct sy_decision *ret,
                      uint32_t capacity) {
    uint32_t kept = 0, count = 0;
    for (uint32_t i = 0; i < l->window_count; i++) {
        uint32_t task = l->window[i];
        struct late_choice choice = {.device = SY_NONE};
        if (!count && capacity && i < PUSH_MOST && l->mind_round[task] == l->decide_round &&
            view->task_state[task] == SY_TASK_READY) {
            choice = best_push(l, view, task);
        }
        if (choice.device == SY_NONE) {
            l->window[kept++] = task;
            continue;
        }
        sy_late_commit(l, view, task, &choice, ret);
        ret->kind = SY_PREEMPT;
        count = 1;
        l->unseen = true;
    }
    l->window_count = kept;
    return count;
}
