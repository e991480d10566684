/* SPDX-License-Identifier: Apache-2.0
 *
 * The exact posterior's energy, gradient and curvature, and the search for its mode.
 */
#include "papers/target.h"
#include "papers/dense.h"
#include <errno.h>
#include <math.h>
#include <string.h>

static const double NOISE_MIN = 0.003; /* as in filter_step.c: a reading is never exact */
static const double FLOOR_SD = 1e-4; /* of drift: covariances learned from relations are singular */

struct sy_rho sy_rho_at(double degrees, double z) {
    if (!isfinite(degrees)) {
        return (struct sy_rho){z * z / 2, z, 1, 1, 0};
    }
    double sum = degrees + z * z, weight = (degrees + 1) / sum;
    return (struct sy_rho){.value = (degrees + 1) / 2 * log1p(z * z / degrees),
                           .first = weight * z,
                           .second = weight * (degrees - z * z) / sum,
                           .weight = weight,
                           .weight_slope = -2 * z * weight / sum};
}

/* --- parameters --------------------------------------------------------------------------------
 */
uint32_t sy_parameter_first(const struct sy_model *model, enum sy_parameter kind) {
    uint32_t n = model->variable_count;
    const uint32_t counts[] = {
        [SY_PARAMETER_WIDTH] = model->factor_count,
        [SY_PARAMETER_CONSTANT] = model->factor_count,
        [SY_PARAMETER_COEFFICIENT] = model->term_count,
        [SY_PARAMETER_NOISE] = n,
        [SY_PARAMETER_CAPACITY] = n,
        [SY_PARAMETER_START] = n,
        [SY_PARAMETER_START_SD] = n,
        [SY_PARAMETER_DRIFT] = n,
    };
    uint32_t first = 0;
    for (uint32_t i = 0; i < (uint32_t)kind; i++) {
        first += counts[i];
    }
    return first;
}

static double *part(const struct sy_model *model, double *theta, enum sy_parameter kind) {
    return theta + sy_parameter_first(model, kind);
}

static double drift_sd(const struct sy_model *model, uint32_t i) {
    double sd = model->covariance ? sqrt(model->covariance[(size_t)i * model->variable_count + i])
                                  : model->variables[i].drift_sd;
    return fmax(sd, FLOOR_SD);
}

void sy_parameters_read(const struct sy_model *model, double *ret_theta) {
    for (uint32_t i = 0; i < model->factor_count; i++) {
        part(model, ret_theta, SY_PARAMETER_WIDTH)[i] = log(model->factors[i].width);
        part(model, ret_theta, SY_PARAMETER_CONSTANT)[i] = model->factors[i].constant;
    }
    for (uint32_t i = 0; i < model->term_count; i++) {
        part(model, ret_theta, SY_PARAMETER_COEFFICIENT)[i] = model->terms[i].coefficient;
    }
    for (uint32_t i = 0; i < model->variable_count; i++) {
        const struct sy_variable *v = &model->variables[i];
        part(model, ret_theta, SY_PARAMETER_NOISE)[i] = log(fmax(v->noise_ratio, 1e-6));
        part(model, ret_theta, SY_PARAMETER_CAPACITY)[i] = log(v->capacity);
        part(model, ret_theta, SY_PARAMETER_START)[i] = v->start_log;
        part(model, ret_theta, SY_PARAMETER_START_SD)[i] = log(v->start_sd);
        part(model, ret_theta, SY_PARAMETER_DRIFT)[i] = log(drift_sd(model, i));
    }
}

/* Correlations stay the model's, standard deviations are the parameters'. */
void sy_drift_covariance(const struct sy_model *model, const double *theta, double *ret_q) {
    uint32_t n = model->variable_count;
    const double *log_sd = theta + sy_parameter_first(model, SY_PARAMETER_DRIFT);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            double correlation = i == j;
            if (model->covariance && i != j) {
                correlation = model->covariance[(size_t)i * n + j] /
                              (drift_sd(model, i) * drift_sd(model, j));
            }
            ret_q[(size_t)i * n + j] = correlation * exp(log_sd[i] + log_sd[j]);
        }
        ret_q[(size_t)i * n + i] += FLOOR_SD * FLOOR_SD;
    }
}

/* --- readings ----------------------------------------------------------------------------------
 */
bool sy_seen_of(const struct sy_model *model, const struct sy_observation *o,
                struct sy_seen *ret_seen) {
    if (o->variable >= model->variable_count || !isfinite(o->rate) || o->rate < 0 ||
        o->noise_ratio < 0 || !isfinite(o->noise_ratio)) {
        return false;
    }
    double whole = fmax(o->rate + model->variables[o->variable].offset, 1e-30);
    *ret_seen = (struct sy_seen){.dimension = o->variable,
                                 .variable = o->variable,
                                 .target = log(whole),
                                 .ratio = o->rate / whole,
                                 .noise_ratio = o->noise_ratio};
    return true;
}

double sy_seen_sd(const struct sy_target *target, const struct sy_seen *seen, double *ret_slope) {
    const double *log_noise = target->theta + sy_parameter_first(target->model, SY_PARAMETER_NOISE);
    double noise = seen->noise_ratio > 0 ? seen->noise_ratio : exp(log_noise[seen->variable]);
    double sd = (noise + NOISE_MIN) * seen->ratio;
    if (ret_slope) {
        *ret_slope = seen->noise_ratio > 0 || sd < NOISE_MIN ? 0 : noise * seen->ratio;
    }
    return fmax(sd, NOISE_MIN);
}

/* --- relations ---------------------------------------------------------------------------------
 */
static void add_member(struct sy_relation_at *at, uint32_t variable, double coefficient, double x,
                       double sides[2]) {
    uint32_t k = at->count++;
    at->variable[k] = variable;
    at->growth[k] = exp(x);
    at->gradient[k] = coefficient * at->growth[k];
    at->left[k] = coefficient > 0;
    sides[!at->left[k]] += fabs(at->gradient[k]);
}

bool sy_target_relation(struct sy_target *target, uint32_t factor, const double *x) {
    const struct sy_model *model = target->model;
    const struct sy_factor *f = &model->factors[factor];
    const double *theta = target->theta;
    const double *coefficients =
        theta + sy_parameter_first(model, SY_PARAMETER_COEFFICIENT) + f->first_term;
    double constant = theta[sy_parameter_first(model, SY_PARAMETER_CONSTANT) + factor];
    struct sy_relation_at *at = &target->at;
    double sides[2] = {0, 0};
    at->count = 0;
    for (uint32_t i = 0; i < f->term_count; i++) {
        uint32_t v = model->terms[f->first_term + i].variable;
        add_member(at, v, coefficients[i], x[v], sides);
        constant -= coefficients[i] * model->variables[v].offset;
    }
    if (f->out == SY_NONE) {
        constant -= 1;
    } else {
        add_member(at, f->out, -1, x[f->out], sides);
        constant += model->variables[f->out].offset;
    }
    at->constant_left = constant > 0;
    sides[!at->constant_left] += fabs(constant);
    for (uint32_t k = 0; k < at->count; k++) {
        at->growth[k] /= sides[!at->left[k]];
        at->gradient[k] /= sides[!at->left[k]];
    }
    at->constant_slope = 1 / sides[!at->constant_left];
    at->residual = log(sides[0] / sides[1]);
    return sides[0] > 0 && sides[1] > 0;
}

static double width_of(const struct sy_target *target, uint32_t factor) {
    return exp(target->theta[sy_parameter_first(target->model, SY_PARAMETER_WIDTH) + factor]);
}

double sy_target_relation_z(const struct sy_target *target, uint32_t step, uint32_t factor) {
    const struct sy_model *model = target->model;
    double shift = target->shift ? target->shift[(size_t)step * model->factor_count + factor] : 0;
    double z = (target->at.residual - shift) / width_of(target, factor);
    return model->factors[factor].kind == SY_FACTOR_AT_MOST ? fmax(z, 0) : z;
}

/* --- energy ------------------------------------------------------------------------------------
 */
int sy_target_prepare(struct sy_target *target, struct sy_arena *arena) {
    uint32_t most = 0, all = target->n * target->steps;
    for (uint32_t i = 0; i < target->model->factor_count; i++) {
        uint32_t count = target->model->factors[i].term_count + 1;
        most = count > most ? count : most;
    }
    target->at.variable = sy_arena_alloc(arena, most + 1, sizeof *target->at.variable);
    target->at.gradient = sy_arena_alloc(arena, most + 1, sizeof(double));
    target->at.growth = sy_arena_alloc(arena, most + 1, sizeof(double));
    target->at.left = sy_arena_alloc(arena, most + 1, sizeof(bool));
    target->trial = sy_arena_alloc(arena, all + 1, sizeof(double));
    target->slope = sy_arena_alloc(arena, all + 1, sizeof(double));
    target->matrix = sy_arena_alloc(arena, (size_t)all * all + 1, sizeof(double));
    target->other = sy_arena_alloc(arena, (size_t)all * all + 1, sizeof(double));
    bool have = target->at.variable && target->at.gradient && target->at.growth &&
                target->at.left && target->trial && target->slope && target->matrix &&
                target->other;
    return have ? 0 : -ENOMEM;
}

static double prior_energy(const struct sy_target *target, const double *x, double *ret_gradient) {
    uint32_t all = target->n * target->steps;
    double sum = 0;
    for (uint32_t i = 0; i < all; i++) {
        const double *row = &target->precision[(size_t)i * all];
        double pull = 0;
        for (uint32_t j = 0; j < all; j++) {
            pull += row[j] * (x[j] - target->mean[j]);
        }
        sum += pull * (x[i] - target->mean[i]) / 2;
        if (ret_gradient) {
            ret_gradient[i] = pull;
        }
    }
    return sum;
}

static double relation_energy(struct sy_target *target, uint32_t step, uint32_t factor,
                              const double *x, double *gradient) {
    uint32_t base = step * target->n;
    if (!sy_target_relation(target, factor, x + base)) {
        return 0;
    }
    struct sy_rho rho = sy_rho_at(target->degrees, sy_target_relation_z(target, step, factor));
    double pull = rho.first / width_of(target, factor);
    for (uint32_t k = 0; gradient && k < target->at.count; k++) {
        gradient[base + target->at.variable[k]] += pull * target->at.gradient[k];
    }
    return rho.value;
}

double sy_target_energy(struct sy_target *target, const double *x, double *ret_gradient) {
    double energy = prior_energy(target, x, ret_gradient);
    for (uint32_t i = 0; i < target->seen_count; i++) {
        const struct sy_seen *seen = &target->seen[i];
        double sd = sy_seen_sd(target, seen, NULL);
        struct sy_rho rho = sy_rho_at(target->degrees, (seen->target - x[seen->dimension]) / sd);
        energy += rho.value;
        if (ret_gradient) {
            ret_gradient[seen->dimension] -= rho.first / sd;
        }
    }
    for (uint32_t step = 0; step < target->steps; step++) {
        for (uint32_t i = 0; i < target->model->factor_count; i++) {
            energy += relation_energy(target, step, i, x, ret_gradient);
        }
    }
    return energy;
}

/* Adds scale * g g' + bend * (second derivative of r), which is, on either side, with shares p of
 * the side: diag(p) - p p' (left) or its negative (right). */
static void add_relation_curvature(const struct sy_relation_at *at, double scale, double bend,
                                   uint32_t all, double *corner) {
    for (uint32_t k = 0; k < at->count; k++) {
        double *row = corner + (size_t)at->variable[k] * all;
        for (uint32_t l = 0; l < at->count; l++) {
            double product = at->gradient[k] * at->gradient[l];
            double same = at->left[k] != at->left[l] ? 0 : at->left[k] ? -product : product;
            row[at->variable[l]] += scale * product + bend * same;
        }
        row[at->variable[k]] += bend * at->gradient[k];
    }
}

void sy_target_curvature(struct sy_target *target, const double *x, bool exact,
                         double *ret_matrix) {
    uint32_t n = target->n, all = n * target->steps;
    memcpy(ret_matrix, target->precision, sizeof *ret_matrix * all * all);
    for (uint32_t i = 0; i < target->seen_count; i++) {
        const struct sy_seen *seen = &target->seen[i];
        double sd = sy_seen_sd(target, seen, NULL);
        struct sy_rho rho = sy_rho_at(target->degrees, (seen->target - x[seen->dimension]) / sd);
        ret_matrix[(size_t)seen->dimension * all + seen->dimension] +=
            (exact ? rho.second : rho.weight) / (sd * sd);
    }
    for (uint32_t step = 0; step < target->steps; step++) {
        for (uint32_t i = 0; i < target->model->factor_count; i++) {
            if (!sy_target_relation(target, i, x + (size_t)step * n)) {
                continue;
            }
            double z = sy_target_relation_z(target, step, i), width = width_of(target, i);
            if (z <= 0 && target->model->factors[i].kind == SY_FACTOR_AT_MOST) {
                continue;
            }
            struct sy_rho rho = sy_rho_at(target->degrees, z);
            add_relation_curvature(&target->at, (exact ? rho.second : rho.weight) / (width * width),
                                   exact ? rho.first / width : 0, all,
                                   ret_matrix + (size_t)step * n * (all + 1));
        }
    }
}

/* --- mode --------------------------------------------------------------------------------------
 */
/* The energy a share of the step away. */
static double try_share(struct sy_target *target, const double *x, double share) {
    for (uint32_t i = 0; i < target->n * target->steps; i++) {
        target->trial[i] = x[i] - share * target->slope[i];
    }
    return sy_target_energy(target, target->trial, NULL);
}

/* Moves x by a share of the step: less until the energy falls as it should, or more as long as it
 * falls. False: it does not, by any share. */
static bool walk(struct sy_target *target, double *x, double *energy, double descent) {
    double share = 1, now = try_share(target, x, share);
    while (!(now <= *energy - 1e-4 * share * descent)) {
        share /= 2;
        if (share < 1e-10) {
            return false;
        }
        now = try_share(target, x, share);
    }
    for (double more; share >= 1 && share < 1024; share *= 2, now = more) {
        more = try_share(target, x, 2 * share);
        if (!(more < now)) {
            break;
        }
    }
    *energy = try_share(target, x, share);
    memcpy(x, target->trial, sizeof *x * target->n * target->steps);
    return true;
}

/* Into target->slope: Newton's step, with as much of the positive definite curvature blended in as
 * makes the Hessian so. Returns twice the energy that it promises; NAN: there is none. */
static double find_step(struct sy_target *target, const double *x) {
    static const double blends[] = {0, 0.05, 0.2, 0.5, 0.8, 1};
    uint32_t all = target->n * target->steps;
    double *step = target->slope;
    sy_target_energy(target, x, step);
    memcpy(target->trial, step, sizeof *step * all);
    for (uint32_t k = 0; k < SY_COUNT(blends); k++) {
        sy_target_curvature(target, x, true, target->matrix);
        if (k) {
            sy_target_curvature(target, x, false, target->other);
            for (size_t i = 0; i < (size_t)all * all; i++) {
                target->matrix[i] += blends[k] * (target->other[i] - target->matrix[i]);
            }
        }
        if (sy_cholesky(target->matrix, all, all, NULL)) {
            sy_solve_forward(target->matrix, all, all, step);
            sy_solve_backward(target->matrix, all, all, step);
            return sy_dot(target->trial, step, all);
        }
    }
    return NAN;
}

/* Near the end energies differ by no more than their rounding: there, full steps, which gain digits
 * quadratically. */
int sy_target_mode(struct sy_target *target, double *x) {
    uint32_t all = target->n * target->steps, polished = 0;
    double energy = sy_target_energy(target, x, NULL);
    for (uint32_t k = 0; k < 500; k++) {
        double descent = find_step(target, x);
        if (!isfinite(descent)) {
            return -EDOM;
        }
        if (descent < 1e-9 * (1 + fabs(energy))) {
            for (uint32_t i = 0; i < all; i++) {
                x[i] -= target->slope[i];
            }
            if (++polished == 3) {
                return 0;
            }
        } else if (!walk(target, x, &energy, descent)) {
            return -EDOM;
        }
    }
    return -EDOM;
}
