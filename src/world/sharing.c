/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast tasks and copies go: alone, or as fair flows over the machine's resources. Weights make
 * the sharing fair in bytes.
 */
#include "world/flow.h"
#include "world/inside.h"
#include <errno.h>
#include <math.h>

static bool take_flows(struct sy_world *w, struct sy_arena *arena) {
    const struct sy_machine *m = w->machine;
    double *capacities = sy_arena_alloc(arena, m->resource_count + 1u, sizeof *capacities);
    for (uint32_t r = 0; capacities && r < m->resource_count; r++) {
        capacities[r] = m->resources[r].bytes_per_s;
    }
    w->flow_free = sy_arena_alloc(arena, w->flow_count + 1u, sizeof *w->flow_free);
    w->net = capacities ? sy_flow_create(m->resource_count, capacities, w->flow_count) : NULL;
    return w->flow_free && w->net;
}

int sy_world_sharing_init(struct sy_world *w, struct sy_arena *arena,
                          const struct sy_world_options *options) {
    w->flow_driver = w->machine->device_count;
    w->flow_copy = w->flow_driver + options->flow_count;
    w->flow_count = w->flow_copy;
    for (uint32_t i = 0; i < w->machine->memory_count; i++) {
        w->flow_count += w->machine->memories[i].dma_count;
    }
    w->flows = sy_arena_alloc(arena, w->flow_count + 1u, sizeof *w->flows);
    return w->flows && (!w->shared || take_flows(w, arena)) ? 0 : -ENOMEM;
}

void sy_world_sharing_clear(struct sy_world *w) {
    w->unsettled = false;
    if (!w->shared) {
        return;
    }
    sy_flow_reset(w->net);
    w->flow_free_count = 0;
    for (uint32_t f = w->flow_count; f-- > w->flow_copy;) {
        w->flow_free[w->flow_free_count++] = f;
        w->flows[f].route = NULL;
    }
}

static void demand_of(const struct sy_world *w, uint32_t device, struct sy_demand *ret,
                      double *ret_most_bytes_per_s) {
    const struct sy_view *v = &w->view;
    size_t at = (size_t)v->task_kernel[w->view_devices[device].running] * w->machine->class_count +
                w->machine->devices[device].class_index;
    double own = v->demand_bytes_per_s ? v->demand_bytes_per_s[at] : 0; /* not in every world */
    double link = v->link_demand_bytes_per_s ? v->link_demand_bytes_per_s[at] : 0;
    sy_cost_demand(w->machine, device, own, link, ret);
    *ret_most_bytes_per_s = 0; /* of what is shared */
    for (uint32_t i = 0; i < ret->count; i++) {
        *ret_most_bytes_per_s = sy_most(*ret_most_bytes_per_s, ret->bytes_per_s[i]);
    }
}

/* --- tasks -------------------------------------------------------------------------------------
 */
static double speed_of(const struct sy_world *w, uint32_t device) {
    double beside = w->hooks.beside ? w->hooks.beside(w->driver, device) : 1;
    return beside * w->devices[device].speed;
}

static void go_on_at(struct sy_world *w, uint32_t flow, double rate) {
    struct sy_world_flow *f = &w->flows[flow];
    f->rest -= f->rate * (world_now(w) - f->since_ns);
    f->rest = f->rest > 0 ? f->rest : 0;
    f->since_ns = world_now(w);
    f->rate = rate;
    if (f->slot != SY_NONE) {
        sy_heap_set(&w->events, f->slot, world_now(w) + f->rest / rate);
    }
}

static void begin(struct sy_world *w, uint32_t flow, uint32_t slot, double rest) {
    w->flows[flow] = (struct sy_world_flow){.rest = rest, .since_ns = world_now(w), .slot = slot};
    w->unsettled = true;
}

static void start_flow(struct sy_world *w, uint32_t device, double work_ns) {
    struct sy_demand demand;
    double bytes_per_s;
    demand_of(w, device, &demand, &bytes_per_s);
    begin(w, device, device, work_ns);
    sy_flow_add(w->net, device, speed_of(w, device), bytes_per_s > 0 ? 1 / bytes_per_s : 1,
                demand.count, demand.resources, demand.bytes_per_s);
    if (w->hooks.occupied) {
        w->hooks.occupied(w->driver, device);
    }
}

void sy_world_start_task(struct sy_world *w, uint32_t device, double work_ns) {
    if (w->shared) {
        start_flow(w, device, work_ns);
        return;
    }
    double speed = w->devices[device].speed;
    w->flows[device] = (struct sy_world_flow){work_ns, speed, world_now(w), device, NULL};
    sy_heap_set(&w->events, device, world_now(w) + work_ns / speed);
}

void sy_world_end_task(struct sy_world *w, uint32_t device) {
    if (w->shared) {
        sy_flow_remove(w->net, device);
        if (w->hooks.occupied) {
            w->hooks.occupied(w->driver, device);
        }
        w->unsettled = true;
    }
}

double sy_world_pause_task(struct sy_world *w, uint32_t device) {
    const struct sy_world_flow *f = &w->flows[device];
    double rest_ns = f->rest - f->rate * (world_now(w) - f->since_ns);
    sy_heap_unset(&w->events, device);
    sy_world_end_task(w, device);
    return rest_ns > 0 ? rest_ns : 0;
}

void sy_world_retune(struct sy_world *w, uint32_t device) {
    if (!sy_world_executes(w, device)) {
        return;
    }
    if (w->shared) {
        sy_flow_set_bound(w->net, device, speed_of(w, device));
        w->unsettled = true;
    } else {
        go_on_at(w, device, w->devices[device].speed);
    }
}

/* --- copies ------------------------------------------------------------------------------------
 */
void sy_world_start_copy(struct sy_world *w, uint32_t index) {
    static const double ones[SY_ROUTE_MAX] = {1, 1, 1, 1, 1, 1};
    const struct sy_machine *m = w->machine;
    struct sy_world_copy *copy = &w->copies[index];
    const struct sy_route *route = &m->routes[(size_t)copy->from * m->memory_count + copy->to];
    double bytes = w->view.data_bytes[copy->datum];
    if (w->shared) {
        SY_ASSERT(w->flow_free_count > 0);
        copy->flow = w->flow_free[--w->flow_free_count];
        begin(w, copy->flow, w->slot_copy + index,
              bytes * 1e9 + route->latency_ns * route->bytes_per_s);
        w->flows[copy->flow].route = route;
        sy_flow_add(w->net, copy->flow, route->bytes_per_s, 1, route->resource_count,
                    route->resources, ones);
    } else {
        sy_heap_set(&w->events, w->slot_copy + index,
                    world_now(w) + route->latency_ns + bytes / route->bytes_per_s * 1e9);
    }
}

void sy_world_end_copy(struct sy_world *w, uint32_t index) {
    if (w->shared) {
        uint32_t flow = w->copies[index].flow;
        sy_flow_remove(w->net, flow);
        w->flows[flow].route = NULL;
        w->flow_free[w->flow_free_count++] = flow;
        w->unsettled = true;
    }
}

/* --- rates -------------------------------------------------------------------------------------
 */
void sy_world_settle(struct sy_world *w) {
    const uint32_t *changed;
    if (!w->unsettled) {
        return;
    }
    w->unsettled = false;
    if (w->hooks.flows_change) {
        w->hooks.flows_change(w->driver);
    }
    uint32_t count = sy_flow_solve(w->net, &changed);
    for (uint32_t i = 0; i < count; i++) {
        go_on_at(w, changed[i], sy_flow_rate(w->net, changed[i]));
    }
    if (w->hooks.flows_solved) {
        w->hooks.flows_solved(w->driver);
    }
}

/* --- what the driver adds ----------------------------------------------------------------------
 */
void sy_world_load(struct sy_world *w, uint32_t flow, uint32_t resource, double bytes_per_s,
                   double weight) {
    static const double one = 1;
    uint32_t index = w->flow_driver + flow;
    if (bytes_per_s > 0) {
        begin(w, index, SY_NONE, INFINITY);
        sy_flow_add(w->net, index, bytes_per_s, weight, 1, &resource, &one);
    } else {
        sy_flow_remove(w->net, index);
        w->unsettled = true;
    }
}

double sy_world_load_rate(const struct sy_world *w, uint32_t flow) {
    return sy_flow_rate(w->net, w->flow_driver + flow);
}

double sy_world_use(const struct sy_world *w, uint32_t resource) {
    return sy_flow_use(w->net, resource);
}
