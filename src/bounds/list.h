/* SPDX-License-Identifier: Apache-2.0
 *
 * List scheduling with insertion, made to be run millions of times; private to this room.
 *
 * In: a priority per task, a handicap per task and class. Out: devices and times. Each ready task
 * of highest priority goes where its end plus handicap is least. Nothing is allocated after init.
 */
#ifndef SY_BOUNDS_LIST_H
#define SY_BOUNDS_LIST_H

#include "base/heap.h"
#include "bounds/timeline.h"

struct sy_list {
    const struct sy_bound_model *model;
    struct sy_timeline line;
    uint32_t *waiting; /* unplaced predecessors */
    struct sy_heap ready;
    double *below_ns;   /* longest way from a task's end to the end, on fastest classes */
    double *arrival_ns; /* per memory, of the task at hand */
    uint32_t *device;   /* the schedule */
    double *start_ns, *end_ns;
};

SY_MUST_CHECK int sy_list_init(struct sy_list *list, const struct sy_bound_model *model,
                               struct sy_arena *arena);
/* The makespan, or INFINITY as soon as it is sure to exceed limit_ns. handicap_ns may be NULL. */
double sy_list_run(struct sy_list *list, const double *priority, const double *handicap_ns,
                   double limit_ns);

#endif
