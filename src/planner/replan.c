/* SPDX-License-Identifier: Apache-2.0
 *
 * The replanner: items come and are given plans, times come back, perhaps some items later. Finds
 * the kind of input of an item, and asks replan_decide.c when there is something to decide.
 * Invariant: a plan changes at an item whose features moved, or after something new was learned.
 */
#include "planner/replan.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNDO_SPAN     20.0 /* in logs: what splitting may at most change */
#define UNDO_STEPS    60
#define SURPRISE_MOST 5.0 /* sigmas: more may be an accident */
#define WAIT_MOST     32  /* items until kernels of a plan that are not heard of are given up */

const struct sy_replan_options sy_replan_usual = {
    .request = {.objective = SY_PLAN_THROUGHPUT,
                .bounds = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY}},
    .optimism = 2,
    .probe_max = 4,
    .gain_ratio = 1.03,
    .drift_ratio = 1.1,
};

const char *sy_replan_cause_name(enum sy_replan_cause cause) {
    static const char *const names[] = {"kept", "first", "drift", "probe", "learned"};
    return cause < SY_COUNT(names) ? names[cause] : NULL;
}

static int check(const struct sy_replan_options *options, struct sy_error *error) {
    if (!isfinite(options->optimism) || options->optimism < 0) {
        return sy_fail(error, -EINVAL, "optimism %g is not a number from 0 on", options->optimism);
    }
    if (!(options->gain_ratio >= 1) || !(options->drift_ratio >= 1)) {
        return sy_fail(error, -EINVAL, "a ratio of gain or drift is below 1");
    }
    if (options->probe_max == 0) {
        return sy_fail(error, -EINVAL, "at least one plan must be tried");
    }
    return 0;
}

static int make_room(struct sy_replanner *replanner) {
    const struct sy_pipeline *pipeline = replanner->pipeline;
    struct sy_arena *arena = replanner->arena;
    replanner->numbers = sy_arena_alloc(arena, pipeline->expression_count + 1, sizeof(double));
    bool failed = !replanner->numbers;
    for (uint32_t i = 0; i < KINDS && !failed; i++) {
        struct kind *kind = &replanner->kinds[i];
        kind->values = sy_arena_alloc(arena, pipeline->feature_count + 1, sizeof(double));
        kind->numbers = sy_arena_alloc(arena, pipeline->expression_count + 1, sizeof(double));
        kind->heard = sy_arena_alloc(arena, pipeline->kernel_count, SHAPE_ROOM / 8);
        failed = !kind->values || !kind->numbers || !kind->heard;
    }
    return failed ? -ENOMEM : 0;
}

int sy_replanner_create(const struct sy_pipeline *pipeline, const struct sy_system *system,
                        struct sy_store *store, const struct sy_replan_options *options,
                        struct sy_replanner **ret_replanner, struct sy_error *error) {
    int rc = check(options, error);
    if (rc) {
        return rc;
    }
    struct sy_replanner *replanner = calloc(1, sizeof(*replanner));
    if (!replanner) {
        return sy_out_of_memory(error);
    }
    replanner->pipeline = pipeline;
    replanner->system = *system;
    replanner->store = store;
    replanner->options = *options;
    replanner->arena = sy_arena_create();
    replanner->planner = sy_planner_create();
    if (!replanner->arena || !replanner->planner || make_room(replanner)) {
        sy_replanner_destroy(replanner);
        return sy_out_of_memory(error);
    }
    *ret_replanner = replanner;
    return 0;
}

void sy_replanner_destroy(struct sy_replanner *replanner) {
    if (!replanner) {
        return;
    }
    for (uint32_t i = 0; i < KINDS; i++) {
        sy_arena_destroy(replanner->kinds[i].arena);
    }
    sy_planner_destroy(replanner->planner);
    sy_arena_destroy(replanner->arena);
    free(replanner->time_ns);
    free(replanner);
}

/* --- items --------------------------------------------------------------------------------------
 */
static int fix(struct sy_replanner *replanner, const double *values, struct sy_error *error) {
    struct kind *kind = sy_replan_claim(replanner, values);
    struct sy_plan plan = {0};
    int rc = sy_replan_refresh(replanner, kind, error);
    if (!rc) {
        rc = sy_plan_parse(&kind->problem, replanner->options.fixed, &plan, error);
    }
    if (!rc) {
        rc = sy_plan_evaluate(&kind->problem, &replanner->options.request.bounds, &plan,
                              &plan.outcome, error);
    }
    if (rc) {
        return rc;
    }
    kind->plan = plan;
    kind->stamp = 1;
    replanner->current = kind;
    return 0;
}

/* Asks for a decision where there is one; cause: why the plan changes, if it does. */
static int decide(struct sy_replanner *replanner, struct kind *kind, enum sy_replan_cause *cause,
                  struct sy_error *error) {
    *cause = kind == replanner->current ? SY_REPLAN_LEARNED : SY_REPLAN_DRIFT;
    if (kind->probing) {
        if (sy_replan_unheard(kind, &kind->plan, false) && kind->waited++ < WAIT_MOST) {
            return 0;
        }
        int rc = sy_replan_probe(replanner, kind, error);
        *cause = kind->probing ? SY_REPLAN_PROBE : *cause;
        return rc;
    }
    if (kind->contradicted && kind->patience > 0) {
        kind->patience--;
    } else if (kind->contradicted) {
        int rc = sy_replan_reconsider(replanner, kind, error);
        *cause = kind->probing ? SY_REPLAN_PROBE : *cause;
        return rc;
    }
    return 0;
}

/* Without a plan for them nothing changes. The current kind is the newest: never claimed. */
static int next_kind(struct sy_replanner *replanner, const double *values,
                     enum sy_replan_cause *cause, struct sy_error *error) {
    struct kind *kind = sy_replan_find(replanner, values);
    int rc = 0;
    if (kind) {
        rc = decide(replanner, kind, cause, error);
    } else {
        kind = sy_replan_claim(replanner, values);
        *cause = replanner->current ? SY_REPLAN_DRIFT : SY_REPLAN_FIRST;
        rc = sy_replan_begin(replanner, kind, error);
    }
    if (rc) {
        return rc;
    }
    kind->stamp = replanner->item;
    replanner->current = kind;
    return 0;
}

int sy_replanner_next(struct sy_replanner *replanner, const double *values,
                      const struct sy_plan **ret_plan, enum sy_replan_cause *ret_cause,
                      struct sy_error *error) {
    enum sy_replan_cause cause = SY_REPLAN_KEPT;
    bool first = replanner->item == 0;
    int rc = 0;
    replanner->item++;
    if (!replanner->options.fixed) {
        rc = next_kind(replanner, values, &cause, error);
    } else if (first) {
        rc = fix(replanner, values, error);
    }
    if (rc) {
        replanner->item--;
        return rc;
    }
    const struct sy_plan *plan = &replanner->current->plan;
    if (first) {
        cause = SY_REPLAN_FIRST;
    } else if (sy_replan_same(plan, &replanner->last)) {
        cause = SY_REPLAN_KEPT;
    }
    replanner->last = *plan;
    *ret_plan = &replanner->last;
    *ret_cause = cause;
    return 0;
}

const struct sy_plan_problem *sy_replanner_problem(const struct sy_replanner *replanner) {
    return replanner->current ? &replanner->current->problem : NULL;
}

/* --- times --------------------------------------------------------------------------------------
 */
static struct sy_cost_sample sample_of(const struct sy_replanner *replanner, uint32_t kernel,
                                       const struct sy_plan_shape *shape, const double *numbers,
                                       double *costs) {
    const struct sy_pipeline_kernel *what = &replanner->pipeline->kernels[kernel];
    const struct sy_system_class *class = &replanner->system.classes[shape->class_index];
    return (struct sy_cost_sample){
        .kernel = what->kernel,
        .class_name = class->name,
        .features = sy_pipeline_features(what, numbers, shape->width, costs),
        /* There is no board behind FPGAs yet: their times are a model's. */
        .modelled = class->kind == SY_FPGA};
}

static struct sy_estimate estimate_of(const struct sy_replanner *replanner,
                                      const struct sy_cost_sample *sample) {
    return sy_estimate(replanner->store, sample->kernel, sample->class_name, &sample->features);
}

/* How wrong are estimates, by their own measure, where something is measured for the first time? */
static void be_surprised(struct sy_replanner *replanner, const struct sy_cost_sample *sample) {
    struct sy_estimate estimate = estimate_of(replanner, sample);
    if (estimate.source != SY_COST_UNKNOWN) {
        double error = log(sample->time_ns / estimate.median_ns) / estimate.log_sigma;
        replanner->surprise += sy_least(error * error, SURPRISE_MOST * SURPRISE_MOST);
        replanner->surprise_count++;
    }
}

/* Does the time that is believed now differ from the one the plan was made with? */
static void compare(struct sy_replanner *replanner, struct kind *kind, uint32_t kernel,
                    uint32_t shape) {
    const struct sy_plan_shape *where = &kind->problem.shapes[shape];
    double costs[SY_PIPELINE_COST_MAX];
    struct sy_cost_sample sample = sample_of(replanner, kernel, where, kind->numbers, costs);
    struct sy_estimate estimate = estimate_of(replanner, &sample);
    if (estimate.source == SY_COST_UNKNOWN) {
        return;
    }
    double slowdown = replanner->system.classes[where->class_index].slowdown;
    double believed_ns = kind->problem.time_ns[kernel * kind->problem.shape_count + shape];
    double off = fabs(log(estimate.median_ns * slowdown / believed_ns));
    kind->contradicted |= off > log(replanner->options.gain_ratio);
}

/* What one device would have taken, where splitting is known: by halving, as it may be any function
 * that grows. */
static void undo_split(const struct sy_system *system, const struct sy_plan_shape *where,
                       struct sy_cost_sample *sample) {
    double low = log(sample->time_ns) - UNDO_SPAN, high = log(sample->time_ns) + UNDO_SPAN;
    if (!system->split_ns || where->width == 1 || !isfinite(low)) {
        return;
    }
    for (int i = 0; i < UNDO_STEPS; i++) {
        double middle = (low + high) / 2;
        bool longer = system->split_ns(system->split_user, where->class_index, where->width,
                                       exp(middle), sample->features.values) > sample->time_ns;
        *(longer ? &high : &low) = middle;
    }
    sample->time_ns = exp(low);
    sample->watts /= where->width;
    sample->features.width = 1;
}

int sy_replanner_learn(struct sy_replanner *replanner, const double *values, uint32_t kernel,
                       uint32_t shape, double time_ns, double watts) {
    const struct sy_plan_problem *problem = sy_replanner_problem(replanner);
    if (!problem || kernel >= problem->kernel_count || shape >= problem->shape_count) {
        return -EINVAL;
    }
    int rc = sy_pipeline_measure(replanner->pipeline, values, replanner->numbers, NULL);
    if (rc) {
        return rc;
    }
    const struct sy_plan_shape *where = &problem->shapes[shape];
    double costs[SY_PIPELINE_COST_MAX];
    struct sy_cost_sample sample = sample_of(replanner, kernel, where, replanner->numbers, costs);
    sample.time_ns = time_ns / replanner->system.classes[where->class_index].slowdown;
    sample.watts = watts;
    undo_split(&replanner->system, where, &sample);
    struct kind *kind = sy_replan_find(replanner, values);
    uint32_t word = (kernel * SHAPE_ROOM + shape) / 64;
    uint64_t bit = UINT64_C(1) << (kernel * SHAPE_ROOM + shape) % 64;
    if (kind && !(kind->heard[word] & bit) && isfinite(time_ns) && time_ns > 0) {
        be_surprised(replanner, &sample);
    }
    rc = sy_store_observe(replanner->store, &sample);
    if (!rc && kind) {
        kind->heard[word] |= bit;
        compare(replanner, kind, kernel, shape);
    }
    return rc;
}
