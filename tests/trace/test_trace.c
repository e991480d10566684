/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

static void reserved_room_is_not_moved(void **state) {
    (void)state;
    struct sy_trace trace = {0};
    assert_int_equal(sy_trace_reserve(&trace, 1000), 0);
    assert_int_equal(trace.count, 0);
    const struct sy_span *spans = trace.spans;
    sample_fill_many(&trace, 4, 1000);
    assert_ptr_equal(trace.spans, spans);
    assert_int_equal(trace.count, 1000);
    assert_false(trace.failed);
    sy_trace_finish(&trace);
    assert_null(trace.spans);
}

static void one_content_has_one_order(void **state) {
    (void)state;
    struct sy_trace forward = {0}, backward = {0};
    sample_fill(&forward);
    for (uint32_t i = forward.count; i > 0; i--) {
        sy_trace_add(&backward, &forward.spans[i - 1]);
    }
    sy_trace_sort(&forward);
    sy_trace_sort(&backward);
    assert_int_equal(forward.count, backward.count);
    assert_memory_equal(forward.spans, backward.spans, forward.count * sizeof *forward.spans);
    for (uint32_t i = 1; i < forward.count; i++) {
        assert_true(forward.spans[i - 1].start_ns <= forward.spans[i].start_ns);
    }
    sy_trace_finish(&forward);
    sy_trace_finish(&backward);
}

static void empty_is_fine(void **state) {
    (void)state;
    struct sy_trace trace = {0};
    sy_trace_sort(&trace);
    sy_trace_finish(&trace);
    sy_trace_finish(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reserved_room_is_not_moved),
        cmocka_unit_test(one_content_has_one_order),
        cmocka_unit_test(empty_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
