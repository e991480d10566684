/* SPDX-License-Identifier: Apache-2.0
 *
 * Units: what people read and write.
 */
#include "cli/units.h"

#include "base/base.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static void times_read_well(void **state) {
    (void)state;
    char text[SY_UNITS_SIZE];
    assert_string_equal(sy_units_time(0, text), "0 ns");
    assert_string_equal(sy_units_time(999, text), "999 ns");
    assert_string_equal(sy_units_time(1000, text), "1 us");
    assert_string_equal(sy_units_time(1234567, text), "1.23 ms");
    assert_string_equal(sy_units_time(12.34e9, text), "12.3 s");
    assert_string_equal(sy_units_time(75e9, text), "75 s");
    assert_string_equal(sy_units_time(1.5 * 3.6e12, text), "90 min");
    assert_string_equal(sy_units_time(999999.9, text), "1.00 ms");
    assert_string_equal(sy_units_time(NAN, text), "-");
    assert_string_equal(sy_units_time(INFINITY, text), "-");
}

static void sizes_are_decimal(void **state) {
    (void)state;
    char text[SY_UNITS_SIZE];
    assert_string_equal(sy_units_bytes(1e9, text), "1 GB");
    assert_string_equal(sy_units_bytes(1536, text), "1.54 kB");
    assert_string_equal(sy_units_rate(12.5e9, text), "12.5 GB/s");
    assert_string_equal(sy_units_bytes(INFINITY, text), "-");
}

static void numbers_may_be_missing(void **state) {
    (void)state;
    char text[SY_UNITS_SIZE];
    assert_string_equal(sy_units_number(1.25, 1, text), "1.2");
    assert_string_equal(sy_units_number(NAN, 1, text), "-");
    assert_string_equal(sy_units_count(1, "memory", "memories", text), "1 memory");
    assert_string_equal(sy_units_count(0, "memory", "memories", text), "0 memories");
}

static double parsed(const char *text) {
    double ns = -1;
    return sy_units_parse_time(text, strlen(text), &ns) ? ns : -1;
}

static void times_are_parsed(void **state) {
    (void)state;
    assert_true(parsed("10ns") == 10);
    assert_true(parsed("2us") == 2000);
    assert_true(fabs(parsed("1.5ms") - 1.5e6) < 1e-6);
    assert_true(parsed("0.5s") == 5e8);
    assert_true(parsed("2") == 2e9);
    assert_true(parsed("1e-3s") == 1e6);
    static const char *const wrong[] = {"", "ms", "-1s", "1x", "s", "1 s", "nan", "infs"};
    for (size_t i = 0; i < SY_COUNT(wrong); i++) {
        if (parsed(wrong[i]) != -1) {
            fail_msg("'%s' was taken", wrong[i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_read_well),
        cmocka_unit_test(sizes_are_decimal),
        cmocka_unit_test(numbers_may_be_missing),
        cmocka_unit_test(times_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
