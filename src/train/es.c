/* SPDX-License-Identifier: Apache-2.0
 *
 * Evolution strategies (Salimans et al. 2017): a slope from points around the middle, in antithetic
 * pairs, for Adam. Noise is drawn from (seed, generation, pair), so nothing but the arrays and the
 * generation's number needs to be kept. Invariant: scores in, same bytes out.
 */
#include "train/steps.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PURPOSE    0x65766f6cu /* random numbers no other room draws */
#define RATE_FLOOR 0.05        /* of the rate, at the end */
#define WARM_UP    20.0 /* generations in which it rises: Adam's first slopes are all noise */

int sy_es_init(struct sy_es *es, const struct sy_es_options *options, const float *start) {
    size_t n = options->count;
    *es = (struct sy_es){.options = *options};
    es->block = calloc(n, sizeof(float));
    es->average = calloc(n, sizeof(float));
    es->slopes = calloc(n, sizeof(float));
    es->adam = (struct sy_adam){.count = options->count,
                                .first = calloc(n, sizeof(float)),
                                .second = calloc(n, sizeof(float))};
    es->points = calloc(2 * n * options->pairs, sizeof(float));
    if (!es->block || !es->average || !es->slopes || !es->adam.first || !es->adam.second ||
        !es->points) {
        sy_es_finish(es);
        return -ENOMEM;
    }
    memcpy(es->block, start, n * sizeof(float));
    memcpy(es->average, start, n * sizeof(float));
    return 0;
}

void sy_es_finish(struct sy_es *es) {
    free(es->block);
    free(es->average);
    free(es->slopes);
    free(es->adam.first);
    free(es->adam.second);
    free(es->points);
    *es = (struct sy_es){0};
}

static struct sy_rng noise(const struct sy_es *es, uint32_t pair) {
    return sy_rng_make(es->options.seed, PURPOSE, (uint64_t)es->generation << 32 | pair);
}

void sy_es_ask(struct sy_es *es) {
    uint32_t n = es->options.count;
    for (uint32_t p = 0; p < es->options.pairs; p++) {
        struct sy_rng rng = noise(es, p);
        float *plus = es->points + (size_t)2 * p * n, *minus = plus + n;
        for (uint32_t i = 0; i < n; i++) {
            float step = (float)(es->options.sigma * sy_rng_normal(&rng));
            plus[i] = es->block[i] + step;
            minus[i] = es->block[i] - step;
        }
    }
}

/* Typical size of a difference, so that the slope does not depend on the scale of scores. */
static double scale(const struct sy_es *es, const double *scores) {
    double sum = 0;
    for (uint32_t p = 0; p < es->options.pairs; p++) {
        double difference = scores[2 * p] - scores[2 * p + 1];
        sum += difference * difference;
    }
    return sqrt(sum / es->options.pairs);
}

double sy_es_rate(const struct sy_es *es, double progress) {
    double at = fmin(fmax(progress, 0), 1);
    double rate = es->options.rate * (RATE_FLOOR + (1 - RATE_FLOOR) * (1 + cos(M_PI * at)) / 2);
    return rate * fmin(1, (es->generation + 1) / WARM_UP);
}

void sy_es_settle(struct sy_es *es) {
    /* A mean over all generations at first, then one that forgets. */
    double keep = fmin(es->options.keep, (double)(es->generation + 1) / (es->generation + 2));
    for (uint32_t i = 0; i < es->options.count; i++) {
        es->average[i] = (float)(keep * (double)es->average[i] + (1 - keep) * (double)es->block[i]);
    }
    es->generation++;
}

void sy_es_tell(struct sy_es *es, const double *scores, double progress) {
    const struct sy_es_options *o = &es->options;
    double size = scale(es, scores), rate = sy_es_rate(es, progress);
    memset(es->slopes, 0, o->count * sizeof(float));
    for (uint32_t p = 0; p < o->pairs && size > 0; p++) {
        struct sy_rng rng = noise(es, p);
        double weight = (scores[2 * p] - scores[2 * p + 1]) / (size * o->pairs);
        for (uint32_t i = 0; i < o->count; i++) {
            es->slopes[i] += (float)(weight * sy_rng_normal(&rng));
        }
    }
    if (size > 0) {
        sy_adam_step(&es->adam, es->block, es->slopes, rate, o->clip_norm);
    }
    sy_es_settle(es);
}
