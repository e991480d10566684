/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside cost: the time of one kernel on one device class over its sizes.
 *
 * In: samples and summaries per size. Out: an estimate at any size. Invariants: at most
 * SY_CURVE_SIZES sizes are kept, the least recently observed one goes first; the regressed time
 * never falls as the size grows.
 */
#ifndef SY_COST_CURVE_H
#define SY_COST_CURVE_H

#include "cost/cost.h"

#define SY_CURVE_SIZES     32
#define SY_CURVE_SAMPLES   64
#define SY_CURVE_SUMMARIES 16

struct sy_curve_summary {
    double median_ns, log_sigma;
};

struct sy_curve_size {
    double bytes, flops;                 /* 0: unknown */
    double samples_ns[SY_CURVE_SAMPLES]; /* the recent ones, as a ring */
    struct sy_curve_summary summaries[SY_CURVE_SUMMARIES];
    uint64_t sample_count, summary_count; /* ever seen */
    uint64_t weight;                      /* runs behind samples and summaries */
    uint64_t last_use;
    double log_median, log_sigma;
};

/* The regression on one feature: knots by size, and the slope beyond them. */
struct sy_curve_fit {
    uint32_t count; /* below 2: nothing to go by */
    double x[SY_CURVE_SIZES], y[SY_CURVE_SIZES], sigma[SY_CURVE_SIZES];
    double slope, residual_sigma;
};

enum { SY_CURVE_FLOPS, SY_CURVE_BYTES, SY_CURVE_FEATURES };

struct sy_curve {
    const char *class_name;
    uint32_t size_count, size_capacity;
    uint64_t clock;
    struct sy_curve_size *sizes;
    struct sy_curve_fit fits[SY_CURVE_FEATURES];
};

/* The entry for a size, made if there is none. NULL: out of memory. */
struct sy_curve_size *sy_curve_touch(struct sy_curve *curve, double bytes, double flops);
/* Must follow every change of an entry. */
SY_MUST_CHECK int sy_curve_refresh(struct sy_curve *curve, struct sy_curve_size *size);
struct sy_estimate sy_curve_estimate(const struct sy_curve *curve, double bytes, double flops);
/* Robust log-log line through the sizes that state the feature, bent to what they measured. */
void sy_curve_regress(const struct sy_curve *curve, uint32_t feature, struct sy_curve_fit *ret_fit);

#endif
