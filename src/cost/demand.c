/* SPDX-License-Identifier: Apache-2.0
 *
 * Which shared resources a kernel on a device draws on: one rule for the simulator, which shares
 * them, and for the policies, which expect it.
 */
#include "cost/cost.h"

static void add(struct sy_demand *demand, uint32_t resource, double bytes_per_s) {
    for (uint32_t i = 0; i < demand->count; i++) {
        if (demand->resources[i] == resource) {
            demand->bytes_per_s[i] += bytes_per_s;
            return;
        }
    }
    demand->resources[demand->count] = resource;
    demand->bytes_per_s[demand->count++] = bytes_per_s;
}

void sy_cost_demand(const struct sy_machine *m, uint32_t device, double own_bytes_per_s,
                    double link_bytes_per_s, struct sy_demand *ret) {
    const struct sy_device *self = &m->devices[device];
    const struct sy_route *route =
        &m->routes[(size_t)self->host_memory * m->memory_count + self->memory];
    ret->count = 0;
    if (own_bytes_per_s > 0 && m->memories[self->memory].resource != SY_NONE) {
        add(ret, m->memories[self->memory].resource, own_bytes_per_s);
    }
    for (uint32_t k = 0; link_bytes_per_s > 0 && k < route->resource_count; k++) {
        add(ret, route->resources[k], link_bytes_per_s);
    }
}
