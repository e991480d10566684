/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include <setjmp.h>

#include <cmocka.h>
#include <string.h>

/* The code point of a sequence of this length by its bits alone; whether it may stand so is told
 * apart from it. */
static uint32_t decode(const unsigned char *s, size_t length) {
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = s[0] & masks[length];
    for (size_t i = 1; i < length; i++) {
        c = c << 6 | (s[i] & 63u);
    }
    return c;
}

static size_t expected_length(const unsigned char *s) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : 4;
    if (length == 4 && s[0] >> 3 != 30) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if (s[i] >> 6 != 2) {
            return 0;
        }
    }
    uint32_t c = decode(s, length);
    return c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : length;
}

static void knows_utf8(void **state) {
    (void)state;
    static const unsigned char tails[] = {0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xff};
    for (uint32_t i = 0; i < 0x10000 * SY_COUNT(tails) * SY_COUNT(tails); i++) {
        uint32_t tail = i >> 16;
        unsigned char s[] = {(unsigned char)(i >> 8), (unsigned char)i,
                             tails[tail % SY_COUNT(tails)], tails[tail / SY_COUNT(tails)]};
        size_t found = sy_utf8_length((const char *)s, sizeof s);
        if (found != expected_length(s)) {
            fail_msg("%02x %02x %02x %02x: %zu", s[0], s[1], s[2], s[3], found);
        }
        if (found) {
            assert_int_equal(sy_utf8_length((const char *)s, found), found);
            assert_int_equal(sy_utf8_length((const char *)s, found - 1), 0);
        }
    }
}

static void names_of_files_take_a_part(void **state) {
    static const char *const cases[][3] = {{"plot.svg", "dmdas", "plot.dmdas.svg"},
                                           {"plot.svg", NULL, "plot.svg"},
                                           {"a.b/plot", "rank3", "a.b/plot.rank3"},
                                           {"/x/run.tar.gz", "start2", "/x/run.tar.start2.gz"}};
    (void)state;
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_buffer path = {0};
        sy_buffer_path(&path, cases[i][0], cases[i][1]);
        assert_string_equal(path.text, cases[i][2]);
        sy_buffer_finish(&path);
    }
}

static void buffers_grow(void **state) {
    (void)state;
    struct sy_buffer buffer = {0};
    size_t expected = 0;
    for (unsigned i = 0; i < 10000; i++) {
        char text[32];
        expected += (size_t)snprintf(text, sizeof text, "<%u>", i);
        sy_buffer_printf(&buffer, "<%u", i);
        sy_buffer_append(&buffer, ">", 1);
        assert_int_equal(buffer.length, expected);
        assert_int_equal(buffer.text[buffer.length], '\0');
        assert_string_equal(buffer.text + buffer.length - strlen(text), text);
    }
    assert_memory_equal(buffer.text, "<0><1><2>", 9);
    sy_buffer_finish(&buffer);
    assert_null(buffer.text);
    assert_int_equal(buffer.length, 0);
}

static void buffers_hold_any_bytes(void **state) {
    (void)state;
    struct sy_buffer buffer = {0};
    sy_buffer_append(&buffer, "a\0b", 3);
    sy_buffer_append(&buffer, "", 0);
    sy_buffer_printf(&buffer, "%*d", 5000, 7);
    assert_int_equal(buffer.length, 5003);
    assert_memory_equal(buffer.text, "a\0b   ", 6);
    assert_string_equal(buffer.text + 5000, "  7");
    sy_buffer_finish(&buffer);
}

static void a_failed_buffer_stays_as_it_is(void **state) {
    (void)state;
    struct sy_buffer buffer = {0};
    sy_buffer_append(&buffer, "abc", 3);
    buffer.failed = true;
    sy_buffer_append(&buffer, "d", 1);
    sy_buffer_printf(&buffer, "%d", 1);
    assert_string_equal(buffer.text, "abc");
    assert_int_equal(buffer.length, 3);
    sy_buffer_finish(&buffer);
    assert_false(buffer.failed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_utf8),
        cmocka_unit_test(names_of_files_take_a_part),
        cmocka_unit_test(buffers_grow),
        cmocka_unit_test(buffers_hold_any_bytes),
        cmocka_unit_test(a_failed_buffer_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
