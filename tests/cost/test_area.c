/* SPDX-License-Identifier: Apache-2.0
 *
 * The area bound by hand, by two methods against each other, and against a fractional assignment
 * found independently: no lower bound may exceed it, and ours must come near.
 */
#include "cost/area.h"
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

static double area_ns(const struct instance *instance) {
    return sy_cost_area_ns(instance->workload, 0, instance->workload->task_count);
}

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
    assert_near(area_ns(&instance), 5, 1e-9);
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
    assert_near(area_ns(&instance), 4, 1e-9);
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
    assert_near(area_ns(&instance), 10, 1e-9);
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
    assert_near(area_ns(&instance), 40, 1e-9);
    instance_finish(&instance);
}

static void test_range_of_tasks(void **state) {
    (void)state;
    static const struct instance_device devices[] = {{0, 0}, {1, 0}};
    static const double times[6][2] = {{90, 1}, {4, 4}, {6, 12}, {2, 1}, {8, 8}, {1, 90}};
    struct instance instance, part;
    instance_init(&instance, devices, 2, 1, 0, 6);
    instance_init(&part, devices, 2, 1, 0, 3);
    for (uint32_t t = 0; t < 6; t++) {
        for (uint32_t c = 0; c < 2; c++) {
            instance_time(&instance, t, c, times[t][c]);
            if (t >= 2 && t < 5) {
                instance_time(&part, t - 2, c, times[t][c]);
            }
        }
    }
    instance_seal(&instance);
    instance_seal(&part);
    assert_near(sy_cost_area_ns(instance.workload, 2, 5), area_ns(&part), 1e-9);
    assert_near(sy_cost_area_ns(instance.workload, 1, 2), 2, 1e-9);
    assert_true(sy_cost_area_ns(instance.workload, 3, 3) == 0);
    instance_finish(&instance);
    instance_finish(&part);
}

/* A fractional assignment that nobody optimises by prices: everything starts on its fastest class,
 * then small pieces move from the fullest class to where they cost least. */
struct fractions {
    const struct sy_workload *workload;
    double share[60 * 5];
    double load[5]; /* per device */
};

static double load_of(const struct fractions *fractions, uint32_t task, uint32_t class_index) {
    const struct sy_workload *workload = fractions->workload;
    return workload->time_ns[task * workload->class_count + class_index] /
           workload->machine->classes[class_index].device_count;
}

static void start_on_fastest(struct fractions *fractions) {
    const struct sy_workload *workload = fractions->workload;
    for (uint32_t t = 0; t < workload->task_count; t++) {
        uint32_t c = 0;
        while (workload->time_ns[t * workload->class_count + c] != workload->best_ns[t]) {
            c++;
        }
        fractions->share[t * workload->class_count + c] = 1;
        fractions->load[c] += load_of(fractions, t, c);
    }
}

/* The cheapest move of a piece that does not make a new top. False: there is none. */
static bool move_piece(struct fractions *fractions, uint32_t full, double piece) {
    const struct sy_workload *workload = fractions->workload;
    uint32_t classes = workload->class_count, from = SY_NONE, to = 0;
    double best = INFINITY;
    for (uint32_t t = 0; t < workload->task_count; t++) {
        for (uint32_t c = 0; c < classes && fractions->share[t * classes + full] >= piece; c++) {
            double price =
                workload->time_ns[t * classes + c] / workload->time_ns[t * classes + full];
            double after = fractions->load[c] + piece * load_of(fractions, t, c);
            if (c != full && after < fractions->load[full] && price < best) {
                best = price;
                from = t;
                to = c;
            }
        }
    }
    if (from == SY_NONE) {
        return false;
    }
    fractions->share[from * classes + full] -= piece;
    fractions->share[from * classes + to] += piece;
    fractions->load[full] -= piece * load_of(fractions, from, full);
    fractions->load[to] += piece * load_of(fractions, from, to);
    return true;
}

static double fractional_makespan(const struct sy_workload *workload) {
    struct fractions fractions = {.workload = workload};
    double top = INFINITY;
    start_on_fastest(&fractions);
    for (double piece = 0.25; piece > 1e-4; piece *= 0.5) {
        for (int moves = 0; moves < 4000; moves++) {
            uint32_t full = 0;
            for (uint32_t c = 1; c < workload->class_count; c++) {
                full = fractions.load[c] > fractions.load[full] ? c : full;
            }
            top = fmin(top, fractions.load[full]);
            if (!move_piece(&fractions, full, piece)) {
                break;
            }
        }
    }
    return top;
}

static void test_never_above_a_fractional_assignment(void **state) {
    (void)state;
    double sum_log = 0;
    uint32_t count = 200;
    for (uint64_t seed = 1; seed <= count; seed++) {
        struct instance instance;
        instance_random(&instance, &independent, seed);
        double area = area_ns(&instance);
        double found = fractional_makespan(instance.workload);
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
        struct sy_cost_area area;
        instance_random(&instance, &shape, seed);
        if (instance.workload->class_count == 2) {
            double price[2][2], bound[2];
            assert_int_equal(
                sy_cost_area_init(&area, instance.workload, 0, instance.workload->task_count), 0);
            assert_int_equal(area.kind_count == 0 ? 0 : sy_cost_area_prices_two(&area, price[0]),
                             0);
            assert_int_equal(area.kind_count == 0 ? 0 : sy_cost_area_prices_many(&area, price[1]),
                             0);
            for (int i = 0; i < 2 && area.kind_count > 0; i++) {
                bound[i] = sy_cost_area_buy(&area, price[i], NULL) /
                           (price[i][0] * area.devices[0] + price[i][1] * area.devices[1]);
            }
            if (area.kind_count > 0 && fabs(bound[0] - bound[1]) > 1e-9 * bound[0]) {
                fail_msg("seed %llu: %.17g by sorting, %.17g by columns", (unsigned long long)seed,
                         bound[0], bound[1]);
            }
            sy_cost_area_finish(&area);
        }
        instance_finish(&instance);
    }
}

static void test_equal_tasks_become_one_kind(void **state) {
    (void)state;
    static const struct instance_device devices[] = {{0, 0}, {1, 0}, {2, 0}};
    struct instance instance;
    struct sy_cost_area area;
    instance_init(&instance, devices, 3, 1, 0, 1000);
    for (uint32_t t = 0; t < 1000; t++) {
        for (uint32_t c = 0; c < 3; c++) {
            instance_time(&instance, t, c, 1 + t % 7 + c);
        }
    }
    instance_seal(&instance);
    assert_int_equal(sy_cost_area_init(&area, instance.workload, 0, instance.workload->task_count),
                     0);
    assert_int_equal(area.kind_count, 7);
    sy_cost_area_finish(&area);
    instance_finish(&instance);
}

static void test_prices_pay_for_the_bound(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct instance instance;
        double price[16], income = 0, cost = 0;
        instance_random(&instance, &independent, seed);
        const struct sy_workload *workload = instance.workload;
        double bound = sy_cost_area_prices(workload, 0, workload->task_count, price);
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
        cmocka_unit_test(test_range_of_tasks),
        cmocka_unit_test(test_never_above_a_fractional_assignment),
        cmocka_unit_test(test_sorting_equals_column_generation),
        cmocka_unit_test(test_equal_tasks_become_one_kind),
        cmocka_unit_test(test_prices_pay_for_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
