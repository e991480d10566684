/* SPDX-License-Identifier: Apache-2.0
 *
 * What the matrices hold before a run, and whether the result is right.
 *
 * Every matrix is noise in [-0.5, 0.5) plus n on the diagonal: dominant by rows and columns, so
 * that no factorization needs pivots and all are well conditioned. Each tile follows from seed and
 * place. Up to LINALG_LAPACK_MAX the result is compared, element by element, with LAPACK's on the
 * whole matrix (Frobenius norm; R up to the signs of its rows). Beyond, where that would take
 * longer than the run, both sides are multiplied by random vectors (Freivalds): O(n^2), and a wrong
 * element shows with probability 1 but for rounding.
 */
#include "lapack.h"
#include "linalg.h"
#include <cblas.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VECTORS = 4 };
static const double TOLERANCE = 1e-10;

/* --- values ----------------------------------------------------------------------------------- */

/* Tile (i, j) of matrix which (0: A, 1: B, 2: C) as it is before the run. */
static void fill_tile(const struct linalg_problem *problem, uint32_t which, uint32_t i, uint32_t j,
                      double *tile) {
    uint64_t n = problem->n, side = problem->tile, top = i * side, left = j * side;
    uint64_t seed = problem->seed * 3 + which;
    bool symmetric = problem->kind == LINALG_CHOLESKY;
    for (uint64_t c = 0; c < side; c++) {
        double *to = tile + c * side;
        uint64_t column = left + c;
        for (uint64_t r = 0; r < side; r++) {
            uint64_t row = top + r;
            bool swap = symmetric && row < column;
            to[r] = guest_noise(seed, swap ? row * n + column : column * n + row) - 0.5;
        }
        if (column >= top && column < top + side) {
            to[column - top] += (double)n;
        }
    }
}

int linalg_fill(void *state, uint32_t datum, void *pointer, uint64_t bytes) {
    const struct linalg_problem *problem = state;
    uint64_t side = problem->tile;
    uint32_t t = problem->tiles, square = t * t, i = datum % square / t, j = datum % t;
    if (bytes != 8 * side * side) {
        return -EINVAL;
    }
    if (problem->kind == LINALG_CHOLESKY) {
        for (i = 0; linalg_below(i + 1, 0) <= datum;) {
            i++;
        }
        j = datum - linalg_below(i, 0);
    } else if (problem->kind == LINALG_QR && datum >= square) {
        memset(pointer, 0, bytes); /* reflectors: some task writes them first */
        return 0;
    }
    uint32_t which = problem->kind == LINALG_PRODUCT ? datum / square : 0;
    fill_tile(problem, which, i, j, pointer);
    return 0;
}

/* --- comparison with LAPACK ------------------------------------------------------------------- */

/* A whole matrix, column by column. */
static double *whole(const struct linalg_problem *problem, uint32_t which, double *scratch) {
    size_t n = problem->n, side = problem->tile;
    double *matrix = malloc(n * n * sizeof(double));
    for (uint32_t at = 0; matrix && at < problem->tiles * problem->tiles; at++) {
        uint32_t i = at / problem->tiles, j = at % problem->tiles;
        fill_tile(problem, which, i, j, scratch);
        for (size_t c = 0; c < side; c++) {
            memcpy(matrix + (j * side + c) * n + i * side, scratch + c * side,
                   side * sizeof(double));
        }
    }
    return matrix;
}

/* C0 - A B. NULL when out of memory. */
static double *reference_product(const struct linalg_problem *problem, double *scratch) {
    int n = (int)problem->n;
    double *a = whole(problem, 0, scratch), *b = whole(problem, 1, scratch);
    double *result = a && b ? whole(problem, 2, scratch) : NULL;
    if (result) {
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, -1, a, n, b, n, 1, result,
                    n);
    }
    free(a);
    free(b);
    return result;
}

/* What the run should have computed, by LAPACK on the whole matrix. NULL when out of memory. */
static double *reference(const struct linalg_problem *problem, double *scratch) {
    int n = (int)problem->n, info = 0, work_count = 64 * n;
    if (problem->kind == LINALG_PRODUCT) {
        return reference_product(problem, scratch);
    }
    double *work = malloc((size_t)(n + work_count) * sizeof(double)); /* tau or pivots, work */
    double *result = work ? whole(problem, 0, scratch) : NULL;
    if (result && problem->kind == LINALG_CHOLESKY) {
        dpotrf_("L", &n, result, &n, &info, 1);
    } else if (result && problem->kind == LINALG_LU) {
        dgetrf_(&n, &n, result, &n, (int *)(void *)work, &info);
    } else if (result) {
        dgeqrf_(&n, &n, result, &n, work, work + n, &work_count, &info);
    }
    free(work);
    return result;
}

/* Tile (i, j) of the result. */
static const double *result_tile(const struct linalg_problem *problem, void *const *data,
                                 uint32_t i, uint32_t j) {
    uint32_t t = problem->tiles;
    switch (problem->kind) {
    case LINALG_CHOLESKY:
        return data[linalg_below(i, j)];
    case LINALG_PRODUCT:
        return data[2 * t * t + i * t + j];
    case LINALG_LU:
    case LINALG_QR:
        break;
    }
    return data[i * t + j];
}

/* Element by element, where the result is defined. */
static double compare(const struct linalg_problem *problem, void *const *data,
                      const double *expected) {
    uint64_t n = problem->n, side = problem->tile;
    double wrong = 0, norm = 0;
    for (uint64_t column = 0; column < n; column++) {
        uint64_t from = problem->kind == LINALG_CHOLESKY ? column : 0;
        uint64_t to = problem->kind == LINALG_QR ? column + 1 : n;
        for (uint64_t row = from; row < to; row++) {
            uint32_t i = (uint32_t)(row / side), j = (uint32_t)(column / side);
            uint32_t k = (uint32_t)(row % side);
            double want = expected[column * n + row];
            double got = result_tile(problem, data, i, j)[column % side * side + k];
            if (problem->kind == LINALG_QR) { /* R is unique but for the sign of each row */
                double diagonal = result_tile(problem, data, i, i)[k * side + k];
                got *= expected[row * n + row] * diagonal < 0 ? -1 : 1;
            }
            wrong += (got - want) * (got - want);
            norm += want * want;
        }
    }
    return sqrt(wrong / norm);
}

/* --- random vectors --------------------------------------------------------------------------- */

enum part { ALL, LOWER, UNIT_LOWER, UPPER };

/* y += op(part of the tile) x, on blocks of VECTORS columns. */
static void tile_times(const struct linalg_problem *problem, const double *tile, enum part part,
                       CBLAS_TRANSPOSE transpose, double sign, const double *x, double *y,
                       double *scratch) {
    int side = (int)problem->tile, n = (int)problem->n;
    size_t rows = problem->tile;
    for (size_t c = 0; part != ALL && c < rows; c++) {
        for (size_t r = 0; r < rows; r++) {
            bool inside = part == UPPER ? r <= c : r >= c;
            double value = inside ? tile[c * rows + r] : 0;
            scratch[c * rows + r] = part == UNIT_LOWER && r == c ? 1 : value;
        }
    }
    cblas_dgemm(CblasColMajor, transpose, CblasNoTrans, side, VECTORS, side, sign,
                part == ALL ? tile : scratch, side, x, n, 1, y, n);
}

/* y += op(A) x for matrix which as it was before the run. */
static void matrix_times(const struct linalg_problem *problem, uint32_t which,
                         CBLAS_TRANSPOSE transpose, double sign, const double *x, double *y,
                         double *scratch) {
    size_t side = problem->tile;
    for (uint32_t at = 0; at < problem->tiles * problem->tiles; at++) {
        uint32_t i = at / problem->tiles, j = at % problem->tiles;
        bool turned = transpose == CblasTrans;
        fill_tile(problem, which, i, j, scratch);
        tile_times(problem, scratch, ALL, transpose, sign, x + (turned ? i : j) * side,
                   y + (turned ? j : i) * side, NULL);
    }
}

/* y += op(T) x, T being the lower or upper triangle of the result's tiles. */
static void triangle_times(const struct linalg_problem *problem, void *const *data, enum part part,
                           CBLAS_TRANSPOSE transpose, const double *x, double *y, double *scratch) {
    size_t side = problem->tile;
    for (uint32_t at = 0; at < problem->tiles * problem->tiles; at++) {
        uint32_t i = at / problem->tiles, j = at % problem->tiles;
        bool turned = transpose == CblasTrans;
        if (part == ALL || i == j || (part == UPPER ? i < j : i > j)) {
            tile_times(problem, result_tile(problem, data, i, j), i == j ? part : ALL, transpose, 1,
                       x + (turned ? i : j) * side, y + (turned ? j : i) * side, scratch);
        }
    }
}

/* vectors: four blocks of n * VECTORS doubles, all but the first zero. */
static double residual(const struct linalg_problem *problem, void *const *data, double *vectors,
                       double *scratch) {
    size_t count = (size_t)problem->n * VECTORS;
    double *x = vectors, *middle = x + count, *got = middle + count, *want = got + count;
    for (size_t at = 0; at < count; at++) {
        x[at] = guest_noise(problem->seed ^ 0x5EEDu, at) - 0.5;
    }
    switch (problem->kind) {
    case LINALG_CHOLESKY: /* A x = L (L' x) */
        triangle_times(problem, data, LOWER, CblasTrans, x, middle, scratch);
        triangle_times(problem, data, LOWER, CblasNoTrans, middle, got, scratch);
        matrix_times(problem, 0, CblasNoTrans, 1, x, want, scratch);
        break;
    case LINALG_LU: /* A x = L (U x) */
        triangle_times(problem, data, UPPER, CblasNoTrans, x, middle, scratch);
        triangle_times(problem, data, UNIT_LOWER, CblasNoTrans, middle, got, scratch);
        matrix_times(problem, 0, CblasNoTrans, 1, x, want, scratch);
        break;
    case LINALG_QR: /* A' (A x) = R' (R x) */
        triangle_times(problem, data, UPPER, CblasNoTrans, x, middle, scratch);
        triangle_times(problem, data, UPPER, CblasTrans, middle, got, scratch);
        memset(middle, 0, count * sizeof(double));
        matrix_times(problem, 0, CblasNoTrans, 1, x, middle, scratch);
        matrix_times(problem, 0, CblasTrans, 1, middle, want, scratch);
        break;
    case LINALG_PRODUCT: /* C x = C0 x - A (B x) */
        triangle_times(problem, data, ALL, CblasNoTrans, x, got, scratch);
        matrix_times(problem, 2, CblasNoTrans, 1, x, want, scratch);
        matrix_times(problem, 1, CblasNoTrans, 1, x, middle, scratch);
        matrix_times(problem, 0, CblasNoTrans, -1, middle, want, scratch);
        break;
    }
    double wrong = 0, norm = 0;
    for (size_t at = 0; at < count; at++) {
        wrong += (got[at] - want[at]) * (got[at] - want[at]);
        norm += want[at] * want[at];
    }
    return sqrt(wrong / norm);
}

int linalg_check(void *state, void *const *data, double *ret_error, double *ret_tolerance,
                 struct sy_error *error) {
    const struct linalg_problem *problem = state;
    size_t side = problem->tile;
    bool small = !problem->by_vectors;
    double *scratch = malloc(side * side * sizeof(double)), *more = NULL, found = 0;
    if (scratch) {
        more = small ? reference(problem, scratch)
                     : calloc((size_t)problem->n * VECTORS * 4, sizeof(double));
    }
    if (!more) {
        free(scratch);
        return guest_fail(error, -ENOMEM, "a smaller n= needs less, or run without the check",
                          "out of memory while checking the result");
    }
    found = small ? compare(problem, data, more) : residual(problem, data, more, scratch);
    free(more);
    free(scratch);
    *ret_error = isfinite(found) ? found : INFINITY;
    *ret_tolerance = TOLERANCE;
    return 0;
}
