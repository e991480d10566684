/* SPDX-License-Identifier: Apache-2.0
 *
 * estimate: what the files of the estimator share. One model per (kernel, class).
 *
 * A cell is one point of feature space with the newest times that were measured there; a model has
 * at most SY_ESTIMATOR_SAMPLES of them. The fit is made from the cells when a guess needs it.
 */
#ifndef SY_PLANNER_ESTIMATE_H
#define SY_PLANNER_ESTIMATE_H

#include "planner/pipeline.h"

#define CELLS            SY_ESTIMATOR_SAMPLES
#define AXES             (SY_PIPELINE_COST_MAX + 1) /* logs of costs, then the log of the width */
#define RECENTS          5                          /* times kept of a cell */
#define SY_ESTIMATE_PEAK 1e10 /* flops and bytes per s of a class without a roofline */

struct cell {
    double point[AXES];
    double recent[RECENTS]; /* logs of times, oldest first, as if all were taken at point */
    uint32_t recent_count;
    uint32_t sample_count; /* ever */
    uint64_t stamp;        /* of the newest */
    bool model;            /* of a model, not measured */
    double log_time;       /* what recent says together */
    double scatter;        /* by how much its times disagree beyond noise, as a variance */
    double doubt;          /* variance added because it contradicts all others */
    double watts;          /* of one device, the newest reading; NAN: none */
};

/* Standard deviations in log time, found by leaving one out. */
struct knobs {
    double slope; /* per unit of a cost's log: how much steeper or flatter than the prior */
    double bend;  /* of the smooth deviation */
    double reach; /* how far in feature space the deviation is alike */
    double noise; /* of one sample, in units of what repeated samples show */
};

struct model {
    const char *kernel, *class_name;
    uint32_t cost_count;
    const char *cost_names[SY_PIPELINE_COST_MAX];
    struct cell cells[CELLS];
    uint32_t cell_count;
    uint64_t clock;    /* samples so far */
    uint32_t replaced; /* cells since the knobs were found */
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

struct sy_estimator {
    struct sy_arena *arena;
    struct model **models;
    uint32_t model_count, model_capacity;
    struct sy_roofline rooflines[SY_PLAN_CLASS_MAX * 4];
    uint32_t roofline_count;
    struct bench *bench;
};

/* NULL: the class has none. */
const struct sy_roofline *sy_estimate_roofline(const struct sy_estimator *estimator,
                                               const char *class_name);
/* Log of the time that the roofline (NULL: a made-up one) gives for a point. */
double sy_estimate_prior(const struct sy_roofline *roofline, uint32_t cost_count,
                         const double *point);

/* Takes a sample in. True: the fit no longer holds. */
bool sy_estimate_put(struct model *model, const struct sy_roofline *roofline, const double *point,
                     double log_time, bool modelled);
/* The cell at this point; NULL: there is none. */
struct cell *sy_estimate_find(struct model *model, const double *point);
/* Power of one device: as read at this point, else as read elsewhere. NAN: never read. ret_far: the
 * distance to the nearest reading, in logs of features. */
double sy_estimate_watts(struct model *model, const double *point, double *ret_far);
/* What the times of cells say of the noise of one sample, as a variance. */
double sy_estimate_noise(const struct model *model);

/* Finds the rates, which say more than the roofline far from all samples. */
void sy_estimate_shape(struct model *model, const struct sy_roofline *roofline);
double sy_estimate_expect(const struct model *model, const struct sy_roofline *roofline,
                          const double *point);

void sy_estimate_fit(struct model *model, const struct sy_roofline *roofline, struct bench *bench);
void sy_estimate_predict(const struct model *model, const struct sy_roofline *roofline,
                         const double *point, double *ret_log_time, double *ret_log_sigma);

#endif
