/* SPDX-License-Identifier: Apache-2.0
 *
 * pair: the final place of each read and of its mate.
 *
 * In: reads, their places without gaps, and the extensions of the jobs that choose made of them.
 * Out: one record per read, in read order. The best pair of places that fits (opposite strands,
 * facing each other, insert within GN_INSERT_MIN .. GN_INSERT_MAX) wins over single places unless
 * those score GN_UNPAIRED more. A mapping quality says by how much the chosen place beats the best
 * other one for the read, given its mate; places that score the same give 0. Nothing depends on the
 * batch: only the pair itself counts.
 */
#ifndef GENOMICS_PAIR_H
#define GENOMICS_PAIR_H

#include "genomics/genomics.h"

enum {
    GN_UNPAIRED = 17, /* what fitting together is worth */
    GN_MAPQ_MAX = 60,
    GN_QUALITY_COUNTED = 15, /* qualities below are not in quality_sum */
};

enum gn_flag { /* as in BAM */
               GN_FLAG_PAIRED = 0x1,
               GN_FLAG_PROPER = 0x2,
               GN_FLAG_UNMAPPED = 0x4,
               GN_FLAG_MATE_UNMAPPED = 0x8,
               GN_FLAG_REVERSE = 0x10,
               GN_FLAG_MATE_REVERSE = 0x20,
               GN_FLAG_FIRST = 0x40,
               GN_FLAG_SECOND = 0x80,
};

/* One block, freed by free(). */
struct gn_aligned {
    uint64_t bytes;
    uint32_t count; /* of reads */
    uint32_t cigar_total;
    /* In read order. bases: as in reads (the sequenced direction; turned by whom copies it where
     * GN_FLAG_REVERSE is set). name: index in notes' name_offsets, i.e. the read's number.
     * An unmapped read has its mate's position where that has one (then it stands beside it), else
     * UINT32_MAX, and no cigar. pair_key is the same for both mates. */
    struct gn_record *records;
    uint32_t *cigars; /* records[i].cigar .. + cigar_count; length << 4 | operation */
};

/* notes may be NULL: then quality_sum is 0. extensions: one per job of jobs. 0 or -ENOMEM. */
SY_MUST_CHECK int gn_pair(const struct gn_index *index, const struct gn_reads *reads,
                          const struct gn_notes *notes, const struct gn_hits *hits,
                          const struct gn_jobs *jobs, const struct gn_extension *extensions,
                          struct gn_aligned **ret_aligned);

#endif
