/* SPDX-License-Identifier: Apache-2.0
 *
 * Several plans of one job, drafted when it arrives; the shortest is kept.
 *
 * In: struct sy_view and a job. Out: per task a device and a start, per device a sequence. Never
 * knows: who follows the plan. Invariant: nothing is allocated after init.
 */
#ifndef SY_SCHEDULERS_PLAN_PORTFOLIO_H
#define SY_SCHEDULERS_PLAN_PORTFOLIO_H

#include "schedulers/policy.h"

/* What a device holds in the rehearsal of dmdas. */
struct rehearsed {
    uint32_t queue;   /* of waiting tasks */
    uint32_t running; /* SY_NONE: idle */
    double free_ns;   /* end of what it runs */
    double queued_ns;
};

/* A local search over orders and groups of devices; plan_improve.c. */
struct search {
    uint32_t *order, *position; /* the state: tasks in turn, and where each stands */
    uint32_t *group;            /* likewise, per task: of devices */
    uint32_t *device, *cause;   /* per task, planned: where, and the task that it waited for */
    double *end_ns;
    uint32_t *kept_device, *kept_cause; /* the same of the state, to go back to */
    double *kept_end_ns;
    double *tail_ns;       /* per task: the least that must follow it */
    double *free_ns;       /* per device */
    const double *base_ns; /* per device: free for the plan */
    uint32_t *last;        /* per device: planned last */
    uint32_t *group_first, *group_devices, *group_of, group_count;
    uint32_t *chain, chain_count; /* tasks that the makespan waits for */
    uint32_t count, changed;
    double state_ns;
    int64_t steps_left;
    struct sy_rng rng;
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
    struct sy_queues queues; /* of devices, in the rehearsal of dmdas */
    struct rehearsed *devices;
    struct search search;
    double *offer_start_ns; /* per task */
    uint32_t drafts;        /* that the plan was chosen from */
    bool vast;              /* many tasks on many devices: planned in a hurry */
};

/* [task * class_count + class] to plan a job with: the view's own, or ret_time_ns. ret_best_ns: per
 * class, what it has to do if all go where they are fastest. */
const double *sy_plan_times(const struct sy_view *view, uint32_t job, double *ret_best_ns,
                            double *ret_time_ns);
/* How far the times of its tasks are known to spread, at most: a standard deviation of logarithms.
 */
double sy_plan_spread(const struct sy_view *view, uint32_t job);
/* At most so much sooner does the job end under any placement than if one device did all of it;
 * INFINITY: there is no class of one device that could, or too many data to tell. */
struct plan_room {             /* anything may be in it */
    double *head_ns, *tail_ns; /* per task */
    uint32_t *first_reader;    /* per datum */
    uint32_t data_capacity;
};
/* *ret_alone_ns: when that would be. */
double sy_plan_gain_ns(const struct sy_view *view, uint32_t job, struct plan_room room,
                       double *ret_alone_ns);
SY_MUST_CHECK int sy_portfolio_init(struct portfolio *portfolio, const struct policy *base,
                                    const struct sy_view *view);
/* How many drafts a job gets. */
uint32_t sy_portfolio_drafts(const struct sy_view *view, uint32_t job);
/* Fills best: the shortest of the drafts. */
void sy_portfolio_plan(struct portfolio *portfolio, const struct sy_view *view, uint32_t job);
/* Another plan, somebody else's: kept if it is shorter. */
void sy_portfolio_offer(struct portfolio *portfolio, const struct sy_view *view, uint32_t job,
                        const uint32_t *device, const double *start_ns, const double *end_ns);
/* Searches for a shorter plan near the best; steps: tasks planned anew. */
void sy_portfolio_improve(struct portfolio *portfolio, const struct sy_view *view, uint32_t job,
                          uint64_t seed, double steps);
SY_MUST_CHECK int sy_search_init(struct search *search, struct sy_arena *arena,
                                 const struct sy_view *view);

#endif
