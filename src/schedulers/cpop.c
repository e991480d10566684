/* SPDX-License-Identifier: Apache-2.0
 *
 * CPOP (Topcuoglu et al. 2002): the critical path goes to the one device that runs all of it
 * soonest, the rest where it ends first.
 */
#include "schedulers/plan_on_arrival.h"
#include <errno.h>

struct cpop {
    struct arrival_plan base;
    double *down;   /* downward ranks */
    bool *critical; /* per task: on the critical path */
};

static uint32_t heaviest(const struct cpop *c, const uint32_t *tasks, uint32_t count) {
    uint32_t best = SY_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (best == SY_NONE || c->base.key[tasks[i]] > c->base.key[best]) {
            best = tasks[i];
        }
    }
    return best;
}

/* The critical path goes to the one device that runs all of it soonest. */
static void choose_critical_device(struct cpop *c, const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    double best = INFINITY;
    c->base.pinned_device = SY_NONE;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        double sum = view->devices[d].lost ? INFINITY : 0;
        for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
            sum += c->critical[t] ? sy_estimate_time_ns(view, t, d) : 0;
        }
        if (sum < best) {
            best = sum;
            c->base.pinned_device = d;
        }
    }
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        c->critical[t] &= c->base.pinned_device != SY_NONE;
    }
}

static void rank_critical(struct arrival_plan *f, const struct sy_view *view, uint32_t job) {
    struct cpop *c = (struct cpop *)f;
    const struct sy_view_job *j = &view->jobs[job];
    sy_rank_upward(&c->base.base, view, job, c->base.key);
    sy_rank_downward(&c->base.base, view, job, c->down);
    uint32_t at = SY_NONE;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        c->base.key[t] += c->down[t];
        c->critical[t] = false;
        bool entry = view->pred_start[t] == view->pred_start[t + 1];
        if (entry && (at == SY_NONE || c->base.key[t] > c->base.key[at])) {
            at = t;
        }
    }
    while (at != SY_NONE) {
        c->critical[at] = true;
        uint32_t first = view->succ_start[at];
        at = heaviest(c, view->succ + first, view->succ_start[at + 1] - first);
    }
    choose_critical_device(c, view, job);
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    int code = sy_arrival_init(s, view, args, sizeof(struct cpop));
    struct cpop *c = s->state;
    if (!code) {
        struct sy_arena *arena = c->base.base.arena;
        c->base.rank = rank_critical;
        c->down = sy_arena_alloc(arena, view->task_capacity + 1u, sizeof *c->down);
        c->critical = sy_arena_alloc(arena, view->task_capacity + 1u, sizeof *c->critical);
        c->base.pinned = c->critical;
        code = c->down && c->critical ? 0 : -ENOMEM;
    }
    return code;
}

PLAN_ON_ARRIVAL(sy_policy_cpop, "cpop", "plans each job with its critical path on one device",
                init);
