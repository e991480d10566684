/* SPDX-License-Identifier: Apache-2.0
 *
 * replay_run: a recorded run again, in the simulator.
 *
 * In: a record. Out: how long the simulator thinks the same placement in the same order takes, with
 * the model's times and with the measured ones. Never knows: why tasks were placed so. Invariant: a
 * record whose times contradict its graph a little (clocks differ) still has an order that ends.
 */
#ifndef SY_CLI_SIMULATE_REPLAY_RUN_H
#define SY_CLI_SIMULATE_REPLAY_RUN_H

#include "engine/engine.h"
#include "sim/sim.h"

/* The recorded placement as a policy: a task is committed when it is ready, when all before it on
 * its device are, and when the task during which it was decided has started. */
struct sy_replay_plan {
    const struct sy_record *record;
    struct sy_arena *arena;
    uint32_t *device_start; /* device_count + 1 */
    uint32_t *order;        /* tasks of each device in the order in which they ran */
    uint32_t *during; /* [task] who must have started before it is committed; SY_NONE: nobody */
    uint32_t *next;   /* [device] position in order; changes while it runs */
};
/* Every task of the record must have run. */
void sy_replay_plan_init(struct sy_replay_plan *plan, const struct sy_record *record);
void sy_replay_plan_finish(struct sy_replay_plan *plan);
extern const struct sy_scheduler_ops sy_replay_ops; /* its state: the plan */

/* What a replay found. NAN: nothing to compare with. */
struct sy_replayed {
    double real_ns;         /* first submission to last end */
    double simulated_ns;    /* with the model's times */
    double measured_ns;     /* with the durations as they were */
    uint32_t unknown_count; /* tasks the model knew nothing of: the median of their like served */
};
/* -EINVAL: the record is of a run that did not end, or contradicts itself. */
SY_MUST_CHECK int sy_replay(const struct sy_record *record, const struct sy_sim_options *options,
                            struct sy_replayed *ret_replayed, struct sy_error *error);

#endif
