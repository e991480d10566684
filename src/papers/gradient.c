/* SPDX-License-Identifier: Apache-2.0
 *
 * The pathwise gradient: reverse mode, by hand, through the posterior's draws.
 *
 * Forward, per step: prior N(m, P); mode x of the energy U (target.h); precision A at x as the
 * filter has it; A = L L'; draws x + L'^-1 z with roots z that are fixed. Then m <- x, P <- A^-1 +
 * Q. Backward: draws -> x and L -> A -> x and parameters; then x itself: U'(x; theta) = 0 defines
 * it, so dx = -H^-1 dU' with the exact Hessian H (implicit differentiation: nothing is unrolled,
 * and how the mode was found does not matter); then the prior, which is the step before. Finite
 * differences of sy_gradient's value agree with it, except across the corner where an "at most"
 * relation begins to bind (there U'' jumps).
 */
#include "papers/dense.h"
#include "papers/target.h"
#include <errno.h>
#include <math.h>
#include <string.h>

static const double CLIP_WIDTH = 0.02; /* in utilisation: how soft the ends of [0,1] are */
#define ROOTS_PURPOSE 0x726f6f74u      /* "root" */

struct step {
    double *mean, *inverse; /* of the prior: m, P^-1 */
    double *mode, *upper;   /* x, U */
    double *rates, *utilisations, *rate_slopes, *utilisation_slopes;
    double *away; /* L'^-1 z of each draw */
    struct sy_seen *seen;
    uint32_t seen_count;
};

struct tape {
    const struct sy_model *model;
    const double *theta;
    double *gradient;
    uint32_t n, draw_count, step_count;
    uint64_t seed;
    struct sy_arena *arena;
    struct sy_target target;
    double *q; /* drift covariance of one step */
    struct step *steps;
    /* backward: slopes of the value with respect to x, A, m, P, and scratch */
    double *x_slope, *a_slope, *m_slope, *p_slope, *q_slope, *scratch, *covariance, *vector, *other;
};

static double *numbers(struct tape *tape, size_t count) {
    return sy_arena_alloc(tape->arena, count + 1, sizeof(double));
}

static double *slope_of(struct tape *tape, enum sy_parameter kind) {
    return tape->gradient + sy_parameter_first(tape->model, kind);
}

static const double *value_of(const struct tape *tape, enum sy_parameter kind) {
    return tape->theta + sy_parameter_first(tape->model, kind);
}

/* --- forward ------------------------------------------------------------------------------------
 */
static bool step_alloc(struct tape *tape, struct step *step) {
    size_t n = tape->n, draws = n * tape->draw_count;
    double **const fields[] = {
        &step->mean,  &step->mode,         &step->inverse,     &step->upper,
        &step->rates, &step->utilisations, &step->rate_slopes, &step->utilisation_slopes,
        &step->away};
    const size_t sizes[] = {n, n, n * n, n * n, draws, draws, draws, draws, draws};
    bool have = true;
    for (uint32_t i = 0; i < SY_COUNT(fields); i++) {
        *fields[i] = numbers(tape, sizes[i]);
        have = have && *fields[i];
    }
    return have;
}

static bool take_readings(struct tape *tape, struct step *step,
                          const struct sy_observation *readings, uint32_t count) {
    step->seen = sy_arena_alloc(tape->arena, count + 1, sizeof *step->seen);
    for (uint32_t i = 0; step->seen && i < count; i++) {
        step->seen_count += sy_seen_of(tape->model, &readings[i], &step->seen[step->seen_count]);
    }
    return step->seen;
}

/* The prior of a step: the start values, or the posterior before; in either case plus drift. */
static bool predict(struct tape *tape, struct step *step, const struct step *before) {
    uint32_t n = tape->n;
    double *p = tape->scratch;
    if (before) {
        sy_dense_inverse(before->upper, n, p);
        memcpy(step->mean, before->mode, sizeof *p * n);
    } else {
        memset(p, 0, sizeof *p * n * n);
        memcpy(step->mean, value_of(tape, SY_PARAMETER_START), sizeof *p * n);
        for (uint32_t i = 0; i < n; i++) {
            p[(size_t)i * n + i] = exp(2 * value_of(tape, SY_PARAMETER_START_SD)[i]);
        }
    }
    for (size_t i = 0; i < (size_t)n * n; i++) {
        p[i] += tape->q[i];
    }
    if (!sy_cholesky(p, n, n, NULL)) {
        return false;
    }
    sy_dense_inverse(p, n, step->inverse);
    return true;
}

static void aim(struct tape *tape, struct step *step) {
    tape->target.mean = step->mean;
    tape->target.precision = step->inverse;
    tape->target.seen = step->seen;
    tape->target.seen_count = step->seen_count;
}

static double soft_plus(double x) {
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double logistic(double x) {
    return x > 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

/* x between 0 and 1, smoothly bent to those beyond; and its slope. */
static double clip(double x, double *ret_slope) {
    double low = x / CLIP_WIDTH, high = (x - 1) / CLIP_WIDTH;
    *ret_slope = logistic(low) - logistic(high);
    return CLIP_WIDTH * (soft_plus(low) - soft_plus(high));
}

static void draw(struct tape *tape, uint32_t index) {
    struct step *step = &tape->steps[index];
    uint32_t n = tape->n;
    const double *log_capacity = value_of(tape, SY_PARAMETER_CAPACITY);
    struct sy_rng rng = sy_rng_make(tape->seed, ROOTS_PURPOSE, index);
    for (uint32_t s = 0; s < tape->draw_count; s++) {
        double *away = &step->away[(size_t)s * n], unused;
        for (uint32_t i = 0; i < n; i++) {
            away[i] = sy_rng_normal(&rng);
        }
        sy_solve_backward(step->upper, n, n, away);
        for (uint32_t i = 0; i < n; i++) {
            double rate = exp(step->mode[i] + away[i]) - tape->model->variables[i].offset;
            step->rates[(size_t)s * n + i] = rate;
            step->utilisations[(size_t)s * n + i] =
                isfinite(log_capacity[i]) ? clip(rate * exp(-log_capacity[i]), &unused) : 0;
        }
    }
}

static int forward(struct tape *tape, const struct sy_loss *loss, double *ret_value) {
    double value = 0;
    for (uint32_t t = 0; t < tape->step_count; t++) {
        struct step *step = &tape->steps[t];
        if (!predict(tape, step, t ? step - 1 : NULL)) {
            return -EDOM;
        }
        aim(tape, step);
        memcpy(step->mode, step->mean, sizeof *step->mode * tape->n);
        int code = sy_target_mode(&tape->target, step->mode);
        if (code) {
            return code;
        }
        sy_target_curvature(&tape->target, step->mode, false, step->upper);
        if (!sy_cholesky(step->upper, tape->n, tape->n, NULL)) {
            return -EDOM;
        }
        draw(tape, t);
        struct sy_draws draws = {t,
                                 tape->draw_count,
                                 tape->n,
                                 step->rates,
                                 step->utilisations,
                                 step->rate_slopes,
                                 step->utilisation_slopes};
        value += loss->of(loss->user, &draws);
    }
    *ret_value = value;
    return 0;
}

/* --- backward -----------------------------------------------------------------------------------
 */
/* Draws -> x and A. draw = x + u, L' u = z: the slope of L is minus the lower part of u v', with
 * v = L^-1 times the slope of u. Adds to x_slope and a_slope. */
static void reverse_draws(struct tape *tape, struct step *step) {
    uint32_t n = tape->n;
    double *l_slope = tape->scratch, *v = tape->vector;
    memset(l_slope, 0, sizeof *l_slope * n * n);
    for (uint32_t s = 0; s < tape->draw_count; s++) {
        const double *away = &step->away[(size_t)s * n];
        for (uint32_t i = 0; i < n; i++) {
            size_t at = (size_t)s * n + i;
            double log_capacity = value_of(tape, SY_PARAMETER_CAPACITY)[i], slope;
            double whole = exp(step->mode[i] + away[i]);
            v[i] = step->rate_slopes[at] * whole;
            if (isfinite(log_capacity)) {
                double ratio = step->rates[at] * exp(-log_capacity);
                clip(ratio, &slope);
                slope *= step->utilisation_slopes[at];
                v[i] += slope * whole * exp(-log_capacity);
                slope_of(tape, SY_PARAMETER_CAPACITY)[i] -= slope * ratio;
            }
            tape->x_slope[i] += v[i];
        }
        sy_solve_forward(step->upper, n, n, v);
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t j = 0; j <= i; j++) {
                l_slope[(size_t)i * n + j] -= away[i] * v[j];
            }
        }
    }
    sy_dense_cholesky_reverse(step->upper, n, l_slope, tape->p_slope);
    for (size_t i = 0; i < (size_t)n * n; i++) {
        tape->a_slope[i] += tape->p_slope[i];
    }
}

/* A -> x and noise, through a reading's part weight(z) / sd^2 of A, z = (y - x) / sd. */
static void reverse_reading_precision(struct tape *tape, const struct step *step,
                                      const struct sy_seen *seen) {
    uint32_t i = seen->dimension;
    double sd_slope, sd = sy_seen_sd(&tape->target, seen, &sd_slope);
    double z = (seen->target - step->mode[i]) / sd;
    struct sy_rho rho = sy_rho_at(tape->target.degrees, z);
    double into = tape->a_slope[(size_t)i * tape->n + i] / (sd * sd);
    tape->x_slope[i] -= into * rho.weight_slope / sd;
    slope_of(tape, SY_PARAMETER_NOISE)[seen->variable] -=
        into * (rho.weight_slope * z + 2 * rho.weight) / sd * sd_slope;
}

/* x -> noise, through the reading's part -rho'(z) / sd of U'. adjoint = H^-1 times x's slope. */
static void reverse_reading_mode(struct tape *tape, const struct step *step,
                                 const struct sy_seen *seen, const double *adjoint) {
    uint32_t i = seen->dimension;
    double sd_slope, sd = sy_seen_sd(&tape->target, seen, &sd_slope);
    double z = (seen->target - step->mode[i]) / sd;
    struct sy_rho rho = sy_rho_at(tape->target.degrees, z);
    slope_of(tape, SY_PARAMETER_NOISE)[seen->variable] -=
        adjoint[i] * (rho.second * z + rho.first) / (sd * sd) * sd_slope;
}

/* Adds the slope of (by_r * r + along . g) with respect to coefficients and constant of a relation,
 * g its gradient. By along: d g_k / d c_j = [k = j] growth_j - g_k * d ln(side of k) / d c_j. */
static void reverse_terms(struct tape *tape, uint32_t factor, double by_r, const double *along) {
    const struct sy_relation_at *at = &tape->target.at;
    const struct sy_factor *f = &tape->model->factors[factor];
    double *coefficient = slope_of(tape, SY_PARAMETER_COEFFICIENT) + f->first_term;
    double toward[2] = {0, 0}; /* sum of along * g on each side */
    for (uint32_t k = 0; k < at->count; k++) {
        toward[!at->left[k]] += along[k] * at->gradient[k];
    }
    /* d ln(left) = growth dc, d ln(right) = -growth dc; the constant likewise. */
    double constant = at->constant_slope * (by_r - (at->constant_left ? toward[0] : -toward[1]));
    slope_of(tape, SY_PARAMETER_CONSTANT)[factor] += constant;
    for (uint32_t k = 0; k < f->term_count; k++) {
        double sign = at->left[k] ? toward[0] : -toward[1];
        double offset = tape->model->variables[at->variable[k]].offset;
        coefficient[k] += at->growth[k] * (by_r + along[k] - sign) - offset * constant;
    }
}

/* Second derivative of r times a vector given on the members. */
static void bend(const struct sy_relation_at *at, const double *along, double *ret_product) {
    double toward[2] = {0, 0};
    for (uint32_t k = 0; k < at->count; k++) {
        toward[!at->left[k]] += along[k] * at->gradient[k];
    }
    for (uint32_t k = 0; k < at->count; k++) {
        double sign = at->left[k] ? toward[0] : -toward[1];
        ret_product[k] = at->gradient[k] * (along[k] - sign);
    }
}

/* The relation is evaluated into tape->target.at; false: it has no part in this. */
static bool relation_binds(struct tape *tape, const struct step *step, uint32_t factor,
                           double *ret_z, double *ret_width) {
    if (!sy_target_relation(&tape->target, factor, step->mode)) {
        return false;
    }
    *ret_z = sy_target_relation_z(&tape->target, 0, factor);
    *ret_width = exp(value_of(tape, SY_PARAMETER_WIDTH)[factor]);
    return *ret_z > 0 || tape->model->factors[factor].kind != SY_FACTOR_AT_MOST;
}

/* A -> x and parameters, through a relation's part weight(z) g g' / width^2 of A, z = r / width. */
static void reverse_relation_precision(struct tape *tape, const struct step *step,
                                       uint32_t factor) {
    const struct sy_relation_at *at = &tape->target.at;
    double z, width, *along = tape->vector, *bent = tape->other, form = 0;
    if (!relation_binds(tape, step, factor, &z, &width)) {
        return;
    }
    struct sy_rho rho = sy_rho_at(tape->target.degrees, z);
    double scale = 1 / (width * width);
    for (uint32_t k = 0; k < at->count; k++) { /* along = 2 weight / width^2 * A_slope g */
        const double *row = &tape->a_slope[(size_t)at->variable[k] * tape->n];
        double sum = 0;
        for (uint32_t l = 0; l < at->count; l++) {
            sum += row[at->variable[l]] * at->gradient[l];
        }
        form += at->gradient[k] * sum;
        along[k] = 2 * rho.weight * scale * sum;
    }
    double by_r = rho.weight_slope * scale * form / width;
    slope_of(tape, SY_PARAMETER_WIDTH)[factor] -=
        scale * form * (2 * rho.weight + rho.weight_slope * z);
    bend(at, along, bent);
    for (uint32_t k = 0; k < at->count; k++) {
        tape->x_slope[at->variable[k]] += by_r * at->gradient[k] + bent[k];
    }
    reverse_terms(tape, factor, by_r, along);
}

/* x -> parameters, through the relation's part rho'(z) g / width of U'. */
static void reverse_relation_mode(struct tape *tape, const struct step *step, uint32_t factor,
                                  const double *adjoint) {
    const struct sy_relation_at *at = &tape->target.at;
    double z, width, *along = tape->other, toward = 0;
    if (!relation_binds(tape, step, factor, &z, &width)) {
        return;
    }
    struct sy_rho rho = sy_rho_at(tape->target.degrees, z);
    for (uint32_t k = 0; k < at->count; k++) {
        toward += adjoint[at->variable[k]] * at->gradient[k];
        along[k] = -adjoint[at->variable[k]] * rho.first / width;
    }
    slope_of(tape, SY_PARAMETER_WIDTH)[factor] += toward / width * (rho.second * z + rho.first);
    reverse_terms(tape, factor, -toward * rho.second / (width * width), along);
}

/* x -> m, P and parameters by way of U'(x) = 0. Leaves m_slope and p_slope. */
static bool reverse_mode(struct tape *tape, struct step *step) {
    uint32_t n = tape->n;
    double *adjoint = tape->m_slope, *hessian = tape->scratch;
    sy_target_curvature(&tape->target, step->mode, true, hessian);
    if (!sy_cholesky(hessian, n, n, NULL)) {
        return false; /* a saddle: the mode does not move smoothly */
    }
    memcpy(adjoint, tape->x_slope, sizeof *adjoint * n);
    sy_solve_forward(hessian, n, n, adjoint);
    sy_solve_backward(hessian, n, n, adjoint);
    for (uint32_t i = 0; i < step->seen_count; i++) {
        reverse_reading_mode(tape, step, &step->seen[i], adjoint);
    }
    for (uint32_t i = 0; i < tape->model->factor_count; i++) {
        reverse_relation_mode(tape, step, i, adjoint);
    }
    /* The prior's part P^-1 (x - m) of U', and its part P^-1 of A. */
    double *pulled = tape->vector, *gap = tape->other;
    sy_sum_rows(pulled, step->inverse, n, n, adjoint);
    memcpy(adjoint, pulled, sizeof *adjoint * n); /* = slope of m */
    for (uint32_t i = 0; i < n; i++) {
        pulled[i] = step->mode[i] - step->mean[i];
    }
    sy_sum_rows(gap, step->inverse, n, n, pulled);
    sy_dense_sandwich(step->inverse, tape->a_slope, n, tape->scratch, tape->p_slope);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            tape->p_slope[(size_t)i * n + j] +=
                (tape->m_slope[i] * gap[j] + tape->m_slope[j] * gap[i]) / 2;
        }
    }
    return true;
}

/* The prior is the posterior before plus drift: hand its slopes on. */
static void reverse_predict(struct tape *tape, const struct step *before) {
    uint32_t n = tape->n;
    for (size_t i = 0; i < (size_t)n * n; i++) {
        tape->q_slope[i] += tape->p_slope[i];
    }
    if (before) {
        sy_dense_inverse(before->upper, n, tape->covariance);
        sy_dense_sandwich(tape->covariance, tape->p_slope, n, tape->scratch, tape->a_slope);
        memcpy(tape->x_slope, tape->m_slope, sizeof *tape->x_slope * n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        slope_of(tape, SY_PARAMETER_START)[i] += tape->m_slope[i];
        slope_of(tape, SY_PARAMETER_START_SD)[i] +=
            2 * tape->p_slope[(size_t)i * n + i] *
            exp(2 * value_of(tape, SY_PARAMETER_START_SD)[i]);
    }
}

/* Q's diagonal carries a small floor that no parameter moves. */
static void reverse_drift(struct tape *tape) {
    uint32_t n = tape->n;
    for (uint32_t i = 0; i < n; i++) {
        double sum = 0, own = exp(2 * value_of(tape, SY_PARAMETER_DRIFT)[i]);
        for (uint32_t j = 0; j < n; j++) {
            size_t at = (size_t)i * n + j;
            sum += 2 * tape->q_slope[at] * (i == j ? own : tape->q[at]);
        }
        slope_of(tape, SY_PARAMETER_DRIFT)[i] += sum;
    }
}

static int backward(struct tape *tape) {
    for (uint32_t t = tape->step_count; t-- > 0;) {
        struct step *step = &tape->steps[t];
        aim(tape, step);
        reverse_draws(tape, step);
        for (uint32_t i = 0; i < step->seen_count; i++) {
            reverse_reading_precision(tape, step, &step->seen[i]);
        }
        for (uint32_t i = 0; i < tape->model->factor_count; i++) {
            reverse_relation_precision(tape, step, i);
        }
        if (!reverse_mode(tape, step)) {
            return -EDOM;
        }
        reverse_predict(tape, t ? step - 1 : NULL);
    }
    reverse_drift(tape);
    return 0;
}

/* --- the whole ----------------------------------------------------------------------------------
 */
static bool tape_alloc(struct tape *tape, const struct sy_observation *readings,
                       const uint32_t *counts) {
    size_t square = (size_t)tape->n * tape->n;
    double **const squares[] = {&tape->q,       &tape->a_slope, &tape->p_slope,
                                &tape->q_slope, &tape->scratch, &tape->covariance};
    /* vector and other also hold the members of a relation: its terms and its out */
    double **const vectors[] = {&tape->x_slope, &tape->m_slope, &tape->vector, &tape->other};
    bool have = true;
    for (uint32_t i = 0; i < SY_COUNT(squares); i++) {
        have = have && (*squares[i] = numbers(tape, square));
    }
    for (uint32_t i = 0; i < SY_COUNT(vectors); i++) {
        have = have && (*vectors[i] = numbers(tape, tape->n + tape->model->term_count + 1));
    }
    tape->gradient = numbers(tape, sy_parameter_first(tape->model, SY_PARAMETER_KINDS));
    tape->steps = sy_arena_alloc(tape->arena, tape->step_count + 1, sizeof *tape->steps);
    have = have && tape->gradient && tape->steps;
    for (uint32_t t = 0; have && t < tape->step_count; t++) {
        have = step_alloc(tape, &tape->steps[t]) &&
               take_readings(tape, &tape->steps[t], readings, counts[t]);
        readings += counts[t];
    }
    return have && !sy_target_prepare(&tape->target, tape->arena);
}

int sy_gradient(const struct sy_model *model, const double *theta,
                const struct sy_observation *readings, const uint32_t *counts, uint32_t steps,
                const struct sy_gradient_options *options, const struct sy_loss *loss,
                double *ret_value, double *ret_gradient) {
    struct sy_gradient_options o = options ? *options : (struct sy_gradient_options){0};
    struct tape tape = {.model = model,
                        .theta = theta,
                        .n = model->variable_count,
                        .draw_count = o.draw_count ? o.draw_count : 32,
                        .step_count = steps,
                        .seed = o.seed,
                        .arena = sy_arena_create()};
    tape.target = (struct sy_target){.model = model,
                                     .theta = theta,
                                     .n = tape.n,
                                     .steps = 1,
                                     .degrees = o.student_degrees > 0 ? o.student_degrees : 4};
    double value = 0;
    int code = tape.arena && tape_alloc(&tape, readings, counts) ? 0 : -ENOMEM;
    if (!code) {
        sy_drift_covariance(model, theta, tape.q);
        code = forward(&tape, loss, &value);
    }
    if (!code && ret_gradient) {
        code = backward(&tape);
    }
    if (!code) {
        *ret_value = value;
    }
    if (!code && ret_gradient) {
        memcpy(ret_gradient, tape.gradient,
               sizeof *ret_gradient * sy_parameter_first(model, SY_PARAMETER_KINDS));
    }
    sy_arena_destroy(tape.arena);
    return code;
}
