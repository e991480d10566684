/* SPDX-License-Identifier: Apache-2.0
 *
 * What all variants of map must agree on, in C and on a GPU.
 *
 * K-mers are taken in their canonical form (the lesser of the k-mer and its reverse complement; k
 * is odd, so they differ) at every even position of the reference. A place is one word:
 * position / 2, then one bit (1: the reverse complement was the lesser), then tag_bits bits of the
 * hash that the bucket's number does not have, which spare most looks at the reference in vain.
 *
 * A read's seeds stand at offsets 0, 5, 8, 13, 16, 21 ...: of each parity every eighth, so that
 * wherever the read lies, every eighth offset can meet an even position.
 */
#ifndef GENOMICS_MAP_RULE_H
#define GENOMICS_MAP_RULE_H

#include "genomics/genomics.h"
#include <stdbool.h>

#ifdef __CUDACC__
#define GN_BOTH static inline __host__ __device__
#else
#define GN_BOTH static inline
#endif

enum {
    GN_KMER = 21,
    GN_SEED_MAX = 128,   /* seeds of one read: those of GN_READ_MAX bases */
    GN_MAP_PLACES = 256, /* places of one read that are looked at */
    GN_MAP_NEAR = 40,    /* diagonals so near are one hit */
    GN_MAP_STEP = 8,
};

/* Offset of seed number i in the read; they ascend. */
GN_BOTH uint32_t gn_seed_offset(uint32_t i) {
    return i / 2 * GN_MAP_STEP + (i % 2) * 5;
}

GN_BOTH uint32_t gn_seed_count(uint32_t length, uint32_t kmer) {
    if (length < kmer) {
        return 0;
    }
    uint32_t last = length - kmer;
    return last / GN_MAP_STEP * 2 + 1 + (last % GN_MAP_STEP >= 5);
}

GN_BOTH uint64_t gn_kmer_hash(uint64_t kmer) {
    kmer *= 0x9e3779b97f4a7c15u;
    kmer ^= kmer >> 32;
    return kmer * 0xd6e8feb86659fd93u;
}

/* 32 bases from position on; reads the word behind it too. */
GN_BOTH uint64_t gn_bases_at(const uint64_t *packed, uint64_t position) {
    const uint64_t *word = packed + position / 32;
    uint32_t shift = (uint32_t)(position % 32) * 2;
    return shift ? word[0] >> shift | word[1] << (64 - shift) : word[0];
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

/* The total order of a read's hits as one number: the greater, the better. Estimates lie within
 * -2,560 .. 512. */
GN_BOTH uint64_t gn_hit_key(int32_t estimate, uint32_t mismatches, uint32_t votes) {
    return (uint64_t)(uint32_t)(estimate + 4096) << 32 | (uint64_t)(1023 - mismatches) << 8 | votes;
}

/* Whether it is worth keeping at all. */
GN_BOTH bool gn_hit_fair(uint32_t length, uint32_t mismatches, uint32_t votes) {
    return votes >= 2 || 5 * mismatches <= length;
}

#endif
