/* SPDX-License-Identifier: Apache-2.0
 *
 * choose and pair: hand-made cases on a made-up reference, from places of reads to records, with
 * extend between them.
 */
#include "genomics/align/choose.h"
#include "genomics/align/extend.h"
#include "genomics/align/map.h"
#include "genomics/align/pair.h"
#include "made.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { REFERENCE = 20000, LENGTH = 100, READS_MAX = 16 };
enum { COPY_FROM = 3000, COPY_TO = 12000, COPY_LENGTH = 1500 }; /* a repeat, exact */

/* Reads are added with their places, then everything is run. */
struct bench {
    uint8_t reference[REFERENCE];
    struct gn_index *index;
    uint8_t codes[READS_MAX * LENGTH];
    uint16_t lengths[READS_MAX];
    uint32_t count;
    struct gn_hit hits[READS_MAX][GN_HIT_MAX];
    uint8_t hit_counts[READS_MAX];
    uint8_t qualities[READS_MAX * LENGTH];
    struct gn_jobs *jobs;
    struct gn_extension *extensions;
    struct gn_aligned *aligned;
};

static struct bench *set_up(void) {
    struct bench *bench = calloc(1, sizeof(*bench));
    struct made_random random = {77, 0};
    assert_non_null(bench);
    for (uint32_t at = 0; at < REFERENCE; at++) {
        bench->reference[at] = (uint8_t)made_below(&random, 4);
    }
    memcpy(bench->reference + COPY_TO, bench->reference + COPY_FROM, COPY_LENGTH);
    bench->index = made_index(bench->reference, REFERENCE);
    memset(bench->qualities, 30, sizeof(bench->qualities));
    return bench;
}

static void tear_down(struct bench *bench) {
    free(bench->index);
    free(bench->jobs);
    free(bench->extensions);
    free(bench->aligned);
    free(bench);
}

static void turn(uint8_t *codes) {
    for (uint32_t at = 0; at < LENGTH / 2; at++) {
        uint8_t other = (uint8_t)(3 - codes[at]);
        codes[at] = (uint8_t)(3 - codes[LENGTH - 1 - at]);
        codes[LENGTH - 1 - at] = other;
    }
}

/* A read that lies at place, exactly; codes may then be changed. */
static uint8_t *add_read(struct bench *bench, uint32_t place, bool reverse) {
    uint8_t *codes = bench->codes + (size_t)bench->count * LENGTH;
    memcpy(codes, bench->reference + place, LENGTH);
    if (reverse) {
        turn(codes);
    }
    bench->lengths[bench->count++] = LENGTH;
    return codes;
}

/* A place of the read that was added last. */
static void add_hit(struct bench *bench, int32_t place, bool reverse, uint16_t mismatches,
                    uint8_t votes) {
    uint32_t read = bench->count - 1;
    bench->hits[read][bench->hit_counts[read]++] =
        (struct gn_hit){.position = (uint32_t)(GN_GAP + place),
                        .mismatches = mismatches,
                        .votes = votes,
                        .reverse = reverse};
}

static void run(struct bench *bench, bool paired) {
    struct gn_reads *reads = made_reads(bench->codes, bench->lengths, bench->count, paired);
    struct gn_hits *hits = aligned_alloc(GN_ALIGN, gn_hits_bytes(bench->count));
    struct gn_notes notes = {.qualities = bench->qualities};
    assert_non_null(hits);
    memset(hits, 0, gn_hits_bytes(bench->count));
    hits->bytes = gn_hits_bytes(bench->count);
    hits->read_count = bench->count;
    hits->counts = gn_round(sizeof(struct gn_hits));
    hits->hits = hits->counts + gn_round(bench->count);
    memcpy(gn_in(hits, hits->counts), bench->hit_counts, bench->count);
    memcpy(gn_in(hits, hits->hits), bench->hits, bench->count * sizeof(bench->hits[0]));
    reads->serial = 1000;
    assert_int_equal(gn_choose(bench->index, reads, hits, &bench->jobs), 0);
    bench->extensions = calloc(bench->jobs->job_count + 1u, sizeof(struct gn_extension));
    assert_non_null(bench->extensions);
    assert_int_equal(gn_extend(bench->index, reads, bench->jobs, bench->extensions, guest_simd()),
                     0);
    assert_int_equal(
        gn_pair(bench->index, reads, &notes, hits, bench->jobs, bench->extensions, &bench->aligned),
        0);
    assert_int_equal(bench->aligned->count, bench->count);
    free(reads);
    free(hits);
}

static const struct gn_record *record(const struct bench *bench, uint32_t read) {
    return &bench->aligned->records[read];
}

/* "50M2D50M" */
static void check_cigar(const struct bench *bench, uint32_t read, const char *expected) {
    char text[200] = "";
    const struct gn_record *mine = record(bench, read);
    for (uint32_t at = 0; at < mine->cigar_count; at++) {
        uint32_t one = bench->aligned->cigars[mine->cigar + at];
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%u%c", one >> 4, "MIDNS"[one & 15]);
    }
    assert_string_equal(text, expected);
}

/* --- cases ------------------------------------------------------------------------------------ */

static void a_good_pair(void **state) {
    (void)state;
    struct bench *bench = set_up();
    add_read(bench, 500, false);
    add_hit(bench, 500, false, 0, 20);
    uint8_t *codes = add_read(bench, 800, true);
    codes[50] ^= 1;
    add_hit(bench, 800, true, 1, 20);
    run(bench, true);
    const struct gn_record *first = record(bench, 0), *second = record(bench, 1);
    assert_int_equal(bench->jobs->job_count, 0); /* one mismatch needs no gaps */
    assert_int_equal(first->position, GN_GAP + 500);
    assert_int_equal(first->flags, 0x1 | 0x2 | 0x20 | 0x40);
    assert_int_equal(second->flags, 0x1 | 0x2 | 0x10 | 0x80);
    assert_int_equal(first->template_length, 400);
    assert_int_equal(second->template_length, -400);
    assert_int_equal(first->mate_position, second->position);
    assert_int_equal(second->mate_position, first->position);
    assert_int_equal(first->mapping_quality, GN_MAPQ_MAX);
    assert_int_equal(second->edits, 1);
    assert_int_equal(second->serial, 1001);
    assert_int_equal(first->quality_sum, 2 * LENGTH * 30);
    assert_true(first->pair_key != 0 && first->pair_key == second->pair_key);
    assert_int_equal(second->bases, LENGTH);
    check_cigar(bench, 0, "100M");
    tear_down(bench);
}

/* Duplicates have the same key even where one of them is clipped and mates have changed roles. */
static void keys_of_duplicates(void **state) {
    (void)state;
    struct bench *bench = set_up();
    add_read(bench, 500, false);
    add_hit(bench, 500, false, 0, 20);
    add_read(bench, 800, true);
    add_hit(bench, 800, true, 0, 20);
    add_read(bench, 800, true); /* the other way round */
    add_hit(bench, 800, true, 0, 20);
    uint8_t *codes = add_read(bench, 500, false);
    codes[0] ^= 1;
    codes[1] ^= 1;
    codes[3] ^= 1;
    add_hit(bench, 500, false, 3, 18);
    add_read(bench, 501, false); /* one base off */
    add_hit(bench, 501, false, 0, 20);
    add_read(bench, 800, true);
    add_hit(bench, 800, true, 0, 20);
    add_read(bench, 500, false); /* the mate has no place */
    add_hit(bench, 500, false, 0, 20);
    memset(add_read(bench, 800, true), 4, LENGTH);
    run(bench, true);
    check_cigar(bench, 3, "4S96M");
    assert_int_equal(record(bench, 3)->position, GN_GAP + 504);
    assert_true(record(bench, 0)->pair_key == record(bench, 2)->pair_key);
    assert_true(record(bench, 0)->pair_key != record(bench, 4)->pair_key);
    assert_true(record(bench, 0)->pair_key != record(bench, 6)->pair_key);
    assert_true(record(bench, 6)->pair_key != 0);
    assert_int_equal(record(bench, 7)->pair_key, 0); /* it has no place: nobody's duplicate */
    assert_int_equal(record(bench, 6)->flags, 0x1 | 0x8 | 0x40);
    assert_int_equal(record(bench, 7)->flags, 0x1 | 0x4 | 0x80);
    assert_int_equal(record(bench, 7)->position, GN_GAP + 500);
    assert_int_equal(record(bench, 7)->cigar_count, 0);
    tear_down(bench);
}

static void a_gap_near_the_end(void **state) {
    (void)state;
    struct bench *bench = set_up();
    uint8_t *codes = add_read(bench, 600, false);
    memcpy(codes + 80, bench->reference + 685, 20); /* five bases are missing */
    uint16_t mismatches = 0;
    for (uint32_t at = 0; at < LENGTH; at++) {
        mismatches = (uint16_t)(mismatches + (codes[at] != bench->reference[600 + at]));
    }
    assert_true(mismatches > 5);
    add_hit(bench, 600, false, mismatches, 12);
    run(bench, false);
    assert_int_equal(bench->jobs->job_count, 1);
    const struct gn_record *only = record(bench, 0);
    assert_int_equal(only->flags, 0);
    assert_int_equal(only->position, GN_GAP + 600);
    assert_int_equal(only->span, 105);
    assert_int_equal(only->edits, 5);
    assert_int_equal(only->mate_position, UINT32_MAX);
    assert_int_equal(only->template_length, 0);
    assert_int_equal(only->cigar_count, 3);
    assert_int_equal(bench->aligned->cigars[only->cigar + 1], 5 << 4 | GN_DELETE);
    assert_true(only->mapping_quality >= 50);
    tear_down(bench);
}

/* One mate alone is in a repeat: the other one says which copy; without it nobody can. */
static void repeats(void **state) {
    (void)state;
    struct bench *bench = set_up();
    add_read(bench, COPY_FROM + 100, true); /* fits at COPY_FROM only */
    add_hit(bench, COPY_FROM + 100, true, 0, 20);
    add_hit(bench, COPY_TO + 100, true, 0, 20);
    add_read(bench, COPY_FROM - 200, false);
    add_hit(bench, COPY_FROM - 200, false, 0, 20);
    add_read(bench, COPY_FROM + 500, false); /* both in the repeat */
    add_hit(bench, COPY_FROM + 500, false, 0, 20);
    add_hit(bench, COPY_TO + 500, false, 0, 20);
    add_read(bench, COPY_FROM + 800, true);
    add_hit(bench, COPY_FROM + 800, true, 0, 20);
    add_hit(bench, COPY_TO + 800, true, 0, 20);
    run(bench, true);
    assert_int_equal(record(bench, 0)->position, GN_GAP + COPY_FROM + 100);
    assert_true(record(bench, 0)->mapping_quality >= 40);
    assert_int_equal(record(bench, 1)->mapping_quality, GN_MAPQ_MAX);
    assert_true(record(bench, 0)->flags & GN_FLAG_PROPER);
    for (uint32_t read = 2; read < 4; read++) {
        assert_int_equal(record(bench, read)->mapping_quality, 0);
        assert_true(record(bench, read)->flags & GN_FLAG_PROPER);
        assert_true(record(bench, read)->position < GN_GAP + COPY_TO); /* the lower of equals */
    }
    tear_down(bench);
    bench = set_up();
    add_read(bench, COPY_FROM + 100, true);
    add_hit(bench, COPY_FROM + 100, true, 0, 20);
    add_hit(bench, COPY_TO + 100, true, 0, 20);
    add_read(bench, COPY_FROM + 100, true); /* one mismatch more at the other copy */
    add_hit(bench, COPY_FROM + 100, true, 0, 20);
    add_hit(bench, COPY_TO + 100, true, 1, 20);
    run(bench, false);
    assert_int_equal(record(bench, 0)->mapping_quality, 0);
    assert_in_range(record(bench, 1)->mapping_quality, 10, 30);
    tear_down(bench);
}

/* A mate without places, or with a wrong one, is looked for where it must be. */
static void rescue(void **state) {
    (void)state;
    struct bench *bench = set_up();
    add_read(bench, 5000, true);
    add_hit(bench, 5000, true, 0, 20);
    uint8_t *codes = add_read(bench, 4700, false); /* no hits at all */
    for (uint32_t at = 5; at < LENGTH; at += 19) {
        codes[at] ^= 2;
    }
    add_read(bench, 7000, false);
    add_hit(bench, 7000, false, 0, 20);
    codes = add_read(bench, 7300, true);
    codes[20] ^= 2;
    codes[70] ^= 2;
    add_hit(bench, 15000, true, 12, 2); /* a poor one far away */
    run(bench, true);
    assert_int_equal(record(bench, 1)->position, GN_GAP + 4700);
    assert_int_equal(record(bench, 1)->edits, 5);
    assert_true(record(bench, 1)->flags & GN_FLAG_PROPER);
    assert_int_equal(record(bench, 1)->template_length, 400);
    assert_int_equal(record(bench, 3)->position, GN_GAP + 7300);
    assert_true(record(bench, 3)->flags & GN_FLAG_PROPER);
    assert_true(record(bench, 3)->flags & GN_FLAG_REVERSE);
    tear_down(bench);
}

/* Mates that cannot be from one fragment keep their places but do not fit. */
static void what_does_not_fit(void **state) {
    (void)state;
    static const struct {
        uint32_t second;
        bool first_reverse, second_reverse;
    } cases[] = {
        {800, false, false}, /* the same strand */
        {800, true, false},  /* back to back */
        {5000, false, true}, /* too far */
    };
    for (uint32_t at = 0; at < 3; at++) {
        struct bench *bench = set_up();
        add_read(bench, 500, cases[at].first_reverse);
        add_hit(bench, 500, cases[at].first_reverse, 0, 20);
        add_read(bench, cases[at].second, cases[at].second_reverse);
        add_hit(bench, (int32_t)cases[at].second, cases[at].second_reverse, 0, 20);
        run(bench, true);
        assert_int_equal(record(bench, 0)->position, GN_GAP + 500);
        assert_int_equal(record(bench, 1)->position, GN_GAP + cases[at].second);
        assert_int_equal(record(bench, 0)->flags & GN_FLAG_PROPER, 0);
        assert_int_equal(record(bench, 0)->template_length, (int)cases[at].second + LENGTH - 500);
        tear_down(bench);
    }
}

/* Nothing reaches out of a contig; a read without any place is said to have none. */
static void at_the_ends_of_a_contig(void **state) {
    (void)state;
    struct bench *bench = set_up();
    for (uint32_t read = 0; read < 4; read++) {
        uint32_t over = read % 2 ? 30 : 1;
        uint8_t *codes = add_read(bench, read < 2 ? 0 : REFERENCE - LENGTH, false);
        if (read < 2) {
            memmove(codes + over, codes, LENGTH - over);
            memset(codes, 0, over);
            add_hit(bench, -(int32_t)over, false, (uint16_t)over, 9);
        } else {
            memmove(codes, codes + over, LENGTH - over);
            memset(codes + LENGTH - over, 0, over);
            add_hit(bench, (int32_t)(REFERENCE - LENGTH + over), false, (uint16_t)over, 9);
        }
    }
    memset(add_read(bench, 0, false), 4, LENGTH);
    run(bench, false);
    check_cigar(bench, 0, "1S99M");
    check_cigar(bench, 1, "30S70M");
    check_cigar(bench, 2, "99M1S");
    check_cigar(bench, 3, "70M30S");
    assert_int_equal(record(bench, 0)->position, GN_GAP);
    assert_int_equal(record(bench, 0)->edits, 0);
    assert_int_equal(record(bench, 0)->span, 99);
    assert_int_equal(record(bench, 2)->position + record(bench, 2)->span, GN_GAP + REFERENCE);
    assert_int_equal(record(bench, 4)->flags, GN_FLAG_UNMAPPED);
    assert_int_equal(record(bench, 4)->position, UINT32_MAX);
    assert_int_equal(record(bench, 4)->pair_key, 0);
    tear_down(bench);
}

/* The same pairs in other company have the same records. */
static void no_dependence_on_the_batch(void **state) {
    (void)state;
    struct gn_record alone[2];
    for (uint32_t before = 0; before <= 6; before += 2) {
        struct bench *bench = set_up();
        for (uint32_t at = 0; at < before; at++) {
            add_read(bench, COPY_FROM + 300 * at % 900, at % 2);
            add_hit(bench, COPY_FROM + (int32_t)(300 * at % 900), at % 2, 0, 20);
            add_hit(bench, COPY_TO + (int32_t)(300 * at % 900), at % 2, 3, 20);
        }
        uint8_t *codes = add_read(bench, COPY_FROM + 10, false);
        memcpy(codes + 50, bench->reference + COPY_FROM + 62, 50);
        add_hit(bench, COPY_FROM + 10, false, 35, 10);
        add_hit(bench, COPY_TO + 10, false, 35, 10);
        add_read(bench, COPY_FROM + 300, true);
        add_hit(bench, COPY_FROM + 300, true, 0, 20);
        run(bench, true);
        for (uint32_t at = 0; at < 2; at++) {
            struct gn_record mine = *record(bench, before + at);
            mine.serial -= before;
            mine.bases -= before * LENGTH;
            mine.name -= before;
            mine.cigar = 0;
            if (before == 0) {
                alone[at] = mine;
            }
            assert_memory_equal(&mine, &alone[at], offsetof(struct gn_record, cigar));
        }
        tear_down(bench);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_pair),
        cmocka_unit_test(keys_of_duplicates),
        cmocka_unit_test(a_gap_near_the_end),
        cmocka_unit_test(repeats),
        cmocka_unit_test(rescue),
        cmocka_unit_test(what_does_not_fit),
        cmocka_unit_test(at_the_ends_of_a_contig),
        cmocka_unit_test(no_dependence_on_the_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
