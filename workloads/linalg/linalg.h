/* SPDX-License-Identifier: Apache-2.0
 *
 * linalg: tiled Cholesky, LU, QR and matrix product in double precision.
 *
 * A datum is a square tile, column by column; its side follows from its bytes. Kernels bear the
 * names of the generators (gen:cholesky ...), so that those graphs bind too. One name has one
 * meaning: where LU needs another triangular solve or product than Cholesky, it has a name of its
 * own (trsm_lower, trsm_upper, gemm_nn).
 *
 * QR stores no T factors. Reflectors are kept so that tau = 2 / |v|^2 without exception (a row of R
 * is negated where LAPACK says tau = 0); the inverse of T is then the upper triangle of V'V with
 * half its diagonal, made anew for each panel: 2 n^2 w flops beside 4 n^3, w being the panel's
 * width. So the data have the shape of gen:qr, and each flavour chooses its own panels.
 */
#ifndef LINALG_H
#define LINALG_H

#include "../guest.h"

enum linalg_kernel {
    LINALG_POTRF,      /* A = L L', L replaces the lower triangle */
    LINALG_TRSM,       /* B = B L^-T */
    LINALG_SYRK,       /* C = C - A A', lower triangle */
    LINALG_GEMM,       /* C = C - A B' */
    LINALG_GETRF,      /* A = L U without pivoting, L with unit diagonal */
    LINALG_TRSM_LOWER, /* B = L^-1 B, L with unit diagonal */
    LINALG_TRSM_UPPER, /* B = B U^-1 */
    LINALG_GEMM_NN,    /* C = C - A B */
    LINALG_GEQRT,      /* A = Q R: R into A (zeros below), reflectors into V (zeros above) */
    LINALG_ORMQR,      /* C = Q' C, Q from geqrt's V */
    LINALG_TSQRT,      /* [R; A] = Q [R'; 0]: R' replaces R, reflectors replace A */
    LINALG_TSMQR,      /* [C1; C2] = Q' [C1; C2], Q from tsqrt's reflectors */
    LINALG_KERNEL_COUNT
};

/* The arguments are checked: as many tiles as the kernel has, all of the same side. */
typedef int (*linalg_function)(const struct sy_call *call, int side);

/* What one flavour offers; NULL: no such kernel. */
struct linalg_part {
    int (*prepare)(const struct sy_call *call, int side);
    linalg_function run[LINALG_KERNEL_COUNT];
};

extern const struct linalg_part linalg_c;
#define LINALG_CUDA_FILE     "linalg/linalg_cuda.so"
#define LINALG_CUDA_SYMBOL   "linalg_cuda"
#define LINALG_OPENCL_FILE   "linalg/linalg_opencl.so"
#define LINALG_OPENCL_SYMBOL "linalg_opencl"

/* The tile's place in a buffer of argument index. */
static inline double *linalg_tile(const struct sy_call *call, uint32_t index) {
    return call->arguments[index].pointer;
}

/* Where the columns of a call begin; of the next part, where they end. The whole has n. */
static inline int linalg_first_column(const struct sy_call *call, uint32_t part, int n) {
    return call->part_count > 1 ? (int)((int64_t)n * part / call->part_count) : (int)part * n;
}

/* LAPACK's operation counts for tiles of the given side. */
double linalg_flops(enum linalg_kernel kernel, double side);
extern const char *const linalg_names[LINALG_KERNEL_COUNT];

enum linalg_kind { LINALG_CHOLESKY, LINALG_LU, LINALG_QR, LINALG_PRODUCT };

struct linalg_problem {
    enum linalg_kind kind;
    uint32_t n, tile, tiles; /* n = tile * tiles */
    uint64_t seed;
    bool by_vectors; /* how the result is checked: see values.c */
};

/* Data in order: Cholesky A(i,j) for j <= i; LU A(i,j); QR A(i,j), then V(k); product A, B, C. All
 * row by row. */
static inline uint32_t linalg_below(uint32_t i, uint32_t j) {
    return i * (i + 1) / 2 + j;
}

SY_MUST_CHECK int linalg_build(const struct linalg_problem *problem, struct sy_graph **ret_graph,
                               struct sy_error *error);
/* Up to this n the result is compared with LAPACK's unless the user asks otherwise. */
#define LINALG_LAPACK_MAX 4096

/* O(bytes), from the seed and the tile's place alone. */
int linalg_fill(void *state, uint32_t datum, void *pointer, uint64_t bytes);
int linalg_check(void *state, void *const *data, double *ret_error, double *ret_tolerance,
                 struct sy_error *error);

#endif
