/* SPDX-License-Identifier: Apache-2.0
 *
 * Life of a run record. record_write.c and record_read.c are its two ways to a file.
 */
#include "engine/record.h"
#include "graph/graph.h"
#include <math.h>
#include <stdlib.h>

struct sy_record *sy_record_create(void) {
    struct sy_record *record = calloc(1, sizeof *record);
    struct sy_arena *arena = record ? sy_arena_create() : NULL;
    if (!arena) {
        free(record);
        return NULL;
    }
    record->arena = arena;
    record->energy_joules = record->result_error = record->result_tolerance = NAN;
    record->decision_p50_ns = record->decision_p99_ns = NAN;
    return record;
}

void sy_record_destroy(struct sy_record *record) {
    if (record) {
        sy_trace_finish(&record->trace);
        sy_graph_destroy(record->graph);
        sy_machine_destroy(record->machine);
        sy_arena_destroy(record->arena);
        free(record);
    }
}

const char *sy_record_span_name(uint32_t kind) {
    static const char *const names[] = {"task", "stall",   "transfer", "reconfigure",
                                        "lost", "aborted", "part"};
    return names[kind];
}

const char *sy_guard_name(uint32_t guard) {
    static const char *const names[] = {
        [SY_GUARD_NONE] = "none",       [SY_GUARD_TRUSTED] = "trusted",
        [SY_GUARD_BOUNDED] = "bounded", [SY_GUARD_FALLBACK] = "fallback",
        [SY_GUARD_PLAN] = "plan",
    };
    return guard < SY_COUNT(names) ? names[guard] : NULL;
}

/* By what is left of it in a file: whole nanoseconds, four decimals. */
bool sy_reason_given(const struct sy_reason *reason) {
    return reason->guard != SY_GUARD_NONE || fabsf(reason->finish_ns) > 0.5f ||
           fabsf(reason->correction_ns) > 0.5f || fabsf(reason->slowdown) > 1e-4f ||
           fabsf(reason->utilisation) > 1e-4f;
}
