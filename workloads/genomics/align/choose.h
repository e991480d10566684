/* SPDX-License-Identifier: Apache-2.0
 *
 * choose: which reads need an alignment with gaps, and where.
 *
 * In: reads and their places without gaps. Out: jobs for extend, in the order of their reads, so
 * that pair can walk them beside the reads. A read with at most one mismatch at its best place
 * needs none: no gap and no clip can score more there. Others get jobs around their best places,
 * and where no two places of mates fit each other, around what the mate's place lets expect
 * (rescue). Depends on nothing but the pair itself.
 */
#ifndef GENOMICS_CHOOSE_H
#define GENOMICS_CHOOSE_H

#include "genomics/genomics.h"

enum {
    GN_INSERT_MIN = 50,  /* bases from one 5' end to the other of a pair that fits */
    GN_INSERT_MAX = 900, /* both are fixed, so that nothing depends on the batch */
    GN_MARGIN_MIN = 8,   /* window bases at either side of a place */
    GN_MARGIN_MAX = 100,
};

/* One block, freed by free(). 0 or -ENOMEM. */
SY_MUST_CHECK int gn_choose(const struct gn_index *index, const struct gn_reads *reads,
                            const struct gn_hits *hits, struct gn_jobs **ret_jobs);

#endif
