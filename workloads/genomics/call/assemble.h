/* SPDX-License-Identifier: Apache-2.0
 *
 * assemble: active regions of a bin, their reads, and the haplotypes that these may come from, by
 * local de Bruijn graphs. C only.
 *
 * The same bytes for the same input, in whatever order the bin's records stand.
 */
#ifndef GENOMICS_CALL_ASSEMBLE_H
#define GENOMICS_CALL_ASSEMBLE_H

#include "genomics/call/regions.h"

/* -EINVAL: order or activity are not of this bin. -ENOMEM. */
SY_MUST_CHECK int gn_assemble(const struct gn_index *index, const struct gn_bin *bin,
                              const struct gn_order *order, const struct gn_activity *activity,
                              const struct gn_call_options *options,
                              struct gn_regions **ret_regions);

#endif
