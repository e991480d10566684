/* SPDX-License-Identifier: Apache-2.0
 *
 * One pipeline on one interconnect, for symph-bench dype.
 *
 * In: its examples and their times. Out: its cases, filled. Invariant: units share nothing that
 * they write, so they may run on any number of threads.
 */
#include "symph-bench/dype.h"
#include "symph-bench/plan_judges.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLOOR_SHARE 0.7
#define SAME        1e-9

static const struct sy_dype_pipeline *pipeline_of(const struct sy_dype_unit *unit) {
    return &unit->bench->pipelines[unit->pipeline];
}

/* --- true costs ---------------------------------------------------------------------------------
 */
static void fill_kernel(const struct sy_dype_unit *unit, uint32_t example, uint32_t kernel,
                        const struct sy_plan_problem *problem, double *time_ns, double *joules) {
    const struct sy_dype_pipeline *of = pipeline_of(unit);
    const struct sy_pipeline *pipeline = of->description;
    const struct sy_pipeline_kernel *entry = &pipeline->kernels[kernel];
    const double *numbers = &unit->numbers[(size_t)example * pipeline->expression_count];
    double costs[SY_PIPELINE_COST_MAX];
    for (uint32_t i = 0; i < entry->cost_count; i++) {
        costs[i] = numbers[entry->costs[i]];
    }
    for (uint32_t s = 0; s < problem->shape_count; s++) {
        size_t at = (size_t)kernel * problem->shape_count + s;
        enum sy_dype_class which = (enum sy_dype_class)problem->shapes[s].class_index;
        uint32_t width = problem->shapes[s].width;
        struct sy_dype_time alone = sy_dype_times_find(&unit->bench->times, entry, costs, which);
        double watts =
            isfinite(alone.watts) ? alone.watts : unit->system.classes[which].roofline.busy_watts;
        if (!isfinite(problem->time_ns[at]) || !isfinite(alone.time_ns)) {
            time_ns[at] = joules[at] = INFINITY;
            continue;
        }
        time_ns[at] = width == 1 ? alone.time_ns
                                 : unit->system.split_ns(unit->system.split_user, (uint32_t)which,
                                                         width, alone.time_ns, costs);
        joules[at] = 1e-9 * time_ns[at] * watts * width;
    }
}

/* The problem as the planner builds it, with its guesses replaced by what is true. */
static int fill_truth(struct sy_dype_unit *unit, uint32_t example, struct sy_error *error) {
    const struct sy_dype_pipeline *of = pipeline_of(unit);
    const struct sy_pipeline *pipeline = of->description;
    const double *values = pipeline->examples[of->examples[example]].values;
    struct sy_plan_problem *problem = &unit->truth[example];
    int code = sy_pipeline_problem(pipeline, values, &unit->system, unit->taught, 0, unit->arena,
                                   problem, NULL, error);
    if (code) {
        return code;
    }
    size_t cells = (size_t)problem->kernel_count * problem->shape_count;
    double *time_ns = sy_need(sy_arena_alloc(unit->arena, cells, sizeof *time_ns));
    double *joules = sy_need(sy_arena_alloc(unit->arena, cells, sizeof *joules));
    for (uint32_t k = 0; k < problem->kernel_count; k++) {
        fill_kernel(unit, example, k, problem, time_ns, joules);
    }
    problem->time_ns = time_ns;
    problem->joules = joules;
    return 0;
}

static int fill_all(struct sy_dype_unit *unit, struct sy_error *error) {
    const struct sy_dype_pipeline *of = pipeline_of(unit);
    size_t expressions = of->description->expression_count;
    unit->arena = sy_need(sy_arena_create());
    unit->planner = sy_need(sy_planner_create());
    unit->truth = sy_need(sy_arena_alloc(unit->arena, of->example_count, sizeof *unit->truth));
    unit->numbers = sy_need(
        sy_arena_alloc(unit->arena, of->example_count * expressions, sizeof *unit->numbers));
    sy_dype_system(&unit->bench->times, unit->link, &unit->system);
    int code = 0;
    for (uint32_t e = 0; !code && e < of->example_count; e++) {
        code = sy_pipeline_measure(of->description, sy_dype_values(unit, e),
                                   &unit->numbers[e * expressions], error);
    }
    code = code ? code
                : sy_dype_train(&unit->bench->times, &unit->system, of->description, &unit->taught,
                                error);
    for (uint32_t e = 0; !code && e < of->example_count; e++) {
        code = fill_truth(unit, e, error);
    }
    return code;
}

/* --- cases --------------------------------------------------------------------------------------
 */
struct sy_plan_request sy_dype_request(const struct sy_dype_case *item) {
    static const enum sy_plan_objective plain[SY_DYPE_OBJECTIVES] = {
        SY_PLAN_THROUGHPUT, SY_PLAN_ENERGY, SY_PLAN_BALANCED, SY_PLAN_LATENCY, SY_PLAN_ENERGY};
    struct sy_plan_request request = {.objective = plain[item->objective],
                                      .bounds = sy_plan_unbounded};
    request.bounds.period_ns = item->floor_ns;
    return request;
}

/* The floor is what a user asks for; it comes from the best period that there is. */
static int begin_cases(struct sy_dype_unit *unit, uint32_t example, struct sy_error *error) {
    static const struct sy_plan_outcome none = {NAN, NAN, NAN, NAN, NAN};
    struct sy_plan_request fastest = {SY_PLAN_THROUGHPUT, sy_plan_unbounded, false};
    struct sy_plan plan;
    int code = sy_plan_solve(unit->planner, &unit->truth[example], &fastest, &plan, error);
    for (int o = 0; !code && o < SY_DYPE_OBJECTIVES; o++) {
        struct sy_dype_case *item = sy_dype_case_at(unit->bench, unit->pipeline, example,
                                                    unit->link, (enum sy_dype_objective)o);
        *item = (struct sy_dype_case){
            .pipeline = unit->pipeline,
            .example = example,
            .link = unit->link,
            .objective = (enum sy_dype_objective)o,
            .floor_ns = o == SY_DYPE_FLOOR ? plan.outcome.period_ns / FLOOR_SHARE : INFINITY};
        for (int p = 0; p < SY_DYPE_POLICIES; p++) {
            item->got[p] = none;
        }
    }
    return code;
}

/* What depends on true costs alone: the exact search must agree with the exhaustive one. */
static int solve_truth(struct sy_dype_unit *unit, struct sy_dype_case *item,
                       struct sy_error *error) {
    const struct sy_plan_problem *truth = &unit->truth[item->example];
    struct sy_plan_request request = sy_dype_request(item);
    struct sy_plan plan;
    int code = sy_plan_solve(unit->planner, truth, &request, &plan, error);
    if (code) {
        return code;
    }
    double key = sy_dype_key(item, &plan.outcome), best = sy_dype_key(item, &item->best);
    item->exact = fabs(key - best) <= SAME * best;
    /* A table with one label per cell may find nothing within a bound. */
    code = sy_plan_greedy(unit->planner, truth, &request, &plan, NULL);
    if (!code) {
        item->got[SY_DYPE_GREEDY_TRUE] = plan.outcome;
    }
    if (item->objective == SY_DYPE_THROUGHPUT) {
        request.side_by_side = true;
        code = sy_plan_solve(unit->planner, truth, &request, &plan, NULL);
        if (!code) {
            item->got[SY_DYPE_LANES] = plan.outcome;
        }
    }
    return code == -ENOMEM ? sy_out_of_memory(error) : 0;
}

int sy_dype_unit_run(struct sy_dype_unit *unit, struct sy_error *error) {
    int code = fill_all(unit, error);
    for (uint32_t e = 0; !code && e < pipeline_of(unit)->example_count; e++) {
        code = begin_cases(unit, e, error);
        code = code ? code : sy_dype_space_search(unit, e, error);
        for (int o = 0; !code && o < SY_DYPE_OBJECTIVES; o++) {
            struct sy_dype_case *item = sy_dype_case_at(unit->bench, unit->pipeline, e, unit->link,
                                                        (enum sy_dype_objective)o);
            code = solve_truth(unit, item, error);
            code = code ? code : sy_dype_ours(unit, item, error);
        }
    }
    return code || unit->link > 0 ? code : sy_dype_errors(unit, error);
}

/* --- when all units have run --------------------------------------------------------------------
 */
int sy_dype_unit_after(struct sy_dype_unit *unit, struct sy_error *error) {
    const struct sy_dype_unit *first = &unit->bench->units[unit->pipeline * SY_DYPE_LINKS];
    const struct sy_dype_unit *last = first + SY_DYPE_LINKS - 1;
    struct sy_plan plan;
    int code = 0;
    for (int o = 0; !code && o < SY_DYPE_OBJECTIVES; o++) {
        code = sy_dype_space_least(first, last, (uint32_t)o, &plan, error);
        for (uint32_t e = 0; !code && e < pipeline_of(unit)->example_count; e++) {
            struct sy_dype_case *item = sy_dype_case_at(unit->bench, unit->pipeline, e, unit->link,
                                                        (enum sy_dype_objective)o);
            code = sy_plan_evaluate(&unit->truth[e], &sy_plan_unbounded, &plan,
                                    &item->got[SY_DYPE_STATIC], error);
        }
    }
    code = code ? code : sy_dype_space_least(unit, unit, SY_DYPE_OBJECTIVES, &plan, error);
    return code ? code : sy_dype_stream_run(unit, &plan, error);
}

void sy_dype_unit_finish(struct sy_dype_unit *unit) {
    free(unit->scores);
    free(unit->guesses);
    sy_store_close(unit->taught);
    sy_planner_destroy(unit->planner);
    sy_arena_destroy(unit->arena);
}
