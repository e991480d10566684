/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "check.h"
#include <float.h>
#include <locale.h>
#include <math.h>
#include <string.h>

static bool same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static void check(const char *text, double expected) {
    double value = NAN;
    if (!sy_parse_double(text, strlen(text), &value)) {
        fail_msg("%s: refused", text);
    }
    if (!same_bits(value, expected)) {
        fail_msg("%s: %.17g, not %.17g", text, value, expected);
    }
}

static void reads_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0.0},
        {"-0", -0.0},
        {"-0.0e5", -0.0},
        {"007", 7},
        {"12", 12},
        {"-12.5", -12.5},
        {"0.1", 0.1},
        {".25", 0.25},
        {"-.5", -0.5},
        {".5e1", 5},
        {"1e5", 1e5},
        {"1E+5", 1e5},
        {"1e-5", 1e-5},
        {"1.5e-06", 1.5e-6},
        {"1e022", 1e22},
        {"1e23", 1e23},
        {"123456789012345678", 123456789012345678.0},
        {"1234567890123456.5", 1234567890123456.5},
        {"12345678901234567890123", 12345678901234567890123.0},
        {"0.00000000000000000000000000000001", 1e-32},
    };
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        check(cases[i].text, cases[i].value);
    }
}

/* Where a sloppy reader is off by one in the last place, or falls off the end of the range. */
static void rounds_exactly_at_the_extremes(void **state) {
    (void)state;
    check("9007199254740992", 0x1p53);
    check("9007199254740993", 0x1p53);
    check("9007199254740995", 0x1p53 + 4);
    check("9007199254740993.0000000000000000000000000001", 0x1p53 + 2);
    check("1.7976931348623157e308", DBL_MAX);
    check("2.2250738585072014e-308", DBL_MIN);
    check("2.2250738585072011e-308", 0x0.fffffffffffffp-1022);
    check("4.9e-324", 0x1p-1074);
    check("2.4703282292062327e-324", 0.0);
    check("2.4703282292062328e-324", 0x1p-1074);
    check("1e-400", 0.0);
    check("-1e-99999999999999999999", -0.0);
    check("0e99999999999999999999", 0.0);
}

static void refuses_everything_else(void **state) {
    (void)state;
    static const char *const cases[] = {
        "",
        "-",
        "+",
        "+1",
        "--1",
        "1.",
        ".",
        "-.",
        ".e5",
        ".5.",
        "..5",
        "1.e5",
        "1e",
        "1e+",
        "1e-",
        "e5",
        "1e5.0",
        "1.2.3",
        "inf",
        "-inf",
        "nan",
        "-nan",
        "INF",
        "infinity",
        "-NAN(1)",
        "0x10",
        "-0x1p",
        "0x1p3",
        "1p3",
        " 1",
        "1 ",
        "\t1",
        "1\n",
        "- 1",
        "1,5",
        "1_000",
        "1'0",
        "1f",
        "1d",
        "1e400",
        "-1e400",
        "1.7976931348623159e308",
        "1e+-5",
        "\xd9\xa1",
        "1e5e5",
        "1-1",
        "1234567890123456.",
        "12345678901234567.",
        "1e0x5",
        "١",
    };
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        double value = 42;
        if (sy_parse_double(cases[i], strlen(cases[i]), &value)) {
            fail_msg("\"%s\" was read as %g", cases[i], value);
        }
        assert_true(same_bits(value, 42));
    }
    double value = 42;
    assert_false(sy_parse_double("1\0", 2, &value));
    assert_false(sy_parse_double("1\0"
                                 "5",
                                 3, &value));
    assert_false(sy_parse_double(NULL, 0, &value));
    assert_true(same_bits(value, 42));
}

static void looks_no_further_than_the_length(void **state) {
    (void)state;
    double value;
    uint64_t whole;
    assert_true(sy_parse_double("12345", 2, &value) && same_bits(value, 12));
    assert_true(sy_parse_double("1.25e9", 4, &value) && same_bits(value, 1.25));
    assert_true(sy_parse_double("0.123456789012345678901e9", 23, &value));
    assert_true(same_bits(value, 0.123456789012345678901));
    assert_true(sy_parse_u64("129", 2, &whole) && whole == 12);
}

static void has_room_for_any_double_written_out(void **state) {
    (void)state;
    char text[2000];
    double value;
    int length = snprintf(text, sizeof text, "%.1074f", -0x1.8p-1073);
    assert_true(sy_parse_double(text, (size_t)length, &value) && same_bits(value, -0x1.8p-1073));
    length = snprintf(text, sizeof text, "%f", DBL_MAX);
    assert_true(sy_parse_double(text, (size_t)length, &value) && same_bits(value, DBL_MAX));
    memset(text, '9', sizeof text);
    assert_false(sy_parse_double(text, sizeof text, &value));
}

static void put_digits(struct sy_rng *rng, struct sy_buffer *text, uint32_t most) {
    uint32_t count = 1 + sy_rng_below(rng, most);
    for (uint32_t i = 0; i < count; i++) {
        sy_buffer_printf(text, "%u", sy_rng_below(rng, 10));
    }
}

static void agrees_with_libc(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(2);
    struct sy_buffer text = {0};
    for (uint32_t i = 0; i < 200000; i++) {
        text.length = 0;
        sy_buffer_printf(&text, "%s", sy_rng_below(&rng, 4) ? "" : "-");
        put_digits(&rng, &text, 12);
        if (sy_rng_below(&rng, 2)) {
            sy_buffer_append(&text, ".", 1);
            put_digits(&rng, &text, 12);
        }
        if (sy_rng_below(&rng, 2)) {
            int range = sy_rng_below(&rng, 8) ? 50 : 400;
            sy_buffer_printf(&text, "e%d", (int)sy_rng_below(&rng, (uint32_t)range) - range / 2);
        }
        check(text.text, strtod(text.text, NULL));
    }
    sy_buffer_finish(&text);
}

static void reads_back_what_printf_wrote(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(3);
    for (uint32_t i = 0; i < 100000; i++) {
        uint64_t bits = (uint64_t)sy_rng_u32(&rng) << 32 | sy_rng_u32(&rng);
        double value;
        char text[40];
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            snprintf(text, sizeof text, "%.17g", value);
            check(text, value);
        }
    }
}

static void whole_numbers(void **state) {
    (void)state;
    static const char *const refused[] = {"",
                                          "-1",
                                          "+1",
                                          "1.0",
                                          "1e3",
                                          " 1",
                                          "a",
                                          "1a",
                                          "0x1",
                                          "18446744073709551616",
                                          "99999999999999999999999"};
    uint64_t value = 42;
    for (size_t i = 0; i < SY_COUNT(refused); i++) {
        assert_false(sy_parse_u64(refused[i], strlen(refused[i]), &value));
        assert_true(value == 42);
    }
    assert_true(sy_parse_u64("18446744073709551615", 20, &value) && value == UINT64_MAX);
    assert_true(sy_parse_u64("0", 1, &value) && value == 0);
    assert_true(sy_parse_u64("0010", 4, &value) && value == 10);
}

static void the_locale_changes_nothing(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8",  "fr_FR.UTF-8",
                                        "es_ES.UTF-8", "pl_PL.UTF-8", "de_DE"};
    bool found = false;
    for (size_t i = 0; i < SY_COUNT(names) && !found; i++) {
        found = setlocale(LC_ALL, names[i]) && *localeconv()->decimal_point == ',';
    }
    struct sy_buffer text = {0};
    sy_buffer_printf(&text, "%.1f", 1.5);
    assert_string_equal(text.text, "1.5");
    sy_buffer_finish(&text);
    check("0.12345678901234567", 0.12345678901234567);
    setlocale(LC_ALL, "C");
    if (!found) {
        print_message("# no locale with a decimal comma is installed\n");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_numbers),
        cmocka_unit_test(rounds_exactly_at_the_extremes),
        cmocka_unit_test(refuses_everything_else),
        cmocka_unit_test(looks_no_further_than_the_length),
        cmocka_unit_test(has_room_for_any_double_written_out),
        cmocka_unit_test(agrees_with_libc),
        cmocka_unit_test(reads_back_what_printf_wrote),
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(the_locale_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
