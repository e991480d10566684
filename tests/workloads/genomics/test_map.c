/* SPDX-License-Identifier: Apache-2.0
 *
 * map: reads are found where they came from, every variant finds the same, and every hit is what it
 * says. bench/genomics_map.c compares the CUDA variant.
 */
#include "genomics/align/map.h"
#include "genomics/align/map_rule.h"
#include "map_cases.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct gn_hits *map(const struct gn_index *index, const struct gn_reads *reads,
                           enum guest_simd level) {
    uint64_t bytes = gn_hits_bytes(reads->read_count);
    struct gn_hits *hits = aligned_alloc(GN_ALIGN, bytes);
    assert_non_null(hits);
    memset(hits, 0xa5, bytes);
    assert_int_equal(gn_map(index, reads, hits, level), 0);
    assert_int_equal(hits->bytes, bytes);
    return hits;
}

/* --- the slow way ----------------------------------------------------------------------------- */

/* Distance by codes. */
static uint32_t slow_distance(const struct gn_index *index, const uint8_t *codes, uint32_t length,
                              uint32_t start) {
    uint8_t reference[GN_READ_MAX];
    uint32_t sum = 0;
    gn_genome_fetch(index, start, length, reference);
    for (uint32_t i = 0; i < length; i++) {
        sum += codes[i] > 3 || reference[i] > 3 || codes[i] != reference[i];
    }
    return sum;
}

static void turn_codes(const uint8_t *codes, uint32_t length, uint8_t *ret_codes) {
    for (uint32_t i = 0; i < length; i++) {
        uint8_t code = codes[length - 1 - i];
        ret_codes[i] = code > 3 ? 4 : (uint8_t)(3 - code);
    }
}

/* Best and only hit expected where a read was copied without gaps from a genome without repeats. */
static void check_first(const struct gn_index *index, const struct gn_reads *reads,
                        const struct gn_hits *hits, const struct gn_hit *truth, double *ret_share) {
    const struct gn_read *read = gn_at(reads, reads->reads);
    const uint8_t *bases = gn_at(reads, reads->bases), *counts = gn_at(hits, hits->counts);
    const struct gn_hit *list = gn_at(hits, hits->hits);
    uint32_t right = 0, asked = 0;
    for (uint32_t i = 0; i < reads->read_count; i++) {
        uint8_t codes[GN_READ_MAX], turned[GN_READ_MAX];
        const struct gn_hit *first = &list[(size_t)i * GN_HIT_MAX];
        memcpy(codes, bases + read[i].bases, read[i].length);
        turn_codes(codes, read[i].length, turned);
        uint32_t least = slow_distance(index, truth[i].reverse ? turned : codes, read[i].length,
                                       truth[i].position);
        if (least > 6) {
            continue; /* hangs over an end, or has very many errors */
        }
        asked++;
        right += counts[i] > 0 && first->position == truth[i].position &&
                 first->reverse == truth[i].reverse && first->mismatches == least;
    }
    assert_true(asked > reads->read_count / 2);
    *ret_share = (double)right / asked;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void finds_where_reads_came_from(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct made_random random = {seed, 0};
        struct sy_error error;
        struct gn_index *index = cases_index(&random, &cases_genomes[0], &error);
        assert_non_null(index);
        for (uint32_t errors = 0; errors < 3; errors++) {
            struct map_reads how = {500, 100, 200, 0.01 * errors, 0, 0};
            struct gn_hit *truth = calloc(how.count, sizeof(*truth));
            struct gn_reads *reads = cases_reads(&random, index, &how, truth);
            struct gn_hits *hits = map(index, reads, guest_simd());
            double share;
            check_first(index, reads, hits, truth, &share);
            print_message("seed %llu, %u %% errors: %.4f found\n", (unsigned long long)seed, errors,
                          share);
            assert_true(share >= (errors ? 0.99 : 1));
            free(truth);
            free(reads);
            free(hits);
        }
        gn_index_close(index);
    }
}

static void variants_are_equal(void **state) {
    (void)state;
    uint64_t hit_total = 0;
    for (uint32_t i = 0; i < GUEST_COUNT(cases_genomes); i++) {
        struct made_random random = {100 + i, 0};
        struct sy_error error;
        struct gn_index *index = cases_index(&random, &cases_genomes[i], &error);
        assert_non_null(index);
        for (uint32_t k = 0; k < GUEST_COUNT(cases_ways); k++) {
            struct gn_reads *reads = cases_reads(&random, index, &cases_ways[k], NULL);
            struct gn_hits *plain = map(index, reads, GUEST_PLAIN);
            const uint8_t *counts = gn_at(plain, plain->counts);
            for (uint32_t r = 0; r < reads->read_count; r++) {
                hit_total += counts[r];
            }
            for (int level = GUEST_AVX2; level <= (int)guest_simd_of_processor(); level++) {
                struct gn_hits *other = map(index, reads, (enum guest_simd)level);
                assert_memory_equal(plain, other, plain->bytes);
                free(other);
            }
            free(plain);
            free(reads);
        }
        gn_index_close(index);
    }
    assert_true(hit_total > 5000);
}

/* Distances are what they say, hits stand in their order and lie in one contig. */
static void check_list(const struct gn_index *index, const uint8_t *codes, uint32_t length,
                       const struct gn_hit *list, uint32_t count) {
    uint8_t turned[GN_READ_MAX];
    turn_codes(codes, length, turned);
    for (uint32_t k = 0; k < count; k++) {
        const struct gn_hit *hit = &list[k];
        assert_true(hit->reverse <= 1 && hit->votes > 0);
        assert_int_equal(hit->mismatches, slow_distance(index, hit->reverse ? turned : codes,
                                                        length, hit->position));
        assert_true(gn_hit_fair(length, hit->mismatches, hit->votes));
        uint32_t first = SY_NONE;
        for (uint32_t at = 0; at < length; at++) {
            uint32_t contig = gn_contig_of(index, hit->position + at);
            first = first == SY_NONE ? contig : first;
            assert_true(contig == SY_NONE || contig == first);
        }
        assert_int_not_equal(first, SY_NONE);
        uint32_t key = gn_hit_key(length, hit->mismatches, hit->votes, index->kmer);
        for (uint32_t j = 0; j < k; j++) {
            uint32_t before = gn_hit_key(length, list[j].mismatches, list[j].votes, index->kmer);
            assert_true(before > key ||
                        (before == key && gn_hit_place(&list[j]) < gn_hit_place(hit)));
            assert_true(list[j].reverse != hit->reverse || list[j].position != hit->position);
        }
    }
    for (uint32_t k = count; k < GN_HIT_MAX; k++) {
        struct gn_hit none = {0};
        assert_memory_equal(&list[k], &none, sizeof(none));
    }
}

static void hits_are_what_they_say(void **state) {
    (void)state;
    for (uint32_t i = 0; i < GUEST_COUNT(cases_genomes); i++) {
        struct made_random random = {200 + i, 0};
        struct sy_error error;
        struct gn_index *index = cases_index(&random, &cases_genomes[i], &error);
        struct gn_reads *reads = cases_reads(&random, index, &cases_ways[1 + i % 3], NULL);
        struct gn_hits *hits = map(index, reads, guest_simd());
        const struct gn_read *read = gn_at(reads, reads->reads);
        const uint8_t *counts = gn_at(hits, hits->counts), *bases = gn_at(reads, reads->bases);
        const struct gn_hit *list = gn_at(hits, hits->hits);
        for (uint32_t r = 0; r < reads->read_count; r++) {
            assert_true(counts[r] <= GN_HIT_MAX && (read[r].length >= GN_KMER || !counts[r]));
            check_list(index, bases + read[r].bases, read[r].length, &list[(size_t)r * GN_HIT_MAX],
                       counts[r]);
        }
        free(reads);
        free(hits);
        gn_index_close(index);
    }
}

/* Every seed has far more places than are looked at. */
static void rescues_frequent_reads(void **state) {
    (void)state;
    struct map_genome how = {1, 400000, 1, 1200, 300, 0, 0, false};
    struct made_random random = {7, 0};
    struct sy_error error;
    struct gn_index *index = cases_index(&random, &how, &error);
    struct map_reads way = {2000, 100, 100, 0, 0, 0};
    struct gn_reads *reads = cases_reads(&random, index, &way, NULL);
    struct gn_hits *hits = map(index, reads, guest_simd());
    const uint8_t *counts = gn_at(hits, hits->counts);
    uint32_t full = 0, none = 0;
    for (uint32_t i = 0; i < reads->read_count; i++) {
        full += counts[i] == GN_HIT_MAX;
        none += counts[i] == 0;
    }
    print_message("%u reads with all hits, %u without\n", full, none);
    assert_true(full > reads->read_count / 8);
    assert_true(none < reads->read_count / 100); /* those in the gap at the ends */
    free(reads);
    free(hits);
    gn_index_close(index);
}

/* A deletion in the middle: one hit near the place, with votes from both sides. */
static void keeps_reads_with_gaps(void **state) {
    (void)state;
    struct made_random random = {9, 0};
    struct sy_error error;
    struct gn_index *index = cases_index(&random, &cases_genomes[0], &error);
    for (uint32_t gap = 1; gap <= GN_MAP_NEAR; gap += 3) {
        uint8_t codes[150];
        uint16_t length = sizeof(codes);
        uint32_t position = 5000 + 13 * gap;
        gn_genome_fetch(index, position, 75, codes);
        gn_genome_fetch(index, position + 75 + gap, 75, codes + 75);
        struct gn_reads *reads = made_reads(codes, &length, 1, false);
        struct gn_hits *hits = map(index, reads, guest_simd());
        const struct gn_hit *first = gn_at(hits, hits->hits);
        assert_int_equal(*(const uint8_t *)gn_at(hits, hits->counts), 1);
        assert_true(first->position == position || first->position == position + gap);
        assert_in_range(first->votes, 7, 13);
        free(reads);
        free(hits);
    }
    gn_index_close(index);
}

static void takes_nothing(void **state) {
    (void)state;
    struct made_random random = {11, 0};
    struct sy_error error;
    struct gn_index *index = cases_index(&random, &cases_genomes[0], &error);
    uint8_t codes[600];
    memset(codes, 4, sizeof(codes));
    uint16_t lengths[4] = {0, 1, 20, 512};
    struct gn_reads *none = made_reads(codes, lengths, 0, false);
    struct gn_reads *reads = made_reads(codes, lengths, 4, true);
    for (int level = GUEST_PLAIN; level <= (int)guest_simd_of_processor(); level++) {
        struct gn_hits *hits = map(index, reads, (enum guest_simd)level);
        assert_int_equal(*(const uint32_t *)gn_at(hits, hits->counts), 0);
        free(hits);
        hits = map(index, none, (enum guest_simd)level);
        assert_int_equal(hits->read_count, 0);
        free(hits);
    }
    free(reads);
    free(none);
    gn_index_close(index);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_where_reads_came_from), cmocka_unit_test(variants_are_equal),
        cmocka_unit_test(hits_are_what_they_say),      cmocka_unit_test(rescues_frequent_reads),
        cmocka_unit_test(keeps_reads_with_gaps),       cmocka_unit_test(takes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
