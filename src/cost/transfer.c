/* SPDX-License-Identifier: Apache-2.0
 *
 * Time of one copy alone. Sharing a route with others is the simulator's business.
 */
#include "cost/cost.h"
#include <math.h>

double sy_cost_transfer_ns(const struct sy_machine *machine, uint32_t from, uint32_t to,
                           double bytes) {
    if (from == to || !(bytes > 0)) {
        return 0;
    }
    const struct sy_route *route = &machine->routes[from * machine->memory_count + to];
    if (!(route->bytes_per_s > 0)) {
        return INFINITY;
    }
    return route->latency_ns + bytes / route->bytes_per_s * 1e9;
}
