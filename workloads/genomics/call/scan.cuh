/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of all values before each, on a GPU, for up to SCAN * SCAN values: two launches, after which
 * scanned() tells them.
 */
#ifndef GENOMICS_CALL_SCAN_CUH
#define GENOMICS_CALL_SCAN_CUH

#include <stdint.h>

enum { SCAN = 1024, SCAN_WARP = 32 };

/* Of one block; returns the sum of the values of all threads before, and in *ret_all of all. */
__device__ static inline uint32_t scan_block(uint32_t value, uint32_t *ret_all) {
    __shared__ uint32_t warps[SCAN_WARP];
    uint32_t lane = threadIdx.x % SCAN_WARP, warp = threadIdx.x / SCAN_WARP, sum = value;
    for (uint32_t apart = 1; apart < SCAN_WARP; apart *= 2) {
        uint32_t before = __shfl_up_sync(0xffffffffu, sum, apart);
        sum += lane >= apart ? before : 0;
    }
    if (lane == SCAN_WARP - 1) {
        warps[warp] = sum;
    }
    __syncthreads();
    uint32_t all = 0, mine = 0;
    for (uint32_t at = 0; at < SCAN_WARP; at++) {
        mine += at < warp ? warps[at] : 0;
        all += warps[at];
    }
    *ret_all = all;
    return mine + sum - value;
}

/* blocks of SCAN threads; values become sums within their block, sums that of each block. */
__global__ static void scan_values(uint32_t *values, uint32_t count, uint32_t *sums) {
    uint32_t at = blockIdx.x * SCAN + threadIdx.x, all = 0;
    uint32_t before = scan_block(at < count ? values[at] : 0, &all);
    if (at < count) {
        values[at] = before;
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = all;
    }
}

/* One block of SCAN threads. */
__global__ static void scan_sums(uint32_t *sums, uint32_t count) {
    uint32_t all = 0;
    uint32_t before = scan_block(threadIdx.x < count ? sums[threadIdx.x] : 0, &all);
    if (threadIdx.x < count) {
        sums[threadIdx.x] = before;
    }
}

/* The sum of all values before this one. */
__device__ static inline uint32_t scanned(const uint32_t *values, const uint32_t *sums,
                                          uint32_t at) {
    return values[at] + sums[at / SCAN];
}

#endif
