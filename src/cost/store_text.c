/* SPDX-License-Identifier: Apache-2.0
 *
 * The store as text: CSV, one line per cell, its last samples in the last column.
 *
 * In: a file's text. Out: cells, or an error with line and column; and the way back. Invariants: a
 * file cut short anywhere but between lines is noticed; any name of a kernel survives, as what CSV
 * would not carry is written %XX.
 */
#include "base/csv.h"
#include "cost/store.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 1e30 /* of bytes and flops */

static const char *const columns[] = {"kernel",    "class", "bytes", "flops",
                                      "footprint", "build", "count", "samples_ns"};
/* As written before builds were told apart. */
static const char *const old_columns[] = {"kernel",    "class", "bytes",     "flops",
                                          "footprint", "count", "samples_ns"};

static bool needs_escape(unsigned char c) {
    return c <= 0x20 || c == 0x7f || c == '"' || c == '%' || c == ',' || c == '#';
}

static void put_name(struct sy_buffer *buffer, const char *name) {
    if (!name[0]) {
        sy_buffer_append(buffer, "%00", 3);
    }
    for (; *name; name++) {
        if (needs_escape((unsigned char)*name)) {
            sy_buffer_printf(buffer, "%%%02x", (unsigned char)*name);
        } else {
            sy_buffer_append(buffer, name, 1);
        }
    }
    sy_buffer_append(buffer, ",", 1);
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* text[0..length) without its %XX, into name of length + 1 bytes. */
static bool unescape(const char *text, size_t length, char *name) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '%') {
            *name++ = text[i];
            continue;
        }
        int high = i + 2 < length ? hex_digit(text[i + 1]) : -1;
        int low = i + 2 < length ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0) {
            return false;
        }
        *name++ = (char)(high * 16 + low);
        i += 2;
    }
    *name = '\0';
    return true;
}

/* The next field, malloc'ed. */
static int take_name(struct sy_csv *csv, const char *what, char **ret_name) {
    int code = sy_csv_field(csv, what);
    if (code) {
        return code;
    }
    if (csv->field_length == 0) {
        return sy_csv_fail(csv, "%s is empty", what);
    }
    char *name = malloc(csv->field_length + 1);
    if (!name) {
        return sy_fail(csv->error, -ENOMEM, "out of memory");
    }
    if (!unescape(csv->field, csv->field_length, name)) {
        free(name);
        return sy_csv_fail(csv, "%s: %% must be followed by two hexadecimal digits", what);
    }
    *ret_name = name;
    return 0;
}

/* Exactly as many samples as a cell of so many keeps. */
static int take_samples(struct sy_csv *csv, uint64_t total, float *samples, uint32_t *ret_count) {
    uint32_t wanted = total < SY_CELL_SAMPLES ? (uint32_t)total : SY_CELL_SAMPLES, count = 0;
    int code = sy_csv_field(csv, "samples_ns");
    if (code) {
        return code;
    }
    const char *at = csv->field, *end = csv->field + csv->field_length;
    while (at < end) {
        const char *blank = memchr(at, ' ', (size_t)(end - at)), *stop = blank ? blank : end;
        double value;
        if (count == wanted || !sy_parse_double(at, (size_t)(stop - at), &value) ||
            !(value >= SY_SAMPLE_MIN_NS && value <= SY_SAMPLE_MAX_NS)) {
            return sy_csv_fail(csv, "samples_ns: sample %u is not a time, or one too many",
                               count + 1);
        }
        samples[count++] = (float)value;
        at = blank ? blank + 1 : end;
    }
    if (count != wanted) {
        return sy_csv_fail(csv, "samples_ns: %u samples where %u are expected", count, wanted);
    }
    *ret_count = count;
    return 0;
}

static bool is_cleared(const struct sy_store *store, const char *kernel) {
    for (uint32_t i = 0; i < store->cleared_count; i++) {
        if (strcmp(store->cleared[i], kernel) == 0) {
            return true;
        }
    }
    return store->cleared_all;
}

struct line {
    char *kernel, *class_name;
    double bytes, flops;
    uint64_t footprint, build, total;
    float samples[SY_CELL_SAMPLES];
    uint32_t count;
};

static int take_line(struct sy_csv *csv, bool has_build, struct line *line) {
    int code = take_name(csv, "kernel", &line->kernel);
    code = code ? code : take_name(csv, "class", &line->class_name);
    code = code ? code : sy_csv_number(csv, "bytes", 0, NUMBER_MAX, &line->bytes);
    code = code ? code : sy_csv_number(csv, "flops", 0, NUMBER_MAX, &line->flops);
    code = code ? code : sy_csv_u64(csv, "footprint", &line->footprint);
    code = code || !has_build ? code : sy_csv_identity(csv, "build", &line->build);
    code = code ? code : sy_csv_u64(csv, "count", &line->total);
    if (!code && (line->total == 0 || line->total > SY_SAMPLE_COUNT_MAX)) {
        code = sy_csv_fail(csv, "count must be at least 1 and at most %llu", SY_SAMPLE_COUNT_MAX);
    }
    code = code ? code : take_samples(csv, line->total, line->samples, &line->count);
    return code ? code : sy_csv_end_line(csv);
}

static int merge_line(struct sy_store *store, const struct line *line, struct sy_error *error) {
    if (is_cleared(store, line->kernel)) {
        return 0;
    }
    struct sy_cell *cell = sy_store_cell(store, line->kernel, line->class_name, line->bytes,
                                         line->flops, line->footprint);
    if (!cell) {
        return sy_fail(error, -ENOMEM, "out of memory");
    }
    ((struct sy_store_entry *)cell)->seen = true;
    if (cell->build != line->build && cell->sample_count > cell->saved_count) {
        return 0; /* what is new here replaces what another build took */
    }
    if (cell->build != line->build) {
        sy_cell_reset(cell);
        cell->build = line->build;
    }
    sy_cell_merge(cell, line->samples, line->count, line->total);
    return 0;
}

/* No name can hold the commas. */
static bool is_old(const char *text, size_t length) {
    static const char told[] = ",footprint,build,count,";
    return !memmem(text, length, told, sizeof told - 1);
}

/* A last number that was cut still is a number: only the line's end tells. */
static int check_ended(struct sy_csv *csv) {
    return csv->next_line[-1] == '\n' ? 0 : sy_csv_fail(csv, "the file ends inside a line");
}

int sy_store_read_text(struct sy_store *store, const char *name, const char *text, size_t length,
                       struct sy_error *error) {
    struct sy_csv csv;
    sy_csv_init(&csv, name, text, length, error);
    bool old = is_old(text, length);
    int code = sy_csv_header(&csv, old ? old_columns : columns,
                             old ? SY_COUNT(old_columns) : SY_COUNT(columns));
    code = code ? code : check_ended(&csv);
    while (!code && sy_csv_next_line(&csv)) {
        struct line line = {0};
        code = take_line(&csv, !old, &line);
        code = code ? code : check_ended(&csv);
        code = code ? code : merge_line(store, &line, error);
        free(line.kernel);
        free(line.class_name);
    }
    return code;
}

static void put_cell(const struct sy_cell *cell, struct sy_buffer *buffer) {
    uint32_t held = sy_cell_held(cell);
    put_name(buffer, cell->kernel);
    put_name(buffer, cell->class_name);
    sy_buffer_printf(buffer, "%.17g,%.17g,%llu,", cell->bytes, cell->flops,
                     (unsigned long long)cell->footprint);
    if (cell->build) {
        sy_buffer_printf(buffer, "%016llx", (unsigned long long)cell->build);
    }
    sy_buffer_printf(buffer, ",%llu,", (unsigned long long)cell->sample_count);
    for (uint32_t i = 0; i < held; i++) {
        float sample = cell->last_ns[(cell->sample_count - held + i) % SY_CELL_SAMPLES];
        sy_buffer_printf(buffer, "%s%.9g", i ? " " : "", (double)sample);
    }
    sy_buffer_append(buffer, "\n", 1);
}

void sy_store_write_text(const struct sy_store *store, struct sy_buffer *buffer) {
    for (uint32_t i = 0; i < SY_COUNT(columns); i++) {
        sy_buffer_printf(buffer, "%s%s", columns[i], i + 1 < SY_COUNT(columns) ? "," : "\n");
    }
    for (uint32_t i = 0; i < store->count; i++) {
        if (store->entries[i]->cell.sample_count > 0) {
            put_cell(&store->entries[i]->cell, buffer);
        }
    }
}
