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
#define SUM_SD       0.03 /* of two ratios that add up to 1 */

static const float noises[8] = {0.02f, 0.05f, 0.1f, 0.2f, 0.4f, 0.8f};
static const float is_noise[8] = {1, 1, 1, 1, 1, 1};

/* What its ratio is, and how sure. */
static void put_ratio(struct sy_senses *s, uint32_t witness, double ratio, double variance) {
    struct sy_witness *w = &s->witnesses[witness];
    w->ratio = ratio;
    w->ratio_variance = variance;
    s->sure[witness] = (float)(1 / (1 + 4 * variance));
}

void sy_witness_reset(struct sy_senses *s, uint32_t witness) {
    struct sy_witness *w = &s->witnesses[witness];
    w->noise = s->options.counters[s->members[w->first]].noise_ratio; /* or 0: nobody says */
    for (uint32_t i = 0; i < SY_NOISES; i++) {
        double off = w->noise > 0 ? log((double)noises[i] / w->noise) / NOISE_SD : 0;
        w->noise_log[i] = (float)(-off * off / 2);
    }
    put_ratio(s, witness, w->start_ratio, w->start_variance);
    w->reading_count = 0;
    w->sum = w->variance = 0;
    w->seen = 0;
}

struct reading {
    float value, ratio, gross; /* the value in shares of the capacity, times the ratio */
    float relative, fixed;     /* variance that grows with the use, and that does not */
};

/* noise: relative error. */
static struct reading reading_of(const struct sy_witness *w, double own, double noise) {
    double ratio = w->ratio, guess = OWN_RATIO * own, value = w->sum * w->scale;
    double more = w->variance; /* of what was scaled up */
    return (struct reading){
        .value = (float)value,
        .ratio = (float)ratio,
        .gross = (float)((double)GROSS / (ratio * (1 + value * value / (4 * ratio * ratio)))),
        .relative = (float)(noise * noise + more + w->ratio_variance),
        .fixed = (float)(ratio * ratio * ((double)GRID * (double)GRID + guess * guess)),
    };
}

/* Of eight levels. Student's t with 4 degrees of freedom: its tail is q / (4 variance), and it is
 * 1 / sqrt(variance tail) / tail^2. */
SY_INLINE void likelihood(const struct reading *r, float relative, const float *whole,
                          sy_eight *ret) {
    sy_eight expected = r->ratio * (*(const sy_eight *)whole + BASE), off = r->value - expected;
    sy_eight variance = relative * expected * expected + r->fixed;
    sy_eight q = 4 * variance + off * off, root = q;
    sy_eight_sqrt(&root);
    *ret = 32 * variance * variance / (q * q * root) + r->gross;
}

/* What this reading says of each level, on top of what others said. */
SY_INLINE void weigh_body(const struct reading *r, const float *whole, float *all) {
    float first = 0;
    for (uint32_t k = 0; k < ROW; k += 8) {
        sy_eight row;
        likelihood(r, r->relative, whole + k, &row);
        first = k ? first : 1 / row[0]; /* products of several stay within a float's range */
        *(sy_eight *)(all + k) *= row * first;
    }
}
SY_DISPATCH_LOCAL(void, weigh, (const struct reading *r, const float *whole, float *all),
                  (r, whole, all))

/* How well each candidate for the size of errors would have predicted this reading, whose own
 * noise is 0. Returns their mean. */
SY_INLINE float weigh_noise_body(const struct reading *r, const float *before, const float *whole,
                                 float *noise_log) {
    sy_eight rows[8] = {0}, seen;
    for (uint32_t i = 0; i < SY_NOISES; i++) {
        float relative = r->relative + noises[i] * noises[i];
        for (uint32_t k = 0; k < ROW; k += 8) {
            sy_eight row;
            likelihood(r, relative, whole + k, &row);
            rows[i] += row * *(const sy_eight *)(before + k);
        }
    }
    sy_eight_sums(rows, &seen);
    seen += 1e-20f;
    sy_eight_log(&seen);
    seen = (seen + NOISE_FORGET * *(sy_eight *)noise_log) * *(const sy_eight *)is_noise;
    *(sy_eight *)noise_log = seen;
    sy_eight top = __builtin_shufflevector(seen, seen, 0, 1, 2, 3, 4, 5, 0, 0); /* of the six */
    sy_eight_top(&top);
    seen = (seen - top) * *(const sy_eight *)is_noise;
    sy_eight_exp(&seen);
    seen *= *(const sy_eight *)is_noise;
    sy_eight mean = seen * *(const sy_eight *)noises;
    return sy_eight_sum(&mean) / sy_eight_sum(&seen);
}
SY_DISPATCH_LOCAL(float, weigh_noise,
                  (const struct reading *r, const float *before, const float *whole,
                   float *noise_log),
                  (r, before, whole, noise_log))

/* Mean and relative variance of the use, and how much of the probability moved. */
struct spread {
    double mean, relative, moved;
};

SY_INLINE struct spread spread_body(const float *before, const float *now, const float *whole) {
    sy_eight mean = {0}, square = {0}, moved = {0}, none = {0};
    for (uint32_t k = 0; k < ROW; k += 8) {
        sy_eight use = *(const sy_eight *)(whole + k) + BASE;
        sy_eight share = *(const sy_eight *)(now + k),
                 more = share - *(const sy_eight *)(before + k);
        mean += share * use;
        square += share * use * use;
        sy_eight_most(&more, &none);
        moved += more;
    }
    double first = (double)sy_eight_sum(&mean), second = (double)sy_eight_sum(&square);
    return (struct spread){first, sy_most(0, second - first * first) / (first * first),
                           (double)sy_eight_sum(&moved)};
}
SY_DISPATCH_LOCAL(struct spread, spread,
                  (const float *before, const float *now, const float *whole), (before, now, whole))

static void learn_ratio(struct sy_senses *s, uint32_t witness, const struct spread *use) {
    struct sy_witness *w = &s->witnesses[witness];
    double drift = RATIO_DRIFT + sy_most(0, use->moved - JUMPED) * RATIO_JUMP;
    double variance = sy_least(w->start_variance, w->ratio_variance + drift);
    double off = w->sum * w->scale / (w->ratio * use->mean) - 1;
    double error = w->noise * w->noise + use->relative + 0.01, all = error + variance;
    if (use->mean <= KNOWN_USE || off * off > 25 * all) {
        put_ratio(s, witness, w->ratio, variance);
        return;
    }
    double weight = 5 / (4 + off * off / all); /* of a Student-t */
    double gain = variance / (variance + error / weight);
    put_ratio(s, witness, w->ratio * exp(gain * sy_least(1, sy_most(-1, off))),
              variance * (1 - gain));
}

/* Reads and writes add up to the whole: what is missing is shared by how sure each is. */
static void join_twins(struct sy_senses *s, uint32_t first, uint32_t second) {
    const struct sy_witness *a = &s->witnesses[first], *b = &s->witnesses[second];
    double x = a->ratio, y = b->ratio, missing = 1 - x - y;
    double vx = x * x * a->ratio_variance, vy = y * y * b->ratio_variance;
    double all = vx + vy + SUM_SD * SUM_SD;
    x = sy_most(0.01, x + vx / all * missing);
    y = sy_most(0.01, y + vy / all * missing);
    put_ratio(s, first, x, sy_most(1e-5, vx * (1 - vx / all) / (x * x)));
    put_ratio(s, second, y, sy_most(1e-5, vy * (1 - vy / all) / (y * y)));
}

static void learn_ratios(struct sy_senses *s, uint32_t resource, const float *before,
                         const float *whole) {
    float now[ROW];
    sy_levels_at(&s->levels[resource], s->now_ns, now);
    struct spread use = spread(before, now, whole);
    for (uint32_t i = s->spoken[resource]; i != SY_NONE; i = s->witnesses[i].next) {
        const struct sy_witness *w = &s->witnesses[i];
        if (w->seen == w->count && w->start_variance > 0) {
            learn_ratio(s, i, &use);
            if (w->twin != SY_NONE) {
                join_twins(s, i, w->twin);
            }
        }
    }
}

void sy_witness_see(struct sy_senses *s, uint32_t resource) {
    struct sy_levels *levels = &s->levels[resource];
    float before[ROW], whole[ROW], all[ROW];
    double capacity = s->machine->resources[resource].bytes_per_s, own;
    double moved = levels->window_ns > 0 ? s->moved[resource] * 1e9 / levels->window_ns : 0;
    bool learns = false, weighs = false;
    for (uint32_t i = s->spoken[resource]; i != SY_NONE; i = s->witnesses[i].next) {
        const struct sy_witness *w = &s->witnesses[i];
        learns |= w->seen == w->count && w->start_variance > 0;
        weighs |= w->seen == w->count && w->reading_count % NOISE_EVERY == 0;
    }
    if (learns || weighs) {
        sy_levels_at(levels, s->now_ns, before);
    }
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
            struct reading exact = reading_of(w, own, 0);
            w->noise = (double)weigh_noise(&exact, before, whole, w->noise_log);
        }
        struct reading reading = reading_of(w, own, w->noise);
        weigh(&reading, whole, all);
    }
    sy_levels_weigh(levels, s->now_ns, all);
    if (learns) {
        learn_ratios(s, resource, before, whole);
    }
}
