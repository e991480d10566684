/* SPDX-License-Identifier: Apache-2.0
 *
 * Small-sample statistics: quantiles, geometric means, percentile bootstrap.
 */
#include "base/base.h"
#include <math.h>
#include <stdlib.h>

#define RESAMPLES 2000
#define PURPOSE   0x626f6f74u /* "boot" */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double sy_quantile(double *values, size_t count, double probability) {
    SY_ASSERT(probability >= 0 && probability <= 1);
    if (!count) {
        return NAN;
    }
    qsort(values, count, sizeof *values, by_value);
    double at = probability * (double)(count - 1);
    size_t low = (size_t)at;
    double rest = at - (double)low;
    /* Without the test an infinite neighbour would make NAN of a finite order statistic. */
    return rest > 0 ? values[low] + rest * (values[low + 1] - values[low]) : values[low];
}

double sy_mean(const double *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return count ? sum / (double)count : NAN;
}

double sy_geomean(const double *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += log(values[i]);
    }
    return count ? exp(sum / (double)count) : NAN;
}

struct sy_interval sy_bootstrap_mean(const double *values, size_t count, uint64_t seed) {
    struct sy_interval interval = {NAN, NAN};
    double *means = count ? malloc(RESAMPLES * sizeof *means) : NULL;
    if (!means) {
        return interval;
    }
    struct sy_rng rng = sy_rng_make(seed, PURPOSE, count);
    for (int i = 0; i < RESAMPLES; i++) {
        double sum = 0;
        for (size_t j = 0; j < count; j++) {
            sum += values[sy_rng_below(&rng, (uint32_t)count)];
        }
        means[i] = sum / (double)count;
    }
    interval.low = sy_quantile(means, RESAMPLES, 0.025);
    interval.high = sy_quantile(means, RESAMPLES, 0.975);
    free(means);
    return interval;
}

struct sy_interval sy_bootstrap_geomean(const double *values, size_t count, uint64_t seed) {
    struct sy_interval interval = {NAN, NAN};
    double *logs = count ? malloc(count * sizeof *logs) : NULL;
    if (!logs) {
        return interval;
    }
    for (size_t i = 0; i < count; i++) {
        logs[i] = log(values[i]);
    }
    interval = sy_bootstrap_mean(logs, count, seed);
    free(logs);
    return (struct sy_interval){exp(interval.low), exp(interval.high)};
}
