/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws reads: see sequencer.h.
 */
#include "genomics/judge/sequencer.h"
#include <math.h>

enum { STUTTER_RUN = 7, QUALITY_MOST = 41, QUALITY_LEAST = 2, TRIES = 1000000 };
#define GC_TYPICAL      0.42
#define GC_STEEPNESS    12.0
#define SYSTEMATIC_RATE 0.35

void gn_sequencer_options_default(struct gn_sequencer_options *ret_options) {
    *ret_options = (struct gn_sequencer_options){.seed = 1,
                                                 .coverage = 30,
                                                 .read_length = 150,
                                                 .insert = 400,
                                                 .insert_spread = 80,
                                                 .duplicate_rate = 0.08};
}

void gn_sequencer_start(struct gn_sequencer *sequencer, const struct gn_donor *donor,
                        const struct gn_sequencer_options *options) {
    *sequencer = (struct gn_sequencer){
        .donor = donor,
        .options = *options,
        .random = {options->seed * 0xD1B54A32D192ED03u + 2},
        .total = (uint64_t)((double)donor->haplotypes[0].main_length * options->coverage /
                            (2.0 * options->read_length))};
}

/* A homopolymer ends here: PCR may lose one of its bases or add one. */
static void stutter(struct gn_sequencer *sequencer, const uint8_t *bases, uint32_t at,
                    uint32_t length) {
    uint32_t run = 1;
    while (run <= at && run < 30 && bases[at - run] == bases[at]) {
        run++;
    }
    if (run < STUTTER_RUN || at + 1 >= length || bases[at + 1] == bases[at]) {
        return;
    }
    double rate = fmin(0.25, 5e-4 * pow(1.7, run - STUTTER_RUN));
    double draw = gn_random_unit(&sequencer->random);
    if (draw < rate * 0.65) {
        sequencer->fragment_length--;
    } else if (draw < rate && sequencer->fragment_length + 2 < 2 * GN_FRAGMENT_MAX) {
        sequencer->systematic[sequencer->fragment_length] = 0;
        sequencer->fragment[sequencer->fragment_length++] = bases[at];
    }
}

/* False: this place gives none. */
static bool take_fragment(struct gn_sequencer *sequencer, uint32_t want) {
    struct gn_random *random = &sequencer->random;
    const struct gn_haplotype *haplotype = &sequencer->donor->haplotypes[sequencer->haplotype];
    const uint8_t *bases = haplotype->bases + sequencer->start;
    uint32_t gc = 0;
    for (uint32_t i = 0; i < want; i++) {
        if (bases[i] > 3) {
            return false;
        }
        gc += bases[i] == 1 || bases[i] == 2;
    }
    double excess = (double)gc / want - GC_TYPICAL;
    if (gn_random_unit(random) > exp(-excess * excess * GC_STEEPNESS)) {
        return false;
    }
    sequencer->fragment_length = 0;
    for (uint32_t i = 0; i < want; i++) {
        sequencer->systematic[sequencer->fragment_length] =
            haplotype->systematic[sequencer->start + i];
        sequencer->fragment[sequencer->fragment_length++] = bases[i];
        stutter(sequencer, bases, i, want);
    }
    return sequencer->fragment_length >= sequencer->options.read_length + 5;
}

static bool draw_fragment(struct gn_sequencer *sequencer) {
    const struct gn_sequencer_options *options = &sequencer->options;
    struct gn_random *random = &sequencer->random;
    uint32_t least = options->read_length + 10;
    for (int tries = 0; tries < TRIES; tries++) {
        sequencer->haplotype = gn_random_next(random) & 1;
        const struct gn_haplotype *haplotype = &sequencer->donor->haplotypes[sequencer->haplotype];
        double wanted = options->insert + options->insert_spread * gn_random_normal(random);
        uint32_t want = wanted < least ? least : (uint32_t)wanted;
        want = want < GN_FRAGMENT_MAX - 100 ? want : GN_FRAGMENT_MAX - 100;
        if (haplotype->length <= want) {
            return false;
        }
        sequencer->start = (uint64_t)(gn_random_unit(random) * (double)(haplotype->length - want));
        if (take_fragment(sequencer, want)) {
            return true;
        }
    }
    return false; /* nothing but N */
}

static uint8_t draw_quality(struct gn_sequencer *sequencer, double base, double drop, uint32_t at) {
    struct gn_random *random = &sequencer->random;
    double along = (double)at / sequencer->options.read_length;
    double quality = base - 8 * along * along * along + 2 * gn_random_normal(random);
    quality -= gn_random_unit(random) < 0.02 ? 12 : 0;
    quality -= drop >= 0 && at > drop ? 15 : 0;
    return (uint8_t)fmin(QUALITY_MOST, fmax(QUALITY_LEAST, quality + 0.5));
}

static void read_end(struct gn_sequencer *sequencer, bool reverse, uint8_t *codes,
                     uint8_t *qualities) {
    struct gn_random *random = &sequencer->random;
    uint32_t length = sequencer->options.read_length;
    double base = 37 + 1.5 * gn_random_normal(random);
    double drop = gn_random_unit(random) < 0.1 ? gn_random_unit(random) * length : -1;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t at = reverse ? sequencer->fragment_length - 1 - i : i;
        uint8_t code = sequencer->fragment[at], mark = sequencer->systematic[at];
        bool misread = mark && (mark == 2) == reverse;
        uint8_t quality = draw_quality(sequencer, base - (misread ? 8 : 0), drop, i);
        code = reverse ? (uint8_t)(3 - code) : code;
        if (misread && gn_random_unit(random) < SYSTEMATIC_RATE) {
            code = (code + 1) & 3;
        } else if (gn_random_unit(random) < pow(10, -quality / 10.0)) {
            code = (uint8_t)((code + 1 + gn_random_next(random) % 3) & 3);
        }
        codes[i] = code;
        qualities[i] = quality;
    }
}

bool gn_sequencer_next(struct gn_sequencer *sequencer, struct gn_pair_of_reads *ret_pair) {
    struct gn_random *random = &sequencer->random;
    if (sequencer->done == sequencer->total) {
        return false;
    }
    bool again =
        sequencer->fragment_length && gn_random_unit(random) < sequencer->options.duplicate_rate;
    if (!again && !draw_fragment(sequencer)) {
        return false;
    }
    ret_pair->number = sequencer->done++;
    ret_pair->haplotype = sequencer->haplotype;
    ret_pair->start = sequencer->start;
    ret_pair->length = sequencer->options.read_length;
    bool swap = gn_random_next(random) & 1;
    for (int end = 0; end < 2; end++) {
        read_end(sequencer, (end == 1) != swap, ret_pair->codes[end], ret_pair->qualities[end]);
    }
    return true;
}
