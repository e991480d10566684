/* SPDX-License-Identifier: Apache-2.0
 *
 * flow_speed: what one change costs. In: nothing. Out: JSON, nanoseconds for remove + add + solve
 * by number of flows and by how much of the network is tight. No claim is checked here.
 */
#include "world/flow.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RESOURCES = 10, REPEATS = 9, MAX_FLOWS = 256 };

struct use {
    double bound, weight;
    uint32_t resources[3];
    double coefficients[3];
};

/* A machine like the simulator's: two memories, four links, four more shared things; each flow
 * uses one of each. */
static void draw_use(struct sy_rng *rng, struct use *use) {
    *use = (struct use){.bound = 0.5 + sy_rng_uniform(rng), .weight = 1};
    use->resources[0] = sy_rng_below(rng, 2);
    use->resources[1] = 2 + sy_rng_below(rng, 4);
    use->resources[2] = 6 + sy_rng_below(rng, 4);
    for (uint32_t k = 0; k < 3; k++) {
        use->coefficients[k] = 0.2 + 1.6 * sy_rng_uniform(rng);
    }
}

/* Share of the flows' whole demand that resource r can carry. */
static double share(const char *regime, uint32_t r) {
    if (regime[0] == 'u') {
        return 3;
    }
    return regime[0] == 's' && r >= 2 ? 3 : 0.6;
}

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void add(struct sy_flow_net *net, uint32_t flow, const struct use *use) {
    sy_flow_add(net, flow, use->bound, use->weight, 3, use->resources, use->coefficients);
}

/* Nanoseconds per change; ret_changed: flows with a new rate per change. */
static double time_changes(struct sy_flow_net *net, const struct use *uses, uint32_t flows,
                           uint32_t changes, double *ret_changed) {
    const uint32_t *list;
    uint64_t changed = 0;
    double start_ns = now_ns();
    for (uint32_t i = 0; i < changes; i++) {
        uint32_t flow = i % flows;
        sy_flow_remove(net, flow);
        add(net, flow, &uses[(i * 7u + i / flows) % 1024]);
        changed += sy_flow_solve(net, &list);
    }
    double ns = (now_ns() - start_ns) / changes;
    *ret_changed = (double)changed / changes;
    return ns;
}

static void measure(const char *regime, uint32_t flows, bool first) {
    static struct use uses[1024];
    struct sy_rng rng = sy_rng_make(1, 0, flows);
    for (uint32_t i = 0; i < 1024; i++) {
        draw_use(&rng, &uses[i]);
    }
    double capacities[RESOURCES];
    for (uint32_t r = 0; r < RESOURCES; r++) {
        capacities[r] = share(regime, r) * flows / (r < 2 ? 2 : 4);
    }
    struct sy_flow_net *net = sy_flow_create(RESOURCES, capacities, flows);
    SY_ASSERT(net);
    for (uint32_t f = 0; f < flows; f++) {
        add(net, f, &uses[f]);
    }
    double ns[REPEATS], changed = 0;
    for (uint32_t i = 0; i < REPEATS; i++) {
        ns[i] = time_changes(net, uses, flows, 4000000u / (flows + 20), &changed);
    }
    double median = sy_quantile(ns, REPEATS, 0.5); /* sorts */
    printf(
        "%s\n  {\"regime\": \"%s\", \"flows\": %u, \"change_ns\": %.1f, \"change_ns_min\": %.1f, "
        "\"change_ns_max\": %.1f, \"new_rates_per_change\": %.2f}",
        first ? "" : ",", regime, flows, median, ns[0], ns[REPEATS - 1], changed);
    sy_flow_destroy(net);
}

int main(void) {
    static const char *const regimes[] = {"unsaturated", "saturated", "crowded"};
    static const uint32_t flows[] = {11, 64, MAX_FLOWS};
    printf(
        "{\"schema\": \"symph-bench-1\", \"bench\": \"flow_speed\", \"seed\": 1, \"repeats\": %d, "
        "\"resources\": %d, \"resources_per_flow\": 3, \"runs\": [",
        REPEATS, RESOURCES);
    for (size_t i = 0; i < SY_COUNT(regimes) * SY_COUNT(flows); i++) {
        measure(regimes[i / SY_COUNT(flows)], flows[i % SY_COUNT(flows)], i == 0);
    }
    printf("\n]}\n");
    return EXIT_SUCCESS;
}
