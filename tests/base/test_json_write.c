/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "check.h"
#include <float.h>
#include <string.h>

static void write_sample(struct sy_json_writer *writer) {
    sy_json_open(writer, '{');
    sy_json_member_string(writer, "name", "a");
    sy_json_open_member(writer, "list", '[');
    sy_json_put_u64(writer, UINT64_MAX);
    sy_json_open(writer, '{');
    sy_json_member_u64(writer, "x", 1);
    sy_json_member_number(writer, "y", 0.5);
    sy_json_close(writer, '{');
    sy_json_close(writer, '[');
    sy_json_open_member(writer, "none", '[');
    sy_json_close(writer, ']');
    sy_json_key(writer, "yes");
    sy_json_put_bool(writer, true);
    sy_json_key(writer, "no");
    sy_json_put_bool(writer, false);
    sy_json_key(writer, "nothing");
    sy_json_put_null(writer);
    sy_json_close(writer, '}');
}

static void indents_two_spaces(void **state) {
    (void)state;
    struct sy_json_writer writer = {0};
    write_sample(&writer);
    assert_string_equal(writer.buffer.text, "{\n"
                                            "  \"name\": \"a\",\n"
                                            "  \"list\": [\n"
                                            "    18446744073709551615,\n"
                                            "    {\n"
                                            "      \"x\": 1,\n"
                                            "      \"y\": 0.5\n"
                                            "    }\n"
                                            "  ],\n"
                                            "  \"none\": [],\n"
                                            "  \"yes\": true,\n"
                                            "  \"no\": false,\n"
                                            "  \"nothing\": null\n"
                                            "}\n");
    sy_buffer_finish(&writer.buffer);
}

static void keeps_inner_containers_on_a_line(void **state) {
    (void)state;
    struct sy_json_writer writer = {.compact_from = 2};
    write_sample(&writer);
    assert_string_equal(writer.buffer.text,
                        "{\n"
                        "  \"name\": \"a\",\n"
                        "  \"list\": [18446744073709551615, {\"x\": 1, \"y\": 0.5}],\n"
                        "  \"none\": [],\n"
                        "  \"yes\": true,\n"
                        "  \"no\": false,\n"
                        "  \"nothing\": null\n"
                        "}\n");
    sy_buffer_finish(&writer.buffer);
    struct sy_json_writer line = {.compact_from = 1};
    write_sample(&line);
    assert_string_equal(
        line.buffer.text,
        "{\"name\": \"a\", \"list\": [18446744073709551615, {\"x\": 1, \"y\": 0.5}], "
        "\"none\": [], \"yes\": true, \"no\": false, \"nothing\": null}\n");
    sy_buffer_finish(&line.buffer);
}

static void assert_string_as(const char *text, const char *expected) {
    struct sy_json_writer writer = {0};
    sy_json_put_string(&writer, text);
    assert_string_equal(writer.buffer.text, expected);
    sy_buffer_finish(&writer.buffer);
}

static void escapes_what_it_must(void **state) {
    (void)state;
    assert_string_as("", "\"\"");
    assert_string_as("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    assert_string_as("\x01\n\x1f\x7f", "\"\\u0001\\u000a\\u001f\\u007f\"");
    assert_string_as("\xc2\x9b \xe2\x80\xae", "\"\\u009b \\u202e\"");
    assert_string_as("\xf3\xa0\x81\x81", "\"\\udb40\\udc41\"");
    assert_string_as("\xc3\xa9\xf0\x9f\x8e\xbc", "\"\xc3\xa9\xf0\x9f\x8e\xbc\"");
}

static void what_is_no_text_is_replaced(void **state) {
    (void)state;
    assert_string_as("a\xff"
                     "b",
                     "\"a\xef\xbf\xbd"
                     "b\"");
    assert_string_as("\xc3", "\"\xef\xbf\xbd\"");
    assert_string_as("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    assert_string_as("\xc0\"", "\"\xef\xbf\xbd\\\"\"");
}

static void assert_number_as(double value, const char *expected) {
    struct sy_json_writer writer = {0};
    sy_json_put_number(&writer, value);
    assert_string_equal(writer.buffer.text, expected);
    sy_buffer_finish(&writer.buffer);
}

static void numbers_have_no_idle_digits(void **state) {
    (void)state;
    assert_number_as(0, "0");
    assert_number_as(-0.0, "-0");
    assert_number_as(0.1, "0.1");
    assert_number_as(1e6, "1e+06");
    assert_number_as(1048576, "1048576");
    assert_number_as(0.1 + 0.2, "0.30000000000000004");
    assert_number_as(1.0 / 3, "0.3333333333333333");
    assert_number_as(123456789.25, "123456789.25");
    assert_number_as(DBL_MAX, "1.7976931348623157e+308");
    assert_number_as(INFINITY, "null");
    assert_number_as(NAN, "null");
}

static void numbers_read_back_the_same(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(5);
    for (int i = 0; i < 50000; i++) {
        uint64_t bits = (uint64_t)sy_rng_u32(&rng) << 32 | sy_rng_u32(&rng);
        double value, back;
        memcpy(&value, &bits, sizeof value);
        value = i % 2 ? round(sy_rng_uniform(&rng) * 1e12) / 1e3 : value;
        if (!isfinite(value)) {
            continue;
        }
        struct sy_json_writer writer = {0};
        sy_json_put_number(&writer, value);
        assert_true(sy_parse_double(writer.buffer.text, writer.buffer.length, &back));
        assert_memory_equal(&back, &value, sizeof back);
        sy_buffer_finish(&writer.buffer);
    }
}

/* Writes a random value; what comes out of reading and writing again must be the same bytes. */
static void write_random(struct sy_json_writer *writer, struct sy_rng *rng, uint32_t depth) {
    static const char *const strings[] = {"", "a", "\"\\\n\x01", "\xe2\x82\xac",
                                          "\xf0\x9f\x8e\xbc"};
    uint32_t kind = sy_rng_below(rng, depth < 6 ? 7 : 5), count = sy_rng_below(rng, 5);
    switch (kind) {
    case 0:
        sy_json_put_null(writer);
        return;
    case 1:
        sy_json_put_bool(writer, count % 2);
        return;
    case 2:
        sy_json_put_number(writer, sy_rng_normal(rng) * 1e9);
        return;
    case 3:
        sy_json_put_number(writer, count);
        return;
    case 4:
        sy_json_put_string(writer, strings[count]);
        return;
    default:
        break;
    }
    sy_json_open(writer, kind == 5 ? '[' : '{');
    for (uint32_t i = 0; i < count; i++) {
        if (kind == 6) {
            sy_json_key(writer, strings[sy_rng_below(rng, SY_COUNT(strings))]);
        }
        write_random(writer, rng, depth + 1);
    }
    sy_json_close(writer, kind == 5 ? ']' : '}');
}

static void copy_value(struct sy_json *json, struct sy_json_writer *writer);

static void copy_scalar(struct sy_json *json, struct sy_json_writer *writer,
                        enum sy_json_type type) {
    double number;
    bool truth;
    const char *text;
    if (type == SY_JSON_NUMBER) {
        assert_int_equal(sy_json_number(json, &number), 0);
        sy_json_put_number(writer, number);
    } else if (type == SY_JSON_BOOL) {
        assert_int_equal(sy_json_bool(json, &truth), 0);
        sy_json_put_bool(writer, truth);
    } else if (type == SY_JSON_STRING) {
        assert_int_equal(sy_json_string(json, &text, NULL), 0);
        sy_json_put_string(writer, text);
    } else {
        assert_int_equal(sy_json_skip(json), 0);
        sy_json_put_null(writer);
    }
}

static void copy_container(struct sy_json *json, struct sy_json_writer *writer, bool object) {
    const char *name;
    int more;
    assert_int_equal(object ? sy_json_enter_object(json) : sy_json_enter_array(json), 0);
    sy_json_open(writer, object ? '{' : '[');
    while ((more = object ? sy_json_next_member(json, &name) : sy_json_next(json)) == 1) {
        if (object) {
            sy_json_key(writer, name);
        }
        copy_value(json, writer);
    }
    assert_int_equal(more, 0);
    sy_json_close(writer, object ? '}' : ']');
}

static void copy_value(struct sy_json *json, struct sy_json_writer *writer) {
    enum sy_json_type type;
    assert_int_equal(sy_json_peek(json, &type), 0);
    if (type == SY_JSON_ARRAY || type == SY_JSON_OBJECT) {
        copy_container(json, writer, type == SY_JSON_OBJECT);
    } else {
        copy_scalar(json, writer, type);
    }
}

static void what_is_written_reads_back(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(6);
    for (int i = 0; i < 2000; i++) {
        uint32_t compact = sy_rng_below(&rng, 4);
        struct sy_json_writer writer = {.compact_from = compact};
        struct sy_json_writer again = {.compact_from = compact};
        struct sy_error error;
        struct sy_json json;
        write_random(&writer, &rng, 0);
        sy_json_init(&json, "t", writer.buffer.text, writer.buffer.length, &error);
        copy_value(&json, &again);
        assert_int_equal(sy_json_end(&json), 0);
        assert_string_equal(writer.buffer.text, again.buffer.text);
        sy_json_finish(&json);
        sy_buffer_finish(&writer.buffer);
        sy_buffer_finish(&again.buffer);
    }
}

static void embeds_what_another_wrote(void **state) {
    (void)state;
    struct sy_json_writer inner = {0}, outer = {0};
    sy_json_open(&inner, '{');
    sy_json_member_string(&inner, "a", "x\ny");
    sy_json_close(&inner, '}');
    sy_json_open(&outer, '[');
    sy_json_put_json(&outer, inner.buffer.text, inner.buffer.length);
    sy_json_put_json(&outer, "2", 1);
    sy_json_close(&outer, ']');
    assert_string_equal(outer.buffer.text, "[\n  {\n    \"a\": \"x\\u000ay\"\n  },\n  2\n]\n");
    sy_buffer_finish(&inner.buffer);
    sy_buffer_finish(&outer.buffer);
}

static void a_format_says_what_is_written(void **state) {
    (void)state;
    struct sy_json_writer one = {.compact_from = 1}, many = {.compact_from = 1};
    write_sample(&many);
    sy_json_print(&one, "{name: %s, list: [%llu, {x: %u,", "a", (unsigned long long)UINT64_MAX, 1u);
    sy_json_print(&one, "%s: %g}], none: [], yes: %d, no: %d, nothing:", "y", 0.5, true, false);
    sy_json_put_null(&one);
    sy_json_print(&one, "}");
    assert_string_equal(one.buffer.text, many.buffer.text);
    sy_buffer_finish(&one.buffer);
    sy_buffer_finish(&many.buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indents_two_spaces),
        cmocka_unit_test(keeps_inner_containers_on_a_line),
        cmocka_unit_test(escapes_what_it_must),
        cmocka_unit_test(what_is_no_text_is_replaced),
        cmocka_unit_test(numbers_have_no_idle_digits),
        cmocka_unit_test(numbers_read_back_the_same),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(embeds_what_another_wrote),
        cmocka_unit_test(a_format_says_what_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
