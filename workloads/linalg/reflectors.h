/* SPDX-License-Identifier: Apache-2.0
 *
 * The element-wise steps of tile QR on a GPU: what cuda.c asks of reflectors.cu. All enqueue on the
 * stream and wait for nothing.
 */
#ifndef LINALG_REFLECTORS_H
#define LINALG_REFLECTORS_H

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* After geqrf of A: reflectors into V (ones on the diagonal, zeros above), zeros below R in A. */
cudaError_t linalg_cuda_split(int n, double *a, double *v, const double *tau, cudaStream_t stream);
/* S = [R; A], 2n x n, the lower triangle of R taken as zero. */
cudaError_t linalg_cuda_stack(int n, const double *r, const double *a, double *s,
                              cudaStream_t stream);
/* After geqrf of S: its upper triangle into R's, its lower half into A. */
cudaError_t linalg_cuda_unstack(int n, const double *s, const double *tau, double *r, double *a,
                                cudaStream_t stream);
/* Diagonal of gram (wide x wide) = (diagonal + add) / 2. */
cudaError_t linalg_cuda_halve(int wide, double add, double *gram, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
