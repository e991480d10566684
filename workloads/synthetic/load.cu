/* SPDX-License-Identifier: Apache-2.0
 *
 * The synthetic kernels on a GPU; what each does is said in synthetic.h.
 */
#include "load.h"

enum { THREADS = 256, SPIN_BLOCKS = 1024, PASS_BLOCKS = 4096 };

__global__ static void stamp(double *data, int keep) {
    data[0] = (keep ? data[0] : 0.0) + 1.0;
}

__global__ static void spin(uint64_t rounds, double *sink) {
    double value = 0.0;
    for (uint64_t at = 0; at < rounds; at++) {
        value = value * 0.5 + 1.0;
    }
    if (value < 0.0) { /* never, but the compiler cannot know */
        *sink = value;
    }
}

__global__ static void add_one(uint64_t count, double *data, int keep) {
    uint64_t step = (uint64_t)gridDim.x * THREADS;
    for (uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x; at < count; at += step) {
        data[at] = (keep ? data[at] : 0.0) + 1.0;
    }
}

__global__ static void read_all(uint64_t count, const double *data, double *sink) {
    uint64_t step = (uint64_t)gridDim.x * THREADS;
    double sum = 0.0;
    for (uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x; at < count; at += step) {
        sum += data[at];
    }
    if (sum == -1.2345678e300) {
        *sink = sum;
    }
}

__global__ static void wait(uint64_t ns) {
    uint64_t begun, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begun < ns);
}

static unsigned int blocks(uint64_t count) {
    uint64_t needed = (count + THREADS - 1) / THREADS;
    return (unsigned int)(needed < PASS_BLOCKS ? needed : PASS_BLOCKS);
}

extern "C" cudaError_t synthetic_cuda_stamp(double *data, int keep, cudaStream_t stream) {
    stamp<<<1, 1, 0, stream>>>(data, keep);
    return cudaGetLastError();
}

extern "C" cudaError_t synthetic_cuda_spin(double flops, double *sink, cudaStream_t stream) {
    uint64_t rounds = (uint64_t)(flops / (2.0 * THREADS * SPIN_BLOCKS)) + 1;
    spin<<<SPIN_BLOCKS, THREADS, 0, stream>>>(rounds, sink);
    return cudaGetLastError();
}

extern "C" cudaError_t synthetic_cuda_add_one(uint64_t count, double *data, int keep,
                                              cudaStream_t stream) {
    add_one<<<blocks(count), THREADS, 0, stream>>>(count, data, keep);
    return cudaGetLastError();
}

extern "C" cudaError_t synthetic_cuda_read_all(uint64_t count, const double *data, double *sink,
                                               cudaStream_t stream) {
    read_all<<<blocks(count), THREADS, 0, stream>>>(count, data, sink);
    return cudaGetLastError();
}

extern "C" cudaError_t synthetic_cuda_wait(uint64_t ns, cudaStream_t stream) {
    wait<<<1, 1, 0, stream>>>(ns);
    return cudaGetLastError();
}
