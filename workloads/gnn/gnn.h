/* SPDX-License-Identifier: Apache-2.0
 *
 * gnn: graph neural networks as pipelines: dense and sparse products, their graphs and streams.
 *
 * Matrices are float32, row by row. A graph is one blob: uint32 offsets[nodes + 1], uint32
 * columns[edges], float values[edges]; row i has the edges offsets[i] to offsets[i + 1], its
 * columns in ascending order. Arguments of kernels may be larger than their parameters say.
 *
 *   kernel          reads         writes  parameters
 *   sgemm           A B           C       rows inner columns activation: C = act(A B)
 *   sgemm_add       A B R         C       the same: C = act(A B) + R
 *   sgemm2          A B A2 B2     C       the same: C = act(A B + A2 B2)
 *   spmm            graph X       Y       nodes edges width self mean activation:
 *                                         y_i = act(self x_i + sum of value_ij x_j, over the
 *                                         degree of i where mean is not 0)
 *   spmm_weighted   graph X W     Y       the same with W, a float per edge, as values
 *   sddmm           graph Q K     S       nodes edges width scale: s_ij = scale <q_i, k_j>,
 *                                         scale 0 being 1 / sqrt(width)
 *   edge_softmax    graph S       A       nodes edges: softmax over the edges of a row
 * activation: 0 none, 1 relu, 2 gelu (its tanh form).
 */
#ifndef GNN_H
#define GNN_H

#include "guest.h"
#include "simd.h"

enum gnn_kernel {
    GNN_GEMM,
    GNN_GEMM_ADD,
    GNN_GEMM2,
    GNN_SPMM,
    GNN_SPMM_WEIGHTED,
    GNN_SDDMM,
    GNN_EDGE_SOFTMAX,
    GNN_KERNEL_COUNT
};
enum gnn_activation { GNN_NONE, GNN_RELU, GNN_GELU, GNN_ACTIVATION_COUNT };
enum { GNN_READ_MAX = 4 };

struct gnn_graph {
    const uint32_t *offsets, *columns;
    const float *values;
};

/* A call whose sizes are checked. */
struct gnn_task {
    enum gnn_kernel kernel;
    uint32_t rows, inner, columns; /* of a dense product; of a sparse one columns is the width */
    uint32_t edges;
    enum gnn_activation activation;
    float self, scale;
    bool mean;
    uint32_t begin, end;              /* rows of the result to be done */
    struct gnn_graph graph;           /* pointers as the call has them: of a device, or NULL */
    const float *reads[GNN_READ_MAX]; /* the graph left out */
    float *result;
};

extern const char *const gnn_names[GNN_KERNEL_COUNT];
/* What the call asks for; -EINVAL with a message if its sizes do not fit together. */
SY_MUST_CHECK int gnn_task_read(enum gnn_kernel kernel, const struct sy_call *call,
                                struct gnn_task *ret_task);
static inline bool gnn_is_dense(enum gnn_kernel kernel) {
    return kernel <= GNN_GEMM2;
}

/* On one core, with the instructions of a level. */
SY_MUST_CHECK int gnn_run_c(const struct gnn_task *task, enum guest_simd level);
/* Inner loops of a level. */
struct gnn_lanes {
    /* y = sum of values[e] * row columns[e] of x, for count edges; columns may be read ahead up to
     * limit, for prefetching. */
    void (*gather)(const float *x, uint32_t width, const uint32_t *columns, const float *values,
                   uint32_t count, const uint32_t *limit, float *y);
    /* dots[e] = scale * <q, row columns[e] of k> */
    void (*dots)(const float *q, const float *k, uint32_t width, const uint32_t *columns,
                 uint32_t count, const uint32_t *limit, float scale, float *dots);
    void (*activate)(float *values, size_t count, enum gnn_activation activation);
};
extern const struct gnn_lanes gnn_lanes_plain, gnn_lanes_avx2, gnn_lanes_avx512;

/* Nanoseconds on the declared FPGA card: a model (fpga.c). */
double gnn_fpga_ns(const struct gnn_task *task);

/* What one flavour offers; cores only run. */
struct gnn_part {
    int (*prepare)(const struct sy_call *call);
    int (*run)(const struct sy_call *call, const struct gnn_task *task);
    /* spmm by our kernels, or by cuSPARSE (-ENOTSUP: built without it); run chooses. */
    int (*run_own)(const struct sy_call *call, const struct gnn_task *task);
    int (*run_library)(const struct sy_call *call, const struct gnn_task *task);
};
#define GNN_CUDA_FILE   "gnn/gnn_cuda.so"
#define GNN_CUDA_SYMBOL "gnn_cuda"

#endif
