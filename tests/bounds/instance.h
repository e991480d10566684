/* SPDX-License-Identifier: Apache-2.0
 *
 * The workloads by hand of tests/cost, and a judge of the plans made for them.
 */
#ifndef SY_TESTS_BOUNDS_INSTANCE_H
#define SY_TESTS_BOUNDS_INSTANCE_H

#include "../cost/instance.h"
#include "bounds/bounds.h"

/* Judges a plan from the definition: precedence, transfers, one task a device at a time. */
void assert_plan_legal(const struct sy_workload *workload, const struct sy_schedule *plan);

#endif
