/* SPDX-License-Identifier: Apache-2.0
 *
 * duplicates: which of a bin's records are duplicates; a part of sort.
 *
 * Among records with the same pair_key (not 0) and the same BAM flag "second of its pair", the pair
 * with the highest quality_sum stays, of equal ones that with the smallest serial / 2; all others
 * are duplicates. The key covers both ends and the rule only the pair, so mates decide the same in
 * whatever bins. The rule itself is here in C and for a GPU.
 */
#ifndef GENOMICS_CALL_DUPLICATES_H
#define GENOMICS_CALL_DUPLICATES_H

#include "genomics/genomics.h"

/* What is compared among duplicates: the largest stays. Serials are below 2^48. */
GN_BOTH uint64_t gn_duplicates_merit(const struct gn_record *record) {
    const uint64_t low = ((uint64_t)1 << 47) - 1;
    uint64_t quality = record->quality_sum < 0x1ffff ? record->quality_sum : 0x1ffff;
    return quality << 47 | (low - (record->serial >> (record->flags & 1) & low));
}

/* Where the table of duplicates is first looked at. */
GN_BOTH uint32_t gn_duplicates_slot(uint64_t pair_key, uint32_t capacity) {
    return (uint32_t)(pair_key * 0x9E3779B97F4A7C15u >> 32) & (capacity - 1);
}

#ifndef __CUDACC__
/* Bytes of scratch that marking needs. */
size_t gn_duplicates_room(uint32_t record_count);

/* duplicates: by record, 1: a duplicate. Returns how many there are. */
uint32_t gn_duplicates_mark(const struct gn_bin *bin, void *room, uint8_t *duplicates);
#endif

#endif
