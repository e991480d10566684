/* SPDX-License-Identifier: Apache-2.0
 *
 * Two other ways to plan, to hold sy_plan_solve against: all plans, and DyPe's table.
 */
#ifndef SYMPH_BENCH_PLAN_JUDGES_H
#define SYMPH_BENCH_PLAN_JUDGES_H

#include "planner/planner.h"

/* Calls visit for every plan of the space with one lane, whatever it costs. Returns the number of
 * plans; visit returns false to stop. */
typedef bool (*sy_plan_visit)(void *user, const struct sy_plan *plan);
uint64_t sy_plan_enumerate(const struct sy_plan_problem *problem,
                           const struct sy_plan_bounds *bounds, sy_plan_visit visit, void *user);

/* DyPe's table with one label per cell, as far as it is known. */
SY_MUST_CHECK int sy_plan_greedy(struct sy_planner *planner, const struct sy_plan_problem *problem,
                                 const struct sy_plan_request *request, struct sy_plan *ret_plan,
                                 struct sy_error *error);

#endif
