/* SPDX-License-Identifier: Apache-2.0
 *
 * Own CUDA kernels (sparse.cu), as functions that enqueue on a stream; pointers are to device
 * memory. The rules of gnn.h hold.
 */
#ifndef GNN_CUDA_KERNELS_H
#define GNN_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gnn_sparse {
    uint32_t rows, edges, width;
    const uint32_t *offsets, *columns;
    const float *values;
    int activation; /* enum gnn_activation */
    float self;
    int mean;
};

/* y = act(self x_i + sum over neighbours): groups of threads take rows; rows that are much longer
 * than the others are cut, their pieces summed in order. scratch: gnn_cuda_scratch bytes. */
size_t gnn_cuda_scratch(const struct gnn_sparse *sparse);
cudaError_t gnn_cuda_spmm(const struct gnn_sparse *sparse, const float *x, float *y, void *scratch,
                          cudaStream_t stream);
/* What is to be done to sums that another library has left in y. */
cudaError_t gnn_cuda_finish(const struct gnn_sparse *sparse, const float *x, float *y,
                            cudaStream_t stream);
cudaError_t gnn_cuda_sddmm(const struct gnn_sparse *sparse, const float *q, const float *k,
                           float scale, float *s, cudaStream_t stream);
cudaError_t gnn_cuda_softmax(const struct gnn_sparse *sparse, const float *s, float *a,
                             cudaStream_t stream);
/* c = act(c) + r; r may be NULL. */
cudaError_t gnn_cuda_activate(float *c, const float *r, uint64_t count, int activation,
                              cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
