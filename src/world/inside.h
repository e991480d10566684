/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the world call each other for.
 */
#ifndef SY_WORLD_INSIDE_H
#define SY_WORLD_INSIDE_H

#include "world/world.h"

/* A task is committed there and has not begun. */
static inline bool sy_world_holds(const struct sy_world *world, uint32_t task, uint32_t device) {
    return world->task_device[task] == device && !world->task_delayed[task] &&
           world->task_state[task] <= SY_TASK_READY;
}

static inline double world_now(const struct sy_world *world) {
    return world->view.now_ns;
}

/* devices.c */
void sy_world_commit(struct sy_world *world, uint32_t task, uint32_t device);
void sy_world_push_aside(struct sy_world *world, uint32_t task, uint32_t device);
void sy_world_recall(struct sy_world *world, uint32_t task, uint32_t device);
void sy_world_inputs_ready(struct sy_world *world, uint32_t task);
void sy_world_device_event(struct sy_world *world, uint32_t device); /* its slot came up */
void sy_world_configure(struct sy_world *world, uint32_t device, uint32_t kernel);
/* copies.c */
void sy_world_request_inputs(struct sy_world *world, uint32_t task, uint32_t memory);
void sy_world_request_access(struct sy_world *world, uint32_t task, uint32_t access,
                             uint32_t memory);
void sy_world_fetch(struct sy_world *world, uint32_t task, uint32_t memory);
void sy_world_detach_inputs(struct sy_world *world, uint32_t task);
SY_MUST_CHECK bool sy_world_release_inputs(struct sy_world *world, uint32_t task);
void sy_world_copy_done(struct sy_world *world, uint32_t copy);
void sy_world_write_outputs(struct sy_world *world, uint32_t task, uint32_t memory);
/* sharing.c */
SY_MUST_CHECK int sy_world_sharing_init(struct sy_world *world, struct sy_arena *arena,
                                        const struct sy_world_options *options);
void sy_world_sharing_clear(struct sy_world *world);
void sy_world_start_task(struct sy_world *world, uint32_t device, double work_ns);
double sy_world_pause_task(struct sy_world *world, uint32_t device); /* returns work left */
void sy_world_end_task(struct sy_world *world, uint32_t device);     /* it executes no more */
void sy_world_start_copy(struct sy_world *world, uint32_t copy);
void sy_world_end_copy(struct sy_world *world, uint32_t copy);
void sy_world_settle(struct sy_world *world); /* rates and ends, after changes */
/* decide.c */
void sy_world_decision_due(struct sy_world *world); /* the first that waits */

#endif
