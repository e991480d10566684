/* SPDX-License-Identifier: Apache-2.0
 *
 * References, reads and jobs made up for tests and benches of extend and pair: the blobs of
 * genomics.h without their builders. Everything is freed by free().
 */
#ifndef TEST_GENOMICS_MADE_H
#define TEST_GENOMICS_MADE_H

#include "genomics/genomics.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct made_random {
    uint64_t seed, at;
};

static inline uint32_t made_below(struct made_random *random, uint32_t bound) {
    return (uint32_t)(guest_noise(random->seed, random->at++) * bound);
}

/* One contig "made" of these codes, and no k-mers. */
static inline struct gn_index *made_index(const uint8_t *codes, uint32_t length) {
    uint64_t all = (uint64_t)length + 2 * GN_GAP;
    uint64_t packed = gn_round(sizeof(struct gn_index));
    uint64_t masked = packed + gn_round((all / 32 + 2) * 8);
    uint64_t contigs = masked + gn_round((all / 64 + 2) * 8);
    uint64_t names = contigs + gn_round(sizeof(struct gn_contig));
    uint64_t bytes = names + GN_ALIGN;
    char *blob = (char *)aligned_alloc(GN_ALIGN, bytes);
    assert(blob);
    memset(blob, 0, bytes);
    struct gn_index *index = (struct gn_index *)(void *)blob;
    index->magic = GN_INDEX_MAGIC;
    index->bytes = bytes;
    index->length = all;
    index->packed = packed;
    index->masked = masked;
    index->contigs = contigs;
    index->contig_count = 1;
    index->names = names;
    index->names_bytes = 5;
    index->kmer = 21;
    memcpy(blob + names, "made", 5);
    struct gn_contig *contig = (struct gn_contig *)gn_in(index, contigs);
    contig->start = GN_GAP;
    contig->length = length;
    uint64_t *two = (uint64_t *)gn_in(index, packed), *one = (uint64_t *)gn_in(index, masked);
    for (uint64_t at = 0; at < all; at++) {
        uint8_t code = at < GN_GAP || at >= GN_GAP + length ? 4 : codes[at - GN_GAP];
        two[at / 32] |= (uint64_t)(code & 3) << 2 * (at % 32);
        one[at / 64] |= (uint64_t)(code > 3) << (at % 64);
    }
    return index;
}

/* Reads of given lengths, codes one behind the other. */
static inline struct gn_reads *made_reads(const uint8_t *codes, const uint16_t *lengths,
                                          uint32_t count, bool paired) {
    uint32_t longest = 0;
    uint64_t total = 0;
    for (uint32_t at = 0; at < count; at++) {
        longest = lengths[at] > longest ? lengths[at] : longest;
        total += lengths[at];
    }
    uint32_t words = longest / 32 + 1;
    uint64_t table = gn_round(sizeof(struct gn_reads));
    uint64_t packed = table + gn_round(count * sizeof(struct gn_read));
    uint64_t bases = packed + gn_round((uint64_t)count * words * 8);
    uint64_t bytes = bases + gn_round(total + 1);
    struct gn_reads *reads = (struct gn_reads *)aligned_alloc(GN_ALIGN, bytes);
    assert(reads);
    memset(reads, 0, bytes);
    reads->bytes = bytes;
    reads->read_count = count;
    reads->paired = paired;
    reads->words = words;
    reads->longest = longest;
    reads->reads = table;
    reads->packed = packed;
    reads->bases = bases;
    struct gn_read *read = (struct gn_read *)gn_in(reads, table);
    uint64_t *two = (uint64_t *)gn_in(reads, packed);
    memcpy(gn_in(reads, bases), codes, total);
    for (uint32_t at = 0, offset = 0; at < count; offset += lengths[at], at++) {
        read[at].bases = offset;
        read[at].length = lengths[at];
        for (uint32_t i = 0; i < lengths[at]; i++) {
            uint8_t code = codes[offset + i];
            read[at].unknown = (uint16_t)(read[at].unknown + (code > 3));
            two[(uint64_t)at * words + i / 32] |= (uint64_t)(code > 3 ? 0 : code) << 2 * (i % 32);
        }
    }
    return reads;
}

static inline struct gn_jobs *made_jobs(const struct gn_reads *reads, const struct gn_job *list,
                                        uint32_t count) {
    uint64_t table = gn_round(sizeof(struct gn_jobs));
    uint64_t bytes = table + gn_round(count * sizeof(*list) + 1);
    struct gn_jobs *jobs = (struct gn_jobs *)aligned_alloc(GN_ALIGN, bytes);
    assert(jobs);
    memset(jobs, 0, bytes);
    jobs->bytes = bytes;
    jobs->job_count = count;
    jobs->jobs = table;
    memcpy(gn_in(jobs, table), list, count * sizeof(*list));
    const struct gn_read *read = (const struct gn_read *)gn_at(reads, reads->reads);
    for (uint32_t at = 0; at < count; at++) {
        uint32_t width = list[at].window_length;
        jobs->longest = width > jobs->longest ? width : jobs->longest;
        jobs->cells += (uint64_t)read[list[at].read].length * width;
    }
    return jobs;
}

/* A copy of length bases of the reference from position on, with errors and gaps; in the sequenced
 * direction where reverse. Returns how many reference bases it took. */
static inline uint32_t made_copy(struct made_random *random, const uint8_t *reference,
                                 uint32_t position, uint32_t length, double error, double gap,
                                 bool reverse, uint8_t *ret_codes) {
    uint32_t from = position;
    for (uint32_t at = 0; at < length;) {
        double luck = guest_noise(random->seed, random->at++);
        if (luck < gap / 2) {
            position += 1 + made_below(random, 12);
        } else if (luck < gap) {
            for (uint32_t i = made_below(random, 12); i < 12 && at < length; i++) {
                ret_codes[at++] = (uint8_t)made_below(random, 4);
            }
        } else {
            ret_codes[at] = reference[position++];
            if (guest_noise(random->seed, random->at++) < error) {
                ret_codes[at] = (uint8_t)made_below(random, 5);
            }
            at++;
        }
    }
    for (uint32_t at = 0; reverse && at < length; at++) {
        uint32_t other = length - 1 - at;
        if (at <= other) {
            uint8_t a = ret_codes[at], b = ret_codes[other];
            ret_codes[at] = b < 4 ? (uint8_t)(3 - b) : 4;
            ret_codes[other] = a < 4 ? (uint8_t)(3 - a) : 4;
        }
    }
    return position - from;
}

#endif
