/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside cost: a Gaussian process over a group of costs, its model. Cell i of the model is what it
 * has learned of cell i of the group.
 *
 * In: the newest times of each cell. Out: a time with its spread at any point. The fit is made when
 * a guess needs it; before the first question nothing is learned at all.
 */
#ifndef SY_COST_ESTIMATE_H
#define SY_COST_ESTIMATE_H

#include "cost/cost.h"

#define CELLS            64                   /* of a group of costs: more are given up */
#define AXES             (SY_FEATURE_MAX + 1) /* logs of costs, then the log of the width */
#define RECENTS          5                    /* times of a cell that count */
#define SY_ESTIMATE_PEAK 1e10 /* flops and bytes per s of a class without a roofline */
#define SY_ROOFLINE_MAX  32

struct cell {
    double point[AXES];     /* set with the group's cell; the rest when the model learns */
    double recent[RECENTS]; /* logs of times, oldest first */
    uint32_t recent_count;
    double log_time; /* what recent says together */
    double scatter;  /* by how much its times disagree beyond noise, as a variance */
    double doubt;    /* variance added because it contradicts all others */
};

/* Standard deviations in log time, found by leaving one out. */
struct knobs {
    double slope; /* per unit of a cost's log: how much steeper or flatter than the prior */
    double bend;  /* of the smooth deviation */
    double reach; /* how far in feature space the deviation is alike */
    double noise; /* of one sample, in units of what repeated samples show */
};

struct model {
    uint32_t cost_count;
    struct cell cells[CELLS];
    bool asked;          /* once; from then on it learns as samples come */
    uint32_t cell_count; /* that it has learned */
    uint32_t replaced;   /* cells since the knobs were found */
    /* How wrong guesses at new points were, told before they were measured: mean square in sigmas.
     * Leaving one out asks between points; the next one often lies beyond them. */
    double surprise;
    uint32_t surprise_count;

    /* The fit. */
    bool stale;
    uint32_t tuned_count; /* cells when the knobs were found; 0: never */
    struct knobs knobs;
    bool shaped;        /* rates are known */
    double rates[AXES]; /* ns per unit of each cost on one device; the last: ns whatever they are */
    double centre[AXES];
    double offset;                 /* median of log time - what rates or the roofline expect */
    double distance;               /* the same, to the roofline */
    double inverse[CELLS * CELLS]; /* of the Cholesky factor, [column * CELLS + row] */
    double weights[CELLS];         /* of the cells' covariances in a mean */
};

/* Room for a fit; one at a time. */
struct bench {
    double covariance[CELLS * CELLS], matrix[CELLS * CELLS]; /* [column * CELLS + row] */
    double inverse[CELLS * CELLS];
    double target[CELLS], weights[CELLS], nugget[CELLS];
    double residual[CELLS], variance[CELLS]; /* of each cell, left out */
};

/* Log of the time that the roofline (NULL: a made-up one) gives for a point. */
double sy_estimate_prior(const struct sy_roofline *roofline, uint32_t cost_count,
                         const double *point);

/* --- cells --------------------------------------------------------------------------------------
 */
struct sy_group;
struct sy_store;
/* Index of the group's cell there; SY_NONE: there is none. */
uint32_t sy_estimate_find(const struct sy_group *group, const double *point);
/* Of a full group, the one that says least that others do not. */
uint32_t sy_estimate_least_useful(const struct sy_group *group);
/* The next time of a cell. */
void sy_estimate_learn(struct model *model, uint32_t cell, double log_time);
/* What the times of cells say of the noise of one sample, as a variance. */
double sy_estimate_noise(const struct model *model);
/* Power of one device: as read at this point, else as read elsewhere. NAN: never read. ret_far: the
 * distance to the nearest reading, in logs of features. */
double sy_estimate_watts(const struct sy_group *group, const double *point, double *ret_far);

/* --- the fit ------------------------------------------------------------------------------------
 */
/* Finds the rates, which say more than the roofline far from all samples. */
void sy_estimate_shape(struct model *model, const struct sy_roofline *roofline);
double sy_estimate_expect(const struct model *model, const struct sy_roofline *roofline,
                          const double *point);
void sy_estimate_fit(struct model *model, const struct sy_roofline *roofline, struct bench *bench);
void sy_estimate_predict(const struct model *model, const struct sy_roofline *roofline,
                         const double *point, double *ret_log_time, double *ret_log_sigma);

/* --- a group, whole: estimate.c -----------------------------------------------------------------
 */
/* A sample of costs: where it is put, and what the model makes of it. */
SY_MUST_CHECK int sy_group_observe(struct sy_store *store, struct sy_group *group,
                                   const struct sy_cost_sample *sample, uint64_t build, bool saved);
/* Nothing is known of it. */
void sy_group_reset(struct sy_group *group);

#endif
