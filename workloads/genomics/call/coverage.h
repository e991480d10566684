/* SPDX-License-Identifier: Apache-2.0
 *
 * How deep a sample is sequenced, and what is usual around a place.
 *
 * In: aligned reads, from any thread, in any order: sums of integers, so who came first does not
 * matter. Out, once all reads are in: the depth that is typical of covered bases around a stretch
 * of one contig, and how much it varies. Reads cover islands (exomes), parts of a reference, and
 * contigs to different depths (mitochondria, X and Y): what is not covered does not count, and no
 * contig speaks for another.
 */
#ifndef GENOMICS_CALL_COVERAGE_H
#define GENOMICS_CALL_COVERAGE_H

#include "genomics/align/index.h"

struct gn_coverage;

struct gn_depth {
    double typical; /* reads over a base; 0: too little is covered to tell, or too unevenly */
    double spread;  /* standard deviation of the depth beyond what chance gives, by its mean */
};

/* length: global bases of the reference. NULL: out of memory. */
struct gn_coverage *gn_coverage_create(uint64_t length);
/* Accepts NULL. */
void gn_coverage_destroy(struct gn_coverage *coverage);

/* A read that may be used lies over [position, position + span). Any thread. */
void gn_coverage_add(struct gn_coverage *coverage, uint64_t position, uint32_t span);

/* All reads are in: finds out which depth means covered. Before any question. -ENOMEM. */
SY_MUST_CHECK int gn_coverage_complete(struct gn_coverage *coverage);

/* Around [start, end), global, of this contig. Duplicates count. -ENOMEM. */
SY_MUST_CHECK int gn_coverage_around(const struct gn_coverage *coverage,
                                     const struct gn_contig *contig, uint64_t start, uint64_t end,
                                     struct gn_depth *ret_depth);

#endif
