/* SPDX-License-Identifier: Apache-2.0
 *
 * The few element-wise steps of tile QR that cuBLAS and cuSOLVER do not have; see cuda.c. Tiles
 * are column by column with side n.
 */
#include "reflectors.h"

enum { THREADS = 256 };

static unsigned int blocks(long long elements) {
    return (unsigned int)((elements + THREADS - 1) / THREADS);
}

/* Behind geqrf: reflectors from A into V, zeros below R; rows with tau = 0 are negated. */
__global__ static void split(int n, double *a, double *v, const double *tau) {
    long long at = (long long)blockIdx.x * THREADS + threadIdx.x;
    int row = (int)(at % n), column = (int)(at / n);
    if (column >= n) {
        return;
    }
    double value = a[at];
    v[at] = row > column ? value : row == column ? 1.0 : 0.0;
    a[at] = row > column ? 0.0 : tau[row] == 0.0 ? -value : value;
}

/* S = [upper triangle of R; A], 2n x n. */
__global__ static void stack(int n, const double *r, const double *a, double *s) {
    long long at = (long long)blockIdx.x * THREADS + threadIdx.x;
    int row = (int)(at % n), column = (int)(at / n);
    if (column >= n) {
        return;
    }
    double *to = s + (long long)column * 2 * n + row;
    to[0] = row <= column ? r[at] : 0.0;
    to[n] = a[at];
}

/* Behind geqrf of S: R and the reflectors back to their tiles. */
__global__ static void unstack(int n, const double *s, const double *tau, double *r, double *a) {
    long long at = (long long)blockIdx.x * THREADS + threadIdx.x;
    int row = (int)(at % n), column = (int)(at / n);
    if (column >= n) {
        return;
    }
    const double *from = s + (long long)column * 2 * n + row;
    if (row <= column) {
        r[at] = tau[row] == 0.0 ? -from[0] : from[0];
    }
    a[at] = from[n];
}

__global__ static void halve(int wide, double add, double *gram) {
    for (int at = (int)threadIdx.x; at < wide; at += THREADS) {
        double *diagonal = gram + (long long)at * (wide + 1);
        *diagonal = (*diagonal + add) / 2;
    }
}

extern "C" cudaError_t linalg_cuda_split(int n, double *a, double *v, const double *tau,
                                         cudaStream_t stream) {
    split<<<blocks((long long)n * n), THREADS, 0, stream>>>(n, a, v, tau);
    return cudaGetLastError();
}

extern "C" cudaError_t linalg_cuda_stack(int n, const double *r, const double *a, double *s,
                                         cudaStream_t stream) {
    stack<<<blocks((long long)n * n), THREADS, 0, stream>>>(n, r, a, s);
    return cudaGetLastError();
}

extern "C" cudaError_t linalg_cuda_unstack(int n, const double *s, const double *tau, double *r,
                                           double *a, cudaStream_t stream) {
    unstack<<<blocks((long long)n * n), THREADS, 0, stream>>>(n, s, tau, r, a);
    return cudaGetLastError();
}

extern "C" cudaError_t linalg_cuda_halve(int wide, double add, double *gram, cudaStream_t stream) {
    halve<<<1, THREADS, 0, stream>>>(wide, add, gram);
    return cudaGetLastError();
}
