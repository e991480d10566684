/* SPDX-License-Identifier: Apache-2.0
 *
 * What a task would get of the shared resources if it started now.
 *
 * In: counter readings (or, for an oracle, the truth), and the demands of what we run ourselves.
 * Out: expected slowdown of a task on a device, harm it does to others, time of its copies.
 */
#ifndef SY_SCHEDULERS_SHARING_H
#define SY_SCHEDULERS_SHARING_H

#include "schedulers/policy.h"

#define SY_SHARING_KERNELS 256 /* more kernels: co-run ratios are not learned */

struct sharing {
    double *use_bytes_per_s;              /* per resource */
    double *open_bytes_per_s;             /* per resource: what a newcomer can expect */
    double *smooth_bytes_per_s, *seen_ns; /* readings, smoothed */
    double *own_bytes_per_s;              /* demand of the tasks we know of */
    double *coming_bytes_per_s; /* of them, what does not flow yet: only an oracle can tell */
    uint32_t *users;            /* of them, per resource */
    struct sy_drift *beside; /* [kernel * kernel_count + kernel running beside]; NULL: not kept */
    uint32_t *beside_now;    /* per device: kernel beside it at the last look */
};
SY_MUST_CHECK int sy_sharing_init(struct sharing *sharing, struct sy_arena *arena,
                                  const struct sy_view *view);
/* Looks at the machine anew; call before a round of decisions. */
void sy_sharing_update(struct sharing *sharing, const struct sy_view *view);
/* Counts a decision that is not carried out yet. */
void sy_sharing_add(struct sharing *sharing, const struct sy_view *view, uint32_t task,
                    uint32_t device);
/* >= 1: execution time over isolated time. *ret_harm: extra time of others, as a share of this
 * task's isolated time. */
double sy_sharing_slowdown(const struct sharing *sharing, const struct sy_view *view, uint32_t task,
                           uint32_t device, double *ret_harm);
/* A task ended: learn what its neighbour did to it. ratio: duration / predicted. */
void sy_sharing_observe(struct sharing *sharing, const struct sy_view *view, uint32_t task,
                        uint32_t device, double ratio);

#endif
