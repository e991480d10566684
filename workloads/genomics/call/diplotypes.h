/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to call: how likely each pair of a region's haplotypes is.
 *
 * In: a region and PairHMM's sums. Out: log10 likelihoods of reads, and for each pair of haplotypes
 * log10 of its likelihood and of its posterior. Mates come from one haplotype, so they count as
 * one.
 */
#ifndef GENOMICS_CALL_DIPLOTYPES_H
#define GENOMICS_CALL_DIPLOTYPES_H

#include "genomics/call/regions.h"
#include <stdbool.h>

enum { GN_PAIR_MAX = GN_HAPLOTYPE_MAX * (GN_HAPLOTYPE_MAX + 1) / 2 };

struct gn_diplotypes {
    uint32_t haplotype_count, read_count, pair_count, best; /* best: a pair */
    uint8_t first[GN_PAIR_MAX], second[GN_PAIR_MAX];        /* haplotypes of each pair */
    double likelihood[GN_PAIR_MAX]; /* log10, without what is expected beforehand */
    double posterior[GN_PAIR_MAX];  /* log10 */
    double *reads;                  /* log10, [read][haplotype] */
    double *shares;                 /* scratch: of fragments, [fragment][haplotype] */
    uint32_t room;                  /* reads that fit */
};

void gn_diplotypes_finish(struct gn_diplotypes *diplotypes);

/* diplotypes: all zero before the first region. */
SY_MUST_CHECK int gn_diplotypes_find(const struct gn_regions *regions, uint32_t region,
                                     const float *sums, struct gn_diplotypes *diplotypes);

#endif
