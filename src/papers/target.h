/* SPDX-License-Identifier: Apache-2.0
 *
 * target: the exact posterior of the model over ln rates, as an energy U = -ln density.
 *
 *   U(x) = (x-m)' A (x-m) / 2  +  sum over readings rho((y - x_i) / s)
 *                              +  sum over relations rho((r(x) - shift) / w)
 * with rho the negative logarithm of a Student-t density, r = ln(left side) - ln(right side) with
 * every negative term moved to the other side, and only r > 0 counted where the relation is "at
 * most". It is what the filter approximates, without its rejection of relations and its limits.
 * Several steps may be stacked: x then holds all of them, one after another.
 */
#ifndef SY_PAPERS_TARGET_H
#define SY_PAPERS_TARGET_H

#include "papers/training.h"

/* A reading, ready for use. */
struct sy_seen {
    uint32_t dimension, variable;
    double target; /* ln(rate + offset) */
    double ratio;  /* rate / (rate + offset): how much of a relative error is left in the log */
    double noise_ratio; /* 0: the variable's parameter */
};

/* A relation at some x; arrays of count members: its terms, then its out. */
struct sy_relation_at {
    uint32_t count, *variable; /* of the model, not of the stack */
    double *gradient;          /* d r / d x */
    double *growth;            /* e^x / its side: d r / d coefficient, but for the offset's part */
    bool *left;                /* side on which it stands */
    bool constant_left;
    double constant_slope; /* d r / d constant */
    double residual;
};

struct sy_target {
    const struct sy_model *model;
    const double *theta; /* parameters, see training.h */
    uint32_t n, steps;   /* variables of one step; x has n * steps */
    const double *mean, *precision;
    const struct sy_seen *seen;
    uint32_t seen_count;
    double degrees;
    const double *shift; /* per step and relation; NULL: 0 */
    struct sy_relation_at at;
    double *trial, *slope, *matrix, *other; /* scratch of the search for the mode */
};

/* rho and its first two derivatives; weight = rho' / z, and its slope. */
struct sy_rho {
    double value, first, second, weight, weight_slope;
};
struct sy_rho sy_rho_at(double degrees, double z);

/* Covariance of the change of ln rates in one step, floored a little; from the parameters. */
void sy_drift_covariance(const struct sy_model *model, const double *theta, double *ret_q);
/* False: not usable. */
bool sy_seen_of(const struct sy_model *model, const struct sy_observation *observation,
                struct sy_seen *ret_seen);
/* In the log; ret_slope unless NULL: with respect to the parameter ln noise. */
double sy_seen_sd(const struct sy_target *target, const struct sy_seen *seen, double *ret_slope);

/* Scratch comes from the arena. */
SY_MUST_CHECK int sy_target_prepare(struct sy_target *target, struct sy_arena *arena);
/* False: it says nothing (one side is empty). */
bool sy_target_relation(struct sy_target *target, uint32_t factor, const double *x);
/* z of a relation: one-sided ones give 0 where they hold. */
double sy_target_relation_z(const struct sy_target *target, uint32_t step, uint32_t factor);
/* U and, unless NULL, its gradient. */
double sy_target_energy(struct sy_target *target, const double *x, double *ret_gradient);
/* exact: the Hessian of U. Else the precision that the filter would have: prior + sum of
 * weight * gradient gradient' / variance, always positive definite. */
void sy_target_curvature(struct sy_target *target, const double *x, bool exact, double *ret_matrix);
/* The nearest minimum of U from x, in place. -EDOM: did not converge. */
SY_MUST_CHECK int sy_target_mode(struct sy_target *target, double *x);

#endif
