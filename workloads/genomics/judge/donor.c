/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a donor: see donor.h. One walk along the stretch draws variants and copies bases; copies
 * that the reference lacks are added behind.
 */
#include "genomics/judge/donor.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    INDEL_MAX = 100,
    UNIT_MAX = 4, /* of a tandem repeat */
    MARGIN = 120, /* no indel nearer to the end */
    PARALOG_MIN = 4000,
    PARALOG_MORE = 4000,
    SPACER = 500, /* N between copies */
};
#define HOT_CHANCE     0.12 /* that a variant begins a cluster */
#define HOT_RATE       0.12 /* of further variants at its start */
#define HOT_DECAY      0.85 /* per base */
#define PARALOG_CHANGE 0.015

/* --- random numbers -----------------------------------------------------------------------------
 */
uint64_t gn_random_next(struct gn_random *random) {
    uint64_t z = random->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

double gn_random_unit(struct gn_random *random) {
    return (double)(gn_random_next(random) >> 11) * 0x1p-53;
}

double gn_random_normal(struct gn_random *random) {
    double u = gn_random_unit(random), v = gn_random_unit(random);
    return sqrt(-2 * log(u > 1e-300 ? u : 1e-300)) * cos(6.283185307179586 * v);
}

/* --- growing ------------------------------------------------------------------------------------
 */
static int grow(void *items, uint32_t *capacity, uint32_t count, size_t size) {
    void **list = items;
    if (count <= *capacity) {
        return 0;
    }
    uint32_t more = count + count / 2 + 64;
    void *grown = realloc(*list, more * size);
    if (!grown) {
        return -ENOMEM;
    }
    *list = grown;
    *capacity = more;
    return 0;
}

static int put_base(struct gn_haplotype *haplotype, uint8_t code, uint8_t systematic) {
    if (haplotype->length == haplotype->capacity) {
        uint64_t more = haplotype->capacity + haplotype->capacity / 2 + 4096;
        uint8_t *bases = realloc(haplotype->bases, more);
        haplotype->bases = bases ? bases : haplotype->bases;
        uint8_t *marks = bases ? realloc(haplotype->systematic, more) : NULL;
        haplotype->systematic = marks ? marks : haplotype->systematic;
        if (!marks) {
            return -ENOMEM;
        }
        haplotype->capacity = more;
    }
    haplotype->bases[haplotype->length] = code;
    haplotype->systematic[haplotype->length++] = systematic;
    return 0;
}

static int put_stratum(struct gn_donor *donor, uint32_t start, uint32_t end, const char *label) {
    if (grow(&donor->strata, &donor->stratum_capacity, donor->stratum_count + 1,
             sizeof *donor->strata) < 0) {
        return -ENOMEM;
    }
    donor->strata[donor->stratum_count++] = (struct gn_stratum){start, end, label};
    return 0;
}

/* --- variants -----------------------------------------------------------------------------------
 */
struct walk {
    struct gn_donor *donor;
    const struct gn_donor_options *options;
    struct gn_random random;
    uint32_t at, next_allowed; /* two variants never touch */
    double hot;
};

/* Length of the tandem repeat of this unit that starts here. */
static uint32_t tract(const struct gn_donor *donor, uint32_t start, uint32_t unit) {
    uint32_t end = start + unit;
    while (end < donor->length && donor->reference[end] == donor->reference[end - unit]) {
        end++;
    }
    return end - start;
}

/* The unit of a repeat that starts right behind this base, and how much more likely an indel is. */
static uint32_t find_repeat(const struct walk *walk, double *ret_rate) {
    const struct gn_donor *donor = walk->donor;
    const uint8_t *here = &donor->reference[walk->at];
    *ret_rate = 0;
    if (walk->at < 1 || walk->at + MARGIN >= donor->length || here[0] > 3 || here[0] == here[1]) {
        return 0;
    }
    for (uint32_t unit = 1; unit <= UNIT_MAX; unit++) {
        uint32_t length = tract(donor, walk->at + 1, unit), least = unit == 1 ? 6 : 3 * unit;
        if (length >= least) {
            double excess = (double)length / unit - (unit == 1 ? 6 : 3);
            *ret_rate = 1e-3 * fmin(20, pow(1.6, excess)) * (unit == 1 ? 1 : 2);
            return unit;
        }
    }
    return 0;
}

static int record(struct walk *walk, uint32_t reference_length, const uint8_t *alternative,
                  uint32_t alternative_length, uint8_t *ret_carried) {
    struct gn_donor *donor = walk->donor;
    double kind = gn_random_unit(&walk->random); /* thirds: both, the first, the second */
    ret_carried[0] = kind < 2.0 / 3;
    ret_carried[1] = kind < 1.0 / 3 || kind >= 2.0 / 3;
    if (grow(&donor->truths, &donor->truth_capacity, donor->truth_count + 1,
             sizeof *donor->truths) < 0 ||
        grow(&donor->alternatives, &donor->alternative_capacity,
             donor->alternative_count + alternative_length, 1) < 0) {
        return -ENOMEM;
    }
    donor->truths[donor->truth_count++] = (struct gn_truth){walk->at,
                                                            (uint16_t)reference_length,
                                                            (uint16_t)alternative_length,
                                                            donor->alternative_count,
                                                            {ret_carried[0], ret_carried[1]}};
    memcpy(donor->alternatives + donor->alternative_count, alternative, alternative_length);
    donor->alternative_count += alternative_length;
    walk->hot = gn_random_unit(&walk->random) < HOT_CHANCE ? HOT_RATE : walk->hot;
    return 0;
}

/* Writes the reference allele or the alternative to each haplotype and steps over it. */
static int carry(struct walk *walk, uint32_t reference_length, const uint8_t *alternative,
                 uint32_t alternative_length) {
    struct gn_donor *donor = walk->donor;
    uint8_t carried[2];
    int code = record(walk, reference_length, alternative, alternative_length, carried);
    for (int h = 0; h < 2; h++) {
        const uint8_t *from = carried[h] ? alternative : donor->reference + walk->at;
        uint32_t length = carried[h] ? alternative_length : reference_length;
        for (uint32_t i = 0; code == 0 && i < length; i++) {
            code = put_base(&donor->haplotypes[h], from[i], 0);
        }
    }
    walk->at += reference_length;
    walk->next_allowed = walk->at + 1;
    return code;
}

static int put_snp(struct walk *walk) {
    uint8_t reference = walk->donor->reference[walk->at], alternative;
    if (gn_random_unit(&walk->random) < 2.0 / 3) {
        alternative = reference ^ 2; /* A-G and C-T: transitions */
    } else {
        alternative = (uint8_t)((reference ^ 1) ^ (gn_random_next(&walk->random) & 2));
    }
    return carry(walk, 1, &alternative, 1);
}

static uint32_t draw_length(struct walk *walk, uint32_t *unit) {
    struct gn_random *random = &walk->random;
    uint32_t length = 1;
    if (*unit && gn_random_unit(random) < 0.9) {
        for (length = *unit; length + *unit <= INDEL_MAX && gn_random_unit(random) < 0.2;) {
            length += *unit;
        }
        return length;
    }
    *unit = 0;
    if (gn_random_unit(random) < 0.06) {
        double u = gn_random_unit(random);
        return 20 + (uint32_t)((INDEL_MAX - 20) * u * u);
    }
    while (length < 20 && gn_random_unit(random) < 0.55) {
        length++;
    }
    return length;
}

/* Returns 1 if a variant was put, 0 if it does not fit here. */
static int put_indel(struct walk *walk, uint32_t unit) {
    const struct gn_donor *donor = walk->donor;
    struct gn_random *random = &walk->random;
    const uint8_t *here = donor->reference + walk->at;
    bool deletion = gn_random_next(random) & 1;
    uint32_t length = draw_length(walk, &unit);
    for (uint32_t i = 0; i <= length; i++) {
        if (here[i] > 3) {
            return 0;
        }
    }
    if (deletion) {
        if (unit && tract(donor, walk->at + 1, unit) < length + unit) {
            return 0;
        }
        int code = carry(walk, length + 1, here, 1);
        return code ? code : 1;
    }
    uint8_t alternative[1 + INDEL_MAX + UNIT_MAX];
    bool copies = unit || gn_random_next(random) & 1; /* a duplication, else new sequence */
    alternative[0] = here[0];
    for (uint32_t i = 0; i < length; i++) {
        alternative[1 + i] =
            copies ? here[1 + i % (unit ? unit : length)] : (uint8_t)(gn_random_next(random) & 3);
    }
    int code = carry(walk, 1, alternative, length + 1);
    return code ? code : 1;
}

static int copy_base(struct walk *walk, uint8_t systematic) {
    struct gn_donor *donor = walk->donor;
    uint8_t base = donor->reference[walk->at];
    int code = put_base(&donor->haplotypes[0], base, systematic);
    code = code ? code : put_base(&donor->haplotypes[1], base, systematic);
    walk->at++;
    return code;
}

static int step(struct walk *walk) {
    struct gn_random *random = &walk->random;
    const struct gn_donor_options *options = walk->options;
    double repeat_rate = 0;
    walk->hot *= HOT_DECAY;
    uint32_t unit = find_repeat(walk, &repeat_rate);
    double snp = options->snp_rate + walk->hot;
    double indel = options->indel_rate * (1 + repeat_rate / 1e-4) + walk->hot * 0.15;
    uint8_t systematic = 0;
    if (gn_random_unit(random) < options->systematic_rate) {
        systematic = 1 + (gn_random_next(random) & 1);
        if (put_stratum(walk->donor, walk->at, walk->at + 1, "systematic") < 0) {
            return -ENOMEM;
        }
    }
    double draw = gn_random_unit(random);
    bool allowed = walk->at >= walk->next_allowed && walk->donor->reference[walk->at] < 4;
    if (allowed && draw < snp) {
        return put_snp(walk);
    }
    if (allowed && draw < snp + indel && walk->at + MARGIN < walk->donor->length) {
        int put = put_indel(walk, unit);
        if (put) {
            return put < 0 ? put : 0;
        }
    }
    return copy_base(walk, systematic);
}

/* A second copy that the reference lacks: its reads pile up on the first. */
static int add_paralog(struct walk *walk) {
    struct gn_donor *donor = walk->donor;
    struct gn_random *random = &walk->random;
    uint32_t length = PARALOG_MIN + (uint32_t)(gn_random_unit(random) * PARALOG_MORE);
    uint32_t start = (uint32_t)(gn_random_unit(random) * (donor->length - length));
    int code = put_stratum(donor, start, start + length, "paralog");
    for (uint32_t i = 0; code == 0 && i < SPACER + length; i++) {
        uint8_t base = i < SPACER ? 4 : donor->reference[start + i - SPACER];
        if (base < 4 && gn_random_unit(random) < PARALOG_CHANGE) {
            base = (uint8_t)((base + 1 + gn_random_next(random) % 3) & 3);
        }
        code = put_base(&donor->haplotypes[0], base, 0);
        code = code ? code : put_base(&donor->haplotypes[1], base, 0);
    }
    return code;
}

void gn_donor_options_default(struct gn_donor_options *ret_options) {
    *ret_options = (struct gn_donor_options){.seed = 1,
                                             .snp_rate = 1e-3,
                                             .indel_rate = 1e-4,
                                             .systematic_rate = 1e-4,
                                             .paralogs_per_megabase = 1};
}

int gn_donor_create(const uint8_t *reference, uint32_t length,
                    const struct gn_donor_options *options, gn_stop_function stop,
                    struct gn_donor **ret_donor) {
    struct gn_donor *donor = calloc(1, sizeof *donor);
    if (!donor) {
        return -ENOMEM;
    }
    donor->reference = reference;
    donor->length = length;
    struct walk walk = {.donor = donor,
                        .options = options,
                        .random = {options->seed * 0xD1B54A32D192ED03u + 1},
                        .next_allowed = 2};
    int code = 0;
    while (code == 0 && walk.at < length) {
        code = stop && stop() ? -EINTR : step(&walk);
    }
    donor->haplotypes[0].main_length = donor->haplotypes[0].length;
    donor->haplotypes[1].main_length = donor->haplotypes[1].length;
    double paralogs = floor(length * 1e-6 * options->paralogs_per_megabase);
    for (double i = 0; code == 0 && i < paralogs && length > PARALOG_MIN + PARALOG_MORE; i++) {
        code = add_paralog(&walk);
    }
    if (code < 0) {
        gn_donor_destroy(donor);
        return code;
    }
    *ret_donor = donor;
    return 0;
}

void gn_donor_destroy(struct gn_donor *donor) {
    if (!donor) {
        return;
    }
    for (int h = 0; h < 2; h++) {
        free(donor->haplotypes[h].bases);
        free(donor->haplotypes[h].systematic);
    }
    free(donor->truths);
    free(donor->alternatives);
    free(donor->strata);
    free(donor);
}
