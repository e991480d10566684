/* SPDX-License-Identifier: Apache-2.0
 *
 * Time over size: a Theil-Sen line in logarithms, bent to the well-measured sizes.
 *
 * The line alone is poor where a GPU fills up only at large sizes; the measured points alone
 * follow every odd one. So each size keeps its distance from the line in proportion to the runs
 * behind it, and the bent line is made monotone by pooling neighbours that fall.
 */
#include "cost/curve.h"
#include <math.h>

#define SAME_X     1e-4
#define SLOPE_MAX  3.0 /* cubic in the size; steeper is noise */
#define TRUST_RUNS 4.0 /* runs at which half of the distance from the line is believed */
#define PAIRS      (SY_CURVE_SIZES * (SY_CURVE_SIZES - 1) / 2)

struct knot {
    double x, y, sigma, weight;
};

static double feature_of(const struct sy_curve_size *size, uint32_t feature) {
    return feature == SY_CURVE_FLOPS ? size->flops : size->bytes;
}

/* Knots sorted by x. Sizes that agree in the feature become one knot. */
static uint32_t collect(const struct sy_curve *curve, uint32_t feature, struct knot *knots) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < curve->size_count; i++) {
        const struct sy_curve_size *size = &curve->sizes[i];
        double value = feature_of(size, feature);
        if (!(value > 0) || size->weight == 0) {
            continue;
        }
        struct knot knot = {log(value), size->log_median, size->log_sigma, (double)size->weight};
        uint32_t at = 0;
        while (at < count && knots[at].x < knot.x - SAME_X) {
            at++;
        }
        if (at < count && knots[at].x <= knot.x + SAME_X) {
            double sum = knots[at].weight + knot.weight, share = knot.weight / sum;
            knots[at].y += share * (knot.y - knots[at].y);
            knots[at].sigma = fmax(knots[at].sigma, knot.sigma);
            knots[at].weight = sum;
            continue;
        }
        for (uint32_t j = count++; j > at; j--) {
            knots[j] = knots[j - 1];
        }
        knots[at] = knot;
    }
    return count;
}

static double theil_sen(const struct knot *knots, uint32_t count) {
    double slopes[PAIRS];
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = i + 1; j < count; j++) {
            slopes[pairs++] = (knots[j].y - knots[i].y) / (knots[j].x - knots[i].x);
        }
    }
    return fmin(fmax(sy_quantile(slopes, pairs, 0.5), 0), SLOPE_MAX);
}

/* Median of y - slope * x, and the spread around it. */
static double intercept_of(const struct knot *knots, uint32_t count, double slope,
                           double *ret_spread) {
    double rest[SY_CURVE_SIZES];
    for (uint32_t i = 0; i < count; i++) {
        rest[i] = knots[i].y - slope * knots[i].x;
    }
    double intercept = sy_quantile(rest, count, 0.5);
    for (uint32_t i = 0; i < count; i++) {
        rest[i] = fabs(rest[i] - intercept);
    }
    *ret_spread = 1.4826 * sy_quantile(rest, count, 0.5);
    return intercept;
}

/* Pool adjacent violators: the nearest non-falling sequence, weighted by runs. */
static void make_monotone(struct knot *knots, uint32_t count) {
    double level[SY_CURVE_SIZES], weight[SY_CURVE_SIZES];
    uint32_t length[SY_CURVE_SIZES], blocks = 0;
    for (uint32_t i = 0; i < count; i++) {
        level[blocks] = knots[i].y;
        weight[blocks] = knots[i].weight;
        length[blocks++] = 1;
        while (blocks > 1 && level[blocks - 2] > level[blocks - 1]) {
            double sum = weight[blocks - 2] + weight[blocks - 1];
            level[blocks - 2] += weight[blocks - 1] / sum * (level[blocks - 1] - level[blocks - 2]);
            weight[blocks - 2] = sum;
            length[blocks - 2] += length[blocks - 1];
            blocks--;
        }
    }
    for (uint32_t block = 0, i = 0; block < blocks; block++) {
        for (uint32_t j = 0; j < length[block]; j++, i++) {
            knots[i].y = level[block];
        }
    }
}

void sy_curve_regress(const struct sy_curve *curve, uint32_t feature,
                      struct sy_curve_fit *ret_fit) {
    struct knot knots[SY_CURVE_SIZES];
    uint32_t count = collect(curve, feature, knots);
    *ret_fit = (struct sy_curve_fit){.count = count};
    if (count < 2) {
        return;
    }
    double spread, slope = theil_sen(knots, count);
    double intercept = intercept_of(knots, count, slope, &spread);
    for (uint32_t i = 0; i < count; i++) {
        double line = intercept + slope * knots[i].x;
        double trust = knots[i].weight / (knots[i].weight + TRUST_RUNS);
        knots[i].y = line + trust * (knots[i].y - line);
    }
    make_monotone(knots, count);
    for (uint32_t i = 0; i < count; i++) {
        ret_fit->x[i] = knots[i].x;
        ret_fit->y[i] = knots[i].y;
        ret_fit->sigma[i] = knots[i].sigma;
    }
    ret_fit->slope = slope;
    ret_fit->residual_sigma = spread;
}
