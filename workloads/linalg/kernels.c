/* SPDX-License-Identifier: Apache-2.0
 *
 * The tile kernels on a CPU core, by OpenBLAS with one thread.
 *
 * In: tiles in host memory. Out: the same, changed as linalg.h says. Scratch is allocated per call:
 * small beside the work, and any thread may call.
 */
#include "lapack.h"
#include "linalg.h"
#include <cblas.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LU_PANEL = 32, QR_PANEL = 32, APPLY_PANEL = 64, SOLVE_MIN = 64 };

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* Column c of a tile. */
static double *column(double *tile, int c, int n) {
    return tile + (size_t)c * (size_t)n;
}

/* --- Cholesky --------------------------------------------------------------------------------- */

static int potrf(const struct sy_call *call, int n) {
    int info = 0;
    dpotrf_("L", &n, linalg_tile(call, 0), &n, &info, 1);
    return info == 0 ? 0
                     : guest_call_fail(call, -EDOM,
                                       "potrf: the tile is not positive definite (pivot %d of %d);"
                                       " linalg:cholesky fills its matrix so that it is",
                                       info, n);
}

/* A triangular solve with n right-hand sides, halved down to small ones: most of its work becomes
 * products, at more than twice the speed of OpenBLAS's own solver. */
static void solve(int side, int n, const double *t, double *b, CBLAS_SIDE where, CBLAS_UPLO uplo,
                  CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal) {
    bool left = where == CblasLeft;
    if (side <= SOLVE_MIN) {
        cblas_dtrsm(CblasColMajor, where, uplo, transpose, diagonal, left ? side : n,
                    left ? n : side, 1, t, n, b, n);
        return;
    }
    int half = (side / 2 + SOLVE_MIN - 1) / SOLVE_MIN * SOLVE_MIN, rest = side - half;
    size_t down = (size_t)half, right = down * (size_t)n;
    const double *beside = t + (uplo == CblasLower ? down : right);
    double *other = b + (left ? down : right);
    solve(half, n, t, b, where, uplo, transpose, diagonal);
    if (left) {
        cblas_dgemm(CblasColMajor, transpose, CblasNoTrans, rest, n, half, -1, beside, n, b, n, 1,
                    other, n);
    } else {
        cblas_dgemm(CblasColMajor, CblasNoTrans, transpose, n, rest, half, -1, b, n, beside, n, 1,
                    other, n);
    }
    solve(rest, n, t + down + right, other, where, uplo, transpose, diagonal);
}

static int trsm(const struct sy_call *call, int n) {
    solve(n, n, linalg_tile(call, 0), linalg_tile(call, 1), CblasRight, CblasLower, CblasTrans,
          CblasNonUnit);
    return 0;
}

static int syrk(const struct sy_call *call, int n) {
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, n, n, -1, linalg_tile(call, 0), n, 1,
                linalg_tile(call, 1), n);
    return 0;
}

static int product(const struct sy_call *call, int n, CBLAS_TRANSPOSE second) {
    int first = linalg_first_column(call, call->part, n);
    int wide = linalg_first_column(call, call->part + 1, n) - first;
    size_t skip = (size_t)first * (second == CblasTrans ? 1 : (size_t)n);
    cblas_dgemm(CblasColMajor, CblasNoTrans, second, n, wide, n, -1, linalg_tile(call, 0), n,
                linalg_tile(call, 1) + skip, n, 1, column(linalg_tile(call, 2), first, n), n);
    return 0;
}

static int gemm(const struct sy_call *call, int n) {
    return product(call, n, CblasTrans);
}

static int gemm_nn(const struct sy_call *call, int n) {
    return product(call, n, CblasNoTrans);
}

/* --- LU --------------------------------------------------------------------------------------- */

/* The columns [from, to) from row from on, one by one. Returns the column whose pivot is zero or
 * not finite, -1 if none. */
static int lu_panel(double *a, int n, int from, int to) {
    for (int j = from; j < to; j++) {
        double *restrict left = column(a, j, n), pivot = left[j];
        if (pivot == 0 || !isfinite(pivot)) {
            return j;
        }
        for (int i = j + 1; i < n; i++) {
            left[i] /= pivot;
        }
        for (int k = j + 1; k < to; k++) {
            double *restrict right = column(a, k, n), factor = right[j];
            for (int i = j + 1; i < n; i++) {
                right[i] -= left[i] * factor;
            }
        }
    }
    return -1;
}

static int getrf(const struct sy_call *call, int n) {
    double *a = linalg_tile(call, 0);
    for (int k = 0; k < n; k += LU_PANEL) {
        int end = smaller(k + LU_PANEL, n), wide = end - k, rest = n - end;
        int bad = lu_panel(a, n, k, end);
        if (bad >= 0) {
            return guest_call_fail(call, -EDOM,
                                   "getrf: pivot %d of %d is zero or not finite; linalg:lu fills "
                                   "its matrix so that it is not",
                                   bad + 1, n);
        }
        if (rest == 0) {
            continue;
        }
        double *right = column(a, end, n);
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, wide, rest, 1,
                    column(a, k, n) + k, n, right + k, n);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rest, rest, wide, -1,
                    column(a, k, n) + end, n, right + k, n, 1, right + end, n);
    }
    return 0;
}

static int trsm_lower(const struct sy_call *call, int n) {
    solve(n, n, linalg_tile(call, 0), linalg_tile(call, 1), CblasLeft, CblasLower, CblasNoTrans,
          CblasUnit);
    return 0;
}

static int trsm_upper(const struct sy_call *call, int n) {
    solve(n, n, linalg_tile(call, 0), linalg_tile(call, 1), CblasRight, CblasUpper, CblasNoTrans,
          CblasNonUnit);
    return 0;
}

/* --- QR --------------------------------------------------------------------------------------- */

/* Where LAPACK left a row alone (tau = 0), reflect it: then tau = 2 / |v|^2 holds for all. */
static void negate_row(double *r, int row, int n) {
    cblas_dscal(n - row, -1, column(r, row, n) + row, n);
}

static int geqrt(const struct sy_call *call, int n) {
    double *a = linalg_tile(call, 0), *v = linalg_tile(call, 1);
    int info = 0, work_count = n * QR_PANEL;
    double *tau = malloc(sizeof(double) * (size_t)(n + work_count));
    if (!tau) {
        return guest_call_fail(call, -ENOMEM, "geqrt: out of memory");
    }
    dgeqrf_(&n, &n, a, &n, tau, tau + n, &work_count, &info);
    for (int j = 0; j < n; j++) {
        double *from = column(a, j, n), *to = column(v, j, n);
        size_t below = (size_t)(n - j - 1) * sizeof(double);
        memset(to, 0, (size_t)j * sizeof(double));
        to[j] = 1;
        memcpy(to + j + 1, from + j + 1, below);
        memset(from + j + 1, 0, below);
    }
    for (int j = 0; j < n; j++) {
        if (tau[j] == 0) {
            negate_row(a, j, n);
        }
    }
    free(tau);
    return 0;
}

/* Q' applied to [C1; C2], Q being the wide reflectors [I; V] or, without C1, V alone. C1 has wide
 * rows, V and C2 have m. Scratch: gram of wide * wide, w of wide * n doubles. */
static void apply(int m, int n, int wide, const double *v, double *c1, double *c2, double *gram) {
    double *w = gram + (size_t)wide * (size_t)wide;
    cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, wide, m, 1, v, n, 0, gram, wide);
    for (int j = 0; j < wide; j++) {
        double *diagonal = &gram[(size_t)j * (size_t)wide + (size_t)j];
        *diagonal = (*diagonal + (c1 ? 1 : 0)) / 2;
    }
    for (int j = 0; c1 && j < n; j++) {
        memcpy(column(w, j, wide), column(c1, j, n), (size_t)wide * sizeof(double));
    }
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, wide, n, m, 1, v, n, c2, n, c1 ? 1 : 0, w,
                wide);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, wide, n, 1, gram,
                wide, w, wide);
    for (int j = 0; c1 && j < n; j++) {
        double *restrict to = column(c1, j, n);
        const double *restrict from = column(w, j, wide);
        for (int i = 0; i < wide; i++) {
            to[i] -= from[i];
        }
    }
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, wide, -1, v, n, w, wide, 1, c2, n);
}

static double *apply_scratch(int n) {
    return malloc(sizeof(double) * APPLY_PANEL * ((size_t)n + APPLY_PANEL));
}

static int ormqr(const struct sy_call *call, int n) {
    double *v = linalg_tile(call, 0), *c = linalg_tile(call, 1), *scratch = apply_scratch(n);
    if (!scratch) {
        return guest_call_fail(call, -ENOMEM, "ormqr: out of memory");
    }
    for (int k = 0; k < n; k += APPLY_PANEL) {
        apply(n - k, n, smaller(APPLY_PANEL, n - k), column(v, k, n) + k, NULL, c + k, scratch);
    }
    free(scratch);
    return 0;
}

static int tsqrt(const struct sy_call *call, int n) {
    double *r = linalg_tile(call, 0), *a = linalg_tile(call, 1);
    int info = 0, none = 0, wide = smaller(QR_PANEL, n);
    double *t = malloc(sizeof(double) * 2 * (size_t)wide * (size_t)n);
    if (!t) {
        return guest_call_fail(call, -ENOMEM, "tsqrt: out of memory");
    }
    dtpqrt_(&n, &n, &none, &wide, r, &n, a, &n, t, &wide, t + (size_t)wide * (size_t)n, &info);
    for (int j = 0; j < n; j++) {
        if (column(t, j, wide)[j % wide] == 0) { /* tau is T's diagonal */
            negate_row(r, j, n);
        }
    }
    free(t);
    return 0;
}

static int tsmqr(const struct sy_call *call, int n) {
    double *v = linalg_tile(call, 0), *c1 = linalg_tile(call, 1), *c2 = linalg_tile(call, 2);
    double *scratch = apply_scratch(n);
    if (!scratch) {
        return guest_call_fail(call, -ENOMEM, "tsmqr: out of memory");
    }
    for (int k = 0; k < n; k += APPLY_PANEL) {
        apply(n, n, smaller(APPLY_PANEL, n - k), column(v, k, n), c1 + k, c2, scratch);
    }
    free(scratch);
    return 0;
}

/* One thread per task: the engine has a worker on each core. At load, so that no task waits. */
__attribute__((constructor)) static void one_thread(void) {
    openblas_set_num_threads(1);
}

const struct linalg_part linalg_c = {
    NULL,
    {potrf, trsm, syrk, gemm, getrf, trsm_lower, trsm_upper, gemm_nn, geqrt, ormqr, tsqrt, tsmqr}};
