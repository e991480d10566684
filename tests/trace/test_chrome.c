/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "sample.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

struct slice {
    double process, thread, start_us, duration_us, bytes;
    char phase[4], name[32];
};

static void read_arguments(struct sy_json *json, struct slice *slice) {
    const char *name;
    assert_int_equal(sy_json_enter_object(json), 0);
    while (sy_json_next_member(json, &name) == 1) {
        if (strcmp(name, "bytes") == 0) {
            assert_int_equal(sy_json_number(json, &slice->bytes), 0);
        } else {
            assert_int_equal(sy_json_skip(json), 0);
        }
    }
}

static void read_text(struct sy_json *json, char *copy, size_t size) {
    const char *text;
    size_t length;
    assert_int_equal(sy_json_string(json, &text, &length), 0);
    snprintf(copy, size, "%s", text);
}

static struct slice read_slice(struct sy_json *json) {
    struct slice slice = {.start_us = -1};
    const char *name;
    assert_int_equal(sy_json_enter_object(json), 0);
    while (sy_json_next_member(json, &name) == 1) {
        double *number = strcmp(name, "pid") == 0   ? &slice.process
                         : strcmp(name, "tid") == 0 ? &slice.thread
                         : strcmp(name, "ts") == 0  ? &slice.start_us
                         : strcmp(name, "dur") == 0 ? &slice.duration_us
                                                    : NULL;
        if (number) {
            assert_int_equal(sy_json_number(json, number), 0);
        } else if (strcmp(name, "ph") == 0) {
            read_text(json, slice.phase, sizeof slice.phase);
        } else if (strcmp(name, "name") == 0) {
            read_text(json, slice.name, sizeof slice.name);
        } else if (strcmp(name, "args") == 0) {
            read_arguments(json, &slice);
        } else {
            assert_int_equal(sy_json_skip(json), 0);
        }
    }
    return slice;
}

/* Reads the whole document strictly; keeps the complete events. */
static uint32_t parse(const struct sy_buffer *buffer, struct slice *slices, uint32_t capacity) {
    struct sy_error error = {0};
    struct sy_json json;
    const char *name;
    uint32_t count = 0;
    sy_json_init(&json, "trace", buffer->text, buffer->length, &error);
    assert_int_equal(sy_json_enter_object(&json), 0);
    while (sy_json_next_member(&json, &name) == 1) {
        if (strcmp(name, "traceEvents") != 0) {
            assert_int_equal(sy_json_skip(&json), 0);
            continue;
        }
        assert_int_equal(sy_json_enter_array(&json), 0);
        while (sy_json_next(&json) == 1) {
            struct slice slice = read_slice(&json);
            if (strcmp(slice.phase, "X") == 0) {
                assert_true(count < capacity);
                slices[count++] = slice;
            }
        }
    }
    assert_int_equal(sy_json_end(&json), 0);
    assert_string_equal(error.message, "");
    sy_json_finish(&json);
    return count;
}

static void holds_every_span_exactly(void **state) {
    (void)state;
    struct sy_trace trace = {0};
    struct sy_trace_names names = sample_names();
    struct sy_buffer buffer = {0};
    struct slice slices[16];
    sample_fill(&trace);
    sy_trace_write_chrome(&trace, &names, &buffer);
    assert_false(buffer.failed);
    assert_int_equal(parse(&buffer, slices, SY_COUNT(slices)), trace.count);
    assert_string_equal(slices[0].name, "a");
    assert_float_equal(slices[0].start_us, 0, 0);
    assert_float_equal(slices[0].duration_us, 1.234, 1e-12);
    assert_string_equal(slices[7].name, "b&b");
    assert_float_equal(slices[7].duration_us, 1.0, 1e-12);
    double bytes = 0;
    for (uint32_t i = 0; i < trace.count; i++) {
        bytes += slices[i].bytes;
    }
    assert_float_equal(bytes, 4106, 0);
    sy_buffer_finish(&buffer);
    sy_trace_finish(&trace);
}

static void tracks_never_overlap(void **state) {
    (void)state;
    struct sy_trace trace = {0};
    struct sy_trace_names names = sample_names();
    struct sy_buffer buffer = {0};
    static struct slice slices[600];
    sample_fill(&trace);
    for (uint32_t i = 0; i < 500; i++) {
        double start = 37.0 * i;
        sy_trace_add(&trace, &(struct sy_span){.start_ns = start,
                                               .end_ns = start + 400,
                                               .kind = SY_SPAN_TRANSFER,
                                               .place = i % 2,
                                               .from = 1 - i % 2,
                                               .subject = i});
    }
    sy_trace_write_chrome(&trace, &names, &buffer);
    uint32_t count = parse(&buffer, slices, SY_COUNT(slices));
    assert_int_equal(count, trace.count);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = i + 1; j < count; j++) {
            if (slices[i].process == slices[j].process && slices[i].thread == slices[j].thread) {
                double end = slices[i].start_us + slices[i].duration_us;
                double other = slices[j].start_us + slices[j].duration_us;
                assert_true(slices[j].start_us > end - 1e-9 || other < slices[i].start_us + 1e-9);
            }
        }
    }
    sy_buffer_finish(&buffer);
    sy_trace_finish(&trace);
}

static void nothing_is_valid_too(void **state) {
    (void)state;
    struct sy_trace trace = {0};
    struct sy_trace_names names = {0};
    struct sy_buffer buffer = {0};
    struct slice slices[1];
    sy_trace_write_chrome(&trace, &names, &buffer);
    assert_int_equal(parse(&buffer, slices, 1), 0);
    sy_buffer_finish(&buffer);
}

static const char *hostile(const void *context, uint32_t index) {
    (void)context;
    (void)index;
    return "a\"\\\n\x01\xff\xc3(\xed\xa0\x80 \xc3\xa9";
}

static void hostile_names_are_escaped(void **state) {
    (void)state;
    struct sy_trace trace = {0};
    struct sy_trace_names names = sample_names();
    struct sy_buffer buffer = {0};
    struct slice slices[16];
    names.group = hostile;
    sample_fill(&trace);
    sy_trace_write_chrome(&trace, &names, &buffer);
    parse(&buffer, slices, SY_COUNT(slices));
    assert_string_equal(slices[0].name, "a\"\\????"
                                        "(??? \xc3\xa9");
    sy_buffer_finish(&buffer);
    sy_trace_finish(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_every_span_exactly),
        cmocka_unit_test(tracks_never_overlap),
        cmocka_unit_test(nothing_is_valid_too),
        cmocka_unit_test(hostile_names_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
