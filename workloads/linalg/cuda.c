/* SPDX-License-Identifier: Apache-2.0
 *
 * The tile kernels on CUDA devices, by cuBLAS and cuSOLVER.
 *
 * In: tiles in device memory, a stream of the calling thread's current device. Out: enqueued work;
 * nothing is waited for, and nothing is allocated once a tile size has been met. Handles and
 * workspaces belong to a lane, one per device and stream; a stream serves one thread at a time.
 * That a tile is not positive definite is not seen here, where nobody waits: the result's check
 * sees it.
 */
#include "linalg.h"
#include "reflectors.h"
#include <cublas_v2.h>
#include <cusolverDn.h>
#include <errno.h>
#include <stdlib.h>

enum { SIZE_MAX_COUNT = 16, PANEL_MAX = 128, WARM_SIDE = 512 };

/* Doubles of workspace that the factorizations of one tile size ask for. */
struct need {
    int side, potrf, getrf, geqrf, tsqrt;
};

struct lane {
    cudaStream_t stream;
    cublasHandle_t blas;
    cusolverDnHandle_t solver;
    struct need needs[SIZE_MAX_COUNT];
    int need_count;
    size_t work_count, scratch_count;
    double *work;    /* cuSOLVER's */
    double *scratch; /* tau and the stack of tsqrt, or gram and w of apply */
    int *info;
    bool warm;
};

static struct guest_lanes lanes;

/* Each library's status as ours; says which step failed. */
static int from_cuda(const struct sy_call *call, const char *what, cudaError_t status) {
    return status == cudaSuccess
               ? 0
               : guest_call_fail(call, status == cudaErrorMemoryAllocation ? -ENOMEM : -EIO,
                                 "%s: %s", what, cudaGetErrorString(status));
}

static int from_blas(const struct sy_call *call, const char *what, cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS
               ? 0
               : guest_call_fail(call, -EIO, "%s: %s", what, cublasGetStatusString(status));
}

static int from_solver(const struct sy_call *call, const char *what, cusolverStatus_t status) {
    return status == CUSOLVER_STATUS_SUCCESS
               ? 0
               : guest_call_fail(call, -EIO, "%s: cuSOLVER's status %d", what, (int)status);
}

/* --- lanes ------------------------------------------------------------------------------------ */

static int fill_lane(const struct sy_call *call, struct lane *lane) {
    lane->stream = call->queue;
    int code = from_blas(call, "cublasCreate", cublasCreate(&lane->blas));
    code =
        code ? code : from_blas(call, "cublasSetStream", cublasSetStream(lane->blas, lane->stream));
    code = code ? code : from_solver(call, "cusolverDnCreate", cusolverDnCreate(&lane->solver));
    code = code ? code
                : from_solver(call, "cusolverDnSetStream",
                              cusolverDnSetStream(lane->solver, lane->stream));
    return code ? code
                : from_cuda(call, "cudaMalloc", cudaMalloc((void **)&lane->info, sizeof(int)));
}

static int make_lane(const struct sy_call *call, void **ret_lane) {
    struct lane *lane = calloc(1, sizeof *lane);
    int code = lane ? fill_lane(call, lane) : guest_call_fail(call, -ENOMEM, "out of memory");
    if (code) {
        free(lane);
        return code;
    }
    *ret_lane = lane;
    return 0;
}

static int open_lane(const struct sy_call *call, struct lane **ret_lane) {
    return guest_lane_open(&lanes, call, make_lane, (void **)ret_lane);
}

/* Grows a buffer of the lane; cudaFree waits for whoever still uses the old one. */
static int grow(const struct sy_call *call, double **buffer, size_t *count, size_t needed) {
    if (*count >= needed) {
        return 0;
    }
    int code = *buffer ? from_cuda(call, "cudaFree", cudaFree(*buffer)) : 0;
    *buffer = NULL;
    *count = 0;
    code =
        code ? code
             : from_cuda(call, "cudaMalloc", cudaMalloc((void **)buffer, needed * sizeof(double)));
    *count = code ? 0 : needed;
    return code;
}

static int largest(const struct need *need) {
    int most = need->potrf > need->getrf ? need->potrf : need->getrf;
    most = need->geqrf > most ? need->geqrf : most;
    return need->tsqrt > most ? need->tsqrt : most;
}

/* Asks cuSOLVER what it needs for tiles of this side, and has it ready. */
static int size_lane(const struct sy_call *call, struct lane *lane, int n,
                     const struct need **ret_need) {
    for (int at = 0; at < lane->need_count; at++) {
        if (lane->needs[at].side == n) {
            *ret_need = &lane->needs[at];
            return 0;
        }
    }
    /* More sizes than places: the last place is used anew. */
    int place = lane->need_count < SIZE_MAX_COUNT ? lane->need_count : SIZE_MAX_COUNT - 1;
    struct need need = {.side = n};
    const char *what = "cuSOLVER's buffer size";
    int code = from_solver(
        call, what,
        cusolverDnDpotrf_bufferSize(lane->solver, CUBLAS_FILL_MODE_LOWER, n, NULL, n, &need.potrf));
    code = code
               ? code
               : from_solver(call, what,
                             cusolverDnDgetrf_bufferSize(lane->solver, n, n, NULL, n, &need.getrf));
    code = code
               ? code
               : from_solver(call, what,
                             cusolverDnDgeqrf_bufferSize(lane->solver, n, n, NULL, n, &need.geqrf));
    code = code ? code
                : from_solver(call, what,
                              cusolverDnDgeqrf_bufferSize(lane->solver, 2 * n, n, NULL, 2 * n,
                                                          &need.tsqrt));
    size_t side = (size_t)n, stack = side + 2 * side * side;
    size_t apply = PANEL_MAX * (side + PANEL_MAX);
    code = code ? code : grow(call, &lane->work, &lane->work_count, (size_t)largest(&need));
    code = code ? code
                : grow(call, &lane->scratch, &lane->scratch_count, stack > apply ? stack : apply);
    if (!code) {
        lane->needs[place] = need;
        lane->need_count = place + 1;
        *ret_need = &lane->needs[place];
    }
    return code;
}

static int open_sized(const struct sy_call *call, int n, struct lane **ret_lane,
                      const struct need **ret_need) {
    int code = open_lane(call, ret_lane);
    return code ? code : size_lane(call, *ret_lane, n, ret_need);
}

/* --- products and solves ---------------------------------------------------------------------- */

static const double one = 1, minus_one = -1, zero = 0;

static int solve(const struct sy_call *call, int n, cublasSideMode_t side, cublasFillMode_t fill,
                 cublasOperation_t operation, cublasDiagType_t diagonal) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    return code ? code
                : from_blas(call, "cublasDtrsm",
                            cublasDtrsm(lane->blas, side, fill, operation, diagonal, n, n, &one,
                                        linalg_tile(call, 0), n, linalg_tile(call, 1), n));
}

static int trsm(const struct sy_call *call, int n) {
    return solve(call, n, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T,
                 CUBLAS_DIAG_NON_UNIT);
}

static int trsm_lower(const struct sy_call *call, int n) {
    return solve(call, n, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT);
}

static int trsm_upper(const struct sy_call *call, int n) {
    return solve(call, n, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
                 CUBLAS_DIAG_NON_UNIT);
}

static int syrk(const struct sy_call *call, int n) {
    struct lane *lane = NULL;
    int code = open_lane(call, &lane);
    return code ? code
                : from_blas(call, "cublasDsyrk",
                            cublasDsyrk(lane->blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, n,
                                        &minus_one, linalg_tile(call, 0), n, &one,
                                        linalg_tile(call, 1), n));
}

static int product(const struct sy_call *call, int n, cublasOperation_t second) {
    struct lane *lane = NULL;
    int first = linalg_first_column(call, call->part, n);
    int wide = linalg_first_column(call, call->part + 1, n) - first;
    size_t across = (size_t)first * (size_t)n,
           skip = second == CUBLAS_OP_T ? (size_t)first : across;
    int code = open_lane(call, &lane);
    return code ? code
                : from_blas(call, "cublasDgemm",
                            cublasDgemm(lane->blas, CUBLAS_OP_N, second, n, wide, n, &minus_one,
                                        linalg_tile(call, 0), n, linalg_tile(call, 1) + skip, n,
                                        &one, linalg_tile(call, 2) + across, n));
}

static int gemm(const struct sy_call *call, int n) {
    return product(call, n, CUBLAS_OP_T);
}

static int gemm_nn(const struct sy_call *call, int n) {
    return product(call, n, CUBLAS_OP_N);
}

/* --- factorizations --------------------------------------------------------------------------- */

static int potrf(const struct sy_call *call, int n) {
    struct lane *lane = NULL;
    const struct need *need = NULL;
    int code = open_sized(call, n, &lane, &need);
    return code ? code
                : from_solver(call, "cusolverDnDpotrf",
                              cusolverDnDpotrf(lane->solver, CUBLAS_FILL_MODE_LOWER, n,
                                               linalg_tile(call, 0), n, lane->work, need->potrf,
                                               lane->info));
}

/* Without a place for pivots cuSOLVER does not pivot. */
static int getrf(const struct sy_call *call, int n) {
    struct lane *lane = NULL;
    const struct need *need = NULL;
    int code = open_sized(call, n, &lane, &need);
    return code ? code
                : from_solver(call, "cusolverDnDgetrf",
                              cusolverDnDgetrf(lane->solver, n, n, linalg_tile(call, 0), n,
                                               lane->work, NULL, lane->info));
}

static int geqrt(const struct sy_call *call, int n) {
    struct lane *lane = NULL;
    const struct need *need = NULL;
    double *a = linalg_tile(call, 0);
    int code = open_sized(call, n, &lane, &need);
    code = code ? code
                : from_solver(call, "cusolverDnDgeqrf",
                              cusolverDnDgeqrf(lane->solver, n, n, a, n, lane->scratch, lane->work,
                                               need->geqrf, lane->info));
    return code ? code
                : from_cuda(
                      call, "geqrt",
                      linalg_cuda_split(n, a, linalg_tile(call, 1), lane->scratch, lane->stream));
}

/* The triangle is stacked on the tile: reflectors keep its zeros, so geqrf finds those of tsqrt. */
static int tsqrt(const struct sy_call *call, int n) {
    struct lane *lane = NULL;
    const struct need *need = NULL;
    double *r = linalg_tile(call, 0), *a = linalg_tile(call, 1);
    int code = open_sized(call, n, &lane, &need);
    if (code) {
        return code;
    }
    double *stack = lane->scratch, *tau = stack + 2 * (size_t)n * (size_t)n;
    code = from_cuda(call, "tsqrt", linalg_cuda_stack(n, r, a, stack, lane->stream));
    code = code ? code
                : from_solver(call, "cusolverDnDgeqrf",
                              cusolverDnDgeqrf(lane->solver, 2 * n, n, stack, 2 * n, tau,
                                               lane->work, need->tsqrt, lane->info));
    return code ? code
                : from_cuda(call, "tsqrt", linalg_cuda_unstack(n, stack, tau, r, a, lane->stream));
}

/* --- updates of QR ---------------------------------------------------------------------------- */

/* W = C1 + V' C2 and the gram matrix with its halved diagonal. */
static int project(const struct sy_call *call, struct lane *lane, int m, int n, int wide,
                   const double *v, const double *c1, const double *c2) {
    double *gram = lane->scratch, *w = gram + (size_t)wide * (size_t)wide;
    int code = from_blas(call, "cublasDsyrk",
                         cublasDsyrk(lane->blas, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, wide, m, &one,
                                     v, n, &zero, gram, wide));
    code = code ? code
                : from_cuda(call, "apply", linalg_cuda_halve(wide, c1 ? 1 : 0, gram, lane->stream));
    if (!code && c1) {
        size_t row = (size_t)wide * sizeof(double), pitch = (size_t)n * sizeof(double);
        code = from_cuda(call, "cudaMemcpy2DAsync",
                         cudaMemcpy2DAsync(w, row, c1, pitch, row, (size_t)n,
                                           cudaMemcpyDeviceToDevice, lane->stream));
    }
    return code ? code
                : from_blas(call, "cublasDgemm",
                            cublasDgemm(lane->blas, CUBLAS_OP_T, CUBLAS_OP_N, wide, n, m, &one, v,
                                        n, c2, n, c1 ? &one : &zero, w, wide));
}

/* Q' applied to [C1; C2]; see apply in kernels.c. */
static int apply(const struct sy_call *call, struct lane *lane, int m, int n, int wide,
                 const double *v, double *c1, double *c2) {
    double *gram = lane->scratch, *w = gram + (size_t)wide * (size_t)wide;
    int code = project(call, lane, m, n, wide, v, c1, c2);
    code = code ? code
                : from_blas(call, "cublasDtrsm",
                            cublasDtrsm(lane->blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER,
                                        CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, wide, n, &one, gram,
                                        wide, w, wide));
    if (!code && c1) {
        code = from_blas(call, "cublasDgeam",
                         cublasDgeam(lane->blas, CUBLAS_OP_N, CUBLAS_OP_N, wide, n, &one, c1, n,
                                     &minus_one, w, wide, c1, n));
    }
    return code ? code
                : from_blas(call, "cublasDgemm",
                            cublasDgemm(lane->blas, CUBLAS_OP_N, CUBLAS_OP_N, m, n, wide,
                                        &minus_one, v, n, w, wide, &one, c2, n));
}

/* Wide panels feed the GPU; narrow ones spare flops where the tile is small. */
static int panel(int n, int from) {
    int wide = n >= 512 ? PANEL_MAX : PANEL_MAX / 2;
    return n - from < wide ? n - from : wide;
}

static int ormqr(const struct sy_call *call, int n) {
    struct lane *lane = NULL;
    const struct need *need = NULL;
    int code = open_sized(call, n, &lane, &need);
    for (int k = 0; !code && k < n; k += panel(n, k)) {
        code =
            apply(call, lane, n - k, n, panel(n, k),
                  linalg_tile(call, 0) + (size_t)k * (size_t)n + k, NULL, linalg_tile(call, 1) + k);
    }
    return code;
}

static int tsmqr(const struct sy_call *call, int n) {
    struct lane *lane = NULL;
    const struct need *need = NULL;
    int code = open_sized(call, n, &lane, &need);
    for (int k = 0; !code && k < n; k += panel(n, k)) {
        code = apply(call, lane, n, n, panel(n, k), linalg_tile(call, 0) + (size_t)k * (size_t)n,
                     linalg_tile(call, 1) + k, linalg_tile(call, 2));
    }
    return code;
}

static int prepare(const struct sy_call *call, int side);

SY_API extern const struct linalg_part linalg_cuda;
const struct linalg_part linalg_cuda = {
    prepare,
    {potrf, trsm, syrk, gemm, getrf, trsm_lower, trsm_upper, gemm_nn, geqrt, ormqr, tsqrt, tsmqr}};

/* Each kernel once, on zeros: the libraries load code and allocate at the first call, which would
 * otherwise be some task's time. What comes out does not matter. */
static int warm_up(const struct sy_call *call, struct lane *lane) {
    size_t bytes = sizeof(double) * WARM_SIDE * WARM_SIDE;
    void *tile = NULL;
    int code = from_cuda(call, "cudaMalloc", cudaMalloc(&tile, bytes));
    code = code ? code
                : from_cuda(call, "cudaMemsetAsync", cudaMemsetAsync(tile, 0, bytes, lane->stream));
    struct sy_argument argument = {tile, bytes, SY_READ_WRITE};
    struct sy_argument arguments[3] = {argument, argument, argument};
    struct sy_call mine = *call;
    mine.arguments = arguments;
    mine.argument_count = GUEST_COUNT(arguments);
    for (int at = 0; !code && at < LINALG_KERNEL_COUNT; at++) {
        code = linalg_cuda.run[at](&mine, WARM_SIDE);
    }
    code =
        code ? code : from_cuda(call, "cudaStreamSynchronize", cudaStreamSynchronize(lane->stream));
    cudaFree(tile);
    lane->warm = !code;
    return code;
}

static int prepare(const struct sy_call *call, int side) {
    struct lane *lane = NULL;
    const struct need *need = NULL;
    int code = open_lane(call, &lane);
    code = code || side == 0 ? code : size_lane(call, lane, side, &need);
    return code || lane->warm ? code : warm_up(call, lane);
}
