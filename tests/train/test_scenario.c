/* SPDX-License-Identifier: Apache-2.0
 *
 * Worlds: the same number gives the same world, all can be run by every kind of policy, and
 * training, validation and test have no world in common.
 */
#include "train/train.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct sy_catalogue *catalogue_of(const struct sy_catalogue_options *options) {
    struct sy_catalogue *catalogue = NULL;
    struct sy_error error = {0};
    if (sy_catalogue_open(options, &catalogue, &error)) {
        fail_msg("%s", error.message);
    }
    return catalogue;
}

static struct sy_scenario *world_of(const struct sy_catalogue *catalogue, uint64_t number) {
    struct sy_scenario *world = NULL;
    struct sy_error error = {0};
    if (sy_scenario_create(catalogue, number, &world, &error)) {
        fail_msg("world %llu: %s", (unsigned long long)number, error.message);
    }
    return world;
}

static void same_world(void **state) {
    struct sy_catalogue_options options = {.single_share = NAN};
    struct sy_catalogue *catalogue = catalogue_of(&options);
    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        uint64_t number = sy_scenario_number(SY_SPLIT_TEST, 0, i);
        struct sy_scenario *a = world_of(catalogue, number), *b = world_of(catalogue, number);
        const struct sy_workload *v = a->workload, *w = b->workload;
        assert_int_equal(v->task_count, w->task_count);
        assert_string_equal(a->family, b->family);
        assert_string_equal(a->machine, b->machine);
        assert_memory_equal(v->time_ns, w->time_ns,
                            (size_t)v->task_count * v->class_count * sizeof(double));
        for (uint32_t j = 0; j < v->job_count; j++) {
            assert_true(v->jobs[j].arrive_ns == w->jobs[j].arrive_ns);
            assert_true(j == 0 || v->jobs[j].arrive_ns >= v->jobs[j - 1].arrive_ns);
        }
        assert_true(a->options.hidden_load == b->options.hidden_load);
        assert_true(a->options.counter_period_ns == b->options.counter_period_ns);
        assert_int_equal(a->stream, v->job_count > 1);
        sy_scenario_destroy(a);
        sy_scenario_destroy(b);
    }
    sy_catalogue_close(catalogue);
}

static int compare_numbers(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void splits_are_disjoint(void **state) {
    enum { EACH = 400 };
    static uint64_t numbers[5 * EACH];
    size_t count = 0;
    (void)state;
    for (uint32_t i = 0; i < EACH; i++) {
        uint32_t index = i * 41943u; /* up to the end of the range */
        numbers[count++] = sy_scenario_number(SY_SPLIT_TRAINING, 1, index);
        numbers[count++] = sy_scenario_number(SY_SPLIT_TRAINING, 2, index);
        numbers[count++] = sy_scenario_number(SY_SPLIT_TRAINING, 65535, index);
        numbers[count++] = sy_scenario_number(SY_SPLIT_VALIDATION, 7, index);
        numbers[count++] = sy_scenario_number(SY_SPLIT_TEST, 7, index);
    }
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    for (size_t i = 1; i < count; i++) {
        assert_true(numbers[i] != numbers[i - 1]);
    }
    assert_true(sy_scenario_number(SY_SPLIT_TEST, 1, 5) == sy_scenario_number(SY_SPLIT_TEST, 2, 5));
}

/* As in recorded streams: tasks that take no time, between others of very different lengths, and
 * now and then jobs of very different lengths. */
static void extremes_are_met(void **state) {
    struct sy_catalogue_options options = {.single_share = 0};
    struct sy_catalogue *catalogue = catalogue_of(&options);
    uint32_t with_nothing = 0, wide = 0, spread = 0, preempting = 0;
    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        struct sy_scenario *world =
            world_of(catalogue, sy_scenario_number(SY_SPLIT_TRAINING, 1, i));
        const struct sy_workload *w = world->workload;
        double least_ns = INFINITY, most_ns = 0, shortest_ns = INFINITY, longest_ns = 0;
        bool nothing = false;
        for (uint32_t t = 0; t < w->task_count; t++) {
            nothing = nothing || w->best_ns[t] == 0;
            least_ns = w->best_ns[t] > 0 ? fmin(least_ns, w->best_ns[t]) : least_ns;
            most_ns = fmax(most_ns, w->best_ns[t]);
        }
        for (uint32_t j = 0; j < w->job_count; j++) {
            shortest_ns = fmin(shortest_ns, w->job_isolated_ns[j]);
            longest_ns = fmax(longest_ns, w->job_isolated_ns[j]);
        }
        with_nothing += nothing;
        preempting += world->options.preempt;
        spread += most_ns > 1e3 * least_ns;
        wide += longest_ns > 100 * shortest_ns;
        sy_scenario_destroy(world);
    }
    assert_in_range(with_nothing, 10, 60);
    assert_in_range(spread, 5, 60);
    assert_in_range(preempting, 40, 80);
    assert_in_range(wide, 2, 40);
    sy_catalogue_close(catalogue);
}

/* Every family and machine, under a heuristic and under the learned policy without and with
 * weights; weights of 0 are the heuristic, but for ties. */
static void all_can_be_run(void **state) {
    struct sy_catalogue_options options = {
        .belief = SY_SIM_FILTERED, .tasks_low = 20, .tasks_high = 60, .single_share = NAN};
    struct sy_catalogue *catalogue = catalogue_of(&options);
    struct sy_runner runner = {0};
    const char *args;
    const struct sy_scheduler_ops *ops = sy_scheduler_find("learned", &args, NULL);
    (void)state;
    assert_non_null(ops);
    float *zero = calloc(ops->net->count, sizeof *zero);
    assert_non_null(zero);
    double off = 0;
    for (uint32_t i = 0; i < 80; i++) {
        struct sy_scenario *world = world_of(catalogue, sy_scenario_number(SY_SPLIT_TEST, 0, i));
        struct sy_utility utility = {.weight = {1}};
        struct sy_rollout rollout = {.policy = "learned",
                                     .kind = ops->net->kind,
                                     .shape = ops->net->shape,
                                     .count = ops->net->count,
                                     .block = zero};
        struct sy_error error = {0};
        double cost[SY_MEASURE_COUNT], reference[SY_MEASURE_COUNT];
        int code =
            sy_runner_reference(&runner, world, "lb-cont+wspt", &utility, NULL, reference, &error);
        code = code ? code : sy_runner_run(&runner, world, &rollout, cost, &error);
        if (code) {
            fail_msg("world %u: %s", i, error.message);
        }
        for (uint32_t m = 0; m < SY_MEASURE_COUNT; m++) {
            assert_true(isfinite(cost[m]) && cost[m] > 0);
        }
        off += log(cost[SY_MEASURE_SLOWDOWN] / reference[SY_MEASURE_SLOWDOWN]) / 80;
        sy_runner_finish(&runner);
        sy_scenario_destroy(world);
    }
    /* Weights of 0 let critical tasks of jobs that are nearly alike overtake: single worlds differ,
     * on average it is the heuristic. */
    assert_true(fabs(off) < 0.02);
    free(zero);
    sy_catalogue_close(catalogue);
}

/* Of several heuristics the better one is the reference. */
static void best_reference(void **state) {
    struct sy_catalogue_options options = {.tasks_low = 40, .tasks_high = 80, .single_share = 0};
    struct sy_catalogue *catalogue = catalogue_of(&options);
    struct sy_runner runner = {0};
    struct sy_utility utility = {.weight = {1}};
    double both[SY_MEASURE_COUNT], a[SY_MEASURE_COUNT], b[SY_MEASURE_COUNT];
    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        struct sy_scenario *world = world_of(catalogue, i);
        assert_int_equal(
            sy_runner_reference(&runner, world, "eager,dmdas", &utility, NULL, both, NULL), 0);
        assert_int_equal(sy_runner_reference(&runner, world, "eager", &utility, NULL, a, NULL), 0);
        assert_int_equal(sy_runner_reference(&runner, world, "dmdas", &utility, NULL, b, NULL), 0);
        assert_true(both[SY_MEASURE_SLOWDOWN] == fmin(a[0], b[0]));
        sy_runner_finish(&runner);
        sy_scenario_destroy(world);
    }
    sy_catalogue_close(catalogue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_world),       cmocka_unit_test(splits_are_disjoint),
        cmocka_unit_test(extremes_are_met), cmocka_unit_test(all_can_be_run),
        cmocka_unit_test(best_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
