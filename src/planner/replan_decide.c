/* SPDX-License-Identifier: Apache-2.0
 *
 * Which plan a kind of input gets. First the best by medians. While probing: when all of a plan was
 * heard of, the best by lower bounds of the times, if it promises more than what is known and is
 * not known itself. In the end the best by medians again. A plan in place gives way to one that is
 * better by gain_ratio only. Paper: DyPe replans when the data change (docs/PAPERS.md); to try what
 * might be better is ours.
 */
#include "planner/replan.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROMISE_RATIO 1.005 /* a probe must promise at least so much */
#define SETTLED_RATIO 1.001 /* when probing ends a plan may change for so little */
#define TRUST_WEIGHT  4.0   /* first measurements that estimates are trusted for */
#define DISTRUST_MOST 3.0
#define PATIENCE_MOST 64
#define RELAPSE_RATIO 1.1 /* so much worse than believed: probe again */

static int solve_medians(struct sy_replanner *replanner, struct kind *kind, struct sy_plan *plan,
                         struct sy_error *error) {
    return sy_replan_solve(replanner, &kind->problem, plan, error);
}

/* Estimates that turned out surer than right are trusted less. */
static double optimism_of(const struct sy_replanner *replanner) {
    double square =
        (TRUST_WEIGHT + replanner->surprise) / (TRUST_WEIGHT + replanner->surprise_count);
    return replanner->options.optimism * sy_least(sy_most(sqrt(square), 1), DISTRUST_MOST);
}

/* The same problem with times that are as short as they may well be. */
static int solve_optimistic(struct sy_replanner *replanner, struct kind *kind, struct sy_plan *plan,
                            struct sy_error *error) {
    struct sy_plan_problem problem = kind->problem;
    uint32_t count = problem.kernel_count * problem.shape_count;
    if (replanner->room < count) {
        free(replanner->time_ns);
        replanner->time_ns = calloc(2 * (size_t)count, sizeof(*replanner->time_ns));
        replanner->room = replanner->time_ns ? count : 0;
    }
    if (!replanner->time_ns) {
        return sy_out_of_memory(error);
    }
    double optimism = optimism_of(replanner);
    double *time_ns = replanner->time_ns, *joules = replanner->time_ns + replanner->room;
    for (uint32_t i = 0; i < count; i++) {
        double factor = exp(-optimism * kind->estimates[i].log_sigma);
        bool runs = isfinite(problem.time_ns[i]);
        time_ns[i] = runs ? problem.time_ns[i] * factor : problem.time_ns[i];
        factor *= exp(-optimism * kind->estimates[i].watts_sigma);
        joules[i] = runs ? problem.joules[i] * factor : problem.joules[i];
    }
    problem.time_ns = time_ns;
    problem.joules = joules;
    return sy_replan_solve(replanner, &problem, plan, error);
}

static void follow(struct kind *kind, const struct sy_plan *plan, bool probing) {
    kind->plan = *plan;
    kind->probing = probing;
    kind->waited = 0;
    kind->contradicted = false;
}

int sy_replan_begin(struct sy_replanner *replanner, struct kind *kind, struct sy_error *error) {
    struct sy_plan plan;
    int rc = sy_replan_refresh(replanner, kind, error);
    if (!rc) {
        rc = solve_medians(replanner, kind, &plan, error);
    }
    if (rc) {
        return rc;
    }
    kind->value = sy_replan_promise(replanner, &kind->problem, &plan);
    if (replanner->current) {
        /* What runs may stay, if it is about as good here. */
        struct sy_plan last = replanner->last;
        double value = sy_replan_value(replanner, kind, &last);
        if (value <= replanner->options.gain_ratio * kind->value) {
            plan = last;
            kind->value = value;
        }
    }
    kind->home = plan;
    kind->tried = 1;
    kind->gain_ratio = SETTLED_RATIO;
    follow(kind, &plan, true);
    return 0;
}

/* The best by medians, unless home is about as good. */
static void settle(struct sy_replanner *replanner, struct kind *kind, const struct sy_plan *best,
                   double best_value) {
    double value = sy_replan_value(replanner, kind, &kind->home);
    if (value > kind->gain_ratio * best_value) {
        kind->home = *best;
        value = best_value;
    }
    kind->value = value;
    kind->proven = !sy_replan_unheard(kind, &kind->home, false);
    kind->gain_ratio = replanner->options.gain_ratio;
    follow(kind, &kind->home, false);
}

/* Plans that keep the bounds may have gone with what was learned: then what runs goes on. */
static int without_plan(struct kind *kind, int rc, struct sy_error *error) {
    if (rc == -ENOMEM) {
        return rc;
    }
    if (error) {
        *error = (struct sy_error){0};
    }
    follow(kind, &kind->home, false);
    return 0;
}

/* One more probe, or the end of them. */
static int go_on(struct sy_replanner *replanner, struct kind *kind, struct sy_error *error) {
    struct sy_plan best, hopeful;
    int rc = solve_medians(replanner, kind, &best, error);
    if (rc) {
        return without_plan(kind, rc, error);
    }
    double value = sy_replan_promise(replanner, &kind->problem, &best);
    if (kind->tried < replanner->options.probe_max) {
        rc = solve_optimistic(replanner, kind, &hopeful, error);
        if (rc) {
            return without_plan(kind, rc, error);
        }
        double hope = sy_replan_promise(replanner, &kind->problem, &hopeful);
        if (hope * PROMISE_RATIO < value && sy_replan_unheard(kind, &hopeful, true)) {
            sy_replan_value(replanner, kind, &hopeful);
            kind->tried++;
            follow(kind, &hopeful, true);
            return 0;
        }
    }
    settle(replanner, kind, &best, value);
    return 0;
}

int sy_replan_probe(struct sy_replanner *replanner, struct kind *kind, struct sy_error *error) {
    int rc = sy_replan_refresh(replanner, kind, error);
    return rc ? rc : go_on(replanner, kind, error);
}

int sy_replan_reconsider(struct sy_replanner *replanner, struct kind *kind,
                         struct sy_error *error) {
    const struct sy_replan_options *options = &replanner->options;
    struct sy_plan before = kind->home;
    double believed = kind->value;
    int rc = sy_replan_refresh(replanner, kind, error);
    if (rc) {
        return rc;
    }
    /* Worse than it was, not than was hoped: what promised too little then may promise enough now.
     */
    double value = sy_replan_value(replanner, kind, &kind->home);
    if (kind->proven && value > RELAPSE_RATIO * believed) {
        uint32_t more = options->probe_max / 2;
        kind->tried = kind->tried > more ? kind->tried - more : 1;
    }
    rc = go_on(replanner, kind, error);
    if (rc) {
        return rc;
    }
    bool changed = !sy_replan_same(&before, &kind->plan);
    kind->fruitless = changed ? 0 : kind->fruitless + 1;
    kind->patience = kind->fruitless < 6 ? 1u << kind->fruitless : PATIENCE_MOST;
    return 0;
}
