/* SPDX-License-Identifier: Apache-2.0
 *
 * What a job needs alone, by hand and in a stream that repeats graphs.
 */
#include "instance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Two jobs on two devices of one class: a chain of 2 + 3 beside a 1, then four tasks of 4. */
static void two_jobs(struct instance *instance, struct sy_job *jobs, uint32_t *first_task) {
    static const struct instance_device devices[] = {{0, 0}, {0, 0}};
    static const double times[] = {2, 3, 1, 4, 4, 4, 4};
    instance_init(instance, devices, 2, 1, 0, 7);
    for (uint32_t t = 0; t < 7; t++) {
        instance_time(instance, t, 0, times[t]);
        instance->workload->task_job[t] = t >= 3;
    }
    instance_edge(instance, 0, 1, 100);
    instance_edge(instance, 3, 4, 0);
    instance_seal(instance);
    first_task[0] = 0;
    first_task[1] = 3;
    first_task[2] = 7;
    instance->workload->jobs = jobs;
    instance->workload->job_count = 2;
    instance->workload->job_first_task = first_task;
}

static void test_larger_of_path_and_area(void **state) {
    (void)state;
    struct instance instance;
    struct sy_job jobs[2] = {{.arrive_ns = 0}, {.arrive_ns = 1000}};
    uint32_t first_task[3];
    two_jobs(&instance, jobs, first_task);
    assert_near(sy_cost_critical_path_ns(instance.workload, 0), 5, 1e-12);
    assert_near(sy_cost_critical_path_ns(instance.workload, 1), 8, 1e-12);
    assert_near(sy_cost_area_ns(instance.workload, 0, 3), 3, 1e-9);
    assert_near(sy_cost_isolated_ns(instance.workload, 0), 5, 1e-9);
    /* Arrival is no part of it. */
    instance_time(&instance, 6, 0, 12);
    instance.workload->best_ns[6] = 12;
    assert_near(sy_cost_isolated_ns(instance.workload, 1), 12, 1e-9);
    instance_time(&instance, 5, 0, 12);
    instance.workload->best_ns[5] = 12;
    assert_near(sy_cost_isolated_ns(instance.workload, 1), 16, 1e-9);
    instance_finish(&instance);
}

static void test_repeated_graphs_each_get_their_own(void **state) {
    (void)state;
    struct sy_graph *graphs[2];
    struct sy_machine *machine;
    struct sy_workload *workload, *alone[2];
    struct sy_job jobs[40] = {{0}};
    const struct sy_workload_options options = {.accelerate = true, .accelerate_seed = 7};
    assert_int_equal(sy_graph_generate("cholesky:5", &graphs[0], NULL), 0);
    assert_int_equal(sy_graph_generate("forkjoin:8", &graphs[1], NULL), 0);
    assert_int_equal(sy_machine_parse("cpu:4 gpu:1@pcie3x16", &machine, NULL), 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct sy_job one = {graphs[i], 0, 0, 1};
        assert_int_equal(sy_workload_create(machine, &one, 1, &options, &alone[i], NULL), 0);
    }
    for (uint32_t j = 0; j < 40; j++) {
        jobs[j] = (struct sy_job){graphs[j % 3 == 0], 1e6 * (40 - j), 0, 1};
    }
    assert_int_equal(sy_workload_create(machine, jobs, 40, &options, &workload, NULL), 0);
    assert_true(alone[0]->job_isolated_ns[0] != alone[1]->job_isolated_ns[0]);
    for (uint32_t j = 0; j < 40; j++) {
        uint32_t which = workload->jobs[j].graph == graphs[1];
        assert_true(workload->job_isolated_ns[j] == alone[which]->job_isolated_ns[0]);
        assert_true(workload->job_isolated_ns[j] == sy_cost_isolated_ns(workload, j));
    }
    sy_workload_destroy(workload);
    for (uint32_t i = 0; i < 2; i++) {
        sy_workload_destroy(alone[i]);
        sy_graph_destroy(graphs[i]);
    }
    sy_machine_destroy(machine);
}

/* A job may take no time alone: it is not slowed down unless it waits. */
static void test_slowdown(void **state) {
    (void)state;
    assert_true(sy_cost_slowdown(3e6, 1e6) == 3);
    assert_true(sy_cost_slowdown(1e3, 1e3) == 1);
    assert_true(sy_cost_slowdown(0, 0) == 1);
    assert_true(sy_cost_slowdown(1, 1) == 1);
    assert_true(sy_cost_slowdown(0, 1e-9) <= 1); /* as a coarse clock has it */
    assert_true(fabs(sy_cost_slowdown(1e6, 0) - 1001) < 1e-9);
    assert_true(sy_cost_slowdown(2e18, 1e18) == 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slowdown),
        cmocka_unit_test(test_larger_of_path_and_area),
        cmocka_unit_test(test_repeated_graphs_each_get_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
