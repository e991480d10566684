/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to the planner: which quantities an answer needs, and which search gives it.
 *
 * One quantity alone (least period, least latency without bounds) is a floor of the empty cut; all
 * else is a search of labels that the floors prune.
 */
#include "planner/search.h"
#include <errno.h>
#include <stdlib.h>

struct sy_planner *sy_planner_create(void) {
    return calloc(1, sizeof(struct sy_planner));
}

void sy_planner_destroy(struct sy_planner *planner) {
    if (!planner) {
        return;
    }
    for (uint32_t i = 0; i < planner->stack_capacity; i++) {
        free(planner->stacks[i].labels);
    }
    free(planner->stacks);
    free(planner->labels);
    free(planner->found);
    free(planner->plans);
    free(planner->block.memory);
    sy_plan_space_finish(&planner->space);
    free(planner);
}

static double loosen(double bound) {
    return bound + bound * SY_PLAN_SLACK;
}

void sy_plan_ask(struct sy_planner *planner, enum sy_plan_mode mode,
                 enum sy_plan_objective objective, const struct sy_plan_bounds *bounds) {
    bool energy = objective == SY_PLAN_ENERGY || objective == SY_PLAN_BALANCED ||
                  bounds->energy_joules < INFINITY || bounds->power_watts < INFINITY;
    bool all = mode == SY_PLAN_ALL;
    planner->label_count = 0;
    planner->mode = mode;
    planner->objective = objective;
    planner->bounds = *bounds;
    planner->loose = (struct sy_plan_bounds){loosen(bounds->latency_ns), loosen(bounds->period_ns),
                                             loosen(bounds->energy_joules), loosen(bounds->money),
                                             bounds->power_watts};
    planner->need.joules = all || energy;
    planner->need.latency = all || objective == SY_PLAN_LATENCY || bounds->latency_ns < INFINITY;
    planner->need.period = all || energy || objective != SY_PLAN_LATENCY ||
                           bounds->period_ns < INFINITY || bounds->money < INFINITY;
}

bool sy_plan_is_simple(const struct sy_planner *planner) {
    bool bounded = planner->bounds.money < INFINITY || planner->bounds.period_ns < INFINITY ||
                   planner->bounds.latency_ns < INFINITY;
    return planner->mode == SY_PLAN_BEST && !planner->need.joules && !bounded &&
           (planner->objective == SY_PLAN_LATENCY || planner->objective == SY_PLAN_THROUGHPUT);
}

/* Of the plans of least period, one that takes the least energy. */
static bool follow(struct sy_planner *planner, struct sy_plan *ret_plan) {
    const struct sy_plan_space *space = &planner->space;
    if (planner->objective == SY_PLAN_LATENCY) {
        return sy_plan_follow(planner, planner->floor_latency, ret_plan);
    }
    double pace_ns = planner->floor_period[(size_t)(space->use_count - 1) * space->row];
    if (!(pace_ns < INFINITY)) {
        return false;
    }
    sy_plan_floor_thrift(planner, pace_ns);
    return sy_plan_follow(planner, planner->floor_thrift, ret_plan);
}

int sy_plan_best(struct sy_planner *planner, enum sy_plan_objective objective,
                 const struct sy_plan_bounds *bounds, struct sy_plan *ret_plan) {
    sy_plan_ask(planner, SY_PLAN_BEST, objective, bounds);
    int code = sy_plan_floors(planner);
    if (code) {
        return code;
    }
    if (sy_plan_is_simple(planner)) {
        if (!follow(planner, ret_plan)) {
            return -ERANGE;
        }
    } else {
        code = sy_plan_search(planner);
        if (code || !planner->found_count) {
            return code ? code : -ERANGE;
        }
        sy_plan_unwind(planner, &planner->found[0], ret_plan);
    }
    sy_plan_cost(planner->space.problem, bounds, ret_plan);
    return sy_plan_within(bounds, &ret_plan->outcome) ? 0 : -ERANGE;
}

static int prepare(struct sy_planner *planner, const struct sy_plan_problem *problem,
                   const struct sy_plan_request *request, struct sy_error *error) {
    int code = sy_plan_check_request(request, error);
    return code ? code : sy_plan_space_prepare(&planner->space, problem, error);
}

/* Of the plans of least latency, one of least period: replicas do not change the latency. */
static int solve(struct sy_planner *planner, const struct sy_plan_request *request,
                 struct sy_plan *plan) {
    struct sy_plan_bounds bounds = request->bounds;
    int code = sy_plan_best(planner, request->objective, &bounds, plan);
    if (!code && request->objective == SY_PLAN_LATENCY) {
        bounds.latency_ns = plan->outcome.latency_ns;
        code = sy_plan_best(planner, SY_PLAN_THROUGHPUT, &bounds, plan);
    }
    return code;
}

int sy_plan_solve(struct sy_planner *planner, const struct sy_plan_problem *problem,
                  const struct sy_plan_request *request, struct sy_plan *ret_plan,
                  struct sy_error *error) {
    struct sy_plan plan = {0};
    int code = prepare(planner, problem, request, error);
    if (code) {
        return code;
    }
    if (request->side_by_side) {
        code = sy_plan_lanes(planner, request, &plan, error);
    } else {
        code = solve(planner, request, &plan);
        code = code == -ERANGE ? sy_plan_explain(planner, &request->bounds, error)
               : code          ? sy_fail(error, code, "out of memory")
                               : 0;
    }
    if (!code) {
        *ret_plan = plan;
    }
    return code;
}

static void fill_front(struct sy_planner *planner, const struct sy_plan_bounds *bounds) {
    for (uint32_t i = 0; i < planner->found_count; i++) {
        struct sy_plan *plan = &planner->plans[i];
        sy_plan_unwind(planner, &planner->found[i], plan);
        sy_plan_cost(planner->space.problem, bounds, plan);
    }
}

int sy_plan_front(struct sy_planner *planner, const struct sy_plan_problem *problem,
                  const struct sy_plan_bounds *bounds, const struct sy_plan **ret_plans,
                  uint32_t *ret_count, struct sy_error *error) {
    int code = prepare(planner, problem, &(struct sy_plan_request){.bounds = *bounds}, error);
    if (code) {
        return code;
    }
    sy_plan_ask(planner, SY_PLAN_ALL, SY_PLAN_THROUGHPUT, bounds);
    code = sy_plan_floors(planner);
    code = code ? code : sy_plan_search(planner);
    if (!code && !planner->found_count) {
        return sy_plan_explain(planner, bounds, error);
    }
    if (code || sy_grow(&planner->plans, &planner->plan_capacity, planner->found_count,
                        sizeof *planner->plans)) {
        return sy_out_of_memory(error);
    }
    fill_front(planner, bounds);
    *ret_plans = planner->plans;
    *ret_count = planner->found_count;
    return 0;
}
