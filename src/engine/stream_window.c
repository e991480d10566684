/* SPDX-License-Identifier: Apache-2.0
 *
 * How many items of a stream are under way at a time.
 *
 * In: the plan in place, an item's size, the memory of host and devices. Out: a number, at least 1;
 * what somebody asked for counts more than all of it.
 */
#include "engine/stream.h"
#include <math.h>

#define DEVICE_SHARE 0.5 /* of a device's memory, for the data of items under way */

/* As many as the memory of the host and of each limited device bears, at least one. used: the
 * plan's classes, a bit each. */
static double memory_window(const struct stream *stream, const struct stream_item *item,
                            uint32_t used) {
    const struct sy_system *system = stream->options->system;
    double bytes = fmax(item->total_bytes, 1);
    double most = stream->options->host_bytes / bytes;
    for (uint32_t c = 0; c < system->class_count; c++) {
        const struct sy_system_class *class = &system->classes[c];
        if ((used >> c & 1) && class->kind != SY_CPU && class->memory_bytes > 0) {
            most = fmin(most, DEVICE_SHARE * class->memory_bytes * class->device_count / bytes);
        }
    }
    return fmax(floor(most), 1);
}

/* Each group one item to work on, one that waits for it, and, behind a link, one whose result is on
 * its way home; where latency counts, only as many as keep the period. */
uint32_t stream_window(const struct stream *stream, const struct sy_plan_problem *problem,
                       const struct stream_item *item) {
    const struct sy_plan *plan = &stream->layout.plan;
    const struct sy_plan_request *request = &stream->options->replan.request;
    if (stream->options->window) {
        return stream->options->window;
    }
    double busy = 0;
    uint32_t used = 0;
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        uint32_t c = problem->shapes[plan->stages[s].shape].class_index;
        bool near = stream->options->system->classes[c].kind == SY_CPU;
        busy += plan->stages[s].replicas * (near ? 2. : 3.);
        used |= 1u << c;
    }
    double depth = ceil(plan->outcome.latency_ns / plan->outcome.period_ns - 1e-6);
    depth = isfinite(depth) && depth > 1 ? depth : 1;
    bool hurry = request->objective == SY_PLAN_LATENCY || isfinite(request->bounds.latency_ns);
    double wanted = hurry ? depth : fmax(busy, depth + 1);
    return (uint32_t)fmin(fmin(wanted, memory_window(stream, item, used)), 65536);
}
