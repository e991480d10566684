/* SPDX-License-Identifier: Apache-2.0
 *
 * levels: what others take of one resource, as a level that stays for a while and then jumps;
 * private to belief.
 *
 * In: time, what we take ourselves, how likely something seen is under each level. Out: the
 * probability of each level. All amounts are shares of the resource's capacity. Invariants: exact
 * forward filter over a grid of levels, averaged over a few candidates for how long a level lasts
 * by how well each predicted what was seen; nothing is allocated. Floats, and rows that are a
 * multiple of eight long: a compiler turns every loop over levels into a few vector instructions.
 */
#ifndef SY_BELIEF_LEVELS_H
#define SY_BELIEF_LEVELS_H

#include "base/base.h"

#define SY_LEVELS      21 /* level k is k / (SY_LEVELS - 1) of the capacity */
#define SY_LEVELS_ROW  24
#define SY_LEVEL_TIMES 5

struct sy_levels {
    float share[SY_LEVEL_TIMES][SY_LEVELS_ROW]; /* probability of each level now */
    float usual[SY_LEVELS_ROW];                 /* and on average */
    float whole[SY_LEVELS_ROW]; /* window so far: use that each level would make * time */
    float weight[SY_LEVEL_TIMES], log_weight[SY_LEVEL_TIMES], stays[SY_LEVEL_TIMES];
    double time_ns[SY_LEVEL_TIMES]; /* candidates for how long a level lasts */
    double step_ns, watched_ns;
    double idle_ns, stays_ns;  /* time not yet counted; of one such step */
    double own_sum, window_ns; /* window so far */
};

/* step_ns: about the time between two observations. */
void sy_levels_init(struct sy_levels *levels, double step_ns);
void sy_levels_pass(struct sy_levels *levels, double elapsed_ns);
/* Something was seen that is so likely if others take each level; a row. */
void sy_levels_weigh(struct sy_levels *levels, const float *likelihood);
/* For this part of the window we took own of it. */
void sy_levels_own(struct sy_levels *levels, double own, double elapsed_ns);
/* A new window begins. */
void sy_levels_open(struct sy_levels *levels);
/* The mean use that each level would have made in this window, and our part of it. moved: what we
 * took besides, over the whole window. */
void sy_levels_window(const struct sy_levels *levels, double moved, float *ret_whole,
                      double *ret_own);
/* Probabilities now, a row with sum 1. */
void sy_levels_now(struct sy_levels *levels, float *ret_share);
/* Mean and mean square of the level, of such a row. */
void sy_levels_moments(const float *share, double *ret_mean, double *ret_square);
/* Share of the time ahead in which the level will be the present one. */
double sy_levels_lasting(const struct sy_levels *levels, double ahead_ns);

static inline float sy_level(uint32_t k) {
    return (float)k / (SY_LEVELS - 1);
}

/* Eight of a row. */
typedef float sy_eight __attribute__((vector_size(32), aligned(4), may_alias));

static inline float sy_lanes_sum(const sy_eight *lanes) {
    float sum = 0;
    for (uint32_t i = 0; i < 8; i++) {
        sum += (*lanes)[i];
    }
    return sum;
}

static inline float sy_levels_sum(const float *row) {
    sy_eight lanes = *(const sy_eight *)row + *(const sy_eight *)(row + 8);
    lanes += *(const sy_eight *)(row + 16);
    return sy_lanes_sum(&lanes);
}

#endif
