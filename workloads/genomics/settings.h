/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of a run: "ref=X.fa,reads1=A.fq.gz,reads2=B.fq.gz,out=O.vcf.gz,...".
 *
 * Values are percent-encoded where they hold a comma, a percent sign or a line end, so that any
 * file name passes. Several samples come from a table, a line each: name, first file, second file
 * or "-", output, BAM or "-"; separated by tabs.
 */
#ifndef GENOMICS_SETTINGS_H
#define GENOMICS_SETTINGS_H

#include "genomics/genomics.h"

struct gn_sample_settings {
    char *name, *tenant, *reads1, *reads2, *out, *bam; /* reads2, bam: NULL if not given */
    uint32_t line;                                     /* of the table; 0: not from one */
};

struct gn_settings {
    char *ref, *index, *regions, *samples, *command; /* NULL: not given */
    uint64_t memory_bytes;                           /* for reads that wait for their bin */
    uint32_t batch;                                  /* pairs, or single reads, of one batch */
    bool interleaved; /* a sample's only file has both ends of pairs, whatever it looks like */
    uint32_t phred;   /* 33 or 64, as struct gn_fastq_options has it; 0: not given */
    struct gn_sample_settings *list;
    uint32_t count;
};

SY_MUST_CHECK int gn_settings_parse(const char *arguments, struct gn_settings *ret_settings,
                                    struct sy_error *error);
void gn_settings_finish(struct gn_settings *settings);

#endif
