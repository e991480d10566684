/* SPDX-License-Identifier: Apache-2.0
 *
 * Expected contention from readings and known demands; see sharing.h.
 */
#include "schedulers/sharing.h"
#include "schedulers/schedulers.h"
#include <errno.h>
#include <string.h>

#define SMOOTH       0.5 /* weight of a raw reading against those before */
#define RAW_SD_RATIO 0.3 /* of a raw reading, whose spread nobody knows */

void sy_readings_of(const struct sy_senses *senses, uint32_t resource_count,
                    struct sy_reading *ret) {
    for (uint32_t r = 0; r < resource_count; r++) {
        struct sy_sensed sensed = sy_senses_resource(senses, r);
        ret[r] = (struct sy_reading){.bytes_per_s = sensed.total,
                                     .at_ns = sensed.seen_ns,
                                     .sd_bytes_per_s = sensed.others_sd,
                                     .others_bytes_per_s = sensed.others};
    }
}

int sy_sharing_init(struct sharing *s, struct sy_arena *arena, const struct sy_view *view) {
    size_t resources = view->machine->resource_count + 1u;
    s->slowdown = sy_slowdown_create(arena, view->machine, view->kernel_count);
    s->smooth_bytes_per_s = sy_arena_alloc(arena, resources, sizeof *s->smooth_bytes_per_s);
    s->seen_ns = sy_arena_alloc(arena, resources, sizeof *s->seen_ns);
    s->own_bytes_per_s = sy_arena_alloc(arena, resources, sizeof *s->own_bytes_per_s);
    s->running = sy_arena_alloc(arena, view->machine->device_count, sizeof *s->running);
    s->beside_now = sy_arena_alloc(arena, view->machine->device_count, sizeof *s->beside_now);
    if (!s->slowdown || !s->smooth_bytes_per_s || !s->seen_ns || !s->own_bytes_per_s ||
        !s->running || !s->beside_now) {
        return -ENOMEM;
    }
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        s->running[d] = s->beside_now[d] = SY_NONE;
    }
    s->open_bytes_per_s = sy_slowdown_open(s->slowdown);
    return 0;
}

static struct sy_draw draw_of_kernel(const struct sy_view *view, uint32_t kernel, uint32_t device,
                                     struct sy_demand *demand) {
    const struct sy_machine *m = view->machine;
    size_t at = (size_t)kernel * m->class_count + m->devices[device].class_index;
    sy_cost_demand(m, device, view->demand_bytes_per_s[at], view->link_demand_bytes_per_s[at],
                   demand);
    return (struct sy_draw){demand->count, demand->resources, demand->bytes_per_s};
}

static struct sy_draw draw_of(const struct sy_view *view, uint32_t task, uint32_t device,
                              struct sy_demand *demand) {
    return draw_of_kernel(view, view->task_kernel[task], device, demand);
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

static void smooth(struct sharing *s, const struct sy_reading *reading, uint32_t r) {
    if (reading->at_ns > s->seen_ns[r]) {
        double weight = s->seen_ns[r] > 0 ? SMOOTH : 1;
        s->smooth_bytes_per_s[r] += weight * (reading->bytes_per_s - s->smooth_bytes_per_s[r]);
        s->seen_ns[r] = reading->at_ns;
    }
}

/* What others take, as far as anybody says. */
static void tell(struct sharing *s, const struct sy_view *view) {
    for (uint32_t r = 0; r < view->machine->resource_count; r++) {
        double own = fmin(s->own_bytes_per_s[r], view->machine->resources[r].bytes_per_s);
        if (view->truth) {
            sy_slowdown_told(s->slowdown, r, view->truth->others_bytes_per_s[r], 0);
            continue;
        }
        const struct sy_reading *reading = view->readings ? &view->readings[r] : NULL;
        if (!reading || reading->at_ns < 0) {
            continue;
        }
        if (view->posterior) {
            sy_slowdown_told(s->slowdown, r, reading->others_bytes_per_s, reading->sd_bytes_per_s);
        } else {
            smooth(s, reading, r);
            sy_slowdown_told(s->slowdown, r, fmax(0, s->smooth_bytes_per_s[r] - own),
                             RAW_SD_RATIO * s->smooth_bytes_per_s[r]);
        }
    }
}

/* What began since the last look began under what is known now. */
static void notice(struct sharing *s, const struct sy_view *view) {
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        uint32_t task = view->devices[d].running;
        if (task != s->running[d] && task != SY_NONE) {
            struct sy_demand demand;
            struct sy_draw draw = draw_of(view, task, d, &demand);
            sy_slowdown_started(s->slowdown, d, view->task_kernel[task], draw, s->beside_now[d],
                                sy_estimate_time_ns(view, task, d));
            sy_slowdown_add(s->slowdown, draw);
        }
        s->running[d] = task;
    }
}

void sy_sharing_update(struct sharing *s, const struct sy_view *view) {
    const struct sy_machine *m = view->machine;
    memset(s->own_bytes_per_s, 0, m->resource_count * sizeof *s->own_bytes_per_s);
    sy_slowdown_begin(s->slowdown, view->now_ns);
    for (uint32_t d = 0; d < m->device_count; d++) {
        uint32_t task = view->devices[d].running;
        s->beside_now[d] = neighbour(view, d);
        if (task == SY_NONE) {
            continue;
        }
        struct sy_demand demand;
        struct sy_draw draw = draw_of(view, task, d, &demand);
        for (uint32_t i = 0; i < draw.count; i++) {
            s->own_bytes_per_s[draw.resources[i]] += draw.bytes_per_s[i];
        }
        if (task == s->running[d]) {
            sy_slowdown_runs(s->slowdown, draw);
        }
    }
    tell(s, view);
    sy_slowdown_ready(s->slowdown);
    notice(s, view);
}

void sy_sharing_add(struct sharing *s, const struct sy_view *view, uint32_t task, uint32_t device) {
    struct sy_demand demand;
    sy_slowdown_add(s->slowdown, draw_of(view, task, device, &demand));
}

struct sy_slowing sy_sharing_slowdown(const struct sharing *s, const struct sy_view *view,
                                      uint32_t task, uint32_t device) {
    struct sy_demand demand;
    struct sy_draw draw = draw_of(view, task, device, &demand);
    uint32_t kernel = view->task_kernel[task], beside = s->beside_now[device];
    const struct sy_truth *truth = view->truth;
    struct sy_slowing slowing =
        sy_slowdown_expect(s->slowdown, kernel, device, draw, truth ? SY_NONE : beside,
                           sy_estimate_time_ns(view, task, device));
    if (truth) {
        slowing.ratio /= truth->speed(truth->world, device, task);
    }
    slowing.harm += truth ? truth->disturbance(truth->world, device, task)
                          : sy_slowdown_disturbs(s->slowdown, kernel, beside);
    return slowing;
}

double sy_sharing_ahead(const struct sharing *s, const struct sy_view *view, uint32_t kernel,
                        uint32_t device, double ahead_ns) {
    struct sy_demand demand;
    struct sy_draw draw = draw_of_kernel(view, kernel, device, &demand);
    return sy_slowdown_expect(s->slowdown, kernel, device, draw, SY_NONE, ahead_ns).ratio;
}

void sy_sharing_observe(struct sharing *s, const struct sy_view *view, uint32_t task,
                        uint32_t device, double ratio) {
    (void)view;
    if (s->running[device] == task) {
        sy_slowdown_ended(s->slowdown, device, ratio);
    }
}
