/* SPDX-License-Identifier: Apache-2.0
 *
 * replan: what the files of the replanner share. A kind of input is a place in feature space that
 * has a plan of its own; the newest KINDS are remembered.
 */
#ifndef SY_PLANNER_REPLAN_H
#define SY_PLANNER_REPLAN_H

#include "planner/pipeline.h"

#define KINDS      16
#define SHAPE_ROOM (SY_PLAN_CLASS_MAX * SY_PLAN_DEVICE_MAX)

struct kind {
    double *values;  /* the plan was made for; per feature */
    double *numbers; /* of all expressions there */
    uint64_t *heard; /* bits [kernel * SHAPE_ROOM + shape]: measured on this kind of input */
    uint64_t stamp;  /* item it was last asked for; 0: not in use */
    struct sy_arena *arena;
    struct sy_plan_problem problem; /* by medians, as last believed */
    const struct sy_estimate *estimates;
    struct sy_plan plan; /* to follow now */
    struct sy_plan home; /* the best by medians, while another is tried */
    bool probing;
    uint32_t tried;     /* plans, the first included */
    uint32_t waited;    /* items since the plan was given and not all of it was heard of */
    double gain_ratio;  /* to leave home when probing ends */
    bool contradicted;  /* what ran is not what was believed */
    uint32_t patience;  /* items before that is looked at */
    uint32_t fruitless; /* times it was looked at in vain */
    double value;       /* of home, as last believed */
    bool proven;        /* all of home had been heard of then */
};

struct sy_replanner {
    const struct sy_pipeline *pipeline;
    struct sy_system system;
    struct sy_store *store;
    struct sy_replan_options options;
    struct sy_arena *arena;
    struct sy_planner *planner;
    struct kind kinds[KINDS];
    struct kind *current; /* NULL: before the first item */
    struct sy_plan last;  /* given */
    uint64_t item;
    double *numbers;       /* of an item that is learned from */
    double surprise;       /* squares of errors in sigmas, of what was measured first ... */
    double surprise_count; /* ... so many times */
    double pace[1u << SY_PLAN_CLASS_MAX]; /* log of measured / promised, by the set of classes */
    uint32_t paced;                       /* bit set of these sets: measured */
    double *time_ns, *joules;             /* of an optimistic problem */
    uint32_t room;                        /* of these two */
};

/* The kind that values belong to: the current one where it may be; NULL: they are new. */
struct kind *sy_replan_find(struct sy_replanner *replanner, const double *values);
/* One to be made anew: the one not asked for longest. */
struct kind *sy_replan_claim(struct sy_replanner *replanner, const double *values);

/* The problem of a kind as it is believed now. */
SY_MUST_CHECK int sy_replan_refresh(struct sy_replanner *replanner, struct kind *kind,
                                    struct sy_error *error);
/* What a plan gives in the problem of a kind; INFINITY: not within the bounds. */
double sy_replan_value(const struct sy_replanner *replanner, const struct kind *kind,
                       struct sy_plan *plan);
/* The same of a plan whose outcome is known, corrected by what came of such plans. */
double sy_replan_promise(const struct sy_replanner *replanner,
                         const struct sy_plan_problem *problem, const struct sy_plan *plan);
/* sy_plan_solve, by what plans really give as far as that is known. */
SY_MUST_CHECK int sy_replan_solve(struct sy_replanner *replanner,
                                  const struct sy_plan_problem *problem, struct sy_plan *ret_plan,
                                  struct sy_error *error);
bool sy_replan_same(const struct sy_plan *a, const struct sy_plan *b);
/* True if kernels of the plan ran nowhere as it says, on this kind of input; unsure: only those
 * whose time is not known well. */
bool sy_replan_unheard(const struct kind *kind, const struct sy_plan *plan, bool unsure);

/* First plan, next probe or the end of probing, a look at a contradiction. */
SY_MUST_CHECK int sy_replan_begin(struct sy_replanner *replanner, struct kind *kind,
                                  struct sy_error *error);
SY_MUST_CHECK int sy_replan_probe(struct sy_replanner *replanner, struct kind *kind,
                                  struct sy_error *error);
SY_MUST_CHECK int sy_replan_reconsider(struct sy_replanner *replanner, struct kind *kind,
                                       struct sy_error *error);

#endif
