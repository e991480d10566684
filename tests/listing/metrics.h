/* SPDX-License-Identifier: Apache-2.0
 *
 * Metrics of a listing put together, to see that it was read as it was meant.
 */
#ifndef SY_TESTS_LISTING_METRICS_H
#define SY_TESTS_LISTING_METRICS_H

#include "listing/listing.h"

/* A metric's value. Metrics that it uses are evaluated too; one that uses itself is NAN. */
double metric_value(const struct sy_listing *listing, uint32_t metric,
                    const struct sy_expr_scope *scope);
/* The events that a metric comes down to, each once. Returns how many there are; fills at most
 * capacity of them. */
uint32_t metric_events(const struct sy_listing *listing, uint32_t metric, uint32_t *ret_events,
                       uint32_t capacity);

#endif
