/* SPDX-License-Identifier: Apache-2.0
 *
 * schedulers: what others must know of policies besides symph/scheduler.h: how they see what is
 * believed, and for training what else the learned one could have decided.
 *
 * In: senses; where to decide otherwise. Out: readings; the alternatives that a run met, and their
 * slopes. Never knows: worlds.
 */
#ifndef SY_SCHEDULERS_SCHEDULERS_H
#define SY_SCHEDULERS_SCHEDULERS_H

#include "nets/nets.h"
#include <symph/scheduler.h>

struct sy_senses;
/* What is believed of the resources, as policies see it: one reading each; sharing.c. */
void sy_readings_of(const struct sy_senses *senses, uint32_t resource_count,
                    struct sy_reading *ret_readings);

/* --- the learned policy's alternatives: learned_probe.c
 * -------------------------------------------- For expert iteration: a run records where it could
 * have decided otherwise, further runs of the same world try that. Both take one decision at a
 * time. */
#define SY_OTHERS_MAX 8
struct sy_other {
    uint32_t task;   /* device SY_NONE: it goes first, where the policy wants it */
    uint32_t device; /* that takes the task the policy decided on */
    double margin;   /* by which the policy prefers what it did: least times, or ln of keys */
    float *slopes;   /* of the margin, per weight; the caller's */
};
struct sy_crossroads {
    uint64_t asked; /* which call of decide it was */
    uint32_t other_count;
    struct sy_other others[SY_OTHERS_MAX];
};
struct sy_probe {
    /* Given. */
    uint32_t capacity;           /* crossroads to keep; 0: nothing is recorded */
    uint32_t other_capacity;     /* of each, 2 to SY_OTHERS_MAX */
    struct sy_crossroads *roads; /* capacity + 1, the last is for work */
    struct sy_rng rng;           /* of which are kept */
    uint64_t forced_at;          /* call of decide; UINT64_MAX: none is forced */
    struct sy_other forced;
    /* Written. */
    uint32_t count;
    uint64_t seen; /* crossroads met */
};
/* For sy_sim_run_ops, with a probe as state and weights in the setup. */
extern const struct sy_scheduler_ops sy_policy_probed;

#endif
