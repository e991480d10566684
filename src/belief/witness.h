/* SPDX-License-Identifier: Apache-2.0
 *
 * witness: a counter, or several that add up, that speaks of the traffic of one resource; and the
 * state of struct sy_senses. Private to belief.
 */
#ifndef SY_BELIEF_WITNESS_H
#define SY_BELIEF_WITNESS_H

#include "belief/levels.h"
#include "belief/senses.h"
#include "belief/shares.h"

#define SY_NOISES 6 /* candidates for the relative error of a reading */

struct sy_witness {
    uint32_t resource;
    uint32_t first, count; /* its counters, that add up: of senses->members */
    uint32_t twin;         /* their ratios add up to 1; SY_NONE: it has none */
    uint32_t next;         /* that speaks of the same resource; SY_NONE */
    double scale;          /* from its counters' unit to shares of the capacity */
    double ratio, start_ratio;
    double ratio_variance, start_variance; /* of the ratio's logarithm; 0: it is certain */
    float noise_log[8];                    /* of the candidates; lanes beyond are not used */
    double noise;                          /* from them */
    uint32_t reading_count;
    /* of the samples at hand */
    double sum, variance;
    uint32_t seen;
};

/* How far off the cost model is, of a kernel on a class: a location of the logarithm. */
struct sy_offset {
    double mean, count;
};

struct sy_senses {
    struct sy_senses_options options;
    const struct sy_machine *machine;
    struct sy_levels *levels;    /* per resource, as the next */
    struct sy_outlook *outlooks; /* of eight resources each */
    float *mean, *sd;            /* what others take, when last read, over the capacity */
    double *others, *capacity;   /* mean and capacity in bytes per second */
    float *mark;                 /* mean when others last changed */
    double *own;                 /* what we take */
    double *own_from_ns;         /* since when; our part is counted until then */
    double *moved;               /* bytes, in the resource's window */
    double *seen_ns, *changed_ns;
    uint32_t *counts;     /* the choice in which a witness of it was last chosen */
    uint32_t *spoken;     /* first witness of it; SY_NONE */
    uint32_t *witness_of; /* per counter; SY_NONE */
    struct sy_witness *witnesses;
    uint32_t *about; /* per witness: its resource */
    float *sure;     /* per witness: the part of a reading that is not its ratio's doubt */
    float *worth;    /* while choosing, per resource: what a reading would tell */
    float *tells;    /* and per witness; negative: nothing */
    uint32_t witness_count, turn, choice;
    bool all_limited;                         /* each of the witnesses needs a slot of a PMU */
    double kind_use[SY_RES_INTERCONNECT + 1]; /* that we make of such resources, on average */
    uint32_t *members;                        /* counters, by witness */
    uint32_t *pmu_used;
    struct sy_shares *shares;
    struct sy_offset *offsets;         /* [kernel * class_count + class] */
    double now_ns, read_ns, window_ns; /* now; counters were last read, and chosen */
};

/* senses_witness.c: lists the witnesses. False: out of memory. */
bool sy_witness_list(struct sy_senses *senses, struct sy_arena *arena);
/* senses_read.c: starts one, and takes what was seen of all that speak of a resource. */
void sy_witness_reset(struct sy_senses *senses, uint32_t witness);
void sy_witness_see(struct sy_senses *senses, uint32_t resource);

#endif
