/* SPDX-License-Identifier: Apache-2.0
 *
 * The summary of hand-made results: who is best, by how much, over which jobs.
 */
#include "cli/simulate/simulate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
// clang-format off
#include <cmocka.h>
// clang-format on

struct world {
    struct sy_simulate_args args;
    struct sy_simulate simulate;
    struct sy_workload workload;
    struct sy_case cases[2];
    struct sy_run runs[2][2];
    double slowdowns[2][4];
    const char *policies[2];
};

/* Two policies, two cases of two jobs each. */
static void make_world(struct world *world, bool stream) {
    *world = (struct world){.args.stream = stream, .workload.job_count = 2};
    world->policies[0] = "slow";
    world->policies[1] = "fast";
    world->simulate = (struct sy_simulate){
        .args = &world->args,
        .policies = {world->policies, 2, 2},
        .cases = world->cases,
        .case_count = 2,
    };
    for (int i = 0; i < 2; i++) {
        world->cases[i] = (struct sy_case){.workload = &world->workload,
                                           .bound_ns = 100e6,
                                           .runs = world->runs[i],
                                           .slowdowns = world->slowdowns[i]};
        for (int j = 0; j < 4; j++) {
            world->slowdowns[i][j] = j + 1;
        }
    }
    world->runs[0][0] = (struct sy_run){.makespan_ns = 200e6, .slowdown_mean = 2, .within_10 = 0.5};
    world->runs[1][0] = (struct sy_run){.makespan_ns = 800e6, .slowdown_mean = 2, .within_10 = 0.7};
    world->runs[0][1] = (struct sy_run){.makespan_ns = 100e6, .slowdown_mean = 4};
    world->runs[1][1] = (struct sy_run){.makespan_ns = 100e6, .slowdown_mean = 4};
}

static void makespans_are_compared_run_by_run(void **state) {
    (void)state;
    struct world world;
    uint32_t best = 9;
    make_world(&world, false);
    struct sy_summary *summary = sy_simulate_summary(&world.simulate, &best);
    assert_non_null(summary);
    assert_int_equal(best, 1);
    assert_true(fabs(summary[0].over_bound.value - 4) < 1e-12);
    assert_true(fabs(summary[0].over_best.value - 4) < 1e-12);
    assert_true(summary[0].over_bound.low >= 2 - 1e-12);
    assert_true(summary[0].over_bound.high <= 8 + 1e-12);
    assert_true(fabs(summary[1].over_best.value - 1) < 1e-12);
    assert_true(fabs(summary[1].over_best.high - 1) < 1e-12);
    assert_true(fabs(summary[0].within_10 - 0.6) < 1e-12);
    assert_true(isnan(summary[0].decision_p50_ns));
    free(summary);
}

static void streams_are_compared_by_slowdown(void **state) {
    (void)state;
    struct world world;
    uint32_t best = 9;
    make_world(&world, true);
    struct sy_summary *summary = sy_simulate_summary(&world.simulate, &best);
    assert_non_null(summary);
    assert_int_equal(best, 0);
    assert_true(fabs(summary[1].over_best.value - 2) < 1e-12);
    assert_true(fabs(summary[0].slowdown_mean - 1.5) < 1e-12); /* jobs 1, 2, 1, 2 */
    assert_true(fabs(summary[1].slowdown_mean - 3.5) < 1e-12); /* jobs 3, 4, 3, 4 */
    free(summary);
}

#define GRAPHS 8u
#define SEEDS  10u

/* Seeds of a graph are one group: 80 runs say no more than 8 graphs where only graphs differ. */
static void seeds_of_a_graph_are_no_new_graphs(void **state) {
    (void)state;
    static struct sy_workload workloads[GRAPHS];
    static struct sy_case cases[GRAPHS * SEEDS];
    static struct sy_run runs[GRAPHS * SEEDS];
    static double slowdowns[1];
    const char *policies[] = {"one"};
    struct sy_simulate_args args = {0};
    struct sy_simulate simulate = {
        .args = &args, .policies = {policies, 1, 1}, .cases = cases, .case_count = GRAPHS * SEEDS};
    uint32_t best;
    for (uint32_t i = 0; i < GRAPHS * SEEDS; i++) {
        runs[i] = (struct sy_run){.makespan_ns = 1e6 * exp(i / SEEDS), .slowdown_mean = 1};
        cases[i] = (struct sy_case){.workload = &workloads[i / SEEDS],
                                    .bound_ns = 1e6,
                                    .runs = &runs[i],
                                    .slowdowns = slowdowns};
    }
    struct sy_summary *summary = sy_simulate_summary(&simulate, &best);
    assert_non_null(summary);
    /* Of 0, 1, ... 7 drawn 8 times. */
    double width = 2 * 1.96 * sqrt((GRAPHS * GRAPHS - 1) / 12.0 / GRAPHS);
    double found = log(summary->over_bound.high / summary->over_bound.low);
    assert_true(found > 0.85 * width && found < 1.15 * width);
    free(summary);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makespans_are_compared_run_by_run),
        cmocka_unit_test(streams_are_compared_by_slowdown),
        cmocka_unit_test(seeds_of_a_graph_are_no_new_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
