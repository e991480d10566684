/* SPDX-License-Identifier: Apache-2.0
 *
 * What plans promise and what comes of it: a factor for each set of classes that plans use.
 *
 * In: how much longer items took than a plan's period says. Out: values of plans that are corrected
 * by it, and the best plan by those. Kernels are timed one by one; copies that get in each other's
 * way, hand-overs and a busy host are not, and plans that cross memories meet more of them.
 * Invariant: without measurements, or where throughput is not the objective, nothing is corrected.
 */
#include "planner/replan.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define PACE_SHARE 0.5  /* of the newest measurement */
#define PACE_MOST  3.0  /* in logs */
#define PACE_MOVED 0.05 /* that makes plans be looked at again */

static uint32_t classes_of(const struct sy_plan_problem *problem, const struct sy_plan *plan) {
    uint32_t set = 0;
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        set |= 1u << problem->shapes[plan->stages[s].shape].class_index;
    }
    return set;
}

static double pace_of(const struct sy_replanner *replanner, const struct sy_plan_problem *problem,
                      const struct sy_plan *plan) {
    bool counts = replanner->options.request.objective == SY_PLAN_THROUGHPUT;
    return counts ? exp(replanner->pace[classes_of(problem, plan)]) : 1;
}

double sy_replan_promise(const struct sy_replanner *replanner,
                         const struct sy_plan_problem *problem, const struct sy_plan *plan) {
    return sy_plan_value(replanner->options.request.objective, &plan->outcome) *
           pace_of(replanner, problem, plan);
}

/* The best on these classes alone. */
static int solve_on(struct sy_replanner *replanner, const struct sy_plan_problem *problem,
                    uint32_t set, struct sy_plan *plan, struct sy_error *error) {
    struct sy_plan_problem part = *problem;
    struct sy_plan_class classes[SY_PLAN_CLASS_MAX];
    memcpy(classes, problem->classes, problem->class_count * sizeof *classes);
    for (uint32_t c = 0; c < problem->class_count; c++) {
        classes[c].device_count = set >> c & 1 ? classes[c].device_count : 0;
    }
    part.classes = classes;
    return sy_plan_solve(replanner->planner, &part, &replanner->options.request, plan, error);
}

int sy_replan_solve(struct sy_replanner *replanner, const struct sy_plan_problem *problem,
                    struct sy_plan *ret_plan, struct sy_error *error) {
    uint32_t sets = 1u << problem->class_count;
    int code = solve_on(replanner, problem, sets - 1, ret_plan, error);
    if (code || !replanner->paced || replanner->options.request.objective != SY_PLAN_THROUGHPUT) {
        return code;
    }
    double least = sy_replan_promise(replanner, problem, ret_plan);
    for (uint32_t set = 1; set + 1 < sets; set++) {
        struct sy_plan plan;
        code = solve_on(replanner, problem, set, &plan, NULL);
        if (code == -ENOMEM) {
            return sy_fail(error, code, "out of memory");
        }
        if (!code && sy_replan_promise(replanner, problem, &plan) < least) {
            least = sy_replan_promise(replanner, problem, &plan);
            *ret_plan = plan;
        }
    }
    return 0;
}

void sy_replanner_paced(struct sy_replanner *replanner, const struct sy_plan *plan, double ratio) {
    struct kind *kind = replanner->current;
    if (!kind || !(ratio > 0) || !isfinite(ratio)) {
        return;
    }
    uint32_t set = classes_of(&kind->problem, plan);
    double *pace = &replanner->pace[set], old = *pace;
    double seen = sy_least(sy_most(log(ratio), -PACE_MOST), PACE_MOST);
    bool first = !(replanner->paced >> set & 1);
    *pace = first ? seen : old + PACE_SHARE * (seen - old);
    replanner->paced |= 1u << set;
    if (fabs(*pace - old) > PACE_MOVED) {
        for (uint32_t i = 0; i < KINDS; i++) {
            replanner->kinds[i].contradicted |= replanner->kinds[i].stamp != 0;
        }
    }
}
