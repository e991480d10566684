/* SPDX-License-Identifier: Apache-2.0
 *
 * The annealer: legal, repeatable, never worse than where it starts, near the optimum of small
 * graphs; and the HEFT paper's own number for the list scheduler inside it.
 */
#include "bounds/list.h"
#include "instance.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_heft_paper_makespan(void **state) {
    (void)state;
    /* Table 3 of the paper. */
    static const double rank[10] = {108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667};
    struct instance instance;
    struct sy_bound_model model;
    struct sy_list list;
    double priority[10];
    instance_heft_paper(&instance);
    assert_int_equal(sy_bound_model_init(&model, instance.workload), 0);
    assert_int_equal(sy_list_init(&list, &model, model.arena), 0);
    sy_bound_rank(&model, SY_RANK_MEAN, priority);
    for (uint32_t t = 0; t < 10; t++) {
        assert_near(priority[t], rank[t], 5e-4);
    }
    assert_near(sy_list_run(&list, priority, NULL, INFINITY), 80, 1e-9);
    assert_true(isinf(sy_list_run(&list, priority, NULL, 79.9)));
    sy_bound_model_finish(&model);
    instance_finish(&instance);
}

static void test_finds_the_optimum_of_the_heft_example(void **state) {
    (void)state;
    struct instance instance;
    struct sy_schedule plan, exact;
    uint64_t nodes;
    instance_heft_paper(&instance);
    assert_int_equal(sy_schedule_init(&plan, 10), 0);
    assert_int_equal(sy_schedule_init(&exact, 10), 0);
    assert_int_equal(sy_bound_anneal(instance.workload, 1, 5000, NULL, &plan), 0);
    assert_int_equal(sy_bound_exact(instance.workload, UINT64_MAX, &exact, &nodes), 0);
    assert_plan_legal(instance.workload, &plan);
    assert_near(plan.makespan_ns, exact.makespan_ns, 1e-9);
    sy_schedule_finish(&plan);
    sy_schedule_finish(&exact);
    instance_finish(&instance);
}

static void test_same_seed_same_plan(void **state) {
    (void)state;
    struct instance instance;
    struct sy_schedule plan[3];
    instance_layered(&instance, 150, 25, 7);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sy_schedule_init(&plan[i], 150), 0);
        assert_int_equal(sy_bound_anneal(instance.workload, i < 2 ? 1 : 2, 300, NULL, &plan[i]), 0);
        assert_plan_legal(instance.workload, &plan[i]);
    }
    assert_memory_equal(plan[0].start_ns, plan[1].start_ns, 150 * sizeof(double));
    assert_memory_equal(plan[0].device, plan[1].device, 150 * sizeof(uint32_t));
    assert_true(memcmp(plan[0].start_ns, plan[2].start_ns, 150 * sizeof(double)) != 0);
    for (int i = 0; i < 3; i++) {
        sy_schedule_finish(&plan[i]);
    }
    instance_finish(&instance);
}

static void test_never_worse_than_its_start(void **state) {
    (void)state;
    static const struct random_shape shape = {.task_min = 8,
                                              .task_max = 11,
                                              .device_min = 2,
                                              .device_max = 4,
                                              .class_max = 3,
                                              .memory_max = 3,
                                              .edge_probability = 0.25,
                                              .transfer_ratio = 1.5};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct instance instance;
        struct sy_schedule best, plan;
        uint64_t nodes;
        instance_random(&instance, &shape, seed);
        assert_int_equal(sy_schedule_init(&best, instance.workload->task_count), 0);
        assert_int_equal(sy_schedule_init(&plan, instance.workload->task_count), 0);
        int r = sy_bound_exact(instance.workload, 1000000, &best, &nodes);
        assert_true(r == 0 || r == -E2BIG);
        assert_int_equal(sy_bound_anneal(instance.workload, seed, 20, &best, &plan), 0);
        assert_plan_legal(instance.workload, &plan);
        if (plan.makespan_ns > best.makespan_ns * (1 + 1e-12)) {
            fail_msg("seed %llu: given %.12g, returned %.12g", (unsigned long long)seed,
                     best.makespan_ns, plan.makespan_ns);
        }
        assert_true(r != 0 || plan.makespan_ns >= best.makespan_ns * (1 - 1e-9));
        sy_schedule_finish(&best);
        sy_schedule_finish(&plan);
        instance_finish(&instance);
    }
}

static void test_illegal_start_is_refused(void **state) {
    (void)state;
    struct instance instance;
    struct sy_schedule start, plan;
    instance_heft_paper(&instance);
    assert_int_equal(sy_schedule_init(&start, 10), 0);
    assert_int_equal(sy_schedule_init(&plan, 10), 0);
    start.device[4] = 99;
    assert_int_equal(sy_bound_anneal(instance.workload, 1, 10, &start, &plan), -EINVAL);
    sy_schedule_finish(&start);
    sy_schedule_finish(&plan);
    instance_finish(&instance);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heft_paper_makespan),
        cmocka_unit_test(test_finds_the_optimum_of_the_heft_example),
        cmocka_unit_test(test_same_seed_same_plan),
        cmocka_unit_test(test_never_worse_than_its_start),
        cmocka_unit_test(test_illegal_start_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
