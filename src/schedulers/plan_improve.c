/* SPDX-License-Identifier: Apache-2.0
 *
 * A short local search that starts from the best draft. The state is an order of the tasks and a
 * group of equal devices for each; tasks go, in that order, to the device of their group that is
 * free first. A trial moves one task in the order or to another group, mostly one of those that the
 * makespan waits for, and plans anew from the first place that changed; it ends as soon as it must
 * fail. What a trial may cost is counted in tasks planned: a policy cannot see the clock.
 */
#include "schedulers/plan_portfolio.h"
#include <errno.h>
#include <string.h>

#define HEAT       2e-4 /* of the makespan: how much worse a trial may be, at first */
#define CRITICAL   0.75 /* share of moves of a task that the makespan waits for */
#define REGROUP    0.5  /* share of moves to another group */
#define CHAIN_MOST 256

static bool init_groups(struct search *s, struct sy_arena *arena, const struct sy_machine *m) {
    uint32_t devices = m->device_count, filled = 0;
    s->group_first = sy_arena_alloc(arena, devices + 1u, sizeof *s->group_first);
    s->group_devices = sy_arena_alloc(arena, devices, sizeof *s->group_devices);
    s->group_of = sy_arena_alloc(arena, devices, sizeof *s->group_of);
    if (!s->group_first || !s->group_devices || !s->group_of) {
        return false;
    }
    memset(s->group_of, 0xff, devices * sizeof *s->group_of); /* SY_NONE */
    for (uint32_t d = 0; d < devices; d++) {
        if (s->group_of[d] != SY_NONE) {
            continue;
        }
        for (uint32_t e = d; e < devices; e++) {
            if (m->devices[e].class_index == m->devices[d].class_index &&
                m->devices[e].memory == m->devices[d].memory) {
                s->group_devices[filled++] = e;
                s->group_of[e] = s->group_count;
            }
        }
        s->group_first[++s->group_count] = filled;
    }
    return true;
}

static bool init_kept(struct search *s, struct sy_arena *arena, size_t tasks) {
    s->kept_device = sy_arena_alloc(arena, tasks, sizeof *s->kept_device);
    s->kept_cause = sy_arena_alloc(arena, tasks, sizeof *s->kept_cause);
    s->kept_end_ns = sy_arena_alloc(arena, tasks, sizeof *s->kept_end_ns);
    s->tail_ns = sy_arena_alloc(arena, tasks, sizeof *s->tail_ns);
    s->chain = sy_arena_alloc(arena, CHAIN_MOST, sizeof *s->chain);
    return s->kept_device && s->kept_cause && s->kept_end_ns && s->tail_ns && s->chain;
}

int sy_search_init(struct search *s, struct sy_arena *arena, const struct sy_view *view) {
    size_t tasks = view->task_capacity + 1u, devices = view->machine->device_count;
    s->order = sy_arena_alloc(arena, tasks, sizeof *s->order);
    s->position = sy_arena_alloc(arena, tasks, sizeof *s->position);
    s->group = sy_arena_alloc(arena, tasks, sizeof *s->group);
    s->cause = sy_arena_alloc(arena, tasks, sizeof *s->cause);
    s->device = sy_arena_alloc(arena, tasks, sizeof *s->device);
    s->end_ns = sy_arena_alloc(arena, tasks, sizeof *s->end_ns);
    s->free_ns = sy_arena_alloc(arena, devices, sizeof *s->free_ns);
    s->last = sy_arena_alloc(arena, devices, sizeof *s->last);
    bool state = s->order && s->position && s->group && s->cause && s->device && s->end_ns;
    return state && s->free_ns && s->last && init_kept(s, arena, tasks) &&
                   init_groups(s, arena, view->machine)
               ? 0
               : -ENOMEM;
}

static bool can_run(const struct search *s, const struct sy_view *view, uint32_t task,
                    uint32_t group) {
    uint32_t device = s->group_devices[s->group_first[group]];
    return isfinite(sy_estimate_time_ns(view, task, device)) && isfinite(s->base_ns[device]);
}

/* --- planning from a place on ------------------------------------------------------------------
 */
/* When the inputs can be there, and the task they wait for longest. */
static double inputs_ns(const struct search *s, const struct sy_view *view, uint32_t task,
                        uint32_t memory, uint32_t *ret_cause) {
    const struct sy_machine *m = view->machine;
    double ready_ns = view->now_ns;
    for (uint32_t e = view->pred_start[task]; e < view->pred_start[task + 1]; e++) {
        if (s->end_ns[view->pred[e]] > ready_ns) {
            ready_ns = s->end_ns[view->pred[e]];
            *ret_cause = view->pred[e];
        }
    }
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        uint32_t producer = view->access_producer[a], datum = view->access[a].datum;
        if (!(view->access[a].mode & SY_READ)) {
            continue;
        }
        double there_ns = view->now_ns;
        if (producer != SY_NONE) {
            uint32_t from = m->devices[s->device[producer]].memory;
            there_ns =
                s->end_ns[producer] +
                (from == memory ? 0
                                : sy_cost_transfer_ns(m, from, memory, view->data_bytes[datum]));
        } else if (view->data_valid[datum] && !(view->data_valid[datum] >> memory & 1)) {
            uint32_t from = (uint32_t)__builtin_ctzll(view->data_valid[datum]);
            there_ns += sy_cost_transfer_ns(m, from, memory, view->data_bytes[datum]);
        }
        if (there_ns > ready_ns) {
            ready_ns = there_ns;
            *ret_cause = producer;
        }
    }
    return ready_ns;
}

static uint32_t first_free(const struct search *s, uint32_t group) {
    uint32_t best = s->group_devices[s->group_first[group]];
    for (uint32_t i = s->group_first[group] + 1; i < s->group_first[group + 1]; i++) {
        best = s->free_ns[s->group_devices[i]] < s->free_ns[best] ? s->group_devices[i] : best;
    }
    return best;
}

/* Plans the tasks from a place in the order on; INFINITY once the limit cannot be met. */
static double plan_from(struct search *s, const struct sy_view *view, uint32_t place,
                        double limit_ns) {
    const struct sy_machine *m = view->machine;
    double makespan_ns = 0;
    for (uint32_t d = 0; d < m->device_count; d++) {
        s->free_ns[d] = s->base_ns[d];
        s->last[d] = SY_NONE;
    }
    for (uint32_t i = 0; i < place; i++) {
        uint32_t task = s->order[i];
        s->free_ns[s->device[task]] = s->end_ns[task];
        s->last[s->device[task]] = task;
        makespan_ns = fmax(makespan_ns, s->end_ns[task]);
    }
    for (s->changed = place; s->changed < s->count; s->changed++, s->steps_left--) {
        uint32_t task = s->order[s->changed], device = first_free(s, s->group[task]);
        uint32_t cause = SY_NONE;
        double start_ns = inputs_ns(s, view, task, m->devices[device].memory, &cause);
        if (s->free_ns[device] > start_ns) {
            start_ns = s->free_ns[device];
            cause = s->last[device];
        }
        double end_ns = start_ns + fmax(sy_estimate_time_ns(view, task, device), 1);
        if (end_ns + s->tail_ns[task] > limit_ns) {
            return INFINITY;
        }
        s->device[task] = device;
        s->cause[task] = cause;
        s->end_ns[task] = s->free_ns[device] = end_ns;
        s->last[device] = task;
        makespan_ns = fmax(makespan_ns, end_ns);
    }
    return makespan_ns;
}

/* --- moves -------------------------------------------------------------------------------------
 */
static void move_in_order(struct search *s, uint32_t from, uint32_t to) {
    uint32_t task = s->order[from], step = from < to ? 1 : UINT32_MAX;
    for (uint32_t i = from; i != to; i += step) {
        s->order[i] = s->order[i + step];
        s->position[s->order[i]] = i;
    }
    s->order[to] = task;
    s->position[task] = to;
}

/* Another place that keeps it behind what it waits for and before what waits for it; or its own. */
static uint32_t choose_place(struct search *s, const struct sy_view *view, uint32_t task,
                             bool earlier) {
    uint32_t at = s->position[task], low = 0, high = s->count - 1;
    for (uint32_t e = view->pred_start[task]; e < view->pred_start[task + 1]; e++) {
        uint32_t behind = s->position[view->pred[e]] + 1;
        low = behind > low ? behind : low;
    }
    for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
        uint32_t before = s->position[view->succ[e]] - 1;
        high = before < high ? before : high;
    }
    double u = sy_rng_uniform(&s->rng);
    uint32_t range = earlier ? at - low : high - at;
    uint32_t distance = range ? 1 + (uint32_t)(u * u * range) : 0;
    distance = distance > range ? range : distance;
    return earlier ? at - distance : at + distance;
}

static uint32_t choose_task(struct search *s) {
    if (s->chain_count && sy_rng_uniform(&s->rng) < CRITICAL) {
        return s->chain[sy_rng_below(&s->rng, s->chain_count)];
    }
    return s->order[sy_rng_below(&s->rng, s->count)];
}

/* The tasks that the last to end waited for, one for the other. */
static void find_chain(struct search *s) {
    uint32_t last = s->order[0];
    for (uint32_t i = 1; i < s->count; i++) {
        last = s->end_ns[s->order[i]] > s->end_ns[last] ? s->order[i] : last;
    }
    s->chain_count = 0;
    for (; last != SY_NONE && s->chain_count < CHAIN_MOST; last = s->cause[last]) {
        s->chain[s->chain_count++] = last;
    }
}

static void keep(struct search *s, uint32_t from) {
    for (uint32_t i = from; i < s->count; i++) {
        uint32_t task = s->order[i];
        s->kept_device[task] = s->device[task];
        s->kept_end_ns[task] = s->end_ns[task];
        s->kept_cause[task] = s->cause[task];
    }
}

static void restore(struct search *s, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        uint32_t task = s->order[i];
        s->device[task] = s->kept_device[task];
        s->end_ns[task] = s->kept_end_ns[task];
        s->cause[task] = s->kept_cause[task];
    }
}

static void trial(struct search *s, const struct sy_view *view, double heat) {
    uint32_t task = choose_task(s), from = s->position[task], to = from;
    uint32_t group = s->group[task], other = group;
    if (s->group_count > 1 && sy_rng_uniform(&s->rng) < REGROUP) {
        other = sy_rng_below(&s->rng, s->group_count);
    } else {
        to = choose_place(s, view, task, sy_rng_uniform(&s->rng) < 0.7);
    }
    s->steps_left--;
    if ((other == group && to == from) || !can_run(s, view, task, other)) {
        return;
    }
    move_in_order(s, from, to);
    s->group[task] = other;
    double slack_ns =
        -log(1 - sy_rng_uniform(&s->rng)) * HEAT * heat * (s->state_ns - view->now_ns);
    uint32_t place = from < to ? from : to;
    double makespan_ns = plan_from(s, view, place, s->state_ns + slack_ns);
    if (!isfinite(makespan_ns)) {
        restore(s, place, s->changed);
        s->group[task] = group;
        move_in_order(s, to, from);
        return;
    }
    s->state_ns = makespan_ns;
    keep(s, place);
    find_chain(s);
}

/* --- from a draft, and back --------------------------------------------------------------------
 */
static void begin(struct search *s, const struct portfolio *p, const struct sy_view *view,
                  uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    s->count = j->task_count;
    s->base_ns = p->best.base_ns;
    for (uint32_t i = j->first_task + j->task_count; i-- > j->first_task;) {
        uint32_t task = view->order[i];
        s->order[i - j->first_task] = task;
        s->tail_ns[task] = 0;
        for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
            uint32_t next = view->succ[e];
            s->tail_ns[task] = fmax(s->tail_ns[task], s->tail_ns[next] + view->best_ns[next]);
        }
    }
    sy_draft_sort(s->order, s->count, p->best.start_ns, p->best.end_ns, s->position);
    for (uint32_t i = 0; i < s->count; i++) {
        s->position[s->order[i]] = i;
        s->group[s->order[i]] = s->group_of[p->best.device[s->order[i]]];
    }
    s->state_ns = plan_from(s, view, 0, INFINITY);
    keep(s, 0);
    find_chain(s);
}

/* Not before what it waits for has ended, not even by rounding: plans are sorted by their starts.
 */
static double start_ns(const struct search *s, const struct sy_view *view, uint32_t task) {
    double ns = s->end_ns[task] - fmax(sy_estimate_time_ns(view, task, s->device[task]), 1);
    for (uint32_t e = view->pred_start[task]; e < view->pred_start[task + 1]; e++) {
        ns = fmax(ns, s->end_ns[view->pred[e]]);
    }
    return ns;
}

void sy_portfolio_improve(struct portfolio *p, const struct sy_view *view, uint32_t job,
                          uint64_t seed, double steps) {
    struct search *s = &p->search;
    double lower_ns = view->now_ns + view->jobs[job].isolated_ns * (1 + 1e-9);
    if (view->machine->board_count || p->line_count < view->jobs[job].task_count ||
        !isfinite(p->best.makespan_ns) || steps < 1 || p->best.makespan_ns <= lower_ns) {
        return;
    }
    s->rng = sy_rng_make(seed, 0x696d7072, job);
    s->steps_left = (int64_t)fmin(steps, 1e12);
    begin(s, p, view, job);
    double first_ns = s->state_ns;
    double given = (double)s->steps_left;
    while (s->steps_left > 0 && s->state_ns > lower_ns) {
        trial(s, view, (double)s->steps_left / given);
    }
    if (s->state_ns < first_ns || first_ns < p->best.makespan_ns) {
        for (uint32_t i = 0; i < s->count; i++) {
            p->offer_start_ns[s->order[i]] = start_ns(s, view, s->order[i]);
        }
        sy_portfolio_offer(p, view, job, s->device, p->offer_start_ns, s->end_ns);
    }
}
