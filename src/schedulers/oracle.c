/* SPDX-License-Identifier: Apache-2.0
 *
 * The oracle improved by rollouts: before the run it replays the hidden world many times under the
 * greedy oracle with perturbed ranks, climbs to the best perturbation, and then acts as the greedy
 * oracle with it. An upper bound on what scheduling could gain, not a policy for use. The argument
 * is the number of rollouts ("oracle-rollout:200"), 64 if none is given.
 */
#include "schedulers/late.h"
#include <errno.h>

static int improve(struct late *l, const struct sy_view *view, double *best, double *trial) {
    uint64_t rounds = l->base.argument ? l->base.argument : 64;
    const struct sy_truth *truth = view->truth;
    double best_value = truth->rollout(truth->world, "oracle", best);
    if (isnan(best_value)) {
        return 0; /* a rollout inside a rollout: stay greedy */
    }
    for (uint64_t i = 0; i < rounds; i++) {
        double sigma = 0.5 * (1 - (double)i / (double)rounds) + 0.05;
        double share = sy_rng_uniform(&l->base.rng);
        for (uint32_t t = 0; t < view->task_capacity; t++) {
            bool moved = sy_rng_uniform(&l->base.rng) < share;
            trial[t] = moved ? best[t] * exp(sigma * sy_rng_normal(&l->base.rng)) : best[t];
        }
        double value = truth->rollout(truth->world, "oracle", trial);
        if (value <= best_value) {
            best_value = value;
            for (uint32_t t = 0; t < view->task_capacity; t++) {
                best[t] = trial[t];
            }
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
    double *best = sy_arena_alloc(l->base.arena, view->task_capacity + 1u, sizeof *best);
    double *trial = sy_arena_alloc(l->base.arena, view->task_capacity + 1u, sizeof *trial);
    if (!best || !trial) {
        return -ENOMEM;
    }
    for (uint32_t t = 0; t < view->task_capacity; t++) {
        best[t] = 1;
    }
    l->scale = best;
    return improve(l, view, best, trial);
}

const struct sy_scheduler_ops sy_policy_oracle_rollout = {
    .name = "oracle-rollout",
    .summary = "the oracle with ranks improved by replaying the hidden world (offline)",
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
