/* SPDX-License-Identifier: Apache-2.0
 *
 * Several that ask what a bus has carried are all told the same, although StarPU (here: a stand-in)
 * forgets what it has told once.
 */
#include "engine/starpu/hooks.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static long long account; /* of bus 1 */
static int failure;

int starpu_bus_get_profiling_info(int bus, struct starpu_profiling_bus_info *info) {
    *info = (struct starpu_profiling_bus_info){0};
    if (bus == 1 && !failure) {
        info->transferred_bytes = account;
        account = 0;
    }
    return failure;
}

static void all_are_told(void **state) {
    (void)state;
    account = 100;
    assert_int_equal(sy_bus_bytes(1), 100);
    assert_int_equal(sy_bus_bytes(1), 100);
    account = 50;
    assert_int_equal(sy_bus_bytes(1), 150);
    assert_int_equal(sy_bus_bytes(0), 0);
    assert_int_equal(sy_bus_bytes(-1), 0);
    failure = -1;
    account = 10;
    assert_int_equal(sy_bus_bytes(1), 150);
    failure = 0;
    assert_int_equal(sy_bus_bytes(1), 160);
    sy_bus_restart();
    assert_int_equal(sy_bus_bytes(1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
