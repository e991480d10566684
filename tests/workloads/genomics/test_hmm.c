/* SPDX-License-Identifier: Apache-2.0
 *
 * PairHMM: variants bit by bit, double precision, a naive recurrence, libgkl, denormals, and blobs
 * that are not what they say.
 */
#include "gkl.h"
#include "hmm_cases.h"
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "genomics/call/hmm_rows.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static const struct hmm_case cases[] = {
    {"like a caller's", 12, {3, 40}, {2, 4}, {30, 150}, {200, 300}, 0, false},
    {"with N", 4, {1, 20}, {1, 5}, {1, 60}, {1, 90}, 0.1, false},
    {"all N", 1, {20, 20}, {3, 3}, {50, 60}, {70, 80}, 1, false},
    {"wild", 4, {5, 33}, {1, 6}, {1, 40}, {1, 50}, 0.05, true},
    {"haplotypes shorter than reads", 3, {9, 20}, {2, 3}, {100, 140}, {5, 40}, 0.01, false},
    {"longest reads", 2, {17, 18}, {2, 2}, {500, 512}, {520, 600}, 0, false},
    {"one read", 5, {1, 1}, {1, 1}, {1, 150}, {1, 150}, 0, false},
    {"one base", 2, {19, 19}, {3, 3}, {1, 1}, {1, 1}, 0.2, false},
    {"empty regions", 9, {0, 2}, {0, 2}, {20, 30}, {30, 40}, 0, false},
    {"nothing in them", 3, {18, 18}, {2, 2}, {0, 2}, {0, 2}, 0, false},
    {"many of one length", 2, {337, 340}, {2, 3}, {30, 31}, {40, 60}, 0.02, false},
    {"unlikely", 2, {10, 20}, {2, 2}, {140, 150}, {200, 220}, 0, true},
};

static struct gn_hmm *make(const struct hmm_case *what, uint64_t seed, float **ret_sums) {
    struct gn_hmm *blob = hmm_make(what, seed);
    *ret_sums = malloc(sizeof(float) * (blob ? blob->sum_count + 1 : 1));
    assert_true(blob && *ret_sums);
    return blob;
}

/* Region, read and haplotype of a sum. */
struct place {
    uint32_t read, haplotype;
};

static struct place place_of(const struct gn_hmm *blob, uint32_t sum) {
    const struct gn_hmm_region *regions = gn_at(blob, blob->regions);
    for (uint32_t at = 0; at < blob->region_count; at++) {
        uint32_t in = sum - regions[at].sum;
        if (sum >= regions[at].sum && in < regions[at].read_count * regions[at].haplotype_count) {
            return (struct place){regions[at].read + in / regions[at].haplotype_count,
                                  regions[at].haplotype + in % regions[at].haplotype_count};
        }
    }
    fail_msg("sum %u belongs to no region", sum);
    return (struct place){0, 0};
}

static void variants_agree(void **state) {
    (void)state;
    for (uint32_t at = 0; at < GUEST_COUNT(cases); at++) {
        float *sums = NULL, *others = NULL;
        struct gn_hmm *blob = make(&cases[at], 7 + at, &sums);
        others = malloc(sizeof(float) * (blob->sum_count + 1));
        assert_non_null(others);
        assert_int_equal(gn_hmm_run(blob, sums, GUEST_PLAIN), 0);
        for (int level = GUEST_AVX2; level <= (int)guest_simd(); level++) {
            memset(others, 0xff, sizeof(float) * blob->sum_count);
            assert_int_equal(gn_hmm_run(blob, others, (enum guest_simd)level), 0);
            for (uint32_t i = 0; i < blob->sum_count; i++) {
                if (memcmp(&sums[i], &others[i], sizeof(float)) != 0) {
                    fail_msg("%s, seed %u: %s gives %a for pair %u, plain %a", cases[at].name,
                             7 + at, guest_simd_name((enum guest_simd)level), (double)others[i], i,
                             (double)sums[i]);
                }
            }
        }
        free(others);
        free(sums);
        free(blob);
    }
}

/* The model as hmm.h has it first: a matrix for each state, nothing clever. */
static double naive(const struct gn_hmm *blob, struct place place) {
    const struct gn_hmm_read *read = gn_hmm_read(blob, place.read);
    uint32_t rows = read->length, columns = gn_hmm_haplotype(blob, place.haplotype)->length;
    const uint8_t *bases = gn_hmm_haplotype_bases(blob, place.haplotype);
    const uint8_t *letters = (const uint8_t *)gn_at(blob, blob->read_bases) + read->bases;
    const uint8_t *qualities = (const uint8_t *)gn_at(blob, blob->read_qualities) + read->bases;
    const uint8_t *gaps = (const uint8_t *)gn_at(blob, blob->read_gaps) + read->bases;
    size_t wide = columns + 1, size = wide * (rows + 1);
    long double *m = calloc(3 * size, sizeof(*m)), *in = m + size, *d = in + size, sum = 0;
    assert_non_null(m);
    long double g = (long double)blob->continuation;
    for (uint32_t j = 0; j <= columns; j++) {
        d[j] = 1.0L / columns;
    }
    for (size_t i = 1; i <= rows; i++) {
        int gap = gaps[i - 1] < 4 ? 4 : gaps[i - 1] > 60 ? 60 : gaps[i - 1];
        long double e = powl(10, -fminl(qualities[i - 1], 127) / 10), o = powl(10, -gap / 10.0L);
        for (size_t j = 1; j <= columns; j++) {
            size_t at = i * wide + j, left = at - 1, up = at - wide, both = up - 1;
            bool agree = letters[i - 1] > 3 || bases[j - 1] > 3 || letters[i - 1] == bases[j - 1];
            m[at] =
                (agree ? 1 - e : e / 3) * (m[both] * (1 - 2 * o) + (in[both] + d[both]) * (1 - g));
            in[at] = m[up] * o + in[up] * g;
            d[at] = m[left] * o + d[left] * g;
            sum += i == rows ? m[at] + in[at] : 0;
        }
    }
    free(m);
    return rows > 0 && sum > 0 ? (double)log10l(sum) : -1e6;
}

static void near_double_precision(void **state) {
    (void)state;
    double worst = 0, worst_exact = 0;
    uint32_t small = 0, count = 0;
    for (uint32_t at = 0; at < GUEST_COUNT(cases); at++) {
        float *sums = NULL;
        struct gn_hmm *blob = make(&cases[at], 70 + at, &sums);
        assert_int_equal(gn_hmm_run(blob, sums, guest_simd()), 0);
        for (uint32_t i = 0; i < blob->sum_count; i += 1 + blob->sum_count / 40) {
            struct place place = place_of(blob, i);
            double want = fmax(naive(blob, place), GN_HMM_FLOOR);
            double got = gn_hmm_log10(blob, place.read, place.haplotype, sums[i]);
            double exact = gn_hmm_exact(blob, place.read, place.haplotype);
            count++;
            small += sums[i] < GN_HMM_SMALL;
            worst = fmax(worst, fabs(got - want));
            worst_exact = fmax(worst_exact, fabs(exact - want));
            if (!(fabs(got - want) <= 1e-4) || !(fabs(exact - want) <= 1e-9 * (1 + fabs(want)))) {
                fail_msg("%s, seed %u, pair %u: %.9g, exact %.9g, naive %.9g", cases[at].name,
                         70 + at, i, got, exact, want);
            }
        }
        free(sums);
        free(blob);
    }
    printf("%u pairs, %u of them small; log10 off by %.2g at most, exact by %.2g\n", count, small,
           worst, worst_exact);
}

/* Devices that do not flush denormals: the same recurrence with them gives the same bits. */
static void denormals_do_not_matter(void **state) {
    (void)state;
    uint32_t counted = 0, differing_below = 0;
    for (uint32_t at = 0; at < GUEST_COUNT(cases); at++) {
        float *sums = NULL;
        struct gn_hmm *blob = make(&cases[at], 700 + at, &sums);
        assert_int_equal(gn_hmm_run(blob, sums, guest_simd()), 0);
        for (uint32_t i = 0; i < blob->sum_count; i++) {
            struct gn_hmm_row rows[GN_READ_MAX];
            struct place place = place_of(blob, i);
            gn_hmm_rows(blob, place.read, rows);
            float kept =
                gn_hmm_plain(blob, place.haplotype, rows, gn_hmm_read(blob, place.read)->length);
            bool same = memcmp(&kept, &sums[i], sizeof(kept)) == 0;
            if (kept >= GN_HMM_SMALL || sums[i] >= GN_HMM_SMALL) {
                counted++;
                if (!same) {
                    fail_msg("%s, seed %u, pair %u: %a with denormals, %a without", cases[at].name,
                             700 + at, i, (double)kept, (double)sums[i]);
                }
            } else {
                differing_below += !same;
            }
        }
        free(sums);
        free(blob);
    }
    assert_true(counted > 100);
    printf("%u sums alike; %u below GN_HMM_SMALL differ\n", counted, differing_below);
}

static void control_word_stays(void **state) {
    (void)state;
#if defined(__x86_64__)
    float *sums = NULL;
    struct gn_hmm *blob = make(&cases[0], 3, &sums);
    uint32_t before = _mm_getcsr();
    assert_int_equal(gn_hmm_run(blob, sums, guest_simd()), 0);
    assert_int_equal(_mm_getcsr() & 0xffc0, before & 0xffc0);
    free(sums);
    free(blob);
#else
    skip();
#endif
}

static void near_gkl(void **state) {
    (void)state;
    struct gkl gkl = {0};
    struct gkl_batch batch = {0};
    float *sums = NULL, *peers = NULL;
    const char *why = guest_simd_of_processor() < GUEST_AVX2 ? "it needs AVX" : gkl_open(&gkl);
    if (why) {
        printf("not compared with libgkl: %s\n", why);
        skip();
    }
    struct gn_hmm *blob = make(&cases[0], 5, &sums);
    peers = malloc(sizeof(float) * blob->sum_count);
    assert_non_null(peers);
    assert_int_equal(gkl_load(blob, &batch), 0);
    assert_int_equal(gn_hmm_run(blob, sums, guest_simd()), 0);
    gkl_run(blob, &batch, gkl.avx, peers);
    uint32_t compared = 0;
    for (uint32_t i = 0; i < blob->sum_count; i++) {
        struct place place = place_of(blob, i);
        if (peers[i] > 1e-28f) {
            double mine = gn_hmm_log10(blob, place.read, place.haplotype, sums[i]);
            assert_true(fabs(mine - (log10((double)peers[i]) - 120 * log10(2))) < 1e-4);
            compared++;
        }
    }
    assert_true(compared > blob->sum_count / 2);
    gkl_free(&batch);
    free(peers);
    free(sums);
    free(blob);
}

static void order_of_reads_does_not_matter(void **state) {
    (void)state;
    float *sums = NULL;
    struct gn_hmm *blob = make(&cases[0], 11, &sums);
    float *turned = malloc(sizeof(float) * blob->sum_count);
    assert_non_null(turned);
    assert_int_equal(gn_hmm_run(blob, sums, guest_simd()), 0);
    const struct gn_hmm_region *regions = gn_at(blob, blob->regions);
    struct gn_hmm_read *reads = gn_in(blob, blob->reads);
    for (uint32_t at = 0; at < blob->region_count; at++) {
        for (uint32_t i = 0; i < regions[at].read_count / 2; i++) {
            struct gn_hmm_read *left = &reads[regions[at].read + i];
            struct gn_hmm_read *right = &reads[regions[at].read + regions[at].read_count - 1 - i];
            struct gn_hmm_read swap = *left;
            *left = *right;
            *right = swap;
        }
    }
    assert_int_equal(gn_hmm_run(blob, turned, guest_simd()), 0);
    for (uint32_t at = 0; at < blob->region_count; at++) {
        uint32_t wide = regions[at].haplotype_count, reads_here = regions[at].read_count;
        for (uint32_t i = 0; i < reads_here; i++) {
            assert_memory_equal(sums + regions[at].sum + i * wide,
                                turned + regions[at].sum + (reads_here - 1 - i) * wide,
                                sizeof(float) * wide);
        }
    }
    free(turned);
    free(sums);
    free(blob);
}

static void wrong_blobs_are_refused(void **state) {
    (void)state;
    for (int fault = 0; fault < 12; fault++) {
        float *sums = NULL;
        struct gn_hmm *blob = make(&cases[0], 9, &sums);
        struct gn_hmm_region *regions = gn_in(blob, blob->regions);
        struct gn_hmm_read *reads = gn_in(blob, blob->reads);
        struct gn_hmm_haplotype *haplotypes = gn_in(blob, blob->haplotypes);
        switch (fault) {
        case 0:
            regions[1].sum++;
            break;
        case 1:
            regions[1].read = blob->read_count + 1;
            break;
        case 2:
            regions[0].read_count = UINT32_MAX;
            break;
        case 3:
            regions[0].haplotype = UINT32_MAX;
            break;
        case 4:
            blob->sum_count--;
            break;
        case 5:
            reads[0].length = GN_READ_MAX + 1;
            break;
        case 6:
            reads[0].bases = UINT32_MAX;
            break;
        case 7:
            haplotypes[0].length = GN_HMM_HAPLOTYPE_MAX + 1;
            break;
        case 8:
            haplotypes[0].bases = UINT32_MAX;
            break;
        case 9:
            ((uint8_t *)gn_in(blob, blob->haplotype_bases))[5] = 5;
            break;
        case 10:
            blob->regions = blob->bytes;
            break;
        default:
            blob->haplotypes = UINT64_MAX;
            break;
        }
        for (int level = 0; level <= (int)guest_simd(); level++) {
            assert_int_equal(gn_hmm_run(blob, sums, (enum guest_simd)level), -EINVAL);
        }
        free(sums);
        free(blob);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variants_agree),
        cmocka_unit_test(near_double_precision),
        cmocka_unit_test(denormals_do_not_matter),
        cmocka_unit_test(control_word_stays),
        cmocka_unit_test(near_gkl),
        cmocka_unit_test(order_of_reads_does_not_matter),
        cmocka_unit_test(wrong_blobs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
