/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads repeated timings of one kernel: the empirical shape of timing noise.
 *
 * In: lines "Size,runIndex,time". Out: all times divided by the median of their size, sorted. The
 * first run of each size warms up caches and clocks and is dropped. Where several times are given
 * (on the GPU, and as seen by the host) the first is taken.
 */
#include "base/csv.h"
#include "sim/tables.h"
#include <stdlib.h>

#define RUNS_MAX 50000000u

struct timing {
    double size, time_us;
    uint32_t order; /* in the file */
};

struct timings {
    struct timing *runs;
    uint32_t count, capacity;
};

static int read_header(struct sy_csv *csv) {
    static const char *const names[] = {"Size", "runIndex"};
    if (!sy_csv_next_line(csv)) {
        csv->line = csv->column = 1;
        return sy_csv_fail(csv, "the file is empty");
    }
    for (size_t i = 0; i < SY_COUNT(names); i++) {
        int code = sy_csv_field(csv, names[i]);
        if (!code && !sy_csv_is(csv, names[i])) {
            code = sy_csv_fail(csv, "expected column \"%s\"", names[i]);
        }
        if (code) {
            sy_hint(csv->error, "the first line must be Size,runIndex,time(us)");
            return code;
        }
    }
    return sy_csv_field(csv, "a column of times");
}

static int read_run(struct sy_csv *csv, struct timings *timings) {
    struct timing run = {.order = timings->count};
    uint64_t index;
    int code = sy_csv_number(csv, "Size", 0, 1e15, &run.size);
    code = code ? code : sy_csv_u64(csv, "runIndex", &index);
    code = code ? code : sy_csv_number(csv, "time", 1e-9, 1e15, &run.time_us);
    while (!code && csv->more) {
        code = sy_csv_field(csv, "a field");
    }
    if (code) {
        return code;
    }
    if (timings->count == RUNS_MAX) {
        return sy_csv_fail(csv, "more than %u runs", RUNS_MAX);
    }
    return sy_append(&timings->runs, &timings->capacity, &timings->count, &run, sizeof run)
               ? sy_out_of_memory(csv->error)
               : 0;
}

static int by_size(const void *a, const void *b) {
    const struct timing *x = a, *y = b;
    int order = SY_ORDER(x->size, y->size);
    return order ? order : SY_ORDER(x->order, y->order);
}

/* runs[0..count) are of one size, in file order. Returns how many ratios were written. */
static uint32_t pool_size(const struct timing *runs, uint32_t count, double *ratio) {
    for (uint32_t i = 1; i < count; i++) {
        ratio[i - 1] = runs[i].time_us;
    }
    double median = sy_quantile(ratio, count - 1, 0.5);
    for (uint32_t i = 1; i < count; i++) {
        ratio[i - 1] /= median;
    }
    return count - 1;
}

static uint32_t pool(struct timings *timings, double *ratio) {
    uint32_t pooled = 0;
    qsort(timings->runs, timings->count, sizeof *timings->runs, by_size);
    for (uint32_t start = 0, end; start < timings->count; start = end) {
        for (end = start + 1;
             end < timings->count && timings->runs[end].size == timings->runs[start].size; end++) {
        }
        pooled += pool_size(timings->runs + start, end - start, ratio + pooled);
    }
    sy_sort(ratio, pooled);
    return pooled;
}

static int make_table(struct sy_csv *csv, struct timings *timings,
                      struct sy_noise_table *ret_table) {
    double *ratio = malloc(((size_t)timings->count + 1) * sizeof *ratio);
    if (!ratio) {
        return sy_out_of_memory(csv->error);
    }
    uint32_t count = timings->count ? pool(timings, ratio) : 0;
    if (count == 0) {
        free(ratio);
        return sy_csv_fail(csv, "no run is left after the first of each size");
    }
    *ret_table = (struct sy_noise_table){.ratio = ratio, .count = count};
    return 0;
}

int sy_noise_read_text(const char *name, const char *text, size_t length,
                       struct sy_noise_table *ret_table, struct sy_error *error) {
    struct sy_csv csv;
    struct timings timings = {0};
    sy_csv_init(&csv, name, text, length, error);
    int code = read_header(&csv);
    while (!code && sy_csv_next_line(&csv)) {
        code = read_run(&csv, &timings);
    }
    code = code ? code : make_table(&csv, &timings, ret_table);
    free(timings.runs);
    return code;
}

int sy_noise_read(const char *path, struct sy_noise_table *ret_table, struct sy_error *error) {
    char *text = NULL;
    size_t length;
    int code = sy_read_file(path, &text, &length, error);
    code = code ? code : sy_noise_read_text(path, text, length, ret_table, error);
    free(text);
    return code;
}

void sy_noise_finish(struct sy_noise_table *table) {
    free(table->ratio);
    *table = (struct sy_noise_table){0};
}
