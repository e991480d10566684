/* SPDX-License-Identifier: Apache-2.0
 *
 * The task graphs of the factorizations and of the product.
 *
 * In: size and tile. Out: a sealed graph; the order of data is in linalg.h. Same shape as the
 * generators of the graph room, which know no meaning and hence share names that differ here. The
 * default times are only a first guess, until measured ones replace them.
 */
#include "linalg.h"
#include <stdarg.h>
#include <stdio.h>

/* ns per flop of a core and of a GPU, and bytes/s at full speed. */
static const struct {
    double cpu_ns, gpu_ns;
} guesses[LINALG_KERNEL_COUNT] = {
    [LINALG_POTRF] = {0.06, 0.005},       [LINALG_TRSM] = {0.04, 0.0003},
    [LINALG_SYRK] = {0.04, 0.0002},       [LINALG_GEMM] = {0.03, 0.00005},
    [LINALG_GETRF] = {0.06, 0.005},       [LINALG_TRSM_LOWER] = {0.04, 0.0003},
    [LINALG_TRSM_UPPER] = {0.04, 0.0003}, [LINALG_GEMM_NN] = {0.03, 0.00005},
    [LINALG_GEQRT] = {0.1, 0.005},        [LINALG_ORMQR] = {0.04, 0.0005},
    [LINALG_TSQRT] = {0.1, 0.005},        [LINALG_TSMQR] = {0.04, 0.0003},
};

/* A graph under construction. After the first failure the rest does nothing. */
struct sketch {
    struct sy_graph *graph;
    const struct linalg_problem *problem;
    uint32_t kernels[LINALG_KERNEL_COUNT]; /* index in the graph */
    int code;
};

static void add_kernel(struct sketch *sketch, enum linalg_kernel kernel) {
    struct sy_kernel_desc desc = {.name = linalg_names[kernel]};
    sy_kernel_id id = {0};
    desc.variants[SY_CPU] = (struct sy_variant){.present = true,
                                                .ns_per_work = guesses[kernel].cpu_ns,
                                                .log_sigma = 0.05,
                                                .demand_bytes_per_s = 3e9};
    desc.variants[SY_GPU] = (struct sy_variant){.present = true,
                                                .fixed_ns = 5000,
                                                .ns_per_work = guesses[kernel].gpu_ns,
                                                .log_sigma = 0.05};
    sketch->code = sketch->code ? sketch->code : sy_graph_add_kernel(sketch->graph, &desc, &id);
    sketch->kernels[kernel] = id.index;
}

__attribute__((format(printf, 2, 3))) static void add_tile(struct sketch *sketch,
                                                           const char *format, ...) {
    char name[40];
    double side = sketch->problem->tile;
    sy_data_id id;
    va_list list;
    va_start(list, format);
    vsnprintf(name, sizeof(name), format, list);
    va_end(list);
    sketch->code =
        sketch->code ? sketch->code : sy_graph_add_data(sketch->graph, name, 8 * side * side, &id);
}

static void add_tiles(struct sketch *sketch, char letter) {
    uint32_t t = sketch->problem->tiles;
    for (uint32_t at = 0; at < t * t; at++) {
        add_tile(sketch, "%c(%u,%u)", letter, at / t, at % t);
    }
}

#define R(datum)                                                                                   \
    { datum, SY_READ }
#define W(datum)                                                                                   \
    { datum, SY_WRITE }
#define RW(datum)                                                                                  \
    { datum, SY_READ_WRITE }
/* The accesses of one task, their number with them. */
#define ACCESSES(...)                                                                              \
    (const struct sy_access[]){__VA_ARGS__},                                                       \
        sizeof((const struct sy_access[]){__VA_ARGS__}) / sizeof(struct sy_access)

__attribute__((format(printf, 5, 6))) static void add_task(struct sketch *sketch,
                                                           enum linalg_kernel kernel,
                                                           const struct sy_access *accesses,
                                                           size_t count, const char *format, ...) {
    char name[64];
    sy_task_id id;
    va_list list;
    va_start(list, format);
    vsnprintf(name, sizeof(name), format, list);
    va_end(list);
    struct sy_task_desc desc = {.name = name,
                                .kernel = {sketch->kernels[kernel]},
                                .work = linalg_flops(kernel, sketch->problem->tile),
                                .accesses = accesses,
                                .access_count = (uint32_t)count};
    sketch->code = sketch->code ? sketch->code : sy_graph_add_task(sketch->graph, &desc, &id);
}

static void cholesky(struct sketch *sketch) {
    uint32_t t = sketch->problem->tiles;
    for (uint32_t kernel = LINALG_POTRF; kernel <= LINALG_GEMM; kernel++) {
        add_kernel(sketch, kernel);
    }
    for (uint32_t i = 0; i < t; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            add_tile(sketch, "A(%u,%u)", i, j);
        }
    }
    for (uint32_t k = 0; k < t; k++) {
        uint32_t diagonal = linalg_below(k, k);
        add_task(sketch, LINALG_POTRF, ACCESSES(RW(diagonal)), "potrf(%u)", k);
        for (uint32_t i = k + 1; i < t; i++) {
            add_task(sketch, LINALG_TRSM, ACCESSES(R(diagonal), RW(linalg_below(i, k))),
                     "trsm(%u,%u)", i, k);
        }
        for (uint32_t i = k + 1; i < t; i++) {
            uint32_t left = linalg_below(i, k);
            add_task(sketch, LINALG_SYRK, ACCESSES(R(left), RW(linalg_below(i, i))), "syrk(%u,%u)",
                     i, k);
            for (uint32_t j = k + 1; j < i; j++) {
                add_task(sketch, LINALG_GEMM,
                         ACCESSES(R(left), R(linalg_below(j, k)), RW(linalg_below(i, j))),
                         "gemm(%u,%u,%u)", i, j, k);
            }
        }
    }
}

static void lu(struct sketch *sketch) {
    uint32_t t = sketch->problem->tiles;
    for (uint32_t kernel = LINALG_GETRF; kernel <= LINALG_GEMM_NN; kernel++) {
        add_kernel(sketch, kernel);
    }
    add_tiles(sketch, 'A');
    for (uint32_t k = 0; k < t; k++) {
        uint32_t diagonal = k * t + k;
        add_task(sketch, LINALG_GETRF, ACCESSES(RW(diagonal)), "getrf(%u)", k);
        for (uint32_t i = k + 1; i < t; i++) {
            add_task(sketch, LINALG_TRSM_UPPER, ACCESSES(R(diagonal), RW(i * t + k)),
                     "trsm_upper(%u,%u)", i, k);
            add_task(sketch, LINALG_TRSM_LOWER, ACCESSES(R(diagonal), RW(k * t + i)),
                     "trsm_lower(%u,%u)", k, i);
        }
        for (uint32_t i = k + 1; i < t; i++) {
            for (uint32_t j = k + 1; j < t; j++) {
                add_task(sketch, LINALG_GEMM_NN,
                         ACCESSES(R(i * t + k), R(k * t + j), RW(i * t + j)), "gemm_nn(%u,%u,%u)",
                         i, j, k);
            }
        }
    }
}

static void qr(struct sketch *sketch) {
    uint32_t t = sketch->problem->tiles;
    for (uint32_t kernel = LINALG_GEQRT; kernel <= LINALG_TSMQR; kernel++) {
        add_kernel(sketch, kernel);
    }
    add_tiles(sketch, 'A');
    for (uint32_t k = 0; k < t; k++) {
        add_tile(sketch, "V(%u)", k);
    }
    for (uint32_t k = 0; k < t; k++) {
        uint32_t diagonal = k * t + k, reflectors = t * t + k;
        add_task(sketch, LINALG_GEQRT, ACCESSES(RW(diagonal), W(reflectors)), "geqrt(%u)", k);
        for (uint32_t j = k + 1; j < t; j++) {
            add_task(sketch, LINALG_ORMQR, ACCESSES(R(reflectors), RW(k * t + j)), "ormqr(%u,%u)",
                     k, j);
        }
        for (uint32_t i = k + 1; i < t; i++) {
            add_task(sketch, LINALG_TSQRT, ACCESSES(RW(diagonal), RW(i * t + k)), "tsqrt(%u,%u)", i,
                     k);
            for (uint32_t j = k + 1; j < t; j++) {
                add_task(sketch, LINALG_TSMQR, ACCESSES(R(i * t + k), RW(k * t + j), RW(i * t + j)),
                         "tsmqr(%u,%u,%u)", i, j, k);
            }
        }
    }
}

static void product(struct sketch *sketch) {
    uint32_t t = sketch->problem->tiles, square = t * t;
    add_kernel(sketch, LINALG_GEMM_NN);
    add_tiles(sketch, 'A');
    add_tiles(sketch, 'B');
    add_tiles(sketch, 'C');
    for (uint32_t at = 0; at < square * t; at++) {
        uint32_t i = at / square, j = at / t % t, k = at % t;
        add_task(sketch, LINALG_GEMM_NN,
                 ACCESSES(R(i * t + k), R(square + k * t + j), RW(2 * square + i * t + j)),
                 "gemm_nn(%u,%u,%u)", i, j, k);
    }
}

int linalg_build(const struct linalg_problem *problem, struct sy_graph **ret_graph,
                 struct sy_error *error) {
    static void (*const draw[])(struct sketch *) = {cholesky, lu, qr, product};
    static const char *const names[] = {"cholesky", "lu", "qr", "gemm"};
    char name[64];
    snprintf(name, sizeof(name), "%s:n=%u,tile=%u", names[problem->kind], problem->n,
             problem->tile);
    struct sketch sketch = {.graph = sy_graph_create(name, false), .problem = problem};
    int code = -1;
    if (sketch.graph) {
        draw[problem->kind](&sketch);
        code = sketch.code;
    }
    if (code) {
        sy_graph_destroy(sketch.graph);
        return guest_fail(error, code, "a larger tile= makes fewer tasks",
                          "%s: the graph could not be built", name);
    }
    code = sy_graph_seal(sketch.graph, error);
    if (code) {
        sy_graph_destroy(sketch.graph);
        return code;
    }
    *ret_graph = sketch.graph;
    return 0;
}
