/* SPDX-License-Identifier: Apache-2.0
 *
 * What an order and a device per task come to, with and without insertion.
 */
#include "instance.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* 0 -> 1 with a transfer of 4; 2 is free. Two devices, two memories. */
static void make(struct instance *instance, struct sy_schedule *plan) {
    static const struct instance_device devices[] = {{0, 0}, {1, 1}};
    static const double times[3][2] = {{5, 9}, {6, 3}, {2, 2}};
    instance_init(instance, devices, 2, 1, 1, 3);
    for (uint32_t t = 0; t < 3; t++) {
        instance_time(instance, t, 0, times[t][0]);
        instance_time(instance, t, 1, times[t][1]);
    }
    instance_edge(instance, 0, 1, 3);
    instance_seal(instance);
    assert_int_equal(sy_schedule_init(plan, 3), 0);
    plan->device[0] = 0;
    plan->device[1] = 1;
    plan->device[2] = 1;
}

static void test_append_and_insert(void **state) {
    (void)state;
    static const uint32_t order[] = {0, 1, 2};
    struct instance instance;
    struct sy_schedule plan;
    make(&instance, &plan);
    assert_int_equal(sy_schedule_evaluate(instance.workload, order, false, &plan), 0);
    assert_near(plan.start_ns[1], 5 + 1 + 3, 1e-12);
    assert_near(plan.start_ns[2], 12, 1e-12);
    assert_near(plan.makespan_ns, 14, 1e-12);
    assert_int_equal(sy_schedule_evaluate(instance.workload, order, true, &plan), 0);
    assert_near(plan.start_ns[2], 0, 1e-12); /* the wait before task 1 */
    assert_near(plan.makespan_ns, 12, 1e-12);
    assert_plan_legal(instance.workload, &plan);
    sy_schedule_finish(&plan);
    instance_finish(&instance);
}

static void test_refuses_without_change(void **state) {
    (void)state;
    static const uint32_t backwards[] = {1, 0, 2}, twice[] = {0, 0, 2}, beyond[] = {0, 1, 3};
    static const uint32_t order[] = {0, 1, 2};
    struct instance instance;
    struct sy_schedule plan;
    make(&instance, &plan);
    plan.makespan_ns = 77;
    assert_int_equal(sy_schedule_evaluate(instance.workload, backwards, true, &plan), -EINVAL);
    assert_int_equal(sy_schedule_evaluate(instance.workload, twice, true, &plan), -EINVAL);
    assert_int_equal(sy_schedule_evaluate(instance.workload, beyond, true, &plan), -EINVAL);
    plan.device[2] = 2;
    assert_int_equal(sy_schedule_evaluate(instance.workload, order, true, &plan), -EINVAL);
    plan.device[2] = 1;
    instance_time(&instance, 2, 1, 1.0 / 0.0);
    assert_int_equal(sy_schedule_evaluate(instance.workload, order, true, &plan), -EINVAL);
    assert_true(plan.makespan_ns == 77);
    sy_schedule_finish(&plan);
    instance_finish(&instance);
}

/* Any order and devices: legal, and insertion never starts the same task set later in the end. */
static void test_random_plans_are_legal(void **state) {
    (void)state;
    static const struct random_shape shape = {.task_min = 1,
                                              .task_max = 40,
                                              .device_min = 1,
                                              .device_max = 6,
                                              .class_max = 3,
                                              .memory_max = 4,
                                              .edge_probability = 0.08,
                                              .transfer_ratio = 0.7};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 3, 0);
        struct instance instance;
        struct sy_schedule plan;
        print_message("# seed %llu\n", (unsigned long long)seed);
        instance_random(&instance, &shape, seed);
        const struct sy_workload *workload = instance.workload;
        assert_int_equal(sy_schedule_init(&plan, workload->task_count), 0);
        for (uint32_t t = 0; t < workload->task_count; t++) {
            plan.device[t] = sy_rng_below(&rng, workload->machine->device_count);
        }
        assert_int_equal(sy_schedule_evaluate(workload, workload->order, true, &plan), 0);
        assert_plan_legal(workload, &plan);
        double inserted = plan.makespan_ns;
        /* Read back by start times, the same plan without insertion is no later. */
        assert_int_equal(sy_schedule_evaluate(workload, NULL, false, &plan), 0);
        assert_plan_legal(workload, &plan);
        assert_true(plan.makespan_ns <= inserted);
        sy_schedule_finish(&plan);
        instance_finish(&instance);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append_and_insert),
        cmocka_unit_test(test_refuses_without_change),
        cmocka_unit_test(test_random_plans_are_legal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
