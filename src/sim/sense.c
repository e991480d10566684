/* SPDX-License-Identifier: Apache-2.0
 *
 * What policies are told of the shared resources: synthetic counters, multiplexed and noisy, as
 * they are read or through the belief, or the truth.
 */
#include "sim/world.h"
#include <math.h>

/* Read late, when somebody is about to look: the mean since the last reading. Only counter_live of
 * them count at a time, in turn; the others keep their old value. */
static void read_counters(struct sy_sim *sim) {
    double elapsed = sim_now(sim) - sim->counter_at_ns;
    uint32_t resources = sim->machine->resource_count;
    if (!resources || elapsed < sim->counter_period_ns) {
        return;
    }
    sy_sim_sum_use(sim);
    uint32_t live = sim->options.counter_live ? sim->options.counter_live : resources;
    live = live < resources ? live : resources;
    for (uint32_t i = 0; i < live; i++) {
        uint32_t r = (sim->counter_turn + i) % resources;
        double rate = (sim->resource_sum[r] - sim->resource_seen[r]) / elapsed;
        if (sim->options.counter_noise > 0) {
            rate *= 1 + sim->options.counter_noise * sy_rng_student(&sim->counter_rng, 4);
        }
        rate = fmin(fmax(rate, 0), 1.5 * sim->machine->resources[r].bytes_per_s);
        sim->readings[r] = (struct sy_reading){rate, sim_now(sim), NAN, NAN};
    }
    sim->counter_turn = (sim->counter_turn + live) % resources;
    sim->counter_at_ns = sim_now(sim);
    for (uint32_t r = 0; r < resources; r++) {
        sim->resource_seen[r] = sim->resource_sum[r];
    }
}

static void tell_truth(struct sy_sim *sim) {
    for (uint32_t r = 0; r < sim->machine->resource_count; r++) {
        double others = sim->hidden_on[r] ? sy_flow_rate(sim->net, sim->flow_hidden + r) : 0;
        sim->readings[r] = (struct sy_reading){sim->resource_use[r], sim_now(sim), 0, others};
    }
}

void sy_sim_sense(struct sy_sim *sim) {
    if (sim->options.belief == SY_SIM_TRUE) {
        tell_truth(sim);
    } else {
        read_counters(sim);
    }
}
