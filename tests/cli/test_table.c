/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables: alignment, also of text that is not ASCII.
 */
#include "cli/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static void aligns_by_characters(void **state) {
    (void)state;
    struct sy_table table;
    struct sy_buffer buffer = {0};
    sy_table_init(&table, (const char *const[]){"name", "time", "note"}, "lrl");
    sy_table_cell(&table, "é|%d us|x|longer|1234 us|y", 5);
    sy_table_write(&table, 1, false, &buffer);
    sy_buffer_append(&buffer, "", 1);
    assert_string_equal(buffer.text, " name       time  note\n"
                                     " é          5 us  x\n"
                                     " longer  1234 us  y\n");
    sy_buffer_finish(&buffer);
}

static void a_row_may_be_short(void **state) {
    (void)state;
    struct sy_table table;
    struct sy_buffer buffer = {0};
    sy_table_init(&table, (const char *const[]){"a", "b"}, "lr");
    sy_table_cell(&table, "1");
    sy_table_write(&table, 0, true, &buffer);
    sy_buffer_append(&buffer, "", 1);
    assert_string_equal(buffer.text, "\033[1ma  b\033[0m\n1\n");
    sy_buffer_finish(&buffer);
}

static void counts_characters(void **state) {
    (void)state;
    assert_int_equal(sy_table_width(""), 0);
    assert_int_equal(sy_table_width("abc"), 3);
    assert_int_equal(sy_table_width("├── é"), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligns_by_characters),
        cmocka_unit_test(a_row_may_be_short),
        cmocka_unit_test(counts_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
