/* SPDX-License-Identifier: Apache-2.0
 *
 * training: the offline side of the belief. Worlds drawn from a model, gradients through its
 * posterior, and a reference that is slow and right.
 *
 * In: a model of belief.h. Out: series of true rates with noisy readings; the value and gradient of
 * any function of posterior samples with respect to the model's parameters; draws from the exact
 * posterior. Invariant: the same seed gives the same numbers. Papers: Symphony (ICML'20) section 5;
 * docs/belief.md says what was changed.
 */
#ifndef SY_BELIEF_TRAINING_H
#define SY_BELIEF_TRAINING_H

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
/* -ENOMEM, or -EINVAL where a parameter is not a number; then nothing was changed. */
SY_MUST_CHECK int sy_parameters_write(struct sy_model *model, const double *theta);

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

/* --- network: the papers' form, expressions of Student-t roots; network.c -----------------------
 */
/* v = mean + deviation / sqrt(readings) * t with readings - 1 degrees of freedom (section 4). */
struct sy_root {
    const char *name;
    double mean, deviation;
    uint32_t readings; /* at least 4: below, the variance is infinite */
};
/* A threshold or factor in the expressions. spread > 0: it is drawn around its value with that
 * standard deviation and its slope comes from the score function, so that it may stand in
 * comparisons; 0: by the chain rule. */
struct sy_knob {
    const char *name;
    double value, spread;
};
struct sy_network {
    const struct sy_expr *outputs; /* utilisations */
    uint32_t output_count;
    const char *const *names; /* that the expressions speak of: roots or knobs */
    uint32_t name_count;
    const struct sy_root *roots;
    uint32_t root_count;
    const struct sy_knob *knobs;
    uint32_t knob_count;
    double softness; /* > 0: a < b becomes 1 / (1 + exp((a - b) / softness)); 0: it has no slope */
};
/* Value of one draw of the outputs; adds its derivatives to ret_slopes. */
struct sy_network_loss {
    double (*of)(void *user, const double *outputs, double *ret_slopes);
    void *user;
};
struct sy_network_slopes {
    double value;             /* mean of the loss */
    double *mean, *deviation; /* per root */
    double *knob;
};
/* -ENOENT: a name is neither root nor knob; -EINVAL: an expression or root that cannot be used. */
SY_MUST_CHECK int sy_network_gradient(const struct sy_network *network, uint32_t draw_count,
                                      uint64_t seed, const struct sy_network_loss *loss,
                                      struct sy_network_slopes *ret_slopes);

/* --- reference: draws from the exact posterior; mcmc.c ------------------------------------------
 */
struct sy_mcmc_options {
    uint32_t chains, warmup, draws; /* draws of each chain; 0: 4, 500, 1000 */
    double student_degrees;         /* 0: 4 */
    uint64_t seed;
};
struct sy_mcmc {
    uint32_t dimensions; /* n * steps */
    uint32_t draw_count; /* of all chains together */
    double *draws;       /* ln rates, [draw * dimensions + step * n + variable]; chain by chain */
    double *mean, *sd;   /* per dimension */
    double *r_hat, *effective; /* split R-hat; effective sample size */
    double worst_r_hat, least_effective;
    double accepted; /* share of the proposals */
    struct sy_arena *arena;
};
/* Of all steps jointly: the last n dimensions are what a filter should believe at the end, the
 * others what a smoother would. Before the first step ln rates have prior_mean and
 * prior_covariance; NULL: the model's start values. */
SY_MUST_CHECK int sy_mcmc_run(const struct sy_model *model, const double *prior_mean,
                              const double *prior_covariance, const struct sy_observation *readings,
                              const uint32_t *counts, uint32_t steps,
                              const struct sy_mcmc_options *options, struct sy_mcmc **ret_mcmc);
void sy_mcmc_destroy(struct sy_mcmc *mcmc);

#endif
