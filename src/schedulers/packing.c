/* SPDX-License-Identifier: Apache-2.0
 *
 * Packing: an idle device takes the task whose demands fit best into what is left of the machine.
 * tetris (Grandl et al., SIGCOMM'14): alignment of demand and free capacity, plus shortest
 * remaining work. graphene (OSDI'16): the same, after an order found offline in which troublesome
 * tasks (long, or hard to pack) and what leads to them come first; three thresholds are tried and
 * the order whose list schedule is shortest is kept.
 */
#include "schedulers/policy.h"
#include "schedulers/sharing.h"
#include <errno.h>

#define WINDOW     64
#define THRESHOLDS 3

struct packing {
    struct policy base;
    bool graphene;
    struct pool ready;
    struct sharing sharing;
    struct draft plan;
    double *order, *trial; /* per task: priority found offline */
    bool *troublesome;
    uint32_t *unplanned;
    struct pool queue;
    uint32_t window[WINDOW];
};

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args,
                bool graphene) {
    int code = sy_policy_init(s, view, args, sizeof(struct packing));
    if (code) {
        return code;
    }
    struct packing *p = s->state;
    struct policy plain = p->base;
    size_t tasks = view->task_capacity + 1u;
    p->graphene = graphene;
    plain.order = ORDER_NONE;
    p->order = sy_arena_alloc(p->base.arena, tasks, sizeof *p->order);
    p->trial = sy_arena_alloc(p->base.arena, tasks, sizeof *p->trial);
    p->troublesome = sy_arena_alloc(p->base.arena, tasks, sizeof *p->troublesome);
    p->unplanned = sy_arena_alloc(p->base.arena, tasks, sizeof *p->unplanned);
    code = p->order && p->trial && p->troublesome && p->unplanned ? 0 : -ENOMEM;
    code = code ? code : sy_pool_init(&p->ready, &p->base, view);
    code = code ? code : sy_pool_init(&p->queue, &plain, view);
    code = code ? code : sy_sharing_init(&p->sharing, p->base.arena, view);
    return code ? code : sy_draft_take(&p->plan, p->base.arena, view);
}

static int init_tetris(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return init(s, view, args, false);
}

static int init_graphene(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return init(s, view, args, true);
}

/* --- graphene's offline order -------------------------------------------------------------------
 */
/* Share of the tasks' time above which a task is long: the threshold-th part of the longest. */
static void mark_troublesome(struct packing *p, const struct sy_view *view, uint32_t job,
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

static double list_schedule(struct packing *p, const struct sy_view *view, uint32_t job) {
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
    while ((task = sy_pool_pop(&p->queue, &p->base, view)) != SY_NONE) {
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
            while (sy_pool_pop(&p->queue, &p->base, view) != SY_NONE) {
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

static void find_order(struct packing *p, const struct sy_view *view, uint32_t job) {
    static const double thresholds[THRESHOLDS] = {0.9, 0.5, 0.2};
    const struct sy_view_job *j = &view->jobs[job];
    double best = INFINITY, top = 0;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        top = fmax(top, p->base.rank[t]);
    }
    for (int i = 0; i < THRESHOLDS; i++) {
        mark_troublesome(p, view, job, thresholds[i]);
        for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
            p->trial[t] = p->base.rank[t] + (p->troublesome[t] ? top : 0);
        }
        double length = list_schedule(p, view, job);
        if (length < best || i == 0) {
            best = length;
            for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
                p->order[t] = p->trial[t];
            }
        }
    }
}

/* --- online
 * ---------------------------------------------------------------------------------------- */
static void job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct packing *p = s->state;
    const struct sy_view_job *j = &view->jobs[job];
    sy_order_arrived(&p->base, view, job);
    sy_rank_upward(&p->base, view, job, p->base.rank);
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        p->order[t] = p->base.rank[t];
    }
    if (p->graphene) {
        find_order(p, view, job);
    }
}

static void task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct packing *p = s->state;
    sy_pool_push(&p->ready, view, task, p->order[task]);
}

/* Larger is better: how fast this device is for the task, how well its traffic fits, and how
 * little its job has left. */
static double score(const struct packing *p, const struct sy_view *view, uint32_t task,
                    uint32_t device) {
    struct sy_slowing slowing = sy_sharing_slowdown(&p->sharing, view, task, device);
    double fit = (view->best_ns[task] + 1) / (sy_estimate_time_ns(view, task, device) + 1);
    const struct sy_view_job *j = &view->jobs[view->task_job[task]];
    double remaining = (j->isolated_ns + 1) / (j->isolated_ns + j->work_left_ns + 1);
    double order = p->graphene ? p->order[task] / (p->order[task] + j->isolated_ns + 1) : 0;
    /* The harm is summed over all that run: it is no slowdown of one task. */
    return fit / (slowing.ratio + 0.1 * slowing.harm) + 0.3 * remaining + order;
}

static uint32_t draw(struct packing *p, const struct sy_view *view) {
    uint32_t count = 0;
    while (count < WINDOW && p->ready.count) {
        uint32_t task = sy_pool_pop(&p->ready, &p->base, view);
        if (view->task_device[task] == SY_NONE) {
            p->window[count++] = task;
        }
    }
    return count;
}

static bool decide_for(struct packing *p, const struct sy_view *view, uint32_t device,
                       struct sy_decision *ret) {
    uint32_t count = draw(p, view), best = SY_NONE;
    double best_score = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t task = p->window[i];
        bool can = isfinite(sy_estimate_time_ns(view, task, device));
        /* Under a job order packing chooses within the job that comes first. */
        bool later = p->base.order != ORDER_NONE && best != SY_NONE &&
                     view->task_job[task] != view->task_job[best];
        if (can && !later) {
            double value = score(p, view, task, device);
            best = value > best_score ? task : best;
            best_score = fmax(best_score, value);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (p->window[i] != best) {
            sy_pool_push(&p->ready, view, p->window[i], p->order[p->window[i]]);
        }
    }
    if (best == SY_NONE) {
        return false;
    }
    double exec_ns = sy_estimate_exec_ns(&p->base, view, best, device);
    sy_order_charge(&p->base, view, best, exec_ns);
    *ret = (struct sy_decision){
        .kind = SY_RUN, .task = best, .device = device, .expected_ns = exec_ns};
    return true;
}

static uint32_t decide(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                       uint32_t capacity) {
    struct packing *p = s->state;
    (void)capacity;
    if (!p->ready.count) {
        return 0;
    }
    sy_sharing_update(&p->sharing, view);
    for (uint32_t d = view->machine->device_count; d-- > 0;) {
        const struct sy_view_device *v = &view->devices[d];
        if (v->running == SY_NONE && !v->queue_length && !v->lost && decide_for(p, view, d, ret)) {
            return 1;
        }
    }
    return 0;
}

SY_POLICY(sy_policy_tetris, "tetris",
          "packs demands into free capacity, short jobs first (Tetris-like)", init_tetris, true);
SY_POLICY(sy_policy_graphene, "graphene", "troublesome tasks first, then packing (Graphene-like)",
          init_graphene, true);
