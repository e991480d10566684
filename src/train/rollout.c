/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of a policy in one world, by a worker that keeps its simulator for the next run in the
 * same world. Invariant: what a run costs depends on world and policy alone, not on what the worker
 * did before.
 */
#include "train/train.h"
#include <errno.h>
#include <string.h>

#define NAME_SIZE 128

void sy_runner_finish(struct sy_runner *runner) {
    sy_sim_destroy(runner->sim);
    *runner = (struct sy_runner){0};
}

static int prepare(struct sy_runner *runner, const struct sy_scenario *scenario, bool (*stop)(void),
                   struct sy_error *error) {
    if (runner->scenario == scenario) {
        return 0;
    }
    sy_runner_finish(runner);
    struct sy_sim_options options = scenario->options;
    options.setup = &runner->setup;
    options.stop = stop;
    int code = sy_sim_create(scenario->workload, &options, &runner->sim, error);
    runner->scenario = code ? NULL : scenario;
    return code;
}

static double mean_slowdown(const struct sy_workload *w, const struct sy_sim_result *result) {
    double sum = 0, weights = 0;
    for (uint32_t j = 0; j < w->job_count; j++) {
        sum += w->jobs[j].weight * result->jobs[j].slowdown;
        weights += w->jobs[j].weight;
    }
    return weights > 0 ? sum / weights : result->slowdown_mean;
}

static void read_cost(const struct sy_scenario *scenario, const struct sy_sim_result *result,
                      double *ret_cost) {
    ret_cost[SY_MEASURE_SLOWDOWN] = mean_slowdown(scenario->workload, result);
    ret_cost[SY_MEASURE_P99] = result->slowdown_p99;
    ret_cost[SY_MEASURE_MAKESPAN] = result->makespan_ns;
    ret_cost[SY_MEASURE_COMPLETION] = result->jct_mean_ns;
    ret_cost[SY_MEASURE_ENERGY] = result->energy_joules;
    ret_cost[SY_MEASURE_UNFAIRNESS] = result->fairness > 0 ? 1 / result->fairness : 1;
    ret_cost[SY_MEASURE_MONEY] =
        sy_prices_sum(&scenario->prices, scenario->workload->machine, result->device_busy_ns);
}

int sy_runner_probe(struct sy_runner *runner, const struct sy_scenario *scenario,
                    const struct sy_rollout *rollout, struct sy_probe *probe, double *ret_cost,
                    struct sy_error *error) {
    int code = prepare(runner, scenario, rollout->stop, error);
    if (code) {
        return code;
    }
    runner->weights = (struct sy_weights){.kind = rollout->kind,
                                          .shape = rollout->shape,
                                          .block = rollout->block,
                                          .count = rollout->count};
    runner->setup = (struct sy_policy_setup){.weights = rollout->kind ? &runner->weights : NULL};
    struct sy_sim_result result;
    code = probe ? sy_sim_run_ops(runner->sim, &sy_policy_probed, probe, &result, error)
                 : sy_sim_run(runner->sim, rollout->policy, &result, error);
    if (!code) {
        read_cost(scenario, &result, ret_cost);
    }
    return code;
}

int sy_runner_run(struct sy_runner *runner, const struct sy_scenario *scenario,
                  const struct sy_rollout *rollout, double *ret_cost, struct sy_error *error) {
    return sy_runner_probe(runner, scenario, rollout, NULL, ret_cost, error);
}

int sy_runner_reference(struct sy_runner *runner, const struct sy_scenario *scenario,
                        const char *policies, const struct sy_utility *utility, bool (*stop)(void),
                        double *ret_cost, struct sy_error *error) {
    bool first = true;
    for (const char *at = policies; *at;) {
        size_t length = strcspn(at, ",");
        char name[NAME_SIZE];
        double cost[SY_MEASURE_COUNT];
        if (length >= sizeof name) {
            return sy_fail(error, -EINVAL, "a policy's name is longer than %d bytes",
                           NAME_SIZE - 1);
        }
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        struct sy_rollout rollout = {.policy = name, .stop = stop};
        int code = sy_runner_run(runner, scenario, &rollout, cost, error);
        if (code) {
            return code;
        }
        if (first || sy_utility_score(utility, cost, ret_cost) < 0) {
            memcpy(ret_cost, cost, sizeof cost);
            first = false;
        }
        at += length + (at[length] == ',');
    }
    return first ? sy_fail(error, -EINVAL, "no heuristic to compare with") : 0;
}
