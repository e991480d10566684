/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of a VCF or BCF file of one sample, one after the other.
 *
 * VCF is read by lines of bounded length, whatever htslib would take; BCF, and what is no regular
 * file, by htslib.
 */
#ifndef GENOMICS_JUDGE_RECORDS_H
#define GENOMICS_JUDGE_RECORDS_H

#include "genomics/align/reader.h"
#include <htslib/vcf.h>

struct gn_records {
    const char *path; /* borrowed */
    bcf_hdr_t *header;
    bcf1_t *record;           /* the last one, not unpacked */
    htsFile *file;            /* either this */
    struct gn_reader *reader; /* or this */
};

SY_MUST_CHECK int gn_records_open(const char *path, struct gn_records *ret_records,
                                  struct sy_error *error);
void gn_records_close(struct gn_records *records);
/* 1: there is one; 0: there are no more. */
SY_MUST_CHECK int gn_records_next(struct gn_records *records, struct sy_error *error);
/* Fills error with the file, and the line where it is known. Returns -EBADMSG. */
int gn_records_fail(const struct gn_records *records, struct sy_error *error, const char *message);

#endif
