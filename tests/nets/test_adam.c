/* SPDX-License-Identifier: Apache-2.0 */
#include "nets/nets.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>

/* By hand, from the paper's algorithm 1: with bias correction the first step is rate * sign. */
static void first_steps(void **state) {
    (void)state;
    float first[3] = {0}, second[3] = {0}, block[3] = {1, 2, 3}, slopes[3] = {0.5f, -40, 0};
    struct sy_adam adam = {.count = 3, .first = first, .second = second};
    double norm = sy_adam_step(&adam, block, slopes, 0.01, 0);
    assert_float_equal((float)norm, sqrtf(0.25f + 1600), 1e-4f);
    assert_float_equal(block[0], 0.99f, 1e-6f);
    assert_float_equal(block[1], 2.01f, 1e-6f);
    assert_true(block[2] == 3);
    assert_int_equal(adam.steps, 1);
    slopes[0] = -1;
    sy_adam_step(&adam, block, slopes, 0.01, 0);
    double m = (0.9 * 0.05 - 0.1) / (1 - 0.81), v = (0.999 * 2.5e-4 + 1e-3) / (1 - 0.998001);
    assert_float_equal(block[0], (float)(0.99 - 0.01 * m / (sqrt(v) + 1e-8)), 1e-6f);
}

static void clips(void **state) {
    (void)state;
    float first[2] = {0}, second[2] = {0}, block[2] = {0}, slopes[2] = {3, 4};
    struct sy_adam adam = {.count = 2, .first = first, .second = second};
    assert_true(sy_adam_step(&adam, block, slopes, 0.1, 1) == 5);
    assert_float_equal(slopes[0], 0.6f, 1e-6f);
    assert_float_equal(slopes[1], 0.8f, 1e-6f);
    assert_float_equal(first[1], 0.08f, 1e-6f);
}

static void refuses_what_is_not_finite(void **state) {
    (void)state;
    float first[2] = {0}, second[2] = {0}, block[2] = {1, 2}, slopes[2] = {NAN, 4};
    struct sy_adam adam = {.count = 2, .first = first, .second = second};
    assert_true(isnan(sy_adam_step(&adam, block, slopes, 0.1, 1)));
    assert_true(block[0] == 1 && block[1] == 2 && adam.steps == 0 && first[1] == 0);
}

/* A valley of f(x, y) = (x - 3)^2 + 10 (y + 1)^2. */
static void finds_a_minimum(void **state) {
    (void)state;
    float first[2] = {0}, second[2] = {0}, block[2] = {0}, slopes[2];
    struct sy_adam adam = {.count = 2, .first = first, .second = second};
    for (int i = 0; i < 2000; i++) {
        slopes[0] = 2 * (block[0] - 3);
        slopes[1] = 20 * (block[1] + 1);
        sy_adam_step(&adam, block, slopes, 0.02, 0);
    }
    assert_float_equal(block[0], 3, 1e-3f);
    assert_float_equal(block[1], -1, 1e-3f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_steps),
        cmocka_unit_test(clips),
        cmocka_unit_test(refuses_what_is_not_finite),
        cmocka_unit_test(finds_a_minimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
