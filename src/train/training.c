/* SPDX-License-Identifier: Apache-2.0
 *
 * Training by evolution strategies in simulated worlds, or by expert iteration (expert.c): every
 * generation meets new worlds, every point of it the same ones with the same hidden noise; what is
 * kept is what does best on worlds of its own. Invariant: results depend on items' numbers, never
 * on which worker took them.
 */
#include "train/steps.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOUDNESS_LEAST 0.02 /* a world where nothing matters must not shout its noise */

/* --- worlds -------------------------------------------------------------------------------------
 */
struct batch {
    struct sy_training *training;
    enum sy_split split;
    uint32_t first; /* index of the first world */
    struct sy_scenario **worlds;
    uint32_t world_count; /* to be made: the first items */
};

int sy_training_world(struct sy_training *t, uint32_t worker, enum sy_split split, uint32_t index,
                      struct sy_scenario **ret_world, struct sy_error *error) {
    const struct sy_training_options *o = &t->options;
    struct sy_scenario *world = NULL;
    int code =
        sy_scenario_create(t->catalogue, sy_scenario_number(split, o->seed, index), &world, error);
    code = code ? code
                : sy_runner_reference(&t->runners[worker], world, o->references, &o->utility,
                                      t->parallel.stop, world->reference, error);
    *ret_world = world; /* also where its reference failed: it is ended later */
    return code;
}

static int make_world(const struct batch *batch, uint32_t worker, uint32_t item,
                      struct sy_error *error) {
    return sy_training_world(batch->training, worker, batch->split, batch->first + item,
                             &batch->worlds[item], error);
}

static int make_worlds(void *context, uint32_t worker, uint32_t item, struct sy_error *error) {
    return make_world(context, worker, item, error);
}

static void end_worlds(struct sy_training *t, struct sy_scenario **worlds, uint32_t count) {
    for (uint32_t i = 0; i < t->parallel.worker_count; i++) {
        sy_runner_finish(&t->runners[i]);
    }
    for (uint32_t i = 0; worlds && i < count; i++) {
        sy_scenario_destroy(worlds[i]);
        worlds[i] = NULL;
    }
}

static int fill_worlds(struct sy_training *t, enum sy_split split, uint32_t first,
                       struct sy_scenario **worlds, uint32_t count, struct sy_error *error) {
    struct batch batch = {t, split, first, worlds, count};
    int code = t->parallel.run(t->parallel.pool, count, make_worlds, &batch, error);
    if (code) {
        end_worlds(t, worlds, count);
    }
    return code;
}

/* --- life ---------------------------------------------------------------------------------------
 */
static bool allocate(struct sy_training *t) {
    const struct sy_training_options *o = &t->options;
    size_t points = 2 * (size_t)o->es.pairs, worlds = o->scenarios;
    size_t items = points * worlds > o->validation ? points * worlds : o->validation;
    t->runners = calloc(t->parallel.worker_count, sizeof *t->runners);
    t->validation = calloc(o->validation, sizeof(struct sy_scenario *));
    t->now = calloc(worlds, sizeof(struct sy_scenario *));
    t->next = calloc(worlds, sizeof(struct sy_scenario *));
    t->scores = calloc(items, sizeof *t->scores);
    t->sums = calloc(points, sizeof *t->sums);
    t->best = calloc(o->count, sizeof *t->best);
    return t->runners && t->validation && t->now && t->next && t->scores && t->sums && t->best;
}

int sy_training_open(const struct sy_training_options *options, const struct sy_parallel *parallel,
                     struct sy_training **ret_training, struct sy_error *error) {
    struct sy_training *t = calloc(1, sizeof *t);
    if (!t) {
        return sy_out_of_memory(error);
    }
    t->options = *options;
    t->options.es.count = options->count;
    t->options.es.seed = options->seed;
    t->parallel = *parallel;
    t->last_training = NAN;
    int code = allocate(t) ? 0 : -ENOMEM;
    code = !code && options->decisions ? sy_expert_create(&t->options, &t->expert) : code;
    float *start = calloc(options->count, sizeof *start);
    if (start && options->start) {
        memcpy(start, options->start, options->count * sizeof *start);
    }
    code = code || !start ? -ENOMEM : sy_es_init(&t->es, &t->options.es, start);
    free(start);
    code = code ? sy_fail(error, code, "out of memory")
                : sy_catalogue_open(&options->worlds, &t->catalogue, error);
    code = code ? code
                : fill_worlds(t, SY_SPLIT_VALIDATION, 0, t->validation, options->validation, error);
    if (code) {
        sy_training_close(t);
        return code;
    }
    *ret_training = t;
    return 0;
}

void sy_training_close(struct sy_training *t) {
    if (!t) {
        return;
    }
    if (t->runners) {
        end_worlds(t, t->validation, t->options.validation);
        end_worlds(t, t->now, t->options.scenarios);
        end_worlds(t, t->next, t->options.scenarios);
    }
    sy_catalogue_close(t->catalogue);
    sy_es_finish(&t->es);
    sy_expert_destroy(t->expert);
    free(t->runners);
    free(t->validation);
    free(t->now);
    free(t->next);
    free(t->scores);
    free(t->sums);
    free(t->best);
    free(t->history);
    free(t);
}

/* --- runs ---------------------------------------------------------------------------------------
 */
static int score(struct sy_training *t, uint32_t worker, const struct sy_scenario *world,
                 const float *block, double *ret_score, struct sy_error *error) {
    const struct sy_training_options *o = &t->options;
    double cost[SY_MEASURE_COUNT];
    struct sy_rollout rollout = {o->policy, o->kind, o->shape, o->count, block, t->parallel.stop};
    int code = sy_runner_run(&t->runners[worker], world, &rollout, cost, error);
    if (!code) {
        *ret_score = sy_utility_score(&o->utility, cost, world->reference);
    }
    return code;
}

/* The next generation's worlds first, as they take longest; then world by world all points, so that
 * a worker's simulator serves several. */
static int run_item(void *context, uint32_t worker, uint32_t item, struct sy_error *error) {
    struct batch *batch = context;
    struct sy_training *t = batch->training;
    if (item < batch->world_count) {
        return make_world(batch, worker, item, error);
    }
    uint32_t at = item - batch->world_count, points = 2 * t->options.es.pairs;
    const float *block = t->es.points + (size_t)(at % points) * t->options.count;
    return score(t, worker, t->now[at / points], block, &t->scores[at], error);
}

double sy_training_judged(const struct sy_training_options *o, double ratio) {
    return ratio + o->hinge * fmax(0, ratio - o->hinge_from);
}

/* What points are worth. Worlds differ tenfold in how much any change of weights changes the
 * outcome, most of it chance: each speaks in units of what it varies, or a few loud ones would
 * drown all others (docs/training.md has the numbers). */
static void sum_up(struct sy_training *t) {
    const struct sy_training_options *o = &t->options;
    uint32_t points = 2 * o->es.pairs;
    double all = 0;
    memset(t->sums, 0, points * sizeof *t->sums);
    for (uint32_t s = 0; s < o->scenarios; s++) {
        const double *scores = t->scores + (size_t)s * points;
        double squares = 0;
        for (uint32_t p = 0; p < points; p += 2) {
            double difference =
                sy_training_judged(o, scores[p]) - sy_training_judged(o, scores[p + 1]);
            squares += difference * difference;
        }
        double loudness = sqrt(squares / o->es.pairs) + LOUDNESS_LEAST;
        for (uint32_t p = 0; p < points; p++) {
            t->sums[p] += sy_training_judged(o, scores[p]) / loudness;
            all += scores[p];
        }
    }
    t->last_training = all / ((double)points * o->scenarios);
}

static bool is_validated(const struct sy_training *t) {
    return t->history_count && t->history[t->history_count - 1].generation == t->es.generation;
}

static int evolve(struct sy_training *t, double progress, struct sy_error *error) {
    const struct sy_training_options *o = &t->options;
    uint32_t first = (t->es.generation + 1) * o->scenarios;
    struct batch batch = {t, SY_SPLIT_TRAINING, first, t->next, o->scenarios};
    uint32_t rollouts = o->scenarios * 2 * o->es.pairs;
    sy_es_ask(&t->es);
    int code = t->parallel.run(t->parallel.pool, o->scenarios + rollouts, run_item, &batch, error);
    if (!code) {
        sum_up(t);
        sy_es_tell(&t->es, t->sums, progress);
        t->rollout_count += rollouts;
    }
    return code;
}

int sy_training_step(struct sy_training *t, double progress, struct sy_error *error) {
    const struct sy_training_options *o = &t->options;
    int code = t->es.generation % o->every == 0 ? sy_training_validate(t, error) : 0;
    if (!code && !t->now[0]) {
        uint32_t first = t->es.generation * o->scenarios;
        code = fill_worlds(t, SY_SPLIT_TRAINING, first, t->now, o->scenarios, error);
    }
    if (code) {
        return code;
    }
    code = t->expert ? sy_expert_step(t, progress, error) : evolve(t, progress, error);
    if (code) {
        end_worlds(t, t->next, o->scenarios);
        return code;
    }
    end_worlds(t, t->now, o->scenarios);
    struct sy_scenario **swap = t->now;
    t->now = t->next;
    t->next = swap;
    return 0;
}

/* --- validation ---------------------------------------------------------------------------------
 */
static int validate_item(void *context, uint32_t worker, uint32_t item, struct sy_error *error) {
    struct sy_training *t = context;
    return score(t, worker, t->validation[item], t->es.average, &t->scores[item], error);
}

int sy_training_validate(struct sy_training *t, struct sy_error *error) {
    uint32_t n = t->options.validation;
    if (is_validated(t)) {
        return 0;
    }
    if (sy_grow(&t->history, &t->history_capacity, t->history_count + 1, sizeof *t->history) < 0) {
        return sy_out_of_memory(error);
    }
    int code = t->parallel.run(t->parallel.pool, n, validate_item, t, error);
    if (code) {
        return code;
    }
    double mean = sy_mean(t->scores, n), squares = 0, worst = -INFINITY;
    for (uint32_t i = 0; i < n; i++) {
        squares += (t->scores[i] - mean) * (t->scores[i] - mean);
        worst = fmax(worst, t->scores[i]);
    }
    t->history[t->history_count] = (struct sy_training_point){
        t->es.generation, t->last_training, mean, n > 1 ? sqrt(squares / (n - 1) / n) : 0, worst};
    if (t->history_count == 0 || mean < t->history[t->best_at].validation) {
        t->best_at = t->history_count;
        memcpy(t->best, t->es.average, t->options.count * sizeof *t->best);
    }
    t->history_count++;
    t->rollout_count += n;
    return 0;
}

bool sy_training_exhausted(const struct sy_training *t) {
    return t->options.patience && t->history_count &&
           t->history_count - 1 - t->best_at >= t->options.patience;
}
