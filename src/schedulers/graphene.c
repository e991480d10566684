/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphene (Grandl et al., OSDI'16): Tetris, after an order found when a job arrives in which
 * troublesome tasks (long, or hard to pack) and what leads to them come first; three thresholds are
 * tried and the order whose list schedule is shortest is kept.
 */
#include "schedulers/tetris.h"
#include <errno.h>

#define THRESHOLDS 3

struct graphene {
    struct tetris base;
    struct draft plan;
    double *trial; /* per task: an order that is tried */
    bool *troublesome;
    uint32_t *unplanned;
    struct pool queue;
};

/* Share of the tasks' time above which a task is long: the threshold-th part of the longest. */
static void mark_troublesome(struct graphene *p, const struct sy_view *view, uint32_t job,
                             double threshold) {
    const struct sy_view_job *j = &view->jobs[job];
    double longest = 0;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        longest = fmax(longest, view->best_ns[t]);
    }
    for (uint32_t i = j->first_task + j->task_count; i-- > j->first_task;) {
        uint32_t task = view->order[i];
        bool leads = view->best_ns[task] >= threshold * longest;
        for (uint32_t e = view->succ_start[task]; !leads && e < view->succ_start[task + 1]; e++) {
            leads = p->troublesome[view->succ[e]];
        }
        p->troublesome[task] = leads;
    }
}

static double list_schedule(struct graphene *p, const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    const struct sy_machine *m = view->machine;
    sy_draft_begin(&p->plan, view);
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        p->unplanned[t] = view->pred_start[t + 1] - view->pred_start[t];
        if (!p->unplanned[t]) {
            sy_pool_push(&p->queue, view, t, p->trial[t]);
        }
    }
    uint32_t task;
    while ((task = sy_pool_pop(&p->queue, &p->base.base, view)) != SY_NONE) {
        uint32_t best = SY_NONE, best_before = SY_NONE, before;
        double best_end = INFINITY;
        for (uint32_t d = 0; d < m->device_count; d++) {
            double ns = sy_estimate_time_ns(view, task, d);
            double ready = sy_draft_inputs_ns(&p->plan, view, task, m->devices[d].memory);
            double end = sy_draft_slot_ns(&p->plan, d, ready, ns, &before) + ns;
            if (end < best_end) {
                best = d;
                best_end = end;
                best_before = before;
            }
        }
        if (best == SY_NONE) {
            while (sy_pool_pop(&p->queue, &p->base.base, view) != SY_NONE) {
            }
            return INFINITY;
        }
        sy_draft_place(&p->plan, task, best, best_end - sy_estimate_time_ns(view, task, best),
                       best_end, best_before);
        for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
            if (--p->unplanned[view->succ[e]] == 0) {
                sy_pool_push(&p->queue, view, view->succ[e], p->trial[view->succ[e]]);
            }
        }
    }
    return p->plan.makespan_ns;
}

static void find_order(struct graphene *p, const struct sy_view *view, uint32_t job) {
    static const double thresholds[THRESHOLDS] = {0.9, 0.5, 0.2};
    const struct sy_view_job *j = &view->jobs[job];
    double best = INFINITY, top = 0;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        top = fmax(top, p->base.base.rank[t]);
    }
    for (int i = 0; i < THRESHOLDS; i++) {
        mark_troublesome(p, view, job, thresholds[i]);
        for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
            p->trial[t] = p->base.base.rank[t] + (p->troublesome[t] ? top : 0);
        }
        double length = list_schedule(p, view, job);
        if (length < best || i == 0) {
            best = length;
            for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
                p->base.order[t] = p->trial[t];
            }
        }
    }
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    int code = sy_tetris_init(s, view, args, sizeof(struct graphene));
    if (code) {
        return code;
    }
    struct graphene *p = s->state;
    struct policy plain = p->base.base; /* planning goes by key alone, whatever the job order */
    size_t tasks = view->task_capacity + 1u;
    plain.order = ORDER_NONE;
    p->base.ordered = true;
    p->trial = sy_arena_alloc(plain.arena, tasks, sizeof *p->trial);
    p->troublesome = sy_arena_alloc(plain.arena, tasks, sizeof *p->troublesome);
    p->unplanned = sy_arena_alloc(plain.arena, tasks, sizeof *p->unplanned);
    code = p->trial && p->troublesome && p->unplanned ? 0 : -ENOMEM;
    code = code ? code : sy_pool_init(&p->queue, &plain, view);
    return code ? code : sy_draft_take(&p->plan, plain.arena, view);
}

static void job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    sy_tetris_job_arrived(s, view, job);
    find_order(s->state, view, job);
}

SY_POLICY(sy_policy_graphene, "graphene", "troublesome tasks first, then packing (Graphene-like)",
          init, job_arrived, sy_tetris_task_ready, sy_tetris_decide, true);
