/* SPDX-License-Identifier: Apache-2.0
 *
 * Sparse products, edge softmax and activation on CUDA devices; see cuda_kernels.h.
 *
 * A group of 8 to 32 threads takes a row of the result (spmm) or a run of edges (sddmm); each
 * thread has VEC neighbouring columns, so that a row of the dense matrix is read in one piece.
 * Columns and values of a row are read by the group together and handed round. Results do not
 * depend on the order in which groups run.
 */
#include "gnn/cuda_kernels.h"

enum {
    THREADS = 256,
    CUT_MIN = 1024, /* edges of a row that may be cut, at least; else CUT_RATIO mean degrees */
    CUT_RATIO = 8,
    RUN = 64,            /* edges of a group of sddmm */
    CUT_BLOCKS = 1024,   /* of kernels that go through what was cut */
    SOFTMAX_LONG = 4096, /* edges of a row that a whole block takes */
    SCAN = 1024          /* rows that a block looks through for those */
};

/* --- helpers ---------------------------------------------------------------------------------- */

template <int VEC> struct __align__(4 * VEC) pack {
    float at[VEC];
};

template <int VEC> __device__ static pack<VEC> load(const float *from) {
    pack<VEC> value;
    if (VEC == 4) {
        *reinterpret_cast<float4 *>(value.at) = *reinterpret_cast<const float4 *>(from);
    } else if (VEC == 2) {
        *reinterpret_cast<float2 *>(value.at) = *reinterpret_cast<const float2 *>(from);
    } else {
        value.at[0] = *from;
    }
    return value;
}

template <int VEC> __device__ static void store(float *to, const pack<VEC> &value) {
    if (VEC == 4) {
        *reinterpret_cast<float4 *>(to) = *reinterpret_cast<const float4 *>(value.at);
    } else if (VEC == 2) {
        *reinterpret_cast<float2 *>(to) = *reinterpret_cast<const float2 *>(value.at);
    } else {
        *to = value.at[0];
    }
}

__device__ static float activated(float x, int activation) {
    if (activation == 1) {
        return x > 0 ? x : 0;
    }
    if (activation == 2) {
        float u = 0.7978845608f * (x + 0.044715f * x * x * x);
        return x / (1 + expf(-2 * u));
    }
    return x;
}

/* The threads of this thread's group. */
template <int GROUP> __device__ static unsigned int group_mask() {
    unsigned int all = 0xffffffffu >> (32 - GROUP);
    return all << (threadIdx.x % 32 / GROUP * GROUP);
}

template <int GROUP> __device__ static uint32_t group_number() {
    return (blockIdx.x * THREADS + threadIdx.x) / GROUP;
}

/* --- spmm ------------------------------------------------------------------------------------- */

/* Rows that were cut: filled by spmm_rows, in any order. Pieces of a row are neighbours. */
struct cuts {
    uint32_t limit, piece; /* edges above which a row is cut, and of a piece */
    uint32_t *counts;      /* pieces, rows */
    uint32_t *piece_rows, *piece_numbers;
    uint32_t *rows, *first_pieces;
    float *sums; /* per piece, width values */
};

template <int VEC, int GROUP>
__device__ static pack<VEC> sum_edges(const gnn_sparse &sparse, const float *x, uint32_t from,
                                      uint32_t to, uint32_t column) {
    const unsigned int mask = group_mask<GROUP>();
    const uint32_t lane = threadIdx.x % GROUP;
    const bool active = column < sparse.width;
    pack<VEC> sum = {};
    for (uint32_t base = from; base < to; base += GROUP) {
        bool mine = base + lane < to;
        uint32_t other = mine ? sparse.columns[base + lane] : 0;
        float value = mine ? sparse.values[base + lane] : 0;
        int count = to - base < GROUP ? (int)(to - base) : GROUP;
#pragma unroll 4
        for (int k = 0; k < count; k++) {
            uint32_t row = __shfl_sync(mask, other, k, GROUP);
            float factor = __shfl_sync(mask, value, k, GROUP);
            if (active) {
                pack<VEC> part = load<VEC>(x + (size_t)row * sparse.width + column);
#pragma unroll
                for (int v = 0; v < VEC; v++) {
                    sum.at[v] += factor * part.at[v];
                }
            }
        }
    }
    return sum;
}

template <int VEC>
__device__ static void finish(const gnn_sparse &sparse, const float *x, float *y, uint32_t row,
                              uint32_t column, pack<VEC> sum) {
    uint32_t degree = sparse.offsets[row + 1] - sparse.offsets[row];
    float factor = sparse.mean && degree ? 1 / (float)degree : 1;
    pack<VEC> own = {};
    size_t at = (size_t)row * sparse.width + column;
    if (sparse.self != 0) {
        own = load<VEC>(x + at);
    }
#pragma unroll
    for (int v = 0; v < VEC; v++) {
        sum.at[v] = activated(factor * sum.at[v] + sparse.self * own.at[v], sparse.activation);
    }
    store<VEC>(y + at, sum);
}

__device__ static void cut(const cuts &cuts, uint32_t row, uint32_t degree) {
    uint32_t pieces = (degree + cuts.piece - 1) / cuts.piece;
    uint32_t first = atomicAdd(&cuts.counts[0], pieces);
    uint32_t place = atomicAdd(&cuts.counts[1], 1u);
    cuts.rows[place] = row;
    cuts.first_pieces[place] = first;
    for (uint32_t i = 0; i < pieces; i++) {
        cuts.piece_rows[first + i] = row;
        cuts.piece_numbers[first + i] = i;
    }
}

template <int VEC, int GROUP>
__global__ static void spmm_rows(gnn_sparse sparse, const float *x, float *y, cuts cuts) {
    uint32_t row = group_number<GROUP>();
    uint32_t column = (blockIdx.y * GROUP + threadIdx.x % GROUP) * VEC;
    if (row >= sparse.rows) {
        return;
    }
    uint32_t from = sparse.offsets[row], to = sparse.offsets[row + 1];
    if (to - from > cuts.limit) {
        if (column == 0) {
            cut(cuts, row, to - from);
        }
        return;
    }
    pack<VEC> sum = sum_edges<VEC, GROUP>(sparse, x, from, to, column);
    if (column < sparse.width) {
        finish<VEC>(sparse, x, y, row, column, sum);
    }
}

template <int VEC, int GROUP>
__global__ static void spmm_pieces(gnn_sparse sparse, const float *x, cuts cuts) {
    uint32_t column = (blockIdx.y * GROUP + threadIdx.x % GROUP) * VEC;
    uint32_t groups = gridDim.x * THREADS / GROUP;
    for (uint32_t at = group_number<GROUP>(); at < cuts.counts[0]; at += groups) {
        uint32_t row = cuts.piece_rows[at], end = sparse.offsets[row + 1];
        uint32_t from = sparse.offsets[row] + cuts.piece_numbers[at] * cuts.piece;
        uint32_t to = end - from > cuts.piece ? from + cuts.piece : end;
        pack<VEC> sum = sum_edges<VEC, GROUP>(sparse, x, from, to, column);
        if (column < sparse.width) {
            store<VEC>(cuts.sums + (size_t)at * sparse.width + column, sum);
        }
    }
}

template <int VEC, int GROUP>
__global__ static void spmm_join(gnn_sparse sparse, const float *x, float *y, cuts cuts) {
    uint32_t column = (blockIdx.y * GROUP + threadIdx.x % GROUP) * VEC;
    uint32_t groups = gridDim.x * THREADS / GROUP;
    for (uint32_t at = group_number<GROUP>(); at < cuts.counts[1]; at += groups) {
        uint32_t row = cuts.rows[at], degree = sparse.offsets[row + 1] - sparse.offsets[row];
        uint32_t pieces = (degree + cuts.piece - 1) / cuts.piece;
        pack<VEC> sum = {};
        for (uint32_t i = 0; column < sparse.width && i < pieces; i++) {
            pack<VEC> part =
                load<VEC>(cuts.sums + (size_t)(cuts.first_pieces[at] + i) * sparse.width + column);
#pragma unroll
            for (int v = 0; v < VEC; v++) {
                sum.at[v] += part.at[v];
            }
        }
        if (column < sparse.width) {
            finish<VEC>(sparse, x, y, row, column, sum);
        }
    }
}

static uint32_t limit_of(const gnn_sparse *sparse) {
    uint64_t many = (uint64_t)sparse->edges * CUT_RATIO / sparse->rows;
    uint64_t limit = many > CUT_MIN ? many : CUT_MIN;
    return (uint32_t)(limit < sparse->edges ? limit : sparse->edges);
}

static uint32_t piece_of(uint32_t limit) {
    return limit / 2 > 0 ? limit / 2 : 1;
}

/* At most: rows that are cut, and their pieces (a whole number and one begun of each row). */
static void bounds(const gnn_sparse *sparse, size_t *ret_rows, size_t *ret_pieces) {
    uint32_t limit = limit_of(sparse);
    *ret_rows = sparse->edges / limit + 1;
    *ret_pieces = sparse->edges / piece_of(limit) + *ret_rows;
}

extern "C" size_t gnn_cuda_scratch(const gnn_sparse *sparse) {
    size_t rows, pieces;
    bounds(sparse, &rows, &pieces);
    size_t words = 4 + 2 * rows + 2 * pieces;
    return (words + 3) / 4 * 16 + pieces * sparse->width * sizeof(float);
}

static cuts lay_out(const gnn_sparse *sparse, void *scratch) {
    size_t rows, pieces;
    bounds(sparse, &rows, &pieces);
    uint32_t *words = (uint32_t *)scratch;
    cuts cuts;
    cuts.limit = limit_of(sparse);
    cuts.piece = piece_of(cuts.limit);
    cuts.counts = words;
    cuts.rows = words + 4;
    cuts.first_pieces = cuts.rows + rows;
    cuts.piece_rows = cuts.first_pieces + rows;
    cuts.piece_numbers = cuts.piece_rows + pieces;
    cuts.sums = (float *)(words + (4 + 2 * rows + 2 * pieces + 3) / 4 * 4);
    return cuts;
}

static unsigned int blocks(uint64_t groups, unsigned int group) {
    return (unsigned int)((groups * group + THREADS - 1) / THREADS);
}

template <int VEC, int GROUP>
static cudaError_t spmm(const gnn_sparse *sparse, const float *x, float *y, void *scratch,
                        cudaStream_t stream) {
    cuts cuts = lay_out(sparse, scratch);
    unsigned int slices = (sparse->width + GROUP * VEC - 1) / (GROUP * VEC);
    cudaError_t status = cudaMemsetAsync(scratch, 0, 16, stream);
    if (status != cudaSuccess) {
        return status;
    }
    dim3 grid(blocks(sparse->rows, GROUP), slices);
    spmm_rows<VEC, GROUP><<<grid, THREADS, 0, stream>>>(*sparse, x, y, cuts);
    if (cuts.limit < sparse->edges) {
        dim3 some(CUT_BLOCKS, slices);
        spmm_pieces<VEC, GROUP><<<some, THREADS, 0, stream>>>(*sparse, x, cuts);
        spmm_join<VEC, GROUP><<<some, THREADS, 0, stream>>>(*sparse, x, y, cuts);
    }
    return cudaGetLastError();
}

/* --- sddmm ------------------------------------------------------------------------------------ */

/* The row of an edge. */
__device__ static uint32_t row_of(const uint32_t *offsets, uint32_t rows, uint32_t edge) {
    uint32_t low = 0, high = rows;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (offsets[middle] <= edge) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

template <int VEC, int GROUP>
__global__ static void sddmm_runs(gnn_sparse sparse, const float *q, const float *k, float scale,
                                  float *s) {
    uint64_t first = (uint64_t)group_number<GROUP>() * RUN;
    if (first >= sparse.edges) {
        return;
    }
    uint32_t edge = (uint32_t)first, lane = threadIdx.x % GROUP;
    uint32_t end = sparse.edges - edge > RUN ? edge + RUN : sparse.edges;
    uint32_t row = row_of(sparse.offsets, sparse.rows, edge);
    for (; edge < end; edge++) {
        while (sparse.offsets[row + 1] <= edge) {
            row++;
        }
        const float *a = q + (size_t)row * sparse.width;
        const float *b = k + (size_t)sparse.columns[edge] * sparse.width;
        float sum = 0;
        for (uint32_t column = lane * VEC; column < sparse.width; column += GROUP * VEC) {
            pack<VEC> left = load<VEC>(a + column), right = load<VEC>(b + column);
#pragma unroll
            for (int v = 0; v < VEC; v++) {
                sum += left.at[v] * right.at[v];
            }
        }
#pragma unroll
        for (int step = GROUP / 2; step > 0; step /= 2) {
            sum += __shfl_xor_sync(group_mask<GROUP>(), sum, step, GROUP);
        }
        if (lane == 0) {
            s[edge] = scale * sum;
        }
    }
}

template <int VEC, int GROUP>
static cudaError_t sddmm(const gnn_sparse *sparse, const float *q, const float *k, float scale,
                         float *s, cudaStream_t stream) {
    uint64_t runs = ((uint64_t)sparse->edges + RUN - 1) / RUN;
    sddmm_runs<VEC, GROUP><<<blocks(runs, GROUP), THREADS, 0, stream>>>(*sparse, q, k, scale, s);
    return cudaGetLastError();
}

/* Widest loads that rows allow, and as few threads as have a row in one go. */
static int vector_of(uint32_t width, const void *a, const void *b) {
    uintptr_t bits = (uintptr_t)a | (uintptr_t)b;
    return width % 4 == 0 && bits % 16 == 0 ? 4 : width % 2 == 0 && bits % 8 == 0 ? 2 : 1;
}

#define BY_SHAPE(function, vector, width, ...)                                                     \
    ((vector) == 4   ? BY_GROUP(function, 4, width, __VA_ARGS__)                                   \
     : (vector) == 2 ? BY_GROUP(function, 2, width, __VA_ARGS__)                                   \
                     : BY_GROUP(function, 1, width, __VA_ARGS__))
#define BY_GROUP(function, vector, width, ...)                                                     \
    ((width) > 16 * (vector)  ? function<vector, 32>(__VA_ARGS__)                                  \
     : (width) > 8 * (vector) ? function<vector, 16>(__VA_ARGS__)                                  \
                              : function<vector, 8>(__VA_ARGS__))

extern "C" cudaError_t gnn_cuda_spmm(const gnn_sparse *sparse, const float *x, float *y,
                                     void *scratch, cudaStream_t stream) {
    int vector = vector_of(sparse->width, x, y);
    return BY_SHAPE(spmm, vector, sparse->width, sparse, x, y, scratch, stream);
}

extern "C" cudaError_t gnn_cuda_sddmm(const gnn_sparse *sparse, const float *q, const float *k,
                                      float scale, float *s, cudaStream_t stream) {
    int vector = vector_of(sparse->width, q, k);
    return BY_SHAPE(sddmm, vector, sparse->width, sparse, q, k, scale, s, stream);
}

/* --- the rest --------------------------------------------------------------------------------- */

__global__ static void finish_rows(gnn_sparse sparse, const float *x, float *y) {
    uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (at >= (uint64_t)sparse.rows * sparse.width) {
        return;
    }
    pack<1> sum = {{y[at]}};
    finish<1>(sparse, x, y, (uint32_t)(at / sparse.width), (uint32_t)(at % sparse.width), sum);
}

extern "C" cudaError_t gnn_cuda_finish(const gnn_sparse *sparse, const float *x, float *y,
                                       cudaStream_t stream) {
    if (sparse->self == 0 && !sparse->mean && sparse->activation == 0) {
        return cudaSuccess;
    }
    finish_rows<<<blocks((uint64_t)sparse->rows * sparse->width, 1), THREADS, 0, stream>>>(*sparse,
                                                                                           x, y);
    return cudaGetLastError();
}

/* Over all threads of a block, or of a warp. */
template <bool MOST> __device__ static float both(float a, float b) {
    return MOST ? fmaxf(a, b) : a + b;
}

template <bool MOST> __device__ static float warp_all(float value) {
    for (int step = 16; step > 0; step /= 2) {
        value = both<MOST>(value, __shfl_xor_sync(0xffffffffu, value, step));
    }
    return value;
}

template <bool MOST> __device__ static float block_all(float value, float *room) {
    value = warp_all<MOST>(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        room[threadIdx.x / 32] = value;
    }
    __syncthreads();
    value = room[0];
    for (int i = 1; i < THREADS / 32; i++) {
        value = both<MOST>(value, room[i]);
    }
    return value;
}

/* Edges [from, to) by THREADS threads of a block (room given) or by a warp. */
__device__ static void softmax_row(uint32_t from, uint32_t to, const float *s, float *a,
                                   float *room) {
    uint32_t lane = room ? threadIdx.x : threadIdx.x % 32, step = room ? THREADS : 32;
    float most = -INFINITY, sum = 0;
    for (uint32_t e = from + lane; e < to; e += step) {
        most = fmaxf(most, s[e]);
    }
    most = room ? block_all<true>(most, room) : warp_all<true>(most);
    for (uint32_t e = from + lane; e < to; e += step) {
        a[e] = expf(s[e] - most);
        sum += a[e];
    }
    sum = room ? block_all<false>(sum, room) : warp_all<false>(sum);
    for (uint32_t e = from + lane; e < to; e += step) {
        a[e] /= sum;
    }
}

__global__ static void softmax_short(gnn_sparse sparse, const float *s, float *a) {
    uint32_t row = group_number<32>();
    if (row < sparse.rows && sparse.offsets[row + 1] - sparse.offsets[row] <= SOFTMAX_LONG) {
        softmax_row(sparse.offsets[row], sparse.offsets[row + 1], s, a, NULL);
    }
}

__global__ static void softmax_long(gnn_sparse sparse, const float *s, float *a) {
    __shared__ uint32_t found[SCAN];
    __shared__ uint32_t count;
    __shared__ float room[THREADS / 32];
    if (threadIdx.x == 0) {
        count = 0;
    }
    __syncthreads();
    uint64_t end = ((uint64_t)blockIdx.x + 1) * SCAN;
    end = end < sparse.rows ? end : sparse.rows;
    for (uint64_t row = (uint64_t)blockIdx.x * SCAN + threadIdx.x; row < end; row += THREADS) {
        if (sparse.offsets[row + 1] - sparse.offsets[row] > SOFTMAX_LONG) {
            found[atomicAdd(&count, 1u)] = (uint32_t)row;
        }
    }
    __syncthreads();
    for (uint32_t i = 0; i < count; i++) {
        softmax_row(sparse.offsets[found[i]], sparse.offsets[found[i] + 1], s, a, room);
    }
}

extern "C" cudaError_t gnn_cuda_softmax(const gnn_sparse *sparse, const float *s, float *a,
                                        cudaStream_t stream) {
    softmax_short<<<blocks(sparse->rows, 32), THREADS, 0, stream>>>(*sparse, s, a);
    if (sparse->edges > SOFTMAX_LONG) {
        unsigned int scans = (unsigned int)(((uint64_t)sparse->rows + SCAN - 1) / SCAN);
        softmax_long<<<scans, THREADS, 0, stream>>>(*sparse, s, a);
    }
    return cudaGetLastError();
}

__global__ static void activate(float *c, const float *r, uint64_t count, int activation) {
    uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (at < count) {
        c[at] = activated(c[at], activation) + (r ? r[at] : 0);
    }
}

extern "C" cudaError_t gnn_cuda_activate(float *c, const float *r, uint64_t count, int activation,
                                         cudaStream_t stream) {
    if (activation == 0 && !r) {
        return cudaSuccess;
    }
    activate<<<blocks(count, 1), THREADS, 0, stream>>>(c, r, count, activation);
    return cudaGetLastError();
}
