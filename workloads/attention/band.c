/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels in C: see attention.h. One core; vectors by lanes.h.
 *
 * Rows are done strip by strip, whose queries are copied to lie together: in qkv they are pages
 * apart, and caches would hold few of them. Keys and values are copied block by block of ATTN_KEYS
 * tokens; each block meets the groups of ATTN_ROWS rows whose bands touch it. Blocks and groups
 * begin at multiples of their size in the sequence, whatever rows are asked for: so a row's sums
 * are added in the same order however the rows are divided.
 */
#include "attention/attention.h"
#include <math.h>
#include <string.h>

enum { ATTN_ROWS = 8, ATTN_KEYS = 64, PADDING = 32 };
enum { STRIP_ROWS = 256, STRIP_FLOATS = 64 * STRIP_ROWS };

struct attn_lanes {
    void (*scores)(const float *const *q, const float *keys, uint32_t width, uint32_t from,
                   uint32_t to, float scale, float *tile);
    void (*mix)(const float *tile, const float *values, uint32_t stride, uint32_t width,
                uint32_t from, uint32_t to, float *const *out);
    float (*largest)(const float *x, uint32_t count);
    float (*powers)(const float *x, uint32_t count, float shift, float *out);
    void (*multiply)(float *x, uint32_t count, float factor);
};

/* --- vectors of four, for every processor ------------------------------------------------------
 */
typedef float four __attribute__((vector_size(16)));
typedef int32_t four_ints __attribute__((vector_size(16)));

static inline four load_four(const float *from, uint32_t count) {
    four x = {0};
    memcpy(&x, from, count * sizeof(float));
    return x;
}

static inline void store_four(float *to, uint32_t count, four x) {
    memcpy(to, &x, count * sizeof(float));
}

static inline four select_four(four_ints mask, four yes, four no) {
    return (four)((mask & (four_ints)yes) | (~mask & (four_ints)no));
}

#define NAME(x) plain_##x
#define TARGET
#define LANES               4u
#define VECTOR              four
#define SET(x)              ((four){x, x, x, x})
#define LOAD(p)             load_four(p, 4)
#define STORE(p, x)         store_four(p, 4, x)
#define LOAD_SOME(p, n)     load_four(p, n)
#define STORE_SOME(p, n, x) store_four(p, n, x)
#define ADD(a, b)           ((a) + (b))
#define SUBTRACT(a, b)      ((a) - (b))
#define MULTIPLY(a, b)      ((a) * (b))
#define FMA(a, b, c)        ((a) * (b) + (c))
#define LARGEST(a, b)       select_four((a) > (b), a, b)
/* Adding a number whose last digit is 1 rounds; x is small. */
#define ROUND(x)           (((x) + 12582912.0f) - 12582912.0f)
#define POWER_OF_2(n)      ((four)((__builtin_convertvector(n, four_ints) + 127) << 23))
#define ABOVE(x, limit, v) select_four((x) >= (limit), v, (four){0})
#include "attention/lanes.h"

#if defined(__x86_64__)
#include <immintrin.h>

static const int32_t some[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

#define NAME(x)             avx2_##x
#define TARGET              __attribute__((target("avx2,fma")))
#define LANES               8u
#define VECTOR              __m256
#define SET(x)              _mm256_set1_ps(x)
#define LOAD(p)             _mm256_loadu_ps(p)
#define STORE(p, x)         _mm256_storeu_ps(p, x)
#define SOME(n)             _mm256_loadu_si256((const __m256i *)(const void *)(some + 8 - (n)))
#define LOAD_SOME(p, n)     _mm256_maskload_ps(p, SOME(n))
#define STORE_SOME(p, n, x) _mm256_maskstore_ps(p, SOME(n), x)
#define ADD(a, b)           _mm256_add_ps(a, b)
#define SUBTRACT(a, b)      _mm256_sub_ps(a, b)
#define MULTIPLY(a, b)      _mm256_mul_ps(a, b)
#define FMA(a, b, c)        _mm256_fmadd_ps(a, b, c)
#define LARGEST(a, b)       _mm256_max_ps(a, b)
#define ROUND(x)            _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define POWER_OF_2(n)                                                                              \
    _mm256_castsi256_ps(                                                                           \
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23))
#define ABOVE(x, limit, v) _mm256_and_ps(_mm256_cmp_ps(x, limit, _CMP_GE_OQ), v)
#include "attention/lanes.h"

#define NAME(x)             avx512_##x
#define TARGET              __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define LANES               16u
#define VECTOR              __m512
#define SET(x)              _mm512_set1_ps(x)
#define LOAD(p)             _mm512_loadu_ps(p)
#define STORE(p, x)         _mm512_storeu_ps(p, x)
#define FIRST(n)            ((__mmask16)((1u << (n)) - 1))
#define LOAD_SOME(p, n)     _mm512_maskz_loadu_ps(FIRST(n), p)
#define STORE_SOME(p, n, x) _mm512_mask_storeu_ps(p, FIRST(n), x)
#define ADD(a, b)           _mm512_add_ps(a, b)
#define SUBTRACT(a, b)      _mm512_sub_ps(a, b)
#define MULTIPLY(a, b)      _mm512_mul_ps(a, b)
#define FMA(a, b, c)        _mm512_fmadd_ps(a, b, c)
#define LARGEST(a, b)       _mm512_max_ps(a, b)
#define ROUND(x)            _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define POWER_OF_2(n)                                                                              \
    _mm512_castsi512_ps(                                                                           \
        _mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23))
#define ABOVE(x, limit, v) _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, limit, _CMP_GE_OQ), v)
#include "attention/lanes.h"

static const struct attn_lanes *const lanes_of[GUEST_SIMD_COUNT] = {&plain_lanes, &avx2_lanes,
                                                                    &avx512_lanes};
#else
static const struct attn_lanes *const lanes_of[GUEST_SIMD_COUNT] = {&plain_lanes, &plain_lanes,
                                                                    &plain_lanes};
#endif

/* --- one head of one sequence ------------------------------------------------------------------
 */
/* Rows [low, high) of it are asked for; positions are those in the sequence. */
struct strand {
    const struct attn_shape *shape;
    const struct attn_lanes *lanes;
    const float *q, *k, *v; /* of the first token; 3 * model floats from one to the next */
    const float *in;        /* scores or probabilities of the first token and this head */
    float *out;             /* of the first token and this head */
    uint32_t low, high;
    uint32_t start;       /* of the strip that low and high are in */
    const float *queries; /* copied, of the strip: [row][width] */
    uint32_t stride;      /* of the copied values: the width, padded for vectors */
};

static inline uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static inline uint32_t less(uint32_t a, uint32_t b) {
    return a > b ? a - b : 0;
}

static inline const float *token(const struct strand *strand, const float *of, uint32_t position) {
    return of + (uint64_t)position * 3 * strand->shape->model;
}

static inline uint64_t slots_at(const struct strand *strand, uint32_t position) {
    return (uint64_t)position * strand->shape->heads * strand->shape->slots;
}

static inline float *row_out(const struct strand *strand, uint32_t position) {
    return strand->out + (uint64_t)position * strand->shape->model;
}

/* The keys of block `block` that rows [first, last] look at, relative to the block. False: none. */
static bool touched(const struct strand *strand, uint32_t block, uint32_t first, uint32_t last,
                    uint32_t *ret_from, uint32_t *ret_to) {
    const struct attn_shape *shape = strand->shape;
    uint32_t begin = less(first, shape->half), end = least(last + shape->half + 1, shape->length);
    uint32_t from = begin > block ? begin - block : 0, to = least(less(end, block), ATTN_KEYS);
    *ret_from = from;
    *ret_to = to;
    return from < to;
}

/* Columns [0, columns) of four tokens, turned: to[column][ATTN_KEYS]. columns: a multiple of 4. */
static void turn_four(const float *const *from, uint32_t columns, float *to) {
    for (uint32_t c = 0; c < columns; c += 4) {
        four a = load_four(from[0] + c, 4), b = load_four(from[1] + c, 4);
        four d = load_four(from[2] + c, 4), e = load_four(from[3] + c, 4);
        four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
        four de = __builtin_shufflevector(d, e, 0, 4, 1, 5);
        four ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        four de2 = __builtin_shufflevector(d, e, 2, 6, 3, 7);
        store_four(to + (c + 0) * ATTN_KEYS, 4, __builtin_shufflevector(ab, de, 0, 1, 4, 5));
        store_four(to + (c + 1) * ATTN_KEYS, 4, __builtin_shufflevector(ab, de, 2, 3, 6, 7));
        store_four(to + (c + 2) * ATTN_KEYS, 4, __builtin_shufflevector(ab2, de2, 0, 1, 4, 5));
        store_four(to + (c + 3) * ATTN_KEYS, 4, __builtin_shufflevector(ab2, de2, 2, 3, 6, 7));
    }
}

/* keys: [width][ATTN_KEYS]; tokens behind the last are copies of it. */
static void copy_keys(const struct strand *strand, uint32_t block, float *keys) {
    uint32_t width = strand->shape->width, last = strand->shape->length - 1;
    for (uint32_t key = 0; key < ATTN_KEYS; key += 4) {
        const float *from[4];
        for (uint32_t i = 0; i < 4; i++) {
            from[i] = token(strand, strand->k, least(block + key + i, last));
        }
        turn_four(from, width / 4 * 4, keys + key);
        for (uint32_t c = width / 4 * 4; c < width; c++) {
            for (uint32_t i = 0; i < 4; i++) {
                keys[c * ATTN_KEYS + key + i] = from[i][c];
            }
        }
    }
}

/* values: [ATTN_KEYS][stride]. */
static void copy_values(const struct strand *strand, uint32_t block, float *values) {
    uint32_t width = strand->shape->width, count = least(strand->shape->length - block, ATTN_KEYS);
    for (uint32_t key = 0; key < count; key++) {
        float *to = values + key * strand->stride;
        memcpy(to, token(strand, strand->v, block + key), width * sizeof(float));
        memset(to + width, 0, (strand->stride - width) * sizeof(float));
    }
}

/* The queries of all groups that are asked for. */
static void copy_queries(const struct strand *strand, float *queries) {
    uint32_t width = strand->shape->width;
    uint32_t last =
        least((strand->high + ATTN_ROWS - 1) / ATTN_ROWS * ATTN_ROWS, strand->shape->length);
    for (uint32_t row = strand->low / ATTN_ROWS * ATTN_ROWS; row < last; row++) {
        memcpy(queries + (row - strand->start) * width, token(strand, strand->q, row),
               width * sizeof(float));
    }
}

/* Scores of a group's rows with a block's keys. */
static void score(const struct strand *strand, uint32_t group, const float *keys, uint32_t from,
                  uint32_t to, float *tile) {
    const float *q[ATTN_ROWS];
    uint32_t width = strand->shape->width;
    for (uint32_t r = 0; r < ATTN_ROWS; r++) {
        uint32_t row = least(group + r, strand->shape->length - 1);
        q[r] = strand->queries + (row - strand->start) * width;
    }
    strand->lanes->scores(q, keys, width, from, to, 1 / sqrtf((float)width), tile);
}

/* Where rows of a group add to; those that are not asked for add to waste. */
static void targets(const struct strand *strand, uint32_t group, float *waste, float **ret_out) {
    for (uint32_t r = 0; r < ATTN_ROWS; r++) {
        bool asked = group + r >= strand->low && group + r < strand->high;
        ret_out[r] = asked ? row_out(strand, group + r) : waste;
    }
}

/* The first group that a block's keys may concern, and the first that they cannot. */
static void groups_of(const struct strand *strand, uint32_t block, uint32_t *ret_from,
                      uint32_t *ret_to) {
    uint32_t from = less(block, strand->shape->half);
    from = from > strand->low ? from : strand->low;
    *ret_from = from / ATTN_ROWS * ATTN_ROWS;
    *ret_to = least(block + ATTN_KEYS + strand->shape->half, strand->high);
}

static uint32_t first_block(const struct strand *strand) {
    return less(strand->low, strand->shape->half) / ATTN_KEYS * ATTN_KEYS;
}

static uint32_t last_block(const struct strand *strand) {
    return least(strand->high + strand->shape->half, strand->shape->length);
}

static void mask_ends(const struct strand *strand, uint32_t row, float *slots) {
    const struct attn_shape *shape = strand->shape;
    uint32_t before = less(shape->half, row);
    uint32_t until = least(shape->length - row + shape->half, shape->slots);
    for (uint32_t s = 0; s < before; s++) {
        slots[s] = -INFINITY;
    }
    for (uint32_t s = until; s < shape->slots; s++) {
        slots[s] = -INFINITY;
    }
}

static void run_scores(const struct strand *strand) {
    _Alignas(64) float keys[ATTN_WIDTH_MAX * ATTN_KEYS], tile[ATTN_ROWS * ATTN_KEYS];
    uint32_t half = strand->shape->half, from, to, group, end;
    for (uint32_t block = first_block(strand); block < last_block(strand); block += ATTN_KEYS) {
        copy_keys(strand, block, keys);
        for (groups_of(strand, block, &group, &end); group < end; group += ATTN_ROWS) {
            if (!touched(strand, block, group, group + ATTN_ROWS - 1, &from, &to)) {
                continue;
            }
            score(strand, group, keys, from, to, tile);
            uint32_t first = group > strand->low ? group : strand->low;
            for (uint32_t row = first; row < least(group + ATTN_ROWS, strand->high); row++) {
                if (touched(strand, block, row, row, &from, &to)) {
                    memcpy(strand->out + slots_at(strand, row) + (block + from + half - row),
                           tile + (row - group) * ATTN_KEYS + from, (to - from) * sizeof(float));
                }
            }
        }
    }
    for (uint32_t row = strand->low; row < strand->high; row++) {
        mask_ends(strand, row, strand->out + slots_at(strand, row));
    }
}

static void run_softmax(const struct strand *strand) {
    const struct attn_lanes *lanes = strand->lanes;
    uint32_t slots = strand->shape->slots;
    for (uint32_t row = strand->low; row < strand->high; row++) {
        const float *in = strand->in + slots_at(strand, row);
        float *out = strand->out + slots_at(strand, row);
        float sum = lanes->powers(in, slots, lanes->largest(in, slots), out);
        lanes->multiply(out, slots, 1 / sum);
    }
}

/* The probabilities of a group and a block as a tile; 0 outside of a row's band. */
static void take_tile(const struct strand *strand, uint32_t block, uint32_t group, uint32_t from,
                      uint32_t to, float *tile) {
    for (uint32_t r = 0; r < ATTN_ROWS; r++) {
        uint32_t row = group + r, low, high;
        float *line = tile + r * ATTN_KEYS;
        memset(line + from, 0, (to - from) * sizeof(float));
        if (row >= strand->low && row < strand->high &&
            touched(strand, block, row, row, &low, &high)) {
            memcpy(line + low,
                   strand->in + slots_at(strand, row) + (block + low + strand->shape->half - row),
                   (high - low) * sizeof(float));
        }
    }
}

static void clear_out(const struct strand *strand) {
    for (uint32_t row = strand->low; row < strand->high; row++) {
        memset(row_out(strand, row), 0, strand->shape->width * sizeof(float));
    }
}

static void run_mix(const struct strand *strand) {
    _Alignas(64) float values[(ATTN_WIDTH_MAX + PADDING) * ATTN_KEYS], tile[ATTN_ROWS * ATTN_KEYS];
    float waste[ATTN_WIDTH_MAX] = {0}, *out[ATTN_ROWS];
    uint32_t from, to, group, end;
    clear_out(strand);
    for (uint32_t block = first_block(strand); block < last_block(strand); block += ATTN_KEYS) {
        copy_values(strand, block, values);
        for (groups_of(strand, block, &group, &end); group < end; group += ATTN_ROWS) {
            if (touched(strand, block, group, group + ATTN_ROWS - 1, &from, &to)) {
                take_tile(strand, block, group, from, to, tile);
                targets(strand, group, waste, out);
                strand->lanes->mix(tile, values, strand->stride, strand->shape->width, from, to,
                                   out);
            }
        }
    }
}

/* --- all at once -------------------------------------------------------------------------------
 * Softmax as it goes: a row's sums so far are relative to its largest score so far. */
struct so_far {
    float largest[STRIP_ROWS], sum[STRIP_ROWS];
};

/* Turns a group's scores into powers, relative to the largest score so far of each row. */
static void advance(const struct strand *strand, uint32_t block, uint32_t group, uint32_t from,
                    uint32_t to, float *tile, float *const *out, struct so_far *so_far) {
    const struct attn_lanes *lanes = strand->lanes;
    for (uint32_t r = 0; r < ATTN_ROWS; r++) {
        uint32_t row = group + r, low = 0, high = 0;
        float *line = tile + r * ATTN_KEYS;
        bool asked = row >= strand->low && row < strand->high &&
                     touched(strand, block, row, row, &low, &high);
        for (uint32_t k = from; k < to; k++) {
            line[k] = asked && k >= low && k < high ? line[k] : -INFINITY;
        }
        if (!asked) {
            memset(line + from, 0, (to - from) * sizeof(float));
            continue;
        }
        float *largest = &so_far->largest[row - strand->start];
        float *sum = &so_far->sum[row - strand->start];
        float here = lanes->largest(line + from, to - from);
        if (here > *largest) {
            float factor = expf(*largest - here);
            lanes->multiply(out[r], strand->shape->width, factor);
            *sum *= factor;
            *largest = here;
        }
        *sum += lanes->powers(line + from, to - from, *largest, line + from);
    }
}

static void run_attention(const struct strand *strand) {
    _Alignas(64) float keys[ATTN_WIDTH_MAX * ATTN_KEYS];
    _Alignas(64) float values[(ATTN_WIDTH_MAX + PADDING) * ATTN_KEYS], tile[ATTN_ROWS * ATTN_KEYS];
    float waste[ATTN_WIDTH_MAX] = {0}, *out[ATTN_ROWS];
    struct so_far so_far;
    uint32_t from, to, group, end, width = strand->shape->width;
    for (uint32_t i = 0; i < STRIP_ROWS; i++) {
        so_far.largest[i] = -INFINITY;
        so_far.sum[i] = 0;
    }
    clear_out(strand);
    for (uint32_t block = first_block(strand); block < last_block(strand); block += ATTN_KEYS) {
        copy_keys(strand, block, keys);
        copy_values(strand, block, values);
        for (groups_of(strand, block, &group, &end); group < end; group += ATTN_ROWS) {
            if (touched(strand, block, group, group + ATTN_ROWS - 1, &from, &to)) {
                score(strand, group, keys, from, to, tile);
                targets(strand, group, waste, out);
                advance(strand, block, group, from, to, tile, out, &so_far);
                strand->lanes->mix(tile, values, strand->stride, width, from, to, out);
            }
        }
    }
    for (uint32_t row = strand->low; row < strand->high; row++) {
        strand->lanes->multiply(row_out(strand, row), width, 1 / so_far.sum[row - strand->start]);
    }
}

/* Strips begin at multiples of their size, so no group is in two. */
static void in_strips(const struct strand *strand, void (*run)(const struct strand *strand),
                      bool asks) {
    _Alignas(64) float queries[STRIP_FLOATS];
    struct strand strip = *strand;
    uint32_t rows = STRIP_FLOATS / strand->shape->width / ATTN_ROWS * ATTN_ROWS;
    rows = least(rows, STRIP_ROWS);
    for (strip.queries = queries; strip.low < strand->high; strip.low = strip.high) {
        strip.start = strip.low / rows * rows;
        strip.high = least(strip.start + rows, strand->high);
        if (asks) {
            copy_queries(&strip, queries);
        }
        run(&strip);
    }
}

/* --- all heads of all sequences ----------------------------------------------------------------
 */
static void (*const runs[ATTN_KERNEL_COUNT])(const struct strand *strand) = {
    run_scores, run_softmax, run_mix, run_attention};

static void run_sequence(enum attn_kernel kernel, struct strand *strand, const float *qkv,
                         const float *in, float *out) {
    const struct attn_shape *shape = strand->shape;
    bool slots = kernel == ATTN_SCORES || kernel == ATTN_SOFTMAX;
    for (uint32_t head = 0; head < shape->heads; head++) {
        strand->q = qkv ? qkv + (uint64_t)head * shape->width : NULL;
        strand->k = qkv ? strand->q + shape->model : NULL;
        strand->v = qkv ? strand->k + shape->model : NULL;
        strand->in = in ? in + (uint64_t)head * shape->slots : NULL;
        strand->out = out + (uint64_t)head * (slots ? shape->slots : shape->width);
        in_strips(strand, runs[kernel], kernel == ATTN_SCORES || kernel == ATTN_ATTENTION);
    }
}

void attn_run(enum attn_kernel kernel, const struct attn_shape *shape, const float *a,
              const float *b, float *out, uint64_t first, uint64_t last, enum guest_simd level) {
    const float *qkv = kernel == ATTN_MIX ? b : kernel == ATTN_SOFTMAX ? NULL : a;
    const float *in = kernel == ATTN_MIX || kernel == ATTN_SOFTMAX ? a : NULL;
    bool slots = kernel == ATTN_SCORES || kernel == ATTN_SOFTMAX;
    uint64_t line = (uint64_t)shape->heads * shape->slots, length = shape->length;
    struct strand strand = {.shape = shape,
                            .lanes = lanes_of[level],
                            .stride = (shape->width + PADDING - 1) / PADDING * PADDING};
    for (uint64_t start = first / length * length; start < last; start += length) {
        strand.low = start < first ? (uint32_t)(first - start) : 0;
        strand.high = start + length < last ? shape->length : (uint32_t)(last - start);
        run_sequence(kernel, &strand, qkv ? qkv + start * 3 * shape->model : NULL,
                     in ? in + start * line : NULL, out + start * (slots ? line : shape->model));
    }
}
