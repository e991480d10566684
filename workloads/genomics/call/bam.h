/* SPDX-License-Identifier: Apache-2.0
 *
 * A BAM file of aligned reads by position, with its index (.bai, or .csi where a contig is too
 * long); or, if its name ends in .cram, a CRAM file with its index (.crai). The rule of names is
 * output.h's.
 */
#ifndef GENOMICS_CALL_BAM_H
#define GENOMICS_CALL_BAM_H

#include "genomics/genomics.h"

struct gn_bam;

/* fasta: the reference's file, which CRAM needs; index: made from it. sample and command: as for
 * gn_vcf_open. -EBADMSG: this reference will not do for CRAM. */
SY_MUST_CHECK int gn_bam_open(const char *path, const char *fasta, const struct gn_index *index,
                              const char *sample, const char *command, struct gn_bam **ret_bam,
                              struct sy_error *error);
/* The reads that start inside the bin proper. Bins in the order of the reference; at last one that
 * ends at 0, with the reads that have no place. */
SY_MUST_CHECK int gn_bam_write(struct gn_bam *bam, const struct gn_bin *bin,
                               const struct gn_order *order, struct sy_error *error);
SY_MUST_CHECK int gn_bam_close(struct gn_bam *bam, struct sy_error *error);
void gn_bam_abandon(struct gn_bam *bam);

#endif
