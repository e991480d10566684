/* SPDX-License-Identifier: Apache-2.0
 *
 * What late binding knows of the tasks that wait, kept from one decision to the next: for machines
 * of so many memories that to score all pairs anew would cost more than a decision may.
 *
 * In: a task of the window, and when groups of devices are free. Out: where it should run. What
 * moves fast (who is free when, how much it holds) is always as it is now; what moves slowly (how
 * long inputs travel, what sharing does, what the network thinks of the rest) may be some rounds
 * old, but never of a task that is committed. Invariant: nothing is allocated after init.
 */
#ifndef SY_SCHEDULERS_LATE_SCORES_H
#define SY_SCHEDULERS_LATE_SCORES_H

#include "schedulers/learned.h"
#include "schedulers/sharing.h"

#define QUICK_GROUPS 8 /* of devices alike: with more, figures are kept */
#define QUICK_TASKS                                                                                \
    129 /* whose figures can be kept: those of the window, and one that may be taken back */
#define QUICK_LOOK   8 /* what is shared is looked at anew once in so many calls of decide(), */
#define QUICK_STARTS 8 /* or when so many tasks were committed since */
#define QUICK_MADE   6 /* so many tasks may be scored in full for one decision */
#define QUICK_RENEW  2 /* and so many that wait in a call that decides nothing */

struct late;
struct late_choice;

/* Of one task; [group] figures are in arrays of their own. */
struct quick_task {
    uint32_t task;
    uint64_t made;  /* in which call */
    float least_ns; /* its least time */
};

/* Whose slowing was worked out when. */
struct quick_kernel {
    uint64_t look;
    uint32_t kernel;
};

struct quick {
    uint32_t group_count, stride;     /* groups, and a multiple of a vector of them */
    uint32_t *members, *member_start; /* devices of groups, in each by when they are free */
    float *wait_ns;                   /* per group: of its device that is free first */
    uint32_t *slot_of;                /* per task: 1 + where its figures are; 0: nowhere */
    struct quick_task tasks[QUICK_TASKS];
    uint32_t free[QUICK_TASKS], free_count;
    /* [slot * stride + group]: until inputs are there over links as full as they are; alone on
     * their way; execution alone, and what comes on top of it (reconfiguration, history); how
     * much slower than its best class. */
    float *there_ns, *travel_ns, *alone_ns, *more_ns, *slower;
    /* [kernel % LATE_KERNELS * stride + group]: what sharing adds to a time alone, and to those of
     * others. */
    struct quick_kernel *kernels;
    float *slowing, *harm;
    float *device; /* per group: what the network makes of its device that is free first */
    /* per group, of the task looked at: the heuristic's score, the network's, and both */
    float *base_ns, *opinion, *sum_ns;
    /* [from * SY_MEMORY_MAX + to]: of routes, alone and as full as they are. */
    float *latency_ns, *alone_ns_per_byte, *shared_ns_per_byte;
    uint64_t look, call;    /* they are counted */
    uint32_t calls, starts; /* since the look */
    uint32_t made;          /* in this call */
    uint32_t next;          /* of those that wait, to be renewed */
};

/* NULL in *ret_quick where every pair can be scored anew. */
SY_MUST_CHECK int sy_quick_init(struct late *late, const struct sy_view *view,
                                struct quick **ret_quick);
/* Whether what is shared should be looked at in this call. */
bool sy_quick_due(struct quick *quick);
/* It was. */
void sy_quick_looked(struct late *late, const struct sy_view *view);
/* Begins a round: who is free when, what the network makes of groups. */
void sy_quick_round(struct late *late, const struct sy_view *view);
/* The device's turn in its group has changed. */
void sy_quick_booked(struct late *late, const struct sy_view *view, uint32_t device);
/* Where the task should run; scored in full if it never was, or if anew. */
struct late_choice sy_quick_choose(struct late *late, const struct sy_view *view, uint32_t task,
                                   bool anew);
/* It is out of the window. */
void sy_quick_forget(struct quick *quick, uint32_t task);
/* Scores some of those that wait. */
void sy_quick_renew(struct late *late, const struct sy_view *view);

#endif
