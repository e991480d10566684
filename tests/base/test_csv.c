/* SPDX-License-Identifier: Apache-2.0 */
#include "base/csv.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

static struct sy_csv open_text(const char *text, struct sy_error *error) {
    struct sy_csv csv;
    sy_csv_init(&csv, "t.csv", text, strlen(text), error);
    return csv;
}

static void passes_over_what_is_not_data(void **state) {
    (void)state;
    struct sy_error error = {0};
    struct sy_csv csv = open_text("\xEF\xBB\xBF# note\r\n \t\r\n a , \"b, c\" ,\r\nlast", &error);
    assert_true(sy_csv_next_line(&csv));
    assert_int_equal(csv.line, 3);
    assert_int_equal(sy_csv_field(&csv, "a"), 0);
    assert_true(sy_csv_is(&csv, "a"));
    assert_int_equal(csv.column, 2);
    assert_int_equal(sy_csv_field(&csv, "b"), 0);
    assert_true(sy_csv_is(&csv, "b, c"));
    assert_true(csv.more);
    assert_int_equal(sy_csv_field(&csv, "empty"), 0);
    assert_true(sy_csv_is(&csv, ""));
    assert_int_equal(sy_csv_end_line(&csv), 0);
    assert_true(sy_csv_next_line(&csv));
    assert_int_equal(sy_csv_field(&csv, "last"), 0);
    assert_true(sy_csv_is(&csv, "last"));
    assert_false(sy_csv_next_line(&csv));
}

static void reads_numbers_within_bounds(void **state) {
    (void)state;
    struct sy_error error = {0};
    struct sy_csv csv = open_text("1.5,18446744073709551615,11,x", &error);
    double value = 0;
    uint64_t whole = 0;
    assert_true(sy_csv_next_line(&csv));
    assert_int_equal(sy_csv_number(&csv, "speed", 0, 10, &value), 0);
    assert_float_equal(value, 1.5, 0);
    assert_int_equal(sy_csv_u64(&csv, "count", &whole), 0);
    assert_true(whole == UINT64_MAX);
    assert_int_equal(sy_csv_number(&csv, "speed", 0, 10, &value), -EINVAL);
    assert_int_equal(error.column, 26);
    assert_non_null(strstr(error.message, "speed is 11, outside 0..10"));
    assert_int_equal(sy_csv_number(&csv, "speed", 0, 10, &value), -EINVAL);
    assert_non_null(strstr(error.message, "\"x\""));
    assert_float_equal(value, 1.5, 0);
    assert_int_equal(sy_csv_field(&csv, "more"), -EINVAL);
    assert_int_equal(error.column, 30);
}

static void header_error_says_what_it_must_be(void **state) {
    (void)state;
    static const char *const names[] = {"from", "to"};
    struct sy_error error = {0};
    struct sy_csv csv = open_text("from,too\n", &error);
    assert_int_equal(sy_csv_header(&csv, names, 2), -EINVAL);
    assert_int_equal(error.line, 1);
    assert_int_equal(error.column, 6);
    assert_string_equal(error.hint, "the first line must be from,to");
    csv = open_text("from,to\n1,2\n", &error);
    assert_int_equal(sy_csv_header(&csv, names, 2), 0);
    assert_true(sy_csv_next_line(&csv));
    assert_int_equal(csv.line, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_over_what_is_not_data),
        cmocka_unit_test(reads_numbers_within_bounds),
        cmocka_unit_test(header_error_says_what_it_must_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
