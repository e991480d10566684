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
enum { PAST_READ = 8, UNKNOWN_READ = 9, PAST_WINDOW = 10, UNKNOWN_WINDOW = 11 };
enum { LANES_MAX = 64 };

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
};

#define NAME(x)                avx2_8_##x
#define TARGET                 __attribute__((target("avx2")))
#define LANE                   uint8_t
#define LANES                  32
#define VECTOR                 __m256i
#define WORD                   uint32_t
#define MASK                   __m256i
#define SET(x)                 _mm256_set1_epi8(x)
#define LOAD(p)                _mm256_load_si256((const __m256i *)(const void *)(p))
#define STORE(p, x)            _mm256_storeu_si256((__m256i *)(void *)(p), x)
#define ADD(a, b)              _mm256_add_epi8(a, b)
#define SUBTRACT(a, b)         _mm256_subs_epu8(a, b)
#define LARGEST(a, b)          _mm256_max_epu8(a, b)
#define SELECT(mask, yes, no)  _mm256_blendv_epi8(no, yes, mask)
#define EQUAL(a, b)            _mm256_cmpeq_epi8(a, b)
#define BITS(mask)             ((WORD)_mm256_movemask_epi8(mask))
#define FIVE_WHERE_EQUAL(a, b) _mm256_and_si256(EQUAL(a, b), five)
#include "genomics/align/extend_lanes.h"

#define NAME(x)                avx2_16_##x
#define TARGET                 __attribute__((target("avx2")))
#define LANE                   uint16_t
#define LANES                  16
#define VECTOR                 __m256i
#define WORD                   uint32_t
#define MASK                   __m256i
#define SET(x)                 _mm256_set1_epi16(x)
#define LOAD(p)                _mm256_load_si256((const __m256i *)(const void *)(p))
#define STORE(p, x)            _mm256_storeu_si256((__m256i *)(void *)(p), x)
#define ADD(a, b)              _mm256_add_epi16(a, b)
#define SUBTRACT(a, b)         _mm256_subs_epu16(a, b)
#define LARGEST(a, b)          _mm256_max_epu16(a, b)
#define SELECT(mask, yes, no)  _mm256_blendv_epi8(no, yes, mask)
#define EQUAL(a, b)            _mm256_cmpeq_epi16(a, b)
#define BITS(mask)             ((WORD)_mm256_movemask_epi8(mask))
#define FIVE_WHERE_EQUAL(a, b) _mm256_and_si256(EQUAL(a, b), five)
#include "genomics/align/extend_lanes.h"

#define NAME(x)                avx512_8_##x
#define TARGET                 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define LANE                   uint8_t
#define LANES                  64
#define VECTOR                 __m512i
#define WORD                   uint64_t
#define MASK                   __mmask64
#define SET(x)                 _mm512_set1_epi8(x)
#define LOAD(p)                _mm512_load_si512(p)
#define STORE(p, x)            _mm512_storeu_si512(p, x)
#define ADD(a, b)              _mm512_add_epi8(a, b)
#define SUBTRACT(a, b)         _mm512_subs_epu8(a, b)
#define LARGEST(a, b)          _mm512_max_epu8(a, b)
#define SELECT(mask, yes, no)  _mm512_mask_mov_epi8(no, mask, yes)
#define EQUAL(a, b)            _mm512_cmpeq_epi8_mask(a, b)
#define BITS(mask)             ((WORD)(mask))
#define FIVE_WHERE_EQUAL(a, b) _mm512_maskz_mov_epi8(EQUAL(a, b), five)
#include "genomics/align/extend_lanes.h"

#define NAME(x)                avx512_16_##x
#define TARGET                 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define LANE                   uint16_t
#define LANES                  32
#define VECTOR                 __m512i
#define WORD                   uint32_t
#define MASK                   __mmask32
#define SET(x)                 _mm512_set1_epi16(x)
#define LOAD(p)                _mm512_load_si512(p)
#define STORE(p, x)            _mm512_storeu_si512(p, x)
#define ADD(a, b)              _mm512_add_epi16(a, b)
#define SUBTRACT(a, b)         _mm512_subs_epu16(a, b)
#define LARGEST(a, b)          _mm512_max_epu16(a, b)
#define SELECT(mask, yes, no)  _mm512_mask_mov_epi16(no, mask, yes)
#define EQUAL(a, b)            _mm512_cmpeq_epi16_mask(a, b)
#define BITS(mask)             ((WORD)(mask))
#define FIVE_WHERE_EQUAL(a, b) _mm512_maskz_mov_epi16(EQUAL(a, b), five)
#include "genomics/align/extend_lanes.h"

struct kind {
    enum gn_level level;
    uint32_t lanes, lane_bytes;
    uint32_t word_bytes; /* of a word of back bits */
    void (*score)(struct group *group);
    void (*fill)(struct group *group);
    uint32_t (*bits)(const struct group *group, uint32_t lane, size_t row, size_t column);
};

static const struct kind kinds[] = {
    {GN_AVX2, 32, 1, 4, avx2_8_score, avx2_8_fill, avx2_8_bits},
    {GN_AVX2, 16, 2, 4, avx2_16_score, avx2_16_fill, avx2_16_bits},
    {GN_AVX512, 64, 1, 8, avx512_8_score, avx512_8_fill, avx512_8_bits},
    {GN_AVX512, 32, 2, 4, avx512_16_score, avx512_16_fill, avx512_16_bits},
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
}

/* Memory for the largest group there can be; back only where it is needed. */
static int init(const struct gn_extend_input *input, const struct kind *kind, bool traced,
                struct group *group) {
    size_t vector = (size_t)kind->lanes * kind->lane_bytes;
    size_t rows = kind->lane_bytes == 1 ? GN_SCORE_LANES_8 : GN_READ_MAX, columns = GN_WINDOW_MAX;
    rows = input->reads->longest < rows ? input->reads->longest : rows;
    *group = (struct group){.read = room(rows * vector),
                            .first = room(rows * vector),
                            .window = room(columns * vector),
                            .h = room(rows * vector),
                            .gap = room(rows * vector),
                            .back = traced ? room(gn_walk_reach((uint32_t)rows, GN_SCORE_MIN) *
                                                  rows * 4 * kind->word_bytes)
                                           : NULL};
    return group->read && group->first && group->window && group->h && group->gap &&
                   (group->back || !traced)
               ? 0
               : -ENOMEM;
}

static void put(void *array, const struct kind *kind, size_t at, uint32_t lane, uint8_t value) {
    if (kind->lane_bytes == 1) {
        ((uint8_t *)array)[at * kind->lanes + lane] = value;
    } else {
        ((uint16_t *)array)[at * kind->lanes + lane] = value;
    }
}

static void load_lane(const struct gn_extend_input *input, const struct kind *kind,
                      struct group *group, uint32_t lane) {
    const struct lane *mine = &group->lanes[lane];
    const struct gn_job *job = &input->jobs[mine->job];
    uint8_t codes[GN_WINDOW_MAX];
    size_t before = group->rows - mine->length;
    gn_extend_read(input, job, codes);
    for (size_t at = 0; at < before; at++) {
        put(group->read, kind, at, lane, PAST_READ);
    }
    for (size_t at = 0; at < mine->length; at++) {
        put(group->read, kind, before + at, lane, codes[at] < 4 ? codes[at] : UNKNOWN_READ);
    }
    put(group->first, kind, before, lane, GN_SCORE_END);
    gn_genome_fetch(input->index, job->window + mine->window, mine->width, codes);
    for (size_t at = 0; at < mine->width; at++) {
        put(group->window, kind, at, lane, codes[at] < 4 ? codes[at] : UNKNOWN_WINDOW);
    }
    for (size_t at = mine->width; at < group->columns; at++) {
        put(group->window, kind, at, lane, PAST_WINDOW);
    }
}

/* Lays the lanes out in the group's arrays. */
static void load(const struct gn_extend_input *input, const struct kind *kind,
                 struct group *group) {
    size_t vector = (size_t)kind->lanes * kind->lane_bytes;
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
    group->starts = group->rows - least + 1;
    memset(group->first, 0, group->starts * vector);
    memset(group->h, 0, group->rows * vector);
    memset(group->gap, 0, group->rows * vector);
    for (uint32_t lane = 0; lane < group->lane_count; lane++) {
        load_lane(input, kind, group, lane);
    }
    for (uint32_t lane = group->lane_count; lane < kind->lanes; lane++) {
        group->lanes[lane].width =
            0; /* whatever is there was written before and is not looked at */
    }
}

static void trace(const struct gn_extend_input *input, const struct kind *kind,
                  const struct group *group, uint32_t at, struct gn_extension *out) {
    const struct lane *lane = &group->lanes[at];
    const struct gn_job *job = &input->jobs[lane->job];
    size_t before = group->rows - lane->length;
    const uint8_t *read = group->read, *window = group->window;
    size_t stride = (size_t)kind->lanes * kind->lane_bytes, offset = (size_t)at * kind->lane_bytes;
    struct gn_walk walk;
    gn_walk_begin(&walk, (uint32_t)(lane->row - before + 1), lane->width, lane->length,
                  lane->score);
    while (gn_walk_goes_on(&walk)) {
        size_t row = before + walk.row - 1, column = walk.column - 1;
        bool equal = read[row * stride + offset] == window[column * stride + offset];
        gn_walk_step(&walk, kind->bits(group, at, row, column), equal, out);
    }
    gn_walk_finish(&walk, job->window + lane->window, lane->width, lane->score, out);
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
            trace(input, kind, group, at, &out[group->lanes[at].job]);
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
                   enum gn_level level) {
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
                   enum gn_level level) {
    (void)input, (void)out, (void)scores, (void)level;
    return -ENOSYS; /* gn_level never says so here */
}

#endif
