/* SPDX-License-Identifier: Apache-2.0
 *
 * Drafts of one job: list schedules with insertion under several ranks and prices, and a rehearsal
 * of dmdas, so that the best is no worse than either kind. Where copies disturb each other some
 * drafts also prefer to stay with their data, and all are judged by a replay over busy links. Which
 * drafts are worth their time was measured: docs/design/006-default-policy.md.
 *
 * The price of a class is what the area bound's proof charges for its time (docs/design/004): work
 * that gains little from a scarce device then yields it to work that gains more.
 */
#include "schedulers/plan_portfolio.h"
#include <errno.h>
#include <string.h>

#define PRICE_ROUNDS 40
#define REACH        64    /* tasks that a search for gaps looks back over */
#define MANY         20000 /* tasks of all drafts together; but at least */
#define FEW_WAYS     2
#define VAST         400000 /* tasks times devices: from there on one draft, in a hurry */

enum rank { RANK_MEAN, RANK_HARMONIC, RANK_BEST, RANK_BEHIND };

/* One way to plan. */
struct way {
    enum rank rank;
    double weight;   /* of prices against the finish */
    double locality; /* likewise, of the time that inputs travel */
    bool rehearse;   /* dmdas: a task is placed when it is ready */
};

/* Where copies do not disturb each other, and where they do. The first few pay most. */
static const struct way ways_apart[] = {
    {RANK_MEAN, 2, 0, false},   {RANK_MEAN, 0, 0, true},    {RANK_BEHIND, 1, 0, false},
    {RANK_BEST, 0, 0, false},   {RANK_MEAN, 4, 0, false},   {RANK_MEAN, 1, 0, false},
    {RANK_BEHIND, 4, 0, false}, {RANK_BEHIND, 8, 0, false}, {RANK_HARMONIC, 1, 0, true},
};
static const struct way ways_shared[] = {
    {RANK_BEHIND, 1, 3, false},  {RANK_MEAN, 2, 3, false},   {RANK_BEST, 0, 0, false},
    {RANK_HARMONIC, 1, 3, true}, {RANK_BEHIND, 8, 1, false}, {RANK_BEHIND, 4, 1, false},
    {RANK_BEST, 0, 1, false},    {RANK_MEAN, 4, 1, false},   {RANK_MEAN, 0, 3, true},
    {RANK_MEAN, 0, 0, true},
};

static int init_replay(struct portfolio *p, struct sy_arena *arena, const struct sy_view *view) {
    const struct sy_machine *m = view->machine;
    size_t tasks = view->task_capacity + 1u;
    p->sent = sy_arena_alloc(arena, tasks, sizeof *p->sent);
    p->line = sy_arena_alloc(arena, tasks, sizeof *p->line);
    p->there_ns = sy_arena_alloc(arena, tasks * m->memory_count, sizeof *p->there_ns);
    p->offer_start_ns = sy_arena_alloc(arena, tasks, sizeof *p->offer_start_ns);
    p->link_ns = sy_arena_alloc(arena, m->resource_count + 1u, sizeof *p->link_ns);
    p->device_ns = sy_arena_alloc(arena, m->device_count, sizeof *p->device_ns);
    bool taken = p->sent && p->line && p->there_ns && p->link_ns && p->device_ns;
    return taken && p->offer_start_ns ? 0 : -ENOMEM;
}

int sy_portfolio_init(struct portfolio *p, const struct policy *base, const struct sy_view *view) {
    struct sy_arena *arena = base->arena;
    size_t tasks = view->task_capacity + 1u, classes = view->machine->class_count;
    p->plain = *base;
    p->plain.order = ORDER_NONE;
    p->unplanned = sy_arena_alloc(arena, tasks, sizeof *p->unplanned);
    p->key = sy_arena_alloc(arena, tasks, sizeof *p->key);
    p->price = sy_arena_alloc(arena, classes, sizeof *p->price);
    p->trial_price = sy_arena_alloc(arena, classes, sizeof *p->trial_price);
    p->load_ns = sy_arena_alloc(arena, classes, sizeof *p->load_ns);
    p->devices = sy_arena_alloc(arena, view->machine->device_count, sizeof *p->devices);
    bool arrays = p->unplanned && p->key && !sy_queues_init(&p->queues, arena, tasks, p->key);
    bool rows = p->price && p->trial_price && p->load_ns && p->devices;
    int code = arrays && rows ? init_replay(p, arena, view) : -ENOMEM;
    code = code ? code : sy_pool_init(&p->open, &p->plain, view);
    code = code ? code : sy_draft_take(&p->best, arena, view);
    code = code ? code : sy_draft_take(&p->trial, arena, view);
    code = code ? code : sy_search_init(&p->search, arena, view);
    p->best.reach = p->trial.reach = REACH;
    return code;
}

/* --- prices ------------------------------------------------------------------------------------
 */
/* Each task buys where it is cheapest; what it costs together is a bound of the makespan. */
static double buy_ns(struct portfolio *p, const struct sy_view *view, const struct sy_view_job *j) {
    uint32_t classes = view->machine->class_count;
    double sum_ns = 0;
    for (uint32_t c = 0; c < classes; c++) {
        p->load_ns[c] = 0;
    }
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        if (sy_draft_settled(view, t)) {
            continue;
        }
        const double *time_ns = view->time_ns + (size_t)t * classes;
        double least = INFINITY;
        uint32_t where = 0;
        for (uint32_t c = 0; c < classes; c++) {
            double cost = p->trial_price[c] * time_ns[c];
            if (cost < least) {
                least = cost;
                where = c;
            }
        }
        sum_ns += least;
        p->load_ns[where] += time_ns[where];
    }
    return sum_ns;
}

/* Raises the price of classes with more to do than others, by less and less. */
static void find_prices(struct portfolio *p, const struct sy_view *view, uint32_t job) {
    const struct sy_machine *m = view->machine;
    double best_ns = -1, step = 2;
    for (uint32_t c = 0; c < m->class_count; c++) {
        p->trial_price[c] = 1.0 / m->device_count;
    }
    for (uint32_t round = 0; round < PRICE_ROUNDS; round++, step *= 0.9) {
        double bound_ns = buy_ns(p, view, &view->jobs[job]), most = 0, sum = 0;
        for (uint32_t c = 0; c < m->class_count; c++) {
            if (bound_ns > best_ns) {
                p->price[c] = p->trial_price[c];
            }
            most = fmax(most, p->load_ns[c] / m->classes[c].device_count);
        }
        best_ns = fmax(best_ns, bound_ns);
        for (uint32_t c = 0; c < m->class_count && most > 0; c++) {
            double load = p->load_ns[c] / m->classes[c].device_count;
            p->trial_price[c] = fmax(1e-9, p->trial_price[c] * exp(step * (load / most - 1)));
            sum += p->trial_price[c] * m->classes[c].device_count;
        }
        for (uint32_t c = 0; c < m->class_count && sum > 0; c++) {
            p->trial_price[c] /= sum;
        }
    }
}

/* --- ranks -------------------------------------------------------------------------------------
 */
static double harmonic_mean_ns(const struct sy_view *view, uint32_t task) {
    const struct sy_machine *m = view->machine;
    double rate = 0, count = 0;
    for (uint32_t c = 0; c < m->class_count; c++) {
        double ns = view->time_ns[(size_t)task * m->class_count + c];
        if (isfinite(ns)) {
            rate += m->classes[c].device_count / fmax(ns, 1);
            count += m->classes[c].device_count;
        }
    }
    return count / rate;
}

/* RANK_MEAN is HEFT's. The others have no transfers: mean speeds instead of mean times, fastest
 * times, and, as in PEFT, the fastest times of what comes behind the task. */
static void rank_tasks(struct portfolio *p, const struct sy_view *view, uint32_t job,
                       enum rank rank) {
    const struct sy_view_job *j = &view->jobs[job];
    if (rank == RANK_MEAN) {
        sy_rank_upward(&p->plain, view, job, p->key);
        return;
    }
    for (uint32_t i = j->first_task + j->task_count; i-- > j->first_task;) {
        uint32_t task = view->order[i];
        double below_ns = 0;
        for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
            uint32_t next = view->succ[e];
            double own_ns = rank == RANK_BEHIND ? view->best_ns[next] : 0;
            below_ns = fmax(below_ns, p->key[next] + own_ns);
        }
        p->key[task] = below_ns + (rank == RANK_BEHIND     ? 0
                                   : rank == RANK_HARMONIC ? harmonic_mean_ns(view, task)
                                                           : view->best_ns[task]);
    }
}

/* --- transfers ---------------------------------------------------------------------------------
 */
static double fetch_ns(const struct sy_view *view, uint32_t datum, uint32_t memory) {
    double best = INFINITY;
    for (uint64_t rest = view->data_valid[datum]; rest; rest &= rest - 1) {
        uint32_t from = (uint32_t)__builtin_ctzll(rest);
        best =
            fmin(best, sy_cost_transfer_ns(view->machine, from, memory, view->data_bytes[datum]));
    }
    return isfinite(best) ? best : 0;
}

/* Time on the way of what is not yet planned to be there. */
static double travel_ns(const struct portfolio *p, const struct sy_view *view, uint32_t task,
                        uint32_t memory) {
    const struct sy_machine *m = view->machine;
    double sum_ns = 0;
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        uint32_t producer = view->access_producer[a], datum = view->access[a].datum;
        if (!(view->access[a].mode & SY_READ)) {
            continue;
        }
        if (producer == SY_NONE) {
            sum_ns += fetch_ns(view, datum, memory);
        } else if (!(p->sent[producer] >> memory & 1)) {
            uint32_t from = m->devices[p->trial.device[producer]].memory;
            sum_ns += sy_cost_transfer_ns(m, from, memory, view->data_bytes[datum]);
        }
    }
    return sum_ns;
}

static void place(struct portfolio *p, const struct sy_view *view, uint32_t task, uint32_t device,
                  double start_ns, double end_ns, uint32_t before) {
    uint64_t bit = UINT64_C(1) << view->machine->devices[device].memory;
    sy_draft_place(&p->trial, task, device, start_ns, end_ns, before);
    p->line[p->line_count++] = task;
    p->sent[task] = bit;
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        if (view->access_producer[a] != SY_NONE && (view->access[a].mode & SY_READ)) {
            p->sent[view->access_producer[a]] |= bit;
        }
    }
}

/* --- list scheduling ---------------------------------------------------------------------------
 */
static double image_ns(const struct sy_view *view, const struct draft *plan, uint32_t task,
                       uint32_t device) {
    const struct sy_machine *m = view->machine;
    uint32_t board = m->devices[device].board, kernel = view->task_kernel[task];
    if (board == SY_NONE) {
        return 0;
    }
    uint32_t last = plan->last[device];
    uint32_t image = last == SY_NONE ? view->devices[device].last_image : view->task_kernel[last];
    return image == kernel ? 0 : view->image_ns[(size_t)kernel * m->board_count + board];
}

/* Regions take tasks at the end only, so that images change as planned. */
static double slot_ns(const struct draft *plan, const struct sy_view *view, uint32_t device,
                      double ready_ns, double ns, uint32_t *ret_before) {
    if (view->machine->devices[device].board == SY_NONE) {
        return sy_draft_slot_ns(plan, device, ready_ns, ns, ret_before);
    }
    uint32_t last = plan->last[device];
    *ret_before = last;
    return fmax(ready_ns, last == SY_NONE ? plan->base_ns[device] : plan->end_ns[last]);
}

/* Of a vast job's devices that are alike only the first to be free is looked at closely: those that
 * are free later than one that was looked at are passed over. */
static bool passed_over(const struct portfolio *p, uint32_t device, uint32_t *group,
                        double *free_ns) {
    uint32_t last = p->trial.last[device], own = p->search.group_of[device];
    double ns = last == SY_NONE ? p->trial.base_ns[device] : p->trial.end_ns[last];
    if (p->vast && own == *group && ns >= *free_ns) {
        return true;
    }
    *group = own;
    *free_ns = ns;
    return false;
}

static void place_task(struct portfolio *p, const struct sy_view *view, uint32_t task) {
    const struct sy_machine *m = view->machine;
    uint32_t best = SY_NONE, best_before = SY_NONE, memory = SY_NONE, settled = SY_NONE;
    uint32_t looked_at = SY_NONE;
    double best_score = INFINITY, best_start = 0, best_end = 0, ready_ns = 0, far_ns = 0;
    double free_ns = 0;
    for (uint32_t d = 0; d < m->device_count; d++) {
        double ns = sy_estimate_time_ns(view, task, d);
        if (!isfinite(ns) || view->devices[d].lost || p->search.group_of[d] == settled ||
            passed_over(p, d, &looked_at, &free_ns)) {
            continue;
        }
        if (m->devices[d].memory != memory) {
            memory = m->devices[d].memory;
            ready_ns = sy_draft_inputs_ns(&p->trial, view, task, memory);
            far_ns = p->locality > 0 ? p->locality * travel_ns(p, view, task, memory) : 0;
        }
        uint32_t before;
        /* Not of no length, lest it stand before what it waits for, which ends as it starts. */
        ns = fmax(ns, 1) + image_ns(view, &p->trial, task, d);
        double start = slot_ns(&p->trial, view, d, ready_ns, ns, &before);
        /* Those alike can do no better. */
        settled =
            start <= ready_ns && m->devices[d].board == SY_NONE ? p->search.group_of[d] : settled;
        double price = p->weight * p->price[m->devices[d].class_index];
        double score = start + ns + price * ns + far_ns;
        if (score < best_score || (score == best_score && start + ns < best_end)) {
            best = d;
            best_before = before;
            best_score = score;
            best_start = start;
            best_end = start + ns;
        }
    }
    if (best != SY_NONE) {
        place(p, view, task, best, best_start, best_end, best_before);
    } else {
        p->trial.makespan_ns = INFINITY; /* every device that could is lost: no plan */
    }
}

static void release(struct portfolio *p, const struct sy_view *view, uint32_t task) {
    for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
        uint32_t next = view->succ[e];
        if (--p->unplanned[next] == 0) {
            sy_pool_push(&p->open, view, next, p->key[next]);
        }
    }
}

static void settle(struct portfolio *p, const struct sy_view *view, uint32_t task) {
    uint32_t memories = view->machine->memory_count;
    sy_draft_settle(&p->trial, view, task);
    p->sent[task] = UINT64_C(1) << view->machine->devices[p->trial.device[task]].memory;
    memset(&p->there_ns[(size_t)task * memories], 0, memories * sizeof *p->there_ns);
}

static void open_first(struct portfolio *p, const struct sy_view *view,
                       const struct sy_view_job *j) {
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        if (sy_draft_settled(view, t)) {
            settle(p, view, t);
            continue;
        }
        p->unplanned[t] = sy_draft_unplanned(view, t);
        if (!p->unplanned[t]) {
            sy_pool_push(&p->open, view, t, p->key[t]);
        }
    }
}

static void list_tasks(struct portfolio *p, const struct sy_view *view) {
    uint32_t task;
    while ((task = sy_pool_pop(&p->open, &p->plain, view)) != SY_NONE) {
        p->trial.device[task] = 0; /* what no device takes must still have a readable place */
        p->trial.end_ns[task] = view->now_ns;
        place_task(p, view, task);
        release(p, view, task);
    }
}

/* --- rehearsal of dmdas: placed when ready, each device takes its highest rank next --------------
 */
static void start_next(struct portfolio *p, const struct sy_view *view, uint32_t device,
                       double now_ns) {
    struct rehearsed *d = &p->devices[device];
    uint32_t task = d->queue, memory = view->machine->devices[device].memory;
    double ns = sy_estimate_time_ns(view, task, device);
    d->queue = sy_queues_pop(&p->queues, task);
    d->queued_ns = d->queue == SY_NONE ? 0 : d->queued_ns - ns;
    ns += image_ns(view, &p->trial, task, device);
    double start_ns = fmax(now_ns, sy_draft_inputs_ns(&p->trial, view, task, memory));
    place(p, view, task, device, start_ns, start_ns + ns, p->trial.last[device]);
    d->running = task;
    d->free_ns = start_ns + ns;
}

static void queue_task(struct portfolio *p, const struct sy_view *view, uint32_t task,
                       double now_ns) {
    const struct sy_machine *m = view->machine;
    uint32_t best = SY_NONE, memory = SY_NONE;
    double best_score = INFINITY, ready_ns = 0, far_ns = 0;
    for (uint32_t i = 0; i < m->device_count; i++) {
        const struct rehearsed *d = &p->devices[i];
        double ns = sy_estimate_time_ns(view, task, i);
        if (!isfinite(ns) || view->devices[i].lost) {
            continue;
        }
        if (m->devices[i].memory != memory) {
            memory = m->devices[i].memory;
            ready_ns = fmax(now_ns, sy_draft_inputs_ns(&p->trial, view, task, memory));
            far_ns = p->locality > 0 ? p->locality * travel_ns(p, view, task, memory) : 0;
        }
        double price = p->weight * p->price[m->devices[i].class_index];
        double score =
            fmax(fmax(d->free_ns, now_ns) + d->queued_ns, ready_ns) + ns + price * ns + far_ns;
        if (score < best_score) {
            best_score = score;
            best = i;
        }
    }
    if (best == SY_NONE) {
        p->trial.makespan_ns = INFINITY;
        return;
    }
    struct rehearsed *d = &p->devices[best];
    d->queue = sy_queues_push(&p->queues, d->queue, task);
    d->queued_ns += sy_estimate_time_ns(view, task, best);
    if (d->running == SY_NONE && d->free_ns <= now_ns) {
        start_next(p, view, best, now_ns);
    }
}

static uint32_t next_device(const struct portfolio *p, uint32_t count) {
    uint32_t next = SY_NONE;
    for (uint32_t i = 0; i < count; i++) {
        const struct rehearsed *d = &p->devices[i];
        bool busy = d->running != SY_NONE || d->queue != SY_NONE;
        if (busy && (next == SY_NONE || d->free_ns < p->devices[next].free_ns)) {
            next = i;
        }
    }
    return next;
}

static void rehearse(struct portfolio *p, const struct sy_view *view) {
    uint32_t count = view->machine->device_count, task;
    double now_ns = view->now_ns;
    p->queues.next_turn = 0;
    for (uint32_t i = 0; i < count; i++) {
        p->devices[i] = (struct rehearsed){SY_NONE, SY_NONE, p->trial.base_ns[i], 0};
    }
    for (;;) {
        while ((task = sy_pool_pop(&p->open, &p->plain, view)) != SY_NONE) {
            queue_task(p, view, task, now_ns);
        }
        uint32_t device = next_device(p, count);
        if (device == SY_NONE) {
            return;
        }
        now_ns = fmax(now_ns, p->devices[device].free_ns);
        do { /* all that ends together, before anything is decided */
            struct rehearsed *d = &p->devices[device];
            if (d->running != SY_NONE) {
                release(p, view, d->running);
                d->running = SY_NONE;
            }
            if (d->queue != SY_NONE) {
                start_next(p, view, device, now_ns);
            }
            device = next_device(p, count);
        } while (device != SY_NONE && p->devices[device].free_ns <= now_ns);
    }
}

/* --- replay: the same sequences over links that carry one copy at a time -------------------------
 */
static double copy_over_ns(struct portfolio *p, const struct sy_view *view, uint32_t from,
                           uint32_t to, double bytes, double from_ns) {
    const struct sy_machine *m = view->machine;
    const struct sy_route *route = &m->routes[(size_t)from * m->memory_count + to];
    double start_ns = from_ns;
    for (uint32_t k = 0; k < route->resource_count; k++) {
        start_ns = fmax(start_ns, p->link_ns[route->resources[k]]);
    }
    for (uint32_t k = 0; k < route->resource_count; k++) {
        uint32_t r = route->resources[k];
        p->link_ns[r] = start_ns + bytes / m->resources[r].bytes_per_s * 1e9;
    }
    return start_ns + route->latency_ns + bytes / route->bytes_per_s * 1e9;
}

static double arrival_ns(struct portfolio *p, const struct sy_view *view, uint32_t access,
                         uint32_t memory) {
    const struct sy_machine *m = view->machine;
    uint32_t producer = view->access_producer[access], datum = view->access[access].datum;
    double bytes = view->data_bytes[datum];
    if (producer == SY_NONE) {
        uint64_t valid = view->data_valid[datum];
        if (!valid || (valid >> memory & 1)) {
            return view->now_ns;
        }
        return copy_over_ns(p, view, (uint32_t)__builtin_ctzll(valid), memory, bytes, view->now_ns);
    }
    uint32_t from = m->devices[p->trial.device[producer]].memory;
    double *there = &p->there_ns[(size_t)producer * m->memory_count + memory];
    if (from == memory) {
        return p->trial.end_ns[producer];
    }
    if (*there == 0) {
        *there = bytes > 0 ? copy_over_ns(p, view, from, memory, bytes, p->trial.end_ns[producer])
                           : p->trial.end_ns[producer];
    }
    return *there;
}

static void replay(struct portfolio *p, const struct sy_view *view) {
    const struct sy_machine *m = view->machine;
    struct draft *plan = &p->trial;
    sy_draft_sort(p->line, p->line_count, plan->start_ns, plan->end_ns, p->unplanned);
    for (uint32_t r = 0; r < m->resource_count; r++) {
        p->link_ns[r] = view->now_ns;
    }
    for (uint32_t d = 0; d < m->device_count; d++) {
        p->device_ns[d] = plan->base_ns[d];
    }
    plan->makespan_ns = 0;
    for (uint32_t i = 0; i < p->line_count; i++) {
        uint32_t task = p->line[i], device = plan->device[task];
        double length_ns = plan->end_ns[task] - plan->start_ns[task],
               ready_ns = p->device_ns[device];
        memset(&p->there_ns[(size_t)task * m->memory_count], 0, m->memory_count * sizeof(double));
        for (uint32_t e = view->pred_start[task]; e < view->pred_start[task + 1]; e++) {
            ready_ns = fmax(ready_ns, plan->end_ns[view->pred[e]]);
        }
        for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
            if (view->access[a].mode & SY_READ) {
                ready_ns = fmax(ready_ns, arrival_ns(p, view, a, m->devices[device].memory));
            }
        }
        plan->start_ns[task] = ready_ns;
        plan->end_ns[task] = p->device_ns[device] = ready_ns + length_ns;
        plan->makespan_ns = fmax(plan->makespan_ns, plan->end_ns[task]);
    }
}

/* --- the best of them --------------------------------------------------------------------------
 */
static void judge(struct portfolio *p, const struct sy_view *view) {
    if (view->shared_links && isfinite(p->trial.makespan_ns)) {
        replay(p, view);
    }
    if (p->trial.makespan_ns < p->best.makespan_ns) {
        struct draft swap = p->best;
        p->best = p->trial;
        p->trial = swap;
    }
}

void sy_portfolio_offer(struct portfolio *p, const struct sy_view *view, uint32_t job,
                        const uint32_t *device, const double *start_ns, const double *end_ns) {
    const struct sy_view_job *j = &view->jobs[job];
    sy_draft_begin(&p->trial, view);
    p->line_count = 0;
    for (uint32_t i = j->first_task; i < j->first_task + j->task_count; i++) {
        if (sy_draft_settled(view, view->order[i])) {
            settle(p, view, view->order[i]);
        } else {
            p->line[p->line_count++] = view->order[i];
        }
    }
    sy_draft_sort(p->line, p->line_count, start_ns, end_ns, p->unplanned);
    for (uint32_t i = 0; i < p->line_count; i++) {
        uint32_t task = p->line[i], where = device[task];
        sy_draft_place(&p->trial, task, where, start_ns[task], end_ns[task], p->trial.last[where]);
    }
    judge(p, view);
}

static void try_way(struct portfolio *p, const struct sy_view *view, uint32_t job,
                    const struct way *way) {
    p->weight = way->weight;
    p->locality = way->locality;
    p->line_count = 0;
    sy_draft_begin(&p->trial, view);
    open_first(p, view, &view->jobs[job]);
    if (way->rehearse) {
        rehearse(p, view);
    } else {
        list_tasks(p, view);
    }
    judge(p, view);
}

static bool is_vast(const struct sy_view *view, uint32_t job) {
    return (double)view->jobs[job].task_count * view->machine->device_count >= VAST;
}

uint32_t sy_portfolio_drafts(const struct sy_view *view, uint32_t job) {
    size_t count = view->shared_links ? SY_COUNT(ways_shared) : SY_COUNT(ways_apart);
    size_t afford = MANY / (view->jobs[job].task_count + 1u);
    afford = is_vast(view, job) ? 1 : afford < FEW_WAYS ? FEW_WAYS : afford;
    return (uint32_t)(count < afford ? count : afford);
}

void sy_portfolio_plan(struct portfolio *p, const struct sy_view *view, uint32_t job) {
    const struct way *ways = view->shared_links ? ways_shared : ways_apart;
    p->vast = is_vast(view, job);
    p->drafts = sy_portfolio_drafts(view, job);
    find_prices(p, view, job);
    p->best.makespan_ns = INFINITY;
    for (uint32_t w = 0; w < p->drafts; w++) {
        if (w == 0 || ways[w].rank != ways[w - 1].rank) {
            rank_tasks(p, view, job, ways[w].rank);
        }
        try_way(p, view, job, &ways[w]);
    }
}
