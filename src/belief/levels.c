/* SPDX-License-Identifier: Apache-2.0
 *
 * A forward filter over levels that jump; see levels.h.
 *
 * The generic filter (filter.c) follows a random walk of the logarithm: right for rates of events
 * inside one program, late after each jump and restless between two here. docs/design/008 has the
 * figures.
 */
#include "belief/levels.h"
#include <math.h>
#include <string.h>

#define ROW          SY_LEVELS_ROW
#define TIMES        SY_LEVEL_TIMES
#define PRIOR_NONE   0.8f   /* probability, before anything was seen, that others take nothing */
#define PRIOR_STEPS  50.0f  /* steps of watching that this prior weighs */
#define USUAL_STEPS  2e4f   /* the usual levels are averages over this many steps */
#define FORGET       0.999f /* per reading, of what spoke for a candidate */
#define LEAST_WEIGHT 9.2f   /* of a candidate, -log: it can come back */

/* Candidates for how long a level lasts: 4 steps, and five times longer each. */
static const float steps[8] = {4, 20, 100, 500, 2500, INFINITY, INFINITY, INFINITY};
static const float is_candidate[8] = {1, 1, 1, 1, 1, 0, 0, 0};

#define LEVEL(k)  ((float)(k) / (SY_LEVELS - 1))
#define LEVELS(k) LEVEL(k), LEVEL(k + 1), LEVEL(k + 2), LEVEL(k + 3)
static const float grid[ROW] = {LEVELS(0),  LEVELS(4),  LEVELS(8),
                                LEVELS(12), LEVELS(16), LEVELS(20)};

void sy_levels_init(struct sy_levels *l, double step_ns, struct sy_outlook *outlook,
                    uint32_t lane) {
    float anything[ROW];
    *l = (struct sy_levels){.step_ns = step_ns, .outlook = outlook, .lane = lane};
    outlook->step_ns = step_ns;
    for (uint32_t k = 0; k < SY_LEVELS; k++) {
        l->usual[k] = (k ? 0 : PRIOR_NONE) + (1 - PRIOR_NONE) / SY_LEVELS;
    }
    for (uint32_t i = 0; i < TIMES; i++) {
        l->scale[i] = 1;
        memcpy(l->share[i], l->usual, sizeof l->usual);
    }
    for (uint32_t k = 0; k < ROW; k++) {
        anything[k] = 1;
    }
    sy_levels_weigh(l, 0, anything);
}

/* --- time that passes ---------------------------------------------------------------------------
 * A level stays with exp(-elapsed / time), else it is drawn from the usual ones; these move towards
 * what was believed. */
/* The part of the way that the usual levels have gone. */
SY_INLINE float moved(double seen_ns, double elapsed_ns, double step_ns) {
    float past = (float)(seen_ns / step_ns), elapsed = (float)(elapsed_ns / step_ns);
    past = past < USUAL_STEPS ? past : USUAL_STEPS;
    return elapsed / (past + elapsed + PRIOR_STEPS);
}

SY_INLINE void stays(double elapsed_steps, sy_eight *ret) {
    *ret = -(float)elapsed_steps / *(const sy_eight *)steps;
    sy_eight_exp(ret);
}

/* sum(part[i] * share[i]) + rest * usual */
SY_INLINE void mix(const struct sy_levels *l, const float *part, float rest, float *ret) {
    for (uint32_t k = 0; k < ROW; k += 8) {
        sy_eight sum = rest * *(const sy_eight *)(l->usual + k);
        for (uint32_t i = 0; i < TIMES; i++) {
            sum += part[i] * *(const sy_eight *)(l->share[i] + k);
        }
        *(sy_eight *)(ret + k) = sum;
    }
}

SY_INLINE void sy_levels_at_body(const struct sy_levels *l, double now_ns, float *ret_share) {
    double elapsed = sy_most(0, now_ns - l->seen_ns);
    float gain = moved(l->seen_ns, elapsed, l->step_ns);
    sy_eight weight = *(const sy_eight *)l->weight, part;
    stays(elapsed / l->step_ns, &part);
    part *= weight;
    float left = 1 - sy_eight_sum(&part);
    part = (part + left * gain * weight) * *(const sy_eight *)l->scale;
    mix(l, (const float *)&part, left * (1 - gain), ret_share);
}
SY_DISPATCH(void, sy_levels_at, (const struct sy_levels *l, double now_ns, float *ret_share),
            (l, now_ns, ret_share))

/* What is left of what was seen, and the usual levels. */
SY_INLINE void settle(struct sy_levels *l, double now_ns) {
    double elapsed = sy_most(0, now_ns - l->seen_ns);
    float gain = moved(l->seen_ns, elapsed, l->step_ns);
    sy_eight part = *(const sy_eight *)l->weight * *(const sy_eight *)l->scale * gain, stay;
    stays(elapsed / l->step_ns, &stay);
    sy_eight back = 1 - stay;
    stay *= *(const sy_eight *)l->scale;
    l->seen_ns += elapsed;
    mix(l, (const float *)&part, 1 - gain, l->usual);
    for (uint32_t i = 0; i < TIMES; i++) {
        for (uint32_t k = 0; k < ROW; k += 8) {
            sy_eight *share = (sy_eight *)(l->share[i] + k);
            *share = stay[i] * *share + back[i] * *(const sy_eight *)(l->usual + k);
        }
    }
}

/* What settle() and mix() would make of the moments, which are sums over levels, too. */
SY_INLINE void predict(const struct sy_outlook *o, double now_ns, float *ret_mean, float *ret_sd) {
    double per_step = 1 / o->step_ns;
    sy_eight kept = {0}, mean = {0}, square = {0}, none = {0}, past, elapsed,
             most = (sy_eight){0} + USUAL_STEPS;
    for (uint32_t i = 0; i < 8; i++) {
        past[i] = (float)(o->seen_ns[i] * per_step);
        elapsed[i] = (float)((now_ns - o->seen_ns[i]) * per_step);
    }
    sy_eight_most(&elapsed, &none);
    sy_eight_least(&past, &most);
    for (uint32_t i = 0; i < TIMES; i++) {
        sy_eight part = elapsed * (-1 / steps[i]);
        sy_eight_exp(&part);
        part *= *(const sy_eight *)o->weight[i];
        kept += part;
        mean += part * *(const sy_eight *)o->mean[i];
        square += part * *(const sy_eight *)o->square[i];
    }
    sy_eight gain = elapsed / (past + elapsed + PRIOR_STEPS);
    const sy_eight *usual = (const sy_eight *)o->usual_mean;
    mean += (1 - kept) * (*usual + gain * (*(const sy_eight *)o->mixed_mean - *usual));
    usual = (const sy_eight *)o->usual_square;
    square += (1 - kept) * (*usual + gain * (*(const sy_eight *)o->mixed_square - *usual));
    sy_eight variance = square - mean * mean;
    sy_eight_most(&variance, &none);
    sy_eight_sqrt(&variance);
    *(sy_eight *)ret_mean = mean;
    *(sy_eight *)ret_sd = variance;
}

SY_INLINE void sy_levels_predict_body(const struct sy_outlook *outlooks, uint32_t count,
                                      double now_ns, float *ret_mean, float *ret_sd) {
    for (uint32_t i = 0; i < count; i++) {
        predict(&outlooks[i], now_ns, ret_mean + (size_t)8 * i, ret_sd + (size_t)8 * i);
    }
}
SY_DISPATCH(void, sy_levels_predict,
            (const struct sy_outlook *outlooks, uint32_t count, double now_ns, float *ret_mean,
             float *ret_sd),
            (outlooks, count, now_ns, ret_mean, ret_sd))

/* --- something is seen --------------------------------------------------------------------------
 */
/* By row, a candidate or else the usual levels: sum, and sums of the level and of its square. */
struct sums {
    sy_eight all, first, second;
};

SY_INLINE void sum_row(const float *row, sy_eight *all, sy_eight *first, sy_eight *second) {
    for (uint32_t k = 0; k < ROW; k += 8) {
        sy_eight part = *(const sy_eight *)(row + k);
        *all += part;
        part *= *(const sy_eight *)(grid + k);
        *first += part;
        *second += part * *(const sy_eight *)(grid + k);
    }
}

SY_INLINE void sum_up(struct sy_levels *l, const float *likelihood, struct sums *ret) {
    sy_eight all[8] = {0}, first[8] = {0}, second[8] = {0};
    for (uint32_t i = 0; i < TIMES; i++) {
        for (uint32_t k = 0; k < ROW; k += 8) {
            *(sy_eight *)(l->share[i] + k) *= *(const sy_eight *)(likelihood + k);
        }
        sum_row(l->share[i], &all[i], &first[i], &second[i]);
    }
    sum_row(l->usual, &all[TIMES], &first[TIMES], &second[TIMES]);
    for (uint32_t i = TIMES; i < 8; i++) { /* the lanes that are no candidates divide nothing */
        all[i] = (sy_eight){1};
    }
    sy_eight_sums(all, &ret->all);
    sy_eight_sums(first, &ret->first);
    sy_eight_sums(second, &ret->second);
}

/* Where nothing explains what was seen: as if it were not seen. */
SY_INLINE void mend(struct sy_levels *l, struct sums *sums) {
    for (uint32_t i = 0; i < TIMES; i++) {
        float seen = sums->all[i];
        if (!(seen > 1e-37f) || !isfinite(seen)) { /* the logarithm is of normal numbers */
            memcpy(l->share[i], l->usual, sizeof l->usual);
            sums->all[i] = 1;
            sums->first[i] = sums->first[TIMES];
            sums->second[i] = sums->second[TIMES];
        }
    }
}

/* How well each candidate has predicted this. */
SY_INLINE void compare(struct sy_levels *l, const sy_eight *seen) {
    sy_eight speaks = *seen, weight, least = (sy_eight){0} - LEAST_WEIGHT;
    sy_eight_log(&speaks);
    speaks += FORGET * *(const sy_eight *)l->log_weight;
    sy_eight top =
        __builtin_shufflevector(speaks, speaks, 0, 1, 2, 3, 4, 0, 0, 0); /* of the five */
    sy_eight_top(&top);
    speaks = (speaks - top) * *(const sy_eight *)is_candidate;
    sy_eight_most(&speaks, &least);
    *(sy_eight *)l->log_weight = weight = speaks;
    sy_eight_exp(&weight);
    weight *= *(const sy_eight *)is_candidate;
    *(sy_eight *)l->weight = weight * (1 / sy_eight_sum(&weight));
}

SY_INLINE void tell(const struct sy_levels *l, const struct sums *sums) {
    struct sy_outlook *o = l->outlook;
    uint32_t lane = l->lane;
    sy_eight mean = *(const sy_eight *)l->weight * sums->first,
             square = *(const sy_eight *)l->weight * sums->second;
    for (uint32_t i = 0; i < TIMES; i++) {
        o->weight[i][lane] = l->weight[i];
        o->mean[i][lane] = sums->first[i];
        o->square[i][lane] = sums->second[i];
    }
    o->usual_mean[lane] = sums->first[TIMES];
    o->usual_square[lane] = sums->second[TIMES];
    o->mixed_mean[lane] = sy_eight_sum(&mean);
    o->mixed_square[lane] = sy_eight_sum(&square);
    o->seen_ns[lane] = l->seen_ns;
}

SY_INLINE void sy_levels_weigh_body(struct sy_levels *l, double now_ns, const float *likelihood) {
    struct sums sums;
    settle(l, now_ns);
    sum_up(l, likelihood, &sums);
    mend(l, &sums);
    sy_eight scale = 1 / sums.all;
    *(sy_eight *)l->scale = scale;
    compare(l, &sums.all);
    sums.first *= scale;
    sums.second *= scale;
    tell(l, &sums);
}
SY_DISPATCH(void, sy_levels_weigh, (struct sy_levels * l, double now_ns, const float *likelihood),
            (l, now_ns, likelihood))

/* --- what we take ourselves ---------------------------------------------------------------------
 */
SY_INLINE void sy_levels_own_body(struct sy_levels *l, double own, double elapsed_ns) {
    float part = (float)own, elapsed = (float)(elapsed_ns / l->step_ns);
    sy_eight full = (sy_eight){0} + 1;
    for (uint32_t k = 0; k < ROW; k += 8) {
        sy_eight use = part + *(const sy_eight *)(grid + k);
        sy_eight_least(&use, &full);
        *(sy_eight *)(l->whole + k) += use * elapsed;
    }
    l->own_sum += sy_least(own, 1) * elapsed_ns;
    l->window_ns += elapsed_ns;
}
SY_DISPATCH(void, sy_levels_own, (struct sy_levels * l, double own, double elapsed_ns),
            (l, own, elapsed_ns))

void sy_levels_open(struct sy_levels *l) {
    if (l->window_ns > 0) {
        memset(l->whole, 0, sizeof l->whole);
        l->own_sum = l->window_ns = 0;
    }
}

SY_INLINE void sy_levels_window_body(const struct sy_levels *l, double more, float *ret_whole,
                                     double *ret_own) {
    bool known = l->window_ns > 0;
    const float *from = known ? l->whole : grid;
    float scale = known ? (float)(l->step_ns / l->window_ns) : 1;
    sy_eight full = (sy_eight){0} + 1;
    for (uint32_t k = 0; k < ROW; k += 8) {
        sy_eight use = *(const sy_eight *)(from + k) * scale + (float)more;
        sy_eight_least(&use, &full);
        *(sy_eight *)(ret_whole + k) = use;
    }
    *ret_own = sy_least(1, (known ? l->own_sum / l->window_ns : 0) + more);
}
SY_DISPATCH(void, sy_levels_window,
            (const struct sy_levels *l, double more, float *ret_whole, double *ret_own),
            (l, more, ret_whole, ret_own))

double sy_levels_lasting(const struct sy_levels *l, double ahead_ns) {
    double sum = 0, ahead = ahead_ns / l->step_ns;
    for (uint32_t i = 0; i < TIMES; i++) {
        double x = ahead / (double)steps[i];
        sum += (double)l->weight[i] * (x > 1e-6 ? -expm1(-x) / x : 1);
    }
    return sum;
}
