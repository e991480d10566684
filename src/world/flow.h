/* SPDX-License-Identifier: Apache-2.0
 *
 * flow: weighted max-min fair sharing of resources among bounded flows.
 *
 * In: resources with capacities, flows with a bound and a coefficient per resource. Out: the rate
 * of every flow. Never knows: time, tasks. Invariant: no resource carries more than its capacity,
 * and no flow's rate can grow without another of no larger rate/weight shrinking.
 * Only the part of the network that a change can reach is solved again.
 */
#ifndef SY_WORLD_FLOW_H
#define SY_WORLD_FLOW_H

#include "base/base.h"

#define SY_FLOW_RESOURCES 7 /* a route's and a memory of its own */

struct sy_flow_net;
/* Flow ids are 0 .. flow_capacity-1, chosen by the caller. NULL when out of memory. */
struct sy_flow_net *sy_flow_create(uint32_t resource_count, const double *capacities,
                                   uint32_t flow_capacity);
void sy_flow_destroy(struct sy_flow_net *net);
void sy_flow_reset(struct sy_flow_net *net); /* no flows */
/* rate <= bound; uses coefficients[k] * rate of resources[k]; weight sets its share. */
void sy_flow_add(struct sy_flow_net *net, uint32_t flow, double bound, double weight,
                 uint32_t resource_count, const uint32_t *resources, const double *coefficients);
void sy_flow_remove(struct sy_flow_net *net, uint32_t flow);
void sy_flow_set_bound(struct sy_flow_net *net, uint32_t flow, double bound);
/* Solves what changed; *ret_changed lists the flows whose rate is new (valid until the next call).
 */
uint32_t sy_flow_solve(struct sy_flow_net *net, const uint32_t **ret_changed);
double sy_flow_rate(const struct sy_flow_net *net, uint32_t flow);
/* Sum of coefficient * rate over the flows of a resource, after solve. */
double sy_flow_use(const struct sy_flow_net *net, uint32_t resource);

#endif
