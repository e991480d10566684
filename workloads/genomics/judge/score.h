/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores calls against the truth, by haplotypes: two sets of variants are the same if they make the
 * same pair of sequences, however they are written.
 *
 * Variants that lie near each other form a cluster. Truth is phased where its genotypes are
 * ("0|1"); for the rest all phasings are tried. Where a whole cluster does not fit, smaller ones
 * are tried, and at last single variants. Genotype-strict: 0/1 called as 1/1 is both missed and
 * false. Variants are counted as they are written, SNPs where all alleles have one length.
 */
#ifndef GENOMICS_JUDGE_SCORE_H
#define GENOMICS_JUDGE_SCORE_H

#include "genomics/align/genome.h"

enum gn_kind { GN_SNP, GN_INDEL, GN_KIND_COUNT };
enum { GN_STRATUM_MAX = 8 };

struct gn_score_options {
    double quality;      /* calls below are not counted */
    bool all;            /* calls that fail a filter too */
    const char *contig;  /* only there; NULL: everywhere */
    uint64_t start, end; /* only variants that begin there, 0-based; end 0: everywhere */
};

struct gn_counts_of {
    uint64_t found, missed;    /* of the truth */
    uint64_t confirmed, wrong; /* of the calls */
};

struct gn_score {
    uint32_t stratum_count;
    char labels[GN_STRATUM_MAX][32]; /* [0] is "all", then those of the strata, then "other" */
    struct gn_counts_of counts[GN_STRATUM_MAX][GN_KIND_COUNT];
};

/* strata: a BED file with labels in its fourth column; NULL: none. */
SY_MUST_CHECK int gn_score_files(const struct gn_genome *genome, const char *truth,
                                 const char *calls, const char *strata,
                                 const struct gn_score_options *options, struct gn_score *ret_score,
                                 struct sy_error *error);

double gn_precision(const struct gn_counts_of *counts);
double gn_recall(const struct gn_counts_of *counts);
double gn_f1(const struct gn_counts_of *counts);

#endif
