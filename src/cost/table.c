/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of what kernels took, symph-costs-1 (docs/costs-format.md): CSV with named columns.
 *
 * In: a file's text, or that of an older format, which lacks columns or has others. Out: one sample
 * after the other, or an error with line and column; and the way back. Invariants: what is written
 * reads back the same; costs come in one order, whatever that of the columns; a table of the
 * present format that is cut short anywhere but between lines is noticed; any name survives, as
 * what CSV would not carry is written %XX.
 */
#include "base/csv.h"
#include "cost/store.h"
#include "topology/topology.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VERSION    "# symph-costs-"
#define COST_MAX   1e30
#define COST_NAME  64 /* bytes of the name of a cost */
#define WIDTH_MAX  4096
#define COLUMN_MAX (SY_COSTS_NAME_MAX + COLUMN_FIXED)
#define NO_COLUMN  "there is no column \"%s\""
#define COLUMNS                                                                                    \
    "columns are kernel,class,source,width,build,footprint,count,samples_ns,watts,case,flops,"     \
    "bytes and other costs"

enum column {
    COLUMN_KERNEL,
    COLUMN_CLASS,
    COLUMN_SOURCE,
    COLUMN_WIDTH,
    COLUMN_BUILD,
    COLUMN_FOOTPRINT,
    COLUMN_COUNT,
    COLUMN_SAMPLES,
    COLUMN_WATTS,
    COLUMN_CASE,
    COLUMN_WRITTEN,
    COLUMN_TIME = COLUMN_WRITTEN, /* of symph-times-1: a single sample */
    COLUMN_FIXED,
};
static const char *const column_names[COLUMN_FIXED] = {
    "kernel", "class",      "source", "width", "build",  "footprint",
    "count",  "samples_ns", "watts",  "case",  "time_ns"};

struct table {
    struct sy_csv csv;
    struct sy_arena *arena; /* names, until the end */
    uint32_t column_count;
    uint32_t kinds[COLUMN_MAX]; /* enum column, or COLUMN_FIXED + cost */
    bool has[COLUMN_FIXED];
    uint32_t cost_count;
    const char *costs[SY_COSTS_NAME_MAX]; /* as columns come */
    uint32_t order[SY_COSTS_NAME_MAX];    /* of them: flops, bytes, then by name */
    /* Of the line before: most lines have the same. As they stand in the text, and what it says. */
    struct same {
        const char *field, *name;
        size_t length;
    } same[COLUMN_FIXED];
};

/* One line. */
struct row {
    struct sy_cost_sample sample;
    bool sizes;
    uint64_t width;
    double all[SY_COSTS_NAME_MAX]; /* per column; NAN: empty */
    const char *names[SY_FEATURE_MAX];
    double values[SY_FEATURE_MAX], times_ns[SY_CELL_SAMPLES];
    float samples_ns[SY_CELL_SAMPLES];
};

bool sy_feature_valid(const char *name) {
    size_t length = strlen(name), i = 0;
    if (sy_index_of(name, column_names, SY_COUNT(column_names), sizeof(char *)) != SY_NONE) {
        return false; /* a table would have two columns of that name */
    }
    while (i < length && (isalnum((unsigned char)name[i]) || name[i] == '_')) {
        i++;
    }
    return length && length <= COST_NAME && i == length && !isdigit((unsigned char)name[0]);
}

/* --- the header ---------------------------------------------------------------------------------
 */
static int fail_column(struct table *t, const char *format, const char *name) {
    sy_csv_fail(&t->csv, format, name);
    return sy_hint(t->csv.error, COLUMNS);
}

static int add_cost(struct table *t, const char *name) {
    if (!sy_feature_valid(name)) {
        return fail_column(t, "\"%.80s\" cannot name a cost", name);
    }
    if (t->cost_count == SY_COSTS_NAME_MAX) {
        return sy_csv_fail(&t->csv, "more than %d costs", SY_COSTS_NAME_MAX);
    }
    uint32_t at = t->cost_count;
    for (; at > 0 && sy_feature_compare(t->costs[t->order[at - 1]], name) > 0; at--) {
        t->order[at] = t->order[at - 1];
    }
    t->order[at] = t->cost_count;
    t->kinds[t->column_count++] = COLUMN_FIXED + t->cost_count;
    t->costs[t->cost_count++] = name;
    return 0;
}

static int read_column(struct table *t) {
    const char *name;
    int code = sy_csv_name(&t->csv, "the name of a column", t->arena, &name);
    if (code) {
        return code;
    }
    uint32_t kind = 0;
    while (kind < COLUMN_FIXED && strcmp(column_names[kind], name) != 0) {
        kind++;
    }
    bool again = kind < COLUMN_FIXED && t->has[kind];
    for (uint32_t i = 0; i < t->cost_count; i++) {
        again = again || strcmp(t->costs[i], name) == 0;
    }
    if (again) {
        return sy_csv_fail(&t->csv, "column \"%.64s\" appears twice", name);
    }
    if (kind == COLUMN_FIXED) {
        return add_cost(t, name);
    }
    t->has[kind] = true;
    t->kinds[t->column_count++] = kind;
    return 0;
}

/* A last number that was cut still is a number: only the line's end tells. Whoever makes tables of
 * single times by hand may forget it. */
static int check_ended(struct table *t) {
    return t->has[COLUMN_TIME] || t->csv.next_line[-1] == '\n'
               ? 0
               : sy_csv_fail(&t->csv, "the file ends inside a line");
}

static int read_header(struct table *t) {
    static const enum column needed[] = {COLUMN_KERNEL, COLUMN_CLASS, COLUMN_COUNT, COLUMN_SAMPLES};
    bool more = sy_csv_next_line(&t->csv);
    while (more && t->csv.more) {
        int code = read_column(t);
        if (code) {
            return code;
        }
    }
    for (size_t i = 0; i < SY_COUNT(needed); i++) {
        bool single = t->has[COLUMN_TIME] && i >= 2;
        if (!t->has[needed[i]] && !single) {
            return fail_column(t, NO_COLUMN, column_names[needed[i]]);
        }
    }
    for (uint32_t i = 0; i < SY_SIZES; i++) {
        if (i >= t->cost_count || strcmp(t->costs[t->order[i]], sy_size_names[i]) != 0) {
            return fail_column(t, NO_COLUMN, sy_size_names[i]);
        }
    }
    return check_ended(t);
}

static int check_version(struct table *t, const char *text, size_t length) {
    size_t begin = strlen(VERSION);
    if (length <= begin || strncmp(text, VERSION, begin) != 0 ||
        (text[begin] == '1' && (length == begin + 1 || !isdigit((unsigned char)text[begin + 1])))) {
        return 0;
    }
    sy_fail_at(t->csv.error, -EINVAL, t->csv.file, 1, 1, "a table of a version that is not known");
    return sy_hint(t->csv.error, "this symph reads symph-costs-1 and older tables");
}

/* --- fields -------------------------------------------------------------------------------------
 */
static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place. */
static bool unescape(char *text) {
    char *to = text;
    for (; *text; text++) {
        if (*text != '%') {
            *to++ = *text;
            continue;
        }
        int high = hex_digit(text[1]), low = high < 0 ? -1 : hex_digit(text[2]);
        if (low < 0) {
            return false;
        }
        *to++ = (char)(high * 16 + low);
        text += 2;
    }
    *to = '\0';
    return true;
}

/* Tables of single times have names as they are. */
static int read_name(struct table *t, enum column column, bool may_be_empty,
                     const char **ret_name) {
    const char *what = column_names[column];
    struct same *same = &t->same[column];
    int code = sy_csv_field(&t->csv, what);
    if (!code && same->name && same->length == t->csv.field_length &&
        memcmp(same->field, t->csv.field, same->length) == 0) {
        *ret_name = same->name;
        return 0;
    }
    if (!code && t->csv.field_length == 0 && !may_be_empty) {
        code = sy_csv_fail(&t->csv, "%s is empty", what);
    }
    char *name = code ? NULL : sy_arena_strndup(t->arena, t->csv.field, t->csv.field_length);
    if (!code && !name) {
        code = sy_out_of_memory(t->csv.error);
    }
    if (!code && !t->has[COLUMN_TIME] && !unescape(name)) {
        code = sy_csv_fail(&t->csv, "%s: %% must be followed by two hexadecimal digits", what);
    }
    if (!code) {
        *same = (struct same){t->csv.field, name, t->csv.field_length};
    }
    *ret_name = name;
    return code;
}

/* Passes over a field that is empty. */
static bool skip_empty(struct table *t, const char *what, int *ret_code) {
    struct sy_csv before = t->csv;
    *ret_code = sy_csv_field(&t->csv, what);
    if (*ret_code || t->csv.field_length == 0) {
        return true;
    }
    t->csv = before;
    return false;
}

/* A number that is not negative, or nothing: NAN. */
static int read_optional(struct table *t, const char *what, double high, double *ret_value) {
    int code;
    *ret_value = NAN;
    return skip_empty(t, what, &code) ? code : sy_csv_number(&t->csv, what, 0, high, ret_value);
}

static int read_whole(struct table *t, const char *what, uint64_t high, uint64_t *ret_value) {
    int code = sy_csv_u64(&t->csv, what, ret_value);
    return code || (*ret_value >= 1 && *ret_value <= high)
               ? code
               : sy_csv_fail(&t->csv, "%s must be 1 to %llu", what, (unsigned long long)high);
}

static int read_source(struct table *t, bool *ret_modelled) {
    int code = sy_csv_field(&t->csv, "source");
    *ret_modelled = !code && sy_csv_is(&t->csv, "model");
    if (!code && !*ret_modelled && !sy_csv_is(&t->csv, "measured")) {
        code = sy_csv_fail(&t->csv, "\"%.*s\" is not a source of times",
                           (int)sy_least((double)t->csv.field_length, 40), t->csv.field);
        sy_hint(t->csv.error, "measured or model");
    }
    return code;
}

/* Empty: the line is of costs. */
static int read_footprint(struct table *t, struct row *row) {
    int code;
    row->sizes = !skip_empty(t, "footprint", &code);
    return row->sizes ? sy_csv_u64(&t->csv, "footprint", &row->sample.features.footprint) : code;
}

static int read_samples(struct table *t, struct row *row) {
    int code = sy_csv_field(&t->csv, "samples_ns");
    const char *at = t->csv.field, *end = at + t->csv.field_length;
    uint32_t count = 0;
    while (!code && at < end) {
        const char *blank = memchr(at, ' ', (size_t)(end - at)), *stop = blank ? blank : end;
        double value;
        if (count == SY_CELL_SAMPLES || !sy_parse_double(at, (size_t)(stop - at), &value) ||
            !(value >= SY_TIME_MIN_NS && value <= SY_TIME_MAX_NS)) {
            return sy_csv_fail(&t->csv, "samples_ns: sample %u is not a time, or one too many",
                               count + 1);
        }
        row->times_ns[count++] = value;
        at = blank ? blank + 1 : end;
    }
    row->sample.time_count = count;
    return code;
}

static int read_time(struct table *t, struct row *row) {
    row->sample.count = row->sample.time_count = 1;
    return sy_csv_number(&t->csv, "time_ns", SY_TIME_MIN_NS, SY_TIME_MAX_NS, &row->times_ns[0]);
}

static int read_field(struct table *t, uint32_t kind, struct row *row) {
    struct sy_cost_sample *sample = &row->sample;
    switch (kind) {
    case COLUMN_KERNEL:
        return read_name(t, COLUMN_KERNEL, false, &sample->kernel);
    case COLUMN_CLASS:
        return read_name(t, COLUMN_CLASS, false, &sample->class_name);
    case COLUMN_SOURCE:
        return read_source(t, &sample->modelled);
    case COLUMN_WIDTH:
        return read_whole(t, "width", WIDTH_MAX, &row->width);
    case COLUMN_BUILD:
        return sy_csv_identity(&t->csv, "build", &sample->build);
    case COLUMN_FOOTPRINT:
        return read_footprint(t, row);
    case COLUMN_COUNT:
        return read_whole(t, "count", SY_SAMPLE_COUNT_MAX, &sample->count);
    case COLUMN_SAMPLES:
        return read_samples(t, row);
    case COLUMN_TIME:
        return read_time(t, row);
    case COLUMN_WATTS:
        return read_optional(t, "watts", SY_WATTS_MAX, &sample->watts);
    case COLUMN_CASE:
        return read_name(t, COLUMN_CASE, true, &sample->input);
    default:
        return read_optional(t, t->costs[kind - COLUMN_FIXED], COST_MAX,
                             &row->all[kind - COLUMN_FIXED]);
    }
}

/* --- lines --------------------------------------------------------------------------------------
 */
static int fail_line(struct table *t, const char *format, const char *what) {
    t->csv.column = 1;
    return sy_csv_fail(&t->csv, format, what);
}

/* Of sizes both, as far as they are known; else the costs that are there, in order. */
static int gather_features(struct table *t, struct row *row) {
    struct sy_features *features = &row->sample.features;
    *features = (struct sy_features){.names = row->sizes ? NULL : row->names,
                                     .values = row->values,
                                     .width = (uint32_t)row->width,
                                     .footprint = features->footprint};
    for (uint32_t i = 0; i < t->cost_count; i++) {
        double value = row->all[t->order[i]];
        bool size = row->sizes && i < SY_SIZES;
        if (isnan(value) && !size) {
            continue;
        }
        if ((row->sizes && !size) || features->count == SY_FEATURE_MAX) {
            return fail_line(t, "%s is too much: at most 8 costs, and none with a footprint",
                             t->costs[t->order[i]]);
        }
        row->names[features->count] = t->costs[t->order[i]];
        row->values[features->count++] = isnan(value) ? 0 : value;
    }
    if (row->sizes && (row->width != 1 || row->sample.modelled)) {
        return fail_line(t, "a line with a footprint has %s", "width 1 and was measured");
    }
    return sy_features_sound(features)
               ? 0
               : fail_line(t, "%s must be positive", "flops, bytes and other costs");
}

/* Exactly as many samples as a cell of so many keeps. */
static int gather_times(struct table *t, struct row *row) {
    struct sy_cost_sample *sample = &row->sample;
    uint64_t wanted = sample->count < SY_CELL_SAMPLES ? sample->count : SY_CELL_SAMPLES;
    if (sample->time_count != wanted) {
        t->csv.column = 1;
        return sy_csv_fail(&t->csv, "samples_ns: %u samples where %u are expected",
                           sample->time_count, (uint32_t)wanted);
    }
    for (uint32_t i = 0; i < sample->time_count; i++) {
        row->samples_ns[i] = (float)row->times_ns[i];
    }
    sample->times_ns = row->samples_ns;
    sample->time_ns = sy_quantile(row->times_ns, sample->time_count, 0.5);
    return 0;
}

static int read_rows(struct table *t, sy_cost_visit visit, void *user) {
    while (sy_csv_next_line(&t->csv)) {
        struct row row = {.width = 1, .sample = {.watts = NAN, .input = ""}};
        int code = 0;
        for (uint32_t i = 0; !code && i < t->column_count; i++) {
            code = read_field(t, t->kinds[i], &row);
        }
        code = code ? code : sy_csv_end_line(&t->csv);
        code = code ? code : check_ended(t);
        code = code ? code : gather_features(t, &row);
        code = code ? code : gather_times(t, &row);
        if (code) {
            return code;
        }
        code = visit(user, &row.sample);
        if (code) {
            return sy_fail_at(t->csv.error, code, t->csv.file, t->csv.line, 1,
                              "this sample cannot be used: %s", strerror(-code));
        }
    }
    return 0;
}

/* Reads the header. NULL: out of memory. */
static struct table *open_table(const char *file, const char *text, size_t length,
                                struct sy_error *error, int *ret_code) {
    struct table *t = calloc(1, sizeof *t);
    if (!t || !(t->arena = sy_arena_create())) {
        free(t);
        *ret_code = sy_out_of_memory(error);
        return NULL;
    }
    sy_csv_init(&t->csv, file, text, length, error);
    *ret_code = check_version(t, text, length);
    *ret_code = *ret_code ? *ret_code : read_header(t);
    return t;
}

static void close_table(struct table *t) {
    if (t) {
        sy_arena_destroy(t->arena);
        free(t);
    }
}

int sy_costs_read_text(const char *file, const char *text, size_t length, sy_cost_visit visit,
                       void *user, struct sy_error *error) {
    int code;
    struct table *t = open_table(file, text, length, error, &code);
    code = code ? code : read_rows(t, visit, user);
    close_table(t);
    return code;
}

int sy_costs_read_lines(const char *file, const char *text, const struct sy_line_range *lines,
                        sy_cost_visit visit, void *user, struct sy_error *error) {
    int code;
    struct table *t = open_table(file, text, lines->header_length, error, &code);
    if (!code) {
        t->csv.next_line = text + lines->from;
        t->csv.end = text + lines->to;
        t->csv.line = lines->before;
        code = read_rows(t, visit, user);
    }
    close_table(t);
    return code;
}

int sy_costs_plain_header(const char *text, size_t length, struct sy_arena *arena,
                          const char **ret_names, uint32_t *ret_count, size_t *ret_length) {
    int code;
    struct sy_error error = {0};
    struct sy_buffer plain = {0};
    const char *second = memchr(text, '\n', length), *end = NULL;
    if (second) {
        end = memchr(second + 1, '\n', (size_t)(text + length - second - 1));
    }
    struct table *t = end ? open_table("", text, (size_t)(end + 1 - text), &error, &code) : NULL;
    if (!t) {
        return end ? -ENOMEM : -EINVAL;
    }
    if (!code) {
        sy_costs_write(&plain, t->costs, t->cost_count, NULL);
        code = plain.failed ? -ENOMEM
               : plain.length == (size_t)(end + 1 - text) &&
                       memcmp(plain.text, text, plain.length) == 0
                   ? 0
                   : -EINVAL;
    }
    for (uint32_t i = 0; i < t->cost_count && !code; i++) {
        ret_names[i] = sy_arena_strdup(arena, t->costs[i]);
        code = ret_names[i] ? 0 : -ENOMEM;
    }
    *ret_count = code ? 0 : t->cost_count;
    *ret_length = plain.length;
    sy_buffer_finish(&plain);
    close_table(t);
    return code;
}

/* --- writing ------------------------------------------------------------------------------------
 */
static bool needs_escape(unsigned char c) {
    return c <= 0x20 || c == 0x7f || c == '"' || c == '%' || c == ',' || c == '#';
}

void sy_costs_write_name(struct sy_buffer *buffer, const char *name) {
    if (!name[0]) {
        sy_buffer_append(buffer, "%00", 3);
    }
    while (*name) {
        size_t plain = 0;
        while (name[plain] && !needs_escape((unsigned char)name[plain])) {
            plain++;
        }
        sy_buffer_append(buffer, name, plain);
        name += plain;
        if (*name) {
            sy_buffer_printf(buffer, "%%%02x", (unsigned char)*name++);
        }
    }
}

static void put_name(struct sy_buffer *buffer, const char *name) {
    sy_costs_write_name(buffer, name);
    sy_buffer_append(buffer, ",", 1);
}

static void put_number(struct sy_buffer *buffer, double value) {
    if (isfinite(value)) {
        sy_buffer_number(buffer, value);
    }
}

static double value_of(const struct sy_features *features, const char *name) {
    for (uint32_t i = 0; i < features->count; i++) {
        if (strcmp(features->names ? features->names[i] : sy_size_names[i], name) == 0) {
            return features->values[i];
        }
    }
    return NAN;
}

static void put_sample(struct sy_buffer *buffer, const struct sy_cost_sample *sample) {
    put_name(buffer, sample->kernel);
    put_name(buffer, sample->class_name);
    sy_buffer_printf(buffer, "%s,%u,", sample->modelled ? "model" : "measured",
                     sample->features.width);
    if (sample->build) {
        sy_buffer_printf(buffer, "%016llx", (unsigned long long)sample->build);
    }
    sy_buffer_append(buffer, ",", 1);
    if (!sample->features.names) {
        sy_buffer_printf(buffer, "%llu", (unsigned long long)sample->features.footprint);
    }
    if (sample->times_ns) {
        sy_buffer_printf(buffer, ",%llu,", (unsigned long long)sample->count);
    } else {
        sy_buffer_printf(buffer, ",1,");
        put_number(buffer, sample->time_ns);
    }
    for (uint32_t i = 0; sample->times_ns && i < sample->time_count; i++) {
        sy_buffer_printf(buffer, "%s%.9g", i ? " " : "", (double)sample->times_ns[i]);
    }
    sy_buffer_append(buffer, ",", 1);
    put_number(buffer, sample->watts);
    sy_buffer_append(buffer, ",", 1);
    if (sample->input && sample->input[0]) {
        put_name(buffer, sample->input);
    } else {
        sy_buffer_append(buffer, ",", 1);
    }
}

void sy_costs_write(struct sy_buffer *buffer, const char *const *names, uint32_t name_count,
                    const struct sy_cost_sample *sample) {
    if (!sample) {
        sy_buffer_printf(buffer, VERSION "1\n");
        for (uint32_t i = 0; i < COLUMN_WRITTEN; i++) {
            sy_buffer_printf(buffer, "%s,", column_names[i]);
        }
    } else {
        put_sample(buffer, sample);
    }
    for (uint32_t i = 0; i < name_count; i++) {
        sy_buffer_append(buffer, ",", i > 0);
        if (sample) {
            put_number(buffer, value_of(&sample->features, names[i]));
        } else {
            sy_buffer_append(buffer, names[i], strlen(names[i]));
        }
    }
    sy_buffer_append(buffer, "\n", 1);
}

/* --- a store as a table -------------------------------------------------------------------------
 */
int sy_store_take_line(void *user, const struct sy_cost_sample *sample) {
    const struct sy_reading_to *reading = user;
    return sy_store_add(reading->store, sample, reading->any_build);
}

int sy_store_read_text(struct sy_store *store, const char *name, const char *text, size_t length,
                       bool any_build, struct sy_error *error) {
    struct sy_reading_to reading = {store, any_build};
    int code = sy_is_recorded(text, length)
                   ? sy_store_read_recorded(store, name, text, length, error)
                   : sy_costs_read_text(name, text, length, sy_store_take_line, &reading, error);
    for (uint32_t i = 0; i < store->group_count; i++) {
        for (struct sy_group *group = store->group_list[i]; group; group = group->next) {
            if (group->line) {
                sy_group_fit(group); /* now, so that questions of several threads change nothing */
            }
        }
    }
    return code;
}

int sy_store_read(struct sy_store *store, const char *path, struct sy_error *error) {
    char *text = NULL;
    size_t length;
    int code = sy_read_file(path, &text, &length, error);
    if (!code) {
        code = sy_store_read_text(store, path, text, length, true, error);
        free(text);
    }
    return code;
}

/* One group after the other, each with its oldest cell first: who reads the file finds the lines of
 * a kernel together, and what was not seen for long before the rest. */
void sy_store_write_text(const struct sy_store *store, struct sy_buffer *buffer) {
    sy_costs_write(buffer, store->costs, store->cost_count, NULL);
    sy_store_write_cells(store, buffer);
}

static void write_group(const struct sy_store *store, const struct sy_group *group,
                        struct sy_buffer *buffer) {
    const struct sy_cell **cells;
    uint32_t count;
    if (sy_group_select(group, &cells, &count)) {
        buffer->failed = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        float times_ns[SY_CELL_SAMPLES];
        const struct sy_cost_sample sample =
            sy_cell_sample(cells[i], cells[i]->sample_count, times_ns);
        sy_costs_write(buffer, store->costs, store->cost_count, &sample);
    }
    free(cells);
}

void sy_store_write_cells(const struct sy_store *store, struct sy_buffer *buffer) {
    for (uint32_t i = 0; i < store->group_count; i++) {
        for (const struct sy_group *group = store->group_list[i]; group; group = group->next) {
            write_group(store, group, buffer);
        }
    }
}
