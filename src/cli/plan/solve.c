/* SPDX-License-Identifier: Apache-2.0
 *
 * solve: the plan, the front, and what each constraint costs.
 *
 * In: what is known of pipeline, machine and times. Out: the answers of struct sy_planning. A
 * constraint's price is the answer without it, everything else the same. Invariant: where there is
 * no plan, the message names what to relax.
 */
#include "cli/plan/plan.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* --- problems -----------------------------------------------------------------------------------
 */
static int make_problem(const struct sy_planning *planning, uint32_t skip,
                        struct sy_plan_problem *ret_problem,
                        const struct sy_estimate **ret_estimates, struct sy_error *error) {
    struct sy_system system = planning->system;
    const struct sy_estimate *estimates = NULL;
    int code = sy_constraints_limit(&planning->constraints, skip, &system, error);
    code = code
               ? code
               : sy_pipeline_problem(planning->pipeline, planning->values, &system, planning->store,
                                     0, planning->arena, ret_problem, &estimates, error);
    if (!code && ret_problem->shape_count == 0) {
        code = sy_fail(error, -ENODEV, "no device is left for kernel %s, or for any other",
                       planning->pipeline->kernels[0].name);
        sy_hint(error, "--busy and the constraints exclude all of them");
    }
    if (!code && ret_estimates) {
        *ret_estimates = estimates;
    }
    return code;
}

static int solve_without(const struct sy_planning *planning, uint32_t skip,
                         struct sy_plan_problem *ret_problem, struct sy_plan *ret_plan) {
    struct sy_error error = {0};
    const struct sy_plan_request request = {.objective = planning->objective,
                                            .bounds =
                                                sy_constraints_bounds(&planning->constraints, skip),
                                            .side_by_side = planning->args->side_by_side};
    int code = make_problem(planning, skip, ret_problem, NULL, &error);
    return code ? code : sy_plan_solve(planning->planner, ret_problem, &request, ret_plan, &error);
}

/* --- no plan ------------------------------------------------------------------------------------
 */
/* Which constraint, taken away alone, lets a plan be. */
static void tell_who_bars(const struct sy_planning *planning) {
    uint32_t count = planning->constraints.count, freeing = 0;
    for (uint32_t i = 0; i < count && count > 1; i++) {
        struct sy_plan_problem problem;
        struct sy_plan plan;
        if (solve_without(planning, i, &problem, &plan) == 0) {
            sy_message_note(
                planning->args->common.quiet,
                "without '%s' there is a plan: %s, latency %s, %s per item, %.4g W",
                planning->constraints.items[i].text, sy_planning_rate(plan.outcome.period_ns).text,
                sy_units_time(plan.outcome.latency_ns).text,
                sy_planning_joules(plan.outcome.energy_joules).text, plan.outcome.power_watts);
            freeing++;
        }
    }
    if (count > 1 && freeing == 0) {
        sy_message_note(planning->args->common.quiet,
                        "removing one constraint is not enough: at least two must be relaxed");
    }
}

static int no_plan(const struct sy_planning *planning, int code, const struct sy_error *error) {
    sy_message_error(error);
    if (code == -ERANGE || (code == -ENODEV && planning->constraints.count)) {
        tell_who_bars(planning);
    }
    return sy_message_exit(code);
}

/* --- answers ------------------------------------------------------------------------------------
 */
static void price_constraints(struct sy_planning *planning) {
    double value = sy_plan_value(planning->objective, &planning->plan.outcome);
    for (uint32_t i = 0; i < planning->constraints.count; i++) {
        struct sy_planning_price *price = &planning->prices[i];
        price->known = solve_without(planning, i, &price->problem, &price->plan) == 0;
        double without =
            price->known ? sy_plan_value(planning->objective, &price->plan.outcome) : NAN;
        price->ratio = without > 0 ? value / without : 1;
    }
}

double sy_planning_figure(const struct sy_plan *plan, uint32_t figure) {
    const double figures[SY_PLANNING_FIGURES] = {plan->outcome.period_ns, plan->outcome.latency_ns,
                                                 plan->outcome.energy_joules, plan->outcome.money};
    return figures[figure];
}

/* In every figure at least as good, but for rounding, and in one better. */
static bool beats(const struct sy_plan *a, const struct sy_plan *b) {
    bool better = false;
    for (uint32_t k = 0; k < SY_PLANNING_FIGURES; k++) {
        double x = sy_planning_figure(a, k), y = sy_planning_figure(b, k);
        if (x > y * (1 + 1e-9)) {
            return false;
        }
        better = better || x < y * (1 - 1e-9);
    }
    return better;
}

/* The search is exact: it keeps plans that are better by a rounding error, which nobody wants. */
static void prune_front(struct sy_planning *planning) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < planning->front_count; i++) {
        bool beaten = false;
        for (uint32_t j = 0; j < planning->front_count && !beaten; j++) {
            beaten = beats(&planning->front[j], &planning->front[i]);
        }
        planning->front[i].lane_count = beaten ? 0 : 1;
    }
    for (uint32_t i = 0; i < planning->front_count; i++) {
        if (planning->front[i].lane_count) {
            planning->front[kept++] = planning->front[i];
        }
    }
    planning->front_count = kept;
}

static int find_front(struct sy_planning *planning) {
    struct sy_error error = {0};
    const struct sy_plan *plans = NULL;
    const struct sy_plan_bounds bounds = sy_constraints_bounds(&planning->constraints, SY_NONE);
    int code = sy_plan_front(planning->planner, &planning->problem, &bounds, &plans,
                             &planning->front_count, &error);
    if (code) {
        planning->front_count = 0;
        /* Side by side may keep what no pipeline alone does. */
        return code == -ERANGE && planning->plan.lane_count > 1 ? SY_EXIT_OK
                                                                : no_plan(planning, code, &error);
    }
    planning->front = sy_need(
        sy_arena_alloc(planning->arena, planning->front_count + 1u, sizeof *planning->front));
    memcpy(planning->front, plans, planning->front_count * sizeof *plans);
    prune_front(planning);
    return SY_EXIT_OK;
}

/* Of plans that are equal in the objective the search gives any; on the front are those that no
 * other beats in the rest either. Of these the one with least energy, then latency. */
static void settle_ties(struct sy_planning *planning) {
    const double value = sy_plan_value(planning->objective, &planning->plan.outcome);
    const struct sy_plan *best = NULL;
    for (uint32_t i = 0; i < planning->front_count && planning->plan.lane_count == 1; i++) {
        const struct sy_plan *plan = &planning->front[i];
        if (sy_planning_is_chosen(planning, plan)) {
            return;
        }
        if (sy_plan_value(planning->objective, &plan->outcome) > value * (1 + 1e-9)) {
            continue;
        }
        double energy = best ? best->outcome.energy_joules : INFINITY;
        bool equal = best && fabs(plan->outcome.energy_joules - energy) <= 1e-9 * energy;
        if (equal ? plan->outcome.latency_ns < best->outcome.latency_ns
                  : plan->outcome.energy_joules < energy) {
            best = plan;
        }
    }
    if (best) {
        planning->plan = *best;
    }
}

/* Classes go by the names that the times have for them. */
static void hint_names(const struct sy_planning *planning, const char *text,
                       struct sy_error *error) {
    for (uint32_t c = 0; c < planning->system.class_count; c++) {
        const char *before = planning->machine->classes[c].name;
        const char *name = planning->system.classes[c].name;
        char used[64];
        snprintf(used, sizeof used, "@%s", before);
        if (strcmp(before, name) != 0 && strstr(text, used)) {
            sy_hint(error, "%s is called %s here, as in the measured times", before, name);
        }
    }
}

static int judge_beside(struct sy_planning *planning) {
    const struct sy_plan_bounds bounds = sy_constraints_bounds(&planning->constraints, SY_NONE);
    for (uint32_t i = 0; i < planning->args->beside.count; i++) {
        struct sy_error error = {0};
        const char *text = planning->args->beside.items[i];
        if (planning->beside_count == SY_PLANNING_BESIDE_MAX) {
            return sy_options_usage(planning->command, "at most %d plans can be evaluated at once",
                                    SY_PLANNING_BESIDE_MAX);
        }
        struct sy_planning_beside *beside = &planning->beside[planning->beside_count];
        int code = sy_plan_parse(&planning->problem, text, &beside->plan, &error);
        code = code ? code
                    : sy_plan_evaluate(&planning->problem, &bounds, &beside->plan,
                                       &beside->plan.outcome, &error);
        if (code) {
            hint_names(planning, text, &error);
            return sy_message_about("plan", text, code, &error);
        }
        beside->text = text;
        beside->within = sy_plan_within(&bounds, &beside->plan.outcome);
        planning->beside_count++;
    }
    return SY_EXIT_OK;
}

static int find_plan(struct sy_planning *planning) {
    struct sy_error error = {0};
    const struct sy_plan_request request = {
        .objective = planning->objective,
        .bounds = sy_constraints_bounds(&planning->constraints, SY_NONE),
        .side_by_side = planning->args->side_by_side};
    int code = make_problem(planning, SY_NONE, &planning->problem, &planning->estimates, &error);
    code = code ? code
                : sy_plan_solve(planning->planner, &planning->problem, &request, &planning->plan,
                                &error);
    return code ? no_plan(planning, code, &error) : SY_EXIT_OK;
}

int sy_planning_solve(struct sy_planning *planning) {
    planning->planner = sy_need(sy_planner_create());
    int r = find_plan(planning);
    r = r == SY_EXIT_OK ? judge_beside(planning) : r;
    r = r == SY_EXIT_OK ? find_front(planning) : r;
    if (r == SY_EXIT_OK) {
        settle_ties(planning);
        price_constraints(planning);
    }
    return r;
}

/* --- pieces that several show -------------------------------------------------------------------
 */
enum sy_basis sy_basis_of(const struct sy_estimate *estimate) {
    return estimate->source == SY_COST_ROOFLINE ? SY_BASIS_ROOFLINE
           : estimate->source == SY_COST_MODEL  ? SY_BASIS_MODEL
                                                : SY_BASIS_MEASURED;
}

const char *sy_basis_name(enum sy_basis basis) {
    static const char *const names[SY_BASIS_COUNT] = {"measured", "model", "roofline guess"};
    return names[basis];
}

double sy_planning_spread(const struct sy_estimate *estimate) {
    return exp(estimate->log_sigma) - 1;
}

const struct sy_estimate *sy_planning_estimate(const struct sy_planning *planning, uint32_t kernel,
                                               uint32_t shape) {
    return &planning->estimates[kernel * planning->problem.shape_count + shape];
}

void sy_planning_bases(const struct sy_planning *planning, uint32_t ret_counts[SY_BASIS_COUNT]) {
    const struct sy_plan_problem *problem = &planning->problem;
    memset(ret_counts, 0, SY_BASIS_COUNT * sizeof *ret_counts);
    for (uint32_t i = 0; i < problem->kernel_count * problem->shape_count; i++) {
        if (isfinite(problem->time_ns[i])) {
            ret_counts[sy_basis_of(&planning->estimates[i])]++;
        }
    }
}

void sy_planning_kernels(const struct sy_planning *planning, uint64_t kernels,
                         struct sy_buffer *buffer) {
    bool first = true;
    for (uint32_t k = 0; k < planning->problem.kernel_count; k++) {
        if (kernels >> k & 1) {
            sy_buffer_printf(buffer, "%s%s", first ? "" : "+", planning->problem.kernels[k].name);
            first = false;
        }
    }
}

void sy_planning_mix(const struct sy_planning *planning, const struct sy_plan *plan,
                     struct sy_buffer *buffer) {
    const struct sy_plan_problem *problem = &planning->problem;
    bool first = true;
    for (uint32_t c = 0; c < problem->class_count; c++) {
        bool used = false;
        for (uint32_t i = 0; i < plan->stage_count; i++) {
            used = used || problem->shapes[plan->stages[i].shape].class_index == c;
        }
        if (used) {
            sy_buffer_printf(buffer, "%s%s", first ? "" : " + ", problem->classes[c].name);
            first = false;
        }
    }
}

void sy_planning_caveat(const struct sy_planning *planning, struct sy_buffer *buffer) {
    uint32_t counts[SY_BASIS_COUNT];
    sy_planning_bases(planning, counts);
    uint32_t all = counts[0] + counts[1] + counts[2];
    sy_buffer_printf(buffer, "times: %u of %u measured, %u from a model, %u guessed from rooflines",
                     counts[SY_BASIS_MEASURED], all, counts[SY_BASIS_MODEL],
                     counts[SY_BASIS_ROOFLINE]);
}

struct sy_units sy_planning_rate(double period_ns) {
    double rate = 1e9 / period_ns;
    if (isfinite(rate) && rate >= 0.1) {
        return sy_units_text("%.*f/s", rate < 9.995 ? 2 : rate < 99.95 ? 1 : 0, rate);
    }
    return isfinite(rate) ? sy_units_text("%.3g/s", rate) : sy_units_text("-");
}

struct sy_units sy_planning_joules(double joules) {
    static const struct {
        const char *name;
        double scale;
    } units[] = {{"uJ", 1e-6}, {"mJ", 1e-3}, {"J", 1}, {"kJ", 1e3}};
    size_t i = 0;
    while (i + 1 < SY_COUNT(units) && fabs(joules) >= 0.9995 * units[i + 1].scale) {
        i++;
    }
    return isfinite(joules) ? sy_units_text("%.3g %s", joules / units[i].scale, units[i].name)
                            : sy_units_text("-");
}
