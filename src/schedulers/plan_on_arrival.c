/* SPDX-License-Identifier: Apache-2.0
 *
 * What the policies share that plan a whole job when it arrives; see plan_on_arrival.h.
 */
#include "schedulers/plan_on_arrival.h"
#include <errno.h>

double sy_arrival_length_ns(const struct arrival_plan *f, const struct sy_view *view, uint32_t task,
                            uint32_t device) {
    double ns = sy_estimate_time_ns(view, task, device);
    uint32_t board = view->machine->devices[device].board;
    if (board != SY_NONE) {
        uint32_t last = f->plan.last[device], kernel = view->task_kernel[task];
        uint32_t image =
            last == SY_NONE ? view->devices[device].last_image : view->task_kernel[last];
        if (image != kernel) {
            ns += view->image_ns[(size_t)kernel * view->machine->board_count + board];
        }
    }
    return ns;
}

/* Start on a device; regions take tasks at the end only, so that images change as planned. */
double sy_arrival_slot_ns(const struct arrival_plan *f, const struct sy_view *view, uint32_t device,
                          double ready_ns, double ns, uint32_t *ret_before) {
    if (view->machine->devices[device].board == SY_NONE) {
        return sy_draft_slot_ns(&f->plan, device, ready_ns, ns, ret_before);
    }
    uint32_t last = f->plan.last[device];
    *ret_before = last;
    double open = last == SY_NONE ? f->plan.base_ns[device] : f->plan.end_ns[last];
    return fmax(ready_ns, open);
}

static void place_task(struct arrival_plan *f, const struct sy_view *view, uint32_t task) {
    const struct sy_machine *m = view->machine;
    uint32_t best = SY_NONE, best_before = SY_NONE, memory = SY_NONE;
    double best_score = INFINITY, best_start = 0, best_end = 0, ready_ns = 0;
    for (uint32_t d = 0; d < m->device_count; d++) {
        double ns = sy_arrival_length_ns(f, view, task, d);
        if (!isfinite(ns) || view->devices[d].lost ||
            (f->pinned && f->pinned[task] && d != f->pinned_device)) {
            continue;
        }
        if (m->devices[d].memory != memory) {
            memory = m->devices[d].memory;
            ready_ns = sy_draft_inputs_ns(&f->plan, view, task, memory);
        }
        uint32_t before;
        double start = sy_arrival_slot_ns(f, view, d, ready_ns, ns, &before);
        double score = f->score(f, view, task, d, start, start + ns, before);
        if (score < best_score || (score == best_score && start + ns < best_end)) {
            best = d;
            best_before = before;
            best_score = score;
            best_start = start;
            best_end = start + ns;
        }
    }
    if (best != SY_NONE) {
        sy_draft_place(&f->plan, task, best, best_start, best_end, best_before);
        f->emit[f->emit_count++] = task;
    }
}

static void plan_job(struct arrival_plan *f, const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    sy_draft_begin(&f->plan, view);
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        if (sy_draft_settled(view, t)) {
            sy_draft_settle(&f->plan, view, t);
            continue;
        }
        f->unplanned[t] = sy_draft_unplanned(view, t);
        if (!f->unplanned[t]) {
            sy_pool_push(&f->queue, view, t, f->key[t]);
        }
    }
    uint32_t task;
    while ((task = sy_pool_pop(&f->queue, &f->base, view)) != SY_NONE) {
        place_task(f, view, task);
        for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
            uint32_t next = view->succ[e];
            if (--f->unplanned[next] == 0) {
                sy_pool_push(&f->queue, view, next, f->key[next]);
            }
        }
    }
    sy_draft_keep(&f->plan, view);
}

static void rank_upward(struct arrival_plan *f, const struct sy_view *view, uint32_t job) {
    sy_rank_upward(&f->base, view, job, f->key);
}

static double earliest_finish(struct arrival_plan *f, const struct sy_view *view, uint32_t task,
                              uint32_t device, double start_ns, double end_ns, uint32_t before) {
    (void)f, (void)view, (void)task, (void)device, (void)start_ns, (void)before;
    return end_ns;
}

int sy_arrival_init(struct sy_scheduler *s, const struct sy_view *view, const char *args,
                    size_t size) {
    int code = sy_policy_init(s, view, args, size);
    if (code) {
        return code;
    }
    struct arrival_plan *f = s->state;
    size_t tasks = view->task_capacity + 1u;
    struct policy plain = f->base; /* planning goes by key alone, whatever the job order */
    plain.order = ORDER_NONE;
    f->rank = rank_upward;
    f->score = earliest_finish;
    f->unplanned = sy_arena_alloc(f->base.arena, tasks, sizeof *f->unplanned);
    f->emit = sy_arena_alloc(f->base.arena, tasks, sizeof *f->emit);
    f->key = sy_arena_alloc(f->base.arena, tasks, sizeof *f->key);
    code = f->unplanned && f->emit && f->key ? 0 : -ENOMEM;
    code = code ? code : sy_pool_init(&f->queue, &plain, view);
    code = code ? code : sy_pool_init(&f->ready, &f->base, view);
    return code ? code : sy_draft_take(&f->plan, f->base.arena, view);
}

void sy_arrival_job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct arrival_plan *f = s->state;
    if (f->emit_next == f->emit_count) {
        f->emit_count = f->emit_next = 0;
    }
    uint32_t first = f->emit_count;
    sy_order_arrived(&f->base, view, job);
    f->rank(f, view, job);
    plan_job(f, view, job);
    /* An idle device takes what comes first: a task planned into a gap must not come later. */
    sy_draft_sort(f->emit + first, f->emit_count - first, f->plan.start_ns, f->plan.end_ns,
                  f->unplanned);
    if (f->base.order != ORDER_NONE) {
        f->emit_count = f->emit_next; /* committed one by one, when ready */
    }
}

void sy_arrival_forget(struct sy_scheduler *s, const struct sy_view *view) {
    struct arrival_plan *f = s->state;
    f->emit_count = f->emit_next = 0;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        f->plan.planned_ns[d] = 0;
    }
    while (sy_pool_pop(&f->ready, &f->base, view) != SY_NONE) {
    }
}

void sy_arrival_task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct arrival_plan *f = s->state;
    sy_pool_push(&f->ready, view, task, -f->plan.start_ns[task]);
}

static bool commit_planned(struct arrival_plan *f, const struct sy_view *view, uint32_t task,
                           struct sy_decision *ret) {
    uint32_t device = f->plan.device[task];
    double exec_ns = sy_estimate_time_ns(view, task, device);
    if (view->devices[device].lost || !isfinite(exec_ns)) {
        struct sy_choice choice = sy_estimate_earliest(&f->base, view, task);
        device = choice.device;
        exec_ns = choice.exec_ns;
    }
    if (device == SY_NONE) {
        return false;
    }
    *ret = (struct sy_decision){.kind = SY_RUN,
                                .task = task,
                                .device = device,
                                .priority =
                                    sy_order_planned(&f->base, view, task, f->plan.start_ns[task]),
                                .expected_ns = exec_ns};
    return true;
}

uint32_t sy_arrival_decide(struct sy_scheduler *s, const struct sy_view *view,
                           struct sy_decision *ret, uint32_t capacity) {
    struct arrival_plan *f = s->state;
    uint32_t count = 0;
    while (count < capacity && f->emit_next < f->emit_count) {
        uint32_t planned = f->emit[f->emit_next++];
        count += sy_task_open(view, planned) && commit_planned(f, view, planned, &ret[count]);
    }
    uint32_t task;
    while (!count && (task = sy_pool_peek(&f->ready, &f->base, view)) != SY_NONE) {
        if (view->task_device[task] == SY_NONE) {
            if (!commit_planned(f, view, task, ret)) {
                return 0;
            }
            count = 1;
        }
        sy_pool_pop(&f->ready, &f->base, view);
        if (count) { /* not before the pop: it changes which job comes first */
            sy_order_charge(&f->base, view, task, ret->expected_ns);
        }
    }
    return count;
}
