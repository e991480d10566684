/* SPDX-License-Identifier: Apache-2.0
 *
 * extend by vectors: one job per lane. Jobs are sorted by size into groups of as many as a vector
 * has lanes. A first pass has the scores and where alignments end; a second one, over the part of
 * the windows that the alignments can lie in, the way back. Reads of up to GN_SCORE_LANES_8 bases
 * have 8-bit lanes, longer ones 16-bit lanes, so no score ever saturates.
 */
#include "genomics/align/extend_simd.h"
#include "genomics/align/extend_rule.h"
#include "genomics/align/index.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

/* Codes that equal nothing, of each side. */
enum { UNKNOWN_READ = 4, PAST_READ = 8, PAST_WINDOW = 10, UNKNOWN_WINDOW = 11 };
enum { LANES_MAX = 64, BLOCK = 16 };

struct lane {
    uint32_t job;
    uint32_t window; /* the part that is looked at: from here, relative to the job's window */
    uint32_t width;  /* so many bases */
    uint32_t length;
    int32_t score;
    uint32_t column, row; /* from 0; row is the group's */
};

/* Arrays are [row or column][lane], of 8 or 16 bits a lane. */
struct group {
    struct lane lanes[LANES_MAX];
    uint32_t lane_count;
    size_t rows, columns;
    size_t starts;   /* rows in which some read may start */
    size_t shortest; /* window */
    void *read, *first, *window, *h, *gap;
    void *back;
    uint8_t *codes; /* [lane][CODES], before they are turned */
};

#define NAME(x)               avx2_8_##x
#define TARGET                __attribute__((target("avx2")))
#define LANE                  uint8_t
#define LANES                 32
#define VECTOR                __m256i
#define WORD                  uint32_t
#define MASK                  __m256i
#define SET(x)                _mm256_set1_epi8(x)
#define LOAD(p)               _mm256_load_si256((const __m256i *)(const void *)(p))
#define STORE(p, x)           _mm256_storeu_si256((__m256i *)(void *)(p), x)
#define ADD(a, b)             _mm256_add_epi8(a, b)
#define SUBTRACT(a, b)        _mm256_subs_epu8(a, b)
#define LARGEST(a, b)         _mm256_max_epu8(a, b)
#define SELECT(mask, yes, no) _mm256_blendv_epi8(no, yes, mask)
#define EQUAL(a, b)           _mm256_cmpeq_epi8(a, b)
#define BITS(mask)            ((WORD)_mm256_movemask_epi8(mask))
/* Codes are below 16: what differs finds 0. */
#define FIVE_MORE(x, a, b)                                                                         \
    ADD(x, _mm256_shuffle_epi8(_mm256_setr_epi32(5, 0, 0, 0, 5, 0, 0, 0), _mm256_xor_si256(a, b)))
#include "genomics/align/extend_lanes.h"

#define NAME(x)               avx2_16_##x
#define TARGET                __attribute__((target("avx2")))
#define LANE                  uint16_t
#define LANES                 16
#define VECTOR                __m256i
#define WORD                  uint32_t
#define MASK                  __m256i
#define SET(x)                _mm256_set1_epi16(x)
#define LOAD(p)               _mm256_load_si256((const __m256i *)(const void *)(p))
#define STORE(p, x)           _mm256_storeu_si256((__m256i *)(void *)(p), x)
#define ADD(a, b)             _mm256_add_epi16(a, b)
#define SUBTRACT(a, b)        _mm256_subs_epu16(a, b)
#define LARGEST(a, b)         _mm256_max_epu16(a, b)
#define SELECT(mask, yes, no) _mm256_blendv_epi8(no, yes, mask)
#define EQUAL(a, b)           _mm256_cmpeq_epi16(a, b)
#define BITS(mask)            ((WORD)_mm256_movemask_epi8(mask))
#define FIVE_MORE(x, a, b)    ADD(x, _mm256_and_si256(EQUAL(a, b), five))
#include "genomics/align/extend_lanes.h"

#define NAME(x)               avx512_8_##x
#define TARGET                __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define LANE                  uint8_t
#define LANES                 64
#define VECTOR                __m512i
#define WORD                  uint64_t
#define MASK                  __mmask64
#define SET(x)                _mm512_set1_epi8(x)
#define LOAD(p)               _mm512_load_si512(p)
#define STORE(p, x)           _mm512_storeu_si512(p, x)
#define ADD(a, b)             _mm512_add_epi8(a, b)
#define SUBTRACT(a, b)        _mm512_subs_epu8(a, b)
#define LARGEST(a, b)         _mm512_max_epu8(a, b)
#define SELECT(mask, yes, no) _mm512_mask_mov_epi8(no, mask, yes)
#define EQUAL(a, b)           _mm512_cmpeq_epi8_mask(a, b)
#define BITS(mask)            ((WORD)(mask))
#define FIVE_MORE(x, a, b)    _mm512_mask_add_epi8(x, EQUAL(a, b), x, five)
#include "genomics/align/extend_lanes.h"

#define NAME(x)               avx512_16_##x
#define TARGET                __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define LANE                  uint16_t
#define LANES                 32
#define VECTOR                __m512i
#define WORD                  uint32_t
#define MASK                  __mmask32
#define SET(x)                _mm512_set1_epi16(x)
#define LOAD(p)               _mm512_load_si512(p)
#define STORE(p, x)           _mm512_storeu_si512(p, x)
#define ADD(a, b)             _mm512_add_epi16(a, b)
#define SUBTRACT(a, b)        _mm512_subs_epu16(a, b)
#define LARGEST(a, b)         _mm512_max_epu16(a, b)
#define SELECT(mask, yes, no) _mm512_mask_mov_epi16(no, mask, yes)
#define EQUAL(a, b)           _mm512_cmpeq_epi16_mask(a, b)
#define BITS(mask)            ((WORD)(mask))
#define FIVE_MORE(x, a, b)    _mm512_mask_add_epi16(x, EQUAL(a, b), x, five)
#include "genomics/align/extend_lanes.h"

struct kind {
    enum guest_simd level;
    uint32_t lanes, lane_bytes;
    uint32_t word_bytes; /* of a word of back bits */
    void (*score)(struct group *group);
    void (*fill)(struct group *group);
    void (*trace)(const struct group *group, uint32_t lane, uint32_t window,
                  struct gn_extension *out);
};

static const struct kind kinds[] = {
    {GUEST_AVX2, 32, 1, 4, avx2_8_score, avx2_8_fill, avx2_8_trace},
    {GUEST_AVX2, 16, 2, 4, avx2_16_score, avx2_16_fill, avx2_16_trace},
    {GUEST_AVX512, 64, 1, 8, avx512_8_score, avx512_8_fill, avx512_8_trace},
    {GUEST_AVX512, 32, 2, 4, avx512_16_score, avx512_16_fill, avx512_16_trace},
};

/* --- groups ----------------------------------------------------------------------------------- */

static void *room(size_t bytes) {
    void *memory = aligned_alloc(GN_ALIGN, gn_round(bytes + 1));
    if (memory) {
        memset(memory, 0, gn_round(bytes + 1)); /* lanes without a job are computed too */
    }
    return memory;
}

static void finish(struct group *group) {
    free(group->read);
    free(group->first);
    free(group->window);
    free(group->h);
    free(group->gap);
    free(group->back);
    free(group->codes);
}

/* Memory for the largest group there can be; back only where it is needed. */
static int init(const struct gn_extend_input *input, const struct kind *kind, bool traced,
                struct group *group) {
    size_t vector = (size_t)kind->lanes * kind->lane_bytes;
    size_t rows = kind->lane_bytes == 1 ? GN_SCORE_LANES_8 : GN_READ_MAX, columns = GN_WINDOW_MAX;
    rows = (input->reads->longest < rows ? input->reads->longest : rows) + BLOCK;
    *group = (struct group){.read = room(rows * vector),
                            .first = room(rows * vector),
                            .window = room(columns * vector),
                            .h = room(rows * vector),
                            .gap = room(rows * vector),
                            .codes = room((size_t)kind->lanes * GN_WINDOW_MAX + 2 * GN_ALIGN),
                            .back = traced ? room(gn_walk_reach((uint32_t)rows, GN_SCORE_MIN) *
                                                  rows * 4 * kind->word_bytes)
                                           : NULL};
    return group->codes && group->read && group->first && group->window && group->h && group->gap &&
                   (group->back || !traced)
               ? 0
               : -ENOMEM;
}

/* 16 bytes of each of 16 lanes become 16 lanes of each of 16 bytes: four perfect shuffles. */
static void turn_block(const uint8_t *from, size_t from_stride, uint8_t *to, size_t to_stride) {
    __m128i now[BLOCK], next[BLOCK];
    for (size_t at = 0; at < BLOCK; at++) {
        now[at] = _mm_loadu_si128((const __m128i *)(const void *)(from + at * from_stride));
    }
    for (int round = 0; round < 4; round++) {
        for (size_t at = 0; at < BLOCK / 2; at++) {
            next[2 * at] = _mm_unpacklo_epi8(now[at], now[at + BLOCK / 2]);
            next[2 * at + 1] = _mm_unpackhi_epi8(now[at], now[at + BLOCK / 2]);
        }
        memcpy(now, next, sizeof(now));
    }
    for (size_t at = 0; at < BLOCK; at++) {
        _mm_storeu_si128((__m128i *)(void *)(to + at * to_stride), now[at]);
    }
}

/* count codes of each lane, one lane behind the other, into an array of vectors. */
static void turn(const struct kind *kind, const uint8_t *codes, size_t count, void *array) {
    if (kind->lane_bytes == 1) {
        for (size_t lane = 0; lane < kind->lanes; lane += BLOCK) {
            for (size_t at = 0; at < count; at += BLOCK) {
                turn_block(codes + lane * GN_WINDOW_MAX + at, GN_WINDOW_MAX,
                           (uint8_t *)array + at * kind->lanes + lane, kind->lanes);
            }
        }
        return;
    }
    for (size_t lane = 0; lane < kind->lanes; lane++) {
        for (size_t at = 0; at < count; at++) {
            ((uint16_t *)array)[at * kind->lanes + lane] = codes[lane * GN_WINDOW_MAX + at];
        }
    }
}

/* Eight bases a step; what is N is rare and comes after. */
__attribute__((target("bmi2"))) static void fetch(const struct gn_index *index, uint64_t position,
                                                  uint32_t width, uint8_t *codes) {
    const uint64_t *packed = gn_at(index, index->packed), *masked = gn_at(index, index->masked);
    for (uint32_t at = 0; at < width; at += 32) {
        uint64_t bases = gn_bases_at(packed, position + at);
        for (uint32_t part = 0; part < 4; part++) {
            uint64_t bytes = _pdep_u64(bases >> 16 * part, 0x0303030303030303u);
            memcpy(codes + at + 8 * part, &bytes, sizeof(bytes));
        }
    }
    for (uint64_t word = position / 64; word <= (position + width - 1) / 64; word++) {
        for (uint64_t bits = masked[word]; bits; bits &= bits - 1) {
            uint64_t at = word * 64 + (uint64_t)__builtin_ctzll(bits);
            if (at >= position && at < position + width) {
                codes[at - position] = UNKNOWN_WINDOW;
            }
        }
    }
}

/* The group's size, from its lanes. */
static void measure(const struct kind *kind, struct group *group) {
    size_t least = GN_READ_MAX;
    group->rows = group->columns = 0;
    group->shortest = GN_WINDOW_MAX;
    for (uint32_t lane = 0; lane < group->lane_count; lane++) {
        const struct lane *mine = &group->lanes[lane];
        group->rows = mine->length > group->rows ? mine->length : group->rows;
        group->columns = mine->width > group->columns ? mine->width : group->columns;
        group->shortest = mine->width < group->shortest ? mine->width : group->shortest;
        least = mine->length < least ? mine->length : least;
    }
    for (uint32_t lane = group->lane_count; lane < kind->lanes; lane++) {
        group->lanes[lane].width = 0; /* whatever is computed there, nobody looks at it */
    }
    group->starts = group->rows - least + 1;
}

/* Lays the lanes out in the group's arrays. */
static void load(const struct gn_extend_input *input, const struct kind *kind,
                 struct group *group) {
    size_t vector = (size_t)kind->lanes * kind->lane_bytes;
    measure(kind, group);
    memset(group->first, 0, group->starts * vector);
    memset(group->h, 0, group->rows * vector);
    memset(group->gap, 0, group->rows * vector);
    for (uint32_t lane = 0; lane < group->lane_count; lane++) {
        const struct lane *mine = &group->lanes[lane];
        uint8_t *codes = group->codes + (size_t)lane * GN_WINDOW_MAX;
        size_t before = group->rows - mine->length;
        memset(codes, PAST_READ, before);
        gn_extend_read(input, &input->jobs[mine->job], codes + before);
        ((uint8_t *)group->first)[(before * kind->lanes + lane) * kind->lane_bytes] = GN_SCORE_END;
    }
    turn(kind, group->codes, group->rows, group->read);
    for (uint32_t lane = 0; lane < group->lane_count; lane++) {
        const struct lane *mine = &group->lanes[lane];
        uint8_t *codes = group->codes + (size_t)lane * GN_WINDOW_MAX;
        fetch(input->index, (uint64_t)input->jobs[mine->job].window + mine->window, mine->width,
              codes);
        memset(codes + mine->width, PAST_WINDOW, group->columns - mine->width);
    }
    turn(kind, group->codes, group->columns, group->window);
}

/* --- passes ----------------------------------------------------------------------------------- */

/* A job's place in the order of sizes: similar ones become neighbours. */
static uint64_t key(uint32_t length, uint32_t width, uint32_t job) {
    return (uint64_t)(length / 32) << 58 | (uint64_t)width << 46 | (uint64_t)(length % 32) << 40 |
           job;
}

static int by_key(const void *a, const void *b) {
    const struct lane *x = a, *y = b;
    uint64_t first = key(x->length, x->width, x->job), second = key(y->length, y->width, y->job);
    return first < second ? -1 : first > second;
}

static void run_scores(const struct gn_extend_input *input, const struct kind *kind,
                       struct group *group, struct lane *lanes, uint32_t count) {
    for (uint32_t from = 0; from < count; from += kind->lanes) {
        group->lane_count = count - from < kind->lanes ? count - from : kind->lanes;
        memcpy(group->lanes, lanes + from, group->lane_count * sizeof(*lanes));
        load(input, kind, group);
        kind->score(group);
        memcpy(lanes + from, group->lanes, group->lane_count * sizeof(*lanes));
    }
}

static void run_traces(const struct gn_extend_input *input, const struct kind *kind,
                       struct group *group, struct lane *lanes, uint32_t count,
                       struct gn_extension *out) {
    uint32_t kept = 0;
    for (uint32_t at = 0; at < count; at++) {
        struct lane lane = lanes[at];
        uint32_t end = lane.column + 1, reach = gn_walk_reach(lane.length, lane.score);
        if (lane.score >= GN_SCORE_MIN) {
            lane.width = reach < end ? reach : end;
            lane.window = end - lane.width;
            lanes[kept++] = lane;
        }
    }
    qsort(lanes, kept, sizeof(*lanes), by_key);
    for (uint32_t from = 0; from < kept; from += kind->lanes) {
        group->lane_count = kept - from < kind->lanes ? kept - from : kind->lanes;
        memcpy(group->lanes, lanes + from, group->lane_count * sizeof(*lanes));
        load(input, kind, group);
        kind->fill(group);
        for (uint32_t at = 0; at < group->lane_count; at++) {
            const struct lane *lane = &group->lanes[at];
            kind->trace(group, at, input->jobs[lane->job].window + lane->window, &out[lane->job]);
        }
    }
}

/* Jobs of one kind; lanes has room for all. */
static int run(const struct gn_extend_input *input, const struct kind *kind, struct lane *lanes,
               struct gn_extension *out, int16_t *scores) {
    const struct gn_read *reads = gn_at(input->reads, input->reads->reads);
    uint32_t count = 0;
    for (uint32_t at = 0; at < input->job_count; at++) {
        const struct gn_job *job = &input->jobs[at];
        uint32_t length = reads[job->read].length, width = job->window_length;
        if (length > 0 && width > 0 && (length > GN_SCORE_LANES_8) == (kind->lane_bytes == 2)) {
            lanes[count++] = (struct lane){.job = at, .width = width, .length = length};
        }
    }
    if (count == 0) {
        return 0;
    }
    struct group group;
    int code = init(input, kind, out != NULL, &group);
    if (!code) {
        qsort(lanes, count, sizeof(*lanes), by_key);
        run_scores(input, kind, &group, lanes, count);
        for (uint32_t at = 0; scores && at < count; at++) {
            scores[lanes[at].job] = (int16_t)lanes[at].score;
        }
        if (out) {
            run_traces(input, kind, &group, lanes, count, out);
        }
    }
    finish(&group);
    return code;
}

int gn_extend_simd(const struct gn_extend_input *input, struct gn_extension *out, int16_t *scores,
                   enum guest_simd level) {
    struct lane *lanes = malloc((input->job_count + 1) * sizeof(*lanes));
    int code = lanes ? 0 : -ENOMEM;
    if (scores) {
        memset(scores, 0, input->job_count * sizeof(*scores));
    }
    for (size_t at = 0; !code && at < sizeof(kinds) / sizeof(kinds[0]); at++) {
        code = kinds[at].level == level ? run(input, &kinds[at], lanes, out, scores) : 0;
    }
    free(lanes);
    return code;
}

#else

int gn_extend_simd(const struct gn_extend_input *input, struct gn_extension *out, int16_t *scores,
                   enum guest_simd level) {
    (void)input, (void)out, (void)scores, (void)level;
    return -ENOSYS; /* guest_simd never says so here */
}

#endif
