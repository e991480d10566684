/* SPDX-License-Identifier: Apache-2.0
 *
 * PairHMM on a GPU: the same operations in the same order as hmm.c, see hmm.h.
 *
 * A few lanes of a warp (its team) take one pair. Each lane keeps TALL rows of the read in
 * registers; the haplotype goes by, one column a step, each lane one column behind the lane above,
 * from which it gets X and I by a shuffle. Rows behind the read's last hand I on, so that the
 * team's last lane sums it up, column after column. A first kernel sorts pairs by the length of
 * their reads into classes, each with its own shape of team; warps then take what is left of the
 * classes, the largest first.
 */
#include "genomics/call/call_cuda.h"
#include "genomics/call/rules.h"

enum {
    WARP = 32,
    THREADS = 64, /* of a block of compute */
    BLOCKS = 5,   /* of them on one processor: what the registers allow */
    PLANNERS = 256,
    CLASSES = 11,
    COUNTERS = 16, /* pairs of each class, and what was taken */
    TAKEN = 15,
};
#define ALL 0xffffffffu

/* A pair: its region, and its number there, haplotype by haplotype. */
struct item {
    uint32_t region, number;
};

struct work {
    uint32_t *counters;
    struct item *items; /* capacity for each class */
    uint32_t capacity;
};

/* Rows of each class and lanes of its teams; the largest first. */
__constant__ static const uint16_t class_rows[CLASSES] = {512, 256, 192, 152, 128, 112,
                                                          96,  80,  64,  48,  32};
__constant__ static const uint8_t class_team[CLASSES] = {32, 16, 16, 8, 8, 8, 8, 8, 8, 8, 8};

/* Denormals are zero, as on processors; and nothing is fused or taken apart. */
__device__ static inline float fused(float a, float b, float c) {
    float result;
    asm("fma.rn.ftz.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
    return result;
}
__device__ static inline float product(float a, float b) {
    float result;
    asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
__device__ static inline float sum(float a, float b) {
    float result;
    asm("add.rn.ftz.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}

/* --- which pairs there are -------------------------------------------------------------------- */

/* The last region that begins at or before this sum. */
__device__ static uint32_t region_of(const struct gn_hmm_region *regions, uint32_t count,
                                     uint32_t at) {
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (regions[middle].sum <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

__device__ static uint32_t class_of(uint32_t rows) {
    uint32_t found = 0;
    for (uint32_t at = 1; at < CLASSES; at++) {
        found = rows <= class_rows[at] ? at : found;
    }
    return found;
}

/* One thread a pair; neighbours have the same haplotype, and mostly stay together. */
__global__ static void plan(const struct gn_hmm *blob, float *sums, struct work work) {
    const struct gn_hmm_region *regions = (const struct gn_hmm_region *)gn_at(blob, blob->regions);
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t count = blob->sum_count < work.capacity ? blob->sum_count : work.capacity;
    uint32_t type = CLASSES;
    struct item item = {0, 0};
    if (at < count) {
        item.region = region_of(regions, blob->region_count, at);
        const struct gn_hmm_region *region = &regions[item.region];
        item.number = at - region->sum;
        uint32_t read = item.number % region->read_count;
        uint32_t haplotype = item.number / region->read_count;
        uint32_t rows =
            ((const struct gn_hmm_read *)gn_at(blob, blob->reads))[region->read + read].length;
        uint32_t columns = ((const struct gn_hmm_haplotype *)gn_at(
            blob, blob->haplotypes))[region->haplotype + haplotype]
                               .length;
        if (rows > 0 && columns > 0 && rows <= GN_READ_MAX) {
            type = class_of(rows);
        } else {
            sums[region->sum + read * region->haplotype_count + haplotype] = 0;
        }
    }
    uint32_t alike = __match_any_sync(ALL, type);
    uint32_t lane = threadIdx.x % WARP, leader = __ffs(alike) - 1, first = 0;
    if (type < CLASSES && lane == leader) {
        first = atomicAdd(&work.counters[type], (uint32_t)__popc(alike));
    }
    first = __shfl_sync(ALL, first, leader);
    if (type < CLASSES) {
        uint32_t before = __popc(alike & ((1u << lane) - 1));
        work.items[(uint64_t)type * work.capacity + first + before] = item;
    }
}

/* --- pairs ------------------------------------------------------------------------------------ */

/* What a team works on. */
struct job {
    const struct gn_hmm_read *read;
    const uint8_t *haplotype;
    uint32_t columns; /* 0: nothing */
    float *result;
};

__device__ static struct job job_of(const struct gn_hmm *blob, float *sums, struct item item) {
    const struct gn_hmm_region *region =
        (const struct gn_hmm_region *)gn_at(blob, blob->regions) + item.region;
    uint32_t read = item.number % region->read_count, haplotype = item.number / region->read_count;
    const struct gn_hmm_haplotype *head =
        (const struct gn_hmm_haplotype *)gn_at(blob, blob->haplotypes) + region->haplotype +
        haplotype;
    struct job job;
    job.read = (const struct gn_hmm_read *)gn_at(blob, blob->reads) + region->read + read;
    job.haplotype = (const uint8_t *)gn_at(blob, blob->haplotype_bases) + head->bases;
    job.columns = head->length;
    job.result = sums + region->sum + read * region->haplotype_count + haplotype;
    return job;
}

/* One lane's rows. agree: four bits a row, of the bases that it agrees with. */
template <int TALL> struct rows {
    float match[TALL], mismatch[TALL], next_match[TALL], deletion[TALL], next_g[TALL];
    uint32_t agree[(TALL + 7) / 8];
};

template <int TALL>
__device__ static inline void load_rows(const struct gn_hmm *blob, const struct job &job,
                                        uint32_t first, struct rows<TALL> &rows) {
    uint32_t length = job.columns > 0 ? job.read->length : 0;
#pragma unroll
    for (int word = 0; word < (TALL + 7) / 8; word++) {
        rows.agree[word] = 0;
    }
#pragma unroll
    for (int t = 0; t < TALL; t++) {
        struct gn_hmm_row row = {0, 0, 0, 0, 0};
        uint32_t i = first + t;
        if (i < length) {
            row = gn_hmm_row(blob, job.read, i);
        }
        rows.match[t] = row.match;
        rows.mismatch[t] = row.mismatch;
        rows.next_match[t] = row.next_match;
        rows.deletion[t] = row.deletion;
        rows.next_g[t] = i + 1 < length ? blob->continuation : 1.0f;
        rows.agree[t / 8] |= (row.base > 3 ? 15u : 1u << row.base) << t % 8 * 4;
    }
}

/* The base's bit in each of eight groups of four; all bits for N. */
__device__ static inline uint32_t bits_of(uint32_t base) {
    return __byte_perm(0x88442211u, 0xffu, (base < 4 ? base : 4) * 0x1111u);
}

/* All lanes of the warp together: columns is the most that any team has. */
template <int TEAM, int TALL>
__device__ static inline void run_team(const struct gn_hmm *blob, const struct job &job,
                                       uint32_t columns) {
    struct rows<TALL> rows;
    uint32_t lane = threadIdx.x % TEAM, last = job.columns > 0 ? job.columns - 1 : 0;
    bool top = lane == 0;
    float m[TALL], d[TALL], in[TALL], g = blob->continuation, total = 0;
    load_rows<TALL>(blob, job, lane * TALL, rows);
#pragma unroll
    for (int t = 0; t < TALL; t++) {
        m[t] = d[t] = in[t] = 0;
    }
    in[0] = top ? GN_HMM_START : 0;
    float below = 0, insertion = 0; /* X and I of the row under this lane's last */
    uint32_t column = 0u - lane, base = job.haplotype[top ? 0 : last];
    for (uint32_t step = 0; step < columns + TEAM - 1; step++) {
        float above = __shfl_up_sync(ALL, below, 1, TEAM);
        float i = __shfl_up_sync(ALL, insertion, 1, TEAM);
        uint32_t bits = bits_of(base), next = column + 1;
        base = job.haplotype[next < last ? next : last];
        above = top ? GN_HMM_START : above;
        i = top ? 0 : i;
#pragma unroll
        for (int t = 0; t < TALL; t++) {
            bool agree = (rows.agree[t / 8] & bits & 15u << t % 8 * 4) != 0;
            float x = in[t];
            in[t] = above;
            d[t] = fused(g, d[t], m[t]);
            m[t] = product(agree ? rows.match[t] : rows.mismatch[t], x);
            above = fused(rows.next_match[t], m[t], fused(rows.deletion[t], d[t], i));
            i = fused(rows.next_g[t], i, m[t]);
        }
        below = above;
        insertion = i;
        total = column <= last ? sum(total, i) : total;
        column = next;
    }
    if (lane == TEAM - 1 && job.columns > 0) {
        *job.result = total;
    }
}

template <int TEAM, int TALL>
__device__ static inline void take(const struct gn_hmm *blob, float *sums, const struct work &work,
                                   uint32_t type, uint32_t task) {
    uint32_t at = task * (WARP / TEAM) + threadIdx.x % WARP / TEAM, count = work.counters[type];
    struct job job =
        job_of(blob, sums, work.items[(uint64_t)type * work.capacity + (at < count ? at : 0)]);
    job.columns = at < count ? job.columns : 0;
    uint32_t columns = job.columns;
    for (int apart = WARP / 2; apart >= TEAM; apart /= 2) {
        uint32_t other = __shfl_xor_sync(ALL, columns, apart);
        columns = other > columns ? other : columns;
    }
    run_team<TEAM, TALL>(blob, job, columns);
}

__global__ static void __launch_bounds__(THREADS)
    compute(const struct gn_hmm *blob, float *sums, struct work work) {
    for (;;) {
        uint32_t task = 0, type = 0;
        if (threadIdx.x % WARP == 0) {
            task = atomicAdd(&work.counters[TAKEN], 1u);
        }
        task = __shfl_sync(ALL, task, 0);
        for (; type < CLASSES; type++) {
            uint32_t teams = WARP / class_team[type];
            uint32_t tasks = (work.counters[type] + teams - 1) / teams;
            if (task < tasks) {
                break;
            }
            task -= tasks;
        }
        switch (type) {
        case 0:
            take<32, 16>(blob, sums, work, type, task);
            break;
        case 1:
            take<16, 16>(blob, sums, work, type, task);
            break;
        case 2:
            take<16, 12>(blob, sums, work, type, task);
            break;
        case 3:
            take<8, 19>(blob, sums, work, type, task);
            break;
        case 4:
            take<8, 16>(blob, sums, work, type, task);
            break;
        case 5:
            take<8, 14>(blob, sums, work, type, task);
            break;
        case 6:
            take<8, 12>(blob, sums, work, type, task);
            break;
        case 7:
            take<8, 10>(blob, sums, work, type, task);
            break;
        case 8:
            take<8, 8>(blob, sums, work, type, task);
            break;
        case 9:
            take<8, 6>(blob, sums, work, type, task);
            break;
        case 10:
            take<8, 4>(blob, sums, work, type, task);
            break;
        default:
            return;
        }
    }
}

static cudaError_t enqueue(const struct gn_hmm *blob, float *sums, struct work work,
                           cudaStream_t stream) {
    int device = 0, processors = 1;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess) {
        code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    }
    if (code == cudaSuccess) {
        code = cudaMemsetAsync(work.counters, 0, COUNTERS * sizeof(uint32_t), stream);
    }
    if (code != cudaSuccess) {
        return code;
    }
    uint32_t most = work.capacity / (THREADS / WARP) + 1, blocks = (uint32_t)processors * BLOCKS;
    plan<<<(work.capacity + PLANNERS - 1) / PLANNERS, PLANNERS, 0, stream>>>(blob, sums, work);
    blocks = most < blocks ? most : blocks;
    compute<<<blocks, THREADS, 0, stream>>>(blob, sums, work);
    return cudaGetLastError();
}

extern "C" cudaError_t gn_cuda_hmm(const struct gn_hmm *blob, float *sums, uint64_t sums_bytes,
                                   cudaStream_t stream) {
    uint64_t capacity = sums_bytes / sizeof(float), lists = COUNTERS * sizeof(uint32_t);
    void *room = NULL;
    if (capacity == 0 || capacity > UINT32_MAX) {
        return capacity == 0 ? cudaSuccess : cudaErrorInvalidValue;
    }
    cudaError_t code =
        cudaMallocAsync(&room, lists + capacity * CLASSES * sizeof(struct item), stream);
    if (code != cudaSuccess) {
        return code;
    }
    struct work work = {(uint32_t *)room, (struct item *)((char *)room + lists),
                        (uint32_t)capacity};
    code = enqueue(blob, sums, work, stream);
    cudaError_t freed = cudaFreeAsync(room, stream);
    return code != cudaSuccess ? code : freed;
}
