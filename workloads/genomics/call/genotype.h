/* SPDX-License-Identifier: Apache-2.0
 *
 * genotype: from PairHMM's sums to lines of VCF. C only. The sample is diploid everywhere.
 */
#ifndef GENOMICS_CALL_GENOTYPE_H
#define GENOMICS_CALL_GENOTYPE_H

#include "genomics/call/regions.h"

/* What the FILTER of a line says. */
enum gn_filter { GN_PASS, GN_LOW_QUALITY, GN_DEPTH, GN_STRAND, GN_FILTER_COUNT };
extern const char *const gn_filter_names[GN_FILTER_COUNT];

/* Lines of one bin, by position. */
struct gn_lines {
    char *text; /* whole lines */
    size_t bytes;
    uint32_t *positions; /* global, of each line */
    uint32_t *lengths;   /* bytes of each line, its end included */
    uint8_t *filters;    /* enum gn_filter of each line */
    uint32_t count;
};

/* sums: float[hmm->sum_count]. */
SY_MUST_CHECK int gn_genotype(const struct gn_index *index, const struct gn_regions *regions,
                              const float *sums, struct gn_lines *ret_lines);
/* Accepts lines that are all zero. */
void gn_lines_free(struct gn_lines *lines);

#endif
