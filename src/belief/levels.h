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
 * A grid changes when something is seen. In between it only fades towards the usual levels, in
 * closed form: whoever wants mean and spread has them from the outlook, for eight resources at a
 * time, and the grids stay as they are.
 */
#ifndef SY_BELIEF_LEVELS_H
#define SY_BELIEF_LEVELS_H

#include "base/eight.h"

#define SY_LEVELS      21 /* level k is k / (SY_LEVELS - 1) of the capacity */
#define SY_LEVELS_ROW  24
#define SY_LEVEL_TIMES 5

/* Of eight resources, one a lane: what their levels were when something was last seen. */
struct sy_outlook {
    float weight[SY_LEVEL_TIMES][8];
    float mean[SY_LEVEL_TIMES][8], square[SY_LEVEL_TIMES][8]; /* of the level, by candidate */
    float usual_mean[8], usual_square[8], mixed_mean[8], mixed_square[8];
    double seen_ns[8];
    double step_ns;
};

struct sy_levels {
    float share[SY_LEVEL_TIMES][SY_LEVELS_ROW]; /* of each level when last seen; times scale */
    float usual[SY_LEVELS_ROW];                 /* probability on average */
    float whole[SY_LEVELS_ROW]; /* window so far: use that each level would make * time */
    float scale[8];             /* of each candidate for how long a level lasts */
    float weight[8], log_weight[8];
    double step_ns, seen_ns;    /* something was last seen */
    double own_sum, window_ns;  /* window so far */
    struct sy_outlook *outlook; /* borrowed; its lane */
    uint32_t lane;
};

/* Nothing was seen, and it is 0 ns. step_ns: about the time between two observations. */
void sy_levels_init(struct sy_levels *levels, double step_ns, struct sy_outlook *outlook,
                    uint32_t lane);
/* Something was seen that is so likely if others take each level; a row. Not before what was seen
 * last. */
void sy_levels_weigh(struct sy_levels *levels, double now_ns, const float *likelihood);
/* For this part of the window we took own of it. */
void sy_levels_own(struct sy_levels *levels, double own, double elapsed_ns);
/* A new window begins. */
void sy_levels_open(struct sy_levels *levels);
/* The mean use that each level would have made in this window, and our part of it. moved: what we
 * took besides, over the whole window. */
void sy_levels_window(const struct sy_levels *levels, double moved, float *ret_whole,
                      double *ret_own);
/* Probabilities at a time, a row with sum 1; as they were last seen, if that was later. */
void sy_levels_at(const struct sy_levels *levels, double now_ns, float *ret_share);
/* The same of all resources of outlooks: means and spreads of the level, eight by eight. */
void sy_levels_predict(const struct sy_outlook *outlooks, uint32_t count, double now_ns,
                       float *ret_mean, float *ret_sd);
/* Share of the time ahead in which the level will be the present one. */
double sy_levels_lasting(const struct sy_levels *levels, double ahead_ns);

static inline float sy_level(uint32_t k) {
    return (float)k / (SY_LEVELS - 1);
}

#endif
