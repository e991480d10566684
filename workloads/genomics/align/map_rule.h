/* SPDX-License-Identifier: Apache-2.0
 *
 * What all variants of map must agree on, in C and on a GPU.
 *
 * K-mers are taken in their canonical form (the lesser of the k-mer and its reverse complement; k
 * is odd, so they differ) at every even position of the reference. A place is one word:
 * position / 2, then one bit (1: the reverse complement was the lesser), then tag_bits bits of the
 * hash that the bucket's number does not have, which spare most looks at the reference in vain.
 *
 * A read's seeds stand at offsets 0, 7, 12, 19, 24, 31 ...: of each parity every twelfth, so that
 * wherever the read lies, every twelfth offset can meet an even position.
 */
#ifndef GENOMICS_MAP_RULE_H
#define GENOMICS_MAP_RULE_H

#include "genomics/genomics.h"
#include <stdbool.h>

#ifdef __CUDA_ARCH__
#define GN_POPCOUNT(word) ((uint32_t)__popcll(word))
#else
#define GN_POPCOUNT(word) ((uint32_t)__builtin_popcountll(word))
#endif
#define GN_EVEN 0x5555555555555555u /* the lower bit of each base */

enum {
    GN_KMER = 21,
    GN_SEED_MAX = 96,    /* more than the seeds of GN_READ_MAX bases; a multiple of 32 */
    GN_MAP_PLACES = 128, /* places of one read that are looked at; a power of two */
    GN_MAP_NEAR = 40,    /* diagonals so near are one hit */
    GN_MAP_STEP = 12,    /* from one even seed to the next */
    GN_MAP_ODD = 7,      /* from an even seed to the odd one behind it */
};

/* Offset of seed number i in the read; they ascend. */
GN_BOTH uint32_t gn_seed_offset(uint32_t i) {
    return i / 2 * GN_MAP_STEP + (i % 2) * GN_MAP_ODD;
}

GN_BOTH uint32_t gn_seed_count(uint32_t length, uint32_t kmer) {
    if (length < kmer) {
        return 0;
    }
    uint32_t last = length - kmer;
    return last / GN_MAP_STEP * 2 + 1 + (last % GN_MAP_STEP >= GN_MAP_ODD);
}

GN_BOTH uint64_t gn_kmer_hash(uint64_t kmer) {
    kmer *= 0x9e3779b97f4a7c15u;
    kmer ^= kmer >> 32;
    return kmer * 0xd6e8feb86659fd93u;
}

/* 32 bases that begin shift / 2 bases within the first word. */
GN_BOTH uint64_t gn_bases_of(const uint64_t *words, uint32_t shift) {
    return words[0] >> shift | words[1] << 1 << (63 - shift);
}
/* 32 bases from position on; reads the word behind it too. */
GN_BOTH uint64_t gn_bases_at(const uint64_t *packed, uint64_t position) {
    return gn_bases_of(packed + position / 32, (uint32_t)(position % 32) * 2);
}

/* The order of 32 bases turned round. */
GN_BOTH uint64_t gn_turn(uint64_t bases) {
    uint64_t x = bases >> 32 | bases << 32;
    x = (x >> 16 & 0x0000ffff0000ffffu) | (x & 0x0000ffff0000ffffu) << 16;
    x = (x >> 8 & 0x00ff00ff00ff00ffu) | (x & 0x00ff00ff00ff00ffu) << 8;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
    return (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
}

/* Bit i of 32 becomes bit 2i. */
GN_BOTH uint64_t gn_spread(uint64_t bits) {
    bits = (bits | bits << 16) & 0x0000ffff0000ffffu;
    bits = (bits | bits << 8) & 0x00ff00ff00ff00ffu;
    bits = (bits | bits << 4) & 0x0f0f0f0f0f0f0f0fu;
    bits = (bits | bits << 2) & 0x3333333333333333u;
    return (bits | bits << 1) & GN_EVEN;
}

/* Which of 32 bases from position on are N, as even bits. */
GN_BOTH uint64_t gn_masked_at(const uint64_t *masked, uint64_t position) {
    uint32_t shift = (uint32_t)(position % 64);
    uint64_t bits = masked[position / 64] >> shift;
    bits |= shift ? masked[position / 64 + 1] << (64 - shift) : 0;
    return gn_spread(bits & 0xffffffffu);
}

GN_BOTH bool gn_coarse_at(const uint64_t *coarse, uint64_t position) {
    uint64_t block = position / GN_COARSE;
    return coarse[block / 64] >> (block % 64) & 1;
}

/* The tables of an index, as pointers. */
struct gn_map_table {
    const uint64_t *packed, *masked, *coarse;
    const uint32_t *buckets, *places;
    uint32_t kmer, bucket_shift, tag_bits;
};

GN_BOTH struct gn_map_table gn_map_table(const struct gn_index *index) {
    struct gn_map_table table;
    table.packed = (const uint64_t *)gn_at(index, index->packed);
    table.masked = (const uint64_t *)gn_at(index, index->masked);
    table.coarse = (const uint64_t *)gn_at(index, index->coarse);
    table.buckets = (const uint32_t *)gn_at(index, index->buckets);
    table.places = (const uint32_t *)gn_at(index, index->places);
    table.kmer = index->kmer;
    table.bucket_shift = 64 - index->bucket_bits;
    table.tag_bits = index->tag_bits;
    return table;
}

/* The bucket of the read's k-mer at offset, in forward; returns what a place of the same k-mer has
 * below its position, were the read to lie forward. strands: the read and its reverse
 * complement. */
GN_BOTH uint32_t gn_seed(const struct gn_map_table *table, const uint64_t *forward_strand,
                         const uint64_t *reverse_strand, uint32_t length, uint32_t offset,
                         uint32_t *ret_bucket) {
    uint64_t mask = ((uint64_t)1 << 2 * table->kmer) - 1;
    uint64_t forward = gn_bases_at(forward_strand, offset) & mask;
    uint64_t reverse = gn_bases_at(reverse_strand, length - table->kmer - offset) & mask;
    uint64_t hash = gn_kmer_hash(forward < reverse ? forward : reverse);
    uint32_t tag =
        (uint32_t)(hash >> (table->bucket_shift - table->tag_bits)) & ((1u << table->tag_bits) - 1);
    *ret_bucket = (uint32_t)(hash >> table->bucket_shift);
    return (uint32_t)(reverse < forward) << table->tag_bits | tag;
}

/* Even bits of those among 32 bases that differ. */
GN_BOTH uint64_t gn_differ(uint64_t some, uint64_t others) {
    uint64_t differ = some ^ others;
    return (differ | differ >> 1) & GN_EVEN;
}

/* Hamming distance of a read (one strand of it) to the reference at start. unknown: even bits of
 * its N; NULL: it has none. */
GN_BOTH uint32_t gn_distance(const struct gn_map_table *table, const uint64_t *read,
                             const uint64_t *unknown, uint32_t length, uint32_t start) {
    const uint64_t *words = table->packed + start / 32;
    uint32_t shift = start % 32 * 2, whole = length / 32, rest = length % 32, sum = 0;
    uint64_t end = ((uint64_t)1 << 2 * rest) - 1; /* the read's last bases */
    if (!unknown && !gn_coarse_at(table->coarse, start) &&
        !gn_coarse_at(table->coarse, (uint64_t)start + length - 1)) {
        for (uint32_t i = 0; i < whole; i++) {
            sum += GN_POPCOUNT(gn_differ(gn_bases_of(words + i, shift), read[i]));
        }
        uint64_t last = rest ? gn_differ(gn_bases_of(words + whole, shift), read[whole]) : 0;
        return sum + GN_POPCOUNT(last & end);
    }
    for (uint32_t i = 0; i < whole + (rest > 0); i++) {
        uint64_t differ = gn_differ(gn_bases_of(words + i, shift), read[i]);
        differ |= gn_masked_at(table->masked, (uint64_t)start + i * 32);
        differ |= unknown ? unknown[i] : 0;
        sum += GN_POPCOUNT(i < whole ? differ : differ & end);
    }
    return sum;
}

/* Of a read of so many bases that has votes seeds there: an estimate of its alignment's score
 * (match 1, mismatch -4). Either there is no gap, or there is one and only what the seeds say
 * matches. */
GN_BOTH int32_t gn_hit_estimate(uint32_t length, uint32_t mismatches, uint32_t votes,
                                uint32_t kmer) {
    int32_t plain = (int32_t)length - 5 * (int32_t)mismatches;
    uint32_t covered = votes * GN_MAP_STEP + kmer - GN_MAP_STEP;
    int32_t gapped = (int32_t)(covered < length ? covered : length) - 12;
    return plain > gapped ? plain : gapped;
}

/* The order of a read's hits as one number: the greater, the better. Estimates lie within -2,560
 * and 512. */
GN_BOTH uint32_t gn_hit_key(uint32_t length, uint32_t mismatches, uint32_t votes, uint32_t kmer) {
    int32_t estimate = gn_hit_estimate(length, mismatches, votes, kmer);
    return (uint32_t)(estimate + 4096) << 18 | (1023 - mismatches) << 8 | votes;
}
/* And of those with the same key: the lesser comes first. */
GN_BOTH uint64_t gn_hit_place(const struct gn_hit *hit) {
    return (uint64_t)hit->position << 1 | hit->reverse;
}

/* Whether it is worth keeping at all. */
GN_BOTH bool gn_hit_fair(uint32_t length, uint32_t mismatches, uint32_t votes) {
    return votes >= 2 || 5 * mismatches <= length;
}

#endif
