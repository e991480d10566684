/* SPDX-License-Identifier: Apache-2.0
 *
 * greedy-true improved by rollouts: before the run it replays the hidden world many times under
 * greedy-true (in the same job order) with perturbed ranks, jobs and devices, climbs to the best
 * perturbation, and then acts as greedy-true with it. It shows what could be gained at least, and
 * is no policy for use. The argument is the number of rollouts ("greedy-true-rollout:200"), 64 if
 * none is given.
 */
#include "schedulers/late_binding.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static size_t scale_count(const struct sy_view *view) {
    return view->task_capacity + 1u + (size_t)view->kernel_count * view->machine->class_count;
}

/* A trial moves some jobs as a whole, some tasks within their jobs, or some kernels away from a
 * class of devices or to it; always less. */
static void perturb(struct policy *p, const struct sy_view *view, double left, const double *best,
                    double *trial) {
    double jobs = sy_rng_uniform(&p->rng), tasks = sy_rng_uniform(&p->rng);
    double job_share = jobs < 0.3 ? 0 : exp(-3 * sy_rng_uniform(&p->rng));
    double task_share = tasks < 0.3 ? 0 : sy_rng_uniform(&p->rng);
    double job_sigma = 1.0 * left + 0.1, task_sigma = 0.5 * left + 0.05, moved = 1;
    for (uint32_t t = 0; t < view->task_capacity; t++) {
        bool first = t == 0 || view->task_job[t] != view->task_job[t - 1];
        if (first) {
            bool job = sy_rng_uniform(&p->rng) < job_share;
            moved = job ? exp(job_sigma * sy_rng_normal(&p->rng)) : 1;
        }
        bool task = !first && sy_rng_uniform(&p->rng) < task_share;
        trial[t] = best[t] * moved * (task ? exp(task_sigma * sy_rng_normal(&p->rng)) : 1);
    }
    double places = sy_rng_uniform(&p->rng);
    double place_share = places < 0.3 ? 0 : exp(-3 * sy_rng_uniform(&p->rng));
    for (size_t i = view->task_capacity; i < scale_count(view); i++) {
        bool place = sy_rng_uniform(&p->rng) < place_share;
        trial[i] = best[i] * (place ? exp(job_sigma * sy_rng_normal(&p->rng)) : 1);
    }
}

static int improve(struct late *l, const struct sy_policy_setup *world, const struct sy_view *view,
                   double *best, double *trial) {
    uint64_t rounds = l->base.argument ? l->base.argument : 64;
    char greedy[32];
    snprintf(greedy, sizeof greedy, "greedy-true+%s", sy_order_at(l->base.order));
    double best_value =
        !world || !world->rollout ? NAN : world->rollout(world->world, greedy, best);
    if (isnan(best_value)) {
        return 0; /* a rollout inside a rollout: stay greedy */
    }
    for (uint64_t i = 0; i < rounds; i++) {
        perturb(&l->base, view, 1 - (double)i / (double)rounds, best, trial);
        double value = world->rollout(world->world, greedy, trial);
        if (isnan(value)) {
            break; /* stopped */
        }
        if (value <= best_value) {
            best_value = value;
            memcpy(best, trial, scale_count(view) * sizeof *best);
        }
    }
    return 0;
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    int code = sy_late_init(s, view, args, sizeof(struct late),
                            (struct late_mode){.locality = true, .contention = true});
    if (code) {
        return code;
    }
    struct late *l = s->state;
    double *best = sy_arena_alloc(l->base.arena, scale_count(view), sizeof *best);
    double *trial = sy_arena_alloc(l->base.arena, scale_count(view), sizeof *trial);
    if (!best || !trial) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < scale_count(view); i++) {
        best[i] = 1;
    }
    l->scale = l->base.scale = best;
    return improve(l, s->setup, view, best, trial);
}

const struct sy_scheduler_ops sy_policy_greedy_true_rollout = {
    .name = "greedy-true-rollout",
    .summary = "greedy-true with ranks improved by replaying the hidden world (offline)",
    .needs_truth = true,
    .takes_number = true,
    .init = init,
    .finish = sy_policy_finish,
    .job_arrived = sy_late_job_arrived,
    .job_left = sy_late_job_left,
    .task_ready = sy_late_task_ready,
    .task_done = sy_late_task_done,
    .decide = sy_late_decide,
};
