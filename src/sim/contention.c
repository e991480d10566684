/* SPDX-License-Identifier: Apache-2.0
 *
 * What slows tasks beside their own flows: those that run on the same core or GPU; and what follows
 * when shares of bandwidth change. Other tenants' load is in hidden.c.
 */
#include "sim/state.h"

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
