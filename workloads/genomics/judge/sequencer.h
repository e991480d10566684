/* SPDX-License-Identifier: Apache-2.0
 *
 * A sequencer: pairs of reads from a donor, with the errors of short-read machines.
 *
 * Fragments of both haplotypes, fewer where GC content is extreme; PCR duplicates, which share the
 * stutter of homopolymers; qualities that fall along the read and tell the truth about random
 * errors; systematic errors on one strand. A model, not a machine: whoever reports results from it
 * says so.
 */
#ifndef GENOMICS_JUDGE_SEQUENCER_H
#define GENOMICS_JUDGE_SEQUENCER_H

#include "genomics/judge/donor.h"

enum { GN_FRAGMENT_MAX = 1200 };

struct gn_sequencer_options {
    uint64_t seed;
    double coverage;
    uint32_t read_length; /* at most GN_READ_MAX */
    double insert, insert_spread;
    double duplicate_rate;
};
void gn_sequencer_options_default(struct gn_sequencer_options *ret_options);

struct gn_pair_of_reads {
    uint64_t number;
    uint32_t haplotype;
    uint64_t start; /* of the fragment, in the haplotype */
    uint32_t length;
    uint8_t codes[2][GN_READ_MAX], qualities[2][GN_READ_MAX];
};

struct gn_sequencer {
    const struct gn_donor *donor;
    struct gn_sequencer_options options;
    struct gn_random random;
    uint64_t done, total;
    uint32_t haplotype;
    uint64_t start;
    uint32_t fragment_length; /* 0: none yet */
    uint8_t fragment[2 * GN_FRAGMENT_MAX], systematic[2 * GN_FRAGMENT_MAX];
};

void gn_sequencer_start(struct gn_sequencer *sequencer, const struct gn_donor *donor,
                        const struct gn_sequencer_options *options);
/* False: the coverage is reached. */
bool gn_sequencer_next(struct gn_sequencer *sequencer, struct gn_pair_of_reads *ret_pair);

#endif
