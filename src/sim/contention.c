/* SPDX-License-Identifier: Apache-2.0
 *
 * What slows tasks and copies beside their own flows: co-running tasks, and other tenants' hidden
 * load.
 */
#include "sim/state.h"
#include <math.h>

#define HIDDEN_WEIGHT 4.0  /* other tenants stand for several flows */
#define HIDDEN_DUTY   0.4  /* share of the time that they are on, at least */
#define HIDDEN_LEVEL  0.63 /* mean demand while on, over the capacity, at most unless always on */
#define HIDDEN_TOP    0.95 /* largest demand while on */

/* Duty and spread such that the mean over time is the load asked for and no demand exceeds the top.
 */
struct hidden {
    double duty, level, spread;
};

static struct hidden hidden_of(double load) {
    struct hidden h = {.duty = fmin(fmax(HIDDEN_DUTY, load / HIDDEN_LEVEL), HIDDEN_TOP)};
    h.level = load / h.duty;
    h.spread = fmin(0.5, fmax(0, HIDDEN_TOP / h.level - 1));
    return h;
}

static double pair_ratio(const struct sy_interference *table, const uint32_t *rows, uint32_t a,
                         uint32_t b) {
    if (rows[a] == SY_NONE || rows[b] == SY_NONE) {
        return table->fallback;
    }
    return table->ratio[(size_t)rows[a] * table->count + rows[b]];
}

/* Table and rows that apply to a device's siblings; NULL: they do not slow each other. */
static const struct sy_interference *table_of(const struct sy_sim *sim, uint32_t device,
                                              const uint32_t **ret_rows) {
    bool cpu = sim->machine->devices[device].kind == SY_CPU;
    *ret_rows = cpu ? sim->kernel_smt : sim->kernel_gpu;
    return cpu ? sim->options.smt : sim->options.gpu;
}

/* Speed of a kernel on a device beside what its siblings execute. */
static double group_speed(const struct sy_sim *sim, uint32_t device, uint32_t kernel) {
    uint32_t group = sim->machine->devices[device].group;
    const uint32_t *rows;
    const struct sy_interference *table = table_of(sim, device, &rows);
    double speed = 1;
    for (uint32_t i = sim->group_start[group]; table && i < sim->group_start[group + 1]; i++) {
        uint32_t other = sim->group_devices[i];
        if (other != device && sy_world_executes(&sim->world, other)) {
            uint32_t beside = sim->w->task_kernel[sim->world.view_devices[other].running];
            speed *= pair_ratio(table, rows, kernel, beside);
        }
    }
    return speed;
}

double sy_sim_beside(void *world, uint32_t device) {
    const struct sy_sim *sim = world;
    return group_speed(sim, device, sim->w->task_kernel[sim->world.view_devices[device].running]);
}

double sy_sim_true_speed(void *world, uint32_t device, uint32_t task) {
    const struct sy_sim *sim = world;
    return sim->options.contention ? group_speed(sim, device, sim->w->task_kernel[task]) : 1;
}

double sy_sim_true_disturbance(void *world, uint32_t device, uint32_t task) {
    const struct sy_sim *sim = world;
    uint32_t group = sim->machine->devices[device].group, kernel = sim->w->task_kernel[task];
    const uint32_t *rows;
    const struct sy_interference *table =
        sim->options.contention ? table_of(sim, device, &rows) : NULL;
    double extra = 0;
    for (uint32_t i = sim->group_start[group]; table && i < sim->group_start[group + 1]; i++) {
        uint32_t other = sim->group_devices[i];
        if (other != device && sy_world_executes(&sim->world, other)) {
            uint32_t beside = sim->w->task_kernel[sim->world.view_devices[other].running];
            extra += 1 / pair_ratio(table, rows, beside, kernel) - 1;
        }
    }
    return extra;
}

void sy_sim_occupied(void *world, uint32_t device) {
    struct sy_sim *sim = world;
    uint32_t group = sim->machine->devices[device].group;
    for (uint32_t i = sim->group_start[group]; i < sim->group_start[group + 1]; i++) {
        if (sim->group_devices[i] != device) {
            sy_world_retune(&sim->world, sim->group_devices[i]);
        }
    }
}

void sy_sim_flows_change(void *world) {
    struct sy_sim *sim = world;
    if (sim->watched) {
        sy_sim_sense_change(sim);
    }
}

void sy_sim_flows_solved(void *world) {
    struct sy_sim *sim = world;
    for (uint32_t r = 0; sim->watched && r < sim->machine->resource_count; r++) {
        sim->resource_use[r] = sy_world_use(&sim->world, r);
        sim->resource_others[r] = sim->hidden_on[r] ? sy_world_load_rate(&sim->world, r) : 0;
    }
    if (sim->watched) {
        sy_sim_sense_flows(sim);
    }
    if (sim->judge) {
        sy_sim_judge_starts(sim);
    }
}

void sy_sim_hidden_reset(struct sy_sim *sim) {
    for (uint32_t d = 0; d < sim->machine->device_count && sim->options.throttle > 0; d++) {
        sim->speed_rng[d] = sy_rng_make(sim->options.seed, THROTTLE, d);
        sy_world_set_event(&sim->world, sim->slot_speed + d,
                           sy_rng_exponential(&sim->speed_rng[d]) * sim->hidden_period_ns);
    }
    for (uint32_t r = 0; r < sim->machine->resource_count && sim->options.contention; r++) {
        sim->hidden_on[r] = false;
        sim->hidden_rng[r] = sy_rng_make(sim->options.seed, HIDDEN, r);
        double first = sy_rng_exponential(&sim->hidden_rng[r]) * sim->hidden_period_ns;
        if (sim->options.hidden_load > 0) {
            sy_world_set_event(&sim->world, r, first);
        }
    }
}

/* Throttled, or shared with somebody: slower for a while. */
void sy_sim_speed_event(struct sy_sim *sim, uint32_t d) {
    struct sy_rng *rng = &sim->speed_rng[d];
    struct hidden hidden = hidden_of(sim->options.throttle);
    double *speed = &sim->world.devices[d].speed, share = sy_rng_exponential(rng);
    bool slow = *speed == 1;
    double part = hidden.level * (1 + hidden.spread * (2 * sy_rng_uniform(rng) - 1));
    *speed = slow ? 1 - part : 1;
    share *= sim->hidden_period_ns * (slow ? hidden.duty : 1 - hidden.duty);
    sy_world_retune(&sim->world, d);
    sy_world_set_event(&sim->world, sim->slot_speed + d, sim_now(sim) + share);
}

void sy_sim_hidden_event(struct sy_sim *sim, uint32_t r) {
    struct sy_rng *rng = &sim->hidden_rng[r];
    double share = sy_rng_exponential(rng) * sim->hidden_period_ns;
    struct hidden hidden = hidden_of(sim->options.hidden_load);
    if (sim->hidden_on[r]) {
        sy_world_load(&sim->world, r, r, 0, HIDDEN_WEIGHT);
        share *= 1 - hidden.duty;
    } else {
        double part = hidden.level * (1 + hidden.spread * (2 * sy_rng_uniform(rng) - 1));
        sy_world_load(&sim->world, r, r, part * sim->machine->resources[r].bytes_per_s,
                      HIDDEN_WEIGHT);
        share *= hidden.duty;
    }
    sim->hidden_on[r] = !sim->hidden_on[r];
    sy_sim_sense_others(sim, r);
    sy_world_set_event(&sim->world, r, sim_now(sim) + share);
}
