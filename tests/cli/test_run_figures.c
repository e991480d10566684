/* SPDX-License-Identifier: Apache-2.0
 *
 * Several policies in turns: what is printed beside each other belongs together.
 */
#include "cli/run/run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define REPEATS 5

/* The medians are 328 and 285; a mean of the ratios of each turn would say 0.76. */
static void ratios_are_those_of_the_medians(void **state) {
    (void)state;
    static const double slow[REPEATS] = {600, 328, 320, 610, 325};
    static const double fast[REPEATS] = {280, 290, 285, 270, 300};
    struct sy_run_figures runs[2][REPEATS];
    struct sy_run_policy policies[] = {{.name = "slow", .runs = runs[0], .run_count = REPEATS},
                                       {.name = "fast", .runs = runs[1], .run_count = REPEATS}};
    struct sy_run_args args = {.repeat = REPEATS};
    struct sy_runs all = {.args = &args, .policies = policies, .policy_count = 2};
    for (int i = 0; i < REPEATS; i++) {
        runs[0][i] = (struct sy_run_figures){.makespan_ns = slow[i], .bound_ns = 100};
        runs[1][i] = (struct sy_run_figures){.makespan_ns = fast[i], .bound_ns = 100};
    }
    struct sy_run_summary first, second;
    first = sy_run_summarise(&all, 0);
    second = sy_run_summarise(&all, 1);
    assert_true(first.median_ns == 328 && second.median_ns == 285);
    assert_true(first.over_baseline == 1 && first.over_low == 1 && first.over_high == 1);
    assert_true(fabs(second.over_baseline - 285.0 / 328) < 1e-12);
    assert_true(second.over_low < 285.0 / 328 && second.over_high > 285.0 / 328);
    assert_true(second.over_low >= 270.0 / 610 && second.over_high <= 300.0 / 320);
    assert_true(fabs(second.over_bound - 2.85) < 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_are_those_of_the_medians),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
