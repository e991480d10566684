/* SPDX-License-Identifier: Apache-2.0
 *
 * extend: the best local alignment with gaps of each job's read to its window of the reference.
 *
 * In: index, reads and jobs as in genomics.h. Out: one struct gn_extension per job, the same bits
 * from every variant. Read base i = 1 .. m (the reverse complement where the job is reverse) and
 * window base j = 1 .. n give the recurrence, all values at least 0:
 *
 *   H(0, j) = 5                      the read's start is worth 5
 *   H(i, 0) = 0                      i > 0
 *   D(i, j) = H(i-1, j-1) + (bases equal and neither is N ? 1 : -4)
 *   E(i, j) = max(H(i, j-1) - 7, E(i, j-1) - 1)      a deletion
 *   F(i, j) = max(H(i-1, j) - 7, F(i-1, j) - 1)      an insertion
 *   H(i, j) = max(D, E, F, 0)
 *   V(i, j) = H(i, j), and 5 more where i = m and H > 0
 *
 * score is the largest V; among equal ones the smallest j, then the largest i. Back from there: D
 * where H = D, else E where H = E, else F; a gap goes on only where that is better than opening it
 * (so gaps lie as far left as they can). The alignment starts where H is 0 or i is 0. A score
 * below GN_SCORE_MIN gives an extension of zeros.
 */
#ifndef GENOMICS_EXTEND_H
#define GENOMICS_EXTEND_H

#include "genomics/genomics.h"
#include "simd.h"

enum {
    GN_SCORE_MATCH = 1,
    GN_SCORE_MISMATCH = 4,
    GN_SCORE_OPEN = 7,   /* the first base of a gap */
    GN_SCORE_EXTEND = 1, /* each further one */
    GN_SCORE_END = 5,    /* for each end of the read that is reached */
    GN_SCORE_MIN = 30,
};

/* out: job_count extensions. 0, -ENOMEM (scratch), or -EINVAL: a job beyond its read or the
 * reference, a window longer than GN_WINDOW_MAX. */
SY_MUST_CHECK int gn_extend(const struct gn_index *index, const struct gn_reads *reads,
                            const struct gn_jobs *jobs, struct gn_extension *out,
                            enum guest_simd level);

/* Scores alone, for measurements and tests: V's largest value of each job, also below
 * GN_SCORE_MIN. */
SY_MUST_CHECK int gn_extend_scores(const struct gn_index *index, const struct gn_reads *reads,
                                   const struct gn_jobs *jobs, int16_t *out, enum guest_simd level);

/* Scratch of one work-item of the OpenCL kernel, and how many there should be. */
enum {
    GN_EXTEND_SLOT_BYTES = (GN_READ_MAX + 1) * GN_WINDOW_MAX + 4 * (GN_WINDOW_MAX + 1) + 60,
    GN_EXTEND_SLOTS = 64,
};

#endif
