/* SPDX-License-Identifier: Apache-2.0
 *
 * The estimator: who is who. Finds the model of a (kernel, class), checks what comes in, puts costs
 * in one order (flops, bytes, then by name), and answers from the roofline where nothing was seen.
 * Invariant: a guess depends on the samples and guesses before it alone; memory grows with pairs of
 * kernel and class, never with samples.
 */
#include "planner/estimate.h"
#include "planner/values.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define JUDGE_LEAST         10   /* cells before guesses are judged */
#define JUDGE_MEMORY        32.0 /* guesses that count */
#define JUDGE_MOST          9.0  /* one accident is not the rule */
#define NEAR_WATTS_SIGMA    0.2  /* of power that was read at other points */
#define ASSUMED_WATTS_SIGMA 0.4
#define UNSEEN_SIGMA        0.7 /* of a kernel's distance to the roofline */

struct sy_estimator *sy_estimator_create(void) {
    struct sy_estimator *estimator = calloc(1, sizeof(*estimator));
    if (!estimator) {
        return NULL;
    }
    estimator->arena = sy_arena_create();
    estimator->bench = calloc(1, sizeof(*estimator->bench));
    if (!estimator->arena || !estimator->bench) {
        sy_estimator_destroy(estimator);
        return NULL;
    }
    return estimator;
}

void sy_estimator_destroy(struct sy_estimator *estimator) {
    if (!estimator) {
        return;
    }
    for (uint32_t i = 0; i < estimator->model_count; i++) {
        free(estimator->models[i]);
    }
    free(estimator->models);
    free(estimator->bench);
    sy_arena_destroy(estimator->arena);
    free(estimator);
}

static int copy_model(struct sy_estimator *to, const struct model *from) {
    struct model *model = malloc(sizeof(*model));
    if (!model) {
        return -ENOMEM;
    }
    *model = *from;
    to->models[to->model_count++] = model;
    model->kernel = sy_arena_strdup(to->arena, from->kernel);
    model->class_name = sy_arena_strdup(to->arena, from->class_name);
    bool whole = model->kernel && model->class_name;
    for (uint32_t i = 0; whole && i < from->cost_count; i++) {
        model->cost_names[i] = sy_arena_strdup(to->arena, from->cost_names[i]);
        whole = model->cost_names[i] != NULL;
    }
    return whole ? 0 : -ENOMEM;
}

struct sy_estimator *sy_estimator_copy(const struct sy_estimator *estimator) {
    struct sy_estimator *copy = sy_estimator_create();
    int rc = copy ? sy_grow(&copy->models, &copy->model_capacity, estimator->model_count + 1,
                            sizeof(*copy->models))
                  : -ENOMEM;
    for (uint32_t i = 0; !rc && i < estimator->roofline_count; i++) {
        rc = sy_estimator_set_roofline(copy, &estimator->rooflines[i]);
    }
    for (uint32_t i = 0; !rc && i < estimator->model_count; i++) {
        rc = copy_model(copy, estimator->models[i]);
    }
    if (rc) {
        sy_estimator_destroy(copy);
        return NULL;
    }
    return copy;
}

static bool positive(double value) {
    return isfinite(value) && value > 0;
}

int sy_estimator_set_roofline(struct sy_estimator *estimator, const struct sy_roofline *roofline) {
    if (!roofline->class_name || !positive(roofline->flops_per_s) ||
        !positive(roofline->bytes_per_s) || !isfinite(roofline->launch_ns) ||
        roofline->launch_ns < 0) {
        return -EINVAL;
    }
    uint32_t at = 0;
    while (at < estimator->roofline_count &&
           strcmp(estimator->rooflines[at].class_name, roofline->class_name) != 0) {
        at++;
    }
    if (at == SY_COUNT(estimator->rooflines)) {
        return -ENOSPC;
    }
    const char *name = at < estimator->roofline_count
                           ? estimator->rooflines[at].class_name
                           : sy_arena_strdup(estimator->arena, roofline->class_name);
    if (!name) {
        return -ENOMEM;
    }
    estimator->rooflines[at] = *roofline;
    estimator->rooflines[at].class_name = name;
    estimator->roofline_count += at == estimator->roofline_count;
    for (uint32_t i = 0; i < estimator->model_count; i++) {
        estimator->models[i]->stale = true; /* the prior has changed */
    }
    return 0;
}

static struct model *find_model(const struct sy_estimator *estimator, const char *kernel,
                                const char *class_name) {
    for (uint32_t i = 0; i < estimator->model_count; i++) {
        struct model *model = estimator->models[i];
        if (strcmp(model->kernel, kernel) == 0 && strcmp(model->class_name, class_name) == 0) {
            return model;
        }
    }
    return NULL;
}

/* --- samples ------------------------------------------------------------------------------------
 */
static uint32_t find_name(const char *const *names, uint32_t count, const char *name) {
    uint32_t i = 0;
    while (i < count && strcmp(names[i], name) != 0) {
        i++;
    }
    return i;
}

static bool sound(const struct sy_cost_sample *sample) {
    if (!sample->kernel || !sample->class_name || sample->width == 0 ||
        !positive(sample->time_ns) || sample->cost_count < 2 ||
        sample->cost_count > SY_PIPELINE_COST_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < sample->cost_count; i++) {
        bool again = find_name(sample->cost_names, i, sample->cost_names[i]) < i;
        if (!positive(sample->costs[i]) || again) {
            return false;
        }
    }
    return find_name(sample->cost_names, sample->cost_count, "flops") < sample->cost_count &&
           find_name(sample->cost_names, sample->cost_count, "bytes") < sample->cost_count;
}

/* In the order in which descriptions have them too: a guess comes without names. */
static int copy_names(struct sy_estimator *estimator, const struct sy_cost_sample *sample,
                      struct model *model) {
    for (uint32_t i = 0; i < sample->cost_count; i++) {
        uint32_t at = 0;
        for (uint32_t k = 0; k < sample->cost_count; k++) {
            at += sy_cost_name_compare(sample->cost_names[k], sample->cost_names[i]) < 0;
        }
        model->cost_names[at] = sy_arena_strdup(estimator->arena, sample->cost_names[i]);
        if (!model->cost_names[at]) {
            return -ENOMEM;
        }
    }
    return 0;
}

static int add_model(struct sy_estimator *estimator, const struct sy_cost_sample *sample,
                     struct model **ret_model) {
    int rc = sy_grow(&estimator->models, &estimator->model_capacity, estimator->model_count + 1,
                     sizeof(*estimator->models));
    struct model *model = rc ? NULL : calloc(1, sizeof(*model));
    if (!model) {
        return -ENOMEM;
    }
    model->kernel = sy_arena_strdup(estimator->arena, sample->kernel);
    model->class_name = sy_arena_strdup(estimator->arena, sample->class_name);
    model->cost_count = sample->cost_count;
    if (!model->kernel || !model->class_name || copy_names(estimator, sample, model)) {
        free(model);
        return -ENOMEM;
    }
    estimator->models[estimator->model_count++] = model;
    *ret_model = model;
    return 0;
}

static void fresh(const struct sy_estimator *estimator, struct model *model,
                  const struct sy_roofline *roofline) {
    if (model->stale) {
        sy_estimate_fit(model, roofline, estimator->bench);
    }
}

/* Was the guess at a new point as sure as it said? */
static void judge(const struct sy_estimator *estimator, struct model *model,
                  const struct sy_roofline *roofline, const double *point, double log_time) {
    if (model->cell_count < JUDGE_LEAST || sy_estimate_find(model, point)) {
        return;
    }
    double guess, sigma, share = 1.0 / (1 + sy_least(model->surprise_count, JUDGE_MEMORY));
    fresh(estimator, model, roofline);
    sy_estimate_predict(model, roofline, point, &guess, &sigma);
    sigma /= sqrt(sy_most(model->surprise, 1)); /* as the fit alone says */
    double square = (log_time - guess) * (log_time - guess) / (sigma * sigma);
    model->surprise += share * (sy_least(square, JUDGE_MOST) - model->surprise);
    model->surprise_count++;
}

int sy_estimator_observe(struct sy_estimator *estimator, const struct sy_cost_sample *sample) {
    if (!sound(sample)) {
        return -EINVAL;
    }
    struct model *model = find_model(estimator, sample->kernel, sample->class_name);
    if (!model) {
        int rc = add_model(estimator, sample, &model);
        if (rc) {
            return rc;
        }
    }
    if (model->cost_count != sample->cost_count) {
        return -EINVAL;
    }
    double point[AXES];
    for (uint32_t i = 0; i < sample->cost_count; i++) {
        uint32_t at = find_name(sample->cost_names, sample->cost_count, model->cost_names[i]);
        if (at == sample->cost_count) {
            return -EINVAL;
        }
        point[i] = log(sample->costs[at]);
    }
    point[sample->cost_count] = log(sample->width);
    bool modelled = sample->source && strcmp(sample->source, "measured") != 0;
    const struct sy_roofline *roofline = sy_estimate_roofline(estimator, sample->class_name);
    judge(estimator, model, roofline, point, log(sample->time_ns));
    if (sy_estimate_put(model, roofline, point, log(sample->time_ns), modelled)) {
        model->stale = true;
    }
    struct cell *cell = sy_estimate_find(model, point);
    bool better = cell && modelled && !cell->model; /* it was measured: no model knows better */
    if (cell && !better && isfinite(sample->watts) && sample->watts >= 0) {
        cell->watts = sample->watts / sample->width;
    }
    return 0;
}

/* --- guesses ------------------------------------------------------------------------------------
 */
static void guess_watts(struct model *model, const struct sy_roofline *roofline,
                        const double *point, uint32_t width, struct sy_guess *guess) {
    double far = INFINITY, watts = model ? sy_estimate_watts(model, point, &far) : NAN;
    guess->watts_sigma = NEAR_WATTS_SIGMA * sy_least(far, 1);
    if (!isfinite(watts)) {
        guess->watts_sigma = ASSUMED_WATTS_SIGMA;
        watts = roofline ? roofline->busy_watts : NAN;
    }
    guess->watts = watts * width;
}

/* The roofline, as far from it as other kernels of the class are, of which one counts for none. */
static void guess_unseen(const struct sy_estimator *estimator, const struct sy_roofline *roofline,
                         uint32_t cost_count, const double *point, struct sy_guess *guess) {
    double sum = 0;
    uint32_t count = 1;
    for (uint32_t i = 0; i < estimator->model_count; i++) {
        struct model *model = estimator->models[i];
        if (strcmp(model->class_name, roofline->class_name) == 0) {
            fresh(estimator, model, roofline);
            sum += model->distance;
            count++;
        }
    }
    guess->median_ns = exp(sy_estimate_prior(roofline, cost_count, point) + sum / count);
    guess->log_sigma = UNSEEN_SIGMA;
    guess->model = true;
}

int sy_estimator_guess(const struct sy_estimator *estimator, const char *kernel,
                       const char *class_name, uint32_t width, const double *costs,
                       uint32_t cost_count, struct sy_guess *ret_guess) {
    const struct sy_roofline *roofline = sy_estimate_roofline(estimator, class_name);
    struct model *model = find_model(estimator, kernel, class_name);
    if (!model && !roofline) {
        return -ENOENT;
    }
    if (cost_count < 2 || cost_count > SY_PIPELINE_COST_MAX || width == 0 ||
        (model && model->cost_count != cost_count)) {
        return -EINVAL;
    }
    double point[AXES];
    for (uint32_t i = 0; i < cost_count; i++) {
        if (!positive(costs[i])) {
            return -EINVAL;
        }
        point[i] = log(costs[i]);
    }
    point[cost_count] = log(width);
    struct sy_guess guess = {0};
    guess_watts(model, roofline, point, width, &guess);
    if (!model) {
        guess_unseen(estimator, roofline, cost_count, point, &guess);
    } else {
        double log_time;
        fresh(estimator, model, roofline);
        sy_estimate_predict(model, roofline, point, &log_time, &guess.log_sigma);
        guess.median_ns = exp(log_time);
        for (uint32_t i = 0; i < model->cell_count; i++) {
            guess.sample_count += model->cells[i].sample_count;
            guess.model |= model->cells[i].model;
        }
    }
    *ret_guess = guess;
    return 0;
}
