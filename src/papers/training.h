/* SPDX-License-Identifier: Apache-2.0
 *
 * Training the belief: worlds drawn from a model, and gradients through its posterior.
 *
 * In: a model of belief.h. Out: series of true rates with noisy readings; the value and gradient of
 * any function of posterior samples with respect to the model's parameters. Invariant: the same
 * seed gives the same numbers. Papers: Symphony (ICML'20) section 5; docs/belief.md says what was
 * changed.
 */
#ifndef SY_PAPERS_TRAINING_H
#define SY_PAPERS_TRAINING_H

#include "belief/belief.h"

/* --- generate: a world that the model finds plausible; sample.c ---------------------------------
 */
struct sy_generate_options {
    uint32_t steps;
    double jump_ratio;      /* probability per step that a new phase begins */
    double student_degrees; /* of the readings' errors; 0: 4. INFINITY: Gaussian */
    const uint32_t *slots;  /* per pmu: variables read in one step, in turn; NULL: all */
    uint32_t pmu_count;
};
/* True rates, ret_rates[step * n + variable]: a random walk with the model's covariance, anew from
 * the start values where a phase begins, always near the relations (within their widths). Readings
 * of the variables that a counter measures: ret_counts[step] of them, one step after another in
 * ret_readings (room for steps * n). */
SY_MUST_CHECK int sy_model_generate(const struct sy_model *model,
                                    const struct sy_generate_options *options, struct sy_rng *rng,
                                    double *ret_rates, struct sy_observation *ret_readings,
                                    uint32_t *ret_counts);

/* --- parameters: what can be learned of a model, as one vector, kind after kind -----------------
 */
enum sy_parameter {
    SY_PARAMETER_WIDTH,       /* ln width of each relation */
    SY_PARAMETER_CONSTANT,    /* of each relation */
    SY_PARAMETER_COEFFICIENT, /* of each term */
    SY_PARAMETER_NOISE,       /* ln noise_ratio of each variable */
    SY_PARAMETER_CAPACITY,    /* ln capacity */
    SY_PARAMETER_START,       /* start_log */
    SY_PARAMETER_START_SD,    /* ln start_sd */
    SY_PARAMETER_DRIFT,       /* ln standard deviation of the change in one step */
    SY_PARAMETER_KINDS,
};
/* Index of a kind's first; SY_PARAMETER_KINDS: how many there are in all. */
uint32_t sy_parameter_first(const struct sy_model *model, enum sy_parameter kind);
void sy_parameters_read(const struct sy_model *model, double *ret_theta);

/* --- gradient: through the posterior, pathwise; gradient.c --------------------------------------
 */
/* Draws from the posterior after one step, [sample * n + variable]. */
struct sy_draws {
    uint32_t step, count, n;
    const double *rates;
    const double *utilisations; /* rate / capacity, smoothly clipped to [0,1]; 0: no capacity */
    double *rate_slopes;        /* the loss adds its derivatives here */
    double *utilisation_slopes;
};
/* Value of one step's draws. The sum over steps is what is differentiated. */
struct sy_loss {
    double (*of)(void *user, struct sy_draws *draws);
    void *user;
};
struct sy_gradient_options {
    uint32_t draw_count;    /* 0: 32 */
    double student_degrees; /* 0: 4 */
    uint64_t seed;          /* of the draws' roots, which do not depend on the parameters */
};
/* The value and its exact derivative (of this very sum over these draws) with respect to all
 * parameters. Each step: drift, then the maximum of the posterior given the readings (counts[step]
 * of them) and relations, and the Gaussian around it that the filter would have there; draws from
 * it; on to the next step. -EDOM: a maximum was not found. ret_gradient NULL: the value only. */
SY_MUST_CHECK int sy_gradient(const struct sy_model *model, const double *theta,
                              const struct sy_observation *readings, const uint32_t *counts,
                              uint32_t steps, const struct sy_gradient_options *options,
                              const struct sy_loss *loss, double *ret_value, double *ret_gradient);

#endif
