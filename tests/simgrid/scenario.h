/* SPDX-License-Identifier: Apache-2.0
 *
 * scenario: transfers that come and go on shared links, played by flow.c and by SimGrid.
 *
 * In: links, routes, chains of transfers. Out: when each transfer ends. Both players know nothing
 * of each other. Plain C that compiles as C++, for SimGrid's sake.
 */
#ifndef SY_TESTS_SIMGRID_SCENARIO_H
#define SY_TESTS_SIMGRID_SCENARIO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SCENARIO_ROUTE_LINKS = 4 };

struct scenario_route {
    uint32_t from, to; /* hosts; no two routes join the same two in the same direction */
    uint32_t link_count;
    uint32_t links[SCENARIO_ROUTE_LINKS];
    double bound_bytes_per_s; /* of a transfer; INFINITY: none; else the route has one transfer */
};

struct scenario_transfer {
    uint32_t route;
    uint64_t bytes;
};

/* Transfers one after another: each starts when the one before it ends. */
struct scenario_chain {
    double start_s;
    uint32_t first, count; /* into transfers */
};

struct scenario {
    uint32_t link_count, host_count, route_count, chain_count, transfer_count;
    double *bytes_per_s; /* per link */
    struct scenario_route *routes;
    struct scenario_chain *chains;
    struct scenario_transfer *transfers;
};

/* Random links, routes of 1 to 4 links, some transfers bounded. NULL when out of memory. */
struct scenario *scenario_random(uint64_t seed, uint64_t index);
/* A machine of hosts behind one link each and two shared trunks, and chains that never pause. */
struct scenario *scenario_closed_loop(uint64_t seed, uint32_t hosts, uint32_t chains,
                                      uint32_t transfers_per_chain);
void scenario_destroy(struct scenario *scenario);

/* ret_end_s[t]: end of transfer t; ret_cpu_ns: processor time without the set-up. 0 or -ENOMEM. */
int scenario_play_flow(const struct scenario *scenario, double *ret_end_s, double *ret_cpu_ns);
/* Once per process: SimGrid's engine is a singleton. 0, or -EIO where SimGrid complains. */
int scenario_play_simgrid(const struct scenario *scenario, double *ret_end_s, double *ret_cpu_ns);
/* Largest |a - b| / b over the transfers. */
double scenario_difference(const struct scenario *scenario, const double *a_s, const double *b_s);

#ifdef __cplusplus
}
#endif
#endif
