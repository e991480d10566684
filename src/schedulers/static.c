/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies that plan a whole job when it arrives: HEFT and CPOP (Topcuoglu et al. 2002), PEFT
 * (Arabnejad and Barbosa 2014) and HEFT with one step of lookahead (Bittencourt et al. 2010).
 * The plan is committed at once, so that devices keep its order and inputs travel as soon as they
 * exist; under a job order a task is committed when ready, to its planned device. What a lost
 * device gives back is placed anew by earliest finish.
 */
#include "schedulers/policy.h"
#include <errno.h>

struct place {
    uint32_t class_index, memory; /* devices alike in both look the same to PEFT's table */
};

struct fixed {
    struct policy base;
    struct draft plan;
    struct pool queue;   /* plannable tasks, by key */
    struct pool ready;   /* to be committed when ready: job orders, and what came back */
    uint32_t *unplanned; /* per task: predecessors without a place */
    uint32_t *emit;      /* planned tasks to commit, in order */
    uint32_t emit_count, emit_next;
    double *key;    /* priority of planning */
    double *down;   /* CPOP */
    bool *critical; /* CPOP: on the critical path */
    uint32_t critical_device;
    double *table; /* PEFT: [task * place_count + place] */
    struct place *places;
    uint32_t *place_of; /* per device */
    uint32_t place_count;
    void (*rank)(struct fixed *fixed, const struct sy_view *view, uint32_t job);
    double (*score)(struct fixed *fixed, const struct sy_view *view, uint32_t task, uint32_t device,
                    double start_ns, double end_ns, uint32_t before);
};

static double length_ns(const struct fixed *f, const struct sy_view *view, uint32_t task,
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
static double slot_ns(const struct fixed *f, const struct sy_view *view, uint32_t device,
                      double ready_ns, double ns, uint32_t *ret_before) {
    if (view->machine->devices[device].board == SY_NONE) {
        return sy_draft_slot_ns(&f->plan, device, ready_ns, ns, ret_before);
    }
    uint32_t last = f->plan.last[device];
    *ret_before = last;
    double open = last == SY_NONE ? f->plan.base_ns[device] : f->plan.end_ns[last];
    return fmax(ready_ns, open);
}

static void place_task(struct fixed *f, const struct sy_view *view, uint32_t task) {
    const struct sy_machine *m = view->machine;
    uint32_t best = SY_NONE, best_before = SY_NONE, memory = SY_NONE;
    double best_score = INFINITY, best_start = 0, best_end = 0, ready_ns = 0;
    for (uint32_t d = 0; d < m->device_count; d++) {
        double ns = length_ns(f, view, task, d);
        if (!isfinite(ns) || view->devices[d].lost ||
            (f->critical && f->critical[task] && d != f->critical_device)) {
            continue;
        }
        if (m->devices[d].memory != memory) {
            memory = m->devices[d].memory;
            ready_ns = sy_draft_inputs_ns(&f->plan, view, task, memory);
        }
        uint32_t before;
        double start = slot_ns(f, view, d, ready_ns, ns, &before);
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

static void plan_job(struct fixed *f, const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    sy_draft_begin(&f->plan, view);
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        f->unplanned[t] = view->pred_start[t + 1] - view->pred_start[t];
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

/* --- HEFT ------------------------------------------------------------------------------------- */
static void rank_upward(struct fixed *f, const struct sy_view *view, uint32_t job) {
    sy_rank_upward(&f->base, view, job, f->key);
}

static double earliest_finish(struct fixed *f, const struct sy_view *view, uint32_t task,
                              uint32_t device, double start_ns, double end_ns, uint32_t before) {
    (void)f, (void)view, (void)task, (void)device, (void)start_ns, (void)before;
    return end_ns;
}

/* --- CPOP ---------------------------------------------------------------------------------------
 */
static uint32_t heaviest(const struct fixed *f, const uint32_t *tasks, uint32_t count) {
    uint32_t best = SY_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (best == SY_NONE || f->key[tasks[i]] > f->key[best]) {
            best = tasks[i];
        }
    }
    return best;
}

/* The critical path goes to the one device that runs all of it soonest. */
static void choose_critical_device(struct fixed *f, const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    double best = INFINITY;
    f->critical_device = SY_NONE;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        double sum = view->devices[d].lost ? INFINITY : 0;
        for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
            sum += f->critical[t] ? sy_estimate_time_ns(view, t, d) : 0;
        }
        if (sum < best) {
            best = sum;
            f->critical_device = d;
        }
    }
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        f->critical[t] &= f->critical_device != SY_NONE;
    }
}

static void rank_critical(struct fixed *f, const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    sy_rank_upward(&f->base, view, job, f->key);
    sy_rank_downward(&f->base, view, job, f->down);
    uint32_t at = SY_NONE;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        f->key[t] += f->down[t];
        f->critical[t] = false;
        bool entry = view->pred_start[t] == view->pred_start[t + 1];
        if (entry && (at == SY_NONE || f->key[t] > f->key[at])) {
            at = t;
        }
    }
    while (at != SY_NONE) {
        f->critical[at] = true;
        uint32_t first = view->succ_start[at];
        at = heaviest(f, view->succ + first, view->succ_start[at + 1] - first);
    }
    choose_critical_device(f, view, job);
}

/* --- PEFT ---------------------------------------------------------------------------------------
 */
/* Optimistic cost table (eq. 4): what must still follow if all went to its best place. */
static double optimistic(const struct fixed *f, const struct sy_view *view, uint32_t task,
                         uint32_t next, uint32_t place) {
    double edge = sy_rank_edge_ns(&f->base, view, task, next), best = INFINITY;
    for (uint32_t q = 0; q < f->place_count; q++) {
        double time =
            view->time_ns[(size_t)next * view->machine->class_count + f->places[q].class_index];
        double move = f->places[q].memory == f->places[place].memory ? 0 : edge;
        best = fmin(best, f->table[(size_t)next * f->place_count + q] + time + move);
    }
    return best;
}

static void rank_optimistic(struct fixed *f, const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    const struct sy_machine *m = view->machine;
    for (uint32_t i = j->first_task + j->task_count; i-- > j->first_task;) {
        uint32_t task = view->order[i];
        double *row = f->table + (size_t)task * f->place_count, sum = 0;
        for (uint32_t p = 0; p < f->place_count; p++) {
            row[p] = 0;
            for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
                row[p] = fmax(row[p], optimistic(f, view, task, view->succ[e], p));
            }
        }
        for (uint32_t d = 0; d < m->device_count; d++) {
            sum += row[f->place_of[d]];
        }
        f->key[task] = sum / m->device_count;
    }
}

static double optimistic_finish(struct fixed *f, const struct sy_view *view, uint32_t task,
                                uint32_t device, double start_ns, double end_ns, uint32_t before) {
    (void)view, (void)start_ns, (void)before;
    return end_ns + f->table[(size_t)task * f->place_count + f->place_of[device]];
}

/* --- lookahead: the device after which the worst child can finish soonest ------------------------
 */
static double child_finish(struct fixed *f, const struct sy_view *view, uint32_t child) {
    const struct sy_machine *m = view->machine;
    double best = INFINITY, ready_ns = 0;
    uint32_t memory = SY_NONE, before;
    for (uint32_t d = 0; d < m->device_count; d++) {
        double ns = length_ns(f, view, child, d);
        if (!isfinite(ns) || view->devices[d].lost) {
            continue;
        }
        if (m->devices[d].memory != memory) {
            memory = m->devices[d].memory;
            ready_ns = sy_draft_inputs_ns(&f->plan, view, child, memory);
        }
        best = fmin(best, slot_ns(f, view, d, ready_ns, ns, &before) + ns);
    }
    return best;
}

static double lookahead_finish(struct fixed *f, const struct sy_view *view, uint32_t task,
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

/* --- life
 * ------------------------------------------------------------------------------------------ */
static int list_places(struct fixed *f, const struct sy_view *view) {
    const struct sy_machine *m = view->machine;
    f->places = sy_arena_alloc(f->base.arena, m->device_count, sizeof *f->places);
    f->place_of = sy_arena_alloc(f->base.arena, m->device_count, sizeof *f->place_of);
    if (!f->places || !f->place_of) {
        return -ENOMEM;
    }
    for (uint32_t d = 0; d < m->device_count; d++) {
        struct place place = {m->devices[d].class_index, m->devices[d].memory};
        uint32_t p = 0;
        while (p < f->place_count && (f->places[p].class_index != place.class_index ||
                                      f->places[p].memory != place.memory)) {
            p++;
        }
        f->places[p] = place;
        f->place_of[d] = p;
        f->place_count = p == f->place_count ? p + 1 : f->place_count;
    }
    f->table = sy_arena_alloc(f->base.arena, (size_t)view->task_capacity * f->place_count + 1,
                              sizeof *f->table);
    return f->table ? 0 : -ENOMEM;
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    int code = sy_policy_init(s, view, args, sizeof(struct fixed));
    if (code) {
        return code;
    }
    struct fixed *f = s->state;
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

static int init_peft(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    int code = init(s, view, args);
    struct fixed *f = s->state;
    if (!code) {
        f->rank = rank_optimistic;
        f->score = optimistic_finish;
        code = list_places(f, view);
    }
    return code;
}

static int init_cpop(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    int code = init(s, view, args);
    struct fixed *f = s->state;
    if (!code) {
        f->rank = rank_critical;
        f->down = sy_arena_alloc(f->base.arena, view->task_capacity + 1u, sizeof *f->down);
        f->critical = sy_arena_alloc(f->base.arena, view->task_capacity + 1u, sizeof *f->critical);
        code = f->down && f->critical ? 0 : -ENOMEM;
    }
    return code;
}

static int init_lookahead(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    int code = init(s, view, args);
    if (!code) {
        ((struct fixed *)s->state)->score = lookahead_finish;
    }
    return code;
}

static void job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct fixed *f = s->state;
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

static void task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct fixed *f = s->state;
    sy_pool_push(&f->ready, view, task, -f->plan.start_ns[task]);
}

static bool commit_planned(struct fixed *f, const struct sy_view *view, uint32_t task,
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

static uint32_t decide(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                       uint32_t capacity) {
    struct fixed *f = s->state;
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

SY_POLICY(sy_policy_heft, "heft",
          "plans each job by upward rank and earliest finish, with insertion", init, false);
SY_POLICY(sy_policy_cpop, "cpop", "plans each job with its critical path on one device", init_cpop,
          false);
SY_POLICY(sy_policy_peft, "peft", "plans each job by an optimistic cost table (PEFT)", init_peft,
          false);
SY_POLICY(sy_policy_lookahead, "lookahead", "HEFT that looks one task ahead when it places",
          init_lookahead, false);
