/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "check.h"
#include <errno.h>
#include <string.h>

/* Exactly as large as the text, so that ASan sees a read past its end. */
static struct sy_json open_text(const char *text, size_t length, struct sy_error *error,
                                char **ret_copy) {
    struct sy_json json;
    char *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    sy_json_init(&json, "t.json", copy, length, error);
    *ret_copy = copy;
    return json;
}

/* Reads it whole. */
static int walk(const char *text, size_t length, struct sy_error *error) {
    char *copy;
    struct sy_json json = open_text(text, length, error, &copy);
    int code = sy_json_skip(&json);
    code = code ? code : sy_json_end(&json);
    sy_json_finish(&json);
    free(copy);
    return code;
}

static void accepts(const char *text) {
    struct sy_error error = {0};
    if (walk(text, strlen(text), &error)) {
        fail_msg("%s: %u:%u: %s", text, error.line, error.column, error.message);
    }
}

static void refuses(const char *text, size_t length, uint32_t line, uint32_t column,
                    const char *message) {
    struct sy_error error = {0};
    if (walk(text, length, &error) != -EINVAL) {
        fail_msg("%s: not refused", text);
    }
    if (error.line != line || error.column != column || strcmp(error.message, message) != 0) {
        fail_msg("%s: %u:%u: %s", text, error.line, error.column, error.message);
    }
    assert_string_equal(error.file, "t.json");
}

static void accepts_what_is_json(void **state) {
    (void)state;
    static const char *const texts[] = {
        "0",
        " \t\r\n-1.5e+3 ",
        "true",
        "false",
        "null",
        "\"\"",
        "[]",
        "{}",
        "[[],{},[[]]]",
        "{\"\":{\"a\":[1,2,{\"b\":null}]},\"\":0}",
        "[1 , 2\n,\t3]",
        "\"\x7f \xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\xbc\"",
    };
    for (size_t i = 0; i < SY_COUNT(texts); i++) {
        accepts(texts[i]);
    }
}

struct refusal {
    const char *text;
    uint32_t line, column;
    const char *message;
};

static void refuse_each(const struct refusal *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        refuses(cases[i].text, strlen(cases[i].text), cases[i].line, cases[i].column,
                cases[i].message);
    }
}

static void points_at_what_is_no_structure(void **state) {
    (void)state;
    static const struct refusal cases[] = {
        {"", 1, 1, "not JSON: expected a value, but the text ends here"},
        {" \n ", 2, 2, "not JSON: expected a value, but the text ends here"},
        {"\xef\xbb\xbf{}", 1, 1, "not JSON: expected a value, not byte 0xef"},
        {"]", 1, 1, "not JSON: expected a value, not ']'"},
        {"// no", 1, 1, "not JSON: expected a value, not '/'"},
        {"'a'", 1, 1, "not JSON: expected a value, not '''"},
        {"1 2", 1, 3, "expected the end of the text, not '2'"},
        {"{}\n\n}", 3, 1, "expected the end of the text, not '}'"},
        {"[", 1, 2, "expected a value, but the text ends here"},
        {"[1", 1, 3, "expected ',' or ']', but the text ends here"},
        {"[1 2]", 1, 4, "expected ',' or ']', not '2'"},
        {"[1}", 1, 3, "expected ',' or ']', not '}'"},
        {"[1,]", 1, 4, "expected a value after the comma, not ']'"},
        {"[1,", 1, 4, "expected a value, but the text ends here"},
        {"[,1]", 1, 2, "expected a value, not ','"},
        {"[1,,2]", 1, 4, "expected a value, not ','"},
        {"[\n  1,\n  x]", 3, 3, "expected a value, not 'x'"},
        {"{", 1, 2, "expected a value, but the text ends here"},
        {"{1:2}", 1, 2, "expected a string, not '1'"},
        {"{a:1}", 1, 2, "expected a value, not 'a'"},
        {"{\"a\"}", 1, 5, "expected ':', not '}'"},
        {"{\"a\" 1}", 1, 6, "expected ':', not '1'"},
        {"{\"a\"", 1, 5, "expected ':', but the text ends here"},
        {"{\"a\":}", 1, 6, "expected a value, not '}'"},
        {"{\"a\":1", 1, 7, "expected ',' or '}', but the text ends here"},
        {"{\"a\":1]", 1, 7, "expected ',' or '}', not ']'"},
        {"{\"a\":1,}", 1, 8, "expected a value after the comma, not '}'"},
        {"{\"a\":1,2}", 1, 8, "expected a string, not '2'"},
        {"{\"a\":1 \"b\":2}", 1, 8, "expected ',' or '}', not '\"'"},
        {"[1\x01]", 1, 3, "expected ',' or ']', not byte 0x01"},
    };
    refuse_each(cases, SY_COUNT(cases));
    refuses("[1,\0]", 5, 1, 4, "expected a value, not byte 0x00");
}

static void points_at_what_is_no_scalar(void **state) {
    (void)state;
    static const struct refusal cases[] = {
        {"tru", 1, 1, "expected true, false or null, not 't'"},
        {"[fals]", 1, 2, "expected true, false or null, not 'f'"},
        {"nul", 1, 1, "expected true, false or null, not 'n'"},
        {"truex", 1, 5, "expected the end of the text, not 'x'"},
        {"True", 1, 1, "not JSON: expected a value, not 'T'"},
        {"NaN", 1, 1, "not JSON: expected a value, not 'N'"},
        {"-Infinity", 1, 1, "not a number that fits: -"},
        {"+1", 1, 1, "not JSON: expected a value, not '+'"},
        {".5", 1, 1, "not JSON: expected a value, not '.'"},
        {"-.5", 1, 1, "not a number that fits: -.5"},
        {"1.", 1, 1, "not a number that fits: 1."},
        {"[0, 01]", 1, 5, "not a number that fits: 01"},
        {"-00", 1, 1, "not a number that fits: -00"},
        {"1e", 1, 1, "not a number that fits: 1e"},
        {"1e+", 1, 1, "not a number that fits: 1e+"},
        {"1.5.2", 1, 1, "not a number that fits: 1.5.2"},
        {"1-2", 1, 1, "not a number that fits: 1-2"},
        {"[\n 1e999]", 2, 2, "not a number that fits: 1e999"},
        {"0x10", 1, 2, "expected the end of the text, not 'x'"},
        {"123456789012345678901234567890123456789012345e", 1, 1,
         "not a number that fits: 1234567890123456789012345678901234567890"},
    };
    refuse_each(cases, SY_COUNT(cases));
}

static void points_into_strings(void **state) {
    (void)state;
    static const char end[] = "expected the end of the string, but the text ends here";
    static const char hex[] = "expected four hexadecimal digits, not ";
    static const char half[] = "expected the second half of a surrogate pair, not ";
    char hex_quote[64], hex_g[64], half_quote[80], half_slash[80], half_x[80];
    snprintf(hex_quote, sizeof hex_quote, "%s'\"'", hex);
    snprintf(hex_g, sizeof hex_g, "%s'g'", hex);
    snprintf(half_quote, sizeof half_quote, "%s'\"'", half);
    snprintf(half_slash, sizeof half_slash, "%s'\\'", half);
    snprintf(half_x, sizeof half_x, "%s'x'", half);
    const struct refusal cases[] = {
        {"\"", 1, 2, end},
        {"\"abc", 1, 5, end},
        {"\"a\nb\"", 1, 3, "expected the end of the string, not byte 0x0a"},
        {"\"a\tb\"", 1, 3, "expected the end of the string, not byte 0x09"},
        {"\"\\", 1, 3, "expected an escape character, but the text ends here"},
        {"\"\\x41\"", 1, 3, "expected an escape character, not 'x'"},
        {"\"\\'\"", 1, 3, "expected an escape character, not '''"},
        {"\"\\u12\"", 1, 6, hex_quote},
        {"\"\\u12g4\"", 1, 6, hex_g},
        {"\"\\u12", 1, 6, "expected four hexadecimal digits, but the text ends here"},
        {"\"ab\\u0000\"", 1, 4, "\\u0000 is not allowed in a string"},
        {"\"\\udc00\"", 1, 2, "\\udc00 is not allowed in a string"},
        {"\"\\uDFFF\\uD800\"", 1, 2, "\\udfff is not allowed in a string"},
        {"\"\\ud800\"", 1, 8, half_quote},
        {"\"\\ud800x\"", 1, 8, half_x},
        {"\"\\ud800\\n\"", 1, 8, half_slash},
        {"\"\\ud800\\u0041\"", 1, 8, half_slash},
        {"\"\\ud800\\ud800\"", 1, 8, half_slash},
        {"\"\\ud800\\udc0", 1, 13, "expected four hexadecimal digits, but the text ends here"},
        {"[\n\"\x80\"]", 2, 2, "expected UTF-8, not byte 0x80"},
        {"\"a\xc3\"", 1, 3, "expected UTF-8, not byte 0xc3"},
        {"\"\xc0\xaf\"", 1, 2, "expected UTF-8, not byte 0xc0"},
        {"\"\xed\xa0\x80\"", 1, 2, "expected UTF-8, not byte 0xed"},
        {"\"\xf4\x90\x80\x80\"", 1, 2, "expected UTF-8, not byte 0xf4"},
        {"\"\xe2\x82", 1, 2, "expected UTF-8, not byte 0xe2"},
        {"\"\xff\"", 1, 2, "expected UTF-8, not byte 0xff"},
        {"{\"a\x01\":1}", 1, 4, "expected the end of the string, not byte 0x01"},
    };
    refuse_each(cases, SY_COUNT(cases));
    refuses("\"a\0\"", 4, 1, 3, "expected the end of the string, not byte 0x00");
}

static void reads_escapes(void **state) {
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u007f\\u0080\\u07ff\"", "A\x7f\xc2\x80\xdf\xbf"},
        {"\"\\u0800\\uFFFF\\ud7ff\\ue000\"", "\xe0\xa0\x80\xef\xbf\xbf\xed\x9f\xbf\xee\x80\x80"},
        {"\"\\ud800\\udc00\\uDBFF\\uDFFF\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
        {"\"\\ud83c\\udfbcx\"", "\xf0\x9f\x8e\xbcx"},
        {"\"\\u0001\"", "\x01"},
    };
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_error error;
        const char *found;
        char *copy;
        size_t length;
        struct sy_json json = open_text(cases[i].text, strlen(cases[i].text), &error, &copy);
        assert_int_equal(sy_json_string(&json, &found, &length), 0);
        assert_string_equal(found, cases[i].expected);
        assert_int_equal(length, strlen(cases[i].expected));
        assert_int_equal(sy_json_end(&json), 0);
        sy_json_finish(&json);
        free(copy);
    }
}

static void reads_numbers_at_the_extremes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0},
        {"-0", -0.0},
        {"0e0", 0},
        {"1E5", 1e5},
        {"-0.0625", -0.0625},
        {"9007199254740993", 9007199254740992.0},
        {"18446744073709551615", 18446744073709551616.0},
        {"1.7976931348623157e308", 1.7976931348623157e308},
        {"5e-324", 5e-324},
        {"1e-999", 0},
        {"0.1000000000000000055511151231257827021181583404541015625", 0.1},
    };
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_error error;
        struct sy_json json;
        double found = 42;
        sy_json_init(&json, "t.json", cases[i].text, strlen(cases[i].text), &error);
        assert_int_equal(sy_json_number(&json, &found), 0);
        assert_memory_equal(&found, &cases[i].value, sizeof found);
        assert_int_equal(sy_json_end(&json), 0);
    }
}

static void nests_so_deep_and_no_deeper(void **state) {
    (void)state;
    char text[4 * SY_JSON_DEPTH_MAX + 16] = "";
    for (int i = 0; i < SY_JSON_DEPTH_MAX; i++) {
        text[i] = '[';
        text[SY_JSON_DEPTH_MAX + i] = ']';
    }
    accepts(text);
    memset(text, 0, sizeof text);
    memset(text, '[', SY_JSON_DEPTH_MAX + 1);
    refuses(text, strlen(text), 1, SY_JSON_DEPTH_MAX + 1, "nested deeper than 64");
    memset(text, '[', SY_JSON_DEPTH_MAX);
    text[SY_JSON_DEPTH_MAX] = '{';
    refuses(text, strlen(text), 1, SY_JSON_DEPTH_MAX + 1, "nested deeper than 64");
}

static void skips_one_value_and_no_more(void **state) {
    (void)state;
    static const char text[] = "{\"x\": [1, {\"y\": [[], \"]}\"]}, null], \"z\": 5, \"t\": true}";
    struct sy_error error;
    struct sy_json json;
    const char *name;
    double number;
    bool truth = false;
    sy_json_init(&json, "t.json", text, sizeof text - 1, &error);
    assert_int_equal(sy_json_enter_object(&json), 0);
    assert_int_equal(sy_json_next_member(&json, &name), 1);
    assert_string_equal(name, "x");
    assert_int_equal(sy_json_skip(&json), 0);
    assert_int_equal(sy_json_next_member(&json, &name), 1);
    assert_string_equal(name, "z");
    assert_int_equal(sy_json_number(&json, &number), 0);
    assert_near(number, 5, 0);
    assert_int_equal(sy_json_next_member(&json, &name), 1);
    assert_int_equal(sy_json_bool(&json, &truth), 0);
    assert_true(truth);
    assert_int_equal(sy_json_next_member(&json, &name), 0);
    assert_int_equal(sy_json_end(&json), 0);
    sy_json_finish(&json);
}

static void tells_types_without_reading(void **state) {
    (void)state;
    static const char text[] = "[null, true, -1, \"a\", [], {}]";
    struct sy_error error;
    struct sy_json json;
    sy_json_init(&json, "t.json", text, sizeof text - 1, &error);
    assert_int_equal(sy_json_enter_array(&json), 0);
    for (int expected = SY_JSON_NULL; expected <= SY_JSON_OBJECT; expected++) {
        enum sy_json_type type = SY_JSON_NULL;
        assert_int_equal(sy_json_next(&json), 1);
        assert_int_equal(sy_json_peek(&json, &type), 0);
        assert_int_equal(sy_json_peek(&json, &type), 0);
        assert_int_equal(type, expected);
        assert_int_equal(sy_json_skip(&json), 0);
    }
    assert_int_equal(sy_json_next(&json), 0);
    sy_json_finish(&json);
}

static void names_the_type_it_wanted(void **state) {
    (void)state;
    static const char text[] = " [1]";
    struct sy_error error;
    struct sy_json json;
    double number = 42;
    bool truth = true;
    const char *string = text;
    size_t length = 42;
    sy_json_init(&json, "t.json", text, sizeof text - 1, &error);
    assert_int_equal(sy_json_number(&json, &number), -EINVAL);
    assert_string_equal(error.message, "expected a number, not '['");
    assert_int_equal(error.column, 2);
    assert_int_equal(sy_json_bool(&json, &truth), -EINVAL);
    assert_string_equal(error.message, "expected true or false, not '['");
    assert_int_equal(sy_json_string(&json, &string, &length), -EINVAL);
    assert_string_equal(error.message, "expected a string, not '['");
    assert_int_equal(sy_json_enter_object(&json), -EINVAL);
    assert_string_equal(error.message, "expected an object, not '['");
    assert_int_equal(sy_json_enter_array(&json), 0);
    assert_int_equal(sy_json_next(&json), 1);
    assert_int_equal(sy_json_enter_array(&json), -EINVAL);
    assert_string_equal(error.message, "expected an array, not '1'");
    assert_true(truth && string == text && length == 42);
    assert_near(number, 42, 0);
    sy_json_finish(&json);
}

static void errors_point_at_the_value_last_read(void **state) {
    (void)state;
    static const char text[] = "[1,\n  \"a\\u00e9b\", 7]";
    struct sy_error error;
    struct sy_json json;
    const char *string;
    double number = 42;
    sy_json_init(&json, "t.json", text, sizeof text - 1, &error);
    assert_int_equal(sy_json_enter_array(&json), 0);
    assert_int_equal(sy_json_next(&json), 1);
    assert_int_equal(sy_json_number_in(&json, "speed", 2, 3, &number), -EINVAL);
    assert_string_equal(error.message, "speed is 1, outside 2 .. 3");
    assert_int_equal(error.column, 2);
    assert_near(number, 42, 0);
    assert_int_equal(sy_json_next(&json), 1);
    assert_int_equal(sy_json_string(&json, &string, NULL), 0);
    assert_int_equal(sy_json_fail(&json, "no kernel \"%s\"", string), -EINVAL);
    assert_string_equal(error.message, "no kernel \"a\xc3\xa9"
                                       "b\"");
    assert_int_equal(error.line, 2);
    assert_int_equal(error.column, 3);
    assert_int_equal(sy_json_next(&json), 1);
    assert_int_equal(sy_json_number_in(&json, "speed", 7, 7, &number), 0);
    assert_near(number, 7, 0);
    sy_json_fail(&json, "seven");
    assert_int_equal(error.column, 15);
    sy_json_finish(&json);
}

/* A part of the text goes to a reader of its own, and its complaint comes back to its place. */
static void cuts_a_value_out(void **state) {
    (void)state;
    static const char text[] = "[1,\n  {\"a\": [1,\n 2x]}, 3]", good[] = "[1,\n  {\"a\": 2}, 3]";
    struct sy_error error = {0};
    struct sy_json json;
    const char *part = NULL;
    size_t length = 0;
    double number = 0;
    sy_json_init(&json, "t.json", good, sizeof good - 1, &error);
    assert_int_equal(sy_json_enter_array(&json), 0);
    assert_int_equal(sy_json_next(&json), 1);
    assert_int_equal(sy_json_number(&json, &number), 0);
    assert_int_equal(sy_json_next(&json), 1);
    assert_int_equal(sy_json_cut(&json, &part, &length), 0);
    assert_int_equal(length, 8);
    assert_memory_equal(part, "{\"a\": 2}", 8);
    sy_fail_at(&error, -EINVAL, "part", 1, 5, "in its first line");
    sy_json_relocate(&json);
    assert_int_equal(error.line, 2);
    assert_int_equal(error.column, 7);
    assert_string_equal(error.file, "t.json");
    sy_fail_at(&error, -EINVAL, "part", 3, 5, "further down");
    sy_json_relocate(&json);
    assert_int_equal(error.line, 4);
    assert_int_equal(error.column, 5);
    error = (struct sy_error){.message = "nowhere"};
    sy_json_relocate(&json);
    assert_int_equal(error.line, 2);
    assert_int_equal(error.column, 3);
    assert_int_equal(sy_json_next(&json), 1);
    assert_int_equal(sy_json_number(&json, &number), 0);
    assert_near(number, 3, 0);
    sy_json_finish(&json);
    sy_json_init(&json, "t.json", text, sizeof text - 1, &error);
    assert_int_equal(sy_json_cut(&json, &part, &length), -EINVAL);
    assert_int_equal(error.line, 3);
    sy_json_finish(&json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_what_is_json),
        cmocka_unit_test(points_at_what_is_no_structure),
        cmocka_unit_test(points_at_what_is_no_scalar),
        cmocka_unit_test(points_into_strings),
        cmocka_unit_test(reads_escapes),
        cmocka_unit_test(reads_numbers_at_the_extremes),
        cmocka_unit_test(nests_so_deep_and_no_deeper),
        cmocka_unit_test(skips_one_value_and_no_more),
        cmocka_unit_test(tells_types_without_reading),
        cmocka_unit_test(names_the_type_it_wanted),
        cmocka_unit_test(errors_point_at_the_value_last_read),
        cmocka_unit_test(cuts_a_value_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
