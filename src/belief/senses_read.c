/* SPDX-License-Identifier: Apache-2.0
 *
 * What readings say: of the level of a resource, and of the counters themselves.
 *
 * A reading is level times ratio times error. The error is Student's t in the linear domain, plus a
 * small chance of anything at all, so that the grid keeps both explanations of a wild reading, a
 * jump or an error, without a test. How large errors are is weighed over a few candidates. The
 * ratio is followed by a scalar filter of its logarithm, once the level is known better than it.
 */
#include "belief/witness.h"
#include <math.h>

#define ROW          SY_LEVELS_ROW
#define GROSS        0.006f /* chance that a reading is an error of any size, over its scale */
#define BASE         0.005f /* traffic that is always there */
#define GRID         ((1.0f / (SY_LEVELS - 1)) / 3)
#define OWN_RATIO    0.1 /* relative error of what we think to take ourselves */
#define NOISE_EVERY  5   /* readings: weighing the candidates costs more than a reading */
#define NOISE_FORGET 0.99f
#define NOISE_SD     0.5  /* of the logarithm, around what the source says */
#define RATIO_DRIFT  9e-4 /* variance a reading */
#define RATIO_JUMP   0.04 /* and when the level jumps: another tenant, another mix */
#define JUMPED       0.3  /* of the probability moved */
#define KNOWN_USE    0.04 /* below it, a reading says nothing of its ratio */
#define MULTIPLEXED  0.2  /* relative error of a value scaled up from nearly nothing */
#define SUM_SD       0.03 /* of two ratios that add up to 1 */

static const float noises[SY_NOISES] = {0.02f, 0.05f, 0.1f, 0.2f, 0.4f, 0.8f};

static double noise_of(const struct sy_witness *w) {
    float most = w->noise_log[0], sum = 0, mean = 0;
    for (uint32_t i = 1; i < SY_NOISES; i++) {
        most = w->noise_log[i] > most ? w->noise_log[i] : most;
    }
    for (uint32_t i = 0; i < SY_NOISES; i++) {
        float weight = expf(w->noise_log[i] - most);
        sum += weight;
        mean += weight * noises[i];
    }
    return (double)(mean / sum);
}

/* noise: what the source says of it, or 0. */
void sy_witness_reset(struct sy_witness *w) {
    double stated = w->noise;
    for (uint32_t i = 0; i < SY_NOISES; i++) {
        double off = stated > 0 ? log((double)noises[i] / stated) / NOISE_SD : 0;
        w->noise_log[i] = (float)(-off * off / 2);
    }
    w->ratio_log = w->start_log;
    w->ratio_variance = w->start_variance;
    w->reading_count = 0;
    w->sum = w->variance = 0;
    w->seen = 0;
}

struct reading {
    float value, ratio, gross; /* the value in shares of the capacity, times the ratio */
    float relative, fixed;     /* variance that grows with the use, and that does not */
};

static struct reading reading_of(const struct sy_witness *w, double own, double noise) {
    double ratio = exp(w->ratio_log), guess = OWN_RATIO * own, value = w->sum * w->scale;
    double more = w->variance; /* of what was scaled up */
    return (struct reading){
        .value = (float)value,
        .ratio = (float)ratio,
        .gross = (float)((double)GROSS / (ratio * (1 + value * value / (4 * ratio * ratio)))),
        .relative = (float)(noise * noise + more + w->ratio_variance),
        .fixed = (float)(ratio * ratio * ((double)GRID * (double)GRID + guess * guess)),
    };
}

static void likelihood(const struct reading *r, const float *whole, float *ret) {
    for (uint32_t k = 0; k < ROW; k++) {
        float expected = r->ratio * (whole[k] + BASE), off = r->value - expected;
        float variance = r->relative * expected * expected + r->fixed;
        float tail = 1 + off * off / (4 * variance); /* Student-t with 4 degrees of freedom */
        ret[k] = 1 / (tail * tail * sqrtf(variance * tail)) + r->gross;
    }
}

/* How well each candidate for the size of errors would have predicted this reading. */
static void weigh_noise(struct sy_witness *w, const float *before, const float *whole, double own) {
    for (uint32_t i = 0; i < SY_NOISES; i++) {
        struct reading reading = reading_of(w, own, (double)noises[i]);
        float row[ROW];
        likelihood(&reading, whole, row);
        for (uint32_t k = 0; k < ROW; k++) {
            row[k] *= before[k];
        }
        w->noise_log[i] = NOISE_FORGET * w->noise_log[i] + logf(sy_levels_sum(row) + 1e-20f);
    }
    w->noise = noise_of(w);
}

/* Mean and relative variance of the use, and how much of the probability moved. */
static void spread(const float *before, const float *now, const float *whole, double *ret_mean,
                   double *ret_relative, double *ret_moved) {
    double mean = 0, square = 0, moved = 0;
    for (uint32_t k = 0; k < SY_LEVELS; k++) {
        double use = (double)(whole[k] + BASE), share = (double)now[k];
        mean += share * use;
        square += share * use * use;
        moved += fabs(share - (double)before[k]) / 2;
    }
    *ret_mean = mean;
    *ret_relative = sy_most(0, square - mean * mean) / (mean * mean);
    *ret_moved = moved;
}

static void learn_ratio(struct sy_witness *w, double mean, double relative, double moved) {
    double most = w->start_variance;
    w->ratio_variance =
        sy_least(most, w->ratio_variance + RATIO_DRIFT + sy_most(0, moved - JUMPED) * RATIO_JUMP);
    if (mean <= KNOWN_USE) {
        return;
    }
    double off = w->sum * w->scale / (exp(w->ratio_log) * mean) - 1;
    double error = w->noise * w->noise + relative + 0.01;
    double all = error + w->ratio_variance;
    if (off * off > 25 * all) {
        return;
    }
    double weight = 5 / (4 + off * off / all); /* of a Student-t */
    double gain = w->ratio_variance / (w->ratio_variance + error / weight);
    w->ratio_log += gain * sy_least(1, sy_most(-1, off));
    w->ratio_variance *= 1 - gain;
}

/* Reads and writes add up to the whole: what is missing is shared by how sure each is. */
static void join_twins(struct sy_witness *a, struct sy_witness *b) {
    double x = exp(a->ratio_log), y = exp(b->ratio_log), missing = 1 - x - y;
    double vx = x * x * a->ratio_variance, vy = y * y * b->ratio_variance;
    double all = vx + vy + SUM_SD * SUM_SD;
    x = sy_most(0.01, x + vx / all * missing);
    y = sy_most(0.01, y + vy / all * missing);
    a->ratio_log = log(x);
    b->ratio_log = log(y);
    a->ratio_variance = sy_most(1e-5, vx * (1 - vx / all) / (x * x));
    b->ratio_variance = sy_most(1e-5, vy * (1 - vy / all) / (y * y));
}

static void learn_ratios(struct sy_senses *s, uint32_t resource, const float *before,
                         const float *whole) {
    float now[ROW];
    double mean, relative, moved;
    sy_levels_now(&s->levels[resource], now);
    spread(before, now, whole, &mean, &relative, &moved);
    for (uint32_t i = s->spoken[resource]; i != SY_NONE; i = s->witnesses[i].next) {
        struct sy_witness *w = &s->witnesses[i];
        if (w->seen == w->count && w->start_variance > 0) {
            learn_ratio(w, mean, relative, moved);
            if (w->twin != SY_NONE) {
                join_twins(w, &s->witnesses[w->twin]);
            }
        }
    }
}

void sy_witness_see(struct sy_senses *s, uint32_t resource) {
    struct sy_levels *levels = &s->levels[resource];
    float before[ROW], whole[ROW], all[ROW], row[ROW];
    double capacity = s->machine->resources[resource].bytes_per_s, own;
    double moved = levels->window_ns > 0 ? s->moved[resource] * 1e9 / levels->window_ns : 0;
    bool learns = false;
    sy_levels_now(levels, before);
    sy_levels_window(levels, moved / capacity, whole, &own);
    for (uint32_t k = 0; k < ROW; k++) {
        all[k] = 1;
    }
    for (uint32_t i = s->spoken[resource]; i != SY_NONE; i = s->witnesses[i].next) {
        struct sy_witness *w = &s->witnesses[i];
        if (w->seen != w->count) {
            continue;
        }
        if (w->reading_count++ % NOISE_EVERY == 0) {
            weigh_noise(w, before, whole, own);
        }
        struct reading reading = reading_of(w, own, w->noise);
        likelihood(&reading, whole, row);
        float scale = 1 / row[0]; /* products of several stay within a float's range */
        for (uint32_t k = 0; k < ROW; k++) {
            all[k] *= row[k] * scale;
        }
        learns |= w->start_variance > 0;
    }
    sy_levels_weigh(levels, all);
    if (learns) {
        learn_ratios(s, resource, before, whole);
    }
}
