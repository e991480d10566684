/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/table.h"
#include <setjmp.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define ASSERT_PRINTS(expected, ...)                                                               \
    do {                                                                                           \
        struct sy_buffer buffer_ = {0};                                                            \
        sy_print(&buffer_, __VA_ARGS__);                                                           \
        assert_false(buffer_.failed);                                                              \
        assert_string_equal(buffer_.text, expected);                                               \
        sy_buffer_finish(&buffer_);                                                                \
    } while (0)

static void prints_as_printf_does(void **state) {
    (void)state;
    char expected[400];
#define BOTH(...)                                                                                  \
    snprintf(expected, sizeof(expected), __VA_ARGS__);                                             \
    ASSERT_PRINTS(expected, __VA_ARGS__)
    BOTH("plain\n");
    BOTH("100 %%, %d %i %u %x %X %c|", -7, 8, 4000000000u, 0xbeefu, 0xBEEFu, 'c');
    BOTH("%lld %llu %zu %ld %lu|", -1234567890123ll, 18446744073709551615ull, (size_t)7, -5l, 5ul);
    BOTH("%g %.3f %e %10.2f|%-10.1f|%+g %05d|", 0.1, 2.0 / 3, 1e100, 3.14159, 2.5, 1.0, 42);
    BOTH("%*d|%-*d|%.*f|%*.*f|", 6, 42, 6, 42, 2, 1.0 / 3, 8, 3, 1.0 / 3);
    BOTH("%s|%10s|%-10s|%.2s|%-8.3s|%*s|%-*.*s|", "a", "bc", "de", "fgh", "ijkl", 4, "m", 5, 1,
         "no");
    BOTH("%s%s%s", "", "x", "");
}

static void strings_are_shown_and_the_format_is_not(void **state) {
    (void)state;
    ASSERT_PRINTS("a\\nb\n\tc \\x1b[2J\n", "%s\n\tc %s\n", "a\nb", "\033[2J");
    ASSERT_PRINTS("\\x1b|", "%.1s|", "\033]0;");
}

/* A column stays straight, whatever the bytes. */
static void width_is_counted_in_what_is_seen(void **state) {
    (void)state;
    ASSERT_PRINTS("\xc3\xbc\xc3\xbc  |", "%-4s|", "\xc3\xbc\xc3\xbc");
    ASSERT_PRINTS("  \\x1b|", "%6s|", "\033");
}

static void cells_are_shown(void **state) {
    (void)state;
    static const char *const headers[] = {"name", "n"};
    struct sy_table table;
    struct sy_buffer buffer = {0};
    sy_table_init(&table, headers, "lr");
    sy_table_cell(&table, "%s|%d", "a\n\033[1m\xc2\x9b", 1);
    sy_table_write(&table, 0, false, &buffer);
    assert_string_equal(buffer.text, "name              n\na\\n\\x1b[1m\\u009b  1\n");
    sy_buffer_finish(&buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_as_printf_does),
        cmocka_unit_test(strings_are_shown_and_the_format_is_not),
        cmocka_unit_test(width_is_counted_in_what_is_seen),
        cmocka_unit_test(cells_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
