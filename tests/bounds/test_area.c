/* SPDX-License-Identifier: Apache-2.0
 *
 * The area bound by hand, by two methods against each other, and against a fractional assignment
 * found independently: no lower bound may exceed it, and ours must come near.
 */
#include "bounds/area.h"
#include "bounds/model.h"
#include "instance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct random_shape independent = {.task_min = 1,
                                                .task_max = 60,
                                                .device_min = 2,
                                                .device_max = 9,
                                                .class_max = 5,
                                                .memory_max = 1,
                                                .impossible_probability = 0.2};

static void test_two_classes_by_hand(void **state) {
    (void)state;
    static const struct instance_device devices[] = {{0, 0}, {0, 0}, {1, 1}};
    struct instance instance;
    instance_init(&instance, devices, 3, 1, 0, 2);
    instance_time(&instance, 0, 0, 10);
    instance_time(&instance, 0, 1, 10);
    instance_time(&instance, 1, 0, 40);
    instance_time(&instance, 1, 1, 5);
    instance_seal(&instance);
    /* Task 1 belongs on class 1; task 0 is split: 10 x / 2 = 5 + 10 (1 - x), x = 1. */
    assert_near(sy_bound_area_ns(instance.workload), 5, 1e-9);
    instance_finish(&instance);
}

static void test_three_classes_by_hand(void **state) {
    (void)state;
    static const struct instance_device devices[] = {{0, 0}, {1, 0}, {2, 0}};
    struct instance instance;
    instance_init(&instance, devices, 3, 1, 0, 7);
    for (uint32_t t = 0; t < 7; t++) {
        instance_time(&instance, t, 0, 1);
        instance_time(&instance, t, 1, 2);
        instance_time(&instance, t, 2, 4);
    }
    instance_seal(&instance);
    /* 7 equal tasks at rate 1 + 1/2 + 1/4 per unit of time. */
    assert_near(sy_bound_area_ns(instance.workload), 4, 1e-9);
    instance_finish(&instance);
}

static void test_one_class_is_total_over_devices(void **state) {
    (void)state;
    static const struct instance_device devices[] = {{0, 0}, {0, 0}, {0, 1}};
    struct instance instance;
    instance_init(&instance, devices, 3, 1, 0, 4);
    for (uint32_t t = 0; t < 4; t++) {
        instance_time(&instance, t, 0, 3.0 * (t + 1));
    }
    instance_seal(&instance);
    assert_near(sy_bound_area_ns(instance.workload), 10, 1e-9);
    instance_finish(&instance);
}

static void test_work_that_only_one_class_can_do(void **state) {
    (void)state;
    static const struct instance_device devices[] = {{0, 0}, {1, 0}, {2, 0}};
    struct instance instance;
    instance_init(&instance, devices, 3, 1, 0, 5);
    for (uint32_t t = 0; t < 5; t++) {
        instance_time(&instance, t, 2, 8);
    }
    instance_seal(&instance);
    assert_near(sy_bound_area_ns(instance.workload), 40, 1e-9);
    instance_finish(&instance);
}

/* A fractional assignment that nobody optimises by prices: start everything at its fastest class,
 * then move small pieces from the fullest class to where they raise the top least. */
static double fractional_makespan(const struct sy_workload *workload, double *share) {
    uint32_t classes = workload->class_count;
    double load[16] = {0};
    for (uint32_t t = 0; t < workload->task_count; t++) {
        for (uint32_t c = 0; c < classes; c++) {
            bool best = workload->time_ns[t * classes + c] == workload->best_ns[t];
            share[t * classes + c] = best;
            if (best) {
                load[c] += workload->best_ns[t] / workload->machine->classes[c].device_count;
                for (uint32_t rest = c + 1; rest < classes; rest++) {
                    share[t * classes + rest] = 0;
                }
                break;
            }
        }
    }
    double top = INFINITY;
    for (double piece = 0.25; piece > 1e-4; piece *= 0.5) {
        for (int moves = 0; moves < 4000; moves++) {
            uint32_t full = 0, from = SY_NONE, to = 0;
            for (uint32_t c = 1; c < classes; c++) {
                full = load[c] > load[full] ? c : full;
            }
            top = fmin(top, load[full]);
            double best = INFINITY;
            for (uint32_t t = 0; t < workload->task_count; t++) {
                for (uint32_t c = 0; c < classes && share[t * classes + full] >= piece; c++) {
                    double time = workload->time_ns[t * classes + c];
                    double gain = workload->time_ns[t * classes + full];
                    double after =
                        load[c] + piece * time / workload->machine->classes[c].device_count;
                    if (c != full && isfinite(time) && gain > 0 && after < load[full] &&
                        time / gain < best) {
                        best = time / gain;
                        from = t;
                        to = c;
                    }
                }
            }
            if (from == SY_NONE) {
                break;
            }
            share[from * classes + full] -= piece;
            share[from * classes + to] += piece;
            load[full] -= piece * workload->time_ns[from * classes + full] /
                          workload->machine->classes[full].device_count;
            load[to] += piece * workload->time_ns[from * classes + to] /
                        workload->machine->classes[to].device_count;
        }
    }
    return top;
}

static void test_never_above_a_fractional_assignment(void **state) {
    (void)state;
    double share[60 * 5], sum_log = 0;
    uint32_t count = 200;
    for (uint64_t seed = 1; seed <= count; seed++) {
        struct instance instance;
        instance_random(&instance, &independent, seed);
        double area = sy_bound_area_ns(instance.workload);
        double found = fractional_makespan(instance.workload, share);
        if (area > found * (1 + 1e-9)) {
            fail_msg("seed %llu: bound %.17g, but %.17g can be reached", (unsigned long long)seed,
                     area, found);
        }
        sum_log += found > 0 ? log(found / area) : 0;
        instance_finish(&instance);
    }
    /* The greedy mover stops short now and then; on the whole the two must meet. */
    assert_true(sum_log / count < 0.05);
}

static void test_sorting_equals_column_generation(void **state) {
    (void)state;
    struct random_shape shape = independent;
    shape.class_max = 2;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct instance instance;
        struct sy_area area;
        instance_random(&instance, &shape, seed);
        if (instance.workload->class_count == 2) {
            double price[2][2], bound[2];
            assert_int_equal(sy_area_init(&area, instance.workload), 0);
            assert_int_equal(area.kind_count == 0 ? 0 : sy_area_prices_two(&area, price[0]), 0);
            assert_int_equal(area.kind_count == 0 ? 0 : sy_area_prices_many(&area, price[1]), 0);
            for (int i = 0; i < 2 && area.kind_count > 0; i++) {
                bound[i] = sy_area_buy(&area, price[i], NULL) /
                           (price[i][0] * area.devices[0] + price[i][1] * area.devices[1]);
            }
            if (area.kind_count > 0 && fabs(bound[0] - bound[1]) > 1e-9 * bound[0]) {
                fail_msg("seed %llu: %.17g by sorting, %.17g by columns", (unsigned long long)seed,
                         bound[0], bound[1]);
            }
            sy_area_finish(&area);
        }
        instance_finish(&instance);
    }
}

static void test_equal_tasks_become_one_kind(void **state) {
    (void)state;
    static const struct instance_device devices[] = {{0, 0}, {1, 0}, {2, 0}};
    struct instance instance;
    struct sy_area area;
    instance_init(&instance, devices, 3, 1, 0, 1000);
    for (uint32_t t = 0; t < 1000; t++) {
        for (uint32_t c = 0; c < 3; c++) {
            instance_time(&instance, t, c, 1 + t % 7 + c);
        }
    }
    instance_seal(&instance);
    assert_int_equal(sy_area_init(&area, instance.workload), 0);
    assert_int_equal(area.kind_count, 7);
    sy_area_finish(&area);
    instance_finish(&instance);
}

static void test_prices_pay_for_the_bound(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct instance instance;
        double price[16], income = 0, cost = 0;
        instance_random(&instance, &independent, seed);
        const struct sy_workload *workload = instance.workload;
        double bound = sy_bound_area_prices(workload, price);
        for (uint32_t c = 0; c < workload->class_count; c++) {
            assert_true(price[c] >= 0);
            income += price[c] * workload->machine->classes[c].device_count;
        }
        for (uint32_t t = 0; t < workload->task_count; t++) {
            double least = INFINITY;
            for (uint32_t c = 0; c < workload->class_count; c++) {
                double time = workload->time_ns[t * workload->class_count + c];
                least = isfinite(time) ? fmin(least, price[c] * time) : least;
            }
            cost += least;
        }
        assert_near(income, 1, 1e-12);
        assert_true(fabs(cost - bound) <= 1e-11 * bound);
        instance_finish(&instance);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_classes_by_hand),
        cmocka_unit_test(test_three_classes_by_hand),
        cmocka_unit_test(test_one_class_is_total_over_devices),
        cmocka_unit_test(test_work_that_only_one_class_can_do),
        cmocka_unit_test(test_never_above_a_fractional_assignment),
        cmocka_unit_test(test_sorting_equals_column_generation),
        cmocka_unit_test(test_equal_tasks_become_one_kind),
        cmocka_unit_test(test_prices_pay_for_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
