/* SPDX-License-Identifier: Apache-2.0
 *
 * activity: every variant against a walk base by base.
 */
#include "bin_cases.h"
#include "genomics/call/activity.h"
#include "genomics/call/sort.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

/* after what it needs */
#include <cmocka.h>

struct counts {
    uint64_t *depth, *evidence;
    int64_t first, length;
};

static void add(const struct counts *counts, uint64_t *to, int64_t position, uint64_t what) {
    int64_t at = position - counts->first;
    if (at >= 0 && at < counts->length) {
        to[at] += what;
    }
}

static uint64_t weight(int64_t position, uint8_t base, uint8_t quality, const uint8_t *codes) {
    int64_t at = position - GN_GAP;
    uint8_t reference = at >= 0 && at < BIN_REFERENCE ? codes[at] : 4;
    if (base > 3 || reference > 3 || base == reference || quality < 15) {
        return 0;
    }
    return quality > 30 ? 30 : quality;
}

static void walk(const struct counts *counts, const struct gn_bin *bin,
                 const struct gn_record *record, const uint8_t *codes) {
    const uint32_t *cigar = (const uint32_t *)gn_at(bin, bin->cigars) + record->cigar;
    const uint8_t *bases = (const uint8_t *)gn_at(bin, bin->bases) + record->bases;
    const uint8_t *qualities = (const uint8_t *)gn_at(bin, bin->qualities) + record->bases;
    int64_t position = record->position;
    for (uint32_t i = 0; i < record->cigar_count; i++) {
        uint32_t operation = cigar[i] & 15, length = cigar[i] >> 4;
        if (operation == GN_INSERT || operation == GN_DELETE) {
            add(counts, counts->evidence, position - 1, 30);
        } else if (operation == GN_CLIP && length >= 6) {
            add(counts, counts->evidence, i == 0 ? position : position - 1, 30);
        }
        bool covers = operation == GN_MATCH || operation == GN_DELETE;
        for (; length > 0; length--) {
            add(counts, counts->depth, position, covers);
            if (operation == GN_MATCH) {
                add(counts, counts->evidence, position,
                    weight(position, *bases, *qualities, codes));
            }
            position += covers;
            bases += operation != GN_DELETE;
            qualities += operation != GN_DELETE;
        }
    }
}

static void naive(const struct gn_bin *bin, const struct gn_order *order, const uint8_t *codes,
                  struct counts *ret_counts) {
    struct counts counts = {.first = (int64_t)bin->start - GN_HALO,
                            .length = (int64_t)bin->end - bin->start + 2 * GN_HALO};
    counts.depth = calloc((size_t)counts.length, sizeof(uint64_t));
    counts.evidence = calloc((size_t)counts.length, sizeof(uint64_t));
    assert_true(counts.depth && counts.evidence);
    const struct gn_record *records = gn_at(bin, bin->records);
    const uint8_t *duplicates = gn_at(order, order->duplicates);
    for (uint32_t i = 0; i < bin->record_count; i++) {
        if (!duplicates[i] && !(records[i].flags & 0xf04) && records[i].mapping_quality >= 20) {
            walk(&counts, bin, &records[i], codes);
        }
    }
    *ret_counts = counts;
}

static void same_as_walk(void **state) {
    const uint8_t *codes = *state;
    struct gn_index *index = made_index(codes, BIN_REFERENCE);
    uint64_t evidence = 0, saturated = 0;
    for (uint32_t at = 0; at < GUEST_COUNT(bin_cases); at++) {
        struct gn_bin *bin = bin_make(&bin_cases[at], codes, BIN_REFERENCE, 400 + at);
        struct gn_order *order = aligned_alloc(GN_ALIGN, gn_order_bytes(bin->record_count));
        uint64_t bytes = gn_activity_bytes(bin->end - bin->start);
        struct gn_activity *activity = aligned_alloc(GN_ALIGN, bytes);
        struct counts want;
        assert_true(order && activity);
        assert_int_equal(gn_sort(bin, order, guest_simd()), 0);
        naive(bin, order, codes, &want);
        for (int level = 0; level <= (int)guest_simd(); level++) {
            memset(activity, 0xff, bytes);
            assert_int_equal(gn_activity_run(index, bin, order, activity, (enum guest_simd)level),
                             0);
            assert_int_equal(activity->bytes, bytes);
            assert_int_equal(activity->length, want.length);
            for (uint32_t i = 0; i < activity->length; i++) {
                uint32_t depth = ((const uint16_t *)gn_at(activity, activity->depth))[i];
                uint32_t against = ((const uint32_t *)gn_at(activity, activity->evidence))[i];
                if (depth != (want.depth[i] < 65535 ? want.depth[i] : 65535) ||
                    against != want.evidence[i]) {
                    fail_msg("%s, seed %u, %s, position %u: depth %u evidence %u",
                             bin_cases[at].name, 400 + at, guest_simd_name((enum guest_simd)level),
                             i, depth, against);
                }
                evidence += against;
                saturated += depth == 65535;
            }
        }
        free(want.depth);
        free(want.evidence);
        free(activity);
        free(order);
        free(bin);
    }
    assert_true(evidence > 100000);
    assert_true(saturated > 0);
    free(index);
}

static int set_up(void **state) {
    *state = bin_reference(4);
    return 0;
}

static int tear_down(void **state) {
    free(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_walk)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
