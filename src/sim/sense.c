/* SPDX-License-Identifier: Apache-2.0
 *
 * What policies are told of the shared resources: synthetic counters, multiplexed and noisy, as
 * they are read, or what is believed on their ground, or the truth.
 *
 * The belief knows what any world knows: the counters that count now, how noisy they are, the
 * demands of what runs and the copies in flight. It chooses which counters count next.
 */
#include "sim/state.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define PERIODS_AT_ONCE 128
#define DURATION_SD     0.1 /* of the logarithm of a duration, at least */

#define TAKE(field, count)                                                                         \
    ((int)((sim->field = sy_arena_alloc(sim->arena, (size_t)(count), sizeof *sim->field)) != NULL))

int sy_sim_sense_layout(struct sy_sim *sim) {
    size_t resources = sim->machine->resource_count + 1u;
    bool filtered = sim->options.belief == SY_SIM_FILTERED && sim->options.contention;
    bool taken = TAKE(readings, resources) & TAKE(counting, resources) & TAKE(own, resources) &
                 TAKE(others, resources) & TAKE(others_sd, resources);
    taken = taken && (!filtered || TAKE(loads, resources));
    if (taken && filtered) {
        sim->shares = sy_shares_create(sim->arena, sim->machine, sim->world.flow_count);
        taken = sim->shares != NULL;
    }
    return !taken                                          ? -ENOMEM
           : sim->options.judge && sim->options.contention ? sy_sim_judge_layout(sim)
                                                           : 0;
}

static uint32_t live_count(const struct sy_sim *sim) {
    uint32_t resources = sim->machine->resource_count, live = sim->options.counter_live;
    return live && live < resources ? live : resources;
}

void sy_sim_sense_reset(struct sy_sim *sim) {
    uint32_t resources = sim->machine->resource_count;
    if (sim->judge) {
        sy_sim_judge_reset(sim);
    }
    sim->counter_at_ns = 0;
    sim->ticks = 0;
    sim->counter_rng = sy_rng_make(sim->options.seed, COUNTER, 0);
    sim->counting_count = live_count(sim);
    sim->counter_turn = resources ? sim->counting_count % resources : 0;
    for (uint32_t r = 0; r < resources; r++) {
        sim->readings[r] = (struct sy_reading){0, -1, NAN, NAN};
        sim->own[r] = sim->others[r] = sim->others_sd[r] = 0;
        sim->counting[r] = r;
        if (sim->loads) {
            sy_shares_reset(sim->shares);
            sy_load_init(&sim->loads[r], sim->machine->resources[r].bytes_per_s,
                         sim->counter_period_ns);
        }
    }
}

/* --- our own flows -------------------------------------------------------------------------------
 */
void sy_sim_demand(const struct sy_sim *sim, uint32_t device, struct sy_demand *ret) {
    const struct sy_workload *w = sim->w;
    size_t at = (size_t)w->task_kernel[sim->world.view_devices[device].running] * w->class_count +
                sim->machine->devices[device].class_index;
    sy_cost_demand(sim->machine, device, w->demand_bytes_per_s[at], w->link_demand_bytes_per_s[at],
                   ret);
}

/* What our tasks and copies take and would take of each resource, beside what others are believed
 * to want. */
static void sum_own(struct sy_sim *sim) {
    sy_shares_clear(sim->shares);
    for (uint32_t d = 0; d < sim->machine->device_count; d++) {
        if (sy_world_executes(&sim->world, d)) {
            struct sy_demand demand;
            sy_sim_demand(sim, d, &demand);
            sy_shares_add(sim->shares,
                          (struct sy_draw){demand.count, demand.resources, demand.bytes_per_s});
        }
    }
    for (uint32_t f = sim->world.flow_copy; f < sim->world.flow_count; f++) {
        const struct sy_route *route = sim->world.flows[f].route;
        double bytes_per_s[SY_ROUTE_MAX];
        for (uint32_t i = 0; route && i < route->resource_count; i++) {
            bytes_per_s[i] = route->bytes_per_s;
        }
        if (route) {
            sy_shares_add(sim->shares,
                          (struct sy_draw){route->resource_count, route->resources, bytes_per_s});
        }
    }
    sy_shares_solve(sim->shares, sim->others);
    for (uint32_t r = 0; r < sim->machine->resource_count; r++) {
        sim->own[r] = sy_shares_wanted(sim->shares, r);
    }
}

/* --- counters ------------------------------------------------------------------------------------
 */
/* In turn; under the belief half of them, the others are those of which least is known. */
static void choose_counters(struct sy_sim *sim) {
    uint32_t resources = sim->machine->resource_count, live = live_count(sim);
    uint32_t in_turn = sim->loads ? (live + 1) / 2 : live;
    bool taken[64] = {false};
    for (uint32_t i = 0; i < live; i++) {
        uint32_t r = (sim->counter_turn + i) % resources;
        for (uint32_t k = 0; i >= in_turn && resources <= SY_COUNT(taken) && k < resources; k++) {
            double best = sim->others_sd[r] / sim->machine->resources[r].bytes_per_s;
            double here = sim->others_sd[k] / sim->machine->resources[k].bytes_per_s;
            r = !taken[k] && (taken[r] || here > best) ? k : r;
        }
        taken[r % SY_COUNT(taken)] = true;
        sim->counting[i] = r;
    }
    sim->counting_count = live;
    sim->counter_turn = (sim->counter_turn + in_turn) % resources;
}

/* The mean rate since the last reading, as the counter says. */
static double read_counter(struct sy_sim *sim, uint32_t r, double elapsed) {
    double rate = (sim->resource_sum[r] - sim->resource_seen[r]) / elapsed;
    if (sim->options.counter_noise > 0) {
        rate *= 1 + sim->options.counter_noise * sy_rng_student(&sim->counter_rng, 4);
    }
    return fmin(fmax(rate, 0), 1.5 * sim->machine->resources[r].bytes_per_s);
}

/* A period of the counters is over: what they say moves the belief. */
static void believe(struct sy_sim *sim, double elapsed) {
    uint32_t resources = sim->machine->resource_count;
    if (!resources) {
        return;
    }
    for (uint32_t r = 0; r < resources; r++) {
        sy_load_pass(&sim->loads[r], elapsed);
    }
    for (uint32_t i = 0; i < sim->counting_count; i++) {
        uint32_t r = sim->counting[i];
        sy_load_see(&sim->loads[r], read_counter(sim, r, elapsed), sim->options.counter_noise);
    }
    for (uint32_t i = 0; i <= sim->counting_count; i++) { /* and of one that was not read */
        uint32_t r = i < sim->counting_count ? sim->counting[i] : sim->ticks++ % resources;
        double whole;
        sy_load_mean(&sim->loads[r], 0, &sim->others[r], &whole, &sim->others_sd[r]);
    }
    memcpy(sim->resource_seen, sim->resource_sum, resources * sizeof *sim->resource_seen);
    choose_counters(sim);
}

static void sum_up(struct sy_sim *sim, double elapsed) {
    for (uint32_t r = 0; r < sim->machine->resource_count; r++) {
        sim->resource_sum[r] += sim->resource_use[r] * elapsed;
    }
    for (uint32_t i = 0; i < sim->counting_count; i++) {
        sy_load_own(&sim->loads[sim->counting[i]], sim->own[sim->counting[i]], elapsed);
    }
}

/* Whoever believes reads his counters on time, not only when somebody looks. What flows has been
 * constant since it was last summed up; a long pause is cut into no more than so many periods. */
static void pass(struct sy_sim *sim) {
    double now = sim_now(sim), late = now - sim->counter_at_ns, since = sim->use_since_ns;
    double period = fmax(sim->counter_period_ns, late / PERIODS_AT_ONCE);
    for (; sim->counter_at_ns + period <= now; since = sim->counter_at_ns) {
        double elapsed = sim->counter_at_ns + period - since;
        sum_up(sim, elapsed);
        sim->counter_at_ns += period;
        if (sim->judge) {
            sy_sim_judge_pass(sim, sim->counter_at_ns);
        }
        believe(sim, period);
    }
    sum_up(sim, now - since);
    sim->use_since_ns = now;
}

/* Read late, when somebody is about to look. Only some count at a time; the others keep their old
 * value. */
static void read_counters(struct sy_sim *sim) {
    double elapsed = sim_now(sim) - sim->counter_at_ns;
    uint32_t resources = sim->machine->resource_count;
    if (!resources || elapsed < sim->counter_period_ns) {
        return;
    }
    sy_sim_sum_use(sim);
    for (uint32_t i = 0; i < sim->counting_count; i++) {
        uint32_t r = sim->counting[i];
        sim->readings[r] =
            (struct sy_reading){read_counter(sim, r, elapsed), sim_now(sim), NAN, NAN};
    }
    choose_counters(sim);
    sim->counter_at_ns = sim_now(sim);
    for (uint32_t r = 0; r < resources; r++) {
        sim->resource_seen[r] = sim->resource_sum[r];
    }
}

static void tell(struct sy_sim *sim) {
    for (uint32_t r = 0; r < sim->machine->resource_count; r++) {
        if (sim->loads) {
            double whole =
                fmin(sim->own[r] + sim->others[r], sim->machine->resources[r].bytes_per_s);
            sim->readings[r] =
                (struct sy_reading){whole, sim_now(sim), sim->others_sd[r], sim->others[r]};
        } else {
            sim->readings[r] =
                (struct sy_reading){sim->resource_use[r], sim_now(sim), 0, sim->resource_others[r]};
        }
    }
}

void sy_sim_sense(struct sy_sim *sim) {
    if (sim->loads) {
        pass(sim);
    } else if (sim->options.belief == SY_SIM_RAW) {
        read_counters(sim);
    }
    if (sim->options.belief != SY_SIM_RAW) {
        tell(sim);
    }
}

/* Flows are about to change, or have changed and were not solved yet. */
void sy_sim_sense_change(struct sy_sim *sim) {
    if (sim->loads) {
        pass(sim);
    } else {
        sy_sim_sum_use(sim);
    }
    if (sim->judge) {
        sy_sim_judge_pass(sim, sim_now(sim));
    }
    if (sim->loads) {
        sum_own(sim);
    }
}

/* How long a task took says how loaded the resource was that it leans on most. */
void sy_sim_sense_end(struct sy_sim *sim, uint32_t device, uint32_t task, double duration_ns) {
    const struct sy_workload *w = sim->w;
    uint32_t class_index = sim->machine->devices[device].class_index, main = SY_NONE;
    double alone_ns = w->time_ns[(size_t)task * w->class_count + class_index];
    double sigma = w->log_sigma[(size_t)w->task_kernel[task] * w->class_count + class_index];
    double heaviest = 0, demand = 0;
    struct sy_demand all;
    sy_sim_demand(sim, device, &all);
    for (uint32_t i = 0; i < all.count; i++) {
        double capacity = sim->machine->resources[all.resources[i]].bytes_per_s;
        if (all.bytes_per_s[i] / capacity > heaviest) {
            heaviest = all.bytes_per_s[i] / capacity;
            demand = all.bytes_per_s[i];
            main = all.resources[i];
        }
    }
    if (main != SY_NONE && alone_ns > 0 && duration_ns > 0) {
        sy_shares_taught(sim->shares, main, demand, log(duration_ns / alone_ns),
                         fmax(sigma, DURATION_SD), alone_ns, &sim->loads[main]);
    }
}

double sy_sim_sense_now(const struct sy_sim *sim, uint32_t r) {
    double capacity = sim->machine->resources[r].bytes_per_s;
    return sim->loads                           ? fmin(sim->own[r] + sim->others[r], capacity)
           : sim->options.belief == SY_SIM_TRUE ? sim->resource_use[r]
                                                : sim->readings[r].bytes_per_s;
}
