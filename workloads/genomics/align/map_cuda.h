/* SPDX-License-Identifier: Apache-2.0
 *
 * map on a GPU: what the CUDA part asks of map.cu. The same hits as gn_map, bit by bit.
 */
#ifndef GENOMICS_MAP_CUDA_H
#define GENOMICS_MAP_CUDA_H

#include "genomics/genomics.h"
#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All three are device memory; hits_bytes may be more than the reads need. Enqueues only. */
cudaError_t gn_cuda_map(const struct gn_index *index, const struct gn_reads *reads,
                        struct gn_hits *hits, uint64_t hits_bytes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
