/* SPDX-License-Identifier: Apache-2.0
 *
 * The record: spans in an array, and the one order for them.
 */
#include "trace/trace.h"
#include <stdlib.h>

int sy_trace_reserve(struct sy_trace *trace, uint32_t capacity) {
    return sy_grow(&trace->spans, &trace->capacity, capacity, sizeof *trace->spans);
}

void sy_trace_add(struct sy_trace *trace, const struct sy_span *span) {
    SY_ASSERT(span->end_ns >= span->start_ns);
    if (trace->count == UINT32_MAX || sy_trace_reserve(trace, trace->count + 1) < 0) {
        trace->failed = true;
        return;
    }
    trace->spans[trace->count++] = *span;
}

static int compare_u32(uint32_t a, uint32_t b) {
    return a < b ? -1 : a > b;
}

static int compare(const void *a, const void *b) {
    const struct sy_span *x = a, *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    int order = compare_u32(x->place, y->place);
    order = order ? order : compare_u32(x->kind, y->kind);
    order = order ? order : compare_u32(x->subject, y->subject);
    order = order ? order : compare_u32(x->from, y->from);
    if (order == 0 && x->end_ns != y->end_ns) {
        order = x->end_ns < y->end_ns ? -1 : 1;
    }
    return order;
}

void sy_trace_sort(struct sy_trace *trace) {
    if (trace->count > 1) {
        qsort(trace->spans, trace->count, sizeof *trace->spans, compare);
    }
}

void sy_trace_finish(struct sy_trace *trace) {
    free(trace->spans);
    *trace = (struct sy_trace){0};
}
