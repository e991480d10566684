/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "check.h"
#include <math.h>
#include <string.h>

static void quantiles_interpolate(void **state) {
    (void)state;
    double values[] = {10, 3, 1, 4, 2};
    /* What R's quantile() says of them. */
    assert_near(sy_quantile(values, 5, 0.9), 7.6, 1e-12);
    for (size_t i = 1; i < SY_COUNT(values); i++) {
        assert_true(values[i - 1] < values[i]);
    }
    assert_near(sy_quantile(values, 5, 0), 1, 0);
    assert_near(sy_quantile(values, 5, 0.25), 2, 0);
    assert_near(sy_quantile(values, 5, 0.5), 3, 0);
    assert_near(sy_quantile(values, 5, 0.6), 3.4, 1e-12);
    assert_near(sy_quantile(values, 5, 1), 10, 0);
    assert_near(sy_quantile(values, 4, 0.5), 2.5, 0);
    assert_near(sy_quantile(values, 1, 0.7), 1, 0);
    assert_true(isnan(sy_quantile(values, 0, 0.5)));
}

static void infinities_stay_where_they_are(void **state) {
    (void)state;
    double values[] = {INFINITY, 1, 2};
    assert_near(sy_quantile(values, 3, 0), 1, 0);
    assert_near(sy_quantile(values, 3, 0.5), 2, 0);
    assert_true(isinf(sy_quantile(values, 3, 0.75)));
    assert_true(isinf(sy_quantile(values, 3, 1)));
}

static void means(void **state) {
    (void)state;
    const double values[] = {1, 10, 100};
    assert_near(sy_mean(values, 3), 37, 1e-12);
    assert_near(sy_geomean(values, 3), 10, 1e-12);
    assert_near(sy_geomean(values, 1), 1, 0);
    assert_true(isnan(sy_mean(values, 0)));
    assert_true(isnan(sy_geomean(values, 0)));
    const double huge[] = {1e300, 1e300, 1e-300};
    assert_near(sy_geomean(huge, 3) / 1e100, 1, 1e-12);
}

static const struct sy_clusters alone = {0};

static void same_seed_same_interval(void **state) {
    (void)state;
    const double values[] = {1, 2, 3, 5, 8, 13, 21, 34};
    struct sy_interval one = sy_bootstrap_geomean(values, 8, alone, 1);
    struct sy_interval again = sy_bootstrap_geomean(values, 8, alone, 1);
    struct sy_interval other = sy_bootstrap_geomean(values, 8, alone, 2);
    assert_memory_equal(&one, &again, sizeof one);
    assert_memory_not_equal(&one, &other, sizeof one);
    assert_true(one.low > 1 && one.low < sy_geomean(values, 8));
    assert_true(one.high < 34 && one.high > sy_geomean(values, 8));
    struct sy_interval plain = sy_bootstrap_mean(values, 8, alone, 1);
    assert_true(plain.low < sy_mean(values, 8) && plain.high > sy_mean(values, 8));
}

static void intervals_of_little_or_nothing(void **state) {
    (void)state;
    const double same[] = {4, 4, 4};
    struct sy_interval found = sy_bootstrap_mean(same, 3, alone, 1);
    assert_near(found.low, 4, 0);
    assert_near(found.high, 4, 0);
    found = sy_bootstrap_geomean(same, 1, alone, 1);
    assert_near(found.low, 4, 1e-12);
    assert_near(found.high, 4, 1e-12);
    found = sy_bootstrap_mean(same, 0, alone, 1);
    assert_true(isnan(found.low) && isnan(found.high));
    found = sy_bootstrap_geomean(same, 0, alone, 1);
    assert_true(isnan(found.low) && isnan(found.high));
}

#define TRIALS 300
#define SAMPLE 30

/* 95 % in the limit; with 30 values a percentile bootstrap is a little too sure of itself. */
static void intervals_cover_the_truth(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(4);
    uint32_t covered = 0;
    double width = 0;
    for (uint32_t i = 0; i < TRIALS; i++) {
        double values[SAMPLE];
        for (size_t j = 0; j < SAMPLE; j++) {
            values[j] = exp(0.3 * sy_rng_normal(&rng));
        }
        struct sy_interval found = sy_bootstrap_geomean(values, SAMPLE, alone, i);
        covered += found.low <= 1 && found.high >= 1;
        width += log(found.high / found.low) / TRIALS;
    }
    assert_in_range(covered, TRIALS * 87 / 100, TRIALS * 98 / 100);
    assert_near(width, 2 * 1.96 * 0.3 / sqrt(SAMPLE), 0.02);
}

#define GRAPHS 40
#define WORLDS 20
#define SUITES 10

/* A graph's worlds differ little, graphs differ much: the width is that of 40 values, not of 800.
 */
static void clusters_are_drawn_first(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(5);
    double values[GRAPHS * WORLDS], means[GRAPHS], variance = 0;
    uint32_t graphs[GRAPHS * WORLDS];
    for (uint32_t g = 0; g < GRAPHS; g++) {
        double graph = sy_rng_normal(&rng);
        for (uint32_t w = 0; w < WORLDS; w++) {
            uint32_t at = w * GRAPHS + g; /* in any order */
            values[at] = graph + 0.1 * sy_rng_normal(&rng);
            graphs[at] = 7 * g;
        }
    }
    for (uint32_t g = 0; g < GRAPHS; g++) {
        means[g] = 0;
        for (uint32_t w = 0; w < WORLDS; w++) {
            means[g] += values[w * GRAPHS + g] / WORLDS;
        }
    }
    for (uint32_t g = 0; g < GRAPHS; g++) {
        variance += pow(means[g] - sy_mean(means, GRAPHS), 2) / (GRAPHS - 1);
    }
    double wide = 2 * 1.96 * sqrt(variance / GRAPHS);
    struct sy_interval found =
        sy_bootstrap_mean(values, GRAPHS * WORLDS, (struct sy_clusters){.inner = graphs}, 1);
    assert_near((found.high - found.low) / wide, 1, 0.1);
    assert_true(found.low < sy_mean(values, GRAPHS * WORLDS));
    assert_true(found.high > sy_mean(values, GRAPHS * WORLDS));
    found = sy_bootstrap_mean(values, GRAPHS * WORLDS, alone, 1);
    assert_near((found.high - found.low) / wide, 1 / sqrt(WORLDS), 0.03);
}

/* Where graphs are alike the interval is that of the worlds: drawing graphs first adds the little
 * by which their means differ by chance, so that it is up to sqrt(2) too wide, never too narrow. */
static void clusters_that_are_alike_cost_little(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(6);
    double values[GRAPHS * WORLDS];
    uint32_t graphs[GRAPHS * WORLDS];
    for (uint32_t i = 0; i < GRAPHS * WORLDS; i++) {
        values[i] = sy_rng_normal(&rng);
        graphs[i] = i / WORLDS;
    }
    double width = 2 * 1.96 / sqrt(GRAPHS * WORLDS);
    struct sy_interval found =
        sy_bootstrap_mean(values, GRAPHS * WORLDS, (struct sy_clusters){.inner = graphs}, 1);
    assert_in_range(100 * (found.high - found.low) / width, 90, 160);
}

/* Suites hold graphs, graphs hold worlds; suites differ most. Sizes may differ, too. */
static void clusters_hold_clusters(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(7);
    double values[GRAPHS * WORLDS];
    uint32_t suites[GRAPHS * WORLDS], graphs[GRAPHS * WORLDS], count = 0;
    for (uint32_t suite = 0; suite < SUITES; suite++) {
        for (uint32_t g = 0; g < GRAPHS / SUITES; g++) {
            for (uint32_t w = 0; w < WORLDS - g % 2; w++) {
                values[count] = suite + 0.01 * sy_rng_normal(&rng);
                suites[count] = suite;
                graphs[count++] = g; /* numbered anew in each suite */
            }
        }
    }
    double sigma = sqrt((SUITES * SUITES - 1) / 12.0); /* of 0, 1, ... 9 */
    struct sy_interval found =
        sy_bootstrap_mean(values, count, (struct sy_clusters){suites, graphs}, 1);
    assert_near((found.high - found.low) / (2 * 1.96 * sigma / sqrt(SUITES)), 1, 0.1);
    found = sy_bootstrap_mean(values, count, (struct sy_clusters){.inner = suites}, 1);
    assert_near((found.high - found.low) / (2 * 1.96 * sigma / sqrt(SUITES)), 1, 0.1);
}

static void ends(const void *context, const uint32_t *picks, size_t count, double *ret_ends) {
    const double *values = context;
    ret_ends[0] = INFINITY;
    ret_ends[1] = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        ret_ends[0] = fmin(ret_ends[0], values[picks[i]]);
        ret_ends[1] = fmax(ret_ends[1], values[picks[i]]);
    }
}

static void any_statistics_will_do(void **state) {
    (void)state;
    const double values[] = {1, 2, 3, 4};
    const uint32_t pairs[] = {0, 0, 1, 1};
    struct sy_interval found[2];
    sy_bootstrap(4, (struct sy_clusters){.inner = pairs}, 1, ends, values, 2, found);
    assert_true(found[0].low == 1 && found[0].high >= 3);
    assert_true(found[1].low <= 2 && found[1].high == 4);
    sy_bootstrap(0, alone, 1, ends, values, 2, found);
    assert_true(isnan(found[0].low) && isnan(found[1].high));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_interpolate),
        cmocka_unit_test(infinities_stay_where_they_are),
        cmocka_unit_test(means),
        cmocka_unit_test(same_seed_same_interval),
        cmocka_unit_test(intervals_of_little_or_nothing),
        cmocka_unit_test(intervals_cover_the_truth),
        cmocka_unit_test(clusters_are_drawn_first),
        cmocka_unit_test(clusters_that_are_alike_cost_little),
        cmocka_unit_test(clusters_hold_clusters),
        cmocka_unit_test(any_statistics_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
