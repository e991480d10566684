/* SPDX-License-Identifier: Apache-2.0
 *
 * assemble: regions, reads and haplotypes of donors that are known; input that means harm.
 */
#include "bin_cases.h"
#include "call_cases.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

/* after what it needs */
#include <cmocka.h>

static struct gn_call_options options;

static struct gn_regions *assemble(const struct call_donor *donor, const struct call_reads *reads,
                                   uint64_t shuffle) {
    struct gn_index *index = made_index(donor->reference, CALL_LENGTH);
    struct gn_bin *bin = call_bin(reads, 0, CALL_LENGTH, shuffle);
    struct gn_regions *regions = NULL;
    assert_int_equal(call_assemble(index, bin, &options, &regions), 0);
    free(bin);
    free(index);
    return regions;
}

static const struct gn_hmm_region *blob_region(const struct gn_regions *regions, uint32_t at) {
    return (const struct gn_hmm_region *)gn_at(regions->hmm, regions->hmm->regions) + at;
}

/* Which haplotype has just these events; haplotype_count: none. */
static uint32_t find_haplotype(const struct gn_regions *regions, uint32_t at, const uint8_t *set) {
    const struct gn_region *region = &regions->regions[at];
    uint32_t h = 0;
    for (; h < blob_region(regions, at)->haplotype_count; h++) {
        const uint8_t *has = regions->carried + region->carried + h * region->event_count;
        if (memcmp(has, set, region->event_count) == 0) {
            break;
        }
    }
    return h;
}

static void nothing_to_see(void **state) {
    (void)state;
    struct call_donor *donor = call_donor_make(1);
    call_grow(donor);
    struct call_reads *reads = call_reads_make(donor, 30, 1);
    struct gn_regions *regions = assemble(donor, reads, 0);
    assert_int_equal(regions->region_count, 0);
    assert_int_equal(regions->hmm->sum_count, 0);
    assert_int_equal(regions->hmm->bytes % GN_ALIGN, 0);
    gn_regions_free(regions);
    reads->count = 0; /* no reads at all */
    regions = assemble(donor, reads, 0);
    assert_int_equal(regions->region_count, 0);
    gn_regions_free(regions);
    free(reads);
    free(donor);
}

/* Two SNPs 20 bases apart on one haplotype, or on one each. */
static void phase_is_kept(void **state) {
    (void)state;
    static const uint8_t sets[2][3][2] = {{{0, 0}, {1, 1}, {1, 1}}, {{0, 0}, {1, 0}, {0, 1}}};
    for (uint32_t apart = 0; apart < 2; apart++) {
        struct call_donor *donor = call_donor_make(2);
        call_put(donor, 3000, "ACGTACCATGGATCCATAGCAGT");
        donor->variants[0] = (struct call_variant){3000, "A", "T", 1, 0};
        donor->variants[1] = (struct call_variant){3020, "A", "C", !apart, apart != 0};
        donor->variant_count = 2;
        call_grow(donor);
        struct call_reads *reads = call_reads_make(donor, 30, 2);
        struct gn_regions *regions = assemble(donor, reads, 0);
        assert_int_equal(regions->region_count, 1);
        assert_int_equal(regions->regions[0].event_count, 2);
        assert_int_equal(regions->events[0].position, GN_GAP + 3000);
        assert_int_equal(regions->events[1].position, GN_GAP + 3020);
        assert_int_equal(find_haplotype(regions, 0, sets[apart][0]), 0);
        for (uint32_t i = 1; i < 3; i++) {
            assert_true(find_haplotype(regions, 0, sets[apart][i]) <
                        blob_region(regions, 0)->haplotype_count);
        }
        gn_regions_free(regions);
        free(reads);
        free(donor);
    }
}

/* Where mates overlap, no base of the reference is covered twice by one pair. */
static void mates_count_once(void **state) {
    (void)state;
    struct call_donor *donor = call_donor_make(3);
    donor->variants[0] = (struct call_variant){3000, "", "ACGTA", 1, 1};
    donor->variant_count = 1;
    call_grow(donor);
    struct call_reads *reads = call_reads_make(donor, 150, 3);
    struct gn_regions *regions = assemble(donor, reads, 0);
    uint32_t pairs = 0;
    assert_true(regions->region_count > 0);
    for (uint32_t i = 0; i < regions->hmm->read_count; i++) {
        const struct gn_support *a = &regions->supports[i];
        if (a->mate == UINT32_MAX) {
            continue;
        }
        const struct gn_support *b = &regions->supports[a->mate];
        assert_int_equal(b->mate, i);
        assert_int_equal(a->serial ^ 1, b->serial);
        assert_true(a->end <= b->start || b->end <= a->start);
        pairs++;
    }
    assert_true(pairs > 4);
    gn_regions_free(regions);
    free(reads);
    free(donor);
}

static void order_does_not_matter(void **state) {
    (void)state;
    struct call_donor *donor = call_donor_make(4);
    for (uint32_t i = 0; i < 8; i++) {
        donor->variants[i] =
            (struct call_variant){500 + 600 * i, "", i % 2 ? "T" : "CAG", 1, i % 3 == 0};
    }
    donor->variant_count = 8;
    call_grow(donor);
    struct call_reads *reads = call_reads_make(donor, 40, 4);
    struct gn_regions *one = assemble(donor, reads, 0), *two = assemble(donor, reads, 77);
    assert_int_equal(one->hmm->bytes, two->hmm->bytes);
    assert_memory_equal(one->hmm, two->hmm, one->hmm->bytes);
    assert_int_equal(one->event_count, two->event_count);
    gn_regions_free(one);
    gn_regions_free(two);
    options.read_cap = 20; /* thinned: still the same ones */
    one = assemble(donor, reads, 0);
    two = assemble(donor, reads, 78);
    for (uint32_t i = 0; i < one->region_count; i++) {
        assert_true(blob_region(one, i)->read_count <= 20);
    }
    assert_int_equal(one->hmm->bytes, two->hmm->bytes);
    assert_memory_equal(one->hmm, two->hmm, one->hmm->bytes);
    gn_regions_free(one);
    gn_regions_free(two);
    gn_call_options_default(&options);
    free(reads);
    free(donor);
}

/* Bounds hold whatever comes in; PairHMM accepts the blob. */
static void check_bounds(const struct gn_regions *regions) {
    const struct gn_hmm *hmm = regions->hmm;
    float *sums = calloc(hmm->sum_count + 1u, sizeof(*sums));
    assert_int_equal(hmm->region_count, regions->region_count);
    for (uint32_t i = 0; i < regions->region_count; i++) {
        const struct gn_hmm_region *region = blob_region(regions, i);
        assert_true(region->read_count <= options.read_cap);
        assert_true(region->haplotype_count <= options.haplotype_cap);
        assert_true(regions->regions[i].end - regions->regions[i].start <= GN_REGION_MAX);
        assert_true(i == 0 || regions->regions[i - 1].owned_end <= regions->regions[i].owned_start);
    }
    assert_int_equal(gn_hmm_run(hmm, sums, guest_simd()), 0);
    free(sums);
}

static void deep_and_repeated(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < 4; kind++) {
        struct call_donor *donor = call_donor_make(5);
        for (uint32_t i = 2000; kind == 1 && i < 4000; i++) {
            donor->reference[i] = i % 2 ? 0 : 3; /* nothing but TATATA */
        }
        for (uint32_t i = 2000; kind == 2 && i < 4000; i++) {
            donor->reference[i] = 4;
        }
        donor->variants[0] = (struct call_variant){3000, "", "G", 1, 0};
        donor->variant_count = 1;
        call_grow(donor);
        struct call_reads *reads = call_reads_make(donor, 30, 5);
        struct made_random random = {.seed = 5};
        while (kind == 0 && reads->count < 6000) { /* all at one place */
            call_read(donor, reads, reads->count % 2, 2930 + made_below(&random, 60), false,
                      10000 + reads->count, &random);
        }
        for (uint32_t i = 0; kind == 3 && i < reads->count; i++) {
            memset(reads->bases[i], 4, CALL_READ); /* nothing but N */
        }
        struct gn_regions *regions = assemble(donor, reads, 0);
        check_bounds(regions);
        gn_regions_free(regions);
        free(reads);
        free(donor);
    }
}

/* Reads with any flags, cigars and bases. */
static void wild(void **state) {
    (void)state;
    struct call_donor *donor = call_donor_make(6);
    struct gn_index *index = made_index(donor->reference, CALL_LENGTH);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct bin_case what = {"wild", 1500, GN_GAP, GN_GAP + CALL_LENGTH, 0, 20, true};
        struct gn_bin *bin = bin_make(&what, donor->reference, CALL_LENGTH, seed);
        struct gn_regions *regions = NULL;
        assert_int_equal(call_assemble(index, bin, &options, &regions), 0);
        check_bounds(regions);
        gn_regions_free(regions);
        free(bin);
    }
    free(index);
    free(donor);
}

static void refuses(void **state) {
    (void)state;
    struct call_donor *donor = call_donor_make(7);
    call_grow(donor);
    struct call_reads *reads = call_reads_make(donor, 10, 7);
    struct gn_index *index = made_index(donor->reference, CALL_LENGTH);
    struct gn_bin *bin = call_bin(reads, 0, CALL_LENGTH, 0), *half = call_bin(reads, 0, 500, 0);
    struct gn_order *order = call_sort(half);
    struct gn_activity *activity = aligned_alloc(GN_ALIGN, gn_activity_bytes(CALL_LENGTH));
    struct gn_regions *regions = NULL;
    struct gn_order *right = call_sort(bin);
    assert_int_equal(gn_activity_run(index, bin, right, activity, guest_simd()), 0);
    assert_int_equal(gn_assemble(index, bin, order, activity, &options, &regions), -EINVAL);
    assert_int_equal(gn_assemble(index, half, order, activity, &options, &regions), -EINVAL);
    struct gn_call_options bad = options;
    bad.haplotype_cap = GN_HAPLOTYPE_MAX + 1;
    assert_int_equal(gn_assemble(index, bin, right, activity, &bad, &regions), -EINVAL);
    assert_null(regions);
    free(right);
    free(order);
    free(activity);
    free(bin);
    free(half);
    free(index);
    free(reads);
    free(donor);
}

int main(void) {
    gn_call_options_default(&options);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_to_see),    cmocka_unit_test(phase_is_kept),
        cmocka_unit_test(mates_count_once),  cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(deep_and_repeated), cmocka_unit_test(wild),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
