/* SPDX-License-Identifier: Apache-2.0
 *
 * A VCF 4.3 file, plain or (name ends in .gz) compressed in blocks with an index beside it (.tbi,
 * or .csi where a contig is too long for that).
 *
 * It is written under another name in the same folder and gets its own when it is complete.
 */
#ifndef GENOMICS_CALL_VCF_H
#define GENOMICS_CALL_VCF_H

#include "genomics/call/genotype.h"

struct gn_vcf;

/* sample: the last column's name. command: for ##symphCommand; may be NULL. */
SY_MUST_CHECK int gn_vcf_open(const char *path, const struct gn_index *index, const char *sample,
                              const char *command, struct gn_vcf **ret_vcf, struct sy_error *error);
/* Bins in the order of the reference. */
SY_MUST_CHECK int gn_vcf_write(struct gn_vcf *vcf, const struct gn_lines *lines,
                               struct sy_error *error);
/* Lines written so far, and how many of them pass every filter. */
void gn_vcf_count(const struct gn_vcf *vcf, uint64_t *ret_lines, uint64_t *ret_passed);
/* Completes the file and gives it its name; vcf is gone afterwards, whatever is returned. */
SY_MUST_CHECK int gn_vcf_close(struct gn_vcf *vcf, struct sy_error *error);
/* Removes what was written. Accepts NULL. */
void gn_vcf_abandon(struct gn_vcf *vcf);

#endif
