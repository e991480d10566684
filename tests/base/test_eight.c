/* SPDX-License-Identifier: Apache-2.0
 *
 * Eight floats at a time: sums are those of the lanes, logarithms and exponentials those of libm to
 * single precision.
 */
#include "base/eight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void exponentials(void **state) {
    (void)state;
    for (double from = -86.99; from <= 0; from += 0.01) {
        sy_eight x;
        for (uint32_t i = 0; i < 8; i++) {
            x[i] = (float)sy_least(0, from + 0.00123 * i);
        }
        sy_eight found = x;
        sy_eight_exp(&found);
        for (uint32_t i = 0; i < 8; i++) {
            assert_true(fabs((double)found[i] / exp((double)x[i]) - 1) < 3e-7);
        }
    }
    sy_eight far = {-INFINITY, -1e30f, -1000, -87, 0, 0, 0, 0};
    sy_eight_exp(&far);
    assert_true(far[0] == far[3] && far[1] == far[3] && far[2] == far[3] && far[3] < 1e-37f);
    assert_true(far[3] > 0 && far[4] == 1);
}

static void logarithms(void **state) {
    (void)state;
    for (double power = -86; power < 86; power += 0.01) {
        sy_eight x;
        for (uint32_t i = 0; i < 8; i++) {
            x[i] = (float)exp(power + 0.00123 * i);
        }
        sy_eight found = x;
        sy_eight_log(&found);
        for (uint32_t i = 0; i < 8; i++) {
            double exact = log((double)x[i]);
            assert_true(fabs((double)found[i] - exact) < 2e-7 * fmax(1, fabs(exact)));
        }
    }
    sy_eight one = (sy_eight){0} + 1;
    sy_eight_log(&one);
    assert_true(one[0] == 0 && one[7] == 0);
}

static void sums_and_bounds(void **state) {
    (void)state;
    sy_eight rows[8], sums, top = {3, -1, 7, 2, 9, 0, -5, 8}, least = top, most = top;
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t k = 0; k < 8; k++) {
            rows[i][k] = (float)(100 * i + k * k);
        }
    }
    sy_eight_sums(rows, &sums);
    for (uint32_t i = 0; i < 8; i++) {
        assert_true(sums[i] == (float)(800 * i + 140));
        assert_true(sy_eight_sum(&rows[i]) == sums[i]);
    }
    sy_eight bound = (sy_eight){0} + 2;
    sy_eight_least(&least, &bound);
    sy_eight_most(&most, &bound);
    sy_eight_top(&top);
    assert_true(least[0] == 2 && least[1] == -1 && least[3] == 2 && least[6] == -5);
    assert_true(most[0] == 3 && most[1] == 2 && most[3] == 2 && most[4] == 9);
    assert_true(top[0] == 9 && top[4] == 9 && top[7] == 9);
    sy_eight_sqrt(&top);
    assert_true(top[0] == 3 && top[7] == 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponentials),
        cmocka_unit_test(logarithms),
        cmocka_unit_test(sums_and_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
