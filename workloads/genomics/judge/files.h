/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a simulated sample: PREFIX_1.fq.gz, PREFIX_2.fq.gz, PREFIX.truth.vcf.gz,
 * PREFIX.strata.bed; and PREFIX.fa where the reference itself is made up. They get their names
 * together, when all are complete.
 */
#ifndef GENOMICS_JUDGE_FILES_H
#define GENOMICS_JUDGE_FILES_H

#include "genomics/judge/sequencer.h"

struct gn_simulation {
    const char *contig;
    uint64_t start; /* of the stretch in its contig */
    const uint8_t *reference;
    uint32_t length;
    bool made_up;          /* write the reference, too */
    gn_stop_function stop; /* asked now and then: true ends it; NULL: nobody ends it */
    struct gn_donor_options donor;
    struct gn_sequencer_options sequencer;
};

struct gn_simulated {
    uint64_t pairs, snps, indels;
};

/* -EINTR: it was ended. */
SY_MUST_CHECK int gn_simulate(const struct gn_simulation *simulation, const char *prefix,
                              struct gn_simulated *ret_made, struct sy_error *error);

/* A made-up sequence with repeats and tandem repeats, where no real one is at hand; to be freed.
 * NULL: out of memory. */
uint8_t *gn_random_reference(uint32_t length, uint64_t seed);

#endif
