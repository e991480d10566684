/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of measured times, symph-times-1 (docs/pipeline-format.md).
 *
 * In: CSV with named columns, in any order. Out: one sample after the other. Invariant: what is
 * written reads back the same; cost features come in one order, whatever that of the columns.
 */
#include "base/csv.h"
#include "planner/values.h"
#include "topology/topology.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIME_NS_MAX 1e18
#define COST_MAX    1e30
#define WIDTH_MAX   4096
#define COLUMN_MAX  (SY_SAMPLES_NAME_MAX + COLUMN_FIXED)
#define COLUMNS                                                                                    \
    "columns are source,kernel,class,width,time_ns,watts,case,flops,bytes and other cost "         \
    "features; "                                                                                   \
    "build, if there is one, says which build of the kernel ran"

enum column {
    COLUMN_SOURCE,
    COLUMN_KERNEL,
    COLUMN_CLASS,
    COLUMN_WIDTH,
    COLUMN_TIME,
    COLUMN_WATTS,
    COLUMN_CASE,
    COLUMN_BUILD, /* may be missing */
    COLUMN_FIXED,
};
static const char *const column_names[COLUMN_FIXED] = {"source",  "kernel", "class", "width",
                                                       "time_ns", "watts",  "case",  "build"};

struct table {
    struct sy_csv csv;
    struct sy_arena *arena; /* names, until the end */
    uint32_t column_count;
    uint32_t kinds[COLUMN_MAX]; /* enum column, or COLUMN_FIXED + cost */
    uint32_t cost_count;
    const char *costs[SY_SAMPLES_NAME_MAX]; /* as columns come */
    uint32_t order[SY_SAMPLES_NAME_MAX];    /* of them: flops, bytes, then by name */
};

/* One line. */
struct row {
    struct sy_cost_sample sample;
    const char *input;
    double all[SY_SAMPLES_NAME_MAX]; /* per column; NAN: empty */
    const char *names[SY_PIPELINE_COST_MAX];
    double costs[SY_PIPELINE_COST_MAX];
};

int sy_cost_name_compare(const char *a, const char *b) {
    static const char *const first[] = {"flops", "bytes"};
    for (size_t i = 0; i < SY_COUNT(first); i++) {
        bool is_a = strcmp(a, first[i]) == 0, is_b = strcmp(b, first[i]) == 0;
        if (is_a || is_b) {
            return (int)is_b - (int)is_a;
        }
    }
    return strcmp(a, b);
}

bool sy_cost_name_valid(const char *name) {
    size_t length = strlen(name), i = 0;
    for (size_t c = 0; c < SY_COUNT(column_names); c++) {
        if (strcmp(column_names[c], name) == 0) {
            return false; /* a table of times has two columns of that name */
        }
    }
    while (i < length && (isalnum((unsigned char)name[i]) || name[i] == '_')) {
        i++;
    }
    return length && length <= SY_PIPELINE_NAME_MAX && i == length &&
           !isdigit((unsigned char)name[0]);
}

uint32_t sy_pipeline_cost_names(const struct sy_pipeline *pipeline, const char **names,
                                uint32_t count) {
    for (uint32_t k = 0; k < pipeline->kernel_count; k++) {
        const struct sy_pipeline_kernel *kernel = &pipeline->kernels[k];
        for (uint32_t c = 0; c < kernel->cost_count && count <= SY_SAMPLES_NAME_MAX; c++) {
            uint32_t i = 0;
            while (i < count && strcmp(names[i], kernel->cost_names[c]) != 0) {
                i++;
            }
            if (i == count && count++ < SY_SAMPLES_NAME_MAX) {
                names[i] = kernel->cost_names[c];
            }
        }
    }
    return count;
}

/* --- reading ---------------------------------------------------------------------------------- */
static int add_cost(struct table *t, const char *name) {
    struct sy_csv *csv = &t->csv;
    if (!sy_cost_name_valid(name)) {
        sy_csv_fail(csv, "\"%.80s\" cannot name a cost feature", name);
        sy_hint(csv->error, COLUMNS);
        return -EINVAL;
    }
    if (t->cost_count == SY_SAMPLES_NAME_MAX) {
        return sy_csv_fail(csv, "more than %d cost features", SY_SAMPLES_NAME_MAX);
    }
    uint32_t at = t->cost_count;
    for (; at > 0 && sy_cost_name_compare(t->costs[t->order[at - 1]], name) > 0; at--) {
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
    bool again = false;
    for (uint32_t i = 0; i < t->column_count; i++) {
        again = again || (kind < COLUMN_FIXED && t->kinds[i] == kind);
    }
    for (uint32_t i = 0; i < t->cost_count; i++) {
        again = again || strcmp(t->costs[i], name) == 0;
    }
    if (kind < COLUMN_FIXED && !again) {
        t->kinds[t->column_count++] = kind;
        return 0;
    }
    return again ? sy_csv_fail(&t->csv, "column \"%.64s\" appears twice", name) : add_cost(t, name);
}

static int no_column(struct table *t, const char *name) {
    sy_csv_fail(&t->csv, "there is no column \"%s\"", name);
    sy_hint(t->csv.error, COLUMNS);
    return -EINVAL;
}

static int read_header(struct table *t) {
    if (!sy_csv_next_line(&t->csv)) {
        return no_column(t, "source");
    }
    while (t->csv.more) {
        int code = read_column(t);
        if (code) {
            return code;
        }
    }
    for (uint32_t kind = 0; kind < COLUMN_BUILD; kind++) {
        uint32_t i = 0;
        while (i < t->column_count && t->kinds[i] != kind) {
            i++;
        }
        if (i == t->column_count) {
            return no_column(t, column_names[kind]);
        }
    }
    bool flops = t->cost_count > 0 && strcmp(t->costs[t->order[0]], "flops") == 0;
    if (!flops || t->cost_count < 2 || strcmp(t->costs[t->order[1]], "bytes") != 0) {
        return no_column(t, flops ? "bytes" : "flops");
    }
    return 0;
}

/* A positive number, or nothing: NAN. */
static int read_optional(struct table *t, const char *what, double low, double high,
                         double *ret_value) {
    struct sy_csv before = t->csv;
    int code = sy_csv_field(&t->csv, what);
    if (code || t->csv.field_length == 0) {
        *ret_value = NAN;
        return code;
    }
    t->csv = before;
    return sy_csv_number(&t->csv, what, low, high, ret_value);
}

static int read_width(struct table *t, uint32_t *ret_width) {
    uint64_t width;
    int code = sy_csv_u64(&t->csv, "width", &width);
    if (!code && (width < 1 || width > WIDTH_MAX)) {
        code = sy_csv_fail(&t->csv, "width must be 1 to %d devices", WIDTH_MAX);
    }
    if (!code) {
        *ret_width = (uint32_t)width;
    }
    return code;
}

static int read_source(struct table *t, const char **ret_source) {
    int code = sy_csv_name(&t->csv, "source", t->arena, ret_source);
    if (!code && strcmp(*ret_source, "measured") != 0 && strcmp(*ret_source, "model") != 0) {
        code = sy_csv_fail(&t->csv, "\"%.40s\" is not a source of times", *ret_source);
        sy_hint(t->csv.error, "measured or model");
    }
    return code;
}

static int read_input(struct table *t, const char **ret_input) {
    int code = sy_csv_field(&t->csv, "case");
    if (!code) {
        *ret_input = sy_arena_strndup(t->arena, t->csv.field, t->csv.field_length);
        code = *ret_input ? 0 : sy_fail(t->csv.error, -ENOMEM, "out of memory");
    }
    return code;
}

static int read_field(struct table *t, uint32_t kind, struct row *row) {
    struct sy_cost_sample *sample = &row->sample;
    switch (kind) {
    case COLUMN_SOURCE:
        return read_source(t, &sample->source);
    case COLUMN_KERNEL:
        return sy_csv_name(&t->csv, "kernel", t->arena, &sample->kernel);
    case COLUMN_CLASS:
        return sy_csv_name(&t->csv, "class", t->arena, &sample->class_name);
    case COLUMN_WIDTH:
        return read_width(t, &sample->width);
    case COLUMN_TIME:
        return sy_csv_number(&t->csv, "time_ns", 1e-3, TIME_NS_MAX, &sample->time_ns);
    case COLUMN_WATTS:
        return read_optional(t, "watts", 0, SY_WATTS_MAX, &sample->watts);
    case COLUMN_CASE:
        return read_input(t, &row->input);
    case COLUMN_BUILD:
        return sy_csv_identity(&t->csv, "build", &sample->build);
    default:
        return read_optional(t, t->costs[kind - COLUMN_FIXED], 1e-30, COST_MAX,
                             &row->all[kind - COLUMN_FIXED]);
    }
}

/* Those that are there, in their order. */
static int gather_costs(struct table *t, struct row *row) {
    struct sy_cost_sample *sample = &row->sample;
    for (uint32_t i = 0; i < t->cost_count; i++) {
        uint32_t cost = t->order[i];
        if (isnan(row->all[cost])) {
            if (i < 2) {
                t->csv.column = 1;
                return sy_csv_fail(&t->csv, "%s is empty", t->costs[cost]);
            }
            continue;
        }
        if (sample->cost_count == SY_PIPELINE_COST_MAX) {
            t->csv.column = 1;
            return sy_csv_fail(&t->csv, "a sample has at most %d cost features",
                               SY_PIPELINE_COST_MAX);
        }
        row->names[sample->cost_count] = t->costs[cost];
        row->costs[sample->cost_count++] = row->all[cost];
    }
    sample->cost_names = row->names;
    sample->costs = row->costs;
    return 0;
}

static int read_rows(struct table *t, sy_sample_visit visit, void *user) {
    while (sy_csv_next_line(&t->csv)) {
        struct row row = {.sample = {0}};
        int code = 0;
        for (uint32_t i = 0; !code && i < t->column_count; i++) {
            code = read_field(t, t->kinds[i], &row);
        }
        code = code ? code : sy_csv_end_line(&t->csv);
        code = code ? code : gather_costs(t, &row);
        if (code) {
            return code;
        }
        code = visit(user, &row.sample, row.input);
        if (code) {
            return sy_fail_at(t->csv.error, code, t->csv.file, t->csv.line, 1,
                              "this sample cannot be used: %s", strerror(-code));
        }
    }
    return 0;
}

int sy_samples_read_text(const char *file, const char *text, size_t length, sy_sample_visit visit,
                         void *user, struct sy_error *error) {
    struct table *t = calloc(1, sizeof *t);
    struct sy_arena *arena = t ? sy_arena_create() : NULL;
    int code = -ENOMEM;
    if (arena) {
        t->arena = arena;
        sy_csv_init(&t->csv, file, text, length, error);
        code = read_header(t);
        code = code ? code : read_rows(t, visit, user);
    } else {
        sy_fail(error, code, "out of memory");
    }
    sy_arena_destroy(arena);
    free(t);
    return code;
}

int sy_samples_read_file(const char *path, sy_sample_visit visit, void *user,
                         struct sy_error *error) {
    char *text = NULL;
    size_t length;
    int code = sy_read_file(path, &text, &length, error);
    if (!code) {
        code = sy_samples_read_text(path, text, length, visit, user, error);
        free(text);
    }
    return code;
}

/* --- writing ---------------------------------------------------------------------------------- */
/* Fields cannot hold quotes and control characters: they become ' and blanks. */
static void put_field(struct sy_buffer *buffer, const char *text) {
    size_t length = strlen(text);
    bool quote = false;
    for (size_t i = 0; i < length; i++) {
        quote = quote || !(isalnum((unsigned char)text[i]) || strchr("_.:-+=@/", text[i]));
    }
    sy_buffer_append(buffer, "\"", quote);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        char shown = c == '"' ? '\'' : c < 0x20 || c == 0x7f ? ' ' : text[i];
        sy_buffer_append(buffer, &shown, 1);
    }
    sy_buffer_append(buffer, "\"", quote);
}

static void put_number(struct sy_buffer *buffer, double value) {
    sy_buffer_append(buffer, ",", 1);
    if (isfinite(value)) {
        sy_buffer_number(buffer, value);
    }
}

static double cost_of(const struct sy_cost_sample *sample, const char *name) {
    for (uint32_t i = 0; i < sample->cost_count; i++) {
        if (strcmp(sample->cost_names[i], name) == 0) {
            return sample->costs[i];
        }
    }
    return NAN;
}

void sy_samples_write(struct sy_buffer *buffer, const char *const *names, uint32_t name_count,
                      const struct sy_cost_sample *sample, const char *input) {
    if (!sample) {
        sy_buffer_printf(buffer, "# symph-times-1\n");
        for (uint32_t i = 0; i < COLUMN_FIXED; i++) {
            sy_buffer_printf(buffer, "%s%s", i ? "," : "", column_names[i]);
        }
    } else {
        put_field(buffer, sample->source);
        sy_buffer_append(buffer, ",", 1);
        put_field(buffer, sample->kernel);
        sy_buffer_append(buffer, ",", 1);
        put_field(buffer, sample->class_name);
        sy_buffer_printf(buffer, ",%u", sample->width);
        put_number(buffer, sample->time_ns);
        put_number(buffer, sample->watts);
        sy_buffer_append(buffer, ",", 1);
        put_field(buffer, input ? input : "");
        sy_buffer_append(buffer, ",", 1);
        if (sample->build) {
            sy_buffer_printf(buffer, "%016llx", (unsigned long long)sample->build);
        }
    }
    for (uint32_t i = 0; i < name_count; i++) {
        if (sample) {
            put_number(buffer, cost_of(sample, names[i]));
        } else {
            sy_buffer_append(buffer, ",", 1);
            put_field(buffer, names[i]);
        }
    }
    sy_buffer_append(buffer, "\n", 1);
}
