/* SPDX-License-Identifier: Apache-2.0
 *
 * Several policies in the same fresh worlds, which no training and no choice of weights has seen.
 * Invariant: a world exists only while it is compared in, so thousands need little memory.
 */
#include "train/train.h"
#include <stdlib.h>
#include <string.h>

struct context {
    struct sy_comparison *comparison;
    const struct sy_catalogue *catalogue;
    struct sy_runner *runners;
    bool (*stop)(void);
};

/* One world under all contenders. */
static int run_world(void *data, uint32_t worker, uint32_t item, struct sy_error *error) {
    struct context *context = data;
    struct sy_comparison *c = context->comparison;
    struct sy_runner *runner = &context->runners[worker];
    struct sy_scenario *world = NULL;
    uint64_t number = sy_scenario_number(SY_SPLIT_TEST, 0, item);
    int code = sy_scenario_create(context->catalogue, number, &world, error);
    if (code) {
        return code;
    }
    code = sy_runner_reference(runner, world, c->references, &c->utility, context->stop,
                               world->reference, error);
    for (uint32_t i = 0; i < c->contender_count && !code; i++) {
        struct sy_contender *contender = &c->contenders[i];
        double *cost = contender->cost + (size_t)item * SY_MEASURE_COUNT;
        code = sy_runner_run(runner, world, &contender->rollout, cost, error);
        contender->score[item] = code ? 0 : sy_utility_score(&c->utility, cost, world->reference);
    }
    c->families[item] = world->family;
    c->machines[item] = world->machine;
    c->streams[item] = world->stream;
    sy_runner_finish(runner);
    sy_scenario_destroy(world);
    return code;
}

uint32_t sy_comparison_family(const struct sy_comparison *c, uint32_t world) {
    uint32_t first = 0;
    while (strcmp(c->families[first], c->families[world]) != 0) {
        first++;
    }
    return first;
}

int sy_compare(struct sy_comparison *comparison, const struct sy_catalogue *catalogue,
               const struct sy_parallel *parallel, struct sy_error *error) {
    struct context context = {comparison, catalogue, NULL, parallel->stop};
    context.runners = calloc(parallel->worker_count, sizeof *context.runners);
    if (!context.runners) {
        return sy_out_of_memory(error);
    }
    int code =
        parallel->run(parallel->pool, comparison->scenario_count, run_world, &context, error);
    free(context.runners);
    return code;
}
