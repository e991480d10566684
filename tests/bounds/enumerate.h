/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimum of a tiny graph by looking at everything: the judge of sy_bound_exact.
 */
#ifndef SY_TESTS_BOUNDS_ENUMERATE_H
#define SY_TESTS_BOUNDS_ENUMERATE_H

#include "bounds/bounds.h"

/* No pruning. -E2BIG: more than 9 tasks. */
SY_MUST_CHECK int enumerate_optimum(const struct sy_workload *workload, double *ret_makespan_ns);

#endif
