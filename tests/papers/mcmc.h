/* SPDX-License-Identifier: Apache-2.0
 *
 * A reference that is slow and right: draws from the exact posterior.
 */
#ifndef SY_TESTS_PAPERS_MCMC_H
#define SY_TESTS_PAPERS_MCMC_H

#include "papers/training.h"

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
