/* SPDX-License-Identifier: Apache-2.0
 *
 * activity on a GPU: the same numbers as activity.c. One warp a read; integers are added, in
 * whatever order.
 */
#include "genomics/call/call_cuda.h"
#include "genomics/call/rules.h"
#include "genomics/call/scan.cuh"

enum { WARP = 32, THREADS = 256, BLOCKS = 1024 };

struct adding {
    const struct gn_index *index;
    const struct gn_bin *bin;
    const struct gn_order *order;
    struct gn_activity *activity;
    uint32_t room;   /* positions that activity has room for */
    uint32_t *steps; /* depth of each position less that of the one before, room + 1 of them */
    uint32_t *sums;  /* of steps, see scan.cuh */
};

/* What one warp adds to. */
struct target {
    uint32_t *evidence, *steps;
    const uint64_t *packed, *masked;
    uint64_t reference_length;
    int64_t first; /* global position of position 0 */
    uint32_t length;
};

__device__ static inline struct gn_activity head_of(const struct adding &adding) {
    struct gn_activity head = gn_activity_head(adding.bin->end - adding.bin->start);
    return head.length <= adding.room ? head : gn_activity_head(0u - 2 * GN_HALO);
}

__global__ static void clear(struct adding adding) {
    struct gn_activity head = head_of(adding);
    uint32_t first = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t *evidence = (uint32_t *)gn_in(adding.activity, head.evidence);
    if (first == 0) {
        *adding.activity = head;
    }
    for (uint32_t at = first; at < head.length; at += gridDim.x * blockDim.x) {
        evidence[at] = 0;
    }
}

__device__ static inline uint8_t reference_at(const struct target &target, int64_t at) {
    uint64_t position = (uint64_t)(target.first + at); /* below 0: beyond all */
    if (position >= target.reference_length || target.masked[position / 64] >> position % 64 & 1) {
        return 4;
    }
    return target.packed[position / 32] >> position % 32 * 2 & 3;
}

__device__ static inline void add_full(const struct target &target, int64_t at) {
    if (at >= 0 && at < target.length) {
        atomicAdd(&target.evidence[at], (uint32_t)GN_ACTIVITY_FULL);
    }
}

/* Covers [at, at + length). */
__device__ static inline void add_depth(const struct target &target, int64_t at, uint32_t length) {
    int64_t low = at < 0 ? 0 : at, high = at + length;
    high = high > target.length ? target.length : high;
    if (high > low) {
        atomicAdd(&target.steps[low], 1u);
        atomicAdd(&target.steps[high], 0u - 1u);
    }
}

__device__ static inline void add_matches(const struct target &target, int64_t at, uint32_t length,
                                          const uint8_t *bases, const uint8_t *qualities) {
    for (uint32_t i = threadIdx.x % WARP; i < length; i += WARP) {
        int64_t here = at + i;
        if (here >= 0 && here < target.length) {
            uint32_t weight =
                gn_activity_weight(bases[i], qualities[i], reference_at(target, here));
            if (weight > 0) {
                atomicAdd(&target.evidence[here], weight);
            }
        }
    }
}

__device__ static void add_record(const struct target &target, const struct gn_bin *bin,
                                  const struct gn_record *record) {
    const uint32_t *cigar = (const uint32_t *)gn_at(bin, bin->cigars) + record->cigar;
    const uint8_t *bases = (const uint8_t *)gn_at(bin, bin->bases) + record->bases;
    const uint8_t *qualities = (const uint8_t *)gn_at(bin, bin->qualities) + record->bases;
    bool first = threadIdx.x % WARP == 0;
    int64_t at = (int64_t)record->position - target.first;
    uint32_t base = 0;
    for (uint32_t i = 0; i < record->cigar_count; i++) {
        uint32_t operation = cigar[i] & 15, length = cigar[i] >> 4;
        bool gap = operation == GN_INSERT || operation == GN_DELETE;
        bool covers = operation == GN_MATCH || operation == GN_DELETE;
        bool clipped = !gap && !covers && length >= GN_ACTIVITY_CLIP;
        if (first && (gap || clipped)) {
            add_full(target, clipped && base == 0 ? at : at - 1);
        }
        if (first && covers) {
            add_depth(target, at, length);
        }
        if (operation == GN_MATCH) {
            add_matches(target, at, length, bases + base, qualities + base);
        }
        at += covers ? length : 0;
        base += operation == GN_DELETE ? 0 : length;
    }
}

__global__ static void add_records(struct adding adding) {
    struct gn_activity head = head_of(adding);
    const struct gn_record *records =
        (const struct gn_record *)gn_at(adding.bin, adding.bin->records);
    const uint8_t *duplicates = (const uint8_t *)gn_at(adding.order, adding.order->duplicates);
    struct target target = {(uint32_t *)gn_in(adding.activity, head.evidence),
                            adding.steps,
                            (const uint64_t *)gn_at(adding.index, adding.index->packed),
                            (const uint64_t *)gn_at(adding.index, adding.index->masked),
                            adding.index->length,
                            (int64_t)adding.bin->start - GN_HALO,
                            head.length};
    uint32_t first = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    for (uint32_t at = first; at < adding.bin->record_count; at += gridDim.x * blockDim.x / WARP) {
        if (gn_activity_counts(&records[at], duplicates[at])) {
            add_record(target, adding.bin, &records[at]);
        }
    }
}

__global__ static void sum_up(struct adding adding) {
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
    struct gn_activity head = head_of(adding);
    if (at < head.length) {
        uint32_t depth = scanned(adding.steps, adding.sums, at + 1);
        ((uint16_t *)gn_in(adding.activity, head.depth))[at] =
            (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
    }
}

static cudaError_t enqueue(struct adding adding, cudaStream_t stream) {
    uint32_t values = adding.room + 1;
    cudaError_t code = cudaMemsetAsync(adding.steps, 0, values * sizeof(uint32_t), stream);
    if (code != cudaSuccess) {
        return code;
    }
    clear<<<BLOCKS, THREADS, 0, stream>>>(adding);
    add_records<<<BLOCKS, THREADS, 0, stream>>>(adding);
    scan_values<<<(values + SCAN - 1) / SCAN, SCAN, 0, stream>>>(adding.steps, values, adding.sums);
    scan_sums<<<1, SCAN, 0, stream>>>(adding.sums, (values + SCAN - 1) / SCAN);
    sum_up<<<(adding.room + THREADS - 1) / THREADS, THREADS, 0, stream>>>(adding);
    return cudaGetLastError();
}

extern "C" cudaError_t gn_cuda_activity(const struct gn_index *index, const struct gn_bin *bin,
                                        const struct gn_order *order, struct gn_activity *activity,
                                        uint64_t activity_bytes, cudaStream_t stream) {
    uint64_t room = activity_bytes / (sizeof(uint16_t) + sizeof(uint32_t));
    uint32_t *steps = NULL;
    if (room < 2 * GN_HALO || room >= (uint64_t)SCAN * SCAN) {
        return cudaErrorInvalidValue;
    }
    while (gn_activity_head((uint32_t)room - 2 * GN_HALO).bytes > activity_bytes) {
        room--;
    }
    cudaError_t code =
        cudaMallocAsync((void **)&steps, (room + 1 + SCAN) * sizeof(uint32_t), stream);
    if (code != cudaSuccess) {
        return code;
    }
    struct adding adding = {index, bin, order, activity, (uint32_t)room, steps, steps + room + 1};
    code = enqueue(adding, stream);
    cudaError_t freed = cudaFreeAsync(steps, stream);
    return code != cudaSuccess ? code : freed;
}
