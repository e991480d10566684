/* SPDX-License-Identifier: Apache-2.0
 *
 * Generators: tiled factorizations, FFT and Gaussian elimination, with real tiles as data.
 *
 * Work is counted in floating-point operations, by the same formulas as StarPU's models, so that
 * measured models keyed by flops apply. The default times are those of tiles of 960 in double
 * precision on a Westmere core and a Fermi GPU: published for potrf, trsm, syrk and gemm, scaled
 * from their ratios for the rest.
 */
#include "graph/internal.h"
#include <math.h>

/* The kernels of the three factorizations, by index. */
enum { POTRF, TRSM, SYRK, GEMM };
enum { LU_GETRF, LU_TRSM, LU_GEMM };
enum { GEQRT, ORMQR, TSQRT, TSMQR };

#define POTRF_KERNEL                                                                               \
    { "potrf", NULL, 0.06382, 0.01853, 0, 0.039, 3e9, 0, 0 }
#define TRSM_KERNEL                                                                                \
    { "trsm", NULL, 0.05154, 0.00723, 0, 0.03, 3e9, 0, 0 }
#define SYRK_KERNEL                                                                                \
    { "syrk", NULL, 0.04956, 0.001592, 0, 0.02, 2e9, 0, 0 }
#define GEMM_KERNEL                                                                                \
    { "gemm", NULL, 0.04961, 0.001594, 0, 0.02, 2e9, 0, 0 }

static double cube(double x) {
    return x * x * x;
}

/* Tiles named letter(i,j), row by row; below_only leaves out those above the diagonal. */
static void add_tiles(struct sy_graph *graph, char letter, uint32_t n, double tile,
                      bool below_only) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < (below_only ? i + 1 : n); j++) {
            sy_generator_data(graph, 8 * tile * tile, "%c(%u,%u)", letter, i, j);
        }
    }
}

/* --- Cholesky --------------------------------------------------------------------------------- */

static uint32_t below(uint32_t i, uint32_t j) {
    return i * (i + 1) / 2 + j;
}

static void cholesky_row(struct sy_graph *graph, uint32_t k, uint32_t i, double tile) {
    sy_generator_task(graph, SYRK, cube(tile) + tile * tile,
                      ACCESSES(READ(below(i, k)), UPDATE(below(i, i))), "syrk(%u,%u)", i, k);
    for (uint32_t j = k + 1; j < i; j++) {
        sy_generator_task(graph, GEMM, 2 * cube(tile),
                          ACCESSES(READ(below(i, k)), READ(below(j, k)), UPDATE(below(i, j))),
                          "gemm(%u,%u,%u)", i, j, k);
    }
}

static void cholesky_step(struct sy_graph *graph, uint32_t k, uint32_t n, double tile) {
    sy_generator_task(graph, POTRF, cube(tile) / 3 + tile * tile / 2 + tile / 6,
                      ACCESSES(UPDATE(below(k, k))), "potrf(%u)", k);
    for (uint32_t i = k + 1; i < n; i++) {
        sy_generator_task(graph, TRSM, cube(tile) + tile * tile,
                          ACCESSES(READ(below(k, k)), UPDATE(below(i, k))), "trsm(%u,%u)", i, k);
    }
    for (uint32_t i = k + 1; i < n; i++) {
        cholesky_row(graph, k, i, tile);
    }
}

static void cholesky(struct sy_graph *graph, const double *values) {
    static const struct sy_generator_kernel kernels[] = {POTRF_KERNEL, TRSM_KERNEL, SYRK_KERNEL,
                                                         GEMM_KERNEL};
    uint32_t n = (uint32_t)values[0];
    sy_generator_kernels(graph, kernels, SY_COUNT(kernels));
    add_tiles(graph, 'A', n, values[1], true);
    for (uint32_t k = 0; k < n; k++) {
        cholesky_step(graph, k, n, values[1]);
    }
}

static double cholesky_size(const double *values) {
    return 4 * cube(values[0]) / 6 + values[0] * values[0];
}

/* --- LU without pivoting ---------------------------------------------------------------------- */

static void lu_step(struct sy_graph *graph, uint32_t k, uint32_t n, double tile) {
    double trsm = cube(tile) + tile * tile;
    sy_generator_task(graph, LU_GETRF, 2 * cube(tile) / 3, ACCESSES(UPDATE(k * n + k)), "getrf(%u)",
                      k);
    for (uint32_t i = k + 1; i < n; i++) {
        sy_generator_task(graph, LU_TRSM, trsm, ACCESSES(READ(k * n + k), UPDATE(i * n + k)),
                          "trsm(%u,%u)", i, k);
        sy_generator_task(graph, LU_TRSM, trsm, ACCESSES(READ(k * n + k), UPDATE(k * n + i)),
                          "trsm(%u,%u)", k, i);
    }
    for (uint32_t at = 0, m = n - k - 1; at < m * m; at++) {
        uint32_t i = k + 1 + at / m, j = k + 1 + at % m;
        sy_generator_task(graph, LU_GEMM, 2 * cube(tile),
                          ACCESSES(READ(i * n + k), READ(k * n + j), UPDATE(i * n + j)),
                          "gemm(%u,%u,%u)", i, j, k);
    }
}

static void lu(struct sy_graph *graph, const double *values) {
    static const struct sy_generator_kernel kernels[] = {
        {"getrf", NULL, 0.0694, 0.0279, 0, 0.04, 3e9, 0, 0}, TRSM_KERNEL, GEMM_KERNEL};
    uint32_t n = (uint32_t)values[0];
    sy_generator_kernels(graph, kernels, SY_COUNT(kernels));
    add_tiles(graph, 'A', n, values[1], false);
    for (uint32_t k = 0; k < n; k++) {
        lu_step(graph, k, n, values[1]);
    }
}

static double square_size(const double *values) {
    return 4 * cube(values[0]) / 3 + 2 * values[0] * values[0];
}

/* --- QR: flat tree ---------------------------------------------------------------------------- */

/* The reflectors of step k live in V(k): they are read while tsqrt already changes A(k,k). */
static void qr_row(struct sy_graph *graph, uint32_t k, uint32_t i, uint32_t n, double tile) {
    sy_generator_task(graph, TSQRT, 2 * cube(tile), ACCESSES(UPDATE(k * n + k), UPDATE(i * n + k)),
                      "tsqrt(%u,%u)", i, k);
    for (uint32_t j = k + 1; j < n; j++) {
        sy_generator_task(graph, TSMQR, 4 * cube(tile),
                          ACCESSES(READ(i * n + k), UPDATE(k * n + j), UPDATE(i * n + j)),
                          "tsmqr(%u,%u,%u)", i, j, k);
    }
}

static void qr_step(struct sy_graph *graph, uint32_t k, uint32_t n, double tile) {
    uint32_t reflectors = n * n + k;
    sy_generator_task(graph, GEQRT, 4 * cube(tile) / 3,
                      ACCESSES(UPDATE(k * n + k), WRITE(reflectors)), "geqrt(%u)", k);
    for (uint32_t j = k + 1; j < n; j++) {
        sy_generator_task(graph, ORMQR, 2 * cube(tile),
                          ACCESSES(READ(reflectors), UPDATE(k * n + j)), "ormqr(%u,%u)", k, j);
    }
    for (uint32_t i = k + 1; i < n; i++) {
        qr_row(graph, k, i, n, tile);
    }
}

static void qr(struct sy_graph *graph, const double *values) {
    static const struct sy_generator_kernel kernels[] = {
        {"geqrt", NULL, 0.0496, 0.01857, 0, 0.04, 3e9, 0, 0},
        {"ormqr", NULL, 0.0529, 0.00464, 0, 0.03, 3e9, 0, 0},
        {"tsqrt", NULL, 0.0413, 0.0139, 0, 0.04, 4e9, 0, 0},
        {"tsmqr", NULL, 0.0413, 0.00271, 0, 0.02, 3e9, 0, 0}};
    uint32_t n = (uint32_t)values[0];
    double tile = values[1];
    sy_generator_kernels(graph, kernels, SY_COUNT(kernels));
    add_tiles(graph, 'A', n, tile, false);
    for (uint32_t k = 0; k < n; k++) {
        sy_generator_data(graph, 8 * tile * tile, "V(%u)", k);
    }
    for (uint32_t k = 0; k < n; k++) {
        qr_step(graph, k, n, tile);
    }
}

/* --- FFT -------------------------------------------------------------------------------------- */

static void fft(struct sy_graph *graph, const double *values) {
    static const struct sy_generator_kernel kernels[] = {
        {"fft", NULL, 0.4, 0.02, 0.05, 0.03, 6e9, 0, 2e9},
        {"butterfly", NULL, 0.6, 0.03, 0.08, 0.03, 10e9, 0, 4e9}};
    uint32_t levels = (uint32_t)values[0], blocks = 1u << levels;
    double points = values[1], bytes = 16 * points;
    sy_generator_kernels(graph, kernels, SY_COUNT(kernels));
    for (uint32_t at = 0; at < blocks * (levels + 1); at++) {
        sy_generator_data(graph, bytes, "X(%u,%u)", at / blocks, at % blocks);
    }
    for (uint32_t b = 0; b < blocks; b++) {
        sy_generator_task(graph, 0, 5 * points * log2(points), ACCESSES(UPDATE(b)), "fft(%u)", b);
    }
    for (uint32_t at = blocks; at < blocks * (levels + 1); at++) {
        uint32_t level = at / blocks, b = at % blocks, before = (level - 1) * blocks;
        sy_generator_task(
            graph, 1, 10 * points,
            ACCESSES(READ(before + b), READ(before + (b ^ 1u << (level - 1))), WRITE(at)),
            "butterfly(%u,%u)", level, b);
    }
}

static double fft_size(const double *values) {
    return exp2(values[0]) * (values[0] + 1) * 4;
}

/* --- Gaussian elimination -----------------------------------------------------------------------
 */

static void gauss(struct sy_graph *graph, const double *values) {
    static const struct sy_generator_kernel kernels[] = {
        {"pivot", NULL, 0.0694, 0.0279, 0, 0.04, 3e9, 0, 0},
        {"update", NULL, 0.0496, 0.0016, 0, 0.02, 3e9, 0, 0}};
    uint32_t n = (uint32_t)values[0];
    double tile = values[1];
    sy_generator_kernels(graph, kernels, SY_COUNT(kernels));
    for (uint32_t j = 0; j < n; j++) {
        sy_generator_data(graph, 8 * tile * tile * n, "column(%u)", j);
    }
    for (uint32_t k = 0; k + 1 < n; k++) {
        sy_generator_task(graph, 0, cube(tile) * (n - k), ACCESSES(UPDATE(k)), "pivot(%u)", k);
        for (uint32_t j = k + 1; j < n; j++) {
            sy_generator_task(graph, 1, 2 * cube(tile) * (n - k), ACCESSES(READ(k), UPDATE(j)),
                              "update(%u,%u)", k, j);
        }
    }
}

static double gauss_size(const double *values) {
    return 2 * values[0] * values[0];
}

#define TILES WHOLE("tiles", 10, 1, 1000)
#define TILE  WHOLE("tile", 960, 1, 100000)

const struct sy_generator sy_generators_linalg[] = {
    GENERATOR(cholesky, cholesky_size, "cholesky:TILES[,tile=960]  tiled Cholesky factorization",
              TILES, TILE),
    GENERATOR(lu, square_size, "lu:TILES[,tile=960]  tiled LU factorization without pivoting",
              TILES, TILE),
    GENERATOR(qr, square_size, "qr:TILES[,tile=960]  tiled QR factorization, flat tree", TILES,
              TILE),
    GENERATOR(fft, fft_size, "fft:LEVELS[,points=65536]  butterfly over 2^LEVELS blocks of points",
              WHOLE("levels", 4, 1, 24), WHOLE("points", 65536, 2, 1e9)),
    GENERATOR(gauss, gauss_size, "gauss:COLUMNS[,tile=960]  Gaussian elimination by block columns",
              WHOLE("columns", 10, 2, 10000), TILE),
    {0},
};
