/* SPDX-License-Identifier: Apache-2.0
 *
 * How long does this kernel take there: the one question, and who answers it. Sizes are answered by
 * what was measured at or around them (sizes.c), costs by a Gaussian process (estimate_fit.c), and
 * what was never seen by the roofline of the class.
 *
 * In: samples, rooflines. Out: estimates. Invariants: a guess depends on the samples and guesses
 * before it alone; memory grows with groups, never with samples of costs.
 */
#include "cost/store.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define JUDGE_LEAST         10   /* cells before guesses are judged */
#define JUDGE_MEMORY        32.0 /* guesses that count */
#define JUDGE_MOST          9.0  /* one accident is not the rule */
#define NEAR_WATTS_SIGMA    0.2  /* of power that was read at other points */
#define ASSUMED_WATTS_SIGMA 0.4
#define UNSEEN_SIGMA        0.7 /* of a kernel's distance to the roofline */
#define UNSEEN_MOST         256 /* kernels that say what that distance is */

/* --- rooflines ----------------------------------------------------------------------------------
 */
/* NULL: the class has none. */
static const struct sy_roofline *roofline_of(const struct sy_store *store, const char *class_name) {
    uint32_t i =
        sy_index_of(class_name, store->rooflines, store->roofline_count, sizeof *store->rooflines);
    return i == SY_NONE ? NULL : &store->rooflines[i];
}

static bool positive(double value) {
    return isfinite(value) && value > 0;
}

int sy_store_set_roofline(struct sy_store *store, const struct sy_roofline *roofline) {
    if (!roofline->class_name || !positive(roofline->flops_per_s) ||
        !positive(roofline->bytes_per_s) || !isfinite(roofline->launch_ns) ||
        roofline->launch_ns < 0) {
        return -EINVAL;
    }
    const struct sy_roofline *known = roofline_of(store, roofline->class_name);
    size_t at = known ? (size_t)(known - store->rooflines) : store->roofline_count;
    if (at == SY_COUNT(store->rooflines)) {
        return -ENOSPC;
    }
    const char *name =
        known ? known->class_name : sy_arena_strdup(store->arena, roofline->class_name);
    if (!name) {
        return -ENOMEM;
    }
    store->rooflines[at] = *roofline;
    store->rooflines[at].class_name = name;
    store->roofline_count += !known;
    for (uint32_t i = 0; i < store->group_count; i++) {
        for (struct sy_group *group = store->group_list[i]; group; group = group->next) {
            if (group->model) {
                group->model->stale = true; /* the prior has changed */
            }
        }
    }
    return 0;
}

/* --- learning -----------------------------------------------------------------------------------
 */
static void fresh(const struct sy_store *store, struct model *model,
                  const struct sy_roofline *roofline) {
    if (model->stale) {
        sy_estimate_fit(model, roofline, store->bench);
    }
}

/* Was the guess at a new point as sure as it said? */
static void judge(const struct sy_store *store, struct model *model,
                  const struct sy_roofline *roofline, const double *point, double log_time) {
    if (model->cell_count < JUDGE_LEAST) {
        return;
    }
    double guess, sigma, share = 1.0 / (1 + sy_least(model->surprise_count, JUDGE_MEMORY));
    fresh(store, model, roofline);
    sy_estimate_predict(model, roofline, point, &guess, &sigma);
    sigma /= sqrt(sy_most(model->surprise, 1)); /* as the fit alone says */
    double square = (log_time - guess) * (log_time - guess) / (sigma * sigma);
    model->surprise += share * (sy_least(square, JUDGE_MOST) - model->surprise);
    model->surprise_count++;
}

/* The newest times of a cell. */
static void learn(struct model *model, const struct sy_cell *cell, uint32_t index, uint64_t count) {
    float times_ns[SY_CELL_SAMPLES];
    uint32_t known = sy_cell_last(cell, count, times_ns);
    for (uint32_t i = 0; i < known; i++) {
        sy_estimate_learn(model, index, log((double)times_ns[i]));
    }
    model->cell_count += index == model->cell_count;
}

/* As if the model had been there from the start. */
static void wake(const struct sy_store *store, struct sy_group *group,
                 const struct sy_roofline *roofline) {
    struct model *model = group->model;
    for (uint32_t i = 0; i < group->count && !model->asked; i++) {
        judge(store, model, roofline, model->cells[i].point, log(group->cells[i]->median_ns));
        model->replaced++;
        learn(model, group->cells[i], i, SY_CELL_SAMPLES);
    }
    model->asked = true;
    fresh(store, model, roofline);
}

static void log_features(const struct sy_features *features, double *ret_point) {
    for (uint32_t i = 0; i < features->count; i++) {
        ret_point[i] = log(features->values[i]);
    }
    ret_point[features->count] = log(features->width);
}

/* A new cell, or the one that is missed least. SY_NONE: out of memory. */
static uint32_t take_cell(struct sy_store *store, struct sy_group *group,
                          const struct sy_features *features, const double *point) {
    uint32_t index = group->count < CELLS ? group->count : sy_estimate_least_useful(group);
    if (index == group->made && !sy_store_add_cell(store, group)) {
        return SY_NONE;
    }
    struct sy_cell *cell = group->cells[index];
    struct cell *learned = &group->model->cells[index];
    sy_cell_reset(cell);
    memcpy(cell->values, features->values, features->count * sizeof *cell->values);
    cell->features.width = features->width;
    *learned = (struct cell){0};
    memcpy(learned->point, point, (features->count + 1) * sizeof *point);
    group->count += index == group->count;
    group->model->replaced += group->model->asked;
    return index;
}

int sy_group_observe(struct sy_store *store, struct sy_group *group,
                     const struct sy_cost_sample *sample, uint64_t build, bool saved) {
    const struct sy_roofline *roofline = roofline_of(store, group->class_name);
    struct model *model = group->model;
    double point[AXES], shift = 0;
    log_features(&sample->features, point);
    if (group->build != build) {
        sy_group_reset(group); /* what an older build took is of no use once there is this */
        group->build = build;
    }
    uint32_t index = sy_estimate_find(group, point);
    if (index == SY_NONE) {
        if (model->asked) {
            judge(store, model, roofline, point, log(sample->time_ns));
        }
        index = take_cell(store, group, &sample->features, point);
        if (index == SY_NONE) {
            return -ENOMEM;
        }
    } else {
        shift = sy_estimate_prior(roofline, group->name_count, model->cells[index].point) -
                sy_estimate_prior(roofline, group->name_count, point);
    }
    struct sy_cell *cell = group->cells[index];
    if (cell->sample_count && cell->modelled != sample->modelled) {
        if (sample->modelled) {
            return 0; /* it was measured: no model knows better */
        }
        sy_cell_reset(cell);
        model->cells[index].recent_count = 0;
    }
    cell->modelled = sample->modelled;
    sy_cell_add(cell, sample, build, exp(shift));
    cell->stamp = ++group->clock;
    cell->saved_count = saved ? cell->sample_count : cell->saved_count;
    if (isfinite(sample->watts) && sample->watts >= 0) {
        cell->watts = sample->watts;
    }
    if (model->asked) {
        learn(model, cell, index, sample->times_ns ? sample->time_count : 1);
    }
    return 0;
}

void sy_group_reset(struct sy_group *group) {
    for (uint32_t i = 0; i < group->count; i++) {
        sy_cell_reset(group->cells[i]);
    }
    sy_group_outdate(group);
    if (group->model) {
        bool asked = group->model->asked;
        memset(group->model, 0, sizeof *group->model);
        group->model->cost_count = group->name_count;
        group->model->asked = asked;
        group->count = 0;
    }
}

/* --- answers ------------------------------------------------------------------------------------
 */
static void guess_watts(const struct sy_group *group, const struct sy_roofline *roofline,
                        const double *point, uint32_t width, struct sy_estimate *estimate) {
    double far = INFINITY, watts = group ? sy_estimate_watts(group, point, &far) : NAN;
    estimate->watts_sigma = NEAR_WATTS_SIGMA * sy_least(far, 1);
    if (!isfinite(watts)) {
        estimate->watts_sigma = ASSUMED_WATTS_SIGMA;
        watts = roofline ? roofline->busy_watts : NAN;
    }
    estimate->watts = watts * width;
}

/* Costs of the build that runs, as far as that is known. */
static bool speaks(const struct sy_group *group) {
    return group && group->model && group->count > 0 &&
           (!group->wanted || !group->build || group->build == group->wanted);
}

/* The roofline, as far from it as other kernels of the class are, one of which is on it. */
static void guess_unseen(const struct sy_store *store, const struct sy_roofline *roofline,
                         uint32_t cost_count, const double *point, struct sy_estimate *estimate) {
    double distances[UNSEEN_MOST] = {0};
    uint32_t count = 1;
    for (uint32_t i = 0; i < store->group_count; i++) {
        for (struct sy_group *group = store->group_list[i]; group; group = group->next) {
            if (count < UNSEEN_MOST && speaks(group) &&
                strcmp(group->class_name, roofline->class_name) == 0) {
                wake(store, group, roofline);
                distances[count++] = group->model->distance;
            }
        }
    }
    estimate->median_ns =
        exp(sy_estimate_prior(roofline, cost_count, point) + sy_quantile(distances, count, 0.5));
    estimate->log_sigma = UNSEEN_SIGMA;
    estimate->source = SY_COST_ROOFLINE;
}

static struct sy_estimate estimate_costs(const struct sy_store *store, struct sy_group *group,
                                         const char *class_name,
                                         const struct sy_features *features) {
    const struct sy_roofline *roofline = roofline_of(store, class_name);
    struct sy_estimate estimate = sy_estimate_unknown;
    double point[AXES];
    group = speaks(group) ? group : NULL;
    if (!group && !roofline) {
        return estimate;
    }
    log_features(features, point);
    guess_watts(group, roofline, point, features->width, &estimate);
    if (!group) {
        guess_unseen(store, roofline, features->count, point, &estimate);
        return estimate;
    }
    double log_time;
    bool here = sy_estimate_find(group, point) != SY_NONE;
    wake(store, group, roofline);
    sy_estimate_predict(group->model, roofline, point, &log_time, &estimate.log_sigma);
    estimate.median_ns = exp(log_time);
    estimate.source = here ? SY_COST_MEASURED : SY_COST_REGRESSED;
    for (uint32_t i = 0; i < group->count; i++) {
        estimate.sample_count += group->cells[i]->sample_count;
        estimate.source = group->cells[i]->modelled ? SY_COST_MODEL : estimate.source;
    }
    return estimate;
}

static struct sy_estimate estimate_sizes(struct sy_group *group, const double *sizes) {
    return group ? sy_group_estimate(group, sizes[SY_BYTES], sizes[SY_FLOPS]) : sy_estimate_unknown;
}

struct sy_estimate sy_estimate(const struct sy_store *store, const char *kernel,
                               const char *class_name, const struct sy_features *features) {
    if (!sy_features_sound(features)) {
        return sy_estimate_unknown;
    }
    struct sy_group *group = sy_store_group(store, &store->names, kernel, class_name, features);
    if (features->names) {
        return estimate_costs(store, group, class_name, features);
    }
    struct sy_estimate own = estimate_sizes(group, features->values);
    if (own.source != SY_COST_UNKNOWN) {
        return own;
    }
    group = sy_store_group(store, &store->aliases, kernel, class_name, features);
    return estimate_sizes(group, features->values);
}

/* --- a copy -------------------------------------------------------------------------------------
 */
static int copy_group(struct sy_store *to, const struct sy_group *from) {
    int code = sy_store_set_build(to, from->kernel, from->wanted);
    for (uint32_t i = 0; i < from->count && !code; i++) {
        float times_ns[SY_CELL_SAMPLES];
        struct sy_cost_sample sample =
            sy_cell_sample(from->cells[i], from->cells[i]->sample_count, times_ns);
        code = sy_store_add(to, &sample, false);
    }
    const struct sy_features features = {.count = from->name_count, .names = from->names};
    struct sy_group *group =
        sy_store_group(to, &to->names, from->kernel, from->class_name, &features);
    if (!code && group) {
        *group->model = *from->model;
    }
    return code;
}

struct sy_store *sy_store_copy(const struct sy_store *store) {
    struct sy_store *copy = sy_store_create();
    int code = copy ? 0 : -ENOMEM;
    for (uint32_t i = 0; !code && i < store->roofline_count; i++) {
        code = sy_store_set_roofline(copy, &store->rooflines[i]);
    }
    for (uint32_t i = 0; !code && i < store->group_count; i++) {
        for (const struct sy_group *group = store->group_list[i]; group && !code;
             group = group->next) {
            code = group->model ? copy_group(copy, group) : 0;
        }
    }
    if (code) {
        sy_store_close(copy);
        return NULL;
    }
    return copy;
}
