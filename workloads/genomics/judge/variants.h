/* SPDX-License-Identifier: Apache-2.0
 *
 * Variants of a VCF file as two alleles each, and the sequences that sets of them make.
 */
#ifndef GENOMICS_JUDGE_VARIANTS_H
#define GENOMICS_JUDGE_VARIANTS_H

#include "genomics/judge/score.h"

struct gn_variant {
    uint64_t position; /* global, of the first base of what is replaced */
    uint32_t length;   /* of that */
    const uint8_t *alleles[2];
    uint32_t lengths[2];
    bool phased, truth;
    bool right; /* found, or confirmed */
    enum gn_kind kind;
    uint32_t order; /* in its file */
};

struct gn_variants {
    struct gn_variant *list;
    uint32_t count, capacity;
    uint8_t **blocks; /* the alleles' memory, one for each variant */
};

SY_MUST_CHECK int gn_variants_read(const char *path, const struct gn_genome *genome, bool truth,
                                   const struct gn_score_options *options,
                                   struct gn_variants *ret_variants, struct sy_error *error);
void gn_variants_finish(struct gn_variants *variants);

/* Codes of [start, start + length). */
void gn_genome_codes(const struct gn_genome *genome, uint64_t start, uint64_t length,
                     uint8_t *codes);

/* Whether truth and calls of these variants (any mix of both, by position) make the same two
 * sequences. -ENOMEM. */
SY_MUST_CHECK int gn_variants_agree(const struct gn_genome *genome,
                                    struct gn_variant *const *variants, uint32_t count,
                                    bool *ret_agree);

#endif
