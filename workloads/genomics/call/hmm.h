/* SPDX-License-Identifier: Apache-2.0
 *
 * PairHMM: how likely a read is, given the haplotype that it may come from; all ways to align the
 * two summed up (the forward algorithm; the model of GATK's HaplotypeCaller).
 *
 * In: struct gn_hmm of genomics.h. Out: one float for each pair of read and haplotype, the same
 * bits from every variant on every device, if it is at least GN_HMM_SMALL.
 *
 * The model, read base i = 1 .. R and haplotype base j = 1 .. H, e the base's error, o the
 * probability that a gap opens at i (the same for insertion and deletion), g that it goes on:
 *
 *   M(i,j) = prior (M(i-1,j-1) (1 - 2o) + (I(i-1,j-1) + D(i-1,j-1)) (1 - g))
 *   I(i,j) = M(i-1,j) o + I(i-1,j) g
 *   D(i,j) = M(i,j-1) o + D(i,j-1) g         prior: 1 - e if the bases agree or one is N, else e/3
 *   D(0,j) = 1/H, else 0 at the borders; likelihood = sum over j of M(R,j) + I(R,j)
 *
 * What is computed, with five operations for a cell instead of ten. a(i) = o(i) (1 - g), and
 * a(R+1) = 1 - g. M is kept times a(i+1) / (1 - g), I as it is, and D times a(i+1) / a(i); all of
 * them times H 2^GN_HMM_SCALE:
 *
 *   M(i,j) = P(i, base j) X(i,j-1)           P = prior a(i+1)
 *   D(i,j) = fma(g, D(i,j-1), M(i,j-1))
 *   I(i,j) = fma(g, I(i-1,j), M(i-1,j))
 *   X(i+1,j) = fma(k, M(i,j), fma(c, D(i,j), I(i,j)))    k = (1 - 2o(i+1)) / a(i+1)
 *                                                        c = a(i) / a(i+1)
 *   X(1,j) = 2^GN_HMM_SCALE; sum = (..((I(R,1) + M(R,1)) + (I(R,2) + M(R,2))) + ..)
 *
 * Denormals. Devices may flush them or not. Such a flush drops less than 2^-126 of a value, which
 * in M's own scale is less than 2^-105 (gaps have a quality of at most GN_HMM_GAP_MAX) and reaches
 * the sum with a factor of at most 2. Five of them in each of 512 x 2048 cells are less than 2^-81
 * altogether: 2^-41 of the smallest sum that counts, 2^-17 of its last bit. Sums below come from
 * gn_hmm_exact. test_hmm compares runs with and without flushing.
 */
#ifndef GENOMICS_CALL_HMM_H
#define GENOMICS_CALL_HMM_H

#include "genomics/call/rules.h"
#include "simd.h"

#define GN_HMM_SMALL 0x1p-40f
#define GN_HMM_FLOOR (-600.0) /* log10 of what is less likely still */
enum {
    GN_HMM_SCALE = 112,
    GN_HMM_GAP_MIN = 4, /* qualities of gaps beyond count as these */
    GN_HMM_GAP_MAX = 60,
    GN_HMM_HAPLOTYPE_MAX = 4096, /* bases */
};

/* What a blob's header needs beside its counts and offsets. continuation: 0.1 in GATK. */
void gn_hmm_fill(struct gn_hmm *blob, float continuation);

/* sums: sum_count floats; those of reads or haplotypes without bases become 0. 0, -ENOMEM
 * (scratch), or -EINVAL: a read longer than GN_READ_MAX, a haplotype longer than
 * GN_HMM_HAPLOTYPE_MAX, an index or a base beyond its table, regions not one after the other. */
SY_MUST_CHECK int gn_hmm_run(const struct gn_hmm *blob, float *sums, enum guest_simd level);

/* log10 of the likelihood, at least GN_HMM_FLOOR; for a sum below GN_HMM_SMALL by gn_hmm_exact.
 * read, haplotype: of the blob's tables. Lengths of zero give GN_HMM_FLOOR. */
double gn_hmm_log10(const struct gn_hmm *blob, uint32_t read, uint32_t haplotype, float sum);
/* The same in double precision, slow. */
double gn_hmm_exact(const struct gn_hmm *blob, uint32_t read, uint32_t haplotype);

#endif
