/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs for extend, random and nasty, for its tests and for bench/genomics_extend.c.
 */
#ifndef TEST_GENOMICS_EXTEND_CASES_H
#define TEST_GENOMICS_EXTEND_CASES_H

#include "genomics/align/extend.h"
#include "made.h"

enum { REFERENCE = 12000, JOBS = 300, NASTY = 12 };

struct world {
    uint8_t reference[REFERENCE];
    struct gn_index *index;
    struct gn_reads *reads;
    struct gn_jobs *jobs;
    struct gn_extension *out[2];
};

static inline void close_world(struct world *world) {
    free(world->index);
    free(world->reads);
    free(world->jobs);
    free(world->out[0]);
    free(world->out[1]);
}

static inline void open_world(struct world *world, const uint8_t *codes, const uint16_t *lengths,
                              const struct gn_job *jobs, uint32_t count) {
    world->index = made_index(world->reference, REFERENCE);
    world->reads = made_reads(codes, lengths, count, false);
    world->jobs = made_jobs(world->reads, jobs, count);
    for (int at = 0; at < 2; at++) {
        world->out[at] = malloc((count + 1) * sizeof(struct gn_extension));
        assert(world->out[at]);
    }
}

/* Random reference with repeats, so that there are ties, and some N. */
static inline void make_reference(struct made_random *random, uint8_t *reference) {
    for (uint32_t at = 0; at < REFERENCE; at++) {
        uint32_t luck = made_below(random, 400);
        uint32_t back = 1 + made_below(random, 6);
        if (luck < 4 && at > 40) {
            for (uint32_t i = 0; i < 30 && at < REFERENCE; i++, at++) {
                reference[at] = reference[at - back]; /* a run of a short unit */
            }
            at--;
        } else {
            reference[at] = (uint8_t)(luck == 399 ? 4 : made_below(random, 4));
        }
    }
}

/* lengths up to longest, windows up to widest, about so many errors. */
static inline void make_world(struct world *world, uint64_t seed, uint32_t longest,
                              uint32_t widest) {
    struct made_random random = {seed, 0};
    static uint8_t codes[JOBS * GN_READ_MAX];
    uint16_t lengths[JOBS];
    struct gn_job jobs[JOBS];
    uint32_t total = 0;
    make_reference(&random, world->reference);
    for (uint32_t at = 0; at < JOBS; at++) {
        uint32_t length = made_below(&random, 3) ? longest : made_below(&random, longest + 1);
        uint32_t width = length + made_below(&random, 100);
        width =
            width > widest || made_below(&random, 8) == 0 ? made_below(&random, widest + 1) : width;
        uint32_t place = made_below(&random, REFERENCE - 2 * GN_READ_MAX - 900);
        uint32_t kind = made_below(&random, 10);
        jobs[at] = (struct gn_job){.read = at,
                                   .window = GN_GAP + place - made_below(&random, 60),
                                   .window_length = (uint16_t)width,
                                   .reverse = (uint8_t)made_below(&random, 2)};
        made_copy(&random, world->reference, place, length, kind < 6 ? 0.02 : 0.1,
                  kind < 8 ? 0.01 : 0.06, jobs[at].reverse, codes + total);
        for (uint32_t i = 0; kind == 9 && i < length; i++) {
            codes[total + i] = (uint8_t)made_below(&random, 5); /* fits nowhere */
        }
        lengths[at] = (uint16_t)length;
        total += length;
    }
    open_world(world, codes, lengths, jobs, JOBS);
}

/* What is in each is said there. */
static inline void make_nasty(struct world *world) {
    struct made_random random = {5, 0};
    make_reference(&random, world->reference);
    memset(world->reference + 3000, 0, 1500); /* poly-A: everything ties */
    memset(world->reference + 6000, 4, 400);  /* N only */
    static uint8_t codes[NASTY * GN_READ_MAX];
    static const uint16_t lengths[NASTY] = {0, 150, 150, 512, 240, 241, 150, 1, 150, 40, 512, 150};
    static const struct gn_job jobs[NASTY] = {
        {0, 4000, 200, 0, 0},                   /* no read */
        {1, 4000, 0, 0, 0},                     /* no window */
        {2, GN_GAP + 6000, 300, 0, 0},          /* all N in both */
        {3, GN_GAP + 3000, 1400, 0, 0},         /* poly-A, highest score there is */
        {4, GN_GAP + 3000, 1400, 0, 0},         /* the same in 8 bits */
        {5, GN_GAP + 3000, 1400, 1, 0},         /* all mismatches */
        {6, GN_GAP + 3000, 40, 0, 0},           /* window shorter than the read */
        {7, GN_GAP + 3000, 1, 0, 0},            /* one base */
        {8, GN_GAP - 70, 150, 0, 0},            /* over the contig's start */
        {9, GN_GAP + REFERENCE - 30, 60, 0, 0}, /* and its end */
        {10, GN_GAP + 100, 2048, 0, 0},         /* N in the read only */
        {11, GN_GAP + 3000, 2048, 0, 0},        /* poly-A read of poly-A and more */
    };
    uint32_t offset = 0;
    for (uint32_t at = 0; at < NASTY; offset += lengths[at], at++) {
        memset(codes + offset, at == 2 || at == 10 ? 4 : 0, lengths[at]);
    }
    memcpy(codes + 0 + 150 + 150 + 512 + 240 + 241 + 150 + 1, world->reference, 150);
    open_world(world, codes, lengths, jobs, NASTY);
}

#endif
