/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that runs out while descriptions and problems are read or made: always -ENOMEM,
 * and nothing is left behind.
 */
#include "../starve.h"
#include "gcn.h"
#include "planner/pipeline.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_read(void **state) {
    (void)state;
    int code = -ENOMEM;
    for (unsigned left = 0; code == -ENOMEM; left++) {
        struct sy_pipeline *pipeline = NULL;
        struct sy_error error = {0};
        starve_left = left;
        code = sy_pipeline_read_text("t", gcn_text, strlen(gcn_text), &pipeline, &error);
        starve_left = UINT_MAX;
        assert_true(code == 0 ? pipeline != NULL : pipeline == NULL && error.message[0]);
        sy_pipeline_destroy(pipeline);
        assert_true(left < 1000);
    }
    assert_int_equal(code, 0);
}

static void test_problem(void **state) {
    (void)state;
    static const struct sy_system system = {
        .classes = {{.name = "cpu",
                     .device_count = 4,
                     .width_max = 4,
                     .slowdown = 1,
                     .memory_bytes = INFINITY,
                     .roofline = {"cpu", 1e9, 1e9, 1e3, 5}}},
        .class_count = 1,
    };
    struct sy_pipeline *pipeline = NULL;
    struct sy_store *store = sy_store_create();
    assert_non_null(store);
    assert_int_equal(sy_store_set_roofline(store, &system.classes[0].roofline), 0);
    assert_int_equal(sy_pipeline_read_text("t", gcn_text, strlen(gcn_text), &pipeline, NULL), 0);
    int code = -ENOMEM;
    for (unsigned left = 0; code == -ENOMEM; left++) {
        struct sy_arena *arena = sy_arena_create();
        struct sy_plan_problem problem;
        struct sy_error error = {0};
        assert_non_null(arena);
        starve_left = left;
        code = sy_pipeline_problem(pipeline, pipeline->examples[0].values, &system, store, 0, arena,
                                   &problem, NULL, &error);
        starve_left = UINT_MAX;
        assert_true(code == 0 || error.message[0]);
        sy_arena_destroy(arena);
        assert_true(left < 1000);
    }
    assert_int_equal(code, 0);
    sy_pipeline_destroy(pipeline);
    sy_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_problem),
    };
    return cmocka_run_group_tests_name("planner memory", tests, NULL, NULL);
}
