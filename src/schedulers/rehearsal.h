/* SPDX-License-Identifier: Apache-2.0
 *
 * A small world inside a policy: one job from where it stands now to its end under another policy,
 * with given task times. What would happen, asked before it does.
 *
 * In: the real view, a job that has the machine for itself, a policy, a factor per task. Out: when
 * the job ends, and where and when each task ran (world.task_device, begin_ns, end_ns). It is the
 * simulator's world (world/world.h) without noise, counters and a trace. Never knows: the truth.
 * Invariant: nothing is allocated after init.
 */
#ifndef SY_SCHEDULERS_REHEARSAL_H
#define SY_SCHEDULERS_REHEARSAL_H

#include "schedulers/policy.h"
#include "world/world.h"

struct rehearsal {
    struct sy_world world;
    uint32_t data_capacity, access_capacity;
    const double *factor;                  /* per task: true over estimated time; NULL: 1 */
    const double *committed, *promised_ns; /* per task: of decisions already made; NULL: none */
    uint32_t task_limit; /* it is left when so many have ended; 0: at the job's end */
    bool failed;
};

/* Allocates for view's capacities. */
SY_MUST_CHECK int sy_rehearsal_init(struct rehearsal *rehearsal, struct sy_arena *arena,
                                    const struct sy_view *view);
void sy_rehearsal_finish(struct rehearsal *rehearsal);
/* Whether this job can be rehearsed from here: it is alone on the machine, but for jobs of one task
 * that runs, and not too large. */
bool sy_rehearsal_fits(const struct rehearsal *rehearsal, const struct sy_view *view, uint32_t job);
/* When the job would end. INFINITY: the policy stopped short, and nothing is rehearsed again. */
double sy_rehearsal_run(struct rehearsal *rehearsal, const struct sy_view *view, uint32_t job,
                        struct sy_scheduler *policy);
/* Of what was just rehearsed in part: the least times of all tasks over those of what has ended, */
double sy_rehearsal_whole_over_ended(const struct rehearsal *rehearsal, const struct sy_view *view,
                                     uint32_t job);
/* and when a plan ends if all of it is as late as that. */
double sy_rehearsal_as_late_ns(const struct rehearsal *rehearsal, const struct sy_view *view,
                               uint32_t job, const double *planned_end_ns);

#endif
