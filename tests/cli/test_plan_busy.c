/* SPDX-License-Identifier: Apache-2.0
 *
 * From the use of devices to those that are taken and how much the rest is slowed.
 */
#include "cli/plan/busy.h"

#include "base/base.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static void near(double got, double wanted) {
    assert_true(fabs(got - wanted) < 1e-9);
}

static void cores_add_up(void **state) {
    (void)state;
    struct sy_planning_others others;
    const double halves[] = {0.5, 0.5, 0.5, 0.5};
    sy_planning_count(SY_CPU, halves, 4, &others);
    assert_true(others.known);
    near(others.used, 2);
    assert_int_equal(others.busy_count, 2);
    near(others.slowdown, 1);
    const double some[] = {0.9, 0.1, 0.2, 0.1};
    sy_planning_count(SY_CPU, some, 4, &others);
    assert_int_equal(others.busy_count, 1);
    near(others.slowdown, 1 / (1 - 0.3 / 3));
    const double full[] = {1, 1};
    sy_planning_count(SY_CPU, full, 2, &others);
    assert_int_equal(others.busy_count, 1); /* one is always left, and shared */
    near(others.slowdown, 2);
    const double idle[] = {0, 0.01};
    sy_planning_count(SY_CPU, idle, 2, &others);
    assert_int_equal(others.busy_count, 0);
    assert_true(others.slowdown >= 1 && others.slowdown < 1.01);
}

static void accelerators_are_taken_one_by_one(void **state) {
    (void)state;
    struct sy_planning_others others;
    const double halves[] = {0.4, 0.4, 0.9};
    sy_planning_count(SY_GPU, halves, 3, &others);
    assert_int_equal(others.busy_count, 1);
    near(others.slowdown, 1 / (1 - 0.4));
    const double full[] = {1};
    sy_planning_count(SY_GPU, full, 1, &others);
    assert_int_equal(others.busy_count, 1);
    near(others.slowdown, 1);
}

static void not_known_is_not_idle(void **state) {
    (void)state;
    struct sy_planning_others others;
    const double half_known[] = {0.4, NAN};
    sy_planning_count(SY_GPU, half_known, 2, &others);
    assert_false(others.known);
    sy_planning_count(SY_CPU, NULL, 0, &others);
    assert_false(others.known);
    near(others.slowdown, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_add_up),
        cmocka_unit_test(accelerators_are_taken_one_by_one),
        cmocka_unit_test(not_known_is_not_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
