/* SPDX-License-Identifier: Apache-2.0
 *
 * The network that corrects late binding: what it looks at, and what it adds.
 *
 * In: features of a task and a device, all without dimension, so that what was learned on one
 * machine holds on another. Out: something added to the score of the device, in units of the task's
 * least time. Which task comes first is no matter of the network. Invariant: weights that are all 0
 * add nothing.
 */
#ifndef SY_SCHEDULERS_LEARNED_H
#define SY_SCHEDULERS_LEARNED_H

#include "schedulers/policy.h"

#define LEARNED_KIND  "symphony"
#define LEARNED_SHAPE 2u

/* How much slower than the task's best class the device is, its kind, and how many tasks it holds.
 * Each feature has two weights: one as it is, one times how loaded the machine is (0..1). */
enum { LEARNED_SLOWER, LEARNED_CPU, LEARNED_GPU, LEARNED_FPGA, LEARNED_HELD, LEARNED_FEATURES };
#define LEARNED_COUNT (2u * LEARNED_FEATURES)

struct learned {
    const float *block;
    float weights[LEARNED_FEATURES]; /* of this round: load is known */
    double load;                     /* 0 while a job is alone, as all weights */
    float *out_ns;                   /* per task: to carry what it writes to another memory */
};

SY_MUST_CHECK int sy_learned_init(struct learned *learned, const struct policy *policy,
                                  const struct sy_view *view);
void sy_learned_task_ready(struct learned *learned, const struct policy *policy,
                           const struct sy_view *view, uint32_t task);
/* Once before each round of decisions. A job that is alone is left to the heuristic: nothing was
 * gained there. */
void sy_learned_look(struct learned *learned, const struct sy_view *view, uint32_t ready_tasks,
                     uint32_t jobs);
/* Of a task on a class on which it takes that long: 0 on its best, 1 far from it. */
float sy_learned_slower(const struct sy_view *view, uint32_t task, double alone_ns);
/* What the device alone adds, which holds so many tasks. */
float sy_learned_device(const struct learned *learned, enum sy_device_kind kind, uint32_t held);
/* Added to the score of a device, over the task's least time. */
double sy_learned_score(const struct learned *learned, const struct sy_view *view, uint32_t task,
                        uint32_t device, uint32_t held);

#endif
