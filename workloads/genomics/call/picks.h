/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to call: the reads of one region, cut to its window.
 *
 * In: a bin, its order, and a region. Out: picks by position. No duplicates, no reads that are
 * unmapped or mapped badly. Where mates overlap, only one of them keeps the overlap, with qualities
 * that say how well they agree. More reads than the cap are thinned by a hash of the pair, so
 * which ones stay does not depend on their order.
 */
#ifndef GENOMICS_CALL_PICKS_H
#define GENOMICS_CALL_PICKS_H

#include "genomics/call/graph.h"

struct gn_pick {
    const struct gn_record *record;
    const uint8_t *bases; /* codes of [first, last) */
    uint8_t *qualities;   /* of the same, changed where mates overlap */
    uint32_t first, last; /* of the read's bases */
    uint32_t start, end;  /* reference bases, global */
    uint32_t mate;        /* index of the pick; UINT32_MAX: none */
};

struct gn_picks {
    uint32_t count, room;
    float kept; /* of the bases of all reads over the window, the share that is in picks */
    struct gn_pick *picks;
    uint8_t *qualities; /* room * GN_READ_MAX */
    /* scratch */
    uint64_t *keys; /* 2 * candidate_room */
    uint32_t *candidates;
    uint32_t candidate_room;
    /* of the bin */
    const struct gn_bin *bin;
    const struct gn_order *order;
    uint32_t low;      /* index in order: what is before ends before every later window */
    uint32_t span_max; /* of the bin's records */
    uint32_t mapping_quality;
};

SY_MUST_CHECK int gn_picks_init(struct gn_picks *picks, const struct gn_bin *bin,
                                const struct gn_order *order,
                                const struct gn_call_options *options);
void gn_picks_finish(struct gn_picks *picks);

/* Regions in ascending order. */
SY_MUST_CHECK int gn_picks_take(struct gn_picks *picks, const struct gn_region *region);

/* Phred of a gap's start in a tandem repeat, by bases of its unit and copies: copying DNA slips
 * there (PCR). */
enum { GN_UNIT_MAX = 4, GN_COPIES_MAX = 63 };
struct gn_gap_table {
    uint8_t qualities[GN_UNIT_MAX + 1][GN_COPIES_MAX + 1];
};
void gn_gap_table_fill(struct gn_gap_table *ret_table);
/* For each base. */
void gn_gap_qualities(const struct gn_gap_table *table, const uint8_t *bases, uint32_t length,
                      uint8_t *ret_gaps);
/* What PairHMM is told of base qualities. */
uint8_t gn_base_quality(uint8_t quality, uint8_t mapping_quality);

#endif
