/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of a plan: objectives as one number, bounds as a yes or no.
 */
#include "planner/planner.h"
#include <math.h>

const struct sy_plan_bounds sy_plan_unbounded = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};

const char *sy_plan_objective_name(enum sy_plan_objective objective) {
    static const char *const names[SY_PLAN_OBJECTIVE_COUNT] = {"throughput", "latency", "energy",
                                                               "money", "balanced"};
    return objective < SY_PLAN_OBJECTIVE_COUNT ? names[objective] : NULL;
}

double sy_plan_value(enum sy_plan_objective objective, const struct sy_plan_outcome *outcome) {
    switch (objective) {
    case SY_PLAN_LATENCY:
        return outcome->latency_ns;
    case SY_PLAN_ENERGY:
        return outcome->energy_joules;
    case SY_PLAN_MONEY:
        return outcome->money;
    case SY_PLAN_BALANCED:
        return outcome->energy_joules * outcome->period_ns;
    default:
        return outcome->period_ns;
    }
}

/* The period already respects a cap on power. */
bool sy_plan_within(const struct sy_plan_bounds *bounds, const struct sy_plan_outcome *outcome) {
    return outcome->latency_ns <= bounds->latency_ns && outcome->period_ns <= bounds->period_ns &&
           outcome->energy_joules <= bounds->energy_joules && outcome->money <= bounds->money &&
           isfinite(outcome->period_ns);
}
