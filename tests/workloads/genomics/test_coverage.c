/* SPDX-License-Identifier: Apache-2.0
 *
 * What depth is usual: of covered bases around, of the contig itself, in whatever order and pieces
 * reads come.
 */
#include "genomics/call/coverage.h"
#include "made.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* after what it needs */
#include <cmocka.h>

enum { LENGTH = 3000000, READ = 150 };

static const struct gn_contig whole = {GN_GAP, LENGTH, 0};

/* Reads at random over [from, to), global. */
static void sequence(struct gn_coverage *coverage, double depth, uint32_t from, uint32_t to,
                     uint64_t seed) {
    struct made_random random = {.seed = seed};
    uint32_t count = (uint32_t)(depth * (to - from) / READ);
    for (uint32_t i = 0; i < count; i++) {
        gn_coverage_add(coverage, from + made_below(&random, to - from), READ);
    }
}

static struct gn_depth around(struct gn_coverage *coverage, const struct gn_contig *contig,
                              uint32_t position) {
    struct gn_depth depth;
    assert_int_equal(gn_coverage_complete(coverage), 0);
    assert_int_equal(gn_coverage_around(coverage, contig, position, position + 1, &depth), 0);
    return depth;
}

static void expect(struct gn_depth depth, double typical, double spread_most) {
    if (!(depth.typical > 0.94 * typical && depth.typical < 1.06 * typical &&
          depth.spread <= spread_most)) {
        fail_msg("%.2f with a spread of %.3f instead of %.2f", depth.typical, depth.spread,
                 typical);
    }
}

static void even(void **state) {
    (void)state;
    static const double depths[] = {8, 30, 1500};
    for (size_t i = 0; i < GUEST_COUNT(depths); i++) {
        struct gn_coverage *coverage = gn_coverage_create(LENGTH + 2 * GN_GAP);
        sequence(coverage, depths[i], GN_GAP, GN_GAP + 200000, i);
        expect(around(coverage, &whole, GN_GAP + 100000), depths[i], 0.1);
        gn_coverage_destroy(coverage);
    }
}

/* A part of a contig, however it lies: what is not covered does not count. */
static void part(void **state) {
    (void)state;
    struct gn_coverage *coverage = gn_coverage_create(LENGTH + 2 * GN_GAP);
    sequence(coverage, 30, GN_GAP + 1234567, GN_GAP + 1234567 + 30000, 3);
    expect(around(coverage, &whole, GN_GAP + 1240000), 30, 0.15);
    /* Far from it nothing is known. */
    assert_true(around(coverage, &whole, GN_GAP + 2500000).typical <= 0);
    gn_coverage_destroy(coverage);
}

/* Strays between islands are most of the blocks, and say nothing; nor do islands of all depths. */
static void islands(void **state) {
    (void)state;
    struct gn_coverage *even = gn_coverage_create(LENGTH + 2 * GN_GAP);
    struct gn_coverage *uneven = gn_coverage_create(LENGTH + 2 * GN_GAP);
    struct made_random random = {.seed = 5};
    sequence(even, 1, GN_GAP, GN_GAP + LENGTH, 4);
    sequence(uneven, 1, GN_GAP, GN_GAP + LENGTH, 4);
    for (uint32_t at = GN_GAP + 1000; at < GN_GAP + LENGTH / 2; at += 9000) {
        sequence(even, 80, at, at + 3000, at);
        sequence(uneven, 20 + made_below(&random, 200), at, at + 600, at);
    }
    expect(around(even, &whole, GN_GAP + LENGTH / 4), 80, 0.3);
    struct gn_coverage *strays = gn_coverage_create(LENGTH + 2 * GN_GAP);
    sequence(strays, 2, GN_GAP, GN_GAP + LENGTH, 6); /* and one target, which is nothing */
    sequence(strays, 900, GN_GAP + LENGTH / 4, GN_GAP + LENGTH / 4 + 300, 7);
    assert_true(around(strays, &whole, GN_GAP + LENGTH / 4).typical <= 0);
    gn_coverage_destroy(strays);
    assert_true(around(even, &whole, GN_GAP + LENGTH - 1000).typical <= 0); /* strays alone */
    assert_true(around(uneven, &whole, GN_GAP + LENGTH / 4).typical <= 0);
    gn_coverage_destroy(even);
    gn_coverage_destroy(uneven);
}

/* A copy that the reference lacks, of a tenth of what is around, changes nothing. */
static void copies(void **state) {
    (void)state;
    struct gn_coverage *coverage = gn_coverage_create(LENGTH + 2 * GN_GAP);
    sequence(coverage, 30, GN_GAP, GN_GAP + LENGTH, 6);
    sequence(coverage, 30, GN_GAP + 1500000, GN_GAP + 1580000, 7);
    expect(around(coverage, &whole, GN_GAP + 1540000), 30, 0.13);
    gn_coverage_destroy(coverage);
}

/* Contigs side by side, each with a depth of its own; one of them too short to tell. */
static void contigs(void **state) {
    (void)state;
    const struct gn_contig list[] = {
        {GN_GAP, 100000, 0}, {102048, 16569, 0}, {119641, 50000, 0}, {170665, 0, 0}};
    static const double depths[] = {30, 90, 15};
    struct gn_coverage *coverage = gn_coverage_create(171689);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t start = (uint32_t)list[i].start;
        sequence(coverage, depths[i], start, start + list[i].length, i);
    }
    expect(around(coverage, &list[0], 50000), 30, 0.1);
    assert_true(around(coverage, &list[1], 110000).typical <= 0);
    expect(around(coverage, &list[2], 140000), 15, 0.15);
    assert_true(around(coverage, &list[3], 170665).typical <= 0);
    gn_coverage_destroy(coverage);
}

static void nothing(void **state) {
    (void)state;
    struct gn_coverage *coverage = gn_coverage_create(LENGTH + 2 * GN_GAP);
    assert_true(around(coverage, &whole, GN_GAP).typical <= 0);
    gn_coverage_add(coverage, LENGTH + 2 * GN_GAP - 10, 1000); /* over the end */
    gn_coverage_add(coverage, (uint64_t)1 << 40, 1000);
    assert_true(around(coverage, &whole, GN_GAP).typical <= 0);
    gn_coverage_destroy(coverage);
    gn_coverage_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even),   cmocka_unit_test(part),    cmocka_unit_test(islands),
        cmocka_unit_test(copies), cmocka_unit_test(contigs), cmocka_unit_test(nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
