/* SPDX-License-Identifier: Apache-2.0
 *
 * Ours in symph-bench dype: plans from estimates, before and after probes.
 *
 * In: an estimator that knows calibration inputs. Out: what its plans cost by the true times.
 * Invariant: of the true times only those of kernels that a plan ran are told, with noise.
 */
#include "symph-bench/dype.h"
#include "symph-bench/plan_judges.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_MAX 5   /* the first plan, and four probes */
#define ITEM_MAX  10  /* of one input, to settle */
#define RELAX     1.1 /* a floor that no estimate reaches is asked for again, lower */
#define RELAX_MAX 24
#define PURPOSE   0x64797065u

static const struct sy_dype_pipeline *pipeline_of(const struct sy_dype_unit *unit) {
    return &unit->bench->pipelines[unit->pipeline];
}

const double *sy_dype_values(const struct sy_dype_unit *unit, uint32_t example) {
    const struct sy_dype_pipeline *of = pipeline_of(unit);
    return of->description->examples[of->examples[example]].values;
}

static const double *numbers_of(const struct sy_dype_unit *unit, uint32_t example) {
    return &unit->numbers[(size_t)example * pipeline_of(unit)->description->expression_count];
}

/* --- running a plan -----------------------------------------------------------------------------
 */
/* What the true times say of a plan. */
static int judge(const struct sy_dype_unit *unit, uint32_t example, const struct sy_plan *plan,
                 struct sy_plan_outcome *ret_outcome, struct sy_error *error) {
    return sy_plan_evaluate(&unit->truth[example], &sy_plan_unbounded, plan, ret_outcome, error);
}

/* One item goes through a plan, and its kernels are timed. */
int sy_dype_run_item(const struct sy_dype_unit *unit, uint32_t example, const struct sy_plan *plan,
                     struct sy_rng *rng, struct sy_replanner *replanner) {
    const struct sy_plan_problem *truth = &unit->truth[example];
    int code = 0;
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const struct sy_plan_stage *stage = &plan->stages[s];
        for (uint32_t k = 0; !code && k < truth->kernel_count; k++) {
            size_t at = (size_t)k * truth->shape_count + stage->shape;
            if (stage->kernels >> k & 1) {
                double time_ns = truth->time_ns[at] * exp(unit->bench->noise * sy_rng_normal(rng));
                double watts = 1e9 * truth->joules[at] / truth->time_ns[at];
                code = sy_replanner_learn(replanner, sy_dype_values(unit, example), k, stage->shape,
                                          time_ns, watts);
            }
        }
    }
    return code;
}

/* --- one input until nothing changes ------------------------------------------------------------
 */
static int settle(struct sy_dype_unit *unit, struct sy_dype_case *item,
                  struct sy_replanner *replanner, struct sy_rng *rng, struct sy_plan *ret_plan,
                  struct sy_error *error) {
    int code = 0;
    item->plans_run = item->probes = 0;
    for (uint32_t i = 0; !code && i < ITEM_MAX; i++) {
        const struct sy_plan *plan;
        enum sy_replan_cause cause;
        code =
            sy_replanner_next(replanner, sy_dype_values(unit, item->example), &plan, &cause, error);
        if (code) {
            return code;
        }
        *ret_plan = *plan;
        item->probes += cause == SY_REPLAN_PROBE;
        item->plans_run += cause != SY_REPLAN_KEPT;
        if (sy_dype_run_item(unit, item->example, ret_plan, rng, replanner) < 0) {
            code = sy_out_of_memory(error);
        }
    }
    return code;
}

struct sy_replan_options sy_dype_replan_options(const struct sy_plan_request *request) {
    struct sy_replan_options options = sy_replan_usual;
    options.request = *request;
    options.probe_max = PROBE_MAX;
    return options;
}

static int probe(struct sy_dype_unit *unit, struct sy_dype_case *item, struct sy_store *store,
                 struct sy_plan *ret_plan, struct sy_error *error) {
    const struct sy_pipeline *pipeline = pipeline_of(unit)->description;
    struct sy_plan_request request = sy_dype_request(item);
    struct sy_rng rng = sy_rng_make(1, PURPOSE, (uint64_t)(item - unit->bench->cases));
    int code = -ERANGE;
    for (int attempt = 0; code == -ERANGE && attempt < RELAX_MAX; attempt++) {
        struct sy_replan_options options = sy_dype_replan_options(&request);
        struct sy_replanner *replanner = NULL;
        options.gain_ratio = 1.002; /* the same input for ever: a small gain is one */
        code = sy_replanner_create(pipeline, &unit->system, store, &options, &replanner, error);
        code = code ? code : settle(unit, item, replanner, &rng, ret_plan, error);
        sy_replanner_destroy(replanner);
        request.bounds.period_ns *= RELAX;
    }
    return code;
}

/* --- one case -----------------------------------------------------------------------------------
 */
const char *sy_dype_plan_text(struct sy_dype_unit *unit, uint32_t example,
                              const struct sy_plan *plan) {
    struct sy_buffer buffer = {0};
    sy_plan_write(&unit->truth[example], plan, &buffer);
    const char *text =
        buffer.failed ? NULL : sy_arena_strndup(unit->arena, buffer.text, buffer.length);
    sy_buffer_finish(&buffer);
    return text;
}

typedef int (*solver)(struct sy_planner *planner, const struct sy_plan_problem *problem,
                      const struct sy_plan_request *request, struct sy_plan *ret_plan,
                      struct sy_error *error);

/* By medians, with a floor that is lowered until some plan reaches it. */
static int solve_guess(struct sy_dype_unit *unit, const struct sy_dype_case *item,
                       const struct sy_plan_problem *problem, solver solve,
                       struct sy_plan *ret_plan, struct sy_error *error) {
    struct sy_plan_request request = sy_dype_request(item);
    int code = -ERANGE;
    for (int attempt = 0; code == -ERANGE && attempt < RELAX_MAX; attempt++) {
        code = solve(unit->planner, problem, &request, ret_plan, error);
        request.bounds.period_ns *= RELAX;
    }
    return code;
}

static int first_plans(struct sy_dype_unit *unit, struct sy_dype_case *item,
                       const struct sy_store *store, struct sy_error *error) {
    struct sy_arena *arena = sy_need(sy_arena_create());
    struct sy_plan_problem problem;
    struct sy_plan plan;
    int code =
        sy_pipeline_problem(pipeline_of(unit)->description, sy_dype_values(unit, item->example),
                            &unit->system, store, 0, arena, &problem, NULL, error);
    code = code ? code : solve_guess(unit, item, &problem, sy_plan_solve, &plan, error);
    if (!code) {
        item->first_plan = sy_dype_plan_text(unit, item->example, &plan);
        code = judge(unit, item->example, &plan, &item->got[SY_DYPE_FIRST], error);
    }
    if (!code && solve_guess(unit, item, &problem, sy_plan_greedy, &plan, NULL) == 0) {
        code = judge(unit, item->example, &plan, &item->got[SY_DYPE_GREEDY], error);
    }
    sy_arena_destroy(arena);
    return code;
}

int sy_dype_ours(struct sy_dype_unit *unit, struct sy_dype_case *item, struct sy_error *error) {
    struct sy_store *store = sy_need(sy_store_copy(unit->taught));
    struct sy_plan plan;
    int code = first_plans(unit, item, store, error);
    code = code ? code : probe(unit, item, store, &plan, error);
    if (!code) {
        item->our_plan = sy_dype_plan_text(unit, item->example, &plan);
        code = judge(unit, item->example, &plan, &item->got[SY_DYPE_OURS], error);
    }
    sy_store_close(store);
    return code;
}

/* --- how wrong the first estimates are ----------------------------------------------------------
 */
static int add_errors(struct sy_dype_unit *unit, uint32_t example, struct sy_store *store,
                      uint32_t *capacity) {
    const struct sy_pipeline *pipeline = pipeline_of(unit)->description;
    const struct sy_plan_problem *truth = &unit->truth[example];
    const double *numbers = numbers_of(unit, example);
    for (uint32_t k = 0; k < truth->kernel_count; k++) {
        const struct sy_pipeline_kernel *kernel = &pipeline->kernels[k];
        double costs[SY_PIPELINE_COST_MAX];
        const struct sy_features features = sy_pipeline_features(kernel, numbers, 1, costs);
        for (uint32_t s = 0; s < truth->shape_count; s++) {
            double time_ns = truth->time_ns[(size_t)k * truth->shape_count + s];
            enum sy_dype_class which = (enum sy_dype_class)truth->shapes[s].class_index;
            struct sy_estimate guess =
                sy_estimate(store, kernel->kernel, unit->bench->times.classes[which], &features);
            if (truth->shapes[s].width != 1 || !isfinite(time_ns) ||
                guess.source == SY_COST_UNKNOWN) {
                continue;
            }
            if (sy_grow(&unit->guesses, capacity, unit->guess_count + 1, sizeof *unit->guesses) <
                0) {
                return -ENOMEM;
            }
            unit->guesses[unit->guess_count++] = (struct sy_dype_guess){
                kernel->kernel, which, log(guess.median_ns / time_ns), guess.log_sigma};
        }
    }
    return 0;
}

int sy_dype_errors(struct sy_dype_unit *unit, struct sy_error *error) {
    uint32_t capacity = 0;
    for (uint32_t e = 0; e < pipeline_of(unit)->example_count; e++) {
        if (add_errors(unit, e, unit->taught, &capacity) < 0) {
            return sy_out_of_memory(error);
        }
    }
    return 0;
}
