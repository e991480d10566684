/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the kernels.csv of a recorded machine: one line per kernel, architecture and size, and
 * several for the same size where the machine has several unequal devices of that architecture.
 *
 * Recorded kernels are named after program and routine (chol_model_gemm,
 * starpu_dlu_lu_model_getrf); graphs name the routine alone. Each kernel is therefore also found by
 * its routine: the part after the last '_', once the library and side that some programs append are
 * cut off, or the meaning of the block numbers that older programs use instead of names. The first
 * kernel of the file that offers a routine keeps it.
 */
#include "base/csv.h"
#include "cost/store.h"
#include <errno.h>
#include <math.h>
#include <string.h>

static const char *const columns[] = {"kernel",  "arch",      "bytes",  "flops",
                                      "mean_us", "stddev_us", "samples"};

/* Appended to a routine without changing it. */
static const char *const endings[] = {"_atlas", "_goto", "_mkl", "_openblas", "_ll", "_ru"};

static const struct {
    const char *recorded, *routine;
} numbered[] = {
    {"chol_model_11", "potrf"},         {"chol_model_21", "trsm"},
    {"chol_model_22", "gemm"},          {"starpu_slu_lu_model_11", "getrf"},
    {"starpu_slu_lu_model_12", "trsm"}, {"starpu_slu_lu_model_21", "trsm"},
    {"starpu_slu_lu_model_22", "gemm"}, {"starpu_dlu_lu_model_11", "getrf"},
    {"starpu_dlu_lu_model_12", "trsm"}, {"starpu_dlu_lu_model_21", "trsm"},
    {"starpu_dlu_lu_model_22", "gemm"},
};

static const struct {
    const char *arch, *class_name;
} classes[] = {{"cuda", "gpu"}, {"opencl", "gpu"}, {"hip", "gpu"}};

/* Operations of a routine on n x n tiles, and how many tiles it touches. */
static const struct {
    const char *name;
    double tiles, flops_per_cube;
} routines[] = {{"gemm", 3, 2.0},
                {"getrf", 1, 2.0 / 3},
                {"potrf", 1, 1.0 / 3},
                {"syrk", 2, 1.0},
                {"trsm", 2, 1.0}};

static bool begins(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_double(const char *kernel) {
    return begins(kernel, "starpu_d");
}

/* 0 where the name does not tell the element size. */
static double implied_flops(const char *kernel, const char *routine, double bytes) {
    double element_bytes = begins(kernel, "starpu_slu_")   ? 4
                           : begins(kernel, "starpu_dlu_") ? 8
                                                           : 0;
    for (size_t i = 0; element_bytes > 0 && i < SY_COUNT(routines); i++) {
        if (strcmp(routine, routines[i].name) == 0) {
            double edge = sqrt(bytes / (element_bytes * routines[i].tiles));
            return routines[i].flops_per_cube * edge * edge * edge;
        }
    }
    return 0;
}

static const char *class_of(const char *arch) {
    for (size_t i = 0; i < SY_COUNT(classes); i++) {
        if (strcmp(classes[i].arch, arch) == 0) {
            return classes[i].class_name;
        }
    }
    return arch;
}

static void cut_endings(char *name) {
    for (size_t i = 0; i < SY_COUNT(endings); i++) {
        size_t length = strlen(name), ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0) {
            name[length - ending] = '\0';
        }
    }
}

/* Changes name; the result lies in it or is constant. */
static const char *routine_of(char *name) {
    cut_endings(name);
    for (size_t i = 0; i < SY_COUNT(numbered); i++) {
        if (strcmp(name, numbered[i].recorded) == 0) {
            return numbered[i].routine;
        }
    }
    const char *last = strrchr(name, '_');
    return last && last[1] ? last + 1 : name;
}

struct row {
    const char *kernel, *arch;
    double bytes, flops, mean_us, stddev_us;
    uint64_t samples;
};

static int read_row(struct sy_csv *csv, struct sy_arena *scratch, struct row *ret_row) {
    struct row row;
    int code = sy_csv_name(csv, "kernel", scratch, &row.kernel);
    code = code ? code : sy_csv_name(csv, "arch", scratch, &row.arch);
    code = code ? code : sy_csv_number(csv, "bytes", 0, 1e18, &row.bytes);
    code = code ? code : sy_csv_number(csv, "flops", 0, 1e24, &row.flops);
    code = code ? code : sy_csv_number(csv, "mean_us", 1e-9, 1e12, &row.mean_us);
    code = code ? code : sy_csv_number(csv, "stddev_us", 0, 1e12, &row.stddev_us);
    code = code ? code : sy_csv_u64(csv, "samples", &row.samples);
    code = code ? code : sy_csv_end_line(csv);
    if (!code) {
        *ret_row = row;
    }
    return code;
}

static int add_row(struct sy_store *store, struct sy_arena *scratch, const struct row *row,
                   bool aliases_only) {
    char *copy = sy_arena_strdup(scratch, row->kernel);
    if (!copy) {
        return -ENOMEM;
    }
    const char *routine = routine_of(copy);
    double flops = row->flops > 0 ? row->flops : implied_flops(row->kernel, routine, row->bytes);
    int code = 0;
    if (!aliases_only) {
        struct sy_cell *cell =
            sy_store_cell(store, row->kernel, class_of(row->arch), row->bytes, flops, 0);
        code =
            cell ? sy_cell_give(store, cell, row->mean_us * 1e3, row->stddev_us * 1e3, row->samples)
                 : -ENOMEM;
    }
    if (!code && is_double(row->kernel) == aliases_only) {
        code = sy_store_add_alias(store, routine, row->kernel);
    }
    return code;
}

static int read_rows(struct sy_csv csv, struct sy_arena *scratch, struct sy_store *store,
                     bool aliases_only) {
    int code = sy_csv_header(&csv, columns, SY_COUNT(columns));
    while (!code && sy_csv_next_line(&csv)) {
        struct row row;
        code = read_row(&csv, scratch, &row);
        if (!code && add_row(store, scratch, &row, aliases_only)) {
            code = sy_out_of_memory(csv.error);
        }
    }
    return code;
}

/* No other table has an architecture. */
bool sy_is_recorded(const char *text, size_t length) {
    struct sy_csv csv;
    bool found = false;
    sy_csv_init(&csv, "", text, length, NULL);
    for (bool more = sy_csv_next_line(&csv); more && csv.more && !found;) {
        more = sy_csv_field(&csv, "") == 0;
        found = more && sy_csv_is(&csv, columns[1]);
    }
    return found;
}

int sy_store_read_recorded(struct sy_store *store, const char *name, const char *text,
                           size_t length, struct sy_error *error) {
    struct sy_arena *scratch = sy_arena_create();
    if (!scratch) {
        return sy_out_of_memory(error);
    }
    struct sy_csv csv;
    sy_csv_init(&csv, name, text, length, error);
    int code = read_rows(csv, scratch, store, false);
    code = code ? code : read_rows(csv, scratch, store, true);
    sy_arena_destroy(scratch);
    return code;
}
