/* SPDX-License-Identifier: Apache-2.0
 *
 * The area bound's inside: tasks gathered by time vector, prices per class; private to this room.
 *
 * Any nonnegative prices p with sum over devices 1 give a lower bound, sum over tasks of the
 * cheapest p * time: work bought at the cheapest price cannot cost more than what all devices earn
 * in one makespan. The area bound is the largest of these (LP duality), so however the prices
 * were found the result is a bound.
 */
#ifndef SY_COST_AREA_H
#define SY_COST_AREA_H

#include "cost/cost.h"

struct sy_cost_area {
    uint32_t class_count, kind_count;
    double *devices; /* per class */
    double *time;    /* [kind * class_count + class], in units of unit_ns */
    double *weight;  /* tasks of this kind */
    double unit_ns;
};

/* The tasks [first, end); those with equal times become one kind. -ENOMEM. */
SY_MUST_CHECK int sy_cost_area_init(struct sy_cost_area *area, const struct sy_workload *workload,
                                    uint32_t first, uint32_t end);
void sy_cost_area_finish(struct sy_cost_area *area);

/* What all tasks cost, each on its cheapest class. loads (may be NULL) gets the time each class
 * works then. */
double sy_cost_area_buy(const struct sy_cost_area *area, const double *price, double *loads);
/* Best prices for two classes, by sorting; for any number, by column generation. Both leave the
 * prices unscaled. Return 0 or -ENOMEM. */
SY_MUST_CHECK int sy_cost_area_prices_two(const struct sy_cost_area *area, double *ret_price);
SY_MUST_CHECK int sy_cost_area_prices_many(const struct sy_cost_area *area, double *ret_price);

#endif
