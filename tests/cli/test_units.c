/* SPDX-License-Identifier: Apache-2.0
 *
 * Units: what people read.
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
    assert_string_equal(sy_units_time(0).text, "0 ns");
    assert_string_equal(sy_units_time(999).text, "999 ns");
    assert_string_equal(sy_units_time(1000).text, "1 us");
    assert_string_equal(sy_units_time(1234567).text, "1.23 ms");
    assert_string_equal(sy_units_time(12.34e9).text, "12.3 s");
    assert_string_equal(sy_units_time(75e9).text, "75 s");
    assert_string_equal(sy_units_time(1.5 * 3.6e12).text, "90 min");
    assert_string_equal(sy_units_time(999999.9).text, "1.00 ms");
    assert_string_equal(sy_units_time(NAN).text, "-");
    assert_string_equal(sy_units_time(INFINITY).text, "-");
}

static void sizes_are_decimal(void **state) {
    (void)state;
    assert_string_equal(sy_units_bytes(1e9).text, "1 GB");
    assert_string_equal(sy_units_bytes(1536).text, "1.54 kB");
    assert_string_equal(sy_units_rate(12.5e9).text, "12.5 GB/s");
    assert_string_equal(sy_units_bytes(INFINITY).text, "-");
}

static void numbers_may_be_missing(void **state) {
    (void)state;
    assert_string_equal(sy_units_number(1.25, 1).text, "1.2");
    assert_string_equal(sy_units_number(NAN, 1).text, "-");
    assert_string_equal(sy_units_count(1, "memory", "memories").text, "1 memory");
    assert_string_equal(sy_units_count(0, "memory", "memories").text, "0 memories");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_read_well),
        cmocka_unit_test(sizes_are_decimal),
        cmocka_unit_test(numbers_may_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
