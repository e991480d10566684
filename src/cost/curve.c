/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes of one kernel on one class: what was measured, and the estimate in between.
 */
#include "cost/curve.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define SAME_SIZE        1e-4 /* recorded features have six digits */
#define SUMMARY_SAMPLES  8.0  /* a published summary weighs as much as so many own samples */
#define EXTRAPOLATE_MAX  6.91 /* log(1000): further from any measured size nothing is claimed */
#define EXTRAPOLATE_RISE 0.1  /* spread added per e-fold between the size and the nearest knot */

static bool is_same(double a, double b) {
    return fabs(a - b) <= SAME_SIZE * fmax(fabs(a), fabs(b));
}

static struct sy_curve_size *find_exact(const struct sy_curve *curve, double bytes, double flops) {
    for (uint32_t i = 0; i < curve->size_count; i++) {
        struct sy_curve_size *size = &curve->sizes[i];
        if (is_same(size->bytes, bytes) && is_same(size->flops, flops)) {
            return size;
        }
    }
    return NULL;
}

/* Agrees in flops where both state them, else in bytes; of several the nearest in bytes: the same
 * tile in single and double precision is the same amount of work. */
static const struct sy_curve_size *find_alike(const struct sy_curve *curve, double bytes,
                                              double flops) {
    const struct sy_curve_size *best = NULL;
    double best_distance = INFINITY;
    for (uint32_t i = 0; i < curve->size_count; i++) {
        const struct sy_curve_size *size = &curve->sizes[i];
        bool by_flops = flops > 0 && size->flops > 0;
        if (by_flops ? !is_same(size->flops, flops) : !(bytes > 0 && is_same(size->bytes, bytes))) {
            continue;
        }
        double distance = fabs(size->bytes - bytes);
        if (distance < best_distance) {
            best_distance = distance;
            best = size;
        }
    }
    return best;
}

static struct sy_curve_size *least_recent(struct sy_curve *curve) {
    struct sy_curve_size *oldest = &curve->sizes[0];
    for (uint32_t i = 1; i < curve->size_count; i++) {
        if (curve->sizes[i].last_use < oldest->last_use) {
            oldest = &curve->sizes[i];
        }
    }
    return oldest;
}

struct sy_curve_size *sy_curve_touch(struct sy_curve *curve, double bytes, double flops) {
    struct sy_curve_size *size = find_exact(curve, bytes, flops);
    if (!size) {
        if (curve->size_count == SY_CURVE_SIZES) {
            size = least_recent(curve);
        } else if (sy_grow(&curve->sizes, &curve->size_capacity, curve->size_count + 1,
                           sizeof *curve->sizes)) {
            return NULL;
        } else {
            size = &curve->sizes[curve->size_count++];
        }
        *size = (struct sy_curve_size){.bytes = bytes, .flops = flops};
    }
    size->last_use = ++curve->clock;
    return size;
}

static uint32_t ring_count(uint64_t seen, uint32_t capacity) {
    return seen < capacity ? (uint32_t)seen : capacity;
}

/* Several summaries of one size come from different devices of the class: their middle, with the
 * spread within and between them. */
static int fit_summaries(const struct sy_curve_size *size, double *ret_median, double *ret_sigma) {
    double medians[SY_CURVE_SUMMARIES], sigmas[SY_CURVE_SUMMARIES], between;
    uint32_t count = ring_count(size->summary_count, SY_CURVE_SUMMARIES);
    for (uint32_t i = 0; i < count; i++) {
        medians[i] = size->summaries[i].median_ns;
        sigmas[i] = size->summaries[i].log_sigma;
    }
    int code = sy_cost_fit(medians, count, ret_median, &between);
    if (!code) {
        *ret_sigma = hypot(sy_quantile(sigmas, count, 0.5), between);
    }
    return code;
}

static int refresh_size(struct sy_curve_size *size) {
    uint32_t count = ring_count(size->sample_count, SY_CURVE_SAMPLES);
    double median = 1, sigma = 0, given_median = 1, given_sigma = 0;
    int code = count ? sy_cost_fit(size->samples_ns, count, &median, &sigma) : 0;
    if (!code && size->summary_count) {
        code = fit_summaries(size, &given_median, &given_sigma);
    }
    if (code) {
        return code;
    }
    double prior = size->summary_count ? SUMMARY_SAMPLES : 0, share = count / (count + prior);
    size->log_median = share * log(median) + (1 - share) * log(given_median);
    size->log_sigma = share * sigma + (1 - share) * given_sigma;
    return 0;
}

int sy_curve_refresh(struct sy_curve *curve, struct sy_curve_size *size) {
    int code = refresh_size(size);
    if (!code) {
        for (uint32_t feature = 0; feature < SY_CURVE_FEATURES; feature++) {
            sy_curve_regress(curve, feature, &curve->fits[feature]);
        }
    }
    return code;
}

static struct sy_estimate interpolate(const struct sy_curve_fit *fit, double x) {
    uint32_t last = fit->count - 1, above = 0;
    while (above <= last && fit->x[above] < x) {
        above++;
    }
    uint32_t low = above == 0 ? 0 : above - 1, high = above > last ? last : above;
    double y, distance = fmin(fabs(x - fit->x[low]), fabs(x - fit->x[high]));
    if (distance > EXTRAPOLATE_MAX) {
        return (struct sy_estimate){.source = SY_COST_UNKNOWN};
    }
    if (low == high) {
        y = fit->y[low] + fit->slope * (x - fit->x[low]);
    } else {
        double share = (x - fit->x[low]) / (fit->x[high] - fit->x[low]);
        y = fit->y[low] + share * (fit->y[high] - fit->y[low]);
    }
    /* Near a measured size its own spread counts; the misfit of the line comes with distance. */
    double spread =
        hypot(fmax(fit->sigma[low], fit->sigma[high]), fit->residual_sigma * fmin(1, distance));
    return (struct sy_estimate){.median_ns = exp(y),
                                .log_sigma = hypot(spread, EXTRAPOLATE_RISE * distance),
                                .source = SY_COST_REGRESSED};
}

struct sy_estimate sy_curve_estimate(const struct sy_curve *curve, double bytes, double flops) {
    const struct sy_curve_size *size = find_exact(curve, bytes, flops);
    size = size ? size : find_alike(curve, bytes, flops);
    if (size) {
        return (struct sy_estimate){.median_ns = exp(size->log_median),
                                    .log_sigma = size->log_sigma,
                                    .sample_count = size->weight,
                                    .source = SY_COST_MEASURED};
    }
    const struct sy_curve_fit *by_flops = &curve->fits[SY_CURVE_FLOPS];
    const struct sy_curve_fit *by_bytes = &curve->fits[SY_CURVE_BYTES];
    if (flops > 0 && by_flops->count >= 2) {
        return interpolate(by_flops, log(flops));
    }
    if (bytes > 0 && by_bytes->count >= 2) {
        return interpolate(by_bytes, log(bytes));
    }
    return (struct sy_estimate){.source = SY_COST_UNKNOWN};
}
