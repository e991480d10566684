/* SPDX-License-Identifier: Apache-2.0
 *
 * A forward filter over levels that jump; see levels.h.
 *
 * The generic filter (filter.c) follows a random walk of the logarithm: right for rates of events
 * inside one program, late after each jump and restless between two here. docs/design/008 has the
 * figures.
 */
#include "belief/levels.h"
#include "base/dispatch.h"
#include <math.h>
#include <string.h>

#define ROW          SY_LEVELS_ROW
#define TIMES        SY_LEVEL_TIMES
#define FIRST_TIME   4.0    /* steps that a level lasts under the first candidate ... */
#define TIME_RATIO   5.0    /* ... and this many times longer under each further one */
#define PRIOR_NONE   0.8f   /* probability, before anything was seen, that others take nothing */
#define PRIOR_STEPS  50.0   /* steps of watching that this prior weighs */
#define USUAL_STEPS  20000  /* the usual levels are averages over this many steps */
#define FORGET       0.999f /* per reading, of what spoke for a candidate */
#define LEAST_WEIGHT 9.2f   /* of a candidate, -log: it can come back */

#define LEVEL(k)  ((float)(k) / (SY_LEVELS - 1))
#define LEVELS(k) LEVEL(k), LEVEL(k + 1), LEVEL(k + 2), LEVEL(k + 3)
static const float grid[ROW] = {LEVELS(0),  LEVELS(4),  LEVELS(8),
                                LEVELS(12), LEVELS(16), LEVELS(20)};

void sy_levels_init(struct sy_levels *l, double step_ns) {
    *l = (struct sy_levels){.step_ns = step_ns};
    for (uint32_t k = 0; k < SY_LEVELS; k++) {
        l->usual[k] = (k ? 0 : PRIOR_NONE) + (1 - PRIOR_NONE) / SY_LEVELS;
    }
    for (uint32_t i = 0; i < TIMES; i++) {
        l->time_ns[i] = step_ns * FIRST_TIME * pow(TIME_RATIO, i);
        l->weight[i] = 1.0f / TIMES;
        memcpy(l->share[i], l->usual, sizeof l->usual);
    }
}

SY_INLINE void mix(const struct sy_levels *l, float *ret) {
    for (uint32_t k = 0; k < ROW; k += 8) {
        sy_eight sum = l->weight[0] * *(const sy_eight *)(l->share[0] + k);
        for (uint32_t i = 1; i < TIMES; i++) {
            sum += l->weight[i] * *(const sy_eight *)(l->share[i] + k);
        }
        *(sy_eight *)(ret + k) = sum;
    }
}

/* Time is counted when somebody wants to know: many short steps are one long one. */
SY_INLINE void settle(struct sy_levels *l) {
    double elapsed = l->idle_ns;
    float now[ROW];
    if (!(elapsed > 0)) {
        return;
    }
    double past = sy_least(l->watched_ns, USUAL_STEPS * l->step_ns);
    float gain = (float)(elapsed / (past + elapsed + PRIOR_STEPS * l->step_ns));
    l->idle_ns = 0;
    l->watched_ns += elapsed;
    if (elapsed != l->stays_ns) {
        l->stays_ns = elapsed;
        for (uint32_t i = 0; i < TIMES; i++) {
            l->stays[i] = (float)exp(-elapsed / l->time_ns[i]);
        }
    }
    mix(l, now);
    for (uint32_t k = 0; k < ROW; k += 8) {
        sy_eight usual = *(sy_eight *)(l->usual + k);
        usual += gain * (*(sy_eight *)(now + k) - usual);
        *(sy_eight *)(l->usual + k) = usual;
        for (uint32_t i = 0; i < TIMES; i++) {
            sy_eight *share = (sy_eight *)(l->share[i] + k);
            *share = l->stays[i] * *share + (1 - l->stays[i]) * usual;
        }
    }
}

SY_INLINE void sy_levels_now_body(struct sy_levels *l, float *ret_share) {
    settle(l);
    mix(l, ret_share);
}
SY_DISPATCH(void, sy_levels_now, (struct sy_levels * l, float *ret_share), (l, ret_share))

SY_INLINE void sy_levels_moments_body(const float *share, double *ret_mean, double *ret_square) {
    sy_eight mean = {0}, square = {0};
    for (uint32_t k = 0; k < ROW; k += 8) {
        sy_eight first = *(const sy_eight *)(share + k) * *(const sy_eight *)(grid + k);
        mean += first;
        square += first * *(const sy_eight *)(grid + k);
    }
    *ret_mean = (double)sy_lanes_sum(&mean);
    *ret_square = (double)sy_lanes_sum(&square);
}
SY_DISPATCH(void, sy_levels_moments, (const float *share, double *ret_mean, double *ret_square),
            (share, ret_mean, ret_square))

void sy_levels_pass(struct sy_levels *l, double elapsed_ns) {
    l->idle_ns += sy_most(elapsed_ns, 0);
}

SY_INLINE void sy_levels_weigh_body(struct sy_levels *l, const float *likelihood) {
    float most = -INFINITY, sum = 0;
    settle(l);
    for (uint32_t i = 0; i < TIMES; i++) {
        float *share = l->share[i];
        for (uint32_t k = 0; k < ROW; k++) {
            share[k] *= likelihood[k];
        }
        float seen = sy_levels_sum(share);
        if (!(seen > 0) || !isfinite(seen)) { /* nothing explains it: as if it were not seen */
            memcpy(share, l->usual, sizeof l->usual);
            seen = 1;
        }
        float scale = 1 / seen;
        for (uint32_t k = 0; k < ROW; k++) {
            share[k] *= scale;
        }
        l->log_weight[i] = FORGET * l->log_weight[i] + logf(seen);
        most = l->log_weight[i] > most ? l->log_weight[i] : most;
    }
    for (uint32_t i = 0; i < TIMES; i++) {
        float below = l->log_weight[i] - most;
        l->log_weight[i] = below > -LEAST_WEIGHT ? below : -LEAST_WEIGHT;
        l->weight[i] = expf(l->log_weight[i]);
        sum += l->weight[i];
    }
    for (uint32_t i = 0; i < TIMES; i++) {
        l->weight[i] /= sum;
    }
}
SY_DISPATCH(void, sy_levels_weigh, (struct sy_levels * l, const float *likelihood), (l, likelihood))

void sy_levels_own(struct sy_levels *l, double own, double elapsed_ns) {
    float part = (float)own, elapsed = (float)(elapsed_ns / l->step_ns);
    for (uint32_t k = 0; k < ROW; k++) {
        float use = part + sy_level(k);
        l->whole[k] += (use < 1 ? use : 1) * elapsed;
    }
    l->own_sum += sy_least(own, 1) * elapsed_ns;
    l->window_ns += elapsed_ns;
}

void sy_levels_open(struct sy_levels *l) {
    if (l->window_ns > 0) {
        memset(l->whole, 0, sizeof l->whole);
        l->own_sum = l->window_ns = 0;
    }
}

void sy_levels_window(const struct sy_levels *l, double moved, float *ret_whole, double *ret_own) {
    bool known = l->window_ns > 0;
    float scale = known ? (float)(l->step_ns / l->window_ns) : 0, more = (float)moved;
    for (uint32_t k = 0; k < ROW; k++) {
        float use = (known ? l->whole[k] * scale : sy_level(k)) + more;
        ret_whole[k] = use < 1 ? use : 1;
    }
    *ret_own = sy_least(1, (known ? l->own_sum / l->window_ns : 0) + moved);
}

double sy_levels_lasting(const struct sy_levels *l, double ahead_ns) {
    double sum = 0;
    for (uint32_t i = 0; i < TIMES; i++) {
        double x = ahead_ns / l->time_ns[i];
        sum += (double)l->weight[i] * (x > 1e-6 ? -expm1(-x) / x : 1);
    }
    return sum;
}
