/* SPDX-License-Identifier: Apache-2.0
 *
 * The estimator's Gaussian process: log time = what is expected (estimate_shape.c) + constant +
 * linear in the logs of costs and width + a smooth deviation (Matern 3/2) + noise. Constant and
 * slopes are part of the covariance, so that one factor holds all. In: cells. Out: a mean and a
 * spread of the time itself, without the noise of one run. Leaving one out (Rasmussen and Williams
 * 2006, 5.4.2) finds the knobs and what contradicts all others. Invariant: n cells cost O(n^3) once
 * and O(n^2) per guess; no allocation.
 */
#include "cost/estimate.h"
#include <math.h>
#include <string.h>

#define CONSTANT_SIGMA 2.0  /* a kernel may be far from the roofline */
#define WIDTH_SLOPE    0.25 /* splitting between devices gives less than hoped for */
#define FLOOR_SIGMA    0.003
#define PIVOT_LEAST    1e-12
#define TUNE_LEAST     10  /* cells before knobs are looked for */
#define TUNE_GROWTH    1.4 /* more cells before they are looked for again */
#define DOUBT_LEAST    4   /* cells before one can contradict the others */
#define DOUBT_SIGMA    4.0
#define HASTE          2.5  /* accidents make times longer: a short one is doubted less */
#define WILD_SIGMA     7.0  /* while the knobs are not known */
#define STUDENT        5.0  /* degrees of freedom: errors left out have heavy tails */
#define STEP_PRICE     1.0  /* in log likelihood, per knob that is not as usual */
#define LOG_MOST       40.0 /* of seconds */
#define SQRT3          1.7320508075688772

static const struct knobs usual = {.slope = 0.12, .bend = 0.15, .reach = 2, .noise = 1};

double sy_estimate_prior(const struct sy_roofline *roofline, uint32_t cost_count,
                         const double *point) {
    /* Without one only its shape matters: the constant is learned. */
    double flops_per_s = roofline ? roofline->flops_per_s : SY_ESTIMATE_PEAK;
    double bytes_per_s = roofline ? roofline->bytes_per_s : SY_ESTIMATE_PEAK;
    double launch_ns = roofline ? roofline->launch_ns : 0;
    double busy = sy_most(point[0] - log(flops_per_s), point[1] - log(bytes_per_s));
    /* No time is longer than the age of the universe: sums stay finite. */
    double busy_ns = exp(sy_least(sy_most(busy - point[cost_count], -LOG_MOST), LOG_MOST)) * 1e9;
    return log(busy_ns + launch_ns);
}

/* Covariance of the times at two points, without noise. */
static double alike(const struct model *model, const struct knobs *knobs, const double *a,
                    const double *b) {
    uint32_t n = model->cost_count;
    double line = 0, far = 0;
    for (uint32_t i = 0; i < n; i++) {
        line += (a[i] - model->centre[i]) * (b[i] - model->centre[i]);
        far += (a[i] - b[i]) * (a[i] - b[i]);
    }
    double wide = (a[n] - model->centre[n]) * (b[n] - model->centre[n]);
    far += (a[n] - b[n]) * (a[n] - b[n]);
    double r = SQRT3 * sqrt(far) / knobs->reach;
    return CONSTANT_SIGMA * CONSTANT_SIGMA + knobs->slope * knobs->slope * line +
           WIDTH_SLOPE * WIDTH_SLOPE * wide + knobs->bend * knobs->bend * (1 + r) * exp(-r);
}

/* Lower triangle in place, columns contiguous. */
static void factorise(double *matrix, uint32_t n) {
    for (uint32_t j = 0; j < n; j++) {
        double *column = &matrix[j * CELLS];
        for (uint32_t k = 0; k < j; k++) {
            const double *other = &matrix[k * CELLS];
            double times = other[j];
            for (uint32_t i = j; i < n; i++) {
                column[i] -= times * other[i];
            }
        }
        double scale = 1 / sqrt(sy_most(column[j], PIVOT_LEAST));
        for (uint32_t i = j; i < n; i++) {
            column[i] *= scale;
        }
    }
}

/* Column j of the inverse solves L x = e_j. */
static void invert(const double *factor, uint32_t n, double *inverse) {
    for (uint32_t j = 0; j < n; j++) {
        double *column = &inverse[j * CELLS];
        memset(column, 0, n * sizeof(*column));
        column[j] = 1;
        for (uint32_t k = j; k < n; k++) {
            const double *other = &factor[k * CELLS];
            column[k] /= other[k];
            for (uint32_t i = k + 1; i < n; i++) {
                column[i] -= column[k] * other[i];
            }
        }
    }
}

static void set_knobs(const struct model *model, const struct knobs *knobs, struct bench *bench) {
    uint32_t n = model->cell_count;
    for (uint32_t j = 0; j < n; j++) {
        for (uint32_t i = j; i < n; i++) {
            bench->covariance[j * CELLS + i] =
                alike(model, knobs, model->cells[i].point, model->cells[j].point);
        }
        bench->covariance[j * CELLS + j] +=
            bench->nugget[j] * knobs->noise * knobs->noise + model->cells[j].scatter;
    }
}

/* Fits; returns how well each cell is told by the others, as a log likelihood. */
static double solve(const struct model *model, struct bench *bench) {
    uint32_t n = model->cell_count;
    for (uint32_t j = 0; j < n; j++) {
        memcpy(&bench->matrix[j * CELLS + j], &bench->covariance[j * CELLS + j],
               (n - j) * sizeof(double));
        bench->matrix[j * CELLS + j] += model->cells[j].doubt;
    }
    factorise(bench->matrix, n);
    invert(bench->matrix, n, bench->inverse);
    double half[CELLS] = {0};
    for (uint32_t j = 0; j < n; j++) {
        for (uint32_t i = j; i < n; i++) {
            half[i] += bench->inverse[j * CELLS + i] * bench->target[j];
        }
    }
    double likelihood = 0;
    for (uint32_t j = 0; j < n; j++) {
        const double *column = &bench->inverse[j * CELLS];
        double weight = 0, precision = 0;
        for (uint32_t i = j; i < n; i++) {
            weight += column[i] * half[i];
            precision += column[i] * column[i];
        }
        bench->weights[j] = weight;
        bench->residual[j] = weight / precision;
        bench->variance[j] = 1 / precision;
        if (model->cells[j].doubt == 0) {
            double square = bench->residual[j] * bench->residual[j] * precision;
            likelihood += 0.5 * log(precision) - 0.5 * (STUDENT + 1) * log1p(square / STUDENT);
        }
    }
    return likelihood;
}

/* Cells that were measured once and fit to nothing else get a variance like their error. */
static void doubt(struct model *model, const struct knobs *knobs, double sigma,
                  struct bench *bench) {
    uint32_t n = model->cell_count;
    for (uint32_t i = 0; i < n; i++) {
        model->cells[i].doubt = 0;
    }
    set_knobs(model, knobs, bench);
    solve(model, bench);
    for (uint32_t round = 0; n >= DOUBT_LEAST && round <= n / 8; round++) {
        uint32_t worst = SY_NONE;
        double most = sigma * sigma;
        for (uint32_t i = 0; i < n; i++) {
            const struct cell *cell = &model->cells[i];
            double square = bench->residual[i] * bench->residual[i] / bench->variance[i];
            if (bench->residual[i] < 0) {
                square /= HASTE * HASTE;
            }
            bool repeated = cell->recent_count > 1 && cell->scatter == 0;
            if (!repeated && cell->doubt == 0 && square > most) {
                most = square;
                worst = i;
            }
        }
        if (worst == SY_NONE) {
            break;
        }
        double error = bench->residual[worst];
        model->cells[worst].doubt = error * error * (1 - sigma * sigma / most);
        solve(model, bench);
    }
}

/* Few worlds to choose from: more, and narrower ones, were no more accurate but surer than right.
 */
static void tune(struct model *model, struct bench *bench) {
    static const struct {
        double slope, bend, noise;
    } worlds[] = {{1, 1, 1}, {1, 1, 3}, {1, 2.5, 1}, {3, 1, 1}, {3, 2.5, 1}, {3, 2.5, 3}};
    double most = -INFINITY;
    for (uint32_t i = 0; i < SY_COUNT(worlds); i++) {
        struct knobs tried = {usual.slope * worlds[i].slope, usual.bend * worlds[i].bend,
                              usual.reach, usual.noise * worlds[i].noise};
        double steps = (worlds[i].slope > 1) + (worlds[i].bend > 1) + (worlds[i].noise > 1);
        set_knobs(model, &tried, bench);
        double value = solve(model, bench) - STEP_PRICE * steps;
        if (value > most) {
            most = value;
            model->knobs = tried;
        }
    }
    model->tuned_count = model->cell_count;
    model->replaced = 0;
}

static bool wants_tuning(const struct model *model) {
    uint32_t n = model->cell_count;
    return n >= TUNE_LEAST &&
           (n >= TUNE_GROWTH * model->tuned_count || 2 * model->replaced >= CELLS);
}

void sy_estimate_fit(struct model *model, const struct sy_roofline *roofline, struct bench *bench) {
    uint32_t n = model->cell_count, axes = model->cost_count + 1;
    double noise = sy_estimate_noise(model), sorted[CELLS];
    memset(model->centre, 0, sizeof(model->centre));
    sy_estimate_shape(model, roofline);
    for (uint32_t i = 0; i < n; i++) {
        const struct cell *cell = &model->cells[i];
        for (uint32_t a = 0; a < axes; a++) {
            model->centre[a] += cell->point[a] / n;
        }
        bench->target[i] = cell->log_time - sy_estimate_expect(model, roofline, cell->point);
        bench->nugget[i] = noise / cell->recent_count + FLOOR_SIGMA * FLOOR_SIGMA;
    }
    memcpy(sorted, bench->target, n * sizeof(*sorted));
    model->offset = sy_quantile(sorted, n, 0.5);
    for (uint32_t i = 0; i < n; i++) {
        const struct cell *cell = &model->cells[i];
        sorted[i] = cell->log_time - sy_estimate_prior(roofline, model->cost_count, cell->point);
    }
    model->distance = sy_quantile(sorted, n, 0.5);
    for (uint32_t i = 0; i < n; i++) {
        bench->target[i] -= model->offset;
    }
    if (wants_tuning(model)) {
        doubt(model, &usual, WILD_SIGMA, bench);
        tune(model, bench);
    } else if (model->tuned_count == 0) {
        model->knobs = usual;
    }
    doubt(model, &model->knobs, DOUBT_SIGMA, bench);
    memcpy(model->weights, bench->weights, n * sizeof(*model->weights));
    for (uint32_t j = 0; j < n; j++) {
        memcpy(&model->inverse[j * CELLS + j], &bench->inverse[j * CELLS + j],
               (n - j) * sizeof(double));
    }
    model->stale = false;
}

void sy_estimate_predict(const struct model *model, const struct sy_roofline *roofline,
                         const double *point, double *ret_log_time, double *ret_log_sigma) {
    double mean = sy_estimate_expect(model, roofline, point) + model->offset;
    double variance = alike(model, &model->knobs, point, point), half[CELLS] = {0};
    for (uint32_t j = 0; j < model->cell_count; j++) {
        const double *column = &model->inverse[j * CELLS];
        double covariance = alike(model, &model->knobs, point, model->cells[j].point);
        mean += covariance * model->weights[j];
        for (uint32_t i = j; i < model->cell_count; i++) {
            half[i] += column[i] * covariance;
        }
    }
    for (uint32_t i = 0; i < model->cell_count; i++) {
        variance -= half[i] * half[i];
    }
    *ret_log_time = sy_least(sy_most(mean, -LOG_MOST), 2 * LOG_MOST);
    *ret_log_sigma =
        sqrt(sy_most(variance, FLOOR_SIGMA * FLOOR_SIGMA / 4)) * sqrt(sy_most(model->surprise, 1));
}
