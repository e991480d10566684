/* SPDX-License-Identifier: Apache-2.0
 *
 * Sharing: tasks and copies as flows over the machine's resources, co-running tasks that slow each
 * other, and other tenants' hidden load.
 *
 * A task's flow counts isolated nanoseconds and runs at speed 1 alone; a copy's flow counts
 * bytes * 1e9, so that rest / rate is nanoseconds for both. Weights make the sharing fair in bytes.
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

static void dirty(struct sy_sim *sim) {
    sim->flows_dirty = true;
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
        if (other != device && sim->devices[other].phase == EXECUTING) {
            uint32_t beside = sim->w->task_kernel[sim->view_devices[other].running];
            speed *= pair_ratio(table, rows, kernel, beside);
        }
    }
    return speed;
}

static double running_speed(const struct sy_sim *sim, uint32_t device) {
    return group_speed(sim, device, sim->w->task_kernel[sim->view_devices[device].running]);
}

double sy_sim_true_speed(void *world, uint32_t device, uint32_t task) {
    const struct sy_sim *sim = world;
    return sim->net ? group_speed(sim, device, sim->w->task_kernel[task]) : 1;
}

double sy_sim_true_disturbance(void *world, uint32_t device, uint32_t task) {
    const struct sy_sim *sim = world;
    uint32_t group = sim->machine->devices[device].group, kernel = sim->w->task_kernel[task];
    const uint32_t *rows;
    const struct sy_interference *table = sim->net ? table_of(sim, device, &rows) : NULL;
    double extra = 0;
    for (uint32_t i = sim->group_start[group]; table && i < sim->group_start[group + 1]; i++) {
        uint32_t other = sim->group_devices[i];
        if (other != device && sim->devices[other].phase == EXECUTING) {
            uint32_t beside = sim->w->task_kernel[sim->view_devices[other].running];
            extra += 1 / pair_ratio(table, rows, beside, kernel) - 1;
        }
    }
    return extra;
}

static void retune_group(struct sy_sim *sim, uint32_t device) {
    uint32_t group = sim->machine->devices[device].group;
    for (uint32_t i = sim->group_start[group]; i < sim->group_start[group + 1]; i++) {
        uint32_t other = sim->group_devices[i];
        if (other != device && sim->devices[other].phase == EXECUTING) {
            sy_flow_set_bound(sim->net, other, running_speed(sim, other));
        }
    }
}

static void begin(struct sy_sim *sim, uint32_t flow, uint32_t slot, double rest) {
    sim->flow_rest[flow] = rest;
    sim->flow_rate[flow] = 0;
    sim->flow_since_ns[flow] = sim_now(sim);
    sim->flow_slot[flow] = slot;
    dirty(sim);
}

void sy_sim_flow_start_task(struct sy_sim *sim, uint32_t device, uint32_t task, double work_ns) {
    const struct sy_machine *m = sim->machine;
    const struct sy_device *self = &m->devices[device];
    size_t at = (size_t)sim->w->task_kernel[task] * sim->w->class_count + self->class_index;
    double own = sim->w->demand_bytes_per_s[at], link = sim->w->link_demand_bytes_per_s[at];
    struct sy_demand demand;
    sy_cost_demand(m, device, own, link, &demand);
    double bytes = fmax(own, link);
    begin(sim, device, device, work_ns);
    sy_flow_add(sim->net, device, running_speed(sim, device), bytes > 0 ? 1 / bytes : 1,
                demand.count, demand.resources, demand.bytes_per_s);
    retune_group(sim, device);
}

/* The device is no longer EXECUTING when this is called, so that its siblings speed up. */
void sy_sim_flow_end_task(struct sy_sim *sim, uint32_t device) {
    sy_flow_remove(sim->net, device);
    retune_group(sim, device);
    dirty(sim);
}

void sy_sim_flow_start_copy(struct sy_sim *sim, uint32_t index) {
    static const double ones[SY_ROUTE_MAX] = {1, 1, 1, 1, 1, 1};
    const struct sy_machine *m = sim->machine;
    struct copy *copy = &sim->copies[index];
    const struct sy_route *route = &m->routes[(size_t)copy->from * m->memory_count + copy->to];
    SY_ASSERT(sim->flow_free_count > 0);
    copy->flow = sim->flow_free[--sim->flow_free_count];
    sim->flow_route[copy->flow] = route;
    begin(sim, copy->flow, sim->slot_copy + index,
          sim->w->data_bytes[copy->datum] * 1e9 + route->latency_ns * route->bytes_per_s);
    sy_flow_add(sim->net, copy->flow, route->bytes_per_s, 1, route->resource_count,
                route->resources, ones);
}

void sy_sim_flow_end_copy(struct sy_sim *sim, uint32_t index) {
    uint32_t flow = sim->copies[index].flow;
    sy_flow_remove(sim->net, flow);
    sim->flow_route[flow] = NULL;
    sim->flow_free[sim->flow_free_count++] = flow;
    dirty(sim);
}

void sy_sim_sum_use(struct sy_sim *sim) {
    double elapsed = sim_now(sim) - sim->use_since_ns;
    sim->use_since_ns = sim_now(sim);
    for (uint32_t r = 0; r < sim->machine->resource_count; r++) {
        sim->resource_sum[r] += sim->resource_use[r] * elapsed;
    }
}

void sy_sim_flow_update(struct sy_sim *sim) {
    if (!sim->flows_dirty) {
        return;
    }
    sim->flows_dirty = false;
    if (sim->watched) {
        sy_sim_sense_change(sim);
    }
    const uint32_t *changed;
    uint32_t count = sy_flow_solve(sim->net, &changed);
    double now = sim_now(sim);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t flow = changed[i], slot = sim->flow_slot[flow];
        sim->flow_rest[flow] -= sim->flow_rate[flow] * (now - sim->flow_since_ns[flow]);
        sim->flow_rest[flow] = fmax(sim->flow_rest[flow], 0);
        sim->flow_since_ns[flow] = now;
        sim->flow_rate[flow] = sy_flow_rate(sim->net, flow);
        if (slot != SY_NONE) {
            sy_heap_set(&sim->heap, slot, now + sim->flow_rest[flow] / sim->flow_rate[flow]);
        }
    }
    for (uint32_t r = 0; sim->watched && r < sim->machine->resource_count; r++) {
        sim->resource_use[r] = sy_flow_use(sim->net, r);
        sim->resource_others[r] =
            sim->hidden_on[r] ? sy_flow_rate(sim->net, sim->flow_hidden + r) : 0;
    }
    if (sim->judge) {
        sy_sim_judge_starts(sim);
    }
}

void sy_sim_hidden_reset(struct sy_sim *sim) {
    for (uint32_t r = 0; r < sim->machine->resource_count; r++) {
        sim->hidden_on[r] = false;
        sim->hidden_rng[r] = sy_rng_make(sim->options.seed, HIDDEN, r);
        double first = sy_rng_exponential(&sim->hidden_rng[r]) * sim->hidden_period_ns;
        if (sim->options.hidden_load > 0) {
            sy_heap_set(&sim->heap, sim->slot_hidden + r, first);
        }
    }
}

void sy_sim_hidden_event(struct sy_sim *sim, uint32_t r) {
    struct sy_rng *rng = &sim->hidden_rng[r];
    double share = sy_rng_exponential(rng) * sim->hidden_period_ns;
    struct hidden hidden = hidden_of(sim->options.hidden_load);
    uint32_t flow = sim->flow_hidden + r;
    if (sim->hidden_on[r]) {
        sy_flow_remove(sim->net, flow);
        share *= 1 - hidden.duty;
    } else {
        double part = hidden.level * (1 + hidden.spread * (2 * sy_rng_uniform(rng) - 1));
        static const double one = 1;
        begin(sim, flow, SY_NONE, INFINITY);
        sy_flow_add(sim->net, flow, part * sim->machine->resources[r].bytes_per_s, HIDDEN_WEIGHT, 1,
                    &r, &one);
        share *= hidden.duty;
    }
    sim->hidden_on[r] = !sim->hidden_on[r];
    dirty(sim);
    sy_heap_set(&sim->heap, sim->slot_hidden + r, sim_now(sim) + share);
}
