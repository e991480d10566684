/* SPDX-License-Identifier: Apache-2.0
 *
 * Between extend's plain variant and its vectors; private to extend.
 */
#ifndef GENOMICS_EXTEND_SIMD_H
#define GENOMICS_EXTEND_SIMD_H

#include "genomics/align/extend.h"

struct gn_extend_input {
    const struct gn_index *index;
    const struct gn_reads *reads;
    const struct gn_job *jobs;
    uint32_t job_count;
};

/* Codes of a job's read in the reference's direction. */
void gn_extend_read(const struct gn_extend_input *input, const struct gn_job *job, uint8_t *codes);

/* As gn_extend and gn_extend_scores: exactly one of out and scores is set. */
int gn_extend_simd(const struct gn_extend_input *input, struct gn_extension *out, int16_t *scores,
                   enum guest_simd level);

#endif
