/* SPDX-License-Identifier: Apache-2.0
 *
 * One step of the filter: time goes on, then readings and relations are solved for together.
 *
 * The mean is the robust maximum a posteriori (Gauss-Newton in the space of the rows, Student-t
 * weights), the covariance is that of the last linearisation.
 */
#include "belief/filter.h"
#include <math.h>
#include <string.h>

static const uint32_t ITERATIONS = 3;
static const double NOISE_MIN = 0.003;  /* a reading is never exact: windows do not quite match */
static const double LIMIT_WIDTH = 0.05; /* by which a rate may seem to exceed its capacity */

static double *row_of(double *matrix, uint32_t stride, uint32_t i) {
    return matrix + (size_t)i * stride;
}

static void predict(struct sy_filter *f, double elapsed_ns) {
    double ratio = f->model->step_ns > 0 ? elapsed_ns / f->model->step_ns : 1;
    if (!(ratio > 0)) {
        return; /* no time went by, or nobody knows how much */
    }
    ratio = fmin(ratio, 1e6);
    sy_axpy(f->p, f->q, ratio, f->stride * f->stride);
    for (uint32_t i = 0; i < f->n; i++) {
        double variance = row_of(f->p, f->stride, i)[i];
        f->age_ns[i] += elapsed_ns;
        if (variance > f->ceiling[i]) {
            double scale = sqrt(f->ceiling[i] / variance);
            for (uint32_t j = 0; j < f->n; j++) {
                row_of(f->p, f->stride, i)[j] *= scale;
                row_of(f->p, f->stride, j)[i] *= scale;
            }
        }
    }
}

static struct sy_row *add_row(struct sy_filter *f) {
    struct sy_row *row = &f->rows[f->row_count];
    uint32_t first = f->row_count ? row[-1].first + row[-1].count : 0;
    *row = (struct sy_row){.first = first, .weight = 1};
    f->row_count++;
    return row;
}

static void add_reading(struct sy_filter *f, uint32_t variable, double target, double noise) {
    struct sy_row *row = add_row(f);
    row->source = variable;
    row->count = 1;
    row->target = target;
    row->noise = noise * noise;
    f->gradient_variable[row->first] = variable;
    f->gradient[row->first] = 1;
}

static void add_relation(struct sy_filter *f, uint32_t factor) {
    struct sy_row *row = add_row(f);
    row->source = factor;
    row->relation = true;
    row->noise = f->factors[factor].width * f->factors[factor].width;
    sy_factor_linearise(f, factor, &f->gradient_variable[row->first], &f->gradient[row->first],
                        &row->count);
}

/* What a row misses if x moves linearly from the prior. */
static double residual(struct sy_filter *f, struct sy_row *row) {
    double out = row->target;
    if (row->relation) {
        out -= sy_factor_linearise(f, row->source, &f->gradient_variable[row->first],
                                   &f->gradient[row->first], &row->count);
    } else {
        return out - f->prior[row->source];
    }
    for (uint32_t k = row->first; k < row->first + row->count; k++) {
        uint32_t v = f->gradient_variable[k];
        out += f->gradient[k] * (f->x[v] - f->prior[v]);
    }
    return out;
}

/* gp = gradient * p, s = gp * gradient' + noise, its Cholesky factor, and the pulls. */
static void solve(struct sy_filter *f) {
    uint32_t m = f->row_count;
    for (uint32_t i = 0; i < m; i++) {
        struct sy_row *row = &f->rows[i];
        double *gp = row_of(f->gp, f->stride, i);
        row->residual = residual(f, row);
        row->pull = row->residual;
        memset(gp, 0, f->stride * sizeof *gp);
        for (uint32_t k = row->first; k < row->first + row->count; k++) {
            sy_axpy(gp, row_of(f->p, f->stride, f->gradient_variable[k]), f->gradient[k],
                    f->stride);
        }
    }
    for (uint32_t i = 0; i < m; i++) {
        double *s = row_of(f->s, f->s_stride, i), *gp = row_of(f->gp, f->stride, i);
        memset(s, 0, f->s_stride * sizeof *s);
        for (uint32_t j = i; j < m; j++) {
            const struct sy_row *other = &f->rows[j];
            for (uint32_t k = other->first; k < other->first + other->count; k++) {
                s[j] += gp[f->gradient_variable[k]] * f->gradient[k];
            }
        }
        f->floors[i] = f->rows[i].noise / f->rows[i].weight;
        s[i] = fmax(s[i], 0) + f->floors[i];
        f->floors[i] *= 0.5;
    }
    sy_cholesky(f->s, f->s_stride, m, f->floors);
}

static void move_mean(struct sy_filter *f) {
    double pulls[SY_ROWS_MAX];
    for (uint32_t i = 0; i < f->row_count; i++) {
        pulls[i] = f->rows[i].residual;
    }
    sy_solve_vector(f->s, f->s_stride, f->row_count, pulls);
    memcpy(f->x, f->prior, f->n * sizeof *f->x);
    for (uint32_t i = 0; i < f->row_count; i++) {
        f->rows[i].pull = pulls[i];
        sy_axpy(f->x, row_of(f->gp, f->stride, i), pulls[i], f->stride);
    }
    for (uint32_t i = 0; i < f->n; i++) {
        f->x[i] = fmin(fmax(f->x[i], -100), 100);
        f->rate[i] = exp(f->x[i]);
    }
}

static void weigh(struct sy_filter *f) {
    double degrees = f->options.student_degrees;
    for (uint32_t i = 0; i < f->row_count && isfinite(degrees); i++) {
        struct sy_row *row = &f->rows[i];
        double left = row->noise / row->weight * row->pull;
        row->weight = (degrees + 1) / (degrees + left * left / row->noise);
    }
}

/* Variance of what row i would miss had it not been there: 1 / (S^-1)ii. */
static double left_out(const struct sy_filter *f, uint32_t i) {
    double z[SY_ROWS_MAX] = {0}, sum = 0;
    z[i] = 1;
    for (uint32_t k = i; k < f->row_count; k++) {
        const double *u = f->s + (size_t)k * f->s_stride;
        z[k] /= u[k];
        sum += z[k] * z[k];
        for (uint32_t j = k + 1; j < f->row_count; j++) {
            z[j] -= u[j] * z[k];
        }
    }
    return 1 / sum;
}

/* A few relations a step have their width and their truth examined, each in its turn. */
static void examine(struct sy_filter *f) {
    uint32_t relations = 0;
    while (relations < f->row_count && f->rows[relations].relation) {
        relations++;
    }
    for (uint32_t k = 0; k < 4 && k < relations; k++) {
        uint32_t i = f->examined++ % relations;
        const struct sy_row *row = &f->rows[i];
        struct sy_factor_now *now = &f->factors[row->source];
        double others = left_out(f, i), own = row->noise / row->weight;
        double variance = others - own + row->noise;
        sy_factor_learn(now, row->pull * others, fmax(variance, row->noise));
    }
}

/* Relations go first, so that the readings' part of S^-1 is the last corner. */
static void update(struct sy_filter *f) {
    if (!f->row_count) {
        return;
    }
    memcpy(f->prior, f->x, f->n * sizeof *f->x);
    for (uint32_t i = 0; i < f->n; i++) {
        f->rate[i] = exp(f->x[i]);
    }
    for (uint32_t k = 0; k < ITERATIONS; k++) {
        solve(f);
        move_mean(f);
        if (k + 1 < ITERATIONS) {
            weigh(f);
        }
    }
    examine(f);
    sy_solve_lower(f->s, f->s_stride, f->row_count, f->gp, f->stride);
    sy_downdate(f->p, f->stride, f->gp, f->row_count);
    for (uint32_t i = 0; i < f->n; i++) {
        double *variance = &row_of(f->p, f->stride, i)[i];
        *variance = fmax(*variance, 1e-8);
    }
    f->row_count = 0;
}

static bool usable(const struct sy_filter *f, const struct sy_observation *o) {
    return o->variable < f->n && isfinite(o->rate) && o->rate >= 0 && !(o->noise_ratio < 0) &&
           isfinite(o->noise_ratio);
}

static void take_reading(struct sy_filter *f, const struct sy_observation *o) {
    const struct sy_variable *v = &f->model->variables[o->variable];
    double noise = o->noise_ratio > 0 ? o->noise_ratio : v->noise_ratio;
    double whole = fmax(o->rate + v->offset, 1e-30);
    double in_log = (noise + NOISE_MIN) * o->rate / whole;
    add_reading(f, o->variable, log(whole), fmax(in_log, NOISE_MIN));
    f->age_ns[o->variable] = 0;
}

/* Relations that hold as equations; those that are refuted are only looked at. */
static void take_equations(struct sy_filter *f, uint32_t limit) {
    for (uint32_t i = 0; i < f->model->factor_count && !f->options.no_relations; i++) {
        if (f->model->factors[i].kind == SY_FACTOR_EQUAL && !f->factors[i].rejected) {
            if (f->row_count == limit) {
                update(f);
            }
            add_relation(f, i);
        }
    }
}

/* One-sided relations and capacities that the mean violates. */
static void take_limits(struct sy_filter *f) {
    for (uint32_t i = 0; i < f->n; i++) {
        const struct sy_variable *v = &f->model->variables[i];
        f->rate[i] = exp(f->x[i]);
        if (isfinite(v->capacity) && f->rate[i] > v->capacity + v->offset &&
            f->row_count < f->s_stride) {
            add_reading(f, i, log(v->capacity + v->offset), LIMIT_WIDTH);
        }
    }
    update(f);
    for (uint32_t i = 0; i < f->model->factor_count && !f->options.no_relations; i++) {
        if (f->model->factors[i].kind == SY_FACTOR_AT_MOST && !f->factors[i].rejected &&
            f->row_count < f->s_stride) {
            add_relation(f, i);
            struct sy_row *row = &f->rows[f->row_count - 1];
            f->row_count -= residual(f, row) >= 0;
        }
    }
    update(f);
}

/* A relation that is left out goes on being compared with what the rest says. */
static void review(struct sy_filter *f) {
    uint32_t variables[64], count;
    double gradient[64];
    for (uint32_t i = 0; i < f->model->factor_count; i++) {
        if (!f->factors[i].rejected || f->model->factors[i].term_count >= 64) {
            continue;
        }
        double miss = sy_factor_linearise(f, i, variables, gradient, &count), variance = 0;
        for (uint32_t a = 0; a < count; a++) {
            for (uint32_t b = 0; b < count; b++) {
                variance +=
                    gradient[a] * gradient[b] * row_of(f->p, f->stride, variables[a])[variables[b]];
            }
        }
        if (f->model->factors[i].kind == SY_FACTOR_AT_MOST) {
            miss = fmax(miss, 0);
        }
        variance = fmax(variance, 0) + f->factors[i].width * f->factors[i].width;
        sy_factor_learn(&f->factors[i], miss, variance);
    }
}

void sy_filter_step(struct sy_filter *f, double elapsed_ns,
                    const struct sy_observation *observations, uint32_t count) {
    predict(f, elapsed_ns);
    f->row_count = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        f->rate[i] = exp(f->x[i]);
    }
    take_equations(f, f->s_stride - SY_READINGS_MAX);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!usable(f, &observations[i])) {
            f->ignored++;
            continue;
        }
        if (taken++ == SY_READINGS_MAX) {
            update(f);
            taken = 1;
        }
        take_reading(f, &observations[i]);
    }
    update(f);
    take_limits(f);
    review(f);
    f->steps++;
}
