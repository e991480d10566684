/* SPDX-License-Identifier: Apache-2.0
 *
 * extend on a GPU: what the CUDA part asks of extend.cu. The same extensions as gn_extend, bit by
 * bit; a job that gn_extend refuses gives zeros.
 */
#ifndef GENOMICS_EXTEND_CUDA_H
#define GENOMICS_EXTEND_CUDA_H

#include "genomics/genomics.h"
#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All blobs are device memory; bytes may be more than the jobs need. Scratch comes from the
 * stream's memory pool. Enqueues only. */
cudaError_t gn_cuda_extend(const struct gn_index *index, const struct gn_reads *reads,
                           const struct gn_jobs *jobs, uint64_t jobs_bytes,
                           struct gn_extension *out, uint64_t out_bytes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
