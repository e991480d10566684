/* SPDX-License-Identifier: Apache-2.0
 *
 * A VCF 4.3 file, plain or (its name ends in .gz or .bgz) compressed in blocks with an index (.tbi,
 * or .csi where a contig is too long for that); or, if its name ends in .bcf, a BCF file with its
 * index (.csi). It gets its name when it is complete: see output.h.
 */
#ifndef GENOMICS_CALL_VCF_H
#define GENOMICS_CALL_VCF_H

#include "genomics/call/genotype.h"

struct gn_vcf;

/* sample: the last column's name, one that gn_sample_wrong finds nothing wrong with. command: for
 * ##symphCommand; may be NULL. */
SY_MUST_CHECK int gn_vcf_open(const char *path, const struct gn_index *index, const char *sample,
                              const char *command, struct gn_vcf **ret_vcf, struct sy_error *error);
/* Bins in the order of the reference. */
SY_MUST_CHECK int gn_vcf_write(struct gn_vcf *vcf, const struct gn_lines *lines,
                               struct sy_error *error);
/* Lines written so far, by what their FILTER says. */
void gn_vcf_count(const struct gn_vcf *vcf, uint64_t ret_counts[GN_FILTER_COUNT]);
/* Completes the file and gives it its name; vcf is gone afterwards, whatever is returned. */
SY_MUST_CHECK int gn_vcf_close(struct gn_vcf *vcf, struct sy_error *error);
/* Removes what was written. Accepts NULL. */
void gn_vcf_abandon(struct gn_vcf *vcf);

#endif
