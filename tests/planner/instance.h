/* SPDX-License-Identifier: Apache-2.0
 *
 * Random problems for tests of the planner: chains and graphs, all kinds of links and devices.
 */
#ifndef SY_TESTS_PLANNER_INSTANCE_H
#define SY_TESTS_PLANNER_INSTANCE_H

#include "planner/planner.h"

#define INSTANCE_KERNELS 32
#define INSTANCE_DATA    128
#define INSTANCE_SHAPES  32

struct instance {
    struct sy_plan_problem problem;
    struct sy_plan_kernel kernels[INSTANCE_KERNELS];
    struct sy_plan_datum data[INSTANCE_DATA];
    struct sy_plan_class classes[SY_PLAN_CLASS_MAX];
    struct sy_plan_shape shapes[INSTANCE_SHAPES];
    double time_ns[INSTANCE_KERNELS * INSTANCE_SHAPES];
    double joules[INSTANCE_KERNELS * INSTANCE_SHAPES];
    struct sy_plan_link links[(SY_PLAN_CLASS_MAX + 1) * (SY_PLAN_CLASS_MAX + 1)];
    char names[INSTANCE_KERNELS][16];
};

enum instance_form { INSTANCE_CHAIN, INSTANCE_GRAPH, INSTANCE_SERIES_PARALLEL };

/* device_counts: per class, all widths. */
void instance_make(struct instance *instance, struct sy_rng *rng, enum instance_form form,
                   uint32_t kernel_count, const uint32_t *device_counts, uint32_t class_count);
/* Some kernels cannot run on some classes, memories are small. Not all such problems have plans. */
void instance_restrict(struct instance *instance, struct sy_rng *rng);

#endif
