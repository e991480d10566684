/* SPDX-License-Identifier: Apache-2.0
 *
 * Bins: aligned reads on their way from batches, which come in any order, to stretches of the
 * reference.
 *
 * In: batches of aligned reads, from any thread. Out: for each bin one blob (struct gn_bin) with
 * all reads that overlap it or its halo. A read near a border is in both bins. What does not fit
 * into the memory that is allowed waits in a file without a name, which is gone when the process
 * is. The order of a bin's records depends on who came first; whoever uses them sorts by position
 * and serial.
 */
#ifndef GENOMICS_BINS_H
#define GENOMICS_BINS_H

#include "genomics/align/pair.h"
#include "genomics/genomics.h"

struct gn_bins;

/* The first base of a bin. The line begins with GN_GAP bases of N that need none, so that every bin
 * has its halo. */
static inline uint64_t gn_bin_start(uint32_t bin) {
    return GN_GAP + (uint64_t)bin * GN_BIN_BASES;
}

struct gn_bins_options {
    uint64_t length;       /* global bases of the reference */
    uint64_t memory_bytes; /* more goes to the file; 0: no limit */
    const char *folder;    /* of that file */
    bool names;            /* keep names, for a BAM */
    bool unmapped; /* keep reads without a place: beside their mate, or in last bins of their own */
};

SY_MUST_CHECK int gn_bins_create(const struct gn_bins_options *options, struct gn_bins **ret_bins);
void gn_bins_destroy(struct gn_bins *bins);

/* Any thread. -EIO, -ENOSPC: the file cannot be written. */
SY_MUST_CHECK int gn_bins_add(struct gn_bins *bins, const struct gn_reads *reads,
                              const struct gn_notes *notes, const struct gn_aligned *aligned);

/* Including those of reads without a place, which are the last, in order of serials. Grows while
 * reads are added. */
uint32_t gn_bins_count(const struct gn_bins *bins);
uint32_t gn_bins_records(const struct gn_bins *bins, uint32_t bin);
/* Bytes of the bin's blob. */
uint64_t gn_bins_bytes(const struct gn_bins *bins, uint32_t bin);
/* Bytes that had to wait in the file. */
uint64_t gn_bins_spilled(const struct gn_bins *bins);
/* Lays the bin's blob into room, gn_bins_bytes of it, and forgets its reads. Once nobody adds any
 * more; different bins from different threads. */
SY_MUST_CHECK int gn_bins_gather(struct gn_bins *bins, uint32_t bin, struct gn_bin *room);

#endif
