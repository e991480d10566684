/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies that plan a whole job when it arrives, task by task with insertion into gaps: they
 * differ in which task comes first and in which device is best for it. The plan is committed at
 * once, so that devices keep its order and inputs travel as soon as they exist; under a job order a
 * task is committed when ready, to its planned device. What a lost device gives back is placed anew
 * by earliest finish.
 */
#ifndef SY_SCHEDULERS_PLAN_ON_ARRIVAL_H
#define SY_SCHEDULERS_PLAN_ON_ARRIVAL_H

#include "schedulers/policy.h"

struct arrival_plan {
    struct policy base;
    struct draft plan;
    struct pool queue;   /* plannable tasks, by key */
    struct pool ready;   /* to be committed when ready: job orders, and what came back */
    uint32_t *unplanned; /* per task: predecessors without a place */
    uint32_t *emit;      /* planned tasks to commit, in order */
    uint32_t emit_count, emit_next;
    double *key;        /* priority of planning */
    const bool *pinned; /* per task: it goes to pinned_device; NULL: none does */
    uint32_t pinned_device;
    /* Sets the keys of a job's tasks, and what score needs. At first: the upward rank. */
    void (*rank)(struct arrival_plan *f, const struct sy_view *view, uint32_t job);
    /* Of a task on a device, behind the planned task before: smaller is better. At first: end_ns.
     */
    double (*score)(struct arrival_plan *f, const struct sy_view *view, uint32_t task,
                    uint32_t device, double start_ns, double end_ns, uint32_t before);
};

/* Allocates state of size bytes that begins with struct arrival_plan. */
SY_MUST_CHECK int sy_arrival_init(struct sy_scheduler *scheduler, const struct sy_view *view,
                                  const char *args, size_t size);
void sy_arrival_job_arrived(struct sy_scheduler *scheduler, const struct sy_view *view,
                            uint32_t job);
/* All that it planned, in a rehearsal perhaps, and what it holds. */
void sy_arrival_forget(struct sy_scheduler *scheduler, const struct sy_view *view);
void sy_arrival_task_ready(struct sy_scheduler *scheduler, const struct sy_view *view,
                           uint32_t task);
uint32_t sy_arrival_decide(struct sy_scheduler *scheduler, const struct sy_view *view,
                           struct sy_decision *ret_decisions, uint32_t capacity);
/* How long the task takes there, behind what is planned, with the image it needs. */
double sy_arrival_length_ns(const struct arrival_plan *f, const struct sy_view *view, uint32_t task,
                            uint32_t device);
/* Start on a device; regions take tasks at the end only, so that images change as planned. */
double sy_arrival_slot_ns(const struct arrival_plan *f, const struct sy_view *view, uint32_t device,
                          double ready_ns, double ns, uint32_t *ret_before);

#define PLAN_ON_ARRIVAL(identifier, policy_name, text, start)                                      \
    SY_POLICY(identifier, policy_name, text, start, sy_arrival_job_arrived, sy_arrival_task_ready, \
              sy_arrival_decide, false)

#endif
