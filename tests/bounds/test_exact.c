/* SPDX-License-Identifier: Apache-2.0
 *
 * Branch and bound against plain enumeration, and against cases small enough to do by hand.
 */
#include "enumerate.h"
#include "instance.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct random_shape small = {.task_min = 3,
                                          .task_max = 6,
                                          .device_min = 2,
                                          .device_max = 3,
                                          .class_max = 2,
                                          .memory_max = 2,
                                          .edge_probability = 0.35,
                                          .transfer_ratio = 0.5,
                                          .impossible_probability = 0.1};

static double exact_ns(const struct sy_workload *workload, uint64_t *ret_nodes) {
    struct sy_schedule plan;
    assert_int_equal(sy_schedule_init(&plan, workload->task_count), 0);
    assert_int_equal(sy_bound_exact(workload, UINT64_MAX, &plan, ret_nodes), 0);
    assert_plan_legal(workload, &plan);
    double makespan = plan.makespan_ns;
    sy_schedule_finish(&plan);
    return makespan;
}

static void check_against_enumeration(const struct random_shape *shape, uint64_t first,
                                      uint64_t count) {
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct instance instance;
        double plain;
        uint64_t nodes;
        instance_random(&instance, shape, seed);
        assert_int_equal(enumerate_optimum(instance.workload, &plain), 0);
        double clever = exact_ns(instance.workload, &nodes);
        if (fabs(plain - clever) > 1e-9 * plain) {
            fail_msg("seed %llu: enumeration %.17g, branch and bound %.17g",
                     (unsigned long long)seed, plain, clever);
        }
        instance_finish(&instance);
    }
}

static void test_equals_enumeration(void **state) {
    (void)state;
    check_against_enumeration(&small, 1, 940);
}

static void test_equals_enumeration_seven_tasks(void **state) {
    (void)state;
    struct random_shape shape = small;
    shape.task_min = shape.task_max = 7;
    check_against_enumeration(&shape, 5001, 60);
}

static void test_equals_enumeration_three_classes(void **state) {
    (void)state;
    struct random_shape shape = small;
    shape.task_max = 5;
    shape.device_min = shape.device_max = shape.class_max = shape.memory_max = 3;
    shape.transfer_ratio = 1.5;
    check_against_enumeration(&shape, 9001, 100);
}

/* Little precedence, no transfers: here the area bound does the pruning. */
static void test_equals_enumeration_independent_tasks(void **state) {
    (void)state;
    struct random_shape shape = small;
    shape.task_min = 5;
    shape.task_max = 6;
    shape.edge_probability = 0.05;
    shape.transfer_ratio = 0;
    check_against_enumeration(&shape, 20001, 150);
}

static void test_two_equal_devices_share(void **state) {
    (void)state;
    static const struct instance_device devices[] = {{0, 0}, {0, 0}};
    static const double times[] = {3, 3, 2, 2, 2};
    struct instance instance;
    uint64_t nodes;
    instance_init(&instance, devices, 2, 1, 0, 5);
    for (uint32_t t = 0; t < 5; t++) {
        instance_time(&instance, t, 0, times[t]);
    }
    instance_seal(&instance);
    /* LPT gives 7; the optimum puts the threes together. */
    assert_near(exact_ns(instance.workload, &nodes), 6, 1e-9);
    instance_finish(&instance);
}

static void test_transfer_keeps_a_chain_together(void **state) {
    (void)state;
    static const struct instance_device devices[] = {{0, 0}, {1, 1}};
    struct instance instance;
    uint64_t nodes;
    /* Second task is twice as fast over there, but its input takes longer than that gains. */
    for (int dear = 0; dear < 2; dear++) {
        instance_init(&instance, devices, 2, 1, 1, 2);
        instance_time(&instance, 0, 0, 10);
        instance_time(&instance, 1, 0, 10);
        instance_time(&instance, 1, 1, 5);
        instance_edge(&instance, 0, 1, dear ? 8 : 2);
        instance_seal(&instance);
        assert_near(exact_ns(instance.workload, &nodes), dear ? 20 : 18, 1e-9);
        instance_finish(&instance);
    }
}

static void test_initial_data_leave_home_on_arrival(void **state) {
    (void)state;
    static const struct instance_device devices[] = {{0, 0}, {1, 1}};
    struct instance instance;
    uint64_t nodes;
    instance_init(&instance, devices, 2, 1, 2, 1);
    instance_time(&instance, 0, 1, 10);
    instance_input(&instance, 0, 5, 0);
    instance.workload->jobs[0].arrive_ns = 100;
    instance_seal(&instance);
    assert_near(exact_ns(instance.workload, &nodes), 100 + 2 + 5 + 10, 1e-9);
    instance_finish(&instance);
}

static void test_heft_paper_example(void **state) {
    (void)state;
    struct instance instance;
    uint64_t nodes = 0;
    instance_heft_paper(&instance);
    double optimum = exact_ns(instance.workload, &nodes);
    print_message("# optimum of the HEFT example %g in %llu nodes\n", optimum,
                  (unsigned long long)nodes);
    assert_true(optimum <= 80); /* what HEFT finds */
    assert_true(optimum >= sy_bound_critical_path_ns(instance.workload));
    assert_true(optimum >= sy_bound_area_ns(instance.workload));
    instance_finish(&instance);
}

static void test_node_limit(void **state) {
    (void)state;
    struct instance instance;
    struct sy_schedule plan;
    uint64_t nodes = 0;
    struct random_shape shape = small;
    shape.task_min = shape.task_max = 30;
    shape.edge_probability = 0.1;
    instance_random(&instance, &shape, 3);
    assert_int_equal(sy_schedule_init(&plan, 30), 0);
    assert_int_equal(sy_bound_exact(instance.workload, 1000, &plan, &nodes), -E2BIG);
    assert_int_equal(nodes, 1000);
    assert_plan_legal(instance.workload, &plan);
    sy_schedule_finish(&plan);
    instance_finish(&instance);
}

static void test_too_many_tasks_still_give_a_plan(void **state) {
    (void)state;
    struct instance instance;
    struct sy_schedule plan;
    uint64_t nodes = 7;
    double makespan = -1;
    instance_layered(&instance, 400, 20, 4);
    assert_int_equal(sy_schedule_init(&plan, 400), 0);
    assert_int_equal(sy_bound_exact(instance.workload, 1000, &plan, &nodes), -E2BIG);
    assert_int_equal(nodes, 0);
    assert_plan_legal(instance.workload, &plan);
    assert_int_equal(enumerate_optimum(instance.workload, &makespan), -E2BIG);
    assert_true(makespan == -1);
    sy_schedule_finish(&plan);
    instance_finish(&instance);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_enumeration),
        cmocka_unit_test(test_equals_enumeration_seven_tasks),
        cmocka_unit_test(test_equals_enumeration_three_classes),
        cmocka_unit_test(test_equals_enumeration_independent_tasks),
        cmocka_unit_test(test_two_equal_devices_share),
        cmocka_unit_test(test_transfer_keeps_a_chain_together),
        cmocka_unit_test(test_initial_data_leave_home_on_arrival),
        cmocka_unit_test(test_heft_paper_example),
        cmocka_unit_test(test_node_limit),
        cmocka_unit_test(test_too_many_tasks_still_give_a_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
