/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels on a GPU; data as in attention.h, in device memory. They only enqueue.
 */
#ifndef ATTENTION_WINDOW_CUDA_H
#define ATTENTION_WINDOW_CUDA_H

#include <cuda_runtime.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct attn_cuda_shape {
    uint32_t length, batch, model, heads, width, half, slots;
};

cudaError_t attn_cuda_scores(const struct attn_cuda_shape *shape, const float *qkv, float *scores,
                             cudaStream_t stream);
cudaError_t attn_cuda_softmax(const struct attn_cuda_shape *shape, const float *scores,
                              float *probabilities, cudaStream_t stream);
cudaError_t attn_cuda_mix(const struct attn_cuda_shape *shape, const float *probabilities,
                          const float *qkv, float *mixed, cudaStream_t stream);
cudaError_t attn_cuda_attention(const struct attn_cuda_shape *shape, const float *qkv, float *mixed,
                                cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
