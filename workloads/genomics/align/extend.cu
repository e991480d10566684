/* SPDX-License-Identifier: Apache-2.0
 *
 * extend on a GPU: one warp a job; see extend.h. The same extensions as extend.c.
 *
 * Each thread has ROWS rows of the matrix in registers, the last row is always the last thread's,
 * and thread t is t columns behind the first: what a thread needs of the row above its own, its
 * neighbour had a step ago. A first pass has the score and where the alignment ends; a second one,
 * over the columns that the alignment can lie in, leaves the way back in scratch, a word per thread
 * and step.
 */
#include "genomics/align/extend_cuda.h"
#include "genomics/align/extend_rule.h"

enum { WARP = 32, WARPS = 4, ROWS_MAX = GN_READ_MAX / WARP, SCORE_MIN = 30, PAST_READ = 8 };
enum { CELL_BITS = 5, EQUAL = 16, SCRATCH_BYTES = 96 << 20 };
#define ALL 0xffffffffu

/* A job as one warp sees it. */
struct task {
    const uint64_t *packed, *masked; /* the reference */
    const uint8_t *bases;            /* of the read */
    uint64_t window;                 /* global position of the first column */
    uint32_t width, length;
    bool reverse;
    uint32_t lane;
    uint64_t *back; /* [step][thread]; NULL: the first pass */
};

/* Where the alignment ends, as one number: the greater, the better. */
__device__ static uint64_t end_key(uint32_t score_row, uint32_t column) {
    return (uint64_t)(score_row >> 10) << 32 | (uint64_t)(0xffffu - column) << 16 |
           (score_row & 1023);
}

__device__ static uint32_t read_code(const struct task *task, uint32_t at) {
    uint32_t code = task->bases[task->reverse ? task->length - 1 - at : at];
    return code > 3 ? PAST_READ : task->reverse ? 3 - code : code;
}

__device__ static uint32_t window_code(const struct task *task, uint32_t column) {
    uint64_t at = task->window + column;
    if (column >= task->width || (task->masked[at / 64] >> (at % 64) & 1)) {
        return 4;
    }
    return (uint32_t)(task->packed[at / 32] >> 2 * (at % 32)) & 3;
}

/* Words of the way back per thread and step: 12 cells each. */
__device__ static uint32_t words_of(uint32_t rows) {
    return rows > 8 ? 2 : 1;
}

/* What a thread carries from column to column, and what its neighbour gets. */
template <int ROWS> struct stripe {
    int32_t h[ROWS], e[ROWS];
    uint32_t code[ROWS];
    int32_t above; /* H of the row above, one column back */
    uint32_t best, best_column;
    uint32_t handed; /* H, F + 8 and the base of this column: 10, 10 and 3 bits */
};

/* One column. start: the row of the stripe where the read begins, or none of its rows. */
template <int ROWS>
__device__ static void step(const struct task *task, struct stripe<ROWS> *stripe, int32_t start,
                            uint32_t column, uint32_t received, uint64_t *back) {
    int32_t diagonal = stripe->above, f = (int32_t)(received >> 10 & 1023) - 8;
    uint32_t base = received >> 20, best = 0, first = task->lane * ROWS;
    uint64_t bits = 0;
    stripe->above = (int32_t)(received & 1023);
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        bool equal = stripe->code[row] == base;
        int32_t d = diagonal + (row == start ? 5 : 0) + (equal ? 1 : -4), e = stripe->e[row];
        int32_t h = max(max(d, e), max(f, 0)), open = h - 7;
        if (back) {
            uint32_t cell = (h == d ? GN_BACK_MATCH : 0) | (h == e ? GN_BACK_DELETE : 0) |
                            (e - 1 > open ? GN_BACK_KEEP_DELETE : 0) |
                            (f - 1 > open ? GN_BACK_KEEP_INSERT : 0) | (equal ? EQUAL : 0);
            bits |= (uint64_t)cell << (CELL_BITS * (row % 12));
            if (ROWS > 12 && row == 11) {
                back[0] = bits;
                bits = 0;
            }
        }
        diagonal = stripe->h[row];
        stripe->h[row] = h;
        stripe->e[row] = max(e - 1, open);
        f = max(f - 1, open);
        best = max(best, (uint32_t)h << 10 | (first + row));
    }
    int32_t last = stripe->h[ROWS - 1];
    if (task->lane == WARP - 1 && last > 0) {
        best = max(best, (uint32_t)(last + 5) << 10 | (first + ROWS - 1));
    }
    if (best >> 10 > stripe->best >> 10) {
        stripe->best = best;
        stripe->best_column = column;
    }
    stripe->handed = (uint32_t)last | (uint32_t)(f + 8) << 10 | base << 20;
    if (back) {
        back[words_of(ROWS) - 1] = bits;
    }
}

/* The whole matrix, or what task has of it. The key of the best end, the same in all threads. */
template <int ROWS> __device__ static uint64_t pass(const struct task *task) {
    struct stripe<ROWS> stripe;
    uint32_t before = ROWS * WARP - task->length; /* rows before the read's */
    int32_t start = (int32_t)before - (int32_t)(task->lane * ROWS);
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        uint32_t at = task->lane * ROWS + row;
        stripe.code[row] = at < before ? (uint32_t)PAST_READ : read_code(task, at - before);
        stripe.h[row] = stripe.e[row] = 0;
    }
    stripe.above = 0;
    stripe.best = stripe.best_column = 0;
    stripe.handed = 0;
    uint32_t chunk = 0;
    for (uint32_t at = 0; at < task->width + WARP - 1; at++) {
        if (at % WARP == 0) {
            chunk = window_code(task, at + task->lane);
        }
        uint32_t next = __shfl_sync(ALL, chunk, at % WARP);
        uint32_t received = __shfl_up_sync(ALL, stripe.handed, 1);
        received = task->lane == 0 ? 8u << 10 | next << 20 : received;
        uint32_t column = at - task->lane;
        if (column < task->width) {
            uint64_t *back = task->back
                                 ? task->back + ((uint64_t)at * WARP + task->lane) * words_of(ROWS)
                                 : NULL;
            step<ROWS>(task, &stripe, start, column, received, back);
        }
    }
    uint64_t key = end_key(stripe.best, stripe.best_column);
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        uint64_t other = __shfl_xor_sync(ALL, key, offset);
        key = other > key ? other : key;
    }
    return key;
}

/* One thread follows the way back. row: among all rows of the matrix. */
template <int ROWS>
__device__ static void trace(const struct task *task, uint32_t window, uint32_t row, int32_t score,
                             struct gn_extension *out) {
    struct gn_walk walk;
    uint32_t before = ROWS * WARP - task->length;
    gn_walk_begin(&walk, row - before + 1, task->width, task->length, score);
    while (gn_walk_goes_on(&walk)) {
        uint32_t at = before + walk.row - 1, thread = at / ROWS, mine = at % ROWS;
        const uint64_t *words =
            task->back + ((uint64_t)(walk.column - 1 + thread) * WARP + thread) * words_of(ROWS);
        uint32_t bits = (uint32_t)(words[mine / 12] >> (CELL_BITS * (mine % 12)));
        gn_walk_step(&walk, bits & 15, (bits & EQUAL) != 0, out);
    }
    gn_walk_finish(&walk, window, task->width, score, out);
}

template <int ROWS>
__device__ static void align(struct task *task, uint64_t *scratch, struct gn_extension *out) {
    task->back = NULL;
    uint64_t key = pass<ROWS>(task);
    int32_t score = (int32_t)(key >> 32);
    if (score < SCORE_MIN) {
        return;
    }
    uint32_t end = 0xffffu - (uint32_t)(key >> 16 & 0xffff) + 1;
    uint32_t reach = gn_walk_reach(task->length, score);
    task->width = reach < end ? reach : end;
    task->window += end - task->width;
    task->back = scratch;
    pass<ROWS>(task);
    __syncwarp();
    if (task->lane == 0) {
        struct gn_extension mine;
        trace<ROWS>(task, (uint32_t)task->window, (uint32_t)(key & 0xffff), score, &mine);
        *out = mine;
    }
    __syncwarp();
}

/* Bytes of scratch that a warp needs for reads of up to this length. */
__device__ static uint64_t slot_bytes(uint32_t longest) {
    uint32_t rows = (longest + WARP - 1) / WARP;
    uint64_t steps = (uint64_t)gn_walk_reach(longest, SCORE_MIN) + WARP;
    return steps * WARP * words_of(rows) * sizeof(uint64_t);
}

__device__ static void clear(uint32_t lane, struct gn_extension *out) {
    uint32_t *words = (uint32_t *)out;
    for (uint32_t at = lane; at < sizeof(*out) / sizeof(*words); at += WARP) {
        words[at] = 0;
    }
    __syncwarp();
}

/* false: gn_extend would refuse it, or it is empty. */
__device__ static bool look(const struct gn_index *index, const struct gn_reads *reads,
                            const struct gn_job *job, uint32_t lane, struct task *task) {
    if (job->read >= reads->read_count || job->window_length > GN_WINDOW_MAX ||
        (uint64_t)job->window + job->window_length > index->length) {
        return false;
    }
    const struct gn_read *read = (const struct gn_read *)gn_at(reads, reads->reads) + job->read;
    task->packed = (const uint64_t *)gn_at(index, index->packed);
    task->masked = (const uint64_t *)gn_at(index, index->masked);
    task->bases = (const uint8_t *)gn_at(reads, reads->bases) + read->bases;
    task->window = job->window;
    task->width = job->window_length;
    task->length = read->length;
    task->reverse = job->reverse != 0;
    task->lane = lane;
    return task->length > 0 && task->width > 0 && task->length <= GN_READ_MAX;
}

__global__ static void extend(const struct gn_index *index, const struct gn_reads *reads,
                              const struct gn_jobs *jobs, struct gn_extension *out,
                              uint64_t out_count, char *scratch, uint64_t scratch_bytes) {
    uint64_t slot = slot_bytes(reads->longest), slots = scratch_bytes / slot;
    uint64_t warp = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    uint64_t warps = (uint64_t)gridDim.x * blockDim.x / WARP;
    uint32_t lane = threadIdx.x % WARP;
    slots = slots < warps ? slots : warps;
    uint64_t count = jobs->job_count < out_count ? jobs->job_count : out_count;
    const struct gn_job *list = (const struct gn_job *)gn_at(jobs, jobs->jobs);
    for (uint64_t at = warp; warp < slots && at < count; at += slots) {
        struct task task;
        uint64_t *mine = (uint64_t *)(scratch + warp * slot);
        clear(lane, &out[at]);
        if (!look(index, reads, &list[at], lane, &task)) {
            continue;
        }
        uint32_t rows = (task.length + WARP - 1) / WARP;
        if (rows <= 4) {
            align<4>(&task, mine, &out[at]);
        } else if (rows == 5) {
            align<5>(&task, mine, &out[at]);
        } else if (rows <= 8) {
            align<8>(&task, mine, &out[at]);
        } else {
            align<ROWS_MAX>(&task, mine, &out[at]);
        }
    }
}

extern "C" cudaError_t gn_cuda_extend(const struct gn_index *index, const struct gn_reads *reads,
                                      const struct gn_jobs *jobs, uint64_t jobs_bytes,
                                      struct gn_extension *out, uint64_t out_bytes,
                                      cudaStream_t stream) {
    uint64_t most = jobs_bytes / sizeof(struct gn_job), count = out_bytes / sizeof(*out);
    most = most < count ? most : count;
    if (most == 0) {
        return cudaSuccess;
    }
    uint64_t warps = SCRATCH_BYTES / (32u << 10);
    warps = most < warps ? most : warps;
    /* The longest reads' slot at least, and not more than so many warps of them can use. */
    uint64_t slot = (2 * GN_READ_MAX + WARP) * WARP * 2 * sizeof(uint64_t);
    uint64_t bytes = warps * slot < SCRATCH_BYTES ? warps * slot : SCRATCH_BYTES;
    void *scratch = NULL;
    cudaError_t status = cudaMallocAsync(&scratch, bytes, stream);
    if (status != cudaSuccess) {
        return status;
    }
    extend<<<(uint32_t)((warps + WARPS - 1) / WARPS), WARPS * WARP, 0, stream>>>(
        index, reads, jobs, out, count, (char *)scratch, bytes);
    status = cudaGetLastError();
    cudaError_t freed = cudaFreeAsync(scratch, stream);
    return status != cudaSuccess ? status : freed;
}
