/* SPDX-License-Identifier: Apache-2.0
 *
 * scenario: draws them, and plays them with flow.c in the smallest event loop that does.
 */
#include "scenario.h"
#include "world/flow.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

static struct scenario *create(uint32_t links, uint32_t routes, uint32_t chains,
                               uint32_t transfers) {
    struct scenario *scenario = calloc(1, sizeof *scenario);
    if (!scenario) {
        return NULL;
    }
    *scenario = (struct scenario){.link_count = links,
                                  .route_count = routes,
                                  .chain_count = chains,
                                  .transfer_count = transfers,
                                  .bytes_per_s = calloc(links, sizeof(double)),
                                  .routes = calloc(routes, sizeof(struct scenario_route)),
                                  .chains = calloc(chains, sizeof(struct scenario_chain)),
                                  .transfers = calloc(transfers, sizeof(struct scenario_transfer))};
    if (!scenario->bytes_per_s || !scenario->routes || !scenario->chains || !scenario->transfers) {
        scenario_destroy(scenario);
        return NULL;
    }
    return scenario;
}

void scenario_destroy(struct scenario *scenario) {
    if (scenario) {
        free(scenario->bytes_per_s);
        free(scenario->routes);
        free(scenario->chains);
        free(scenario->transfers);
        free(scenario);
    }
}

static double log_uniform(struct sy_rng *rng, double low, double high) {
    return low * pow(high / low, sy_rng_uniform(rng));
}

/* Distinct links, in random order. */
static void draw_route(struct sy_rng *rng, uint32_t link_count, struct scenario_route *route) {
    uint32_t most = link_count < SCENARIO_ROUTE_LINKS ? link_count : SCENARIO_ROUTE_LINKS;
    uint32_t want = 1 + sy_rng_below(rng, most);
    while (route->link_count < want) {
        uint32_t link = sy_rng_below(rng, link_count);
        bool there = false;
        for (uint32_t k = 0; k < route->link_count; k++) {
            there |= route->links[k] == link;
        }
        if (!there) {
            route->links[route->link_count++] = link;
        }
    }
}

struct scenario *scenario_random(uint64_t seed, uint64_t index) {
    struct sy_rng rng = sy_rng_make(seed, 1, index);
    uint32_t chains = 2 + sy_rng_below(&rng, 19), length = 1 + sy_rng_below(&rng, 4);
    uint32_t transfers = chains * length;
    struct scenario *scenario = create(1 + sy_rng_below(&rng, 10), transfers, chains, transfers);
    if (!scenario) {
        return NULL;
    }
    scenario->host_count = 2 * transfers;
    for (uint32_t l = 0; l < scenario->link_count; l++) {
        scenario->bytes_per_s[l] = log_uniform(&rng, 1e7, 1e9);
    }
    for (uint32_t t = 0; t < transfers; t++) {
        bool bounded = sy_rng_below(&rng, 3) == 0;
        scenario->routes[t] = (struct scenario_route){
            .from = 2 * t,
            .to = 2 * t + 1,
            .bound_bytes_per_s = bounded ? log_uniform(&rng, 1e6, 1e9) : (double)INFINITY};
        draw_route(&rng, scenario->link_count, &scenario->routes[t]);
        scenario->transfers[t] =
            (struct scenario_transfer){.route = t, .bytes = (uint64_t)log_uniform(&rng, 1e8, 1e10)};
    }
    for (uint32_t c = 0; c < chains; c++) {
        scenario->chains[c] = (struct scenario_chain){
            .start_s = 100 * sy_rng_uniform(&rng), .first = c * length, .count = length};
    }
    return scenario;
}

struct scenario *scenario_closed_loop(uint64_t seed, uint32_t hosts, uint32_t chains,
                                      uint32_t transfers_per_chain) {
    struct sy_rng rng = sy_rng_make(seed, 2, 0);
    uint32_t transfers = chains * transfers_per_chain;
    struct scenario *scenario = create(hosts + 2, hosts * (hosts - 1), chains, transfers);
    if (!scenario) {
        return NULL;
    }
    scenario->host_count = hosts;
    for (uint32_t l = 0; l < hosts; l++) {
        scenario->bytes_per_s[l] = log_uniform(&rng, 5e9, 2e10);
    }
    scenario->bytes_per_s[hosts] = 2e10;
    scenario->bytes_per_s[hosts + 1] = 3e10;
    uint32_t route = 0;
    for (uint32_t from = 0; from < hosts; from++) {
        for (uint32_t to = 0; to < hosts; to++) {
            if (from != to) {
                scenario->routes[route++] =
                    (struct scenario_route){.from = from,
                                            .to = to,
                                            .link_count = 3,
                                            .links = {from, hosts + (from + to) % 2, to},
                                            .bound_bytes_per_s = (double)INFINITY};
            }
        }
    }
    for (uint32_t t = 0; t < transfers; t++) {
        scenario->transfers[t] =
            (struct scenario_transfer){.route = sy_rng_below(&rng, scenario->route_count),
                                       .bytes = (uint64_t)log_uniform(&rng, 1e9, 1e11)};
    }
    for (uint32_t c = 0; c < chains; c++) {
        scenario->chains[c] = (struct scenario_chain){
            .start_s = c, .first = c * transfers_per_chain, .count = transfers_per_chain};
    }
    return scenario;
}

double scenario_difference(const struct scenario *scenario, const double *a_s, const double *b_s) {
    double worst = 0;
    for (uint32_t t = 0; t < scenario->transfer_count; t++) {
        double difference = fabs(a_s[t] - b_s[t]) / b_s[t];
        worst = difference > worst || isnan(difference) ? difference : worst;
    }
    return worst;
}

/* --- the event loop ------------------------------------------------------------------------- */
struct running {
    double since_s; /* left was true then */
    double left_bytes, bytes_per_s;
    uint32_t next; /* the transfer to start next */
    bool active;
};

static uint32_t first_due(const double *due_s, uint32_t count) {
    uint32_t first = 0;
    double lowest_s = due_s[0];
    for (uint32_t c = 1; c < count; c++) {
        uint32_t take = -(uint32_t)(due_s[c] < lowest_s);
        first = (first & ~take) | (c & take);
        lowest_s = due_s[c] < lowest_s ? due_s[c] : lowest_s;
    }
    return first;
}

static void start(const struct scenario *scenario, struct sy_flow_net *net, uint32_t chain,
                  struct running *running, double now_s) {
    static const double ones[SCENARIO_ROUTE_LINKS] = {1, 1, 1, 1};
    const struct scenario_transfer *transfer = &scenario->transfers[running->next++];
    const struct scenario_route *route = &scenario->routes[transfer->route];
    sy_flow_add(net, chain, route->bound_bytes_per_s, 1, route->link_count, route->links, ones);
    running->active = true;
    running->left_bytes = (double)transfer->bytes;
    running->bytes_per_s = 0;
    running->since_s = now_s;
}

static void play(const struct scenario *scenario, struct sy_flow_net *net, struct running *running,
                 double *due_s, double *ret_end_s) {
    for (;;) {
        uint32_t chain = first_due(due_s, scenario->chain_count);
        struct running *due = &running[chain];
        double now_s = due_s[chain];
        if (isinf(now_s)) {
            return;
        }
        if (due->active) {
            ret_end_s[due->next - 1] = now_s;
            sy_flow_remove(net, chain);
        }
        due_s[chain] = (double)INFINITY;
        if (due->next < scenario->chains[chain].first + scenario->chains[chain].count) {
            start(scenario, net, chain, due, now_s);
        }
        const uint32_t *changed;
        uint32_t count = sy_flow_solve(net, &changed);
        for (uint32_t i = 0; i < count; i++) {
            struct running *self = &running[changed[i]];
            self->left_bytes -= self->bytes_per_s * (now_s - self->since_s);
            self->since_s = now_s;
            self->bytes_per_s = sy_flow_rate(net, changed[i]);
            due_s[changed[i]] = now_s + self->left_bytes / self->bytes_per_s;
        }
    }
}

int scenario_play_flow(const struct scenario *scenario, double *ret_end_s, double *ret_cpu_ns) {
    struct sy_flow_net *net =
        sy_flow_create(scenario->link_count, scenario->bytes_per_s, scenario->chain_count);
    struct running *running = calloc(scenario->chain_count, sizeof *running);
    double *due_s = calloc(scenario->chain_count, sizeof(double)); /* it starts or ends */
    if (!net || !running || !due_s) {
        sy_flow_destroy(net);
        free(running);
        free(due_s);
        return -ENOMEM;
    }
    for (uint32_t c = 0; c < scenario->chain_count; c++) {
        due_s[c] = scenario->chains[c].start_s;
        running[c].next = scenario->chains[c].first;
    }
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    play(scenario, net, running, due_s, ret_end_s);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    *ret_cpu_ns = 1e9 * (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec);
    sy_flow_destroy(net);
    free(running);
    free(due_s);
    return 0;
}
