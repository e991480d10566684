/* SPDX-License-Identifier: Apache-2.0
 *
 * Genomes with repeats, N and many contigs, and reads from them, for tests and benches of the index
 * and of map. Same seed, same bytes.
 */
#ifndef TEST_GENOMICS_MAP_CASES_H
#define TEST_GENOMICS_MAP_CASES_H

#include "genomics/align/index.h"
#include "made.h"
#include <stdio.h>

struct map_genome {
    uint32_t contigs, length; /* bases of each on average */
    uint32_t families, copies, family_length;
    double divergence; /* of a copy from its family */
    double unknown;    /* runs of N for each base */
    bool tandem;       /* some repeats of few bases too */
};

struct map_reads {
    uint32_t count, shortest, longest;
    double error, gap, unknown;
};

/* Nasty ones, small enough for every test. */
static const struct map_genome cases_genomes[] = {
    {1, 20000, 0, 0, 0, 0, 0, false},          /* plain */
    {1, 200000, 3, 300, 300, 0.05, 0, true},   /* many repeats */
    {1, 100000, 1, 2000, 40, 0, 0.001, false}, /* seeds with very many places; N */
    {300, 120, 1, 1, 100, 0, 0.002, false},    /* tiny contigs */
    {1, 3000, 1, 200, 600, 0.01, 0.003, true}, /* hardly anything but repeats */
};
static const struct map_reads cases_ways[] = {
    {300, 150, 150, 0, 0, 0},     {300, 0, 512, 0.02, 0, 0.002}, {300, 100, 250, 0.05, 0.01, 0.01},
    {200, 15, 40, 0.01, 0, 0.01}, {100, 512, 512, 0.1, 0.01, 0},
};

/* Codes of one contig. */
static inline void cases_contig(struct made_random *random, const struct map_genome *how,
                                const uint8_t *families, uint8_t *codes, uint32_t length) {
    for (uint32_t i = 0; i < length; i++) {
        codes[i] = (uint8_t)made_below(random, 4);
    }
    for (uint32_t i = 0; i < how->copies && length > how->family_length; i++) {
        const uint8_t *family = families + made_below(random, how->families) * how->family_length;
        uint32_t at = made_below(random, length - how->family_length);
        bool reverse = made_below(random, 2);
        made_copy(random, family, 0, how->family_length, how->divergence, 0, reverse, codes + at);
    }
    for (uint32_t i = 0; how->tandem && i < length / 4096; i++) {
        uint32_t at = made_below(random, length - 400), period = 1 + made_below(random, 60);
        for (uint32_t k = at + period; k < at + 400; k++) {
            codes[k] = codes[k - period];
        }
    }
    for (uint32_t i = 0; i < (uint32_t)(how->unknown * length); i++) {
        uint32_t at = made_below(random, length), end = at + 1 + made_below(random, 50);
        memset(codes + at, 4, (end < length ? end : length) - at);
    }
}

static inline int cases_feed(struct gn_fasta *fasta, uint32_t contig, const uint8_t *codes,
                             uint32_t length, struct sy_error *error) {
    char line[64];
    int code = gn_fasta_feed(
        fasta, line, (size_t)snprintf(line, sizeof(line), ">c%u a contig\n", contig), error);
    for (uint32_t i = 0; i < length && !code; i += 60) {
        uint32_t count = length - i < 60 ? length - i : 60;
        for (uint32_t k = 0; k < count; k++) {
            line[k] = "ACGTN"[codes[i + k]];
        }
        line[count] = '\n';
        code = gn_fasta_feed(fasta, line, count + 1, error);
    }
    return code;
}

static inline int cases_fill(struct made_random *random, const struct map_genome *how,
                             struct gn_fasta *fasta, uint8_t *families, uint8_t *codes,
                             struct sy_error *error) {
    int code = 0;
    for (uint32_t i = 0; i < how->families * how->family_length; i++) {
        families[i] = (uint8_t)made_below(random, 4);
    }
    for (uint32_t i = 0; i < how->contigs && !code; i++) {
        uint32_t length = how->contigs > 1 ? made_below(random, 2 * how->length) : how->length;
        cases_contig(random, how, families, codes, length);
        code = cases_feed(fasta, i, codes, length, error);
    }
    return code;
}

/* NULL and an error: no such index. Given back by gn_index_close. */
static inline struct gn_index *cases_index(struct made_random *random, const struct map_genome *how,
                                           struct sy_error *error) {
    uint8_t *families = calloc((size_t)how->families * how->family_length + 1, 1);
    uint8_t *codes = malloc((size_t)how->length * 2 + 1024);
    struct gn_fasta *fasta = NULL;
    struct gn_genome genome;
    struct gn_index *index = NULL;
    assert(families && codes);
    int code = gn_fasta_create("made", &fasta, error);
    code = code ? code : cases_fill(random, how, fasta, families, codes, error);
    code = code ? code : gn_fasta_end(fasta, &genome, error);
    if (!code) {
        code = gn_index_build(&genome, &index, error);
        gn_genome_finish(&genome);
    }
    gn_fasta_destroy(fasta);
    free(families);
    free(codes);
    return code ? NULL : index;
}

/* Reads from anywhere, also over the ends of contigs; either strand. ret_truth (may be NULL): where
 * each begins. Freed by free(). */
static inline struct gn_reads *cases_reads(struct made_random *random, const struct gn_index *index,
                                           const struct map_reads *how, struct gn_hit *ret_truth) {
    uint8_t *codes = malloc((size_t)how->count * how->longest + 1);
    uint8_t reference[2 * GN_READ_MAX + 4096];
    uint16_t *lengths = malloc(how->count * sizeof(*lengths) + 1);
    uint64_t total = 0;
    assert(codes && lengths);
    for (uint32_t i = 0; i < how->count; i++) {
        uint32_t length = how->shortest + made_below(random, how->longest - how->shortest + 1);
        uint32_t room = (uint32_t)index->length - GN_GAP - 2 * GN_READ_MAX;
        uint32_t position = GN_GAP / 2 + made_below(random, room), fetched = 2 * GN_READ_MAX + 4096;
        bool reverse = made_below(random, 2);
        gn_genome_fetch(index, position, how->gap > 0 ? fetched : length, reference);
        made_copy(random, reference, 0, length, how->error, how->gap, reverse, codes + total);
        for (uint32_t k = 0; k < length && how->unknown > 0; k++) {
            bool hidden = guest_noise(random->seed, random->at++) < how->unknown;
            codes[total + k] = hidden ? 4 : codes[total + k];
        }
        if (ret_truth) {
            ret_truth[i] = (struct gn_hit){.position = position, .reverse = reverse};
        }
        lengths[i] = (uint16_t)length;
        total += length;
    }
    struct gn_reads *reads = made_reads(codes, lengths, how->count, false);
    free(codes);
    free(lengths);
    return reads;
}

#endif
