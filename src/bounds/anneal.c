/* SPDX-License-Identifier: Apache-2.0
 *
 * Best-known schedules: simulated annealing over task priorities and class handicaps.
 *
 * In: workload, seed, number of trials. Out: the best plan met. Never knows: the clock. Starts from
 * upward ranks (mean and fastest-class execution) and from a given plan; each trial changes a few
 * entries and is list-scheduled with insertion. The acceptance threshold is drawn before the trial,
 * so that a trial stops as soon as it must fail. Invariant: nothing is allocated in the loop.
 */
#include "bounds/list.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define RNG_PURPOSE 0x616e6eu /* "ann" */
#define TEMPERATURE 0.0002    /* of the best makespan, falling to 0; the lowest tried */
#define CHANGE_MAX  6u        /* entries changed by one trial */
#define REACHED     1e-9      /* relative distance to the lower bound that ends the search */

struct change {
    double *entry, old_value;
};

struct anneal {
    struct sy_bound_model model;
    struct sy_list list;
    struct sy_rng rng;
    double *priority, *handicap_ns; /* the state */
    struct change *changes;
    uint32_t change_count, change_max;
    double step_ns; /* longest fastest-class time: the scale of priority moves */
    double state_ns, lower_ns;
    struct sy_schedule *best;
};

static void keep_best(struct anneal *anneal, double makespan_ns) {
    const struct sy_list *list = &anneal->list;
    struct sy_schedule *best = anneal->best;
    if (makespan_ns < best->makespan_ns) {
        memcpy(best->device, list->device, best->task_count * sizeof(*best->device));
        memcpy(best->start_ns, list->start_ns, best->task_count * sizeof(*best->start_ns));
        memcpy(best->end_ns, list->end_ns, best->task_count * sizeof(*best->end_ns));
        best->makespan_ns = makespan_ns;
    }
}

/* Half the moves are steps of any size, half put the task beside another. */
static void change_priority(struct anneal *anneal, uint32_t task, double *ret_value) {
    double near = anneal->priority[task], scale = 0.1;
    if (sy_rng_uniform(&anneal->rng) < 0.5) {
        near = anneal->priority[sy_rng_below(&anneal->rng, anneal->model.task_count)];
    } else {
        scale = 0.1 * pow(20, sy_rng_uniform(&anneal->rng));
    }
    *ret_value = near + sy_rng_normal(&anneal->rng) * anneal->step_ns * scale;
}

/* A handicap moves by the order of the task's own time there, or goes back to none. */
static void change_handicap(struct anneal *anneal, uint32_t task, uint32_t class_index,
                            double *ret_value) {
    double time = sy_bound_time_ns(&anneal->model, task, class_index);
    double old = anneal->handicap_ns[(size_t)task * anneal->model.class_count + class_index];
    double scale = 0.5 * ((isfinite(time) ? time : 0) + anneal->model.workload->best_ns[task]);
    *ret_value = sy_rng_uniform(&anneal->rng) < 0.3 ? 0 : old + sy_rng_normal(&anneal->rng) * scale;
}

static void change_one(struct anneal *anneal) {
    uint32_t task = sy_rng_below(&anneal->rng, anneal->model.task_count);
    struct change *change = &anneal->changes[anneal->change_count++];
    double value;
    if (anneal->model.class_count == 1 || sy_rng_uniform(&anneal->rng) < 0.6) {
        change->entry = &anneal->priority[task];
        change_priority(anneal, task, &value);
    } else {
        uint32_t class_index = sy_rng_below(&anneal->rng, anneal->model.class_count);
        change->entry =
            &anneal->handicap_ns[(size_t)task * anneal->model.class_count + class_index];
        change_handicap(anneal, task, class_index, &value);
    }
    change->old_value = *change->entry;
    *change->entry = value;
}

static void undo(struct anneal *anneal) {
    while (anneal->change_count > 0) {
        struct change *change = &anneal->changes[--anneal->change_count];
        *change->entry = change->old_value;
    }
}

static void trial(struct anneal *anneal, double heat) {
    double u = sy_rng_uniform(&anneal->rng) * sy_rng_uniform(&anneal->rng);
    uint32_t count = 1 + (uint32_t)(u * anneal->change_max);
    anneal->change_count = 0;
    for (uint32_t i = 0; i < count && i < anneal->change_max; i++) {
        change_one(anneal);
    }
    double slack =
        -log(1 - sy_rng_uniform(&anneal->rng)) * TEMPERATURE * heat * anneal->best->makespan_ns;
    double makespan =
        sy_list_run(&anneal->list, anneal->priority, anneal->handicap_ns, anneal->state_ns + slack);
    if (!isfinite(makespan)) {
        undo(anneal);
        return;
    }
    anneal->state_ns = makespan;
    keep_best(anneal, makespan);
}

static int anneal_alloc(struct anneal *anneal) {
    size_t tasks = (size_t)anneal->model.task_count + 1;
    struct sy_arena *arena = anneal->model.arena;
    uint32_t tenth = anneal->model.task_count / 10;
    anneal->change_max = 1 + (tenth < CHANGE_MAX ? tenth : CHANGE_MAX);
    anneal->priority = sy_arena_alloc(arena, tasks, sizeof(double));
    anneal->handicap_ns = sy_arena_alloc(arena, tasks * anneal->model.class_count, sizeof(double));
    anneal->changes = sy_arena_alloc(arena, anneal->change_max, sizeof(*anneal->changes));
    if (anneal->priority == NULL || anneal->handicap_ns == NULL || anneal->changes == NULL) {
        return -ENOMEM;
    }
    return sy_list_init(&anneal->list, &anneal->model, arena);
}

/* The better of the two ranks becomes the state. */
static void start_from_ranks(struct anneal *anneal) {
    double mean_ns, min_ns;
    sy_bound_rank(&anneal->model, SY_RANK_MEAN, anneal->priority);
    mean_ns = sy_list_run(&anneal->list, anneal->priority, NULL, INFINITY);
    keep_best(anneal, mean_ns);
    sy_bound_rank(&anneal->model, SY_RANK_MIN, anneal->priority);
    min_ns = sy_list_run(&anneal->list, anneal->priority, NULL, INFINITY);
    keep_best(anneal, min_ns);
    if (mean_ns <= min_ns) {
        sy_bound_rank(&anneal->model, SY_RANK_MEAN, anneal->priority);
    }
    anneal->state_ns = fmin(mean_ns, min_ns);
}

/* The best plan as a state: earlier start, higher priority; other classes than the plan's are
 * handicapped by the task's time there. The list scheduler need not find that same plan again. */
static void start_from_best(struct anneal *anneal) {
    const struct sy_bound_model *model = &anneal->model;
    for (uint32_t t = 0; t < model->task_count; t++) {
        uint32_t chosen = model->machine->devices[anneal->best->device[t]].class_index;
        anneal->priority[t] = -anneal->best->start_ns[t];
        for (uint32_t c = 0; c < model->class_count; c++) {
            double time = sy_bound_time_ns(model, t, c);
            anneal->handicap_ns[(size_t)t * model->class_count + c] =
                c == chosen || !isfinite(time) ? 0 : time;
        }
    }
    double makespan = sy_list_run(&anneal->list, anneal->priority, anneal->handicap_ns, INFINITY);
    keep_best(anneal, makespan);
    anneal->state_ns = makespan;
}

static int begin(struct anneal *anneal, const struct sy_workload *workload,
                 const struct sy_schedule *start) {
    anneal->lower_ns =
        fmax(sy_bound_critical_path_ns(workload), sy_bound_area_ns(workload)) * (1 + REACHED);
    for (uint32_t t = 0; t < workload->task_count; t++) {
        anneal->step_ns = fmax(anneal->step_ns, workload->best_ns[t]);
    }
    anneal->best->makespan_ns = INFINITY;
    if (start != NULL) {
        sy_schedule_copy(start, anneal->best);
        int r = sy_schedule_evaluate(workload, NULL, false, anneal->best);
        if (r < 0) {
            return r;
        }
    }
    double given_ns = anneal->best->makespan_ns;
    start_from_ranks(anneal);
    if (start != NULL && given_ns <= anneal->best->makespan_ns) {
        start_from_best(anneal);
    }
    return 0;
}

int sy_bound_anneal(const struct sy_workload *workload, uint64_t seed, uint64_t iteration_limit,
                    const struct sy_schedule *start, struct sy_schedule *ret_plan) {
    SY_ASSERT(ret_plan->task_count == workload->task_count);
    struct anneal anneal = {.rng = sy_rng_make(seed, RNG_PURPOSE, 0)};
    struct sy_schedule best = {0};
    int r = sy_bound_model_init(&anneal.model, workload);
    if (r < 0) {
        return r;
    }
    r = sy_schedule_init(&best, workload->task_count);
    anneal.best = &best;
    if (r == 0) {
        r = anneal_alloc(&anneal);
    }
    if (r == 0) {
        r = begin(&anneal, workload, start);
    }
    for (uint64_t i = 0; r == 0 && i < iteration_limit && best.makespan_ns > anneal.lower_ns; i++) {
        trial(&anneal, 1 - (double)i / (double)iteration_limit);
    }
    if (r == 0 && !isfinite(best.makespan_ns)) {
        r = -EINVAL; /* some task's inputs can reach no device that runs it */
    }
    if (r == 0) {
        sy_schedule_copy(&best, ret_plan);
    }
    sy_schedule_finish(&best);
    sy_bound_model_finish(&anneal.model);
    return r;
}
