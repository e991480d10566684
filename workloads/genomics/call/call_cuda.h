/* SPDX-License-Identifier: Apache-2.0
 *
 * pairhmm, sort and activity on a GPU: the same bits as the C variants.
 *
 * All blobs are device memory; bytes are those of the argument, which may be more than the blob
 * needs. Scratch comes from the stream's memory pool. They enqueue only.
 */
#ifndef GENOMICS_CALL_CUDA_H
#define GENOMICS_CALL_CUDA_H

#include "genomics/genomics.h"
#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t gn_cuda_hmm(const struct gn_hmm *blob, float *sums, uint64_t sums_bytes,
                        cudaStream_t stream);
cudaError_t gn_cuda_sort(const struct gn_bin *bin, uint64_t bin_bytes, struct gn_order *order,
                         uint64_t order_bytes, cudaStream_t stream);
cudaError_t gn_cuda_activity(const struct gn_index *index, const struct gn_bin *bin,
                             const struct gn_order *order, struct gn_activity *activity,
                             uint64_t activity_bytes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
