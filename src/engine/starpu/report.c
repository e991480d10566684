/* SPDX-License-Identifier: Apache-2.0
 *
 * The record of the run that has just ended.
 *
 * In: StarPU's times per task, the policy's decisions, the cost model. Out: symph-run-1 in a file,
 * whole or not at all. Times are ns since the first submission. Invariant: what is not known is
 * NAN, never a guess.
 */
#include "engine/starpu/session.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int add_trace(struct sy_engine *engine, struct sy_record *record) {
    uint32_t count = engine->graph->task_count;
    double *asked_ns = sy_arena_alloc(record->arena, count + 1u, sizeof *asked_ns);
    for (uint32_t t = 0; asked_ns && t < count; t++) {
        asked_ns[t] = session_row(engine->session, t)->asked_ns;
    }
    return asked_ns ? sy_record_add_trace(record, asked_ns) : -ENOMEM;
}

static int add_decisions(struct sy_engine *engine, struct sy_record *record) {
    struct sy_decided *decisions = NULL;
    uint32_t count = 0, kept = 0;
    int code = sy_starpu_take_decisions(&decisions, &count);
    if (code < 0) {
        return code;
    }
    record->decisions = sy_arena_alloc(record->arena, count + 1, sizeof *decisions);
    for (uint32_t i = 0; record->decisions && i < count; i++) {
        if (decisions[i].task >= engine->graph->task_count) {
            continue; /* StarPU's own, and the preparation of kernels */
        }
        struct sy_decided *out = &record->decisions[kept++];
        *out = decisions[i];
        out->at_ns = fmax(0, out->at_ns - engine->start_us * 1e3);
        if (out->alternative_count) {
            record->tasks[out->task].predicted_ns = out->alternatives[0].exec_ns;
        }
    }
    free(decisions);
    record->decision_count = kept;
    sy_starpu_decision_cost(&record->decision_p50_ns, &record->decision_p99_ns);
    return record->decisions ? 0 : -ENOMEM;
}

/* --- the whole ----------------------------------------------------------------------------------
 */
static char *label(struct sy_record *record, const struct sy_engine *engine) {
    struct sy_buffer text = {0};
    sy_buffer_printf(&text, "%s", engine->request.spec);
    if (engine->emulated_count) {
        sy_buffer_printf(&text, " [%u of %u kernels emulated]", engine->emulated_count,
                         engine->graph->kernel_count);
    }
    char *copy = text.text ? sy_arena_strdup(record->arena, text.text) : NULL;
    sy_buffer_finish(&text);
    return copy;
}

static int add_names(struct sy_engine *engine, struct sy_record *record) {
    char host[256] = "", date[64] = "";
    time_t now = time(NULL);
    struct tm parts;
    gethostname(host, sizeof host - 1);
    if (gmtime_r(&now, &parts)) {
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    record->spec = label(record, engine);
    record->policy = engine->request.policy ? engine->request.policy : sy_scheduler_default();
    record->runtime = engine->runtime;
    record->host = sy_arena_strdup(record->arena, host);
    record->date = sy_arena_strdup(record->arena, date);
    record->graph = engine->graph;
    record->machine = engine->machine;
    record->moved_bytes = engine->moved_bytes;
    record->energy_joules = engine->energy_joules;
    record->energy_source = engine->energy_source;
    record->result_error = engine->result_error;
    record->result_tolerance = engine->result_tolerance;
    record->stream = engine->stream;
    record->notes = engine->session->notes;
    record->note_count = engine->session->note_count;
    return record->spec && record->host && record->date ? 0 : -ENOMEM;
}

/* A task that memory did not suffice for is in the graph, or is a row, but not both. */
static int seal(const struct sy_engine *engine, struct sy_error *error) {
    if (engine->graph->task_count != engine->session->rows.count) {
        return sy_fail(error, -ENOMEM, "no memory for the record");
    }
    return engine->graph->sealed ? 0 : sy_graph_seal(engine->graph, error);
}

int sy_engine_report(struct sy_engine *engine, struct sy_error *error) {
    int code = seal(engine, error);
    if (code < 0) {
        return code;
    }
    struct sy_record *record = sy_record_create();
    uint32_t count = engine->graph->task_count;
    if (record) {
        record->tasks = sy_arena_alloc(record->arena, count + 1, sizeof *record->tasks);
    }
    if (!record || !record->tasks || add_names(engine, record) < 0) {
        return sy_fail(error, -ENOMEM, "no memory for the record");
    }
    for (uint32_t t = 0; t < count; t++) {
        record->tasks[t] = session_row(engine->session, t)->ran;
        if (record->tasks[t].device != SY_NONE) {
            record->makespan_ns = fmax(record->makespan_ns, record->tasks[t].end_ns);
        }
    }
    code = add_trace(engine, record);
    if (!code && engine->ours) {
        code = add_decisions(engine, record);
    }
    if (!code) {
        code = sy_engine_add_model(engine, record);
    }
    code = code ? code : session_report_stream(engine->session, record);
    struct sy_buffer text = {0};
    if (!code) {
        sy_record_write(record, &text);
        code = text.failed ? -ENOMEM : 0;
    }
    /* The process ends soon; the record's parts belong to the engine. */
    if (code < 0) {
        return sy_fail(error, code, "the record cannot be made: %s", strerror(-code));
    }
    atomic_store(&engine->page->record_bytes, text.length);
    code = sy_write_file(engine->request.record, text.text, text.length, error);
    sy_buffer_finish(&text);
    return code;
}
