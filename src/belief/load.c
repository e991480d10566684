/* SPDX-License-Identifier: Apache-2.0
 *
 * What others take of one shared resource: a level that stays for a while and then jumps, as the
 * load of other tenants does, where a random walk would be late after each jump and restless
 * between two.
 *
 * In: readings of the whole traffic with what is known of our own, or likelihoods (durations). Out:
 * the probability of each level now, the usual levels, how long one lasts. Invariants: exact
 * forward filter over a grid of levels, averaged over a few candidates for how long a level lasts
 * by how well each foretold what was seen; probabilities sum to 1; nothing is allocated.
 */
#include "belief/belief.h"
#include <math.h>
#include <string.h>

#define LEVELS       SY_LOAD_LEVELS
#define TIMES        SY_LOAD_TIMES
#define FIRST_TIME   4.0   /* steps that a level lasts under the first candidate ... */
#define TIME_RATIO   5.0   /* ... and so many times longer under each further one */
#define PRIOR_NONE   0.8   /* probability, before anything was seen, that others take nothing */
#define PRIOR_STEPS  50.0  /* steps of watching that this prior weighs */
#define USUAL_STEPS  20000 /* the usual levels are those of so many steps */
#define FORGET       0.999 /* per reading, of what spoke for a candidate */
#define OWN_RATIO    0.1   /* relative error of what we think to cause ourselves */
#define LEAST_WEIGHT 1e-4  /* of a candidate, so that it can come back */

static double level_of(uint32_t k) {
    return k / (LEVELS - 1.0);
}

void sy_load_init(struct sy_load *load, double capacity, double step_ns) {
    *load = (struct sy_load){.capacity = capacity, .step_ns = step_ns};
    for (uint32_t k = 0; k < LEVELS; k++) {
        load->usual[k] = (k ? 0 : PRIOR_NONE) + (1 - PRIOR_NONE) / LEVELS;
    }
    for (uint32_t i = 0; i < TIMES; i++) {
        load->time_ns[i] = step_ns * FIRST_TIME * pow(TIME_RATIO, i);
        load->weight[i] = 1.0 / TIMES;
        memcpy(load->share[i], load->usual, sizeof load->usual);
    }
}

static void mix(const struct sy_load *load, double *ret_share) {
    for (uint32_t k = 0; k < LEVELS; k++) {
        ret_share[k] = 0;
    }
    for (uint32_t i = 0; i < TIMES; i++) {
        for (uint32_t k = 0; k < LEVELS; k++) {
            ret_share[k] += load->weight[i] * load->share[i][k];
        }
    }
}

/* Time is counted when somebody wants to know: many short steps are one long one. */
static void settle(struct sy_load *load) {
    double elapsed = load->idle_ns, now[LEVELS];
    if (!(elapsed > 0)) {
        return;
    }
    double past = fmin(load->watched_ns, USUAL_STEPS * load->step_ns);
    double gain = elapsed / (past + elapsed + PRIOR_STEPS * load->step_ns);
    load->idle_ns = 0;
    mix(load, now);
    for (uint32_t k = 0; k < LEVELS; k++) {
        load->usual[k] += gain * (now[k] - load->usual[k]);
    }
    load->watched_ns += elapsed;
    if (elapsed != load->stays_ns) {
        load->stays_ns = elapsed;
        for (uint32_t i = 0; i < TIMES; i++) {
            load->stays[i] = exp(-elapsed / load->time_ns[i]);
        }
    }
    for (uint32_t i = 0; i < TIMES; i++) {
        double stays = load->stays[i];
        for (uint32_t k = 0; k < LEVELS; k++) {
            load->share[i][k] = stays * load->share[i][k] + (1 - stays) * load->usual[k];
        }
    }
}

void sy_load_now(struct sy_load *load, double *ret_share) {
    settle(load);
    mix(load, ret_share);
}

void sy_load_pass(struct sy_load *load, double elapsed_ns) {
    load->idle_ns += fmax(elapsed_ns, 0);
}

void sy_load_weigh(struct sy_load *load, const double *likelihood) {
    double sum = 0;
    settle(load);
    for (uint32_t i = 0; i < TIMES; i++) {
        double seen = 0;
        for (uint32_t k = 0; k < LEVELS; k++) {
            load->share[i][k] *= likelihood[k];
            seen += load->share[i][k];
        }
        if (!(seen > 0) || !isfinite(seen)) { /* nothing explains it: as if it were not seen */
            memcpy(load->share[i], load->usual, sizeof load->usual);
            continue;
        }
        for (uint32_t k = 0; k < LEVELS; k++) {
            load->share[i][k] /= seen;
        }
        load->weight[i] = sy_most(LEAST_WEIGHT, pow(load->weight[i], FORGET) * seen);
    }
    for (uint32_t i = 0; i < TIMES; i++) {
        sum += load->weight[i];
    }
    for (uint32_t i = 0; i < TIMES; i++) {
        load->weight[i] = sy_most(LEAST_WEIGHT, load->weight[i] / sum);
    }
}

void sy_load_own(struct sy_load *load, double own, double elapsed_ns) {
    for (uint32_t k = 0; k < LEVELS; k++) {
        load->whole[k] += sy_least(load->capacity, own + level_of(k) * load->capacity) * elapsed_ns;
    }
    load->own_sum += sy_least(own, load->capacity) * elapsed_ns;
    load->window_ns += elapsed_ns;
}

static void see(struct sy_load *load, double rate, double noise_ratio) {
    double likelihood[LEVELS], most = 0, window = load->window_ns;
    double grid = load->capacity / (LEVELS - 1) / 3;
    double guess = window > 0 ? OWN_RATIO * load->own_sum / window : 0;
    for (uint32_t k = 0; k < LEVELS; k++) {
        double whole = window > 0 ? load->whole[k] / window : level_of(k) * load->capacity;
        double noise = noise_ratio * whole;
        double variance = noise * noise + guess * guess + grid * grid;
        double off = (rate - whole) * (rate - whole) / variance;
        double tail = 1 + off / 4; /* Student-t with 4 degrees of freedom */
        likelihood[k] = 1 / (sqrt(variance * tail) * tail * tail);
        most = sy_most(most, likelihood[k]);
    }
    for (uint32_t k = 0; k < LEVELS; k++) {
        likelihood[k] /= most;
    }
    sy_load_weigh(load, likelihood);
}

void sy_load_see(struct sy_load *load, double rate, double noise_ratio) {
    if (rate >= 0 && isfinite(rate)) {
        see(load, rate, noise_ratio);
    }
    memset(load->whole, 0, sizeof load->whole);
    load->own_sum = load->window_ns = 0;
}

double sy_load_lasting(const struct sy_load *load, double ahead_ns) {
    double sum = 0, all = 0;
    for (uint32_t i = 0; i < TIMES; i++) {
        double x = ahead_ns / load->time_ns[i];
        sum += load->weight[i] * (x > 1e-6 ? -expm1(-x) / x : 1);
        all += load->weight[i];
    }
    return sum / all;
}

void sy_load_mean(struct sy_load *load, double own, double *ret_others, double *ret_whole,
                  double *ret_sd) {
    double now[LEVELS], others = 0, whole = 0, square = 0;
    sy_load_now(load, now);
    double all = 0;
    for (uint32_t k = 0; k < LEVELS; k++) {
        double level = level_of(k) * load->capacity, use = sy_least(load->capacity, own + level);
        all += now[k];
        others += now[k] * level;
        whole += now[k] * use;
        square += now[k] * use * use;
    }
    *ret_others = others / all;
    *ret_whole = whole / all;
    *ret_sd = sqrt(sy_most(0, square / all - whole / all * (whole / all)));
}
