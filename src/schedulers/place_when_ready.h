/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies that place a task the moment it is ready: they differ in which device they choose, and
 * in what order the tasks come.
 */
#ifndef SY_SCHEDULERS_PLACE_WHEN_READY_H
#define SY_SCHEDULERS_PLACE_WHEN_READY_H

#include "schedulers/policy.h"

struct when_ready;
/* A device for the task; device SY_NONE: every one that could is lost. */
typedef struct sy_choice sy_when_ready_choose(struct when_ready *w, const struct sy_view *view,
                                              uint32_t task);

struct when_ready {
    struct policy base;
    bool ranked;       /* by upward rank, in each queue too; else as they became ready */
    struct pool ready; /* came since the last decision */
    uint32_t turn;     /* of round robin */
    double arrivals;
    sy_when_ready_choose *choose;
};

/* history: times are corrected by it. */
SY_MUST_CHECK int sy_when_ready_init(struct sy_scheduler *scheduler, const struct sy_view *view,
                                     const char *args, sy_when_ready_choose *choose, bool ranked,
                                     bool history);
void sy_when_ready_job_arrived(struct sy_scheduler *scheduler, const struct sy_view *view,
                               uint32_t job);
void sy_when_ready_task_ready(struct sy_scheduler *scheduler, const struct sy_view *view,
                              uint32_t task);
uint32_t sy_when_ready_decide(struct sy_scheduler *scheduler, const struct sy_view *view,
                              struct sy_decision *ret_decisions, uint32_t capacity);
/* That device runs the task, and is not lost. */
bool sy_when_ready_can(const struct sy_view *view, uint32_t task, uint32_t device);
/* That device as a choice. */
struct sy_choice sy_when_ready_on(struct when_ready *w, const struct sy_view *view, uint32_t task,
                                  uint32_t device);
/* Any device that can, at random; random.c. */
sy_when_ready_choose sy_random_choose;

#define WHEN_READY(identifier, policy_name, text, start)                                           \
    SY_POLICY(identifier, policy_name, text, start, sy_when_ready_job_arrived,                     \
              sy_when_ready_task_ready, sy_when_ready_decide, false)

#endif
