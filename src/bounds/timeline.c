/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the timeline, and the shortest gap worth keeping per device.
 */
#include "bounds/timeline.h"

#include <errno.h>
#include <math.h>

static double shortest_task_ns(const struct sy_bound_model *model, uint32_t class_index) {
    double shortest = INFINITY;
    for (uint32_t t = 0; t < model->task_count; t++) {
        shortest = fmin(shortest, sy_bound_time_ns(model, t, class_index));
    }
    return shortest;
}

int sy_timeline_init(struct sy_timeline *line, const struct sy_bound_model *model,
                     struct sy_arena *arena) {
    size_t devices = model->device_count;
    *line = (struct sy_timeline){
        .device_count = model->device_count,
        .gaps = sy_arena_alloc(arena, devices + model->task_count, sizeof(*line->gaps)),
        .free_ns = sy_arena_alloc(arena, devices, sizeof(double)),
        .longest_ns = sy_arena_alloc(arena, devices, sizeof(double)),
        .shortest_ns = sy_arena_alloc(arena, devices, sizeof(double)),
    };
    if (line->gaps == NULL || line->free_ns == NULL || line->longest_ns == NULL ||
        line->shortest_ns == NULL) {
        return -ENOMEM;
    }
    for (uint32_t d = 0; d < model->device_count; d++) {
        uint32_t class_index = model->machine->devices[d].class_index;
        bool repeated = d > 0 && model->machine->devices[d - 1].class_index == class_index;
        line->shortest_ns[d] =
            repeated ? line->shortest_ns[d - 1] : shortest_task_ns(model, class_index);
    }
    sy_timeline_clear(line);
    return 0;
}
