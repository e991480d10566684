/* SPDX-License-Identifier: Apache-2.0
 *
 * What index.c and index_file.c share: memory of an index, and its sum.
 */
#ifndef GENOMICS_INDEX_MEMORY_H
#define GENOMICS_INDEX_MEMORY_H

#include "genomics/genomics.h"

/* Zeroed; NULL: out of memory. Given back by gn_index_free with the same number of bytes. */
struct gn_index *gn_index_allocate(uint64_t bytes);
void gn_index_free(struct gn_index *index, uint64_t bytes);
/* Of all but the checksum itself. */
uint64_t gn_index_sum(const struct gn_index *index);

#endif
