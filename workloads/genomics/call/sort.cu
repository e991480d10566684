/* SPDX-License-Identifier: Apache-2.0
 *
 * sort on a GPU: the same order as sort.c and the same duplicates as duplicates.c.
 *
 * Records are counted by position and laid into runs of one position each, in whatever order; then
 * each finds its rank in its run by counting those before it, which is an order that nobody's haste
 * changes. Duplicates meet in a table of hashes, where the largest merit stays.
 */
#include "genomics/call/call_cuda.h"
#include "genomics/call/duplicates.h"
#include "genomics/call/rules.h"
#include "genomics/call/scan.cuh"

enum {
    THREADS = 256,
    SLOTS = 1 << 17, /* positions that are told apart: a bin, its halo and reads that reach in */
    BEFORE = 8192,   /* of them, before the bin */
};

typedef unsigned long long word; /* as CUDA's atomic operations have it */

/* The best of those with one key. */
struct best {
    word key; /* 0: free */
    word merit;
};

struct sorting {
    const struct gn_bin *bin;
    struct gn_order *order;
    uint64_t order_bytes;
    uint32_t room;      /* records that order may have room for */
    uint32_t capacity;  /* of each half of table, a power of two */
    struct best *table; /* firsts of their pairs, then seconds */
    uint32_t *starts;   /* of each slot's run */
    uint32_t *laid;     /* records laid into each run so far */
    uint32_t *sums;     /* of starts, see scan.cuh */
    uint32_t *runs;     /* records by slot */
};

__device__ static inline uint32_t count_of(const struct sorting &sorting) {
    uint32_t count = sorting.bin->record_count;
    return gn_order_head(count).bytes <= sorting.order_bytes ? count : 0;
}

__device__ static inline const struct gn_record *records_of(const struct sorting &sorting) {
    return (const struct gn_record *)gn_at(sorting.bin, sorting.bin->records);
}

/* Slots ascend with positions; what is out of range shares the first or the last. */
__device__ static inline uint32_t slot_of(const struct sorting &sorting, uint32_t position) {
    uint32_t start = sorting.bin->start;
    uint32_t from = start > BEFORE ? start - BEFORE : 0;
    uint32_t at = position > from ? position - from : 0;
    return at < SLOTS ? at : SLOTS - 1;
}

/* The place in the table of this record's key; it is there, or takes a free one. */
__device__ static inline struct best *find(const struct sorting &sorting,
                                           const struct gn_record *record) {
    struct best *half = sorting.table + (record->flags & 0x80 ? sorting.capacity : 0);
    uint32_t at = gn_duplicates_slot(record->pair_key, sorting.capacity);
    for (;;) {
        word found = atomicCAS(&half[at].key, (word)0, (word)record->pair_key);
        if (found == 0 || found == record->pair_key) {
            return &half[at];
        }
        at = (at + 1) & (sorting.capacity - 1);
    }
}

__global__ static void count_records(struct sorting sorting) {
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x, count = count_of(sorting);
    if (at == 0) {
        *sorting.order = gn_order_head(count);
    }
    if (at < count) {
        const struct gn_record *record = records_of(sorting) + at;
        atomicAdd(&sorting.starts[slot_of(sorting, record->position)], 1u);
        if (record->pair_key != 0) {
            atomicMax(&find(sorting, record)->merit, (word)gn_duplicates_merit(record));
        }
    }
}

__global__ static void lay_records(struct sorting sorting) {
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
    bool duplicate = false;
    if (at < count_of(sorting)) {
        const struct gn_record *record = records_of(sorting) + at;
        uint32_t slot = slot_of(sorting, record->position);
        uint32_t place = atomicAdd(&sorting.laid[slot], 1u);
        sorting.runs[scanned(sorting.starts, sorting.sums, slot) + place] = at;
        duplicate = record->pair_key != 0 && find(sorting, record)->merit != gn_duplicates_merit(record);
        ((uint8_t *)gn_in(sorting.order, sorting.order->duplicates))[at] = duplicate;
    }
    uint32_t duplicates = __popc(__ballot_sync(0xffffffffu, duplicate));
    if (threadIdx.x % 32 == 0 && duplicates > 0) {
        atomicAdd(&sorting.order->duplicate_count, duplicates);
    }
}

__device__ static inline bool before(const struct gn_record *records, uint32_t left,
                                     uint32_t right) {
    const struct gn_record *a = &records[left], *b = &records[right];
    if (a->position != b->position) {
        return a->position < b->position;
    }
    return a->serial != b->serial ? a->serial < b->serial : left < right;
}

__global__ static void rank_records(struct sorting sorting) {
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count_of(sorting)) {
        const struct gn_record *records = records_of(sorting);
        uint32_t mine = sorting.runs[at], slot = slot_of(sorting, records[mine].position);
        uint32_t start = scanned(sorting.starts, sorting.sums, slot);
        uint32_t end = start + sorting.laid[slot], rank = start;
        for (uint32_t other = start; other < end; other++) {
            rank += before(records, sorting.runs[other], mine);
        }
        ((uint32_t *)gn_in(sorting.order, sorting.order->order))[rank] = mine;
    }
}

static cudaError_t enqueue(struct sorting sorting, uint64_t cleared_bytes, cudaStream_t stream) {
    cudaError_t code = cudaMemsetAsync(sorting.table, 0, cleared_bytes, stream);
    if (code != cudaSuccess) {
        return code;
    }
    uint32_t blocks = sorting.room / THREADS + 1;
    count_records<<<blocks, THREADS, 0, stream>>>(sorting);
    scan_values<<<SLOTS / SCAN, SCAN, 0, stream>>>(sorting.starts, SLOTS, sorting.sums);
    scan_sums<<<1, SCAN, 0, stream>>>(sorting.sums, SLOTS / SCAN);
    lay_records<<<blocks, THREADS, 0, stream>>>(sorting);
    rank_records<<<blocks, THREADS, 0, stream>>>(sorting);
    return cudaGetLastError();
}

extern "C" cudaError_t gn_cuda_sort(const struct gn_bin *bin, uint64_t bin_bytes,
                                    struct gn_order *order, uint64_t order_bytes,
                                    cudaStream_t stream) {
    uint64_t records = bin_bytes / sizeof(struct gn_record), capacity = 2;
    if (order_bytes < gn_order_head(0).bytes || records > 1u << 30) {
        return cudaErrorInvalidValue;
    }
    uint64_t fitting = order_bytes / (sizeof(uint32_t) + sizeof(uint8_t));
    records = records < fitting ? records : fitting;
    while (capacity / 2 < records) {
        capacity *= 2;
    }
    uint64_t table = 2 * capacity * sizeof(struct best), slots = SLOTS * sizeof(uint32_t);
    uint64_t cleared = table + 2 * slots;
    char *room = NULL;
    cudaError_t code = cudaMallocAsync(
        (void **)&room, cleared + SCAN * sizeof(uint32_t) + (records + 1) * sizeof(uint32_t),
        stream);
    if (code != cudaSuccess) {
        return code;
    }
    uint32_t *starts = (uint32_t *)(room + table);
    struct sorting sorting = {bin,
                              order,
                              order_bytes,
                              (uint32_t)records,
                              (uint32_t)capacity,
                              (struct best *)room,
                              starts,
                              starts + SLOTS,
                              starts + 2 * SLOTS,
                              starts + 2 * SLOTS + SCAN};
    code = enqueue(sorting, cleared, stream);
    cudaError_t freed = cudaFreeAsync(room, stream);
    return code != cudaSuccess ? code : freed;
}
