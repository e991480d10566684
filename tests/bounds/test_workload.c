/* SPDX-License-Identifier: Apache-2.0
 *
 * The same bounds on workloads that come from real graphs and machines.
 */
#include "instance.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct world {
    struct sy_graph *graph;
    struct sy_machine *machine;
    struct sy_workload *workload;
};

static void world_init(struct world *world, const char *graph, const char *machine,
                       const double *arrivals, uint32_t job_count) {
    struct sy_job jobs[4] = {{0}};
    const struct sy_workload_options options = {.accelerate = true, .accelerate_seed = 7};
    assert_int_equal(sy_graph_generate(graph, &world->graph, NULL), 0);
    assert_int_equal(sy_machine_parse(machine, &world->machine, NULL), 0);
    for (uint32_t j = 0; j < job_count; j++) {
        jobs[j] = (struct sy_job){world->graph, arrivals[j], 0, 1};
    }
    assert_int_equal(
        sy_workload_create(world->machine, jobs, job_count, &options, &world->workload, NULL), 0);
}

static void world_finish(struct world *world) {
    sy_workload_destroy(world->workload);
    sy_machine_destroy(world->machine);
    sy_graph_destroy(world->graph);
}

static void test_chain_on_cholesky(void **state) {
    (void)state;
    static const double at_once[] = {0};
    struct world world;
    struct sy_schedule plan;
    double mixed = 0;
    world_init(&world, "cholesky:6", "cpu:6 gpu:2@pcie3x16", at_once, 1);
    const struct sy_workload *workload = world.workload;
    double path = sy_bound_critical_path_ns(workload), area = sy_bound_area_ns(workload);
    assert_int_equal(sy_schedule_init(&plan, workload->task_count), 0);
    assert_int_equal(sy_bound_anneal(workload, 1, 2000, NULL, &plan), 0);
    assert_plan_legal(workload, &plan);
    assert_true(workload->job_isolated_ns[0] == fmax(path, area));
    int r = sy_bound_mixed_ns(workload, 60, NULL, &mixed, NULL);
    assert_true(r == 0 || r == -ENOENT);
    mixed = r == 0 ? mixed : fmax(path, area);
    assert_true(fmax(path, area) <= mixed && mixed <= plan.makespan_ns);
    sy_schedule_finish(&plan);
    world_finish(&world);
}

static void test_jobs_are_released_on_arrival(void **state) {
    (void)state;
    static const double arrivals[] = {0, 1e12};
    struct world world, one;
    struct sy_schedule plan;
    world_init(&one, "forkjoin:8", "cpu:4 gpu:1", arrivals, 1);
    world_init(&world, "forkjoin:8", "cpu:4 gpu:1", arrivals, 2);
    double alone = sy_bound_critical_path_ns(one.workload);
    assert_near(sy_bound_critical_path_ns(world.workload), 1e12 + alone, 1);
    assert_near(sy_bound_area_ns(world.workload), 2 * sy_bound_area_ns(one.workload), 1);
    assert_int_equal(sy_schedule_init(&plan, world.workload->task_count), 0);
    assert_int_equal(sy_bound_anneal(world.workload, 1, 50, NULL, &plan), 0);
    for (uint32_t t = 0; t < plan.task_count; t++) {
        double arrive = world.workload->jobs[world.workload->task_job[t]].arrive_ns;
        assert_true(plan.start_ns[t] >= arrive);
    }
    assert_true(plan.makespan_ns >= 1e12 + alone);
    sy_schedule_finish(&plan);
    world_finish(&world);
    world_finish(&one);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain_on_cholesky),
        cmocka_unit_test(test_jobs_are_released_on_arrival),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
