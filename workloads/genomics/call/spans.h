/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to call: the active stretches of a bin.
 */
#ifndef GENOMICS_CALL_SPANS_H
#define GENOMICS_CALL_SPANS_H

#include "genomics/call/regions.h"
#include <stdbool.h>

struct gn_spans {
    uint32_t count, room;
    struct gn_region *regions; /* ascending; start, end, owned_* and depth are set first */
};

/* Those that start inside the bin proper. spans: all zero before; its regions are to be freed,
 * whatever is returned. */
SY_MUST_CHECK int gn_spans_find(const struct gn_bin *bin, const struct gn_activity *activity,
                                struct gn_spans *spans);

/* copy_number.c: sets usual and copies of each region. coverage NULL: none. */
SY_MUST_CHECK int gn_spans_mark_copies(const struct gn_index *index, const struct gn_bin *bin,
                                       const struct gn_order *order,
                                       const struct gn_activity *activity,
                                       const struct gn_coverage *coverage, struct gn_spans *spans);

#endif
