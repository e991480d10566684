/* SPDX-License-Identifier: Apache-2.0
 *
 * bounds: how good could any schedule be.
 *
 * In: a workload of one job. Out: lower bounds of its makespan, the exact optimum of small graphs,
 * the best schedule a long search finds. Never knows: noise, contention, policies.
 * Invariant: critical path, area <= mixed LP <= optimum <= anything found.
 */
#ifndef SY_BOUNDS_BOUNDS_H
#define SY_BOUNDS_BOUNDS_H

#include "cost/cost.h"

/* Longest path with every task on its fastest class, transfers free. */
double sy_bound_critical_path_ns(const struct sy_workload *workload);
/* Work spread perfectly and fractionally over all devices. */
double sy_bound_area_ns(const struct sy_workload *workload);

/* Critical path and area together, one LP, solved by an installed solver (clp, cbc or glpsol; the
 * SYMPH_LP_SOLVER variable names another). -ENOENT: none is installed; -ETIME: it took longer, or
 * would (over a million tasks and edges); -EIO: it failed; -ECANCELED: stop, asked
 * now and then, said so (NULL: never). The bound is proved from the solver's dual values, so it
 * holds whatever the solver does. */
SY_MUST_CHECK int sy_bound_mixed_ns(const struct sy_workload *workload, double time_limit_s,
                                    bool (*stop)(void), double *ret_bound_ns,
                                    struct sy_error *error);

/* A static schedule. Functions that fill one expect it initialised for the workload's tasks. */
struct sy_schedule {
    uint32_t task_count;
    uint32_t *device; /* per task */
    double *start_ns, *end_ns;
    double makespan_ns;
};
SY_MUST_CHECK int sy_schedule_init(struct sy_schedule *plan, uint32_t task_count);
void sy_schedule_finish(struct sy_schedule *plan);
void sy_schedule_copy(const struct sy_schedule *from, struct sy_schedule *ret_to);
/* Start and end of every task when tasks are placed in the given order, each on its device in
 * plan->device: as early as the device and the inputs allow, into earlier gaps if insert is set.
 * order NULL: by plan->start_ns. -EINVAL: the order breaks a dependency, or a device cannot run
 * its task; the plan is then unchanged. */
SY_MUST_CHECK int sy_schedule_evaluate(const struct sy_workload *workload, const uint32_t *order,
                                       bool insert, struct sy_schedule *plan);

/* Exact optimum by branch and bound, transfers at their isolated time, fetched when produced.
 * -E2BIG: more than node_limit nodes would be needed; the plan is then the best found so far. */
SY_MUST_CHECK int sy_bound_exact(const struct sy_workload *workload, uint64_t node_limit,
                                 struct sy_schedule *ret_plan, uint64_t *ret_nodes);

/* Best-known: a long search over task priorities and class preferences, each tried by list
 * scheduling with insertion. Never worse than HEFT nor than start (NULL: none). The same seed gives
 * the same plan. Stops early at a plan that meets the lower bound. */
SY_MUST_CHECK int sy_bound_anneal(const struct sy_workload *workload, uint64_t seed,
                                  uint64_t iteration_limit, const struct sy_schedule *start,
                                  struct sy_schedule *ret_plan);

#endif
