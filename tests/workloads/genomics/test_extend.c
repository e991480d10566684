/* SPDX-License-Identifier: Apache-2.0
 *
 * extend: the plain variant against the definition worked out by hand and cell by cell, and every
 * other variant against the plain one, bit by bit, on random and on nasty jobs. parasail agrees on
 * scores where it is installed (a bench has that).
 */
#include "extend_cases.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* --- an independent way to the score ---------------------------------------------------------- */

/* H by its definition without E and F: every gap of every length is tried. */
static int slow_score(const uint8_t *read, int m, const uint8_t *window, int n) {
    int *h = calloc((size_t)(m + 1) * (size_t)(n + 1), sizeof(*h)), best = 0;
    assert_non_null(h);
#define H(i, j) h[(size_t)(i) * (size_t)(n + 1) + (size_t)(j)]
    for (int j = 0; j <= n; j++) {
        H(0, j) = 5;
    }
    for (int i = 1; i <= m; i++) {
        for (int j = 1; j <= n; j++) {
            bool equal = read[i - 1] == window[j - 1] && read[i - 1] < 4;
            int value = H(i - 1, j - 1) + (equal ? 1 : -4);
            for (int k = 1; k <= i; k++) {
                value = H(i - k, j) - 6 - k > value ? H(i - k, j) - 6 - k : value;
            }
            for (int k = 1; k <= j; k++) {
                value = H(i, j - k) - 6 - k > value ? H(i, j - k) - 6 - k : value;
            }
            H(i, j) = value > 0 ? value : 0;
            value = H(i, j) + (i == m && H(i, j) > 0 ? 5 : 0);
            best = value > best ? value : best;
        }
    }
#undef H
    free(h);
    return best;
}

/* The codes of a job as extend sees them. */
static void unpack(const struct world *world, const struct gn_job *job, uint8_t *read, int *ret_m,
                   uint8_t *window) {
    const struct gn_read *info =
        (const struct gn_read *)gn_at(world->reads, world->reads->reads) + job->read;
    const uint8_t *bases = (const uint8_t *)gn_at(world->reads, world->reads->bases) + info->bases;
    for (int i = 0; i < info->length; i++) {
        uint8_t other = bases[info->length - 1 - i];
        read[i] = job->reverse ? (other < 4 ? (uint8_t)(3 - other) : 4) : bases[i];
    }
    *ret_m = info->length;
    for (uint32_t j = 0; j < job->window_length; j++) {
        int64_t at = (int64_t)job->window + j - GN_GAP;
        window[j] = at < 0 || at >= REFERENCE ? 4 : world->reference[at];
    }
}

/* What an extension says of itself must be so: its cigar's score, edits, span and lengths. */
static void check_claims(const struct gn_job *job, const struct gn_extension *out,
                         const uint8_t *read, int m, const uint8_t *window) {
    int i = 0, j = (int)(out->position - job->window), score = 0, edits = 0;
    assert_true(out->position >= job->window);
    for (uint32_t at = 0; at < out->cigar_count; at++) {
        int run = (int)(out->cigar[at] >> 4), operation = out->cigar[at] & 15;
        assert_true(run > 0);
        if (operation == GN_CLIP) {
            assert_true(at == 0 || at + 1 == out->cigar_count);
            i += run;
        } else if (operation == GN_MATCH) {
            for (int k = 0; k < run; k++, i++, j++) {
                bool equal = read[i] == window[j] && read[i] < 4;
                score += equal ? 1 : -4;
                edits += !equal;
            }
        } else {
            assert_true(at > 0 && at + 1 < out->cigar_count);
            score -= 6 + run;
            edits += run;
            *(operation == GN_INSERT ? &i : &j) += run;
        }
    }
    score += ((out->cigar[0] & 15) != GN_CLIP) * 5;
    score += ((out->cigar[out->cigar_count - 1] & 15) != GN_CLIP) * 5;
    assert_int_equal(i, m);
    assert_int_equal(j - (int)(out->position - job->window), out->span);
    assert_int_equal(edits, out->edits);
    assert_int_equal(score, out->score);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void levels_agree(const struct world *world, const char *what) {
    uint32_t count = world->jobs->job_count;
    static int16_t scores[2][JOBS];
    assert_int_equal(gn_extend(world->index, world->reads, world->jobs, world->out[0], GUEST_PLAIN),
                     0);
    assert_int_equal(
        gn_extend_scores(world->index, world->reads, world->jobs, scores[0], GUEST_PLAIN), 0);
    for (int level = GUEST_AVX2; level <= (int)guest_simd(); level++) {
        memset(world->out[1], 0xa5, count * sizeof(struct gn_extension));
        assert_int_equal(gn_extend(world->index, world->reads, world->jobs, world->out[1],
                                   (enum guest_simd)level),
                         0);
        assert_int_equal(gn_extend_scores(world->index, world->reads, world->jobs, scores[1],
                                          (enum guest_simd)level),
                         0);
        for (uint32_t at = 0; at < count; at++) {
            const struct gn_extension *a = &world->out[0][at], *b = &world->out[1][at];
            if (memcmp(a, b, sizeof(*a)) != 0 || scores[0][at] != scores[1][at]) {
                fail_msg("%s, %s: job %u has score %d (%d) at %u instead of %d (%d) at %u", what,
                         guest_simd_name((enum guest_simd)level), at, b->score, scores[1][at],
                         b->position, a->score, scores[0][at], a->position);
            }
        }
    }
}

static void plain_is_right(void **state) {
    (void)state;
    static struct world world;
    make_world(&world, 11, 90, 160);
    static int16_t scores[JOBS];
    assert_int_equal(gn_extend(world.index, world.reads, world.jobs, world.out[0], GUEST_PLAIN), 0);
    assert_int_equal(gn_extend_scores(world.index, world.reads, world.jobs, scores, GUEST_PLAIN),
                     0);
    const struct gn_job *jobs = gn_at(world.jobs, world.jobs->jobs);
    uint32_t aligned = 0;
    for (uint32_t at = 0; at < JOBS; at++) {
        uint8_t read[GN_READ_MAX], window[GN_WINDOW_MAX];
        int m = 0;
        unpack(&world, &jobs[at], read, &m, window);
        assert_int_equal(slow_score(read, m, window, jobs[at].window_length), scores[at]);
        const struct gn_extension *out = &world.out[0][at];
        assert_int_equal(out->score, scores[at] >= GN_SCORE_MIN ? scores[at] : 0);
        if (out->score > 0 && out->cigar_count > 0) {
            check_claims(&jobs[at], out, read, m, window);
            aligned++;
        }
    }
    assert_true(aligned > JOBS / 2);
    close_world(&world);
}

static void variants_agree(void **state) {
    (void)state;
    static const uint32_t shapes[][2] = {{150, 250}, {36, 60},   {240, 700},
                                         {241, 400}, {512, 900}, {151, 2048}};
    for (uint32_t at = 0; at < sizeof(shapes) / sizeof(shapes[0]); at++) {
        static struct world world;
        char what[60];
        make_world(&world, 100 + at, shapes[at][0], shapes[at][1]);
        snprintf(what, sizeof(what), "seed %u, reads of up to %u", 100 + at, shapes[at][0]);
        levels_agree(&world, what);
        close_world(&world);
    }
}

static void nasty_jobs(void **state) {
    (void)state;
    static struct world world;
    make_nasty(&world);
    levels_agree(&world, "nasty");
    const struct gn_extension *out = world.out[0];
    assert_int_equal(out[0].score, 0);
    assert_int_equal(out[1].score, 0);
    assert_int_equal(out[2].score, 0);
    assert_int_equal(out[3].score, 522);
    assert_int_equal(out[3].position, GN_GAP + 3000); /* the smallest end of all that tie */
    assert_int_equal(out[3].cigar_count, 1);
    assert_int_equal(out[4].score, 250);
    assert_int_equal(out[5].score, 0);
    assert_int_equal(out[6].score, 45);
    assert_int_equal(out[8].score, 85); /* the read's first 80 bases, and its start */
    close_world(&world);
}

/* Gaps lie as far left as they can; ends are clipped only where that pays. */
static void shapes_of_alignments(void **state) {
    (void)state;
    static struct world world;
    struct made_random random = {6, 0};
    for (uint32_t at = 0; at < REFERENCE; at++) {
        world.reference[at] = (uint8_t)made_below(&random, 4);
    }
    memset(world.reference + 1050, 1, 8); /* a run of C with other bases around */
    world.reference[1049] = world.reference[1058] = 0;
    static uint8_t codes[5 * 100];
    uint16_t lengths[5] = {100, 100, 100, 100, 100};
    memcpy(codes, world.reference + 1000, 53); /* two bases of the run are missing */
    memcpy(codes + 53, world.reference + 1055, 47);
    memcpy(codes + 100, world.reference + 1000, 53); /* two more than there are */
    memset(codes + 153, 1, 2);
    memcpy(codes + 155, world.reference + 1053, 45);
    for (uint32_t at = 2; at < 5; at++) {
        memcpy(codes + at * 100, world.reference + 1000, 100);
    }
    codes[200 + 98] =
        (uint8_t)(codes[200 + 98] ^ 1); /* near the end: a mismatch costs 5 and saves 6 */
    for (uint32_t at = 0; at < 3; at++) {
        codes[300 + 2 * at] ^= 2; /* three at the start: clipping is better */
        codes[400 + 40 + at] ^= 2;
    }
    struct gn_job jobs[5];
    for (uint32_t at = 0; at < 5; at++) {
        jobs[at] = (struct gn_job){.read = at, .window = GN_GAP + 950, .window_length = 200};
    }
    open_world(&world, codes, lengths, jobs, 5);
    levels_agree(&world, "shapes");
    const struct gn_extension *out = world.out[0];
    assert_int_equal(out[0].cigar_count, 3);
    assert_int_equal(out[0].cigar[0], 50 << 4 | GN_MATCH);
    assert_int_equal(out[0].cigar[1], 2 << 4 | GN_DELETE);
    assert_int_equal(out[0].edits, 2);
    assert_int_equal(out[0].span, 102);
    assert_int_equal(out[0].score, 110 - 8);
    assert_int_equal(out[1].cigar[0], 50 << 4 | GN_MATCH);
    assert_int_equal(out[1].cigar[1], 2 << 4 | GN_INSERT);
    assert_int_equal(out[1].cigar[2], 48 << 4 | GN_MATCH);
    assert_int_equal(out[2].cigar[0], 100 << 4 | GN_MATCH);
    assert_int_equal(out[2].edits, 1);
    assert_int_equal(out[3].cigar[0], 5 << 4 | GN_CLIP);
    assert_int_equal(out[3].cigar[1], 95 << 4 | GN_MATCH);
    assert_int_equal(out[3].position, GN_GAP + 1005);
    assert_int_equal(out[4].cigar[0], 100 << 4 | GN_MATCH);
    assert_int_equal(out[4].edits, 3);
    close_world(&world);
}

static void bad_jobs_are_refused(void **state) {
    (void)state;
    static struct world world;
    make_world(&world, 3, 50, 60);
    struct gn_job *jobs = gn_in(world.jobs, world.jobs->jobs);
    struct gn_job good = jobs[1];
    for (int kind = 0; kind < 3; kind++) {
        jobs[1] = good;
        if (kind == 0) {
            jobs[1].read = JOBS;
        } else if (kind == 1) {
            jobs[1].window = (uint32_t)world.index->length - 10;
            jobs[1].window_length = 11;
        } else {
            jobs[1].window_length = GN_WINDOW_MAX + 1;
        }
        assert_int_equal(
            gn_extend(world.index, world.reads, world.jobs, world.out[0], guest_simd()), -EINVAL);
    }
    close_world(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_is_right),       cmocka_unit_test(variants_agree),
        cmocka_unit_test(nasty_jobs),           cmocka_unit_test(shapes_of_alignments),
        cmocka_unit_test(bad_jobs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
