/* SPDX-License-Identifier: Apache-2.0
 *
 * How wrong the belief is (options.judge): the error of each resource's use over time, and for
 * every task the slowdown that was predicted when it began against the one it had.
 *
 * The prediction is belief/'s slowdown, fed as a policy would feed it, but by the simulator: it
 * does not depend on the policy. It sees all that begins in the same moment.
 */
#include "sim/state.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define BUCKETS   200   /* of 1 % each */
#define HALF_STEP 0.025 /* of the capacity: bands end on levels of a grid */

struct predicted {
    uint32_t task; /* SY_NONE: none runs */
    double ratio, median, sd;
};

struct judge {
    struct sy_slowdown *slowdown;
    struct predicted *devices;
    double *error_ns; /* per resource: sum over time of |told - true| / capacity */
    double since_ns, watched_ns, covered_ns;
    uint64_t tasks, within, covered, slowed, buckets[BUCKETS];
};

int sy_sim_judge_layout(struct sy_sim *sim) {
    struct judge *judge = sy_arena_alloc(sim->arena, 1, sizeof *judge);
    if (!judge) {
        return -ENOMEM;
    }
    judge->devices = sy_arena_alloc(sim->arena, sim->machine->device_count, sizeof *judge->devices);
    judge->error_ns =
        sy_arena_alloc(sim->arena, sim->machine->resource_count + 1u, sizeof *judge->error_ns);
    judge->slowdown = sy_slowdown_create(sim->arena, sim->machine, sim->w->kernel_count);
    sim->judge = judge;
    return judge->devices && judge->error_ns && judge->slowdown ? 0 : -ENOMEM;
}

void sy_sim_judge_reset(struct sy_sim *sim) {
    struct judge *judge = sim->judge;
    for (uint32_t d = 0; d < sim->machine->device_count; d++) {
        judge->devices[d] = (struct predicted){.task = SY_NONE};
    }
    memset(judge->error_ns, 0, sim->machine->resource_count * sizeof *judge->error_ns);
    judge->since_ns = judge->watched_ns = judge->covered_ns = 0;
    judge->tasks = judge->within = judge->covered = judge->slowed = 0;
    memset(judge->buckets, 0, sizeof judge->buckets);
    sy_slowdown_reset(judge->slowdown);
}

void sy_sim_judge_pass(struct sy_sim *sim, double until_ns) {
    struct judge *judge = sim->judge;
    double elapsed = until_ns - judge->since_ns;
    uint32_t resources = sim->machine->resource_count;
    judge->since_ns = until_ns;
    for (uint32_t r = 0; r < resources && elapsed > 0; r++) {
        double capacity = sim->machine->resources[r].bytes_per_s;
        struct sy_sensed told = sy_sim_sense_now(sim, r);
        double use = sim->resource_use[r], half = HALF_STEP * capacity;
        double own = told.total - told.median, low = told.median, high = told.median;
        if (sim->options.belief == SY_SIM_FILTERED || sim->options.belief == SY_SIM_NONE) {
            own = told.own + sim->copy_rate[r];
            sy_senses_band(sim->senses, r, &low, &high);
        }
        low = fmin(capacity, own + low);
        high = fmin(capacity, own + high);
        judge->error_ns[r] += fabs(told.total - use) / capacity * elapsed;
        judge->covered_ns += use >= low - half && use <= high + half ? elapsed / resources : 0;
    }
    judge->watched_ns += elapsed;
}

static uint32_t beside(const struct sy_sim *sim, uint32_t device) {
    uint32_t group = sim->machine->devices[device].group;
    for (uint32_t i = sim->group_start[group]; i < sim->group_start[group + 1]; i++) {
        uint32_t other = sim->group_devices[i];
        if (other != device && sy_world_executes(&sim->world, other)) {
            return sim->w->task_kernel[sim->world.view_devices[other].running];
        }
    }
    return SY_NONE;
}

static bool is_new(const struct sy_sim *sim, uint32_t device) {
    return sy_world_executes(&sim->world, device) &&
           sim->judge->devices[device].task != sim->world.view_devices[device].running;
}

static void tell(struct sy_sim *sim, double *own) {
    struct judge *judge = sim->judge;
    for (uint32_t r = 0; r < sim->machine->resource_count; r++) {
        double others = 0, sd = 0;
        if (sim->options.belief == SY_SIM_TRUE) {
            others = sim->resource_others[r];
        } else if (sim->options.belief != SY_SIM_RAW) {
            struct sy_sensed told = sy_sim_sense_now(sim, r);
            others = told.others;
            sd = told.others_sd;
        } else if (sim->readings[r].at_ns >= 0) {
            others = fmax(0, sim->readings[r].bytes_per_s - own[r]);
            sd = sim->options.counter_noise * sim->readings[r].bytes_per_s;
        } else {
            continue;
        }
        sy_slowdown_told(judge->slowdown, r, others, sd);
    }
}

static void predict(struct sy_sim *sim, uint32_t device) {
    struct judge *judge = sim->judge;
    uint32_t task = sim->world.view_devices[device].running, kernel = sim->w->task_kernel[task];
    struct sy_demand demand;
    sy_sim_demand(sim, device, &demand);
    struct sy_draw draw = {demand.count, demand.resources, demand.bytes_per_s};
    uint32_t class_index = sim->machine->devices[device].class_index;
    double alone_ns = sim->w->time_ns[(size_t)task * sim->w->class_count + class_index];
    struct sy_slowing slowing =
        sy_slowdown_expect(judge->slowdown, kernel, device, draw, beside(sim, device), alone_ns);
    judge->devices[device] = (struct predicted){task, slowing.ratio, slowing.median, slowing.sd};
    sy_slowdown_started(judge->slowdown, device, kernel, draw, beside(sim, device), alone_ns);
}

/* All but the one in question run; what begins now is looked at one by one. */
static void look(struct sy_sim *sim, uint32_t newcomer) {
    struct judge *judge = sim->judge;
    double own[64] = {0};
    sy_slowdown_begin(judge->slowdown, sim_now(sim));
    for (uint32_t d = 0; d < sim->machine->device_count; d++) {
        if (d == newcomer || !sy_world_executes(&sim->world, d)) {
            continue;
        }
        struct sy_demand demand;
        sy_sim_demand(sim, d, &demand);
        sy_slowdown_runs(judge->slowdown,
                         (struct sy_draw){demand.count, demand.resources, demand.bytes_per_s});
        for (uint32_t i = 0; i < demand.count; i++) {
            own[demand.resources[i] % SY_COUNT(own)] += demand.bytes_per_s[i];
        }
    }
    tell(sim, own);
    sy_slowdown_ready(judge->slowdown);
    predict(sim, newcomer);
}

void sy_sim_judge_starts(struct sy_sim *sim) {
    for (uint32_t d = 0; d < sim->machine->device_count; d++) {
        if (is_new(sim, d)) {
            look(sim, d);
        }
    }
}

void sy_sim_judge_end(struct sy_sim *sim, uint32_t device, uint32_t task, double duration_ns,
                      double alone_ns) {
    struct judge *judge = sim->judge;
    struct predicted *predicted = &judge->devices[device];
    uint32_t class_index = sim->machine->devices[device].class_index;
    double given_ns = sim->w->time_ns[(size_t)task * sim->w->class_count + class_index];
    if (predicted->task == task && alone_ns > 0) {
        double slowdown = duration_ns / alone_ns, off = fabs(predicted->median / slowdown - 1);
        uint32_t bucket = off < 2 ? (uint32_t)(off * 100) : BUCKETS - 1;
        judge->tasks++;
        judge->within += off <= 0.1;
        judge->slowed += slowdown > 1.1;
        judge->covered += fabs(predicted->ratio - slowdown) <= 1.96 * predicted->sd + 0.01;
        judge->buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
        sy_slowdown_ended(judge->slowdown, device, duration_ns / given_ns);
    }
    predicted->task = SY_NONE;
}

void sy_sim_judge_collect(const struct sy_sim *sim, struct sy_sim_accuracy *ret) {
    const struct judge *judge = sim->judge;
    uint32_t kinds = SY_RES_INTERCONNECT + 1, counts[SY_RES_INTERCONNECT + 1] = {0};
    double tasks = judge->tasks ? (double)judge->tasks : NAN;
    *ret = (struct sy_sim_accuracy){.covered = judge->covered_ns / judge->watched_ns,
                                    .slowdown_within_10 = (double)judge->within / tasks,
                                    .slowdown_covered = (double)judge->covered / tasks,
                                    .slowed = (double)judge->slowed / tasks,
                                    .task_count = judge->tasks};
    for (uint32_t r = 0; r < sim->machine->resource_count; r++) {
        enum sy_resource_kind kind = sim->machine->resources[r].kind;
        ret->error_points[kind] += 100 * judge->error_ns[r] / judge->watched_ns;
        counts[kind]++;
    }
    for (uint32_t k = 0; k < kinds; k++) {
        ret->error_points[k] /= counts[k] ? (double)counts[k] : (double)NAN;
    }
    uint64_t seen = 0;
    for (uint32_t b = 0; b < BUCKETS && 2 * seen < judge->tasks; b++) {
        seen += judge->buckets[b];
        ret->slowdown_error = (b + 0.5) / 100;
    }
}
