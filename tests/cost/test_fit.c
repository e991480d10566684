/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/store.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#define SEED 11

static void draw(double *values, uint32_t count, double median, double sigma, uint64_t stream) {
    struct sy_rng rng = sy_rng_make(SEED, 1, stream);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = median * exp(sigma * sy_rng_normal(&rng));
    }
}

static void fit(const double *values, uint32_t count, double *ret_median, double *ret_sigma) {
    static double logs[20000], work[20000];
    for (uint32_t i = 0; i < count; i++) {
        logs[i] = log(values[i]);
    }
    sy_cost_fit(logs, count, work, ret_median, ret_sigma);
    *ret_median = exp(*ret_median);
}

static void log_normal_gives_its_sigma(void **state) {
    (void)state;
    static double values[20000];
    const double sigmas[] = {0.01, 0.3, 1.5};
    for (size_t i = 0; i < SY_COUNT(sigmas); i++) {
        double median, sigma;
        draw(values, SY_COUNT(values), 500, sigmas[i], i);
        fit(values, SY_COUNT(values), &median, &sigma);
        assert_true(fabs(log(median / 500)) < 0.05 * sigmas[i]);
        assert_true(fabs(sigma / sigmas[i] - 1) < 0.03);
    }
}

static void a_tenth_of_wild_samples_is_ignored(void **state) {
    (void)state;
    double values[200], median, sigma;
    draw(values, 200, 10, 0.1, 7);
    for (uint32_t i = 0; i < 20; i++) {
        values[i * 10] *= 1000;
    }
    fit(values, 200, &median, &sigma);
    assert_true(fabs(median / 10 - 1) < 0.05);
    assert_true(sigma < 0.2);
}

static void few_and_equal_samples(void **state) {
    (void)state;
    double median, sigma, one[] = {42}, equal[] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 300}, two[] = {1, 4};
    fit(one, 1, &median, &sigma);
    assert_float_equal(median, 42, 1e-9);
    assert_float_equal(sigma, 0, 0);
    fit(equal, 10, &median, &sigma);
    assert_float_equal(median, 3, 1e-6);
    assert_true(sigma >= 0 && sigma < 0.01);
    fit(two, 2, &median, &sigma);
    assert_float_equal(median, 2, 1e-6);
    assert_true(sigma > 0.3 && sigma < 2);
}

static void scale_does_not_matter(void **state) {
    (void)state;
    double values[50], median, sigma, median_scaled, sigma_scaled;
    draw(values, 50, 1, 0.4, 9);
    fit(values, 50, &median, &sigma);
    for (uint32_t i = 0; i < 50; i++) {
        values[i] *= 1e9;
    }
    fit(values, 50, &median_scaled, &sigma_scaled);
    assert_true(fabs(median_scaled / median / 1e9 - 1) < 1e-6);
    assert_true(fabs(sigma_scaled - sigma) < 1e-6);
}

int main(void) {
    print_message("# seed %d\n", SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_normal_gives_its_sigma),
        cmocka_unit_test(a_tenth_of_wild_samples_is_ignored),
        cmocka_unit_test(few_and_equal_samples),
        cmocka_unit_test(scale_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
