/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels on one core: dense products by OpenBLAS with one thread, sparse ones row by row with
 * the loops of a level (lanes_*.c). In: a checked task in host memory. Out: its rows [begin, end).
 */
#include "gnn/gnn.h"
#include <cblas.h>
#include <errno.h>
#include <math.h>
#include <string.h>

/* Rows after which a product is activated, while it is in the cache. */
enum { DENSE_BLOCK = 512 };

static const struct gnn_lanes *lanes_of(enum guest_simd level) {
#if defined(__x86_64__)
    return level == GUEST_AVX512 ? &gnn_lanes_avx512
           : level == GUEST_AVX2 ? &gnn_lanes_avx2
                                 : &gnn_lanes_plain;
#else
    (void)level;
    return &gnn_lanes_plain;
#endif
}

static void multiply(const struct gnn_task *task, uint32_t row, uint32_t count, const float *a,
                     const float *b, float beta) {
    int inner = (int)task->inner, columns = (int)task->columns;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)count, columns, inner, 1,
                a + (size_t)row * task->inner, inner, b, columns, beta,
                task->result + (size_t)row * task->columns, columns);
}

static void dense(const struct gnn_task *task, const struct gnn_lanes *lanes) {
    for (uint32_t row = task->begin; row < task->end;) {
        uint32_t count = task->end - row < DENSE_BLOCK ? task->end - row : DENSE_BLOCK;
        size_t first = (size_t)row * task->columns, values = (size_t)count * task->columns;
        multiply(task, row, count, task->reads[0], task->reads[1], 0);
        if (task->kernel == GNN_GEMM2) {
            multiply(task, row, count, task->reads[2], task->reads[3], 1);
        }
        lanes->activate(task->result + first, values, task->activation);
        if (task->kernel == GNN_GEMM_ADD) {
            cblas_saxpy((int)values, 1, task->reads[2] + first, 1, task->result + first, 1);
        }
        row += count;
    }
}

static void sparse(const struct gnn_task *task, const struct gnn_lanes *lanes) {
    const struct gnn_graph *graph = &task->graph;
    const float *x = task->reads[0];
    const float *values = task->kernel == GNN_SPMM ? graph->values : task->reads[1];
    const uint32_t width = task->columns;
    for (uint32_t row = task->begin; row < task->end; row++) {
        uint32_t from = graph->offsets[row], degree = graph->offsets[row + 1] - from;
        float *y = task->result + (size_t)row * width;
        lanes->gather(x, width, graph->columns + from, values + from, degree,
                      graph->columns + task->edges, y);
        float factor = task->mean && degree ? 1 / (float)degree : 1;
        const float *own = x + (size_t)row * width;
        if (task->self != 0) {
            for (uint32_t j = 0; j < width; j++) {
                y[j] = factor * y[j] + task->self * own[j];
            }
        } else if (task->mean) {
            for (uint32_t j = 0; j < width; j++) {
                y[j] *= factor;
            }
        }
        lanes->activate(y, width, task->activation);
    }
}

static void dots(const struct gnn_task *task, const struct gnn_lanes *lanes) {
    const struct gnn_graph *graph = &task->graph;
    for (uint32_t row = task->begin; row < task->end; row++) {
        uint32_t from = graph->offsets[row], degree = graph->offsets[row + 1] - from;
        lanes->dots(task->reads[0] + (size_t)row * task->columns, task->reads[1], task->columns,
                    graph->columns + from, degree, graph->columns + task->edges, task->scale,
                    task->result + from);
    }
}

static void softmax(const struct gnn_task *task) {
    const struct gnn_graph *graph = &task->graph;
    for (uint32_t row = task->begin; row < task->end; row++) {
        uint32_t from = graph->offsets[row], to = graph->offsets[row + 1];
        const float *s = task->reads[0];
        float most = -INFINITY, sum = 0;
        for (uint32_t e = from; e < to; e++) {
            most = s[e] > most ? s[e] : most;
        }
        for (uint32_t e = from; e < to; e++) {
            task->result[e] = expf(s[e] - most);
            sum += task->result[e];
        }
        for (uint32_t e = from; e < to; e++) {
            task->result[e] /= sum;
        }
    }
}

int gnn_run_c(const struct gnn_task *task, enum guest_simd level) {
    const struct gnn_lanes *lanes = lanes_of(level);
    if (!gnn_is_dense(task->kernel) && task->graph.offsets[task->rows] != task->edges) {
        return -EINVAL;
    }
    switch (task->kernel) {
    case GNN_GEMM:
    case GNN_GEMM_ADD:
    case GNN_GEMM2:
        dense(task, lanes);
        break;
    case GNN_SPMM:
    case GNN_SPMM_WEIGHTED:
        sparse(task, lanes);
        break;
    case GNN_SDDMM:
        dots(task, lanes);
        break;
    case GNN_EDGE_SOFTMAX:
        softmax(task);
        break;
    case GNN_KERNEL_COUNT:
        break;
    }
    return 0;
}

/* One thread per task: the engine has a worker on each core. At load, so that no task waits. */
__attribute__((constructor)) static void one_thread(void) {
    openblas_set_num_threads(1);
}
