/* SPDX-License-Identifier: Apache-2.0
 *
 * Several plans of one job, drafted when it arrives; the shortest is kept.
 *
 * In: struct sy_view and a job. Out: per task a device and a start, per device a sequence. Never
 * knows: who follows the plan. Invariant: nothing is allocated after init.
 */
#ifndef SY_SCHEDULERS_PORTFOLIO_H
#define SY_SCHEDULERS_PORTFOLIO_H

#include "schedulers/policy.h"

/* What a device holds in the rehearsal of dmdas. */
struct rehearsed {
    uint32_t queue;   /* root of its heap of waiting tasks */
    uint32_t running; /* SY_NONE: idle */
    double free_ns;   /* end of what it runs */
    double queued_ns;
};

struct portfolio {
    struct policy plain;      /* planning goes by key alone, whatever the job order */
    struct draft best, trial; /* the plan, and the one being tried */
    struct pool open;         /* plannable tasks, by key */
    uint32_t *unplanned;      /* per task: predecessors without a place */
    double *key;              /* per task, of the trial */
    double *price;            /* per class: what a device's time is worth, of the makespan */
    double *trial_price, *load_ns;
    double weight;   /* of the price in the trial */
    double locality; /* weight of the time that inputs travel */
    uint64_t *sent;  /* per task: memories that its output goes to */
    uint32_t *line;  /* the trial's tasks, in the order they were placed */
    uint32_t line_count;
    double *there_ns;  /* [task * memory_count + memory] when its output is there; 0: never sent */
    double *link_ns;   /* per resource: free again */
    double *device_ns; /* per device, likewise */
    uint32_t *child, *sibling, *sequence;
    struct rehearsed *devices;
};

SY_MUST_CHECK int sy_portfolio_init(struct portfolio *portfolio, const struct policy *base,
                                    const struct sy_view *view);
/* Fills best: the shortest of the drafts. */
void sy_portfolio_plan(struct portfolio *portfolio, const struct sy_view *view, uint32_t job);

#endif
