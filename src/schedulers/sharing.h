/* SPDX-License-Identifier: Apache-2.0
 *
 * What a task would get of the shared resources if it started now: belief/'s slowdown, fed with
 * what a view shows.
 *
 * In: readings (or, for those that need it, the truth), what runs, and how long tasks took. Out:
 * expected slowdown of a task on a device, harm it does to others, what copies can expect.
 */
#ifndef SY_SCHEDULERS_SHARING_H
#define SY_SCHEDULERS_SHARING_H

#include "belief/senses.h"
#include "schedulers/policy.h"

struct sharing {
    struct sy_slowdown *slowdown;
    const double *open_bytes_per_s;       /* per resource: what a newcomer can expect */
    double *smooth_bytes_per_s, *seen_ns; /* raw readings, smoothed */
    double *own_bytes_per_s;              /* per resource: demand of the tasks we know of */
    uint32_t *running;                    /* per device: task at the last look */
    uint32_t *beside_now;                 /* per device: kernel beside it at the last look */
};
SY_MUST_CHECK int sy_sharing_init(struct sharing *sharing, struct sy_arena *arena,
                                  const struct sy_view *view);
/* Looks at the machine anew; call before a round of decisions. */
void sy_sharing_update(struct sharing *sharing, const struct sy_view *view);
/* Counts a decision that is not carried out yet. */
void sy_sharing_add(struct sharing *sharing, const struct sy_view *view, uint32_t task,
                    uint32_t device);
/* ratio >= 1: execution time over isolated time, with its spread; harm: extra time of others, as a
 * share of this task's isolated time. */
struct sy_slowing sy_sharing_slowdown(const struct sharing *sharing, const struct sy_view *view,
                                      uint32_t task, uint32_t device);
/* The ratio alone, for any task of a kernel if it ran some time in the time ahead. */
double sy_sharing_ahead(const struct sharing *sharing, const struct sy_view *view, uint32_t kernel,
                        uint32_t device, double ahead_ns);
/* A task ended: learn from how long it took. ratio: duration / predicted alone. */
void sy_sharing_observe(struct sharing *sharing, const struct sy_view *view, uint32_t task,
                        uint32_t device, double ratio);

#endif
