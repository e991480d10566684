/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels on CUDA devices: dense products by cuBLAS in full float32 (no TF32, so that results
 * compare with those of other devices), sparse ones by own kernels or by cuSPARSE.
 *
 * In: checked tasks in device memory. Out: enqueued work; nothing is waited for. Handles belong to
 * a lane, one per stream; scratch comes from the device's pool, which keeps what it has.
 */
#include "gnn/cuda_part.h"
#include <cublas_v2.h>
#include <errno.h>
#include <stdlib.h>
#ifdef GNN_CUSPARSE
#include <cusparse.h>
#endif

struct lane {
    cudaStream_t stream;
    cublasHandle_t blas;
#ifdef GNN_CUSPARSE
    cusparseHandle_t sparse;
#endif
};

/* Lanes are made under its lock and never change place. */
static struct guest_lanes lanes = {.lock = {ATOMIC_FLAG_INIT}};

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

#ifdef GNN_CUSPARSE
static int from_sparse(const struct sy_call *call, const char *what, cusparseStatus_t status) {
    return status == CUSPARSE_STATUS_SUCCESS
               ? 0
               : guest_call_fail(call, -EIO, "%s: %s", what, cusparseGetErrorString(status));
}
#endif

/* --- lanes ------------------------------------------------------------------------------------ */

static int keep_pool(const struct sy_call *call) {
    int device = 0;
    cudaMemPool_t pool = NULL;
    uint64_t all = UINT64_MAX;
    int code = from_cuda(call, "cudaGetDevice", cudaGetDevice(&device));
    code = code ? code
                : from_cuda(call, "cudaDeviceGetDefaultMemPool",
                            cudaDeviceGetDefaultMemPool(&pool, device));
    return code ? code
                : from_cuda(call, "cudaMemPoolSetAttribute",
                            cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
}

static int make_lane(const struct sy_call *call, void **ret_lane) {
    struct lane *lane = calloc(1, sizeof(*lane));
    if (!lane) {
        return guest_call_fail(call, -ENOMEM, "out of memory");
    }
    lane->stream = call->queue;
    int code = keep_pool(call);
    code = code ? code : from_blas(call, "cublasCreate", cublasCreate(&lane->blas));
    code =
        code ? code : from_blas(call, "cublasSetStream", cublasSetStream(lane->blas, call->queue));
    code = code ? code
                : from_blas(call, "cublasSetMathMode",
                            cublasSetMathMode(lane->blas, CUBLAS_DEFAULT_MATH));
#ifdef GNN_CUSPARSE
    code = code ? code : from_sparse(call, "cusparseCreate", cusparseCreate(&lane->sparse));
    code =
        code ? code
             : from_sparse(call, "cusparseSetStream", cusparseSetStream(lane->sparse, call->queue));
#endif
    if (code) {
        free(lane);
        return code;
    }
    *ret_lane = lane;
    return 0;
}

/* --- products --------------------------------------------------------------------------------- */

/* Rows are columns to cuBLAS: C' = B' A'. */
static int multiply(const struct sy_call *call, const struct lane *lane,
                    const struct gnn_task *task, const float *a, const float *b, float beta) {
    const float one = 1;
    int rows = (int)task->rows, inner = (int)task->inner, columns = (int)task->columns;
    return from_blas(call, "cublasSgemm",
                     cublasSgemm(lane->blas, CUBLAS_OP_N, CUBLAS_OP_N, columns, rows, inner, &one,
                                 b, columns, a, inner, &beta, task->result, columns));
}

static int dense(const struct sy_call *call, const struct lane *lane, const struct gnn_task *task) {
    int code = multiply(call, lane, task, task->reads[0], task->reads[1], 0);
    if (!code && task->kernel == GNN_GEMM2) {
        code = multiply(call, lane, task, task->reads[2], task->reads[3], 1);
    }
    return code ? code
                : from_cuda(call, "activation",
                            gnn_cuda_activate(task->result,
                                              task->kernel == GNN_GEMM_ADD ? task->reads[2] : NULL,
                                              (uint64_t)task->rows * task->columns,
                                              (int)task->activation, lane->stream));
}

static struct gnn_sparse sparse_of(const struct gnn_task *task) {
    return (struct gnn_sparse){task->rows,
                               task->edges,
                               task->columns,
                               task->graph.offsets,
                               task->graph.columns,
                               task->kernel == GNN_SPMM_WEIGHTED ? task->reads[1]
                                                                 : task->graph.values,
                               (int)task->activation,
                               task->self,
                               task->mean};
}

static int spmm_own(const struct sy_call *call, const struct lane *lane,
                    const struct gnn_task *task) {
    struct gnn_sparse sparse = sparse_of(task);
    void *scratch = NULL;
    int code = from_cuda(call, "cudaMallocAsync",
                         cudaMallocAsync(&scratch, gnn_cuda_scratch(&sparse), lane->stream));
    if (code) {
        return code;
    }
    code = from_cuda(call, "spmm",
                     gnn_cuda_spmm(&sparse, task->reads[0], task->result, scratch, lane->stream));
    int other = from_cuda(call, "cudaFreeAsync", cudaFreeAsync(scratch, lane->stream));
    return code ? code : other;
}

#ifdef GNN_CUSPARSE
/* cuSPARSE takes pointers without const, but reads only. */
static void *writable(const void *pointer) {
    return (void *)(uintptr_t)pointer;
}

static int multiply_sparse(const struct sy_call *call, const struct lane *lane,
                           cusparseConstSpMatDescr_t matrix, cusparseConstDnMatDescr_t x,
                           cusparseDnMatDescr_t y) {
    const float one = 1, zero = 0;
    size_t bytes = 0;
    void *scratch = NULL;
    int code =
        from_sparse(call, "cusparseSpMM_bufferSize",
                    cusparseSpMM_bufferSize(lane->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                            CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, x,
                                            &zero, y, CUDA_R_32F, CUSPARSE_SPMM_CSR_ALG2, &bytes));
    code = code ? code
                : from_cuda(call, "cudaMallocAsync",
                            cudaMallocAsync(&scratch, bytes ? bytes : 1, lane->stream));
    if (code) {
        return code;
    }
    code = from_sparse(call, "cusparseSpMM",
                       cusparseSpMM(lane->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                    CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, x, &zero, y,
                                    CUDA_R_32F, CUSPARSE_SPMM_CSR_ALG2, scratch));
    int other = from_cuda(call, "cudaFreeAsync", cudaFreeAsync(scratch, lane->stream));
    return code ? code : other;
}

static int spmm_library(const struct sy_call *call, const struct lane *lane,
                        const struct gnn_task *task) {
    struct gnn_sparse sparse = sparse_of(task);
    int64_t rows = sparse.rows, width = sparse.width;
    cusparseSpMatDescr_t matrix = NULL;
    cusparseDnMatDescr_t x = NULL, y = NULL;
    int code = from_sparse(
        call, "cusparseCreateCsr",
        cusparseCreateCsr(&matrix, rows, rows, sparse.edges, writable(sparse.offsets),
                          writable(sparse.columns), writable(sparse.values), CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    code = code ? code
                : from_sparse(call, "cusparseCreateDnMat",
                              cusparseCreateDnMat(&x, rows, width, width, writable(task->reads[0]),
                                                  CUDA_R_32F, CUSPARSE_ORDER_ROW));
    code = code ? code
                : from_sparse(call, "cusparseCreateDnMat",
                              cusparseCreateDnMat(&y, rows, width, width, task->result, CUDA_R_32F,
                                                  CUSPARSE_ORDER_ROW));
    code = code ? code : multiply_sparse(call, lane, matrix, x, y);
    if (matrix) {
        cusparseDestroySpMat(matrix);
    }
    if (x) {
        cusparseDestroyDnMat(x);
    }
    if (y) {
        cusparseDestroyDnMat(y);
    }
    return code ? code
                : from_cuda(call, "spmm",
                            gnn_cuda_finish(&sparse, task->reads[0], task->result, lane->stream));
}
#else
static int spmm_library(const struct sy_call *call, const struct lane *lane,
                        const struct gnn_task *task) {
    (void)lane;
    (void)task;
    return guest_call_fail(call, -ENOTSUP, "built without cuSPARSE");
}
#endif

/* --- the part --------------------------------------------------------------------------------- */

static int sparse_kernels(const struct sy_call *call, const struct lane *lane,
                          const struct gnn_task *task) {
    struct gnn_sparse sparse = sparse_of(task);
    if (task->kernel == GNN_SDDMM) {
        return from_cuda(call, "sddmm",
                         gnn_cuda_sddmm(&sparse, task->reads[0], task->reads[1], task->scale,
                                        task->result, lane->stream));
    }
    if (task->kernel == GNN_EDGE_SOFTMAX) {
        return from_cuda(call, "edge_softmax",
                         gnn_cuda_softmax(&sparse, task->reads[0], task->result, lane->stream));
    }
    return gnn_prefers_library(task) ? spmm_library(call, lane, task) : spmm_own(call, lane, task);
}

static int run(const struct sy_call *call, const struct gnn_task *task) {
    void *lane = NULL;
    int code = guest_lane_open(&lanes, call, make_lane, &lane);
    return code ? code : (gnn_is_dense(task->kernel) ? dense : sparse_kernels)(call, lane, task);
}

static int run_own(const struct sy_call *call, const struct gnn_task *task) {
    void *lane = NULL;
    int code = guest_lane_open(&lanes, call, make_lane, &lane);
    return code ? code : spmm_own(call, lane, task);
}

static int run_library(const struct sy_call *call, const struct gnn_task *task) {
    void *lane = NULL;
    int code = guest_lane_open(&lanes, call, make_lane, &lane);
    return code ? code : spmm_library(call, lane, task);
}

/* Each kernel once, on zeros (a graph whose nodes have no edges): libraries and the driver load
 * code at the first call, which would otherwise be some task's time. */
static int warm_up(const struct sy_call *call) {
    enum { SIDE = 64, BYTES = 4 * SIDE * SIDE };
    void *memory = NULL;
    int code = from_cuda(call, "cudaMalloc", cudaMalloc(&memory, 2 * BYTES));
    code = code ? code
                : from_cuda(call, "cudaMemsetAsync",
                            cudaMemsetAsync(memory, 0, 2 * BYTES, call->queue));
    float *zeros = memory, *result = zeros ? zeros + SIDE * SIDE : NULL;
    struct gnn_task task = {.rows = SIDE, .inner = SIDE, .columns = SIDE, .edges = SIDE};
    task.graph = (struct gnn_graph){memory, memory, zeros};
    task.activation = GNN_RELU;
    task.result = result;
    for (int i = 0; i < GNN_READ_MAX; i++) {
        task.reads[i] = zeros;
    }
    for (int kernel = 0; !code && kernel < GNN_KERNEL_COUNT; kernel++) {
        task.kernel = (enum gnn_kernel)kernel;
        code = task.kernel == GNN_SDDMM ? 0 : run(call, &task); /* it looks for rows of edges */
    }
    code =
        code ? code : from_cuda(call, "cudaStreamSynchronize", cudaStreamSynchronize(call->queue));
    cudaFree(memory);
    return code;
}

static int prepare(const struct sy_call *call) {
    void *lane = NULL;
    uint32_t before = atomic_load(&lanes.count);
    int code = guest_lane_open(&lanes, call, make_lane, &lane);
    return code || atomic_load(&lanes.count) == before ? code : warm_up(call);
}

SY_API extern const struct gnn_part gnn_cuda;
const struct gnn_part gnn_cuda = {prepare, run, run_own, run_library};
