/* SPDX-License-Identifier: Apache-2.0
 *
 * Tetris (Grandl et al., SIGCOMM'14): an idle device takes the task whose demands fit best into
 * what is left of the machine: alignment of demand and free capacity, plus shortest remaining work.
 */
#include "schedulers/tetris.h"
#include <errno.h>

int sy_tetris_init(struct sy_scheduler *s, const struct sy_view *view, const char *args,
                   size_t size) {
    int code = sy_policy_init(s, view, args, size);
    if (code) {
        return code;
    }
    struct tetris *p = s->state;
    p->order = sy_arena_alloc(p->base.arena, view->task_capacity + 1u, sizeof *p->order);
    code = p->order ? 0 : -ENOMEM;
    code = code ? code : sy_pool_init(&p->ready, &p->base, view);
    return code ? code : sy_sharing_init(&p->sharing, p->base.arena, view);
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_tetris_init(s, view, args, sizeof(struct tetris));
}

void sy_tetris_job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct tetris *p = s->state;
    const struct sy_view_job *j = &view->jobs[job];
    sy_order_arrived(&p->base, view, job);
    sy_rank_upward(&p->base, view, job, p->base.rank);
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        p->order[t] = p->base.rank[t];
    }
}

void sy_tetris_task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct tetris *p = s->state;
    sy_pool_push(&p->ready, view, task, p->order[task]);
}

/* Larger is better: how fast this device is for the task, how well its traffic fits, and how
 * little its job has left. */
static double score(const struct tetris *p, const struct sy_view *view, uint32_t task,
                    uint32_t device) {
    struct sy_slowing slowing = sy_sharing_slowdown(&p->sharing, view, task, device);
    double fit = (view->best_ns[task] + 1) / (sy_estimate_time_ns(view, task, device) + 1);
    const struct sy_view_job *j = &view->jobs[view->task_job[task]];
    double remaining = (j->isolated_ns + 1) / (j->isolated_ns + j->work_left_ns + 1);
    double order = p->ordered ? p->order[task] / (p->order[task] + j->isolated_ns + 1) : 0;
    /* The harm is summed over all that run: it is no slowdown of one task. */
    return fit / (slowing.ratio + 0.1 * slowing.harm) + 0.3 * remaining + order;
}

static uint32_t draw(struct tetris *p, const struct sy_view *view) {
    uint32_t count = 0;
    while (count < TETRIS_WINDOW && p->ready.count) {
        uint32_t task = sy_pool_pop(&p->ready, &p->base, view);
        if (view->task_device[task] == SY_NONE) {
            p->window[count++] = task;
        }
    }
    return count;
}

static bool decide_for(struct tetris *p, const struct sy_view *view, uint32_t device,
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

uint32_t sy_tetris_decide(struct sy_scheduler *s, const struct sy_view *view,
                          struct sy_decision *ret, uint32_t capacity) {
    struct tetris *p = s->state;
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
          "packs demands into free capacity, short jobs first (Tetris-like)", init,
          sy_tetris_job_arrived, sy_tetris_task_ready, sy_tetris_decide, true);
