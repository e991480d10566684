/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static char *write_sample(void) {
    struct sy_trace trace = {0};
    struct sy_trace_names names = sample_names();
    struct sy_buffer buffer = {0};
    sample_fill(&trace);
    sy_trace_write_paje(&trace, &names, &buffer);
    assert_false(buffer.failed);
    sy_trace_finish(&trace);
    return buffer.text;
}

static void events_are_defined_and_in_order(void **state) {
    (void)state;
    char *text = write_sample(), *save = NULL;
    bool defined[32] = {false};
    double last = 0;
    uint32_t events = 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        unsigned number;
        double at;
        if (sscanf(line, "%%EventDef %*s %u", &number) == 1) {
            assert_in_range(number, 0, 31);
            defined[number] = true;
        } else if (line[0] != '%') {
            assert_int_equal(sscanf(line, "%u", &number), 1);
            assert_true(number < 32 && defined[number]);
            if (number >= 5) {
                assert_int_equal(sscanf(line, "%*u %lf", &at), 1);
                assert_true(at >= last);
                last = at;
                events++;
            }
        }
    }
    assert_float_equal(last, 3.0e-6, 1e-12);
    assert_true(events > 20);
    free(text);
}

static void states_links_and_counts_balance(void **state) {
    (void)state;
    char *text = write_sample();
    assert_non_null(strstr(text, "\n7 0.000000000 ST_state D0 K0 \"t0\"\n"));
    assert_non_null(strstr(text, "\n7 0.000002000 ST_state D1 K1 \"t1\"\n"));
    assert_non_null(strstr(text, "\n7 0.000001300 ST_state D0 S_lost"));
    assert_int_equal(count_of(text, "\n9 "), 2);
    assert_int_equal(count_of(text, "\n10 "), 2);
    assert_int_equal(count_of(text, "\n11 "), count_of(text, "\n12 "));
    assert_int_equal(count_of(text, "\n5 "), count_of(text, "\n6 "));
    assert_non_null(strstr(text, "\"gpu'0'\""));
    free(text);
}

static void nothing_is_valid_too(void **state) {
    (void)state;
    struct sy_trace trace = {0};
    struct sy_trace_names names = {0};
    struct sy_buffer buffer = {0};
    sy_trace_write_paje(&trace, &names, &buffer);
    assert_false(buffer.failed);
    assert_int_equal(count_of(buffer.text, "\n5 "), 1);
    sy_buffer_finish(&buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_defined_and_in_order),
        cmocka_unit_test(states_links_and_counts_balance),
        cmocka_unit_test(nothing_is_valid_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
