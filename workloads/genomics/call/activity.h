/* SPDX-License-Identifier: Apache-2.0
 *
 * activity: how many reads cover each position of a bin and its halo, and how much they speak
 * against the reference there.
 *
 * Of reads that are mapped, primary, not marked as bad or as duplicates, with a mapping quality of
 * at least GN_ACTIVITY_MAPPING. depth: matches, mismatches and deleted bases. evidence:
 *   a mismatch of quality >= GN_ACTIVITY_QUALITY  its quality, at most GN_ACTIVITY_FULL, there
 *   an insertion or deletion                      GN_ACTIVITY_FULL, at the base before
 *   a clip of >= GN_ACTIVITY_CLIP bases           GN_ACTIVITY_FULL, at the aligned base beside it
 * N, in the read or the reference, is no evidence. So evidence / GN_ACTIVITY_FULL is about the
 * number of reads that differ. Only integers are added: the order does not matter.
 */
#ifndef GENOMICS_CALL_ACTIVITY_H
#define GENOMICS_CALL_ACTIVITY_H

#include "genomics/call/rules.h"
#include "simd.h"

/* Position i of the arrays is global position bin->start - GN_HALO + i; the first bin begins before
 * the line does, and the last may end behind it: there is nothing. */
static inline uint32_t gn_activity_length(const struct gn_bin *bin) {
    return bin->end - bin->start + 2 * GN_HALO;
}
/* What the blob needs, for a bin of so many bases (GN_BIN_BASES at most). */
uint64_t gn_activity_bytes(uint32_t bin_bases);

/* activity: gn_activity_bytes or more, its header is written too. 0 or -ENOMEM (scratch). */
SY_MUST_CHECK int gn_activity_run(const struct gn_index *index, const struct gn_bin *bin,
                                  const struct gn_order *order, struct gn_activity *activity,
                                  enum guest_simd level);

#endif
