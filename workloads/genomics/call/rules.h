/* SPDX-License-Identifier: Apache-2.0
 *
 * What all variants of pairhmm, sort and activity must agree on, in C and on a GPU. See hmm.h,
 * sort.h and activity.h for what it is about. What sort's variants agree on about duplicates is in
 * duplicates.h.
 */
#ifndef GENOMICS_CALL_RULES_H
#define GENOMICS_CALL_RULES_H

#include "genomics/genomics.h"

/* --- PairHMM ---------------------------------------------------------------------------------- */

#define GN_HMM_START 0x1p112f /* X(1,j) */

/* One row of one read. next: of the row below. */
struct gn_hmm_row {
    float match, mismatch; /* P where the bases agree, and where they do not */
    float next_match;      /* k; 0 in the last row */
    float deletion;        /* c; 0 in the last row */
    uint32_t base;
};

/* Row i of a read; no more than products, sums of two and differences, so no compiler can fuse what
 * another does not. */
GN_BOTH struct gn_hmm_row gn_hmm_row(const struct gn_hmm *blob, const struct gn_hmm_read *read,
                                     uint32_t i) {
    const uint8_t *start = (const uint8_t *)blob + read->bases + i;
    const uint8_t *gaps = start + blob->read_gaps;
    uint32_t base = start[blob->read_bases], quality = start[blob->read_qualities];
    float error = blob->error[quality < 127 ? quality : 127];
    float open = 1.0f - blob->continuation; /* a of the next row */
    struct gn_hmm_row row = {0, 0, 0, 0, base < 4 ? base : 4};
    if (i + 1 < read->length) {
        uint32_t gap = gaps[0] < 63 ? gaps[0] : 63, next = gaps[1] < 63 ? gaps[1] : 63;
        open = blob->open[next];
        row.next_match = blob->stay[next];
        row.deletion = blob->open[gap] * blob->back[next];
    }
    row.match = (1.0f - error) * open;
    row.mismatch = base > 3 ? row.match : error * (1.0f / 3.0f) * open;
    return row;
}

/* --- sort ------------------------------------------------------------------------------------- */

GN_BOTH struct gn_order gn_order_head(uint32_t record_count) {
    struct gn_order head = {0, record_count, 0, gn_round(sizeof(struct gn_order)), 0};
    head.duplicates = head.order + gn_round(sizeof(uint32_t) * (uint64_t)record_count);
    head.bytes = head.duplicates + gn_round(record_count);
    return head;
}

/* --- activity --------------------------------------------------------------------------------- */

enum {
    GN_ACTIVITY_MAPPING = 20, /* mapping quality of a read */
    GN_ACTIVITY_QUALITY = 15, /* of a mismatch */
    GN_ACTIVITY_FULL = 30,    /* the most that one read adds at one position for one reason */
    GN_ACTIVITY_CLIP = 6,     /* bases clipped */
    GN_ACTIVITY_FLAGS = 0x4 | 0x100 | 0x200 | 0x400 | 0x800, /* of reads that are left out */
};

GN_BOTH bool gn_activity_counts(const struct gn_record *record, uint8_t duplicate) {
    return !duplicate && (record->flags & GN_ACTIVITY_FLAGS) == 0 &&
           record->mapping_quality >= GN_ACTIVITY_MAPPING;
}

/* What a base adds where it stands. */
GN_BOTH uint32_t gn_activity_weight(uint8_t base, uint8_t quality, uint8_t reference) {
    if (base == reference || base > 3 || reference > 3 || quality < GN_ACTIVITY_QUALITY) {
        return 0;
    }
    return quality < GN_ACTIVITY_FULL ? quality : GN_ACTIVITY_FULL;
}

GN_BOTH struct gn_activity gn_activity_head(uint32_t bin_bases) {
    struct gn_activity head = {0, bin_bases + 2 * GN_HALO, 0, gn_round(sizeof(struct gn_activity)),
                               0};
    head.evidence = head.depth + gn_round(sizeof(uint16_t) * (uint64_t)head.length);
    head.bytes = head.evidence + gn_round(sizeof(uint32_t) * (uint64_t)head.length);
    return head;
}

#endif
