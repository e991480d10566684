/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of input, and what is believed and known of each.
 */
#include "planner/replan.h"
#include <math.h>
#include <string.h>

#define SURE_SIGMA 0.03 /* in log time: nothing to learn by running it */

/* What may be zero is counted from one, so that a little more than nothing is not a drift. */
static double scale_of(const struct sy_pipeline_feature *feature, double value) {
    return feature->low > 0 ? value : 1 + fabs(value);
}

/* The largest ratio between features. */
static double ratio_of(const struct sy_pipeline *pipeline, const double *a, const double *b) {
    double most = 1;
    for (uint32_t i = 0; i < pipeline->feature_count; i++) {
        double x = scale_of(&pipeline->features[i], a[i]);
        double y = scale_of(&pipeline->features[i], b[i]);
        most = sy_most(most, sy_most(x, y) / sy_least(x, y));
    }
    return most;
}

struct kind *sy_replan_find(struct sy_replanner *replanner, const double *values) {
    double most = replanner->options.drift_ratio * (1 + 1e-12), least = most;
    struct kind *found = NULL;
    for (uint32_t i = 0; i < KINDS; i++) {
        struct kind *kind = &replanner->kinds[i];
        double ratio = kind->stamp ? ratio_of(replanner->pipeline, kind->values, values) : INFINITY;
        if (kind == replanner->current && ratio <= most) {
            return kind;
        }
        if (ratio <= least) {
            found = kind;
            least = ratio;
        }
    }
    return found;
}

struct kind *sy_replan_claim(struct sy_replanner *replanner, const double *values) {
    const struct sy_pipeline *pipeline = replanner->pipeline;
    struct kind *oldest = &replanner->kinds[0];
    for (uint32_t i = 1; i < KINDS; i++) {
        if (replanner->kinds[i].stamp < oldest->stamp) {
            oldest = &replanner->kinds[i];
        }
    }
    struct kind fresh = {.values = oldest->values,
                         .numbers = oldest->numbers,
                         .heard = oldest->heard,
                         .arena = oldest->arena};
    memcpy(fresh.values, values, pipeline->feature_count * sizeof(*values));
    memset(fresh.heard, 0, pipeline->kernel_count * SHAPE_ROOM / 8);
    *oldest = fresh;
    return oldest;
}

int sy_replan_refresh(struct sy_replanner *replanner, struct kind *kind, struct sy_error *error) {
    struct sy_arena *arena = sy_arena_create();
    struct sy_plan_problem problem;
    const struct sy_estimate *estimates = NULL;
    if (!arena) {
        return sy_out_of_memory(error);
    }
    int rc = sy_pipeline_measure(replanner->pipeline, kind->values, kind->numbers, error);
    if (!rc) {
        rc = sy_pipeline_problem(replanner->pipeline, kind->values, &replanner->system,
                                 replanner->store, 0, arena, &problem, &estimates, error);
    }
    if (rc) {
        sy_arena_destroy(arena);
        return rc;
    }
    sy_arena_destroy(kind->arena);
    kind->arena = arena;
    kind->problem = problem;
    kind->estimates = estimates;
    return 0;
}

double sy_replan_value(const struct sy_replanner *replanner, const struct kind *kind,
                       struct sy_plan *plan) {
    const struct sy_plan_request *request = &replanner->options.request;
    struct sy_plan_outcome outcome;
    if (sy_plan_evaluate(&kind->problem, &request->bounds, plan, &outcome, NULL) ||
        !sy_plan_within(&request->bounds, &outcome)) {
        return INFINITY;
    }
    plan->outcome = outcome;
    return sy_replan_promise(replanner, &kind->problem, plan);
}

bool sy_replan_same(const struct sy_plan *a, const struct sy_plan *b) {
    if (a->stage_count != b->stage_count || a->lane_count != b->lane_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->stage_count; i++) {
        const struct sy_plan_stage *x = &a->stages[i], *y = &b->stages[i];
        if (x->kernels != y->kernels || x->shape != y->shape || x->replicas != y->replicas ||
            x->lane != y->lane) {
            return false;
        }
    }
    return true;
}

bool sy_replan_unheard(const struct kind *kind, const struct sy_plan *plan, bool unsure) {
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const struct sy_plan_stage *stage = &plan->stages[s];
        for (uint32_t k = 0; k < kind->problem.kernel_count; k++) {
            uint32_t bit = k * SHAPE_ROOM + stage->shape;
            bool heard = kind->heard[bit / 64] >> bit % 64 & 1;
            double sigma = kind->estimates[k * kind->problem.shape_count + stage->shape].log_sigma;
            if ((stage->kernels >> k & 1) && !heard && (!unsure || sigma > SURE_SIGMA)) {
                return true;
            }
        }
    }
    return false;
}
