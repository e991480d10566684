/* SPDX-License-Identifier: Apache-2.0
 *
 * map: where reads may lie. Seeds, votes of diagonals, Hamming distance over the whole read.
 *
 * In: index and reads. Out: up to GN_HIT_MAX hits a read, best first. The same on every device.
 *
 * 1. Seeds (map_rule.h) that have an N are left out. All places of all seeds are taken if they are
 *    at most GN_MAP_PLACES together; else seeds are taken from the rarest on (ties: the lower
 *    offset) while they fit, and the rarest one in any case, cut to its first GN_MAP_PLACES. So a
 *    read all of whose seeds are frequent still has hits.
 * 2. A place whose tag fits votes for where the read then starts, on either strand. Starts on one
 *    strand that lie within GN_MAP_NEAR from the lowest of them are one hit, since an indel splits
 *    the votes: the start with the fewest mismatches stands for all (ties: more votes, then the
 *    lower), with the sum of votes.
 * 3. Hits with one vote and more than length / 5 mismatches are dropped (gn_hit_fair). The others
 *    are ordered by gn_hit_estimate, then mismatches, votes, position, and forward before reverse.
 *    The estimate lets reads with a gap, which have many votes and many mismatches, stay.
 *
 * N counts as a mismatch, in the read and in the reference. A hit lies in one contig, but may hang
 * over its ends, where all is N: whoever takes it without extension must look (gn_contig_of).
 */
#ifndef GENOMICS_MAP_H
#define GENOMICS_MAP_H

#include "genomics/genomics.h"
#include "simd.h"

/* Size of the hits of so many reads. */
static inline uint64_t gn_hits_bytes(uint32_t read_count) {
    return gn_round(sizeof(struct gn_hits)) + gn_round(read_count) +
           gn_round((uint64_t)read_count * GN_HIT_MAX * sizeof(struct gn_hit));
}

/* hits: gn_hits_bytes of memory, written whole: what no hit uses is 0. 0 or -ENOMEM (scratch). */
int gn_map(const struct gn_index *index, const struct gn_reads *reads, struct gn_hits *hits,
           enum guest_simd level);

#endif
