/* SPDX-License-Identifier: Apache-2.0
 *
 * schedulers: what others must know of policies besides symph/scheduler.h: what worlds give them,
 * how they see what is believed, and for training what else the learned one could have decided.
 *
 * In: weights, parts to leave out, senses; where to decide otherwise. Out: readings; the
 * alternatives that a run met, and their slopes. Never knows: worlds.
 */
#ifndef SY_SCHEDULERS_SCHEDULERS_H
#define SY_SCHEDULERS_SCHEDULERS_H

#include "nets/nets.h"
#include <symph/scheduler.h>

struct sy_senses;
/* What is believed of the resources, as policies see it: one reading each; sharing.c. */
void sy_readings_of(const struct sy_senses *senses, uint32_t resource_count,
                    struct sy_reading *ret_readings);

/* What the default's planning has cost since init, by its own constants; 0 of others. */
double sy_scheduler_planning_ns(const struct sy_scheduler *scheduler);

/* --- what a policy is given beside its name -----------------------------------------------------
 */
enum sy_policy_part {
    SY_PART_BELIEF = 1u << 0,   /* what counters say */
    SY_PART_TOPOLOGY = 1u << 1, /* graph network over the machine */
    SY_PART_GRAPH = 1u << 2,    /* graph network over the job */
    SY_PART_LSTM = 1u << 3,
    SY_PART_GUARD = 1u << 4,
    SY_PART_BACKBONE = 1u << 5, /* the heuristic that is corrected */
    SY_PART_PLANS = 1u << 6,    /* plans of a job that is alone */
    SY_PART_NET = 1u << 7,      /* the correction itself */
};
struct sy_policy_tape; /* what training records of decisions; the policy's own */
/* struct sy_scheduler points at it; NULL: the shipped weights and all parts. */
struct sy_policy_setup {
    const struct sy_weights *weights; /* NULL: the shipped ones */
    uint32_t without;                 /* parts left out: bits of enum sy_policy_part */
    struct sy_policy_tape *tape;      /* NULL: nothing is recorded, the best is chosen */
    const double *scale;              /* per task, of its priority; NULL: 1 */
    /* Runs the same hidden world from its start under policy (a name) with such a scale and returns
     * the makespan or mean job slowdown; NAN on failure. NULL: this world cannot be run again. */
    double (*rollout)(void *world, const char *policy, const double *scale);
    void *world;
};
/* struct sy_scheduler_ops points at it: which weights a policy understands, and its parts. */
struct sy_policy_net {
    const char *kind;
    uint32_t shape, count; /* their layout and number */
    uint32_t parts;        /* what NAME~PART can leave out: bits of enum sy_policy_part */
};
/* Bit of a part's name ("belief", "topology", "graph", "lstm", "guard", "backbone", "plans",
 * "net"), 0: none is called so. */
uint32_t sy_policy_part(const char *name, size_t length);
const char *sy_policy_part_at(uint32_t index);

/* --- the learned policy's alternatives: learned_probe.c
 * -------------------------------------------- For expert iteration: a run records where it could
 * have decided otherwise, further runs of the same world try that. Both take one decision at a
 * time. */
#define SY_OTHERS_MAX 8
struct sy_other {
    uint32_t task;   /* that the policy decided on */
    uint32_t device; /* that takes it instead */
    double margin;   /* by which the policy prefers what it did, in the task's least times */
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
    uint32_t other_capacity;     /* of each, 1 to SY_OTHERS_MAX */
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
