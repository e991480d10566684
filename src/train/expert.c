/* SPDX-License-Identifier: Apache-2.0
 *
 * Expert iteration (Anthony et al. 2017), with rollouts as the expert: in each new world a run of
 * the present weights keeps some decisions that could have been others; each other choice is tried
 * by a run of the same world to its end, the same up to there and with the same hidden noise after
 * it; then the weights are moved so that the policy prefers what turned out better.
 *
 * In: worlds and weights. Out: weights a step on. Invariant: results depend on items' numbers,
 * never on which worker took them. Lagoudakis and Parr 2003: the fit is a classification, in which
 * a sample weighs what its choice was worth.
 */
#include "train/steps.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PURPOSE        0x65787074u /* random numbers no other room draws */
#define SOFTNESS       1.0         /* of the margin: below, a preference is not firm */
#define LOUDNESS_LEAST 0.002       /* one decision changes less than all weights */
#define WORTH_MAX      3.0         /* times the world's usual: one sample cannot outweigh all */

struct sample {
    uint32_t world, road, other;
};
struct sy_expert {
    uint32_t world_count, road_count, other_count; /* at most */
    struct sy_crossroads *roads;                   /* [world * (road_count + 1) + road] */
    float *slopes;
    double *own;            /* score of the run as the policy wants it, per world */
    uint32_t *kept;         /* crossroads, per world */
    struct sample *samples; /* all that are to be tried, world by world */
    double *scores;         /* of the samples */
    uint32_t sample_count;
};

int sy_expert_create(const struct sy_training_options *o, struct sy_expert **ret_expert) {
    struct sy_expert *e = calloc(1, sizeof *e);
    size_t roads = (size_t)o->scenarios * (o->decisions + 1);
    size_t others = roads * o->alternatives;
    if (!e) {
        return -ENOMEM;
    }
    e->world_count = o->scenarios;
    e->road_count = o->decisions;
    e->other_count = o->alternatives;
    e->roads = calloc(roads, sizeof *e->roads);
    e->slopes = calloc(others * o->count, sizeof *e->slopes);
    e->own = calloc(o->scenarios, sizeof *e->own);
    e->kept = calloc(o->scenarios, sizeof *e->kept);
    e->samples = calloc(others, sizeof *e->samples);
    e->scores = calloc(others, sizeof *e->scores);
    if (!e->roads || !e->slopes || !e->own || !e->kept || !e->samples || !e->scores) {
        sy_expert_destroy(e);
        return -ENOMEM;
    }
    for (size_t i = 0; i < others; i++) {
        e->roads[i / o->alternatives].others[i % o->alternatives].slopes = e->slopes + i * o->count;
    }
    *ret_expert = e;
    return 0;
}

void sy_expert_destroy(struct sy_expert *e) {
    if (!e) {
        return;
    }
    free(e->roads);
    free(e->slopes);
    free(e->own);
    free(e->kept);
    free(e->samples);
    free(e->scores);
    free(e);
}

/* --- runs ---------------------------------------------------------------------------------------
 */
static struct sy_crossroads *roads_of(const struct sy_expert *e, uint32_t world) {
    return e->roads + (size_t)world * (e->road_count + 1);
}

static int run_probe(struct sy_training *t, uint32_t worker, uint32_t world, struct sy_probe *probe,
                     double *ret_score, struct sy_error *error) {
    const struct sy_training_options *o = &t->options;
    double cost[SY_MEASURE_COUNT];
    struct sy_rollout rollout = {o->policy, o->kind,     o->shape,
                                 o->count,  t->es.block, t->parallel.stop};
    int code = sy_runner_probe(&t->runners[worker], t->now[world], &rollout, probe, cost, error);
    if (!code) {
        *ret_score = sy_utility_score(&o->utility, cost, t->now[world]->reference);
    }
    return code;
}

/* The next generation's worlds, then a run of each of this one's. */
static int run_own(void *context, uint32_t worker, uint32_t item, struct sy_error *error) {
    struct sy_training *t = context;
    struct sy_expert *e = t->expert;
    if (item < e->world_count) {
        uint32_t index = (t->es.generation + 1) * e->world_count + item;
        return sy_training_world(t, worker, SY_SPLIT_TRAINING, index, &t->next[item], error);
    }
    uint32_t world = item - e->world_count;
    uint64_t index = (uint64_t)t->es.generation * e->world_count + world;
    struct sy_probe probe = {.capacity = e->road_count,
                             .other_capacity = e->other_count,
                             .roads = roads_of(e, world),
                             .rng = sy_rng_make(t->options.seed, PURPOSE, index),
                             .forced_at = UINT64_MAX};
    int code = run_probe(t, worker, world, &probe, &e->own[world], error);
    e->kept[world] = probe.count;
    return code;
}

static int run_other(void *context, uint32_t worker, uint32_t item, struct sy_error *error) {
    struct sy_training *t = context;
    struct sy_expert *e = t->expert;
    const struct sample *s = &e->samples[item];
    const struct sy_crossroads *road = &roads_of(e, s->world)[s->road];
    struct sy_probe probe = {.forced_at = road->asked, .forced = road->others[s->other]};
    return run_probe(t, worker, s->world, &probe, &e->scores[item], error);
}

static void list_samples(struct sy_expert *e) {
    e->sample_count = 0;
    for (uint32_t w = 0; w < e->world_count; w++) {
        for (uint32_t r = 0; r < e->kept[w]; r++) {
            for (uint32_t k = 0; k < roads_of(e, w)[r].other_count; k++) {
                e->samples[e->sample_count++] = (struct sample){w, r, k};
            }
        }
    }
}

/* --- the fit ------------------------------------------------------------------------------------
 */
static const struct sy_other *other_of(const struct sy_expert *e, uint32_t sample) {
    const struct sample *s = &e->samples[sample];
    return &roads_of(e, s->world)[s->road].others[s->other];
}

/* From scores to what choosing otherwise was worth, in units of what it usually is in its world:
 * above 0 the policy was right. */
static void find_worth(const struct sy_training_options *o, struct sy_expert *e) {
    for (uint32_t i = 0, end; i < e->sample_count; i = end) {
        uint32_t world = e->samples[i].world;
        double squares = 0;
        for (end = i; end < e->sample_count && e->samples[end].world == world; end++) {
            e->scores[end] =
                sy_training_judged(o, e->scores[end]) - sy_training_judged(o, e->own[world]);
            squares += e->scores[end] * e->scores[end];
        }
        double usual = sqrt(squares / (end - i)) + LOUDNESS_LEAST;
        for (uint32_t k = i; k < end; k++) {
            e->scores[k] = fmax(-WORTH_MAX, fmin(e->scores[k] / usual, WORTH_MAX));
        }
    }
}

/* Of a policy that would choose by chance, otherwise with probability 1 / (1 + exp(margin /
 * softness)): slopes of the mean worth of what it chooses. Where worth is nothing but noise they
 * cancel; a logarithmic loss would then pull margins to 0, and with them what the heuristic knows.
 */
static void find_slopes(const struct sy_expert *e, uint32_t count, float *ret_slopes) {
    memset(ret_slopes, 0, count * sizeof *ret_slopes);
    for (uint32_t i = 0; i < e->sample_count; i++) {
        const struct sy_other *other = other_of(e, i);
        double otherwise = 1 / (1 + exp(other->margin / SOFTNESS));
        double weight = -e->scores[i] * otherwise * (1 - otherwise) / SOFTNESS / e->sample_count;
        for (uint32_t k = 0; k < count; k++) {
            ret_slopes[k] += (float)weight * other->slopes[k];
        }
    }
}

int sy_expert_step(struct sy_training *t, double progress, struct sy_error *error) {
    struct sy_expert *e = t->expert;
    struct sy_parallel *parallel = &t->parallel;
    int code = parallel->run(parallel->pool, 2 * e->world_count, run_own, t, error);
    if (code) {
        return code;
    }
    list_samples(e);
    code = parallel->run(parallel->pool, e->sample_count, run_other, t, error);
    if (code) {
        return code;
    }
    t->last_training = sy_mean(e->own, e->world_count);
    t->rollout_count += e->world_count + e->sample_count;
    find_worth(&t->options, e);
    find_slopes(e, t->options.count, t->es.slopes);
    sy_adam_step(&t->es.adam, t->es.block, t->es.slopes, sy_es_rate(&t->es, progress),
                 t->options.es.clip_norm);
    sy_es_settle(&t->es);
    return 0;
}
