/* SPDX-License-Identifier: Apache-2.0
 *
 * A donor: two haplotypes made from a stretch of a reference, with variants that are known.
 *
 * Hard on purpose, since an easy donor tells nothing about callers: variants come in clusters,
 * indels prefer homopolymers and short tandem repeats and reach 100 bases, some places are misread
 * systematically on one strand, and some stretches have a second, slightly different copy that the
 * reference lacks. The same bytes for the same seed everywhere.
 */
#ifndef GENOMICS_JUDGE_DONOR_H
#define GENOMICS_JUDGE_DONOR_H

#include "genomics/genomics.h"

struct gn_random {
    uint64_t state;
};
uint64_t gn_random_next(struct gn_random *random);
/* In [0, 1). */
double gn_random_unit(struct gn_random *random);
double gn_random_normal(struct gn_random *random);

struct gn_truth {
    uint32_t position; /* in the stretch, of the first base of the reference allele */
    uint16_t reference_length, alternative_length;
    uint32_t alternative; /* offset in alternatives of its codes */
    uint8_t carried[2];   /* by each haplotype */
};

struct gn_stratum {
    uint32_t start, end; /* in the stretch */
    const char *label;   /* "systematic", "paralog" */
};

struct gn_haplotype {
    uint8_t *bases;      /* codes; copies that the reference lacks follow behind the stretch */
    uint8_t *systematic; /* 1, 2: misread on the forward, reverse strand; else 0 */
    uint64_t length, capacity;
    uint64_t main_length; /* of the stretch itself */
};

struct gn_donor {
    const uint8_t *reference; /* codes of the stretch; borrowed */
    uint32_t length;
    struct gn_haplotype haplotypes[2];
    struct gn_truth *truths;
    uint32_t truth_count, truth_capacity;
    uint8_t *alternatives;
    uint32_t alternative_count, alternative_capacity;
    struct gn_stratum *strata;
    uint32_t stratum_count, stratum_capacity;
};

struct gn_donor_options {
    uint64_t seed;
    double snp_rate, indel_rate, systematic_rate; /* per base */
    double paralogs_per_megabase;
};
void gn_donor_options_default(struct gn_donor_options *ret_options);

/* Whether to stop now. */
typedef bool (*gn_stop_function)(void);

/* 0, -ENOMEM, or -EINTR: stop, if not NULL, said so. */
SY_MUST_CHECK int gn_donor_create(const uint8_t *reference, uint32_t length,
                                  const struct gn_donor_options *options, gn_stop_function stop,
                                  struct gn_donor **ret_donor);
void gn_donor_destroy(struct gn_donor *donor);

#endif
