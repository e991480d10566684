/* SPDX-License-Identifier: Apache-2.0
 *
 * Small-sample statistics: quantiles, geometric means, percentile bootstrap.
 */
#include "base/base.h"
#include <math.h>
#include <stdlib.h>

#define RESAMPLES 2000
#define PURPOSE   0x626f6f74u /* "boot" */

/* Heap sort: the C library's may allocate, and the simulator's inner loop must not. */
void sy_sort(double *values, size_t count) {
    for (size_t end = count, start = count / 2; end > 1;) {
        double value; /* sinks from start */
        if (start > 0) {
            value = values[--start];
        } else {
            value = values[--end];
            values[end] = values[0];
        }
        size_t at = start;
        for (size_t child; (child = 2 * at + 1) < end; at = child) {
            child += child + 1 < end && values[child] < values[child + 1];
            if (value >= values[child]) {
                break;
            }
            values[at] = values[child];
        }
        values[at] = value;
    }
}

double sy_quantile(double *values, size_t count, double probability) {
    SY_ASSERT(probability >= 0 && probability <= 1);
    if (!count) {
        return NAN;
    }
    sy_sort(values, count);
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

/* Values sorted into groups within groups, as they are drawn. */
struct strata {
    uint32_t *order;            /* values by outer, then inner group */
    uint32_t *inner_start;      /* first in order, per inner group and past the last */
    uint32_t *outer_start;      /* first inner group, per outer group and past the last */
    uint32_t outer_count, most; /* most: values that one resample can hold */
    uint32_t *picks;
    double *found; /* of each statistic all resamples; then those of one resample */
};

static uint32_t outer_of(const struct sy_clusters *groups, uint32_t value) {
    return groups->outer ? groups->outer[value] : 0;
}

static uint32_t inner_of(const struct sy_clusters *groups, uint32_t value) {
    return groups->inner ? groups->inner[value] : value;
}

static int by_group(const void *a, const void *b, void *context) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t outer_x = outer_of(context, x), outer_y = outer_of(context, y);
    uint32_t inner_x = inner_of(context, x), inner_y = inner_of(context, y);
    return outer_x != outer_y   ? (outer_x < outer_y ? -1 : 1)
           : inner_x != inner_y ? (inner_x < inner_y ? -1 : 1)
                                : (x > y) - (x < y);
}

static void find_groups(struct strata *s, struct sy_clusters *groups, uint32_t count) {
    uint32_t inner = 0, outer = 0, largest_inner = 0, largest_outer = 0;
    for (uint32_t i = 0; i < count; i++) {
        s->order[i] = i;
    }
    qsort_r(s->order, count, sizeof *s->order, by_group, groups);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t now = s->order[i], before = i ? s->order[i - 1] : now;
        bool new_outer = i == 0 || outer_of(groups, now) != outer_of(groups, before);
        if (new_outer) {
            s->outer_start[outer++] = inner;
        }
        if (new_outer || inner_of(groups, now) != inner_of(groups, before)) {
            s->inner_start[inner++] = i;
        }
    }
    s->inner_start[inner] = count;
    s->outer_start[outer] = inner;
    for (uint32_t i = 0; i < inner; i++) {
        uint32_t size = s->inner_start[i + 1] - s->inner_start[i];
        largest_inner = size > largest_inner ? size : largest_inner;
    }
    for (uint32_t o = 0; o < outer; o++) {
        uint32_t size = s->outer_start[o + 1] - s->outer_start[o];
        largest_outer = size > largest_outer ? size : largest_outer;
    }
    s->outer_count = outer;
    s->most = outer * largest_outer * largest_inner;
}

static size_t draw(const struct strata *s, struct sy_rng *rng) {
    size_t count = 0;
    for (uint32_t o = 0; o < s->outer_count; o++) {
        uint32_t outer = sy_rng_below(rng, s->outer_count);
        uint32_t first = s->outer_start[outer], groups = s->outer_start[outer + 1] - first;
        for (uint32_t g = 0; g < groups; g++) {
            uint32_t inner = first + sy_rng_below(rng, groups);
            uint32_t begin = s->inner_start[inner], size = s->inner_start[inner + 1] - begin;
            for (uint32_t i = 0; i < size; i++) {
                s->picks[count++] = s->order[begin + (size > 1 ? sy_rng_below(rng, size) : 0)];
            }
        }
    }
    return count;
}

static void resample(struct strata *s, uint64_t seed, uint32_t count, sy_statistic *statistic,
                     const void *context, uint32_t statistic_count,
                     struct sy_interval *ret_intervals) {
    struct sy_rng rng = sy_rng_make(seed, PURPOSE, count);
    double *row = s->found + (size_t)RESAMPLES * statistic_count;
    for (uint32_t i = 0; i < RESAMPLES; i++) {
        size_t picked = draw(s, &rng);
        statistic(context, s->picks, picked, row);
        for (uint32_t k = 0; k < statistic_count; k++) {
            s->found[(size_t)k * RESAMPLES + i] = row[k];
        }
    }
    for (uint32_t k = 0; k < statistic_count; k++) {
        double *found = s->found + (size_t)k * RESAMPLES;
        ret_intervals[k].low = sy_quantile(found, RESAMPLES, 0.025);
        ret_intervals[k].high = sy_quantile(found, RESAMPLES, 0.975);
    }
}

void sy_bootstrap(uint32_t count, struct sy_clusters clusters, uint64_t seed,
                  sy_statistic *statistic, const void *context, uint32_t statistic_count,
                  struct sy_interval *ret_intervals) {
    struct strata s = {.order = calloc(count + 1u, sizeof *s.order),
                       .inner_start = calloc(count + 1u, sizeof *s.inner_start),
                       .outer_start = calloc(count + 1u, sizeof *s.outer_start),
                       .found =
                           calloc((RESAMPLES + 1u) * (size_t)statistic_count, sizeof *s.found)};
    for (uint32_t k = 0; k < statistic_count; k++) {
        ret_intervals[k] = (struct sy_interval){NAN, NAN};
    }
    if (count && s.order && s.inner_start && s.outer_start && s.found) {
        find_groups(&s, &clusters, count);
        s.picks = calloc(s.most, sizeof *s.picks);
    }
    if (s.picks) {
        resample(&s, seed, count, statistic, context, statistic_count, ret_intervals);
    }
    free(s.order);
    free(s.inner_start);
    free(s.outer_start);
    free(s.found);
    free(s.picks);
}

static void mean_of(const void *context, const uint32_t *picks, size_t count, double *ret_mean) {
    const double *values = context;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[picks[i]];
    }
    *ret_mean = sum / (double)count;
}

struct sy_interval sy_bootstrap_mean(const double *values, uint32_t count,
                                     struct sy_clusters clusters, uint64_t seed) {
    struct sy_interval interval;
    sy_bootstrap(count, clusters, seed, mean_of, values, 1, &interval);
    return interval;
}

struct sy_interval sy_bootstrap_geomean(const double *values, uint32_t count,
                                        struct sy_clusters clusters, uint64_t seed) {
    struct sy_interval interval = {NAN, NAN};
    double *logs = count ? malloc(count * sizeof *logs) : NULL;
    if (!logs) {
        return interval;
    }
    for (size_t i = 0; i < count; i++) {
        logs[i] = log(values[i]);
    }
    interval = sy_bootstrap_mean(logs, count, clusters, seed);
    free(logs);
    return (struct sy_interval){exp(interval.low), exp(interval.high)};
}
