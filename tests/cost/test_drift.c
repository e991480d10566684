/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/cost.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>

#define SEED 5

static struct sy_drift after(uint32_t count, double ratio) {
    struct sy_drift drift;
    sy_drift_init(&drift);
    for (uint32_t i = 0; i < count; i++) {
        sy_drift_observe(&drift, ratio);
    }
    return drift;
}

static void starts_at_one(void **state) {
    (void)state;
    struct sy_drift drift;
    sy_drift_init(&drift);
    assert_float_equal(sy_drift_ratio(&drift), 1, 0);
}

static void a_spike_hardly_moves_it(void **state) {
    (void)state;
    for (uint32_t before = 5; before < 100; before += 7) {
        struct sy_drift drift = after(before, 1);
        sy_drift_observe(&drift, 100);
        assert_true(fabs(sy_drift_ratio(&drift) - 1) < 0.05);
        for (uint32_t i = 0; i < 10; i++) {
            sy_drift_observe(&drift, 1);
        }
        assert_true(fabs(sy_drift_ratio(&drift) - 1) < 0.05);
    }
}

static void first_spike_is_bounded_too(void **state) {
    (void)state;
    struct sy_drift drift = after(1, 1e6);
    assert_true(sy_drift_ratio(&drift) < 1.5);
}

static void follows_a_step(void **state) {
    (void)state;
    const double steps[] = {0.25, 0.5, 1.3, 2, 3};
    for (size_t i = 0; i < SY_COUNT(steps); i++) {
        struct sy_drift drift = after(200, 1);
        for (uint32_t j = 0; j < 20; j++) {
            sy_drift_observe(&drift, steps[i]);
        }
        assert_true(fabs(log(sy_drift_ratio(&drift) / steps[i])) < 0.1);
    }
}

static void settles_in_noise(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(SEED, 1, 0);
    struct sy_drift drift = after(0, 1);
    double square = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        double spike = sy_rng_uniform(&rng) < 0.02 ? 50 : 1;
        sy_drift_observe(&drift, 1.5 * exp(0.3 * sy_rng_normal(&rng)) * spike);
        double error = drift.log_ratio - log(1.5);
        square += i >= 100 ? error * error : 0;
    }
    assert_true(sqrt(square / 19900) < 0.12);
}

static void nonsense_is_ignored(void **state) {
    (void)state;
    struct sy_drift drift = after(3, 2), same = drift;
    sy_drift_observe(&drift, 0);
    sy_drift_observe(&drift, -1);
    sy_drift_observe(&drift, NAN);
    sy_drift_observe(&drift, INFINITY);
    assert_memory_equal(&drift, &same, sizeof drift);
}

int main(void) {
    print_message("# seed %d\n", SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_at_one),
        cmocka_unit_test(a_spike_hardly_moves_it),
        cmocka_unit_test(first_spike_is_bounded_too),
        cmocka_unit_test(follows_a_step),
        cmocka_unit_test(settles_in_noise),
        cmocka_unit_test(nonsense_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
