/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels on a GPU, in single precision on its ordinary cores; see attention.h for the data.
 *
 * A block has SIDE rows of one head of one sequence, and goes through tiles of SIDE keys, from
 * half a window before its first row on. Each of its four warps has 16 of the rows; a lane has
 * columns lane and lane + 32 of them. Products are SIDE x SIDE x SIDE: the left operand lies row by
 * row in shared memory and is read four floats at once, the same for all lanes; the right one is
 * read lane by lane. Heads are wider than SIDE in pieces of it; what is missing is 0.
 */
#include "attention/window_cuda.h"

enum { SIDE = 64, WARPS = 4, THREADS = 32 * WARPS, ROWS = SIDE / WARPS, PITCH = SIDE + 1 };

struct place {
    uint64_t sequence;  /* first row of the sequence */
    uint32_t row, head; /* row: the block's first, in the sequence */
};

__device__ static inline struct place place_of(const struct attn_cuda_shape &shape, uint32_t y) {
    struct place place;
    place.sequence = (uint64_t)(y / shape.heads) * shape.length;
    place.head = y % shape.heads;
    place.row = blockIdx.x * SIDE;
    return place;
}

/* Four columns of a token; those from count on are 0. Heads of a multiple of four columns begin at
 * multiples of 16 bytes. */
__device__ static inline float4 load_four(const float *from, bool there, int32_t count) {
    float4 x = make_float4(0, 0, 0, 0);
    if (there && count % 4 == 0 && count > 0) {
        x = *(const float4 *)from;
    } else if (there) {
        x.x = count > 0 ? from[0] : 0;
        x.y = count > 1 ? from[1] : 0;
        x.z = count > 2 ? from[2] : 0;
        x.w = count > 3 ? from[3] : 0;
    }
    return x;
}

/* Tokens [first, first + SIDE) of the sequence, columns [column, column + SIDE) of the head, in
 * part `part` of qkv: to[token][SIDE], or turned: to[column][PITCH]. */
template <bool turned>
__device__ static inline void load_tokens(const struct attn_cuda_shape &shape, const float *qkv,
                                          const struct place &place, uint32_t part, int64_t first,
                                          uint32_t column, float *to) {
    uint32_t c = threadIdx.x % (SIDE / 4) * 4, token = threadIdx.x / (SIDE / 4);
    uint64_t line = 3 * (uint64_t)shape.model;
    int32_t begin = (int32_t)first, length = (int32_t)shape.length;
    int32_t count = (int32_t)(shape.width - column) - (int32_t)c;
    const float *from = qkv + (place.sequence + first + token) * line +
                        (uint64_t)part * shape.model + place.head * shape.width + column + c;
#pragma unroll
    for (uint32_t i = 0; i < SIDE * SIDE / 4 / THREADS; i++) {
        int32_t at = begin + (int32_t)token;
        float4 x = load_four(from, at >= 0 && at < length, count);
        if (turned) {
            to[(c + 0) * PITCH + token] = x.x;
            to[(c + 1) * PITCH + token] = x.y;
            to[(c + 2) * PITCH + token] = x.z;
            to[(c + 3) * PITCH + token] = x.w;
        } else {
            *(float4 *)(to + token * SIDE + c) = x;
        }
        token += THREADS / (SIDE / 4);
        from += THREADS / (SIDE / 4) * line;
    }
}

/* sums[r][i] += left[row of the warp + r] . column lane + 32 i of right, over SIDE. left: [row]
 * [pitch_left], right: [SIDE][pitch]. */
__device__ static inline void multiply(const float *left, uint32_t pitch_left, const float *right,
                                       uint32_t pitch, float sums[ROWS][2]) {
    const float *mine = left + threadIdx.x / 32 * ROWS * pitch_left;
    const float *column = right + threadIdx.x % 32;
#pragma unroll 2
    for (uint32_t k = 0; k < SIDE; k += 4) {
        float r[4][2];
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
            r[i][0] = column[(k + i) * pitch];
            r[i][1] = column[(k + i) * pitch + 32];
        }
#pragma unroll
        for (uint32_t row = 0; row < ROWS; row++) {
            float4 l = *(const float4 *)(mine + row * pitch_left + k);
            sums[row][0] += l.x * r[0][0];
            sums[row][1] += l.x * r[0][1];
            sums[row][0] += l.y * r[1][0];
            sums[row][1] += l.y * r[1][1];
            sums[row][0] += l.z * r[2][0];
            sums[row][1] += l.z * r[2][1];
            sums[row][0] += l.w * r[3][0];
            sums[row][1] += l.w * r[3][1];
        }
    }
}

__device__ static inline void clear(float sums[ROWS][2]) {
#pragma unroll
    for (uint32_t row = 0; row < ROWS; row++) {
        sums[row][0] = sums[row][1] = 0;
    }
}

/* --- scores ------------------------------------------------------------------------------------
 * Block (rows, key tile, head of a sequence). */
__global__ static void __launch_bounds__(THREADS)
    scores_kernel(struct attn_cuda_shape shape, const float *__restrict__ qkv,
                  float *__restrict__ scores) {
    __shared__ __align__(16) float queries[SIDE * SIDE];
    __shared__ float keys[SIDE * PITCH];
    struct place place = place_of(shape, blockIdx.z);
    int64_t first = (int64_t)place.row + (int64_t)blockIdx.y * SIDE - shape.half;
    float sums[ROWS][2], scale = rsqrtf((float)shape.width);
    clear(sums);
    bool inside = first < (int64_t)shape.length && first + SIDE > 0;
    for (uint32_t column = 0; inside && column < shape.width; column += SIDE) {
        load_tokens<false>(shape, qkv, place, 0, place.row, column, queries);
        load_tokens<true>(shape, qkv, place, 1, first, column, keys);
        __syncthreads();
        multiply(queries, SIDE, keys, PITCH, sums);
        __syncthreads();
    }
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
        uint32_t row = place.row + threadIdx.x / 32 * ROWS + r;
#pragma unroll
        for (uint32_t i = 0; i < 2; i++) {
            int64_t key = first + threadIdx.x % 32 + 32 * i;
            int64_t slot = key - row + shape.half;
            if (row < shape.length && slot >= 0 && slot < shape.slots) {
                bool there = key >= 0 && key < shape.length;
                scores[((place.sequence + row) * shape.heads + place.head) * shape.slots + slot] =
                    there ? sums[r][i] * scale : -INFINITY;
            }
        }
    }
}

/* --- softmax -----------------------------------------------------------------------------------
 * A warp per row and head, which it reads twice; the second time from the cache. */
__device__ static inline float largest_of_warp(float x) {
#pragma unroll
    for (uint32_t step = 16; step; step /= 2) {
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
    }
    return x;
}

__device__ static inline float sum_of_warp(float x) {
#pragma unroll
    for (uint32_t step = 16; step; step /= 2) {
        x += __shfl_xor_sync(0xffffffffu, x, step);
    }
    return x;
}

/* e^(x - y), where both may be -INFINITY. */
__device__ static inline float power(float x, float y) {
    return x == -INFINITY ? 0 : __expf(x - y);
}

__global__ static void __launch_bounds__(THREADS)
    softmax_kernel(uint64_t lines, uint32_t slots, const float *__restrict__ scores,
                   float *__restrict__ probabilities) {
    uint64_t line = (uint64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (line >= lines) {
        return;
    }
    const float *from = scores + line * slots;
    float *to = probabilities + line * slots;
    float most = -INFINITY, sum = 0;
    for (uint32_t slot = threadIdx.x % 32; slot < slots; slot += 32) {
        float x = from[slot];
        float larger = fmaxf(most, x);
        sum = sum * power(most, larger) + power(x, larger);
        most = larger;
    }
    float all = largest_of_warp(most);
    sum = sum_of_warp(sum * power(most, all));
    float factor = 1 / sum;
    for (uint32_t slot = threadIdx.x % 32; slot < slots; slot += 32) {
        to[slot] = power(from[slot], all) * factor;
    }
}

/* --- mix ---------------------------------------------------------------------------------------
 * Block (rows, SIDE columns of the head, head of a sequence). */
/* What the block's rows give to keys [first, first + SIDE): to[row][SIDE]. */
__device__ static inline void load_slots(const struct attn_cuda_shape &shape,
                                         const float *probabilities, const struct place &place,
                                         int32_t first, float *to) {
    enum { STEP = THREADS / SIDE };
    uint32_t top = threadIdx.x / SIDE;
    int32_t slot =
        first + (int32_t)(threadIdx.x % SIDE) - (int32_t)(place.row + top) + (int32_t)shape.half;
    int32_t slots = (int32_t)shape.slots, left = (int32_t)(shape.length - place.row) - (int32_t)top;
    uint64_t line = (uint64_t)shape.heads * shape.slots;
    const float *from = probabilities + (place.sequence + place.row + top) * line +
                        (uint64_t)place.head * shape.slots + (int64_t)slot;
#pragma unroll 8
    for (uint32_t i = threadIdx.x; i < SIDE * SIDE; i += THREADS) {
        to[i] = left > 0 && slot >= 0 && slot < slots ? *from : 0;
        from += STEP * line - STEP;
        slot -= STEP;
        left -= STEP;
    }
}

__global__ static void __launch_bounds__(THREADS)
    mix_kernel(struct attn_cuda_shape shape, const float *__restrict__ probabilities,
               const float *__restrict__ qkv, float *__restrict__ mixed) {
    __shared__ __align__(16) float left[SIDE * SIDE];
    __shared__ __align__(16) float values[SIDE * SIDE];
    struct place place = place_of(shape, blockIdx.z);
    uint32_t column = blockIdx.y * SIDE;
    int64_t last = (int64_t)place.row + SIDE + shape.half;
    float sums[ROWS][2];
    clear(sums);
    last = last < shape.length ? last : shape.length;
    for (int64_t first = (int64_t)place.row - shape.half; first < last; first += SIDE) {
        if (first + SIDE <= 0) {
            continue;
        }
        load_slots(shape, probabilities, place, (int32_t)first, left);
        load_tokens<false>(shape, qkv, place, 2, first, column, values);
        __syncthreads();
        multiply(left, SIDE, values, SIDE, sums);
        __syncthreads();
    }
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
        uint32_t row = place.row + threadIdx.x / 32 * ROWS + r;
#pragma unroll
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t c = column + threadIdx.x % 32 + 32 * i;
            if (row < shape.length && c < shape.width) {
                mixed[(place.sequence + row) * shape.model + place.head * shape.width + c] =
                    sums[r][i];
            }
        }
    }
}

/* --- all at once -------------------------------------------------------------------------------
 * Block (rows, 1, head of a sequence). Sums are relative to the largest score so far; each lane
 * keeps its share of a row's sum. */
template <uint32_t pieces> struct memory {
    float queries[SIDE * SIDE * pieces];
    float values[SIDE * SIDE * pieces];
    union {
        float keys[SIDE * PITCH];
        float powers[SIDE * SIDE]; /* when all have read the keys */
    };
};

/* What a tile's scores become: powers in shared memory, for this warp's rows. */
template <uint32_t pieces>
__device__ static inline void advance(const struct attn_cuda_shape &shape,
                                      const struct place &place, int64_t first,
                                      float scores[ROWS][2], float *powers, float largest[ROWS],
                                      float sum[ROWS], float sums[pieces][ROWS][2]) {
    uint32_t lane = threadIdx.x % 32, top = threadIdx.x / 32 * ROWS;
    float scale = rsqrtf((float)shape.width);
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
        float s[2];
#pragma unroll
        for (uint32_t i = 0; i < 2; i++) {
            int64_t key = first + lane + 32 * i, slot = key - (place.row + top + r) + shape.half;
            bool there = key >= 0 && key < shape.length && slot >= 0 && slot < shape.slots;
            s[i] = there ? scores[r][i] * scale : -INFINITY;
        }
        float most = fmaxf(largest[r], largest_of_warp(fmaxf(s[0], s[1])));
        float factor = power(largest[r], most);
        float p0 = power(s[0], most), p1 = power(s[1], most);
        powers[(top + r) * SIDE + lane] = p0;
        powers[(top + r) * SIDE + lane + 32] = p1;
        sum[r] = sum[r] * factor + p0 + p1;
        largest[r] = most;
#pragma unroll
        for (uint32_t piece = 0; piece < pieces; piece++) {
            sums[piece][r][0] *= factor;
            sums[piece][r][1] *= factor;
        }
    }
}

template <uint32_t pieces>
__global__ static void __launch_bounds__(THREADS)
    attention_kernel(struct attn_cuda_shape shape, const float *__restrict__ qkv,
                     float *__restrict__ mixed) {
    extern __shared__ __align__(16) float shared[];
    memory<pieces> *memory_ = (memory<pieces> *)shared;
    struct place place = place_of(shape, blockIdx.z);
    int64_t last = (int64_t)place.row + SIDE + shape.half;
    float sums[pieces][ROWS][2], largest[ROWS], sum[ROWS];
    last = last < shape.length ? last : shape.length;
#pragma unroll
    for (uint32_t piece = 0; piece < pieces; piece++) {
        clear(sums[piece]);
        load_tokens<false>(shape, qkv, place, 0, place.row, piece * SIDE,
                           memory_->queries + piece * SIDE * SIDE);
    }
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
        largest[r] = -INFINITY;
        sum[r] = 0;
    }
    for (int64_t first = (int64_t)place.row - shape.half; first < last; first += SIDE) {
        if (first + SIDE <= 0) {
            continue;
        }
        float scores[ROWS][2];
        clear(scores);
#pragma unroll
        for (uint32_t piece = 0; piece < pieces; piece++) {
            __syncthreads();
            load_tokens<true>(shape, qkv, place, 1, first, piece * SIDE, memory_->keys);
            load_tokens<false>(shape, qkv, place, 2, first, piece * SIDE,
                               memory_->values + piece * SIDE * SIDE);
            __syncthreads();
            multiply(memory_->queries + piece * SIDE * SIDE, SIDE, memory_->keys, PITCH, scores);
        }
        __syncthreads();
        advance<pieces>(shape, place, first, scores, memory_->powers, largest, sum, sums);
        __syncwarp();
#pragma unroll
        for (uint32_t piece = 0; piece < pieces; piece++) {
            multiply(memory_->powers, SIDE, memory_->values + piece * SIDE * SIDE, SIDE,
                     sums[piece]);
        }
    }
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
        uint32_t row = place.row + threadIdx.x / 32 * ROWS + r;
        float factor = 1 / sum_of_warp(sum[r]);
#pragma unroll
        for (uint32_t piece = 0; piece < pieces; piece++) {
#pragma unroll
            for (uint32_t i = 0; i < 2; i++) {
                uint32_t c = piece * SIDE + threadIdx.x % 32 + 32 * i;
                if (row < shape.length && c < shape.width) {
                    mixed[(place.sequence + row) * shape.model + place.head * shape.width + c] =
                        sums[piece][r][i] * factor;
                }
            }
        }
    }
}

/* --- from the host -----------------------------------------------------------------------------
 * The third dimension of a grid, heads of sequences, has 65,535 at most: more go in turns. */
enum { GRID_Z = 65535 };

static uint32_t over(uint64_t a, uint32_t b) {
    return (uint32_t)((a + b - 1) / b);
}

/* So many sequences per launch. */
static uint32_t sequences_at_once(const struct attn_cuda_shape *shape) {
    uint32_t count = GRID_Z / shape->heads;
    return count < shape->batch ? count : shape->batch;
}

/* Calls launch(qkv, other, out, heads of sequences) for the sequences, some at a time. */
template <typename launcher>
static cudaError_t in_turns(const struct attn_cuda_shape *shape, launcher launch) {
    uint32_t step = sequences_at_once(shape);
    for (uint32_t batch = 0; batch < shape->batch && step; batch += step) {
        uint32_t count = shape->batch - batch < step ? shape->batch - batch : step;
        launch((uint64_t)batch * shape->length, count * shape->heads);
    }
    return step ? cudaGetLastError() : cudaErrorInvalidValue;
}

cudaError_t attn_cuda_scores(const struct attn_cuda_shape *shape, const float *qkv, float *scores,
                             cudaStream_t stream) {
    uint32_t rows = over(shape->length, SIDE), tiles = over(SIDE + 2 * shape->half, SIDE);
    uint64_t line = (uint64_t)shape->heads * shape->slots;
    return in_turns(shape, [&](uint64_t first, uint32_t heads) {
        scores_kernel<<<dim3(rows, tiles, heads), THREADS, 0, stream>>>(
            *shape, qkv + first * 3 * shape->model, scores + first * line);
    });
}

cudaError_t attn_cuda_softmax(const struct attn_cuda_shape *shape, const float *scores,
                              float *probabilities, cudaStream_t stream) {
    uint64_t lines = (uint64_t)shape->batch * shape->length * shape->heads;
    softmax_kernel<<<over(lines, WARPS), THREADS, 0, stream>>>(lines, shape->slots, scores,
                                                               probabilities);
    return cudaGetLastError();
}

cudaError_t attn_cuda_mix(const struct attn_cuda_shape *shape, const float *probabilities,
                          const float *qkv, float *mixed, cudaStream_t stream) {
    uint32_t rows = over(shape->length, SIDE), pieces = over(shape->width, SIDE);
    uint64_t line = (uint64_t)shape->heads * shape->slots;
    return in_turns(shape, [&](uint64_t first, uint32_t heads) {
        mix_kernel<<<dim3(rows, pieces, heads), THREADS, 0, stream>>>(
            *shape, probabilities + first * line, qkv + first * 3 * shape->model,
            mixed + first * shape->model);
    });
}

template <uint32_t pieces>
static cudaError_t attend(const struct attn_cuda_shape *shape, const float *qkv, float *mixed,
                          cudaStream_t stream) {
    int bytes = sizeof(memory<pieces>);
    uint32_t rows = over(shape->length, SIDE);
    cudaError_t status = cudaFuncSetAttribute(attention_kernel<pieces>,
                                              cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    return status != cudaSuccess ? status : in_turns(shape, [&](uint64_t first, uint32_t heads) {
        attention_kernel<pieces><<<dim3(rows, 1, heads), THREADS, bytes, stream>>>(
            *shape, qkv + first * 3 * shape->model, mixed + first * shape->model);
    });
}

cudaError_t attn_cuda_attention(const struct attn_cuda_shape *shape, const float *qkv, float *mixed,
                                cudaStream_t stream) {
    switch (over(shape->width, SIDE)) {
    case 1:
        return attend<1>(shape, qkv, mixed, stream);
    case 2:
        return attend<2>(shape, qkv, mixed, stream);
    default:
        return attend<4>(shape, qkv, mixed, stream);
    }
}
