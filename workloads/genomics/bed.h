/* SPDX-License-Identifier: Apache-2.0
 *
 * Where to call: intervals of a BED file, in global positions, sorted and merged.
 */
#ifndef GENOMICS_BED_H
#define GENOMICS_BED_H

#include "genomics/align/index.h"

struct gn_interval {
    uint64_t start, end; /* [start, end) */
};

struct gn_bed {
    struct gn_interval *intervals;
    uint32_t count;
};

/* Plain or compressed. */
SY_MUST_CHECK int gn_bed_read(const char *path, const struct gn_index *index,
                              struct gn_bed *ret_bed, struct sy_error *error);
void gn_bed_finish(struct gn_bed *bed);
/* Some of [start, end) is inside. */
bool gn_bed_touches(const struct gn_bed *bed, uint64_t start, uint64_t end);

#endif
