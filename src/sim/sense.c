/* SPDX-License-Identifier: Apache-2.0
 *
 * Synthetic counters, and what policies are told of the shared resources: what these say, what
 * belief/senses makes of them, or the truth.
 *
 * In: what flows. Out: samples as a machine's counters would give them: multiplexed, noisy, now and
 * then grossly wrong, and of events that make up traffic rather than of traffic itself. The senses
 * get what any world knows: those samples, what our tasks draw, what our copies have moved, and how
 * long tasks took.
 */
#include "schedulers/schedulers.h"
#include "sim/state.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define PERIODS_AT_ONCE 128
#define EVENTS_MAX      4   /* of a resource */
#define READ_LEAST      0.5 /* share of reads in traffic: redrawn whenever others change */
#define READ_RANGE      0.3
#define MISS_SHARE      0.8  /* cache misses per read line, on average */
#define MISS_DRIFT      0.02 /* of its logarithm, a reading */
#define OUTLIER_FACTOR  10.0
#define READING_MOST    1.5 /* of the capacity, unless it is an outlier */

#define TAKE(field, count)                                                                         \
    ((int)((sim->field = sy_arena_alloc(sim->arena, (size_t)(count), sizeof *sim->field)) != NULL))

/* --- the listing --------------------------------------------------------------------------------
 */
enum part { WHOLE, READS, WRITES, ALL, MISSES };

static const struct {
    enum part part;
    const char *event;
    double bytes;
} memory_events[EVENTS_MAX] = {{READS, "unc_m_cas_count.rd", 64},
                               {WRITES, "unc_m_cas_count.wr", 64},
                               {ALL, "unc_m_cas_count.all", 64},
                               {MISSES, "longest_lat_cache.miss", 64}};

static void add_counter(struct sy_sim *sim, uint32_t resource, enum part part, const char *event,
                        double bytes, uint32_t package) {
    bool whole = part == WHOLE;
    uint32_t at = sim->counter_count++;
    sim->events[at] = (struct event){resource, (uint8_t)part, bytes};
    sim->counters[at] = (struct sy_counter){.name = event,
                                            .source = "simulated",
                                            .event = event,
                                            .kind = SY_COUNTER_RATE,
                                            .unit = whole ? "B/s" : "/s",
                                            .scope = whole ? SY_SCOPE_MACHINE : SY_SCOPE_PACKAGE,
                                            .scope_index = whole ? 0 : package,
                                            .noise_ratio = sim->options.counter_noise};
}

static void list_counters(struct sy_sim *sim) {
    const struct sy_machine *m = sim->machine;
    for (uint32_t r = 0; r < m->resource_count; r++) {
        uint32_t package = 0, memory = SY_NONE;
        for (uint32_t i = 0; i < m->memory_count; i++) {
            memory = m->memories[i].host && m->memories[i].resource == r ? package : memory;
            package += m->memories[i].host;
        }
        if (memory == SY_NONE || sim->options.counter_events == SY_SIM_TRAFFIC) {
            add_counter(sim, r, WHOLE, m->resources[r].name, 1, 0);
            continue;
        }
        for (uint32_t e = 0; e < EVENTS_MAX; e++) {
            add_counter(sim, r, memory_events[e].part, memory_events[e].event,
                        memory_events[e].bytes, memory);
        }
    }
    uint32_t live = sim->options.counter_live;
    sim->pmu =
        (struct sy_pmu){"simulated", live && live < sim->counter_count ? live : sim->counter_count};
}

int sy_sim_sense_layout(struct sy_sim *sim) {
    size_t resources = sim->machine->resource_count + 1u, events = EVENTS_MAX * resources;
    bool taken = TAKE(readings, resources) & TAKE(events, events) & TAKE(counters, events) &
                 TAKE(counting, events) & TAKE(samples, events) & TAKE(read_share, resources) &
                 TAKE(miss_share, resources) & TAKE(copy_rate, resources) &
                 TAKE(copied, resources) & TAKE(drawing, sim->machine->device_count) &
                 TAKE(draws, sim->machine->device_count);
    if (!taken) {
        return -ENOMEM;
    }
    if (!sim->options.contention) {
        return 0;
    }
    list_counters(sim);
    bool counts = sim->options.belief == SY_SIM_FILTERED || sim->options.belief == SY_SIM_RAW;
    struct sy_senses_options options = {.machine = sim->machine,
                                        .counters = sim->counters,
                                        .counter_count = counts ? sim->counter_count : 0,
                                        .pmus = &sim->pmu,
                                        .pmu_count = 1,
                                        .kernel_count = sim->w->kernel_count,
                                        .draw_capacity = sim->machine->device_count,
                                        .step_ns = sim->counter_period_ns};
    sim->senses = sy_senses_create(sim->arena, &options);
    return !sim->senses ? -ENOMEM : sim->options.judge ? sy_sim_judge_layout(sim) : 0;
}

static bool believes(const struct sy_sim *sim) {
    return sim->senses &&
           (sim->options.belief == SY_SIM_FILTERED || sim->options.belief == SY_SIM_NONE);
}

static void count_in_turn(struct sy_sim *sim) {
    for (uint32_t i = 0; i < sim->counting_count; i++) {
        sim->counting[i] = (sim->counter_turn + i) % sim->counter_count;
    }
    if (sim->counter_count) {
        sim->counter_turn = (sim->counter_turn + sim->counting_count) % sim->counter_count;
    }
}

void sy_sim_sense_reset(struct sy_sim *sim) {
    if (!sim->senses) {
        return;
    }
    if (sim->judge) {
        sy_sim_judge_reset(sim);
    }
    sim->counter_at_ns = 0;
    sim->counter_turn = 0;
    sim->copied_count = 0;
    sim->counter_rng = sy_rng_make(sim->options.seed, COUNTER, 0);
    sim->counter_errors_used = SY_COUNT(sim->counter_errors);
    for (uint32_t r = 0; r < sim->machine->resource_count; r++) {
        sim->readings[r] = (struct sy_reading){0, -1, NAN, NAN};
        sim->read_share[r] = READ_LEAST + READ_RANGE / 2;
        sim->miss_share[r] = 1;
        sim->copy_rate[r] = 0;
    }
    memset(sim->drawing, 0xff, sim->machine->device_count * sizeof *sim->drawing);
    sy_senses_reset(sim->senses, sim->counter_period_ns);
    sim->counting_count = sy_senses_choose(sim->senses, sim->counting);
    if (sim->options.belief == SY_SIM_RAW) {
        count_in_turn(sim);
    }
}

/* --- counters ------------------------------------------------------------------------------------
 */
/* Others have come or gone: another mix of reads and writes. */
void sy_sim_sense_others(struct sy_sim *sim, uint32_t resource) {
    sim->read_share[resource] = READ_LEAST + READ_RANGE * sy_rng_uniform(&sim->counter_rng);
}

static double part_of(struct sy_sim *sim, const struct event *event) {
    double reads = sim->read_share[event->resource], *miss = &sim->miss_share[event->resource];
    switch ((enum part)event->part) {
    case READS:
        return reads;
    case WRITES:
        return 1 - reads;
    case MISSES:
        *miss *= 1 + MISS_DRIFT * (2 * sy_rng_uniform(&sim->counter_rng) - 1) * sqrt(3);
        *miss = fmin(fmax(*miss, 0.6), 1.5);
        return reads * MISS_SHARE * *miss;
    case WHOLE:
    case ALL:
        break;
    }
    return 1;
}

static double draw_error(struct sy_sim *sim) {
    if (sim->counter_errors_used == SY_COUNT(sim->counter_errors)) {
        sy_rng_students(&sim->counter_rng, sim->counter_errors);
        sim->counter_errors_used = 0;
    }
    return (double)sim->counter_errors[sim->counter_errors_used++];
}

/* The mean rate since the last reading, as the counter says. */
static double read_counter(struct sy_sim *sim, uint32_t counter, double elapsed) {
    const struct event *event = &sim->events[counter];
    const struct sy_sim_options *o = &sim->options;
    uint32_t r = event->resource;
    double rate = sim->resource_sum[r] / elapsed * part_of(sim, event);
    if (o->counter_noise > 0) {
        rate *= 1 + o->counter_noise * draw_error(sim);
    }
    rate = fmin(fmax(rate, 0), READING_MOST * sim->machine->resources[r].bytes_per_s);
    if (o->counter_outliers > 0 && sy_rng_uniform(&sim->counter_rng) < o->counter_outliers) {
        rate *= sy_rng_uniform(&sim->counter_rng) < 0.5 ? OUTLIER_FACTOR : 1 / OUTLIER_FACTOR;
    }
    return rate / event->bytes;
}

static uint32_t read_all(struct sy_sim *sim, double end_ns, double elapsed) {
    for (uint32_t i = 0; i < sim->counting_count; i++) {
        uint32_t counter = sim->counting[i];
        sim->samples[i] = (struct sy_sample){.counter = counter,
                                             .value = read_counter(sim, counter, elapsed),
                                             .start_ns = end_ns - elapsed,
                                             .end_ns = end_ns,
                                             .running_ratio = 1};
    }
    memset(sim->resource_sum, 0, sim->machine->resource_count * sizeof *sim->resource_sum);
    return sim->counting_count;
}

static void sum_up(struct sy_sim *sim, double elapsed) {
    const double *restrict use = sim->resource_use;
    double *restrict sum = sim->resource_sum;
    for (uint32_t r = 0; r < sim->machine->resource_count; r++) {
        sum[r] += use[r] * elapsed;
    }
    for (uint32_t i = 0; i < sim->copied_count; i++) {
        uint32_t r = sim->copied[i];
        sy_senses_moved(sim->senses, r, sim->copy_rate[r] * elapsed * 1e-9);
    }
}

/* Whoever believes reads his counters on time, not only when somebody looks. What flows has been
 * constant since it was last summed up; a long pause is cut into no more than so many periods. */
static void pass(struct sy_sim *sim) {
    double now = sim_now(sim), late = now - sim->counter_at_ns, since = sim->use_since_ns;
    double period = fmax(sim->counter_period_ns, late / PERIODS_AT_ONCE);
    bool counts = sim->options.belief == SY_SIM_FILTERED && sim->counter_count;
    for (; counts && sim->counter_at_ns + period <= now; since = sim->counter_at_ns) {
        sum_up(sim, sim->counter_at_ns + period - since);
        sim->counter_at_ns += period;
        if (sim->judge) {
            sy_sim_judge_pass(sim, sim->counter_at_ns);
        }
        sy_senses_read(sim->senses, sim->counter_at_ns, sim->samples,
                       read_all(sim, sim->counter_at_ns, period));
        sim->counting_count = sy_senses_choose(sim->senses, sim->counting);
    }
    sum_up(sim, now - since);
    sim->use_since_ns = now;
}

/* Read late, when somebody is about to look, and in turn; the others keep their old value. */
static void read_raw(struct sy_sim *sim) {
    double now = sim_now(sim), elapsed = now - sim->counter_at_ns;
    if (!sim->counter_count || elapsed < sim->counter_period_ns) {
        return;
    }
    sum_up(sim, now - sim->use_since_ns);
    sim->use_since_ns = sim->counter_at_ns = now;
    uint32_t count = read_all(sim, now, elapsed);
    for (uint32_t i = 0; i < count; i++) {
        double scale;
        uint32_t r = sy_senses_scale(sim->senses, sim->samples[i].counter, &scale);
        double most = READING_MOST * sim->machine->resources[r].bytes_per_s;
        sim->readings[r] =
            (struct sy_reading){fmin(sim->samples[i].value * scale, most), now, NAN, NAN};
    }
    count_in_turn(sim);
}

/* --- what is told --------------------------------------------------------------------------------
 */
void sy_sim_sense(struct sy_sim *sim) {
    if (believes(sim)) {
        pass(sim);
        sy_readings_of(sim->senses, sim->machine->resource_count, sim->readings);
    } else if (sim->options.belief == SY_SIM_RAW) {
        read_raw(sim);
    } else {
        for (uint32_t r = 0; r < sim->machine->resource_count; r++) {
            sim->readings[r] =
                (struct sy_reading){sim->resource_use[r], sim_now(sim), 0, sim->resource_others[r]};
        }
    }
}

/* Flows are about to change, or have changed and were not solved yet. */
void sy_sim_sense_change(struct sy_sim *sim) {
    if (believes(sim)) {
        pass(sim);
    } else {
        sum_up(sim, sim_now(sim) - sim->use_since_ns);
        sim->use_since_ns = sim_now(sim);
    }
    if (sim->judge) {
        sy_sim_judge_pass(sim, sim_now(sim));
    }
}

void sy_sim_demand(const struct sy_sim *sim, uint32_t device, struct sy_demand *ret) {
    const struct sy_workload *w = sim->w;
    size_t at = (size_t)w->task_kernel[sim->world.view_devices[device].running] * w->class_count +
                sim->machine->devices[device].class_index;
    sy_cost_demand(sim->machine, device, w->demand_bytes_per_s[at], w->link_demand_bytes_per_s[at],
                   ret);
}

static void tell_draws(struct sy_sim *sim) {
    sy_senses_begin(sim->senses, sim_now(sim));
    for (uint32_t d = 0; d < sim->machine->device_count; d++) {
        const struct sy_demand *draw = &sim->draws[d];
        if (sim->drawing[d] != SY_NONE) {
            sy_senses_draws(sim->senses,
                            (struct sy_draw){draw->count, draw->resources, draw->bytes_per_s});
        }
    }
    sy_senses_ready(sim->senses);
}

static void add_copies(struct sy_sim *sim) {
    for (uint32_t i = 0; i < sim->copied_count; i++) {
        sim->copy_rate[sim->copied[i]] = 0;
    }
    sim->copied_count = 0;
    for (uint32_t f = sim->world.flow_copy; f < sim->world.flow_count; f++) {
        const struct sy_route *route = sim->world.flows[f].route;
        double rate = sim->world.flows[f].rate;
        for (uint32_t i = 0; route && rate > 0 && i < route->resource_count; i++) {
            uint32_t r = route->resources[i];
            if (!(sim->copy_rate[r] > 0)) {
                sim->copied[sim->copied_count++] = r;
            }
            sim->copy_rate[r] += rate;
        }
    }
}

/* Flows are solved: what draws from now on, and what our copies move. */
void sy_sim_sense_flows(struct sy_sim *sim) {
    if (!believes(sim)) {
        return;
    }
    bool changed = false;
    for (uint32_t d = 0; d < sim->machine->device_count; d++) {
        bool runs = sy_world_executes(&sim->world, d);
        uint32_t task = runs ? sim->world.view_devices[d].running : SY_NONE;
        if (task == sim->drawing[d]) {
            continue;
        }
        changed = true;
        sim->drawing[d] = task;
        if (runs) {
            sy_sim_demand(sim, d, &sim->draws[d]);
        }
    }
    if (changed) {
        tell_draws(sim);
    }
    add_copies(sim);
}

void sy_sim_sense_end(struct sy_sim *sim, uint32_t device, uint32_t task, double duration_ns) {
    const struct sy_workload *w = sim->w;
    uint32_t class_index = sim->machine->devices[device].class_index, kernel = w->task_kernel[task];
    struct sy_demand demand;
    if (believes(sim)) {
        sy_sim_demand(sim, device, &demand);
        sy_senses_ended(sim->senses, kernel, class_index,
                        (struct sy_draw){demand.count, demand.resources, demand.bytes_per_s},
                        w->time_ns[(size_t)task * w->class_count + class_index], duration_ns,
                        w->log_sigma[(size_t)kernel * w->class_count + class_index]);
    }
}

struct sy_sensed sy_sim_sense_now(const struct sy_sim *sim, uint32_t r) {
    const struct sy_reading *reading = &sim->readings[r];
    if (believes(sim)) {
        struct sy_sensed sensed = sy_senses_resource(sim->senses, r);
        double capacity = sim->machine->resources[r].bytes_per_s;
        sensed.total = fmin(capacity, sensed.own + sim->copy_rate[r] + sensed.median);
        return sensed;
    }
    double use = sim->options.belief == SY_SIM_TRUE ? sim->resource_use[r] : reading->bytes_per_s;
    double others = sim->resource_others[r];
    return (struct sy_sensed){.total = use, .others = others, .median = others};
}
