/* SPDX-License-Identifier: Apache-2.0
 *
 * activity on a processor: reads are compared with the reference 32 bases at a time, and only
 * where they differ is anything added. Depth is kept as differences and summed up at the end.
 */
#include "genomics/call/activity.h"
#include "genomics/align/index.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

struct run {
    const uint8_t *reference; /* codes of all positions */
    uint32_t *evidence;
    uint32_t *steps; /* depth of a position less that of the one before */
    uint32_t length;
    int64_t first; /* global position of position 0, below 0 in the first bin */
};

uint64_t gn_activity_bytes(uint32_t bin_bases) {
    return gn_activity_head(bin_bases).bytes;
}

/* --- one stretch without gaps: of so many bases, all within the arrays ------------------------ */

typedef void (*compare_function)(const uint8_t *bases, const uint8_t *qualities,
                                 const uint8_t *reference, uint32_t length, uint32_t *evidence);

static void compare_plain(const uint8_t *bases, const uint8_t *qualities, const uint8_t *reference,
                          uint32_t length, uint32_t *evidence) {
    for (uint32_t at = 0; at < length; at++) {
        evidence[at] += gn_activity_weight(bases[at], qualities[at], reference[at]);
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2,bmi,bmi2"))) static void
compare_avx2(const uint8_t *bases, const uint8_t *qualities, const uint8_t *reference,
             uint32_t length, uint32_t *evidence) {
    uint32_t from = 0;
    for (; from + 32 <= length; from += 32) {
        __m256i read = _mm256_loadu_si256((const __m256i *)(const void *)(bases + from));
        __m256i other = _mm256_loadu_si256((const __m256i *)(const void *)(reference + from));
        uint32_t equal = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(read, other));
        for (uint32_t different = ~equal; different; different &= different - 1) {
            uint32_t at = from + (uint32_t)__builtin_ctz(different);
            evidence[at] += gn_activity_weight(bases[at], qualities[at], reference[at]);
        }
    }
    compare_plain(bases + from, qualities + from, reference + from, length - from, evidence + from);
}
#endif

/* --- one read -------------------------------------------------------------------------------- */

static void add_full(struct run *run, uint32_t position) {
    int64_t at = (int64_t)position - run->first;
    if (at >= 0 && at < run->length) {
        run->evidence[at] += GN_ACTIVITY_FULL;
    }
}

/* Clips [position, position + length) to the arrays: index of its first base, how many there are,
 * and how many were cut off in front. */
static uint32_t within(const struct run *run, uint32_t position, uint32_t length, uint32_t *ret_at,
                       uint32_t *ret_cut) {
    int64_t from = (int64_t)position - run->first;
    int64_t to = from + length;
    int64_t low = from < 0 ? 0 : from, high = to > run->length ? run->length : to;
    *ret_at = (uint32_t)low;
    *ret_cut = (uint32_t)(low - from);
    return high > low ? (uint32_t)(high - low) : 0;
}

static void add_depth(struct run *run, uint32_t at, uint32_t length) {
    run->steps[at]++;
    run->steps[at + length]--;
}

static void add_record(struct run *run, const struct gn_bin *bin, const struct gn_record *record,
                       compare_function compare) {
    const uint32_t *cigar = (const uint32_t *)gn_at(bin, bin->cigars) + record->cigar;
    const uint8_t *bases = (const uint8_t *)gn_at(bin, bin->bases) + record->bases;
    const uint8_t *qualities = (const uint8_t *)gn_at(bin, bin->qualities) + record->bases;
    uint32_t position = record->position, base = 0, at = 0, cut = 0;
    for (uint32_t i = 0; i < record->cigar_count; i++) {
        uint32_t operation = cigar[i] & 15, length = cigar[i] >> 4, here = 0;
        switch (operation) {
        case GN_MATCH:
            here = within(run, position, length, &at, &cut);
            if (here > 0) {
                add_depth(run, at, here);
                compare(bases + base + cut, qualities + base + cut, run->reference + at, here,
                        run->evidence + at);
            }
            position += length;
            base += length;
            break;
        case GN_INSERT:
            add_full(run, position - 1);
            base += length;
            break;
        case GN_DELETE:
            add_full(run, position - 1);
            here = within(run, position, length, &at, &cut);
            if (here > 0) {
                add_depth(run, at, here);
            }
            position += length;
            break;
        default: /* GN_CLIP */
            if (length >= GN_ACTIVITY_CLIP) {
                add_full(run, base == 0 ? position : position - 1);
            }
            base += length;
            break;
        }
    }
}

static compare_function compare_of(enum guest_simd level) {
#if defined(__x86_64__)
    return level >= GUEST_AVX2 ? compare_avx2 : compare_plain;
#else
    (void)level;
    return compare_plain;
#endif
}

int gn_activity_run(const struct gn_index *index, const struct gn_bin *bin,
                    const struct gn_order *order, struct gn_activity *activity,
                    enum guest_simd level) {
    uint32_t length = gn_activity_length(bin);
    uint32_t before = bin->start < GN_HALO ? GN_HALO - bin->start : 0; /* the line's first base */
    struct gn_activity head = gn_activity_head(bin->end - bin->start);
    uint32_t *steps = calloc(length + 1, sizeof(*steps));
    uint8_t *reference = malloc(length);
    if (!steps || !reference) {
        free(steps);
        free(reference);
        return -ENOMEM;
    }
    memset(reference, 4, before);
    gn_genome_fetch(index, bin->start - (GN_HALO - before), length - before, reference + before);
    struct run run = {reference, gn_in(activity, head.evidence), steps, length,
                      (int64_t)bin->start - GN_HALO};
    memset(run.evidence, 0, length * sizeof(*run.evidence));
    const struct gn_record *records = gn_at(bin, bin->records);
    const uint8_t *duplicates = gn_at(order, order->duplicates);
    for (uint32_t at = 0; at < bin->record_count; at++) {
        if (gn_activity_counts(&records[at], duplicates[at])) {
            add_record(&run, bin, &records[at], compare_of(level));
        }
    }
    uint16_t *depth = gn_in(activity, head.depth);
    for (uint32_t at = 0, sum = 0; at < length; at++) {
        sum += steps[at];
        depth[at] = sum < UINT16_MAX ? (uint16_t)sum : UINT16_MAX;
    }
    *activity = head;
    free(steps);
    free(reference);
    return 0;
}
