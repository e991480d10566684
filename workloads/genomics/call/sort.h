/* SPDX-License-Identifier: Apache-2.0
 *
 * sort: a bin's records in order, and which of them are duplicates.
 *
 * By position, then serial (then place in the bin, for records of one read). duplicates.h says what
 * a duplicate is.
 */
#ifndef GENOMICS_CALL_SORT_H
#define GENOMICS_CALL_SORT_H

#include "genomics/call/rules.h"
#include "simd.h"

/* What the blob needs. */
uint64_t gn_order_bytes(uint32_t record_count);

/* order: gn_order_bytes or more, its header is written too. 0 or -ENOMEM (scratch). */
SY_MUST_CHECK int gn_sort(const struct gn_bin *bin, struct gn_order *order, enum guest_simd level);

#endif
