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

enum member {
    SCHEMA,
    SPEC,
    POLICY,
    RUNTIME,
    HOST,
    DATE,
    ENERGY_SOURCE,
    MAKESPAN,
    ENERGY,
    RESULT_ERROR,
    RESULT_TOLERANCE,
    DECISION_P50,
    DECISION_P99,
    MACHINE,
    GRAPH,
    MOVED,
    MODEL,
    TASKS,
    DECISIONS,
    TRACE,
    NOTES,
    STREAM,
    MEMBER_COUNT
};

static const char *const member_names[MEMBER_COUNT] = {"schema",
                                                       "spec",
                                                       "policy",
                                                       "runtime",
                                                       "host",
                                                       "date",
                                                       "energy_source",
                                                       "makespan_ns",
                                                       "energy_joules",
                                                       "result_error",
                                                       "result_tolerance",
                                                       "decision_p50_ns",
                                                       "decision_p99_ns",
                                                       "machine",
                                                       "graph",
                                                       "moved_bytes",
                                                       "model_ns",
                                                       "tasks",
                                                       "decisions",
                                                       "trace",
                                                       "notes",
                                                       "stream"};

struct reader {
    struct sy_json json;
    struct sy_record *record;
    struct sy_decided *decisions; /* while reading */
    struct sy_note *notes;        /* likewise */
    uint32_t decision_capacity, note_capacity;
    size_t length;
    uint32_t seen; /* bit per member */
};

static int fail_memory(struct reader *reader) {
    return sy_fail(reader->json.error, -ENOMEM, "out of memory");
}

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

static int read_index(struct reader *reader, const struct column *column) {
    double value;
    int code = sy_json_number(&reader->json, &value);
    if (code) {
        return code;
    }
    if (!(value >= 0 && value < column->limit) || value != floor(value)) {
        return sy_json_fail(&reader->json, "there is no %s %g: there are %u, numbered from 0",
                            column->name, value, column->limit);
    }
    *(uint32_t *)column->out = (uint32_t)value;
    return 0;
}

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
    return column->type <= MAYBE_INDEX ? read_index(reader, column) : read_number(reader, column);
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

struct place {
    uint32_t line, column;
};

/* Where the value last looked at begins, and back there: the next error speaks of it. */
static struct place here(const struct reader *reader) {
    return (struct place){reader->json.value_line, reader->json.value_column};
}

static void go_back(struct reader *reader, struct place place) {
    reader->json.value_line = place.line;
    reader->json.value_column = place.column;
}

/* Afterwards an error speaks of the row as a whole. */
static int read_row(struct reader *reader, const struct column *columns, size_t count) {
    int code = sy_json_enter_array(&reader->json);
    struct place row = here(reader);
    code = code ? code : read_cells(reader, columns, count);
    code = code ? code : expect_next(reader, 0, NULL);
    if (!code) {
        go_back(reader, row);
    }
    return code;
}

static int read_list(struct reader *reader, int (*read_one)(struct reader *reader)) {
    int more = sy_json_enter_array(&reader->json);
    while (more >= 0 && (more = sy_json_next(&reader->json)) > 0) {
        more = read_one(reader);
    }
    return more;
}

/* A row per task of the graph. */
static int read_per_task(struct reader *reader, const char *what,
                         int (*read_one)(struct reader *reader, uint32_t task)) {
    uint32_t count = reader->record->graph->task_count, task = 0;
    int more = sy_json_enter_array(&reader->json);
    struct place list = here(reader);
    enum sy_json_type type;
    while (more >= 0 && (more = sy_json_next(&reader->json)) > 0) {
        if (task == count) {
            more = sy_json_peek(&reader->json, &type);
            if (more < 0) {
                return more;
            }
            return sy_json_fail(&reader->json, "%s has more rows than the graph has tasks (%u)",
                                what, count);
        }
        more = read_one(reader, task++);
    }
    if (more == 0 && task < count) {
        go_back(reader, list);
        return sy_json_fail(&reader->json, "%s has %u rows, but the graph has %u tasks", what, task,
                            count);
    }
    return more;
}

/* --- parts ------------------------------------------------------------------------------------ */

static int parse_machine(struct reader *reader, const char *text, size_t length) {
    char *copy = strndup(text, length); /* its reader wants a NUL behind the text */
    if (!copy) {
        return fail_memory(reader);
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
    return record->tasks && record->model_ns && record->moved_bytes ? 0 : fail_memory(reader);
}

/* Machine and graph: what the rest is measured by. */
static int read_part(struct reader *reader, enum member member) {
    const char *text;
    size_t length;
    int code = sy_json_cut(&reader->json, &text, &length);
    if (code || text[0] != '{') { /* an array would be many graphs */
        return code ? code : sy_json_fail(&reader->json, "expected an object");
    }
    code =
        member == MACHINE ? parse_machine(reader, text, length) : parse_graph(reader, text, length);
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
        code = read_cells(reader, &(struct column){"class", ANY_TIME, out, 0}, 1);
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
        {"submitted_ns", MAYBE_TIME, &task->submitted_ns, 0},
        {"ready_ns", MAYBE_TIME, &task->ready_ns, 0},
        {"start_ns", MAYBE_TIME, &task->start_ns, 0},
        {"end_ns", MAYBE_TIME, &task->end_ns, 0},
        {"predicted_ns", ANY_TIME, &task->predicted_ns, 0},
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
        {"queue_ns", ANY_TIME, &item->queue_ns, 0},
        {"inputs_ns", ANY_TIME, &item->inputs_ns, 0},
        {"exec_ns", ANY_TIME, &item->exec_ns, 0},
        {"finish_ns", ANY_TIME, &item->finish_ns, 0},
        {"log_sigma", MAYBE_NUMBER, &item->log_sigma, 0},
    };
    int code = read_row(reader, columns, SY_COUNT(columns));
    if (!code && decided->alternative_count == 0 && item->device != decided->device) {
        code = sy_json_fail(&reader->json, "the first alternative is the device that was chosen");
    }
    decided->alternative_count++;
    return code;
}

static int read_guard(struct reader *reader, enum sy_guard *ret_guard) {
    const char *text, *name;
    int code = expect_next(reader, 1, "guard");
    code = code ? code : sy_json_string(&reader->json, &text, NULL);
    for (uint32_t guard = 0; !code && (name = sy_guard_name(guard)); guard++) {
        if (strcmp(text, name) == 0) {
            *ret_guard = (enum sy_guard)guard;
            return 0;
        }
    }
    return code ? code
                : sy_json_fail(&reader->json, "\"%.32s\" is not the answer of a guard", text);
}

static int read_reason(struct reader *reader, struct sy_reason *ret_reason) {
    double values[5];
    const struct column columns[] = {
        {"finish_ns", ANY_TIME, &values[0], 0},       {"correction_ns", ANY_TIME, &values[1], 0},
        {"slowdown", MAYBE_NUMBER, &values[2], 0},    {"slowdown_sd", MAYBE_NUMBER, &values[3], 0},
        {"utilisation", MAYBE_NUMBER, &values[4], 0},
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
        return fail_memory(reader);
    }
    struct sy_decided *decided = &reader->decisions[record->decision_count];
    *decided = (struct sy_decided){0};
    const struct column columns[] = {
        {"at_ns", TIME, &decided->at_ns, 0},
        {"task", INDEX, &decided->task, record->graph->task_count},
        {"device", INDEX, &decided->device, record->machine->device_count},
        {"priority", MAYBE_NUMBER, &decided->priority, 0},
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
    const char *text;
    int code = expect_next(reader, 1, "kind");
    code = code ? code : sy_json_string(&reader->json, &text, NULL);
    for (uint32_t kind = 0; !code && kind <= SY_SPAN_ABORTED; kind++) {
        if (strcmp(text, sy_record_span_name(kind)) == 0) {
            *ret_kind = kind;
            return 0;
        }
    }
    return code ? code : sy_json_fail(&reader->json, "\"%.32s\" is not a kind of span", text);
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
    struct place row = here(reader);
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
        go_back(reader, row);
        return sy_json_fail(&reader->json, "this span ends before it starts");
    }
    sy_trace_add(&reader->record->trace, &span);
    return reader->record->trace.failed ? fail_memory(reader) : 0;
}

static int read_moved(struct reader *reader) {
    uint32_t from = 0, to = 0, count = reader->record->machine->memory_count;
    double bytes = 0;
    const struct column columns[] = {
        {"memory", INDEX, &from, count},
        {"memory", INDEX, &to, count},
        {"bytes", AMOUNT, &bytes, 0},
    };
    int code = read_row(reader, columns, SY_COUNT(columns));
    if (!code) {
        reader->record->moved_bytes[from * count + to] = bytes;
    }
    return code;
}

/* --- the record ------------------------------------------------------------------------------- */

static int read_schema(struct reader *reader) {
    const char *text;
    int code = sy_json_string(&reader->json, &text, NULL);
    if (!code && strcmp(text, SY_RECORD_SCHEMA) != 0) {
        code = sy_json_fail(&reader->json, "\"%.60s\" is not the record of a run", text);
        sy_hint(reader->json.error, "this version reads \"" SY_RECORD_SCHEMA "\"");
    }
    return code;
}

static int read_text(struct reader *reader, const char **ret_text) {
    const char *text;
    int code = sy_json_string(&reader->json, &text, NULL);
    if (code) {
        return code;
    }
    const char *copy = sy_arena_strdup(reader->record->arena, text);
    if (!copy) {
        return fail_memory(reader);
    }
    *ret_text = copy;
    return 0;
}

static int read_note(struct reader *reader) {
    struct sy_record *record = reader->record;
    if (sy_grow(&reader->notes, &reader->note_capacity, record->note_count + 1,
                sizeof *reader->notes) < 0) {
        return fail_memory(reader);
    }
    struct sy_note *note = &reader->notes[record->note_count];
    int code = sy_json_enter_array(&reader->json);
    code = code ? code : expect_next(reader, 1, "key");
    code = code ? code : read_text(reader, &note->key);
    code = code ? code : expect_next(reader, 1, "value");
    code = code ? code : read_text(reader, &note->value);
    code = code ? code : expect_next(reader, 0, NULL);
    record->note_count += !code;
    return code;
}

static int read_scalar(struct reader *reader, enum member member) {
    struct sy_record *record = reader->record;
    const char **const texts[] = {&record->spec, &record->policy, &record->runtime,
                                  &record->host, &record->date,   &record->energy_source};
    double *const numbers[] = {&record->makespan_ns,     &record->energy_joules,
                               &record->result_error,    &record->result_tolerance,
                               &record->decision_p50_ns, &record->decision_p99_ns};
    if (member < MAKESPAN) {
        return read_text(reader, texts[member - SPEC]);
    }
    double *out = numbers[member - MAKESPAN];
    if (member == MAKESPAN) {
        return sy_json_number_in(&reader->json, member_names[member], 0, TIME_MAX_NS, out);
    }
    enum sy_json_type type;
    int code = sy_json_peek(&reader->json, &type);
    if (!code && type == SY_JSON_STRING) {
        return read_infinity(reader, out);
    }
    return code ? code : sy_json_number_in(&reader->json, member_names[member], 0, NUMBER_MAX, out);
}

static int read_member(struct reader *reader, enum member member) {
    if (!(reader->seen & 1u << SCHEMA)) {
        sy_json_fail(&reader->json, "the record of a run begins with its schema");
        sy_hint(reader->json.error, "put \"schema\": \"" SY_RECORD_SCHEMA "\" first");
        return -EINVAL;
    }
    if (member > GRAPH && !(reader->record->machine && reader->record->graph)) {
        return sy_json_fail(&reader->json, "\"%s\" comes before \"machine\" and \"graph\"",
                            member_names[member]);
    }
    switch (member) {
    case SCHEMA:
        return read_schema(reader);
    case MACHINE:
    case GRAPH:
        return read_part(reader, member);
    case MOVED:
        return read_list(reader, read_moved);
    case MODEL:
        return read_per_task(reader, "model_ns", read_model_row);
    case TASKS:
        return read_per_task(reader, "tasks", read_task);
    case DECISIONS:
        return read_list(reader, read_decision);
    case TRACE:
        return read_list(reader, read_span);
    case NOTES:
        return read_list(reader, read_note);
    case STREAM:
        return sy_record_read_stream(&reader->json, reader->record->arena, &reader->record->stream);
    default:
        return read_scalar(reader, member);
    }
}

static int next_member(struct reader *reader, enum member *ret_member) {
    const char *name;
    int more = sy_json_next_member(&reader->json, &name);
    if (more <= 0) {
        return more;
    }
    for (uint32_t i = 0; i < MEMBER_COUNT; i++) {
        if (strcmp(name, member_names[i]) == 0) {
            if (reader->seen & 1u << i) {
                return sy_json_fail(&reader->json, "\"%s\" comes twice", name);
            }
            reader->seen |= 1u << i;
            *ret_member = (enum member)i;
            return 1;
        }
    }
    sy_json_fail(&reader->json, "unknown member \"%.60s\"", name);
    const char *nearest = sy_nearest(name, member_names, MEMBER_COUNT);
    if (nearest) {
        sy_hint(reader->json.error, "did you mean \"%s\"?", nearest);
    }
    return -EINVAL;
}

static int check_complete(struct reader *reader) {
    static const enum member required[] = {MACHINE, GRAPH, MAKESPAN, MODEL, TASKS};
    for (size_t i = 0; i < SY_COUNT(required); i++) {
        if (!(reader->seen & 1u << required[i])) {
            return sy_json_fail(&reader->json, "\"%s\" is missing", member_names[required[i]]);
        }
    }
    return 0;
}

/* Where the record keeps them. */
static int keep_lists(struct reader *reader) {
    struct sy_record *record = reader->record;
    size_t count = record->decision_count, notes = record->note_count;
    record->decisions = sy_arena_alloc(record->arena, count + 1, sizeof *record->decisions);
    struct sy_note *kept = sy_arena_alloc(record->arena, notes + 1, sizeof *kept);
    if (!record->decisions || !kept) {
        return fail_memory(reader);
    }
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
    enum member member = SCHEMA;
    int more = sy_json_enter_object(&reader->json);
    struct place start = here(reader);
    while (more >= 0 && (more = next_member(reader, &member)) > 0) {
        more = read_member(reader, member);
    }
    int code = more < 0 ? more : sy_json_end(&reader->json);
    if (!code) {
        go_back(reader, start);
        code = check_complete(reader);
    }
    return code ? code : keep_lists(reader);
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
    if (code) {
        sy_record_destroy(reader.record);
        return code;
    }
    *ret_record = reader.record;
    return 0;
}

int sy_record_read_file(const char *path, struct sy_record **ret_record, struct sy_error *error) {
    char *text;
    size_t length;
    int code = sy_read_file(path, &text, &length, error);
    if (code) {
        return code;
    }
    code = sy_record_read_text(path, text, length, ret_record, error);
    free(text);
    return code;
}
