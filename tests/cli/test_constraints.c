/* SPDX-License-Identifier: Apache-2.0
 *
 * What people write as a constraint, and what it means.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "cli/plan/constraints.h"
#include <errno.h>
#include <math.h>
#include <string.h>

static int parse(const char *text, struct sy_constraint_list *ret_list, struct sy_error *error) {
    const char *items[] = {text};
    struct sy_text_list texts = {.items = items, .count = 1, .capacity = 1};
    *error = (struct sy_error){0};
    return sy_constraints_parse(&texts, ret_list, error);
}

static struct sy_plan_bounds bounds_of(const char *text) {
    struct sy_constraint_list list = {.count = 0};
    struct sy_error error;
    assert_int_equal(parse(text, &list, &error), 0);
    return sy_constraints_bounds(&list, SY_NONE);
}

static void near(double got, double wanted) {
    assert_true(fabs(got - wanted) <= 1e-12 * fabs(wanted));
}

static void test_units(void **state) {
    (void)state;
    near(bounds_of("latency<=2ms").latency_ns, 2e6);
    near(bounds_of("latency <= 0.5 s").latency_ns, 5e8);
    near(bounds_of("latency≤300us").latency_ns, 3e5);
    near(bounds_of("throughput>=500/s").period_ns, 2e6);
    near(bounds_of("throughput>60/min").period_ns, 1e9);
    near(bounds_of("energy<=3J").energy_joules, 3);
    near(bounds_of("energy<=300mJ").energy_joules, 0.3);
    near(bounds_of("power<=300W").power_watts, 300);
    near(bounds_of("power<=0.3kW").power_watts, 300);
    near(bounds_of("money<=0.01").money, 0.01);
    struct sy_plan_bounds several = bounds_of("latency<=2ms,power<=300W");
    near(several.latency_ns, 2e6);
    near(several.power_watts, 300);
    assert_true(isinf(several.period_ns) && isinf(several.energy_joules) && isinf(several.money));
}

static void test_skip(void **state) {
    (void)state;
    struct sy_constraint_list list = {.count = 0};
    struct sy_error error;
    assert_int_equal(parse("latency<=2ms,throughput>=5/s,gpu<=1", &list, &error), 0);
    assert_int_equal(list.count, 3);
    assert_true(isinf(sy_constraints_bounds(&list, 0).latency_ns));
    near(sy_constraints_bounds(&list, 0).period_ns, 2e8);
    assert_true(isinf(sy_constraints_bounds(&list, 1).period_ns));
}

static void test_wrong(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "empty"},
        {"latency", "quotes"},
        {"throughput=500", "quotes"},
        {"latency>=2ms", "from above"},
        {"throughput<=5", "from below"},
        {"latency<=fast", "not a time"},
        {"latency<=0ms", "above 0"},
        {"latency<=50", "no unit; write it as latency<=2ms"},
        {"throughput>=500", "no unit; write it as throughput>=500/s"},
        {"energy<=3", "no unit; write it as energy<=3J"},
        {"power<=300", "no unit; write it as power<=300W"},
        {"memory.gpu<=0", "not a size"},
        {"power<=300 J", "power<=300W"},
        {"memory<=40GB", "name a class"},
        {"memory.gpu<=40", "not a size"},
        {"latecy<=2ms", "did you mean 'latency'"},
        {"gpu<=1.5", "whole number"},
        {"gpu>=1", "from above"},
        {"<=3", "begin with a name"},
        {"power<=300W,power<=200W", "keep one"},
        {"power<=300W,", "empty"},
    };
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_constraint_list list = {.count = 77};
        struct sy_error error;
        char text[1024];
        assert_int_equal(parse(cases[i].text, &list, &error), -EINVAL);
        sy_error_format(&error, text, sizeof text);
        if (!strstr(text, cases[i].says)) {
            fail_msg("'%s': %s", cases[i].text, text);
        }
        assert_int_equal(list.count, 77); /* written only on success */
    }
}

static struct sy_system two_classes(void) {
    return (struct sy_system){
        .class_count = 2,
        .classes = {{.name = "cpu", .kind = SY_CPU, .device_count = 8, .memory_bytes = INFINITY},
                    {.name = "h200",
                     .kind = SY_GPU,
                     .device_count = 4,
                     .busy_count = 1,
                     .memory_bytes = 141e9}}};
}

static void test_classes(void **state) {
    (void)state;
    struct sy_constraint_list list = {.count = 0};
    struct sy_error error;
    struct sy_system system = two_classes();
    assert_int_equal(parse("memory.h200<=40GB,gpu<=2,devices.cpu<=100", &list, &error), 0);
    assert_int_equal(sy_constraints_limit(&list, SY_NONE, &system, &error), 0);
    near(system.classes[1].memory_bytes, 40e9);
    assert_int_equal(system.classes[1].device_count, 3); /* two, beside the one others hold */
    assert_int_equal(system.classes[0].device_count, 8);
    assert_true(isinf(system.classes[0].memory_bytes));
    assert_int_equal(parse("fpga<=1", &list, &error), 0);
    assert_int_equal(sy_constraints_limit(&list, SY_NONE, &system, &error), -ENOENT);
    assert_non_null(strstr(error.message, "cpu, h200"));
}

static void test_settings(void **state) {
    (void)state;
    struct sy_system system = two_classes();
    struct sy_error error;
    uint32_t classes = 0;
    const char *value = NULL;
    assert_int_equal(sy_system_setting(&system, "busy", "gpu=1", &classes, &value, &error), 0);
    assert_int_equal(classes, 2);
    assert_string_equal(value, "1");
    static const char *const wrong[] = {"gpu", "=1", "gpu=", "tpu=1", ""};
    for (size_t i = 0; i < SY_COUNT(wrong); i++) {
        assert_true(sy_system_setting(&system, "busy", wrong[i], &classes, &value, &error) < 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),    cmocka_unit_test(test_skip),
        cmocka_unit_test(test_wrong),    cmocka_unit_test(test_classes),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
