/* SPDX-License-Identifier: Apache-2.0 */
#include "nets/nets.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

static void parts_have_names(void **state) {
    (void)state;
    for (uint32_t i = 0; sy_policy_part_at(i); i++) {
        const char *name = sy_policy_part_at(i);
        assert_int_equal(sy_policy_part(name, strlen(name)), 1u << i);
        assert_int_equal(sy_policy_part(name, strlen(name) - 1), 0);
    }
    assert_int_equal(sy_policy_part("", 0), 0);
    assert_int_equal(sy_policy_part("net", 3), SY_PART_NET);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_have_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
