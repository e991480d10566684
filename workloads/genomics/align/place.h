/* SPDX-License-Identifier: Apache-2.0
 *
 * What choose and pair must see alike: which places need no gaps, and which fit each other.
 */
#ifndef GENOMICS_PLACE_H
#define GENOMICS_PLACE_H

#include "genomics/align/choose.h"
#include "genomics/align/index.h"
#include "genomics/align/map_rule.h"

static inline const struct gn_read *gn_read_at(const struct gn_reads *reads, uint32_t read) {
    return (const struct gn_read *)gn_at(reads, reads->reads) + read;
}

static inline const struct gn_hit *gn_hits_of(const struct gn_hits *hits, uint32_t read,
                                              uint32_t *ret_count) {
    *ret_count = ((const uint8_t *)gn_at(hits, hits->counts))[read];
    return (const struct gn_hit *)gn_at(hits, hits->hits) + (uint64_t)read * GN_HIT_MAX;
}

/* Whether all of it lies in one contig. */
static inline bool gn_inside(const struct gn_index *index, uint64_t position, uint64_t span) {
    uint32_t contig = gn_contig_of(index, position);
    return contig != SY_NONE &&
           position + span <= gn_contigs(index)[contig].start + gn_contigs(index)[contig].length;
}

/* With at most one mismatch no gap (7) and no clip (5, and the matches beyond) scores more. */
static inline bool gn_settled(const struct gn_index *index, uint32_t length,
                              const struct gn_hit *hit) {
    return hit->mismatches <= 1 && gn_inside(index, hit->position, length);
}

/* The read's first sequenced base in the reference, as if it lay there without clips. */
static inline int64_t gn_five_prime(const struct gn_hit *hit, uint32_t length) {
    return hit->reverse ? (int64_t)hit->position + length - 1 : (int64_t)hit->position;
}

/* Mates face each other, at a distance that a fragment may have. */
static inline bool gn_fits(int64_t first, bool first_reverse, int64_t second, bool second_reverse) {
    int64_t insert = (first_reverse ? first - second : second - first) + 1;
    return first_reverse != second_reverse && insert >= GN_INSERT_MIN && insert <= GN_INSERT_MAX;
}

#endif
