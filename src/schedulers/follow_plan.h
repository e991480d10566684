/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows a plan of one job, late; late binding beside it and when the plan is given up.
 */
#ifndef SY_SCHEDULERS_FOLLOW_PLAN_H
#define SY_SCHEDULERS_FOLLOW_PLAN_H

#include "schedulers/late_binding.h"

struct follow {
    struct late late;  /* first: its functions are handed this state */
    struct draft plan; /* what is left of it */
    bool following;
    bool looked;           /* whether the plan knows who waits for whom */
    uint32_t first, count; /* tasks of the job that is planned */
    bool strict;           /* a device waits for its next task rather than take another */
    bool uncertain;        /* tasks have not taken as long as was planned */
    bool *left;            /* per task: it has left its sequence */
    bool *ahead;           /* per task: its inputs are sent ahead */
    uint32_t *ahead_count; /* per device: such tasks in its sequence */
    uint32_t *ahead_last;  /* per device: the last of them */
    bool *listed;          /* per task: in fetch */
    uint32_t *fetch;       /* tasks an input of which may have to travel */
    uint32_t fetch_count;
    double *behind_ns; /* per device: start of its last task against the plan */
    double *free_ns;   /* per device: end of what it holds; of this round */
    uint32_t *held;    /* per device: tasks running, queued or decided */
};

/* A follower in a rehearsal. */
struct shadow {
    struct follow follow;
    const struct draft *plan;    /* begins with it, */
    const struct follow *beside; /* or goes on from where this one is */
    bool strict;
};

/* Allocates state of size bytes that begins with struct follow. */
SY_MUST_CHECK int sy_follow_init(struct sy_scheduler *scheduler, const struct sy_view *view,
                                 const char *args, size_t size, struct late_mode mode);
/* From the beginning of a plan, or from where somebody else stands with one. */
void sy_follow_begin(struct follow *follow, const struct sy_view *view, uint32_t job,
                     const struct draft *plan, bool strict);
void sy_follow_resume(struct follow *follow, const struct sy_view *view, uint32_t job,
                      const struct follow *from, bool strict);
/* What is ready goes to late binding, and what becomes so. */
void sy_follow_stop(struct sy_scheduler *scheduler, const struct sy_view *view);
void sy_follow_task_ready(struct sy_scheduler *scheduler, const struct sy_view *view,
                          uint32_t task);
void sy_follow_task_done(struct sy_scheduler *scheduler, const struct sy_view *view, uint32_t task,
                         uint32_t device, double duration_ns);
uint32_t sy_follow_decide(struct sy_scheduler *scheduler, const struct sy_view *view,
                          struct sy_decision *ret_decisions, uint32_t capacity);
extern const struct sy_scheduler_ops sy_follow_shadow; /* its state is a struct shadow */

#endif
