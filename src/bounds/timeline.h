/* SPDX-License-Identifier: Apache-2.0
 *
 * What is still free on each device: the time after its last task, and the gaps before it; private
 * to this room.
 *
 * In: placements. Out: the earliest start that fits. Only gaps are kept, latest first, since a good
 * schedule has few. Invariant: placing a task adds at most one gap, so device_count + task_count
 * slots suffice and nothing is allocated after init.
 */
#ifndef SY_BOUNDS_TIMELINE_H
#define SY_BOUNDS_TIMELINE_H

#include "bounds/model.h"

struct sy_timeline_gap {
    double start, end;
    uint32_t earlier, later; /* rings; slot d is the anchor of device d */
};

struct sy_timeline {
    uint32_t device_count, gap_count;
    struct sy_timeline_gap *gaps;
    double *free_ns;     /* per device */
    double *longest_ns;  /* per device: no gap is longer */
    double *shortest_ns; /* per device: shorter gaps are of no use to any task */
};

static inline void sy_timeline_clear(struct sy_timeline *line) {
    for (uint32_t d = 0; d < line->device_count; d++) {
        line->gaps[d].earlier = line->gaps[d].later = d;
        line->free_ns[d] = line->longest_ns[d] = 0;
    }
    line->gap_count = line->device_count;
}

/* Earliest start of duration on device, not before ready. *ret_gap: the gap, or the device itself
 * for the time after its last task. */
static inline double sy_timeline_find(const struct sy_timeline *line, uint32_t device,
                                      double ready_ns, double duration_ns, uint32_t *ret_gap) {
    double start = ready_ns > line->free_ns[device] ? ready_ns : line->free_ns[device];
    *ret_gap = device;
    if (start == ready_ns || duration_ns > line->longest_ns[device]) {
        return start;
    }
    for (uint32_t g = line->gaps[device].earlier; g != device; g = line->gaps[g].earlier) {
        const struct sy_timeline_gap *gap = &line->gaps[g];
        if (gap->end < ready_ns + duration_ns) {
            break;
        }
        double from = ready_ns > gap->start ? ready_ns : gap->start;
        if (from + duration_ns <= gap->end) {
            start = from;
            *ret_gap = g;
        }
    }
    return start;
}

/* Adds [start, end) before the gap (or anchor) later, if some task could use it. */
static inline void sy_timeline_add_gap(struct sy_timeline *line, uint32_t device, uint32_t later,
                                       double start_ns, double end_ns) {
    double length = end_ns - start_ns;
    if (!(length > 0) || length < line->shortest_ns[device]) {
        return;
    }
    uint32_t g = line->gap_count++, earlier = line->gaps[later].earlier;
    line->gaps[g] = (struct sy_timeline_gap){start_ns, end_ns, earlier, later};
    line->gaps[earlier].later = g;
    line->gaps[later].earlier = g;
    if (length > line->longest_ns[device]) {
        line->longest_ns[device] = length;
    }
}

/* Takes [start, end) of a place that find gave. */
static inline void sy_timeline_place(struct sy_timeline *line, uint32_t device, uint32_t place,
                                     double start_ns, double end_ns) {
    struct sy_timeline_gap *gap = &line->gaps[place];
    if (place == device) {
        sy_timeline_add_gap(line, device, device, line->free_ns[device], start_ns);
        line->free_ns[device] = end_ns;
        return;
    }
    double gap_start = gap->start;
    gap->start = end_ns;
    sy_timeline_add_gap(line, device, place, gap_start, start_ns);
    if (!(gap->end - end_ns > 0) || gap->end - end_ns < line->shortest_ns[device]) {
        line->gaps[gap->earlier].later = gap->later;
        line->gaps[gap->later].earlier = gap->earlier;
    }
}

/* Lives in the arena. -ENOMEM. */
SY_MUST_CHECK int sy_timeline_init(struct sy_timeline *line, const struct sy_bound_model *model,
                                   struct sy_arena *arena);

#endif
