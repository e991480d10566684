/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the reader of trace folders: the list, and behind a blank line the first program's table.
 * What is taken has relations between events that exist, and rates that can be computed with.
 */
#include "symph-bench/counters.h"
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_list(const struct sy_traces *traces) {
    SY_ASSERT(traces->event_count > 0 && traces->series_count > 0);
    for (uint32_t i = 0; i < traces->relation_count; i++) {
        const struct sy_relation *relation = &traces->relations[i];
        SY_ASSERT(relation->out < traces->event_count && relation->term_count > 0);
        SY_ASSERT(relation->first_term + relation->term_count <= traces->term_count);
    }
    for (uint32_t i = 0; i < traces->term_count; i++) {
        SY_ASSERT(traces->terms[i].variable < traces->event_count);
        SY_ASSERT(isfinite(traces->terms[i].coefficient));
    }
}

static void check_table(const struct sy_traces *traces) {
    const struct sy_series *series = &traces->series[0];
    for (size_t i = 0; i < (size_t)series->windows * traces->event_count; i++) {
        SY_ASSERT(series->rates[i] >= 0 && isfinite(series->rates[i]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    const char *blank = size ? memmem(text, size, "\n\n", 2) : NULL;
    size_t list = blank ? (size_t)(blank - text) : size;
    struct sy_traces *traces = NULL;
    struct sy_error error = {0};
    if (sy_traces_parse("fuzz", text, list, &traces, &error)) {
        SY_ASSERT(error.message[0] && !traces);
        return 0;
    }
    check_list(traces);
    if (blank) {
        int code = sy_traces_parse_series(traces, 0, "table", blank + 2, size - list - 2, &error);
        SY_ASSERT(code == 0 || error.message[0]);
        if (!code) {
            check_table(traces);
        }
    }
    sy_traces_destroy(traces);
    return 0;
}
