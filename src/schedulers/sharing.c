/* SPDX-License-Identifier: Apache-2.0
 *
 * Expected contention from readings and known demands; see sharing.h.
 */
#include "schedulers/sharing.h"
#include <errno.h>
#include <string.h>

int sy_sharing_init(struct sharing *s, struct sy_arena *arena, const struct sy_view *view) {
    size_t resources = view->machine->resource_count + 1u;
    size_t kernels = view->kernel_count;
    s->use_bytes_per_s = sy_arena_alloc(arena, resources, sizeof *s->use_bytes_per_s);
    s->open_bytes_per_s = sy_arena_alloc(arena, resources, sizeof *s->open_bytes_per_s);
    s->smooth_bytes_per_s = sy_arena_alloc(arena, resources, sizeof *s->smooth_bytes_per_s);
    s->seen_ns = sy_arena_alloc(arena, resources, sizeof *s->seen_ns);
    s->own_bytes_per_s = sy_arena_alloc(arena, resources, sizeof *s->own_bytes_per_s);
    s->coming_bytes_per_s = sy_arena_alloc(arena, resources, sizeof *s->coming_bytes_per_s);
    s->users = sy_arena_alloc(arena, resources, sizeof *s->users);
    s->beside_now = sy_arena_alloc(arena, view->machine->device_count, sizeof *s->beside_now);
    bool taken = s->use_bytes_per_s && s->open_bytes_per_s && s->smooth_bytes_per_s && s->seen_ns &&
                 s->own_bytes_per_s && s->coming_bytes_per_s && s->users && s->beside_now;
    if (taken && kernels <= SY_SHARING_KERNELS) {
        s->beside = sy_arena_alloc(arena, kernels * kernels + 1, sizeof *s->beside);
        for (size_t i = 0; s->beside && i < kernels * kernels; i++) {
            sy_drift_init(&s->beside[i]);
        }
        taken = s->beside != NULL;
    }
    for (uint32_t d = 0; taken && d < view->machine->device_count; d++) {
        s->beside_now[d] = SY_NONE;
    }
    return taken ? 0 : -ENOMEM;
}

static void demand_of(const struct sy_view *view, uint32_t kernel, uint32_t device,
                      struct sy_demand *ret) {
    const struct sy_machine *m = view->machine;
    size_t at = (size_t)kernel * m->class_count + m->devices[device].class_index;
    sy_cost_demand(m, device, view->demand_bytes_per_s[at], view->link_demand_bytes_per_s[at], ret);
}

static void add_demand(struct sharing *s, const struct sy_view *view, uint32_t kernel,
                       uint32_t device) {
    struct sy_demand demand;
    demand_of(view, kernel, device, &demand);
    bool stalled = view->truth && !isfinite(view->truth->device_free_ns[device]);
    for (uint32_t i = 0; i < demand.count; i++) {
        uint32_t r = demand.resources[i];
        s->own_bytes_per_s[r] += demand.bytes_per_s[i];
        s->coming_bytes_per_s[r] += stalled ? demand.bytes_per_s[i] : 0;
        s->users[r]++;
    }
}

/* A newcomer gets what is left, or its fair share of what is there, whichever is more. */
static void open_up(struct sharing *s, const struct sy_view *view) {
    for (uint32_t r = 0; r < view->machine->resource_count; r++) {
        double capacity = view->machine->resources[r].bytes_per_s;
        double own = s->own_bytes_per_s[r] < capacity ? s->own_bytes_per_s[r] : capacity;
        double use =
            view->truth
                ? fmin(capacity, view->truth->resource_bytes_per_s[r] + s->coming_bytes_per_s[r])
                : fmax(s->smooth_bytes_per_s[r], own);
        s->use_bytes_per_s[r] = use;
        s->open_bytes_per_s[r] = fmax(capacity - use, capacity / (s->users[r] + 1.5));
    }
}

static void smooth_readings(struct sharing *s, const struct sy_view *view) {
    for (uint32_t r = 0; view->readings && r < view->machine->resource_count; r++) {
        if (view->readings[r].at_ns > s->seen_ns[r]) {
            double weight = s->seen_ns[r] > 0 ? 0.5 : 1;
            s->smooth_bytes_per_s[r] +=
                weight * (view->readings[r].bytes_per_s - s->smooth_bytes_per_s[r]);
            s->seen_ns[r] = view->readings[r].at_ns;
        }
    }
}

static uint32_t neighbour(const struct sy_view *view, uint32_t device) {
    const struct sy_machine *m = view->machine;
    uint32_t group = m->devices[device].group;
    for (uint32_t d = device; d-- > 0 && m->devices[d].group == group;) {
        if (view->devices[d].running != SY_NONE) {
            return view->task_kernel[view->devices[d].running];
        }
    }
    for (uint32_t d = device + 1; d < m->device_count && m->devices[d].group == group; d++) {
        if (view->devices[d].running != SY_NONE) {
            return view->task_kernel[view->devices[d].running];
        }
    }
    return SY_NONE;
}

void sy_sharing_update(struct sharing *s, const struct sy_view *view) {
    const struct sy_machine *m = view->machine;
    memset(s->own_bytes_per_s, 0, m->resource_count * sizeof *s->own_bytes_per_s);
    memset(s->coming_bytes_per_s, 0, m->resource_count * sizeof *s->coming_bytes_per_s);
    memset(s->users, 0, m->resource_count * sizeof *s->users);
    smooth_readings(s, view);
    for (uint32_t d = 0; d < m->device_count; d++) {
        uint32_t running = view->devices[d].running;
        if (running != SY_NONE) {
            add_demand(s, view, view->task_kernel[running], d);
        }
        s->beside_now[d] = neighbour(view, d);
    }
    open_up(s, view);
}

void sy_sharing_add(struct sharing *s, const struct sy_view *view, uint32_t task, uint32_t device) {
    struct sy_demand demand;
    demand_of(view, view->task_kernel[task], device, &demand);
    for (uint32_t i = 0; i < demand.count; i++) {
        uint32_t r = demand.resources[i];
        double capacity = view->machine->resources[r].bytes_per_s;
        s->users[r]++;
        s->use_bytes_per_s[r] = fmin(capacity, s->use_bytes_per_s[r] + demand.bytes_per_s[i]);
        s->open_bytes_per_s[r] =
            fmax(capacity - s->use_bytes_per_s[r], capacity / (s->users[r] + 1.5));
    }
}

static double co_run(const struct sharing *s, const struct sy_view *view, uint32_t task,
                     uint32_t device, double *harm) {
    if (view->truth) {
        *harm += view->truth->disturbance(view->truth->world, device, task);
        return 1 / view->truth->speed(view->truth->world, device, task);
    }
    uint32_t kernel = view->task_kernel[task], beside = s->beside_now[device];
    if (!s->beside || beside == SY_NONE) {
        return 1;
    }
    *harm += fmax(0, sy_drift_ratio(&s->beside[(size_t)beside * view->kernel_count + kernel]) - 1);
    return fmax(1, sy_drift_ratio(&s->beside[(size_t)kernel * view->kernel_count + beside]));
}

double sy_sharing_slowdown(const struct sharing *s, const struct sy_view *view, uint32_t task,
                           uint32_t device, double *ret_harm) {
    struct sy_demand demand;
    double slowdown = 1, harm = 0;
    demand_of(view, view->task_kernel[task], device, &demand);
    for (uint32_t i = 0; i < demand.count; i++) {
        uint32_t r = demand.resources[i];
        double capacity = view->machine->resources[r].bytes_per_s;
        slowdown = fmax(slowdown, demand.bytes_per_s[i] / s->open_bytes_per_s[r]);
        harm += fmax(0, (s->use_bytes_per_s[r] + demand.bytes_per_s[i]) / capacity - 1);
    }
    slowdown *= co_run(s, view, task, device, &harm);
    *ret_harm = harm;
    return slowdown;
}

void sy_sharing_observe(struct sharing *s, const struct sy_view *view, uint32_t task,
                        uint32_t device, double ratio) {
    uint32_t beside = s->beside_now[device];
    if (s->beside && beside != SY_NONE && ratio > 0) {
        size_t at = (size_t)view->task_kernel[task] * view->kernel_count + beside;
        sy_drift_observe(&s->beside[at], ratio);
    }
}
