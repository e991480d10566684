/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of "symph-run-1", docs/run-format.md.
 *
 * In: text. Out: a record whose every index is within its machine and its graph. Invariant: what
 * contradicts the machine or the graph is refused at its line and column; nothing is allocated that
 * the length of the text does not justify.
 */
#include "base/json.h"
#include "engine/record.h"
#include "graph/graph.h"
#include "topology/topology.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MAX_NS 1e18 /* 30 years */
#define NUMBER_MAX  1e300

struct reader {
    struct sy_json json;
    struct sy_record *record;
    struct sy_decided *decisions; /* while reading */
    struct sy_note *notes;        /* likewise */
    struct sy_record_job *jobs;   /* likewise */
    uint32_t decision_capacity, note_capacity, job_capacity;
    size_t length;
};

/* --- rows: arrays of a fixed shape ------------------------------------------------------------ */
enum column_type {
    INDEX,        /* uint32_t below limit */
    MAYBE_INDEX,  /* null: SY_NONE */
    TIME,         /* finite */
    MAYBE_TIME,   /* null: NAN */
    ANY_TIME,     /* null: NAN; "inf": INFINITY */
    MAYBE_NUMBER, /* null: NAN */
    AMOUNT,       /* finite, not negative */
};

struct column {
    const char *name;
    enum column_type type;
    void *out;
    uint32_t limit;
};

static int read_infinity(struct reader *reader, double *ret_value) {
    const char *text;
    int code = sy_json_string(&reader->json, &text, NULL);
    if (!code && strcmp(text, "inf") != 0) {
        code = sy_json_fail(&reader->json, "expected a number, null or \"inf\"");
    }
    if (!code) {
        *ret_value = INFINITY;
    }
    return code;
}

static int read_number(struct reader *reader, const struct column *column) {
    double low = column->type == AMOUNT         ? 0
                 : column->type == MAYBE_NUMBER ? -NUMBER_MAX
                                                : -TIME_MAX_NS;
    double high = column->type == AMOUNT || column->type == MAYBE_NUMBER ? NUMBER_MAX : TIME_MAX_NS;
    return sy_json_number_in(&reader->json, column->name, low, high, column->out);
}

static int read_cell(struct reader *reader, const struct column *column) {
    enum sy_json_type type;
    int code = sy_json_peek(&reader->json, &type);
    if (code) {
        return code;
    }
    bool may_be_null = column->type == MAYBE_INDEX || column->type == MAYBE_TIME ||
                       column->type == ANY_TIME || column->type == MAYBE_NUMBER;
    if (type == SY_JSON_NULL && may_be_null) {
        if (column->type == MAYBE_INDEX) {
            *(uint32_t *)column->out = SY_NONE;
        } else {
            *(double *)column->out = NAN;
        }
        return sy_json_skip(&reader->json);
    }
    if (type == SY_JSON_STRING && column->type == ANY_TIME) {
        return read_infinity(reader, column->out);
    }
    return column->type <= MAYBE_INDEX
               ? sy_json_index(&reader->json, column->name, column->limit, column->out)
               : read_number(reader, column);
}

/* The next element of a row must be there (1), or must not (0). */
static int expect_next(struct reader *reader, int wanted, const char *what) {
    int more = sy_json_next(&reader->json);
    if (more < 0 || more == wanted) {
        return more < 0 ? more : 0;
    }
    return wanted ? sy_json_fail(&reader->json, "this row is too short: \"%s\" is missing", what)
                  : sy_json_fail(&reader->json, "this row is too long");
}

static int read_cells(struct reader *reader, const struct column *columns, size_t count) {
    int code = 0;
    for (size_t i = 0; !code && i < count; i++) {
        code = expect_next(reader, 1, columns[i].name);
        code = code ? code : read_cell(reader, &columns[i]);
    }
    return code;
}

/* Afterwards an error speaks of the row as a whole. */
static int read_row(struct reader *reader, const struct column *columns, size_t count) {
    int code = sy_json_enter_array(&reader->json);
    struct sy_json_place row = sy_json_here(&reader->json);
    code = code ? code : read_cells(reader, columns, count);
    code = code ? code : expect_next(reader, 0, NULL);
    if (!code) {
        sy_json_go(&reader->json, row);
    }
    return code;
}

/* Machine and graph are what the rest is measured by. */
static int need_parts(struct reader *reader, const struct sy_json_member *member) {
    return reader->record->machine && reader->record->graph
               ? 0
               : sy_json_fail(&reader->json, "\"%s\" comes before \"machine\" and \"graph\"",
                              member->name);
}

struct list {
    int (*read_one)(struct reader *reader);
};

static int read_list(void *any, const struct sy_json_member *member) {
    const struct list *list = member->extra;
    struct reader *reader = any;
    int more = need_parts(reader, member);
    more = more ? more : sy_json_enter_array(&reader->json);
    while (more >= 0 && (more = sy_json_next(&reader->json)) > 0) {
        more = list->read_one(reader);
    }
    return more;
}

/* A row per task of the graph. */
struct per_task {
    int (*read_one)(struct reader *reader, uint32_t task);
};

static int read_per_task(void *any, const struct sy_json_member *member) {
    const struct per_task *rows = member->extra;
    struct reader *reader = any;
    int more = need_parts(reader, member);
    if (more) {
        return more;
    }
    uint32_t count = reader->record->graph->task_count, task = 0;
    more = sy_json_enter_array(&reader->json);
    struct sy_json_place list = sy_json_here(&reader->json);
    enum sy_json_type type;
    while (more >= 0 && (more = sy_json_next(&reader->json)) > 0) {
        if (task == count) {
            more = sy_json_peek(&reader->json, &type);
            if (more < 0) {
                return more;
            }
            return sy_json_fail(&reader->json, "%s has more rows than the graph has tasks (%u)",
                                member->name, count);
        }
        more = rows->read_one(reader, task++);
    }
    if (more == 0 && task < count) {
        sy_json_go(&reader->json, list);
        return sy_json_fail(&reader->json, "%s has %u rows, but the graph has %u tasks",
                            member->name, task, count);
    }
    return more;
}

/* --- parts ------------------------------------------------------------------------------------ */

static int parse_machine(struct reader *reader, const char *text, size_t length) {
    char *copy = strndup(text, length); /* its reader wants a NUL behind the text */
    if (!copy) {
        return sy_out_of_memory(reader->json.error);
    }
    int code = sy_machine_read_json(reader->json.file, copy, length, &reader->record->machine,
                                    reader->json.error);
    free(copy);
    return code;
}

static int parse_graph(struct reader *reader, const char *text, size_t length) {
    struct sy_graph_list list = {0};
    int code = sy_graph_read_json(reader->json.file, text, length, &list, reader->json.error);
    if (!code) {
        reader->record->graph = list.graphs[0];
        free(list.graphs);
    }
    return code;
}

static int allocate(struct reader *reader) {
    struct sy_record *record = reader->record;
    size_t tasks = record->graph->task_count, cells = tasks * record->machine->class_count;
    size_t memories = record->machine->memory_count;
    if (cells > reader->length / 2 + 1) { /* each cell of model_ns takes a digit and a comma */
        return sy_json_fail(&reader->json, "the file is too short for %zu tasks on %u classes",
                            tasks, record->machine->class_count);
    }
    record->tasks = sy_arena_alloc(record->arena, tasks + 1, sizeof *record->tasks);
    record->model_ns = sy_arena_alloc(record->arena, cells + 1, sizeof *record->model_ns);
    record->moved_bytes = sy_arena_alloc(record->arena, memories * memories, sizeof(double));
    return record->tasks && record->model_ns && record->moved_bytes
               ? 0
               : sy_out_of_memory(reader->json.error);
}

static int read_part(void *any, const struct sy_json_member *member) {
    struct reader *reader = any;
    const char *text;
    size_t length;
    int code = sy_json_cut(&reader->json, &text, &length);
    if (code || text[0] != '{') { /* an array would be many graphs */
        return code ? code : sy_json_fail(&reader->json, "expected an object");
    }
    code = strcmp(member->name, "machine") == 0 ? parse_machine(reader, text, length)
                                                : parse_graph(reader, text, length);
    if (code) {
        if (reader->json.error->file[0]) {
            sy_json_relocate(&reader->json);
        }
        return code;
    }
    return reader->record->graph && reader->record->machine ? allocate(reader) : 0;
}

static int read_model_row(struct reader *reader, uint32_t task) {
    uint32_t classes = reader->record->machine->class_count;
    int code = sy_json_enter_array(&reader->json);
    for (uint32_t c = 0; !code && c < classes; c++) {
        double *out = &reader->record->model_ns[(size_t)task * classes + c];
        code = read_cells(reader, &(struct column){"class", ANY_TIME, out}, 1);
        if (!code && *out < 0) {
            code = sy_json_fail(&reader->json, "a time cannot be negative");
        }
    }
    return code ? code : expect_next(reader, 0, NULL);
}

/* The row was read last. */
static int check_task(struct reader *reader, const struct sy_record_task *task) {
    bool ran = task->device != SY_NONE;
    if (ran != !isnan(task->start_ns) || ran != !isnan(task->end_ns)) {
        return sy_json_fail(&reader->json,
                            "a task has a device, a start and an end, or none of them");
    }
    if (ran && task->end_ns < task->start_ns) {
        return sy_json_fail(&reader->json, "this task ends before it starts");
    }
    return 0;
}

static int read_task(struct reader *reader, uint32_t index) {
    struct sy_record_task *task = &reader->record->tasks[index];
    const struct column columns[] = {
        {"device", MAYBE_INDEX, &task->device, reader->record->machine->device_count},
        {"submitted_ns", MAYBE_TIME, &task->submitted_ns},
        {"ready_ns", MAYBE_TIME, &task->ready_ns},
        {"start_ns", MAYBE_TIME, &task->start_ns},
        {"end_ns", MAYBE_TIME, &task->end_ns},
        {"predicted_ns", ANY_TIME, &task->predicted_ns},
    };
    int code = read_row(reader, columns, SY_COUNT(columns));
    return code ? code : check_task(reader, task);
}

static int read_alternative(struct reader *reader, struct sy_decided *decided) {
    if (decided->alternative_count == SY_ALTERNATIVE_MAX) {
        return sy_json_fail(&reader->json, "a decision has at most %d alternatives",
                            SY_ALTERNATIVE_MAX);
    }
    struct sy_alternative *item = &decided->alternatives[decided->alternative_count];
    const struct column columns[] = {
        {"device", INDEX, &item->device, reader->record->machine->device_count},
        {"queue_ns", ANY_TIME, &item->queue_ns},
        {"inputs_ns", ANY_TIME, &item->inputs_ns},
        {"exec_ns", ANY_TIME, &item->exec_ns},
        {"finish_ns", ANY_TIME, &item->finish_ns},
        {"log_sigma", MAYBE_NUMBER, &item->log_sigma},
    };
    int code = read_row(reader, columns, SY_COUNT(columns));
    if (!code && decided->alternative_count == 0 && item->device != decided->device) {
        code = sy_json_fail(&reader->json, "the first alternative is the device that was chosen");
    }
    decided->alternative_count++;
    return code;
}

static int read_guard(struct reader *reader, enum sy_guard *ret_guard) {
    const char *names[SY_GUARD_PLAN + 1];
    uint32_t guard = 0;
    for (uint32_t i = 0; i < SY_COUNT(names); i++) {
        names[i] = sy_guard_name(i);
    }
    int code = expect_next(reader, 1, "guard");
    code =
        code ? code
             : sy_json_word(&reader->json, "the answer of a guard", names, SY_COUNT(names), &guard);
    *ret_guard = (enum sy_guard)guard;
    return code;
}

static int read_reason(struct reader *reader, struct sy_reason *ret_reason) {
    double values[5];
    const struct column columns[] = {
        {"finish_ns", ANY_TIME, &values[0]},       {"correction_ns", ANY_TIME, &values[1]},
        {"slowdown", MAYBE_NUMBER, &values[2]},    {"slowdown_sd", MAYBE_NUMBER, &values[3]},
        {"utilisation", MAYBE_NUMBER, &values[4]},
    };
    int code = sy_json_enter_array(&reader->json);
    code = code ? code : read_guard(reader, &ret_reason->guard);
    code = code ? code : read_cells(reader, columns, SY_COUNT(columns));
    code = code ? code : expect_next(reader, 0, NULL);
    if (!code) {
        ret_reason->finish_ns = (float)values[0];
        ret_reason->correction_ns = (float)values[1];
        ret_reason->slowdown = (float)values[2];
        ret_reason->slowdown_sd = (float)values[3];
        ret_reason->utilisation = (float)values[4];
    }
    return code;
}

/* Records from before policies gave reasons have none at the end of the row. */
static int read_decision_end(struct reader *reader, struct sy_decided *decided) {
    int more = sy_json_next(&reader->json);
    if (more <= 0) {
        return more;
    }
    int code = read_reason(reader, &decided->reason);
    return code ? code : expect_next(reader, 0, NULL);
}

static int read_decision(struct reader *reader) {
    struct sy_record *record = reader->record;
    if (sy_grow(&reader->decisions, &reader->decision_capacity, record->decision_count + 1,
                sizeof *reader->decisions) < 0) {
        return sy_out_of_memory(reader->json.error);
    }
    struct sy_decided *decided = &reader->decisions[record->decision_count];
    *decided = (struct sy_decided){0};
    const struct column columns[] = {
        {"at_ns", TIME, &decided->at_ns},
        {"task", INDEX, &decided->task, record->graph->task_count},
        {"device", INDEX, &decided->device, record->machine->device_count},
        {"priority", MAYBE_NUMBER, &decided->priority},
        {"ready_count", INDEX, &decided->ready_count, UINT32_MAX},
    };
    int more = sy_json_enter_array(&reader->json);
    more = more < 0 ? more : read_cells(reader, columns, SY_COUNT(columns));
    more = more < 0 ? more : expect_next(reader, 1, "alternatives");
    more = more < 0 ? more : sy_json_enter_array(&reader->json);
    while (more >= 0 && (more = sy_json_next(&reader->json)) > 0) {
        more = read_alternative(reader, decided);
    }
    more = more < 0 ? more : read_decision_end(reader, decided);
    record->decision_count += more == 0;
    return more;
}

static int read_kind(struct reader *reader, uint32_t *ret_kind) {
    const char *names[SY_SPAN_KINDS];
    for (uint32_t i = 0; i < SY_COUNT(names); i++) {
        names[i] = sy_record_span_name(i);
    }
    int code = expect_next(reader, 1, "kind");
    return code ? code
                : sy_json_word(&reader->json, "a kind of span", names, SY_COUNT(names), ret_kind);
}

/* What the first cells of a row are about, by its kind. */
static void fill_columns(struct reader *reader, struct sy_span *span, struct column *columns) {
    const struct sy_graph *graph = reader->record->graph;
    const struct sy_machine *machine = reader->record->machine;
    columns[0] = (struct column){"task", INDEX, &span->subject, graph->task_count};
    columns[1] = (struct column){"device", INDEX, &span->place, machine->device_count};
    if (span->kind == SY_SPAN_TRANSFER) {
        columns[0] = (struct column){"datum", INDEX, &span->subject, graph->data_count};
        columns[1] = (struct column){"memory", INDEX, &span->place, machine->memory_count};
    } else if (span->kind == SY_SPAN_RECONFIGURE) {
        columns[0] = (struct column){"kernel", INDEX, &span->subject, graph->kernel_count};
    } else if (span->kind == SY_SPAN_LOST) {
        columns[0].type = MAYBE_INDEX;
    }
    columns[2] = (struct column){"start_ns", TIME, &span->start_ns, 0};
    columns[3] = (struct column){"end_ns", TIME, &span->end_ns, 0};
    columns[4] = (struct column){"memory", INDEX, &span->from, machine->memory_count};
    columns[5] = (struct column){"bytes", AMOUNT, &span->bytes, 0};
}

/* [kind, subject, place, start, end], and of a transfer also the memory it comes from and bytes. */
static int read_span(struct reader *reader) {
    struct sy_span span = {.from = SY_NONE};
    struct column columns[6];
    int code = sy_json_enter_array(&reader->json);
    struct sy_json_place row = sy_json_here(&reader->json);
    code = code ? code : read_kind(reader, &span.kind);
    if (code) {
        return code;
    }
    fill_columns(reader, &span, columns);
    code = read_cells(reader, columns, span.kind == SY_SPAN_TRANSFER ? 6 : 4);
    code = code ? code : expect_next(reader, 0, NULL);
    if (code) {
        return code;
    }
    if (span.end_ns < span.start_ns) {
        sy_json_go(&reader->json, row);
        return sy_json_fail(&reader->json, "this span ends before it starts");
    }
    sy_trace_add(&reader->record->trace, &span);
    return reader->record->trace.failed ? sy_out_of_memory(reader->json.error) : 0;
}

static int read_moved(struct reader *reader) {
    uint32_t from = 0, to = 0, count = reader->record->machine->memory_count;
    double bytes = 0;
    const struct column columns[] = {
        {"memory", INDEX, &from, count},
        {"memory", INDEX, &to, count},
        {"bytes", AMOUNT, &bytes},
    };
    int code = read_row(reader, columns, SY_COUNT(columns));
    if (!code) {
        reader->record->moved_bytes[from * count + to] = bytes;
    }
    return code;
}

/* --- the record ------------------------------------------------------------------------------- */

static int read_note(struct reader *reader) {
    struct sy_record *record = reader->record;
    if (sy_grow(&reader->notes, &reader->note_capacity, record->note_count + 1,
                sizeof *reader->notes) < 0) {
        return sy_out_of_memory(reader->json.error);
    }
    struct sy_note *note = &reader->notes[record->note_count];
    int code = sy_json_enter_array(&reader->json);
    code = code ? code : expect_next(reader, 1, "key");
    code = code ? code : sy_json_text(&reader->json, record->arena, &note->key);
    code = code ? code : expect_next(reader, 1, "value");
    code = code ? code : sy_json_text(&reader->json, record->arena, &note->value);
    code = code ? code : expect_next(reader, 0, NULL);
    record->note_count += !code;
    return code;
}

/* [graph, tenant, first task, tasks, weight, arrival, end, time alone] */
static int read_job(struct reader *reader) {
    struct sy_record *record = reader->record;
    if (sy_grow(&reader->jobs, &reader->job_capacity, record->job_count + 1, sizeof *reader->jobs) <
        0) {
        return sy_out_of_memory(reader->json.error);
    }
    struct sy_record_job *job = &reader->jobs[record->job_count];
    uint32_t tasks = record->graph->task_count;
    const struct column columns[] = {
        {"tenant", INDEX, &job->tenant, SY_NONE},      {"task", INDEX, &job->first_task, tasks},
        {"tasks", INDEX, &job->task_count, tasks + 1}, {"weight", AMOUNT, &job->weight},
        {"arrive_ns", TIME, &job->arrive_ns},          {"end_ns", TIME, &job->end_ns},
        {"alone_ns", MAYBE_TIME, &job->alone_ns},
    };
    int code = sy_json_enter_array(&reader->json);
    struct sy_json_place row = sy_json_here(&reader->json);
    code = code ? code : expect_next(reader, 1, "graph");
    code = code ? code : sy_json_text(&reader->json, record->arena, &job->graph);
    code = code ? code : read_cells(reader, columns, SY_COUNT(columns));
    code = code ? code : expect_next(reader, 0, NULL);
    if (!code && job->task_count > tasks - job->first_task) {
        sy_json_go(&reader->json, row);
        return sy_json_fail(&reader->json, "this job has more tasks than the graph");
    }
    record->job_count += !code;
    return code;
}

static int read_schema(void *reader, const struct sy_json_member *member) {
    (void)member;
    return sy_json_schema(reader, SY_RECORD_SCHEMA, "the record of a run");
}

static int read_text(void *any, const struct sy_json_member *member) {
    struct reader *reader = any;
    return sy_json_text(&reader->json, reader->record->arena, member->out);
}

/* A number from 0 on, or "inf". */
static int read_amount(void *reader, const struct sy_json_member *member) {
    enum sy_json_type type;
    int code = sy_json_peek(reader, &type);
    if (!code && type == SY_JSON_STRING) {
        return read_infinity(reader, member->out);
    }
    return code ? code : sy_json_number_in(reader, member->name, 0, NUMBER_MAX, member->out);
}

static int read_stream(void *any, const struct sy_json_member *member) {
    struct reader *reader = any;
    int code = need_parts(reader, member);
    return code ? code : sy_record_read_stream(&reader->json, reader->record->arena, member->out);
}

/* Where the record keeps them. */
static int keep_lists(struct reader *reader) {
    struct sy_record *record = reader->record;
    size_t count = record->decision_count, notes = record->note_count;
    record->decisions = sy_arena_alloc(record->arena, count + 1, sizeof *record->decisions);
    struct sy_note *kept = sy_arena_alloc(record->arena, notes + 1, sizeof *kept);
    struct sy_record_job *jobs =
        sy_arena_alloc(record->arena, record->job_count + 1u, sizeof *jobs);
    if (!record->decisions || !kept || !jobs) {
        return sy_out_of_memory(reader->json.error);
    }
    if (record->job_count) {
        memcpy(jobs, reader->jobs, record->job_count * sizeof *jobs);
    }
    record->jobs = jobs;
    if (count) {
        memcpy(record->decisions, reader->decisions, count * sizeof *record->decisions);
    }
    if (notes) {
        memcpy(kept, reader->notes, notes * sizeof *kept);
    }
    record->notes = kept;
    return 0;
}

static int read_record(struct reader *reader) {
    struct sy_record *record = reader->record;
    record->spec = record->policy = record->runtime = record->host = record->date = "";
#define LIST(read_one)                                                                             \
    read_list, .extra = &(const struct list) {                                                     \
        read_one                                                                                   \
    }
#define PER_TASK(read_one)                                                                         \
    read_per_task, .extra = &(const struct per_task) {                                             \
        read_one                                                                                   \
    }
    const struct sy_json_member members[] = {
        {"schema", read_schema, .required = true},
        {"spec", read_text, &record->spec},
        {"policy", read_text, &record->policy},
        {"runtime", read_text, &record->runtime},
        {"host", read_text, &record->host},
        {"date", read_text, &record->date},
        {"energy_source", read_text, &record->energy_source},
        {"makespan_ns", sy_json_read_number, &record->makespan_ns, 0, TIME_MAX_NS,
         .required = true},
        {"energy_joules", read_amount, &record->energy_joules},
        {"result_error", read_amount, &record->result_error},
        {"result_tolerance", read_amount, &record->result_tolerance},
        {"decision_p50_ns", read_amount, &record->decision_p50_ns},
        {"decision_p99_ns", read_amount, &record->decision_p99_ns},
        {"machine", read_part, .required = true},
        {"graph", read_part, .required = true},
        {"moved_bytes", LIST(read_moved)},
        {"model_ns", PER_TASK(read_model_row), .required = true},
        {"tasks", PER_TASK(read_task), .required = true},
        {"decisions", LIST(read_decision)},
        {"trace", LIST(read_span)},
        {"notes", LIST(read_note)},
        {"jobs", LIST(read_job)},
        {"stream", read_stream, &record->stream},
    };
    int code = sy_json_members(reader, "a run", members, SY_COUNT(members));
    code = code ? code : sy_json_end(&reader->json);
    code = code ? code : keep_lists(reader);
    if (!code && sy_record_find_asides(record) < 0) {
        return sy_out_of_memory(reader->json.error);
    }
    return code;
}

int sy_record_read_text(const char *name, const char *text, size_t length,
                        struct sy_record **ret_record, struct sy_error *error) {
    struct sy_error unseen;
    struct reader reader = {.record = sy_record_create(), .length = length};
    if (!reader.record) {
        return sy_fail_at(error, -ENOMEM, name, 0, 0, "out of memory");
    }
    sy_json_init(&reader.json, name, text, length, error ? error : &unseen);
    int code = read_record(&reader);
    sy_json_finish(&reader.json);
    free(reader.decisions);
    free(reader.notes);
    free(reader.jobs);
    if (code) {
        sy_record_destroy(reader.record);
        return code;
    }
    *ret_record = reader.record;
    return 0;
}

int sy_record_read_file(const char *path, struct sy_record **ret_record, struct sy_error *error) {
    char *text = NULL;
    size_t length;
    int code = sy_read_file(path, &text, &length, error);
    code = code ? code : sy_record_read_text(path, text, length, ret_record, error);
    free(text);
    return code;
}
