/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads measured slowdowns of pairs that share a core or a GPU.
 *
 * Two shapes are told apart by their first column. Square: "row,b1,b2,..." and one line per a with
 * the speed of a beside each b. Pairs: "job_a,job_b,...,a_colocated_ratio,b_colocated_ratio", both
 * speeds in one line; a ratio of 0 there means that the two could not run together and nothing was
 * measured. Pairs that are missing get the geometric mean of the table.
 */
#include "base/csv.h"
#include "sim/tables.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_COUNT 1024u /* the table is square: 8 MiB */
#define RATIO_MAX      1.5
#define RATIO_MIN      1e-6

struct reader {
    struct sy_csv csv;
    struct sy_interference *table;
    struct sy_map names;
    uint32_t capacity;
};

/* The index of the name in the field last read, added if it is new. */
static int intern(struct reader *reader, const char *what, uint32_t *ret_index) {
    struct sy_csv *csv = &reader->csv;
    struct sy_interference *table = reader->table;
    if (csv->field_length == 0) {
        return sy_csv_fail(csv, "%s is empty", what);
    }
    if (sy_map_get(&reader->names, csv->field, csv->field_length, ret_index)) {
        return 0;
    }
    if (table->count == NAME_MAX_COUNT) {
        return sy_csv_fail(csv, "more than %u names", NAME_MAX_COUNT);
    }
    const char *name = sy_arena_strndup(table->arena, csv->field, csv->field_length);
    if (!name || sy_grow(&table->names, &reader->capacity, table->count + 1, sizeof name) ||
        sy_map_put(&reader->names, name, csv->field_length, table->count)) {
        return sy_out_of_memory(reader->csv.error);
    }
    table->names[table->count] = name;
    *ret_index = table->count++;
    return 0;
}

static int allocate_ratios(struct reader *reader) {
    struct sy_interference *table = reader->table;
    table->ratio =
        sy_arena_alloc(table->arena, (size_t)table->count * table->count, sizeof *table->ratio);
    return table->ratio ? 0 : sy_out_of_memory(reader->csv.error);
}

/* --- square ------------------------------------------------------------------------------- */

static int square_header(struct reader *reader) {
    while (reader->csv.more) {
        uint32_t index, before = reader->table->count;
        int code = sy_csv_field(&reader->csv, "a name");
        code = code ? code : intern(reader, "the name", &index);
        if (code) {
            return code;
        }
        if (reader->table->count == before) {
            return sy_csv_fail(&reader->csv, "\"%s\" is a column twice",
                               reader->table->names[index]);
        }
    }
    return allocate_ratios(reader);
}

static int square_row(struct reader *reader, bool *seen) {
    struct sy_csv *csv = &reader->csv;
    struct sy_interference *table = reader->table;
    uint32_t row;
    int code = sy_csv_field(csv, "the row's name");
    if (code) {
        return code;
    }
    if (!sy_map_get(&reader->names, csv->field, csv->field_length, &row)) {
        return sy_csv_fail(csv, "the row is not one of the columns");
    }
    if (seen[row]) {
        return sy_csv_fail(csv, "row \"%s\" is given twice", table->names[row]);
    }
    seen[row] = true;
    for (uint32_t column = 0; column < table->count; column++) {
        struct sy_csv field = *csv;
        code = sy_csv_field(&field, "the ratio");
        if (!code && field.field_length == 0) {
            *csv = field;
            continue;
        }
        code = sy_csv_number(csv, "the ratio", RATIO_MIN, RATIO_MAX,
                             &table->ratio[row * table->count + column]);
        if (code) {
            return code;
        }
    }
    return sy_csv_end_line(csv);
}

static int read_square(struct reader *reader) {
    int code = square_header(reader);
    if (code) {
        return code;
    }
    bool *seen = calloc(reader->table->count + 1, sizeof *seen);
    if (!seen) {
        return sy_out_of_memory(reader->csv.error);
    }
    while (!code && sy_csv_next_line(&reader->csv)) {
        code = square_row(reader, seen);
    }
    free(seen);
    return code;
}

/* --- pairs -------------------------------------------------------------------------------- */

struct pair_columns {
    uint32_t a, b, ratio_a, ratio_b, count;
};

struct pair {
    uint32_t a, b;
    double ratio_a, ratio_b;
};

/* job_a was read already. */
static int pair_header(struct sy_csv *csv, struct pair_columns *ret_columns) {
    struct pair_columns columns = {0, SY_NONE, SY_NONE, SY_NONE, 1};
    while (csv->more) {
        int code = sy_csv_field(csv, "a column");
        if (code) {
            return code;
        }
        uint32_t *column = sy_csv_is(csv, "job_b")               ? &columns.b
                           : sy_csv_is(csv, "a_colocated_ratio") ? &columns.ratio_a
                           : sy_csv_is(csv, "b_colocated_ratio") ? &columns.ratio_b
                                                                 : NULL;
        if (column && *column != SY_NONE) {
            return sy_csv_fail(csv, "the column appears twice");
        }
        if (column) {
            *column = columns.count;
        }
        columns.count++;
    }
    if (columns.b == SY_NONE || columns.ratio_a == SY_NONE || columns.ratio_b == SY_NONE) {
        return sy_csv_fail(csv,
                           "the columns job_b, a_colocated_ratio and b_colocated_ratio are needed");
    }
    *ret_columns = columns;
    return 0;
}

static int pair_field(struct reader *reader, const struct pair_columns *columns, uint32_t column,
                      struct pair *pair) {
    struct sy_csv *csv = &reader->csv;
    if (column == columns->ratio_a) {
        return sy_csv_number(csv, "a_colocated_ratio", 0, RATIO_MAX, &pair->ratio_a);
    }
    if (column == columns->ratio_b) {
        return sy_csv_number(csv, "b_colocated_ratio", 0, RATIO_MAX, &pair->ratio_b);
    }
    int code = sy_csv_field(csv, "a field");
    if (!code && column == columns->a) {
        code = intern(reader, "job_a", &pair->a);
    } else if (!code && column == columns->b) {
        code = intern(reader, "job_b", &pair->b);
    }
    return code;
}

static int pair_row(struct reader *reader, const struct pair_columns *columns,
                    struct pair *ret_pair) {
    for (uint32_t column = 0; column < columns->count; column++) {
        int code = pair_field(reader, columns, column, ret_pair);
        if (code) {
            return code;
        }
    }
    return sy_csv_end_line(&reader->csv);
}

static void put_ratio(double *cell, double ratio) {
    /* Both orders of a pair may be listed; two measurements count alike. */
    if (ratio >= RATIO_MIN) {
        *cell = *cell > 0 ? sqrt(*cell * ratio) : ratio;
    }
}

static int read_pairs(struct reader *reader) {
    struct pair_columns columns = {0};
    struct pair *pairs = NULL;
    uint32_t count = 0, capacity = 0;
    int code = pair_header(&reader->csv, &columns);
    while (!code && sy_csv_next_line(&reader->csv)) {
        struct pair pair = {0};
        code = pair_row(reader, &columns, &pair);
        if (!code && sy_append(&pairs, &capacity, &count, &pair, sizeof *pairs)) {
            code = sy_out_of_memory(reader->csv.error);
        }
    }
    code = code ? code : allocate_ratios(reader);
    for (uint32_t i = 0; !code && i < count; i++) {
        double *ratio = reader->table->ratio;
        uint32_t size = reader->table->count;
        put_ratio(&ratio[pairs[i].a * size + pairs[i].b], pairs[i].ratio_a);
        put_ratio(&ratio[pairs[i].b * size + pairs[i].a], pairs[i].ratio_b);
    }
    free(pairs);
    return code;
}

/* --- both --------------------------------------------------------------------------------- */

/* Cells that are still 0 become the geometric mean of the others. */
static int fill_missing(struct reader *reader) {
    struct sy_interference *table = reader->table;
    uint32_t cells = table->count * table->count, known = 0;
    double log_sum = 0;
    for (uint32_t i = 0; i < cells; i++) {
        if (table->ratio[i] > 0) {
            log_sum += log(table->ratio[i]);
            known++;
        }
    }
    if (known == 0) {
        return sy_csv_fail(&reader->csv, "the table has no measured pair");
    }
    table->fallback = exp(log_sum / known);
    for (uint32_t i = 0; i < cells; i++) {
        table->ratio[i] = table->ratio[i] > 0 ? table->ratio[i] : table->fallback;
    }
    return 0;
}

static int read_table(struct reader *reader) {
    struct sy_csv *csv = &reader->csv;
    int code;
    if (!sy_csv_next_line(csv)) {
        csv->line = csv->column = 1;
        return sy_csv_fail(csv, "the file is empty");
    }
    code = sy_csv_field(csv, "the first column");
    if (code) {
        return code;
    }
    if (sy_csv_is(csv, "row")) {
        code = read_square(reader);
    } else if (sy_csv_is(csv, "job_a")) {
        code = read_pairs(reader);
    } else {
        code = sy_csv_fail(csv, "this is not a table of pairs");
        sy_hint(csv->error, "the first column is \"row\" in a square table, \"job_a\" in a list of "
                            "pairs");
    }
    return code ? code : fill_missing(reader);
}

int sy_interference_read_text(const char *name, const char *text, size_t length,
                              struct sy_interference **ret_table, struct sy_error *error) {
    struct reader reader = {.table = calloc(1, sizeof *reader.table)};
    if (!reader.table || !(reader.table->arena = sy_arena_create())) {
        free(reader.table);
        return sy_out_of_memory(error);
    }
    sy_csv_init(&reader.csv, name, text, length, error);
    int code = read_table(&reader);
    sy_map_finish(&reader.names);
    if (code) {
        sy_interference_destroy(reader.table);
        return code;
    }
    *ret_table = reader.table;
    return 0;
}

int sy_interference_read(const char *path, struct sy_interference **ret_table,
                         struct sy_error *error) {
    char *text = NULL;
    size_t length;
    int code = sy_read_file(path, &text, &length, error);
    code = code ? code : sy_interference_read_text(path, text, length, ret_table, error);
    free(text);
    return code;
}

void sy_interference_destroy(struct sy_interference *table) {
    if (table) {
        free(table->names);
        sy_arena_destroy(table->arena);
        free(table);
    }
}
