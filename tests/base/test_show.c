/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "check.h"
#include <string.h>

static const struct {
    const char *text, *shown;
} cases[] = {
    {"", ""},
    {"plain \"text\" \\n", "plain \"text\" \\n"},
    {"gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x98\x80",
     "gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x98\x80"},
    {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
    {"\033[31mred\033[0m", "\\x1b[31mred\\x1b[0m"},
    {"\033]0;title\007", "\\x1b]0;title\\x07"},
    {"\x7f", "\\x7f"},
    {"csi \x9b"
     "2J",
     "csi \\x9b2J"}, /* C1 as a raw byte */
    {"csi \xc2\x9b"
     "2J",
     "csi \\u009b2J"},        /* C1 as UTF-8 */
    {"\xc2\xa0", "\xc2\xa0"}, /* the first character behind C1 */
    {"\xe2\x80\xae"
     "exe",
     "\\u202eexe"}, /* right to left */
    {"\xe2\x81\xa6\xd8\x9c\xef\xbb\xbf", "\\u2066\\u061c\\ufeff"},
    {"\xf3\xa0\x81\x81", "\\U000e0041"}, /* a tag */
    {"cut \xe2\x80", "cut \\xe2\\x80"},
    {"\xc0\x9b\xed\xa0\x80", "\\xc0\\x9b\\xed\\xa0\\x80"}, /* overlong, a surrogate */
};

static void what_a_terminal_obeys_is_spelled_out(void **state) {
    (void)state;
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        char fixed[200], again[200];
        struct sy_buffer buffer = {0};
        sy_buffer_show(&buffer, cases[i].text, strlen(cases[i].text));
        sy_buffer_append(&buffer, "", 1);
        assert_string_equal(buffer.text, cases[i].shown);
        assert_string_equal(sy_show(cases[i].text, fixed, sizeof fixed), cases[i].shown);
        assert_string_equal(sy_show(fixed, again, sizeof again), cases[i].shown);
        sy_buffer_finish(&buffer);
    }
}

static void a_nul_is_spelled_out(void **state) {
    (void)state;
    struct sy_buffer buffer = {0};
    sy_buffer_show(&buffer, "a\0b", 3);
    assert_int_equal(buffer.length, 6);
    assert_memory_equal(buffer.text, "a\\x00b", 6);
    sy_buffer_finish(&buffer);
}

/* Each byte alone, and each pair: nothing that comes out is a control or broken. */
static void nothing_else_gets_through(void **state) {
    (void)state;
    for (unsigned pair = 0; pair < 65536; pair++) {
        const char text[2] = {(char)(pair >> 8), (char)pair};
        struct sy_buffer buffer = {0};
        sy_buffer_show(&buffer, text, 2);
        for (size_t at = 0; at < buffer.length;) {
            size_t length = sy_utf8_length(buffer.text + at, buffer.length - at);
            assert_true(length > 0);
            uint32_t code = sy_utf8_code(buffer.text + at, length);
            assert_true(code >= 0x20 && (code < 0x7f || code > 0x9f));
            at += length;
        }
        sy_buffer_finish(&buffer);
    }
}

static void what_does_not_fit_is_cut_between_characters(void **state) {
    (void)state;
    char buffer[8];
    assert_string_equal(sy_show("\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", buffer, 8),
                        "\xc3\xbc\xc3\xbc\xc3\xbc");
    assert_string_equal(sy_show("ab\033\033", buffer, 8), "ab\\x1b");
    assert_string_equal(sy_show("ab", buffer, 1), "");
}

static void errors_are_shown(void **state) {
    (void)state;
    struct sy_error error = {0};
    char text[600];
    sy_fail_at(&error, -1, "a\nb", 3, 0, "no task '%s'", "\033[2J");
    sy_hint(&error, "%s", "\xc2\x9b");
    assert_string_equal(sy_error_format(&error, text, sizeof text),
                        "a\\nb:3: no task '\\x1b[2J' (\\u009b)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_terminal_obeys_is_spelled_out),
        cmocka_unit_test(a_nul_is_spelled_out),
        cmocka_unit_test(nothing_else_gets_through),
        cmocka_unit_test(what_does_not_fit_is_cut_between_characters),
        cmocka_unit_test(errors_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
