/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 16

static char *write_svg(const struct sy_trace *trace, const struct sy_trace_names *names,
                       size_t *ret_length) {
    struct sy_buffer buffer = {0};
    sy_trace_write_svg(trace, names, &buffer);
    assert_false(buffer.failed);
    *ret_length = buffer.length;
    return buffer.text;
}

/* Tags balance, '&' only begins the entities the writer uses, nothing is NaN. */
static void check_xml(const char *text) {
    char names[DEPTH_MAX][16];
    uint32_t depth = 0, roots = 0;
    for (const char *at = text; *at; at++) {
        if (*at == '&') {
            assert_true(strncmp(at, "&lt;", 4) == 0 || strncmp(at, "&gt;", 4) == 0 ||
                        strncmp(at, "&amp;", 5) == 0 || strncmp(at, "&quot;", 6) == 0);
        }
        if (*at != '<') {
            continue;
        }
        const char *end = strchr(at, '>');
        assert_non_null(end);
        if (at[1] == '/') {
            assert_true(depth > 0);
            depth--;
            assert_memory_equal(at + 2, names[depth], strlen(names[depth]));
        } else if (end[-1] != '/') {
            size_t length = 0;
            while (isalpha((unsigned char)at[1 + length])) {
                length++;
            }
            assert_true(depth < DEPTH_MAX && length > 0 && length < 16);
            memcpy(names[depth], at + 1, length);
            names[depth++][length] = '\0';
            roots += depth == 1;
        }
        at = end;
    }
    assert_int_equal(depth, 0);
    assert_int_equal(roots, 1);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf\""));
}

static void shows_what_there_is(void **state) {
    (void)state;
    struct sy_trace trace = {0};
    struct sy_trace_names names = sample_names();
    size_t length;
    sample_fill(&trace);
    char *text = write_svg(&trace, &names, &length);
    check_xml(text);
    assert_non_null(strstr(text, ">A &lt;run&gt;<"));
    assert_non_null(strstr(text, ">by hand<"));
    assert_non_null(strstr(text, ">gpu&lt;0&gt;<"));
    assert_non_null(strstr(text, ">to gpu&quot;0&quot;<"));
    assert_int_equal(count_of(text, ">b&amp;b</text>"), 2); /* in the legend and on the task */
    assert_null(strstr(text, ">t1</text>"));
    assert_true(has_both_schemes(text));
    assert_non_null(strstr(text, "lower bound 2.5 \xc2\xb5s, this schedule +20 %"));
    assert_non_null(strstr(text, "<title>t0 \xc2\xb7 a\n1.234 \xc2\xb5s from 0 ns</title>"));
    assert_non_null(strstr(text, "time (\xc2\xb5s)"));
    assert_non_null(strstr(text, ">reconfiguration<"));
    assert_non_null(strstr(text, ">device lost<"));
    assert_int_equal(count_of(text, "stroke-dasharray"), 1);
    /* One tooltip per span, and the title of the whole. */
    assert_int_equal(count_of(text, "<title>"), trace.count + 1);
    free(text);
    sy_trace_finish(&trace);
}

static void order_of_recording_does_not_matter(void **state) {
    (void)state;
    struct sy_trace forward = {0}, backward = {0};
    struct sy_trace_names names = sample_names();
    size_t length, same_length;
    sample_fill(&forward);
    for (uint32_t i = forward.count; i > 0; i--) {
        sy_trace_add(&backward, &forward.spans[i - 1]);
    }
    char *text = write_svg(&forward, &names, &length);
    char *same = write_svg(&backward, &names, &same_length);
    assert_string_equal(text, same);
    free(text);
    free(same);
    sy_trace_finish(&forward);
    sy_trace_finish(&backward);
}

static void long_traces_stay_small(void **state) {
    (void)state;
    static const struct {
        uint32_t devices, tasks;
    } cases[] = {{2, 300000}, {64, 300000}, {64, 6500}, {1000, 100000}};
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_trace trace = {0};
        struct sy_trace_names names = sample_names();
        size_t length;
        names.place_count = cases[i].devices;
        sample_fill_many(&trace, cases[i].devices, cases[i].tasks);
        char *text = write_svg(&trace, &names, &length);
        check_xml(text);
        assert_true(has_both_schemes(text));
        assert_in_range(length, 1000, 2000000);
        free(text);
        sy_trace_finish(&trace);
    }
}

static void nothing_is_drawn_too(void **state) {
    (void)state;
    struct sy_trace trace = {0};
    struct sy_trace_names names = sample_names(), nobody = {0};
    size_t length;
    names.bound_ns = 0;
    char *text = write_svg(&trace, &names, &length);
    check_xml(text);
    assert_non_null(strstr(text, "nothing was recorded"));
    free(text);
    text = write_svg(&trace, &nobody, &length);
    check_xml(text);
    assert_non_null(strstr(text, "no devices"));
    free(text);
    /* Spans that no name covers, or of no sensible time, are left out. */
    sample_fill(&trace);
    trace.spans[0].start_ns = NAN;
    trace.spans[1].end_ns = INFINITY;
    text = write_svg(&trace, &nobody, &length);
    check_xml(text);
    free(text);
    sy_trace_finish(&trace);
}

static const char *own_group(const void *context, uint32_t task) {
    return (const char *)context + (size_t)task * 8;
}

static void kernels_beyond_the_palette_share_a_colour(void **state) {
    (void)state;
    static char kernels[40][8];
    struct sy_trace trace = {0};
    struct sy_trace_names names = sample_names();
    size_t length;
    for (uint32_t i = 0; i < 40; i++) {
        snprintf(kernels[i], sizeof kernels[i], "k%u", i);
    }
    names.context = kernels;
    names.group = own_group;
    sample_fill_many(&trace, 2, 40);
    char *text = write_svg(&trace, &names, &length);
    check_xml(text);
    assert_non_null(strstr(text, ">28 other kernels<"));
    free(text);
    sy_trace_finish(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_what_there_is),
        cmocka_unit_test(order_of_recording_does_not_matter),
        cmocka_unit_test(long_traces_stay_small),
        cmocka_unit_test(nothing_is_drawn_too),
        cmocka_unit_test(kernels_beyond_the_palette_share_a_colour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
