/* SPDX-License-Identifier: Apache-2.0
 *
 * The network that corrects late binding: what it looks at, and what it adds.
 *
 * In: features of a task, its job and a device, all without dimension, so that what was learned on
 * one machine holds on another. Out: something added to a task's priority, and to the score of a
 * device, in units of the task's least time. Invariant: weights that are all 0 add nothing to
 * scores, and to priorities what keeps the order of ranks within a job.
 */
#ifndef SY_SCHEDULERS_LEARNED_H
#define SY_SCHEDULERS_LEARNED_H

#include "schedulers/policy.h"

#define LEARNED_KIND  "symphony"
#define LEARNED_SHAPE 1u
#define LEARNED_FAR   8.0 /* times the task's least time: beyond, more is no worse */

/* Each feature has three weights: one as it is, one times how loaded the machine is (0..1), one
 * times how alone the job is (1: it is the only one, 1/2: there are two ...). */
enum { LEARNED_TASK = 7, LEARNED_JOB = 6, LEARNED_PAIR = 23 };
#define LEARNED_FEATURES ((uint32_t)LEARNED_TASK + LEARNED_JOB + LEARNED_PAIR)
#define LEARNED_COUNT    (3 * LEARNED_FEATURES)

/* What late binding has worked out for a task on a device. */
struct learned_terms {
    double exec_ns; /* with reconfiguration and slowdown */
    double alone_ns, travel_ns, wait_ns;
    double slowdown, harm_ns;
    uint32_t held;
};

struct learned {
    const float *block;
    float weights[LEARNED_FEATURES]; /* of this round: load is known */
    double load, alone;
    float *task_sum; /* per task: what its own features add, plain, and what load and alone scale */
    float *task_loaded, *task_alone;
    float *out_ns;        /* per task: to carry what it writes to another memory */
    uint8_t *wanted_kind; /* per task: of device, by its successor of highest rank */
    float *job_rank, *job_work, *job_size; /* per job: longest rank, work in all, mean task */
    float *job_term, *job_short;           /* per job, of this round */
    uint64_t *job_round;
    uint64_t round;
    double mean_left_ns, mean_alone_ns;    /* over the jobs present */
    uint32_t *kernel_ready;                /* per kernel: ready tasks */
    double *efficiency_sum;                /* per class, over ready tasks: least time / time */
    uint32_t *class_ready;                 /* per class: ready tasks that it could run */
    float *memory_use, *link_use, *use_sd; /* per device: believed, 0..1 */
    uint32_t *jobs, present;               /* that have arrived and not left */
    uint32_t ready_count;
    bool blind; /* does not look at the belief */
};

SY_MUST_CHECK int sy_learned_init(struct learned *learned, const struct policy *policy,
                                  const struct sy_view *view);
void sy_learned_job_arrived(struct learned *learned, const struct policy *policy,
                            const struct sy_view *view, uint32_t job);
void sy_learned_job_left(struct learned *learned, uint32_t job);
void sy_learned_task_ready(struct learned *learned, const struct policy *policy,
                           const struct sy_view *view, uint32_t task);
void sy_learned_task_taken(struct learned *learned, const struct sy_view *view, uint32_t task);
/* Once before each round of decisions; at what is believed of shared resources only if told so. */
void sy_learned_look(struct learned *learned, const struct sy_view *view, bool belief);
/* Added to a priority, whose unit is the logarithm of a job's work. */
double sy_learned_priority(struct learned *learned, const struct policy *policy,
                           const struct sy_view *view, uint32_t task);
/* Added to the score of a device, over the task's least time. */
double sy_learned_score(const struct learned *learned, const struct policy *policy,
                        const struct sy_view *view, uint32_t task, uint32_t device,
                        const struct learned_terms *terms);

/* --- the same score in parts, of which only the second kind changes while a task waits ---------
 * score = sum + load * loaded + alone * lonely + slow * (group's slow + task's slow) + group's more
 *       + task's wait * least(wait for the device in least times, LEARNED_FAR)
 *       + task's held * tasks that the device holds
 *       + slowed * time lost by sharing + harm * time that others lose, in least times likewise */
struct learned_parts {
    float sum, loaded, lonely, slow;
};
struct learned_group { /* of devices */
    float slow, more;
};
struct learned_slopes { /* of a task */
    float slow, wait, held, slowed, harm;
};
void sy_learned_parts(const struct learned *learned, const struct policy *policy,
                      const struct sy_view *view, uint32_t task, uint32_t device,
                      const struct learned_terms *terms, struct learned_parts *ret_parts);
struct learned_group sy_learned_group(const struct learned *learned, const struct sy_view *view,
                                      uint32_t device);
/* critical: its rank over the longest of its job. */
struct learned_slopes sy_learned_slopes(const struct learned *learned, uint32_t job,
                                        float critical);

#endif
