/* SPDX-License-Identifier: Apache-2.0
 *
 * Longest paths that can be added up by hand; the area of all jobs together.
 */
#include "instance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void diamond(struct instance *instance) {
    static const struct instance_device devices[] = {{0, 0}, {1, 1}};
    static const double times[4][2] = {{10, 20}, {7, 3}, {4, INFINITY}, {INFINITY, 5}};
    instance_init(instance, devices, 2, 1, 100, 4);
    for (uint32_t t = 0; t < 4; t++) {
        instance_time(instance, t, 0, times[t][0]);
        instance_time(instance, t, 1, times[t][1]);
    }
    instance_edge(instance, 0, 1, 1000);
    instance_edge(instance, 0, 2, 1000);
    instance_edge(instance, 1, 3, 1000);
    instance_edge(instance, 2, 3, 0);
    instance_seal(instance);
}

static void test_fastest_class_and_free_transfers(void **state) {
    (void)state;
    struct instance instance;
    diamond(&instance);
    assert_near(sy_bound_critical_path_ns(instance.workload), 10 + 4 + 5, 1e-12);
    instance_finish(&instance);
}

static void test_arrival_is_a_release(void **state) {
    (void)state;
    struct instance instance;
    diamond(&instance);
    instance.workload->jobs[0].arrive_ns = 50;
    assert_near(sy_bound_critical_path_ns(instance.workload), 50 + 19, 1e-12);
    instance_finish(&instance);
}

static void test_later_job_ends_last(void **state) {
    (void)state;
    static const struct instance_device devices[] = {{0, 0}};
    struct sy_job jobs[2] = {{.arrive_ns = 0}, {.arrive_ns = 30}};
    uint32_t first_task[3] = {0, 2, 3};
    struct instance instance;
    instance_init(&instance, devices, 1, 1, 0, 3);
    for (uint32_t t = 0; t < 3; t++) {
        instance_time(&instance, t, 0, 10);
    }
    instance_edge(&instance, 0, 1, 0);
    instance_seal(&instance);
    instance.workload->jobs = jobs;
    instance.workload->job_count = 2;
    instance.workload->job_first_task = first_task;
    instance.workload->task_job[2] = 1;
    assert_near(sy_bound_critical_path_ns(instance.workload), 40, 1e-12);
    assert_near(sy_bound_area_ns(instance.workload), 30, 1e-9);
    instance_finish(&instance);
}

static void test_no_tasks(void **state) {
    (void)state;
    static const struct instance_device devices[] = {{0, 0}, {1, 0}};
    struct instance instance;
    instance_init(&instance, devices, 2, 1, 0, 0);
    instance_seal(&instance);
    assert_true(sy_bound_critical_path_ns(instance.workload) == 0);
    assert_true(sy_bound_area_ns(instance.workload) == 0);
    instance_finish(&instance);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fastest_class_and_free_transfers),
        cmocka_unit_test(test_arrival_is_a_release),
        cmocka_unit_test(test_later_job_ends_last),
        cmocka_unit_test(test_no_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
