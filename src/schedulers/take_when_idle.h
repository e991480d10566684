/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies in which an idle device takes a task: they differ in which task comes first for it. One
 * pool per class, so that a device only ever sees what it can run.
 */
#ifndef SY_SCHEDULERS_TAKE_WHEN_IDLE_H
#define SY_SCHEDULERS_TAKE_WHEN_IDLE_H

#include "schedulers/policy.h"

struct when_idle;
/* Of a task that has become ready, for devices of a class: larger goes first. */
typedef double sy_when_idle_key(const struct when_idle *w, const struct sy_view *view,
                                uint32_t task, uint32_t class_index);

struct when_idle {
    struct policy base;
    sy_when_idle_key *key;
    struct pool *pools; /* per class; a task taken from one is stale in the others */
    double arrivals;    /* tasks that have become ready */
    uint32_t waiting;
};

SY_MUST_CHECK int sy_when_idle_init(struct sy_scheduler *scheduler, const struct sy_view *view,
                                    const char *args, sy_when_idle_key *key);
void sy_when_idle_job_arrived(struct sy_scheduler *scheduler, const struct sy_view *view,
                              uint32_t job);
void sy_when_idle_task_ready(struct sy_scheduler *scheduler, const struct sy_view *view,
                             uint32_t task);
uint32_t sy_when_idle_decide(struct sy_scheduler *scheduler, const struct sy_view *view,
                             struct sy_decision *ret_decisions, uint32_t capacity);

#define WHEN_IDLE(identifier, policy_name, text, start)                                            \
    SY_POLICY(identifier, policy_name, text, start, sy_when_idle_job_arrived,                      \
              sy_when_idle_task_ready, sy_when_idle_decide, false)

#endif
