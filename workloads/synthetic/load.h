/* SPDX-License-Identifier: Apache-2.0
 *
 * The synthetic kernels on a GPU: what cuda.c asks of load.cu. All enqueue on the stream and wait
 * for nothing; keep: the old value counts, else it is taken as 0.
 */
#ifndef SYNTHETIC_LOAD_H
#define SYNTHETIC_LOAD_H

#include <cuda_runtime.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t synthetic_cuda_stamp(double *data, int keep, cudaStream_t stream);
cudaError_t synthetic_cuda_spin(double flops, double *sink, cudaStream_t stream);
cudaError_t synthetic_cuda_add_one(uint64_t count, double *data, int keep, cudaStream_t stream);
cudaError_t synthetic_cuda_read_all(uint64_t count, const double *data, double *sink,
                                    cudaStream_t stream);
cudaError_t synthetic_cuda_wait(uint64_t ns, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
