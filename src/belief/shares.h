/* SPDX-License-Identifier: Apache-2.0
 *
 * shares: the state behind max-min fair shares.
 */
#ifndef SY_BELIEF_SHARES_H
#define SY_BELIEF_SHARES_H

#include "belief/belief.h"

struct flow {
    uint32_t count;
    uint32_t resources[SY_DRAW_MAX];
    double bytes_per_s[SY_DRAW_MAX];
};

struct sy_shares {
    const struct sy_machine *machine;
    uint32_t flow_capacity, flow_count;
    struct flow *flows;
    uint32_t *users, *user_count; /* [resource * flow_capacity]: flows that cross it */
    double *wants;                /* of them, ascending */
    double *level;                /* per resource; INFINITY: it is not full */
    double *typical;              /* per resource: demand of a flow of ours, on average */
};

/* What a flow without limit gets of a resource if others want so much of it. newcomer: it is not
 * among ours yet. */
double sy_shares_level(const struct sy_shares *shares, uint32_t resource, double others,
                       bool newcomer);

#endif
