/* SPDX-License-Identifier: Apache-2.0
 *
 * The record of somebody else's program, once its last task has ended.
 *
 * In: the notes of its tasks, the policy's decisions, the cost model. Out: symph-run-1 and pictures
 * in the files that were asked for, each whole or not at all, and the record of the last run. Times
 * are ns since the first submission. Invariant: what is not known is NAN, never a guess.
 */
#include "base/program.h"
#include "engine/rank.h"
#include "engine/starpu/recorder.h"
#include "graph/graph.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SPEC_BYTES 200 /* of a command line */

static int by_number(const void *left, const void *right, void *argument) {
    const struct recorder *r = argument;
    return SY_ORDER(recorder_note(r, *(const uint32_t *)left)->number,
                    recorder_note(r, *(const uint32_t *)right)->number);
}

/* In order of submission, which is that of their numbers. StarPU does not say when its own tasks
 * (reductions) end: one that nothing followed on its worker is left out. */
static uint32_t *sort_notes(struct recorder *r, struct sy_arena *arena, uint32_t *ret_count) {
    uint32_t *order = sy_arena_alloc(arena, r->count + 1u, sizeof *order), count = 0;
    for (uint32_t i = 0; order && i < r->count; i++) {
        const struct note *note = recorder_note(r, i);
        if (note->row && (isnan(note->start_ns) || !isnan(note->end_ns))) {
            order[count++] = i;
        }
    }
    if (order) {
        qsort_r(order, count, sizeof *order, by_number, r);
    }
    *ret_count = count;
    return order;
}

static uint32_t find_number(const struct recorder *r, const uint32_t *order, uint32_t count,
                            uint32_t number) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (recorder_note(r, order[middle])->number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && recorder_note(r, order[low])->number == number ? low : SY_NONE;
}

/* --- parts --------------------------------------------------------------------------------------
 */
static int add_tasks(const struct recorder *r, const uint32_t *order, struct sy_record *record) {
    uint32_t count = record->graph->task_count;
    double start_ns = recorder_note(r, order[0])->submitted_ns;
    double *asked_ns = sy_arena_alloc(record->arena, count + 1u, sizeof *asked_ns);
    record->tasks = sy_arena_alloc(record->arena, count + 1u, sizeof *record->tasks);
    if (!asked_ns || !record->tasks) {
        return -ENOMEM;
    }
    for (uint32_t t = 0; t < count; t++) {
        const struct note *note = recorder_note(r, order[t]);
        bool ran = note->worker < record->machine->device_count && note->end_ns >= note->start_ns;
        record->tasks[t] =
            (struct sy_record_task){.device = ran ? note->worker : SY_NONE,
                                    .submitted_ns = fmax(0, note->submitted_ns - start_ns),
                                    .ready_ns = note->ready_ns - start_ns,
                                    .start_ns = ran ? note->start_ns - start_ns : NAN,
                                    .end_ns = ran ? note->end_ns - start_ns : NAN,
                                    .predicted_ns = NAN};
        asked_ns[t] = note->asked_ns - start_ns;
        record->makespan_ns =
            ran ? fmax(record->makespan_ns, record->tasks[t].end_ns) : record->makespan_ns;
    }
    return sy_record_add_trace(record, asked_ns);
}

static int add_decisions(const struct recorder *r, const uint32_t *order,
                         struct sy_record *record) {
    struct sy_decided *decisions = NULL;
    uint32_t count = 0;
    double start_ns = recorder_note(r, order[0])->submitted_ns;
    int code = sy_starpu_take_decisions(&decisions, &count);
    if (code) {
        return code;
    }
    record->decisions = sy_arena_alloc(record->arena, count + 1u, sizeof *decisions);
    for (uint32_t i = 0; record->decisions && i < count; i++) {
        uint32_t task = find_number(r, order, record->graph->task_count, decisions[i].task);
        if (task == SY_NONE) {
            continue;
        }
        struct sy_decided *out = &record->decisions[record->decision_count++];
        *out = decisions[i];
        out->task = task;
        out->at_ns = fmax(0, out->at_ns - start_ns);
        if (out->alternative_count) {
            record->tasks[task].predicted_ns = out->alternatives[0].exec_ns;
        }
    }
    free(decisions);
    sy_starpu_decision_cost(&record->decision_p50_ns, &record->decision_p99_ns);
    return record->decisions ? 0 : -ENOMEM;
}

static int add_model(const struct recorder *r, const uint32_t *order, struct sy_record *record) {
    uint32_t classes = record->machine->class_count, count = record->graph->task_count;
    record->model_ns = sy_arena_alloc(record->arena, (size_t)count * classes + 1, sizeof(double));
    for (uint32_t t = 0; record->model_ns && t < count; t++) {
        for (uint32_t c = 0; c < classes; c++) {
            record->model_ns[(size_t)t * classes + c] =
                row_model_ns(recorder_note(r, order[t])->row, c);
        }
    }
    return record->model_ns ? sy_record_set_times(record) : -ENOMEM;
}

/* What StarPU has copied, unless its user wants it to print that: reading sets it back to 0. */
static int add_moved(struct sy_record *record) {
    uint32_t memories = record->machine->memory_count;
    bool asked = getenv("STARPU_BUS_STATS") || getenv("STARPU_PROFILING");
    record->moved_bytes =
        sy_arena_alloc(record->arena, (size_t)memories * memories + 1, sizeof(double));
    for (int bus = 0; record->moved_bytes && !asked && bus < starpu_bus_get_count(); bus++) {
        int from = starpu_bus_get_src(bus), to = starpu_bus_get_dst(bus);
        if (from >= 0 && to >= 0 && (uint32_t)from < memories && (uint32_t)to < memories) {
            record->moved_bytes[(uint32_t)from * memories + (uint32_t)to] += sy_bus_bytes(bus);
        }
    }
    return record->moved_bytes ? 0 : -ENOMEM;
}

/* --- names --------------------------------------------------------------------------------------
 */
static int add_names(struct sy_record *record) {
    char host[256] = "", date[64] = "", runtime[64], line[SPEC_BYTES];
    int major = 0, minor = 0, release = 0;
    time_t now = time(NULL);
    struct tm parts;
    const char *modelled = getenv("STARPU_HOSTNAME"); /* the machine whose models StarPU uses */
    gethostname(host, sizeof host - 1);
    if (gmtime_r(&now, &parts)) {
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    starpu_get_version(&major, &minor, &release);
#ifdef STARPU_SIMGRID
    const char *on = " on SimGrid, virtual time";
#else
    const char *on = "";
#endif
    snprintf(runtime, sizeof runtime, "StarPU %d.%d.%d%s", major, minor, release, on);
    sy_program_line(line, sizeof line);
    record->spec = sy_arena_strdup(record->arena, line);
    record->policy = sy_arena_strdup(record->arena, sy_shared.policy);
    record->runtime = sy_arena_strdup(record->arena, runtime);
    record->host = sy_arena_strdup(record->arena, modelled && modelled[0] ? modelled : host);
    record->date = sy_arena_strdup(record->arena, date);
    return record->spec && record->policy && record->runtime && record->host && record->date
               ? 0
               : -ENOMEM;
}

static int add_notes(const struct recorder *r, struct sy_record *record) {
    struct sy_note *notes = sy_arena_alloc(record->arena, 2, sizeof *notes);
    char text[64];
    uint32_t rank = 0;
    if (!notes) {
        return -ENOMEM;
    }
    if (sy_mpi_rank(&rank)) {
        snprintf(text, sizeof text, "%u", rank);
        notes[record->note_count++] =
            (struct sy_note){"rank", sy_arena_strdup(record->arena, text)};
    }
    if (r->left_out) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)r->left_out);
        notes[record->note_count++] =
            (struct sy_note){"tasks left out", sy_arena_strdup(record->arena, text)};
    }
    record->notes = notes;
    return record->note_count && !notes[record->note_count - 1].value ? -ENOMEM : 0;
}

/* --- the whole ----------------------------------------------------------------------------------
 */
static int make(struct recorder *r, struct sy_record *record, struct sy_error *error) {
    uint32_t count = 0, *order = sort_notes(r, record->arena, &count);
    if (order && count == 0) {
        return sy_fail(error, -ENODATA, "no task ran: there is nothing to record");
    }
    record->machine = sy_shared.machine;
    int code = order ? add_names(record) : -ENOMEM;
    code = code ? code : add_notes(r, record);
    code = code ? code : recorder_graph(r, order, count, "tasks", &record->graph, error);
    code = code ? code : add_tasks(r, order, record);
    code = code ? code : add_decisions(r, order, record);
    code = code ? code : add_model(r, order, record);
    return code ? code : add_moved(record);
}

static int write_picture(const struct sy_record *record, const char *path, sy_trace_writer *writer,
                         struct sy_error *error) {
    struct sy_buffer text = {0};
    if (!path) {
        return 0;
    }
    sy_record_draw(record, writer, NAN, &text);
    int code =
        text.failed ? sy_out_of_memory(error) : sy_write_file(path, text.text, text.length, error);
    sy_buffer_finish(&text);
    return code;
}

/* Of an MPI program the first rank's is the last record. That it cannot be kept is no failure. */
static int write_record(const struct recorder *r, const struct sy_record *record,
                        struct sy_error *error) {
    struct sy_buffer text = {0};
    uint32_t rank = 0;
    sy_record_write(record, &text);
    int code = text.failed ? sy_out_of_memory(error) : 0;
    if (!code && (!sy_mpi_rank(&rank) || rank == 0)) {
        (void)!sy_last_keep(&text, NULL);
    }
    if (!code && r->record) {
        code = sy_write_file(r->record, text.text, text.length, error);
    }
    sy_buffer_finish(&text);
    return code;
}

int recorder_write(struct recorder *recorder, struct sy_error *error) {
    const struct recorder *r = recorder;
    struct sy_record *record = sy_record_create();
    int code = record ? make(recorder, record, error) : -ENOMEM;
    if (code && error && !error->message[0]) {
        sy_fail(error, code, "the record cannot be made: %s", strerror(-code));
    }
    /* Each file for itself: what can be written is. */
    if (!code) {
        code = write_record(r, record, error);
        int pictures[] = {
            write_picture(record, r->plot, sy_trace_write_svg, code ? NULL : error),
            write_picture(record, r->trace, sy_trace_write_chrome, code ? NULL : error),
            write_picture(record, r->paje, sy_trace_write_paje, code ? NULL : error)};
        for (size_t i = 0; i < SY_COUNT(pictures); i++) {
            code = code ? code : pictures[i];
        }
    }
    if (record) {
        record->machine = NULL; /* the policy's */
        sy_record_destroy(record);
    }
    return code;
}
