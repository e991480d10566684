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
    double ratio_log, ratio_variance, start_log, start_variance; /* variance 0: it is certain */
    float noise_log[SY_NOISES];
    double noise; /* from them */
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
    struct sy_levels *levels; /* per resource, as the next */
    struct sy_sensed *sensed;
    double *others;       /* what the draws meet */
    double *moved;        /* bytes, in the resource's window */
    double *mark;         /* others when they last changed */
    double *drawn_ns;     /* for which our own part is not counted yet */
    double *worth;        /* while choosing: what a reading would tell */
    double *tells;        /* and one by this witness; negative: it is chosen */
    uint32_t *counting;   /* witnesses of it that count now */
    uint32_t *spoken;     /* first witness of it; SY_NONE */
    uint32_t *witness_of; /* per counter; SY_NONE */
    struct sy_witness *witnesses;
    uint32_t witness_count, turn;
    bool all_limited;                         /* each of the witnesses needs a slot of a PMU */
    double kind_use[SY_RES_INTERCONNECT + 1]; /* that we make of such resources, on average */
    uint32_t *members;                        /* counters, by witness */
    uint32_t *pmu_used;
    struct sy_shares *shares;
    struct sy_offset *offsets; /* [kernel * class_count + class] */
    double now_ns;
};

/* senses_witness.c: lists the witnesses. False: out of memory. */
bool sy_witness_list(struct sy_senses *senses, struct sy_arena *arena);
/* senses_read.c: starts one, and takes what was seen of all that speak of a resource. */
void sy_witness_reset(struct sy_witness *witness);
void sy_witness_see(struct sy_senses *senses, uint32_t resource);
/* senses.c: the belief about a resource, from its levels. */
void sy_senses_refresh(struct sy_senses *senses, uint32_t resource);

#endif
