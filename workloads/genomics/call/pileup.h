/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to call: haplotypes from how reads were aligned, for regions whose k-mers repeat.
 */
#ifndef GENOMICS_CALL_PILEUP_H
#define GENOMICS_CALL_PILEUP_H

#include "genomics/call/events.h"
#include "genomics/call/picks.h"

struct gn_pileup; /* scratch */

SY_MUST_CHECK int gn_pileup_create(struct gn_pileup **ret_pileup);
void gn_pileup_free(struct gn_pileup *pileup);

/* Adds the reference with each set of the changes that enough reads have. */
void gn_pileup_paths(struct gn_pileup *pileup, const struct gn_picks *picks,
                     const struct gn_region *region, uint32_t cap,
                     struct gn_haplotypes *haplotypes);

#endif
