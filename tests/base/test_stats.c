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

static void same_seed_same_interval(void **state) {
    (void)state;
    const double values[] = {1, 2, 3, 5, 8, 13, 21, 34};
    struct sy_interval one = sy_bootstrap_geomean(values, 8, 1);
    struct sy_interval again = sy_bootstrap_geomean(values, 8, 1);
    struct sy_interval other = sy_bootstrap_geomean(values, 8, 2);
    assert_memory_equal(&one, &again, sizeof one);
    assert_memory_not_equal(&one, &other, sizeof one);
    assert_true(one.low > 1 && one.low < sy_geomean(values, 8));
    assert_true(one.high < 34 && one.high > sy_geomean(values, 8));
    struct sy_interval plain = sy_bootstrap_mean(values, 8, 1);
    assert_true(plain.low < sy_mean(values, 8) && plain.high > sy_mean(values, 8));
}

static void intervals_of_little_or_nothing(void **state) {
    (void)state;
    const double same[] = {4, 4, 4};
    struct sy_interval found = sy_bootstrap_mean(same, 3, 1);
    assert_near(found.low, 4, 0);
    assert_near(found.high, 4, 0);
    found = sy_bootstrap_geomean(same, 1, 1);
    assert_near(found.low, 4, 1e-12);
    assert_near(found.high, 4, 1e-12);
    found = sy_bootstrap_mean(same, 0, 1);
    assert_true(isnan(found.low) && isnan(found.high));
    found = sy_bootstrap_geomean(same, 0, 1);
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
        struct sy_interval found = sy_bootstrap_geomean(values, SAMPLE, i);
        covered += found.low <= 1 && found.high >= 1;
        width += log(found.high / found.low) / TRIALS;
    }
    assert_in_range(covered, TRIALS * 87 / 100, TRIALS * 98 / 100);
    assert_near(width, 2 * 1.96 * 0.3 / sqrt(SAMPLE), 0.02);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_interpolate),
        cmocka_unit_test(infinities_stay_where_they_are),
        cmocka_unit_test(means),
        cmocka_unit_test(same_seed_same_interval),
        cmocka_unit_test(intervals_of_little_or_nothing),
        cmocka_unit_test(intervals_cover_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
