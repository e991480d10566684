/* SPDX-License-Identifier: Apache-2.0
 *
 * traces: reads a folder of exact time series (symph-traces-1).
 *
 * In: FOLDER/traces.json and CSV tables with one row per window. Out: rates, relations between
 * them, and which programs are held out. Invariants: every table has the same columns; every rate
 * is finite and not negative; a relation names events that exist.
 */
#include "cli/cli.h"
#include "symph-bench/counters.h"

#include "base/csv.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA      "symph-traces-1"
#define WINDOWS_MIN 8
#define COUNT_MAX   1e18
#define EVENTS_MAX  1024 /* a filter's work grows with the square */

/* Arrays that grow while the list is read; they move into the arena at its end. */
struct reader {
    struct sy_json json;
    struct sy_traces *traces;
    uint32_t event_capacity, relation_capacity, term_capacity, series_capacity;
    bool schema_seen;
};

static int copy_text(struct reader *r, const char *what, const char **ret_text) {
    const char *text;
    size_t length;
    int code = sy_json_string(&r->json, &text, &length);
    if (code) {
        return code;
    }
    if (!length) {
        return sy_json_fail(&r->json, "%s is empty", what);
    }
    *ret_text = sy_need(sy_arena_strndup(r->traces->arena, text, length));
    return 0;
}

static uint32_t find_event(const struct sy_traces *traces, const char *name) {
    return sy_index_of(name, traces->events, traces->event_count, sizeof *traces->events);
}

static int named_event(struct reader *r, const char *name, uint32_t *ret_event) {
    *ret_event = find_event(r->traces, name);
    return *ret_event != SY_NONE
               ? 0
               : sy_json_fail(&r->json, "no event '%s'; \"events\" comes first and lists all",
                              name);
}

static int read_events(struct reader *r) {
    struct sy_traces *traces = r->traces;
    int code = sy_json_enter_array(&r->json);
    while (!code && (code = sy_json_next(&r->json)) > 0) {
        const char *name = NULL;
        code = copy_text(r, "an event's name", &name);
        if (!code && find_event(traces, name) != SY_NONE) {
            code = sy_json_fail(&r->json, "event '%s' appears twice", name);
        }
        if (!code && traces->event_count == EVENTS_MAX) {
            code = sy_json_fail(&r->json, "more than %d events", EVENTS_MAX);
        }
        code = code ? code
                    : sy_append(&traces->events, &r->event_capacity, &traces->event_count, &name,
                                sizeof *traces->events);
    }
    traces->fixed = sy_need(sy_arena_alloc(traces->arena, EVENTS_MAX, sizeof *traces->fixed));
    traces->hidden = sy_need(sy_arena_alloc(traces->arena, EVENTS_MAX, sizeof *traces->hidden));
    return code;
}

static int read_fixed(struct reader *r) {
    int code = sy_json_enter_array(&r->json);
    while (!code && (code = sy_json_next(&r->json)) > 0) {
        const char *name = NULL;
        uint32_t event;
        code = copy_text(r, "an event's name", &name);
        code = code ? code : named_event(r, name, &event);
        if (!code) {
            r->traces->fixed[event] = true;
        }
    }
    return code;
}

static int read_terms(struct reader *r, struct sy_relation *relation) {
    struct sy_traces *traces = r->traces;
    const char *name;
    int code = sy_json_enter_object(&r->json);
    relation->first_term = traces->term_count;
    while (!code && (code = sy_json_next_member(&r->json, &name)) > 0) {
        struct sy_term term;
        code = named_event(r, name, &term.variable);
        code =
            code ? code : sy_json_number_in(&r->json, "coefficient", -1e9, 1e9, &term.coefficient);
        code = code ? code
                    : sy_grow(&traces->terms, &r->term_capacity, traces->term_count + 1,
                              sizeof *traces->terms);
        if (!code) {
            traces->terms[traces->term_count++] = term;
        }
    }
    relation->term_count = traces->term_count - relation->first_term;
    return code;
}

static int read_relation(struct reader *r, struct sy_relation *ret_relation) {
    struct sy_relation relation = {.out = SY_NONE};
    const char *name;
    int code = sy_json_enter_object(&r->json);
    while (!code && (code = sy_json_next_member(&r->json, &name)) > 0) {
        if (strcmp(name, "out") == 0) {
            const char *out = NULL;
            code = copy_text(r, "\"out\"", &out);
            code = code ? code : named_event(r, out, &relation.out);
        } else if (strcmp(name, "terms") == 0) {
            code = read_terms(r, &relation);
        } else {
            code = sy_json_skip(&r->json);
        }
    }
    if (!code && (relation.out == SY_NONE || !relation.term_count)) {
        code = sy_json_fail(&r->json, "a relation needs \"out\" and \"terms\"");
    }
    *ret_relation = relation;
    return code;
}

static int read_relations(struct reader *r) {
    struct sy_traces *traces = r->traces;
    int code = sy_json_enter_array(&r->json);
    while (!code && (code = sy_json_next(&r->json)) > 0) {
        struct sy_relation relation;
        code = read_relation(r, &relation);
        code = code ? code
                    : sy_grow(&traces->relations, &r->relation_capacity, traces->relation_count + 1,
                              sizeof *traces->relations);
        if (!code) {
            traces->relations[traces->relation_count++] = relation;
        }
    }
    return code;
}

static int read_program(struct reader *r, struct sy_series *ret_series) {
    struct sy_series series = {0};
    const char *name, *split = NULL;
    int code = sy_json_enter_object(&r->json);
    while (!code && (code = sy_json_next_member(&r->json, &name)) > 0) {
        if (strcmp(name, "name") == 0) {
            code = copy_text(r, "\"name\"", &series.name);
        } else if (strcmp(name, "file") == 0) {
            code = copy_text(r, "\"file\"", &series.file);
        } else if (strcmp(name, "split") == 0) {
            code = copy_text(r, "\"split\"", &split);
        } else {
            code = sy_json_skip(&r->json);
        }
    }
    if (code) {
        return code;
    }
    if (!series.name || !series.file || !split) {
        return sy_json_fail(&r->json, "a program needs \"name\", \"split\" and \"file\"");
    }
    series.held_out = strcmp(split, "held-out") == 0;
    if (!series.held_out && strcmp(split, "development") != 0) {
        return sy_json_fail(&r->json, "split '%s' is neither 'development' nor 'held-out'", split);
    }
    *ret_series = series;
    return 0;
}

static int read_programs(struct reader *r) {
    struct sy_traces *traces = r->traces;
    int code = sy_json_enter_array(&r->json);
    while (!code && (code = sy_json_next(&r->json)) > 0) {
        struct sy_series series;
        code = read_program(r, &series);
        if (!code && traces->series_count == SY_TRACES_SERIES_MAX) {
            code = sy_json_fail(&r->json, "more than %d programs", SY_TRACES_SERIES_MAX);
        }
        code = code ? code
                    : sy_grow(&traces->series, &r->series_capacity, traces->series_count + 1,
                              sizeof *traces->series);
        if (!code) {
            traces->series[traces->series_count++] = series;
        }
    }
    return code;
}

static int read_schema(struct reader *r) {
    const char *schema = NULL;
    int code = copy_text(r, "\"schema\"", &schema);
    if (!code && strcmp(schema, SCHEMA) != 0) {
        code = sy_json_fail(&r->json, "schema '%s', not " SCHEMA, schema);
    }
    r->schema_seen = !code;
    return code;
}

static int read_member(struct reader *r, const char *name) {
    if (strcmp(name, "schema") == 0) {
        return read_schema(r);
    }
    if (strcmp(name, "source") == 0) {
        return copy_text(r, "\"source\"", &r->traces->source);
    }
    if (strcmp(name, "length") == 0) {
        return copy_text(r, "\"length\"", &r->traces->length);
    }
    if (strcmp(name, "events") == 0) {
        return r->traces->event_count ? sy_json_fail(&r->json, "\"events\" appears twice")
                                      : read_events(r);
    }
    if (strcmp(name, "fixed") == 0) {
        return read_fixed(r);
    }
    if (strcmp(name, "relations") == 0) {
        return read_relations(r);
    }
    if (strcmp(name, "programs") == 0) {
        return read_programs(r);
    }
    return sy_json_skip(&r->json);
}

void sy_traces_destroy(struct sy_traces *traces) {
    if (traces) {
        free(traces->events);
        free(traces->relations);
        free(traces->terms);
        for (uint32_t i = 0; i < traces->series_count; i++) {
            free(traces->series[i].rates);
        }
        free(traces->series);
        sy_arena_destroy(traces->arena);
    }
}

static int check_whole(struct reader *r) {
    const struct sy_traces *traces = r->traces;
    uint32_t fixed = 0;
    for (uint32_t i = 0; i < traces->event_count; i++) {
        fixed += traces->fixed[i];
    }
    if (!r->schema_seen) {
        return sy_json_fail(&r->json, "there is no \"schema\": \"" SCHEMA "\"");
    }
    if (!traces->event_count || !traces->series_count) {
        return sy_json_fail(&r->json, "there are no %s",
                            traces->event_count ? "\"programs\"" : "\"events\"");
    }
    return fixed < traces->event_count ? 0 : sy_json_fail(&r->json, "every event is fixed");
}

int sy_traces_parse(const char *file, const char *text, size_t length,
                    struct sy_traces **ret_traces, struct sy_error *error) {
    struct reader r = {0};
    struct sy_arena *arena = sy_need(sy_arena_create());
    r.traces = sy_need(sy_arena_alloc(arena, 1, sizeof *r.traces));
    r.traces->arena = arena;
    r.traces->source = "unknown";
    sy_json_init(&r.json, file, text, length, error);
    const char *name;
    int code = sy_json_enter_object(&r.json);
    while (!code && (code = sy_json_next_member(&r.json, &name)) > 0) {
        char member[16];
        snprintf(member, sizeof member, "%s", name);
        code = read_member(&r, member);
    }
    code = code ? code : sy_json_end(&r.json);
    code = code ? code : check_whole(&r);
    sy_json_finish(&r.json);
    if (code == -ENOMEM) {
        sy_fail(error, code, "out of memory");
    }
    if (code) {
        sy_traces_destroy(r.traces);
        return code;
    }
    *ret_traces = r.traces;
    return 0;
}

/* --- tables -------------------------------------------------------------------------------------
 */
static int read_header(struct sy_csv *csv, const struct sy_traces *traces) {
    if (!sy_csv_next_line(csv)) {
        return sy_fail_at(csv->error, -EINVAL, csv->file, 1, 1, "an empty table");
    }
    int code = 0;
    for (uint32_t i = 0; !code && i < traces->event_count + (traces->length != NULL); i++) {
        bool is_length = traces->length && i == 0;
        const char *name =
            is_length ? traces->length : traces->events[i - (traces->length != NULL)];
        code = sy_csv_field(csv, name);
        if (!code && !sy_csv_is(csv, name)) {
            code = sy_csv_fail(csv, "column '%.*s', expected '%s'", (int)csv->field_length,
                               csv->field, name);
        }
    }
    return code ? code : sy_csv_end_line(csv);
}

static int read_row(struct sy_csv *csv, const struct sy_traces *traces, double *ret_length,
                    double *ret_row) {
    *ret_length = 1;
    int code = traces->length ? sy_csv_number(csv, traces->length, 1e-9, COUNT_MAX, ret_length) : 0;
    for (uint32_t i = 0; !code && i < traces->event_count; i++) {
        code = sy_csv_number(csv, traces->events[i], 0, COUNT_MAX, &ret_row[i]);
    }
    return code ? code : sy_csv_end_line(csv);
}

/* Counts become rates: windows are not equally long, and their length is known. */
static void divide_by_length(struct sy_series *series, const double *lengths, uint32_t n) {
    double mean = sy_mean(lengths, series->windows);
    for (uint32_t t = 0; t < series->windows; t++) {
        for (uint32_t i = 0; i < n; i++) {
            series->rates[(size_t)t * n + i] *= mean / lengths[t];
        }
    }
}

int sy_traces_parse_series(struct sy_traces *traces, uint32_t index, const char *file,
                           const char *text, size_t length, struct sy_error *error) {
    struct sy_series *series = &traces->series[index];
    uint32_t n = traces->event_count, capacity = 0, length_capacity = 0;
    double *lengths = NULL;
    struct sy_csv csv;
    sy_csv_init(&csv, file, text, length, error);
    int code = read_header(&csv, traces);
    while (!code && sy_csv_next_line(&csv)) {
        code = sy_grow(&series->rates, &capacity, series->windows + 1, n * sizeof *series->rates);
        code =
            code ? code : sy_grow(&lengths, &length_capacity, series->windows + 1, sizeof *lengths);
        code = code ? code
                    : read_row(&csv, traces, &lengths[series->windows],
                               &series->rates[(size_t)series->windows * n]);
        series->windows += !code;
    }
    if (!code && series->windows < WINDOWS_MIN) {
        code = sy_fail_at(error, -EINVAL, file, csv.line, 1, "%u windows, at least %d are needed",
                          series->windows, WINDOWS_MIN);
    }
    if (!code) {
        divide_by_length(series, lengths, n);
    }
    free(lengths);
    return code;
}

static int read_series(const char *folder, struct sy_traces *traces, uint32_t index,
                       struct sy_error *error) {
    char *path = NULL, *text = NULL;
    size_t length;
    if (asprintf(&path, "%s/%s", folder, traces->series[index].file) < 0) {
        return sy_out_of_memory(error);
    }
    int code = sy_read_file(path, &text, &length, error);
    code = code ? code : sy_traces_parse_series(traces, index, path, text, length, error);
    free(text);
    free(path);
    return code;
}

int sy_traces_read(const char *folder, struct sy_traces **ret_traces, struct sy_error *error) {
    struct sy_traces *traces = NULL;
    char *path = NULL, *text = NULL;
    size_t length;
    if (asprintf(&path, "%s/traces.json", folder) < 0) {
        return sy_out_of_memory(error);
    }
    int code = sy_read_file(path, &text, &length, error);
    if (code) {
        sy_hint(error, "tools/callgrind_traces.py makes such a folder");
    }
    code = code ? code : sy_traces_parse(path, text, length, &traces, error);
    free(text);
    free(path);
    for (uint32_t i = 0; !code && i < traces->series_count; i++) {
        code = read_series(folder, traces, i, error);
    }
    if (code) {
        sy_traces_destroy(traces);
        return code;
    }
    *ret_traces = traces;
    return 0;
}
