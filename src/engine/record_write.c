/* SPDX-License-Identifier: Apache-2.0
 *
 * Writer of "symph-run-1", docs/run-format.md: what record_read.c reads back to the same record.
 *
 * Invariant: times are written as whole nanoseconds and spreads with four decimals, so that a run
 * of 10,000 tasks with all its alternatives stays a few megabytes; a record that was read is
 * written as the same bytes.
 */
#include "base/json.h"
#include "engine/record.h"
#include "graph/graph.h"
#include "topology/topology.h"
#include <math.h>

#define WHOLE_MAX 9007199254740992.0 /* 2^53 */

/* null: not known; "inf": never. */
static void put_time(struct sy_json_writer *writer, double ns) {
    ns = rint(ns) + 0.0; /* no negative zero, which would be read as 0 and written so */
    if (ns == INFINITY) {
        sy_json_put_string(writer, "inf");
    } else if (ns >= 0 && ns < WHOLE_MAX) {
        sy_json_put_u64(writer, (uint64_t)ns);
    } else {
        sy_json_put_number(writer, ns);
    }
}

static void put_index(struct sy_json_writer *writer, uint32_t index) {
    if (index == SY_NONE) {
        sy_json_put_null(writer);
    } else {
        sy_json_put_u64(writer, index);
    }
}

static void put_text(struct sy_json_writer *writer, const char *key, const char *text) {
    sy_json_member_string(writer, key, text ? text : "");
}

static void put_if_known(struct sy_json_writer *writer, const char *key, double value) {
    if (isinf(value)) {
        sy_json_member_string(writer, key, "inf");
    } else if (!isnan(value)) {
        sy_json_member_number(writer, key, value);
    }
}

static void put_part(struct sy_json_writer *writer, const char *key, struct sy_buffer *part) {
    sy_json_key(writer, key);
    if (part->failed) {
        writer->buffer.failed = true;
    } else {
        sy_json_put_json(writer, part->text, part->length);
    }
    sy_buffer_finish(part);
}

static void put_model(struct sy_json_writer *writer, const struct sy_record *record) {
    uint32_t classes = record->machine->class_count;
    sy_json_open_member(writer, "model_ns", '[');
    for (uint32_t t = 0; t < record->graph->task_count; t++) {
        sy_json_open(writer, '[');
        for (uint32_t c = 0; c < classes; c++) {
            put_time(writer, record->model_ns ? record->model_ns[(size_t)t * classes + c] : NAN);
        }
        sy_json_close(writer, ']');
    }
    sy_json_close(writer, ']');
}

static void put_tasks(struct sy_json_writer *writer, const struct sy_record *record) {
    sy_json_open_member(writer, "tasks", '[');
    for (uint32_t t = 0; t < record->graph->task_count; t++) {
        const struct sy_record_task *task = &record->tasks[t];
        sy_json_open(writer, '[');
        put_index(writer, task->device);
        put_time(writer, task->submitted_ns);
        put_time(writer, task->ready_ns);
        put_time(writer, task->start_ns);
        put_time(writer, task->end_ns);
        put_time(writer, task->predicted_ns);
        sy_json_close(writer, ']');
    }
    sy_json_close(writer, ']');
}

static void put_alternative(struct sy_json_writer *writer, const struct sy_alternative *item) {
    sy_json_print(writer, "[%u", item->device);
    put_time(writer, item->queue_ns);
    put_time(writer, item->inputs_ns);
    put_time(writer, item->exec_ns);
    put_time(writer, item->finish_ns);
    sy_json_print(writer, "%g]", rint(item->log_sigma * 1e4) / 1e4);
}

/* Only if there is one: most policies give none. */
static void put_reason(struct sy_json_writer *writer, const struct sy_reason *reason) {
    const double ratios[] = {reason->slowdown, reason->slowdown_sd, reason->utilisation};
    if (!sy_reason_given(reason)) {
        return;
    }
    sy_json_open(writer, '[');
    const char *guard = sy_guard_name(reason->guard);
    sy_json_put_string(writer, guard ? guard : sy_guard_name(SY_GUARD_NONE));
    put_time(writer, reason->finish_ns);
    put_time(writer, reason->correction_ns);
    for (size_t i = 0; i < SY_COUNT(ratios); i++) {
        sy_json_put_number(writer, rint(ratios[i] * 1e4) / 1e4 + 0.0);
    }
    sy_json_close(writer, ']');
}

static void put_decisions(struct sy_json_writer *writer, const struct sy_record *record) {
    sy_json_open_member(writer, "decisions", '[');
    for (uint32_t i = 0; i < record->decision_count; i++) {
        const struct sy_decided *decided = &record->decisions[i];
        sy_json_open(writer, '[');
        put_time(writer, decided->at_ns);
        sy_json_print(writer, "%u, %u, %g, %u, [", decided->task, decided->device,
                      decided->priority, decided->ready_count);
        for (uint32_t a = 0; a < decided->alternative_count; a++) {
            put_alternative(writer, &decided->alternatives[a]);
        }
        sy_json_close(writer, ']');
        put_reason(writer, &decided->reason);
        sy_json_close(writer, ']');
    }
    sy_json_close(writer, ']');
}

static void put_trace(struct sy_json_writer *writer, const struct sy_trace *trace) {
    sy_json_open_member(writer, "trace", '[');
    for (uint32_t i = 0; i < trace->count; i++) {
        const struct sy_span *span = &trace->spans[i];
        sy_json_print(writer, "[%s", sy_record_span_name(span->kind));
        put_index(writer, span->kind == SY_SPAN_LOST ? SY_NONE : span->subject);
        sy_json_put_u64(writer, span->place);
        put_time(writer, span->start_ns);
        put_time(writer, span->end_ns);
        if (span->kind == SY_SPAN_TRANSFER) {
            sy_json_print(writer, "%u, %g", span->from, span->bytes);
        }
        sy_json_close(writer, ']');
    }
    sy_json_close(writer, ']');
}

static void put_moved(struct sy_json_writer *writer, const struct sy_record *record) {
    uint32_t count = record->moved_bytes ? record->machine->memory_count : 0;
    sy_json_open_member(writer, "moved_bytes", '[');
    for (uint32_t i = 0; i < count * count; i++) {
        if (record->moved_bytes[i] > 0) {
            sy_json_print(writer, "[%u, %u, %g]", i / count, i % count, record->moved_bytes[i]);
        }
    }
    sy_json_close(writer, ']');
}

static void put_notes(struct sy_json_writer *writer, const struct sy_record *record) {
    if (record->note_count == 0) {
        return;
    }
    sy_json_open_member(writer, "notes", '[');
    for (uint32_t i = 0; i < record->note_count; i++) {
        sy_json_print(writer, "[%s, %s]", record->notes[i].key, record->notes[i].value);
    }
    sy_json_close(writer, ']');
}

static void put_jobs(struct sy_json_writer *writer, const struct sy_record *record) {
    sy_json_open_member(writer, "jobs", '[');
    for (uint32_t i = 0; i < record->job_count; i++) {
        const struct sy_record_job *job = &record->jobs[i];
        sy_json_print(writer, "[%s, %u, %u, %u, %g", job->graph, job->tenant, job->first_task,
                      job->task_count, job->weight);
        put_time(writer, job->arrive_ns);
        put_time(writer, job->end_ns);
        put_time(writer, job->alone_ns);
        sy_json_close(writer, ']');
    }
    sy_json_close(writer, ']');
}

static void put_summary(struct sy_json_writer *writer, const struct sy_record *record) {
    sy_json_key(writer, "makespan_ns");
    put_time(writer, record->makespan_ns);
    put_if_known(writer, "energy_joules", record->energy_joules);
    if (record->energy_source) {
        sy_json_member_string(writer, "energy_source", record->energy_source);
    }
    put_if_known(writer, "result_error", record->result_error);
    put_if_known(writer, "result_tolerance", record->result_tolerance);
    put_if_known(writer, "decision_p50_ns", record->decision_p50_ns);
    put_if_known(writer, "decision_p99_ns", record->decision_p99_ns);
}

void sy_record_write(const struct sy_record *record, struct sy_buffer *buffer) {
    struct sy_json_writer writer = {.buffer = *buffer, .compact_from = 3};
    struct sy_buffer machine = {0}, graph = {0};
    sy_machine_write_json(record->machine, &machine);
    sy_graph_write_json(record->graph, &graph);
    sy_json_print(&writer, "{schema: %s", SY_RECORD_SCHEMA);
    put_text(&writer, "spec", record->spec);
    put_text(&writer, "policy", record->policy);
    put_text(&writer, "runtime", record->runtime);
    put_text(&writer, "host", record->host);
    put_text(&writer, "date", record->date);
    put_summary(&writer, record);
    put_part(&writer, "machine", &machine);
    put_part(&writer, "graph", &graph);
    put_moved(&writer, record);
    put_model(&writer, record);
    put_tasks(&writer, record);
    put_decisions(&writer, record);
    put_trace(&writer, &record->trace);
    put_notes(&writer, record);
    if (record->job_count) {
        put_jobs(&writer, record);
    }
    if (record->stream) {
        sy_json_key(&writer, "stream");
        sy_record_write_stream(&writer, record->stream);
    }
    sy_json_close(&writer, '}');
    *buffer = writer.buffer;
    buffer->failed = buffer->failed || record->trace.failed;
}
