/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph.h"
#include "plugins.h"
#include <errno.h>

static void first_loaded_answers_plain_names(void **state) {
    (void)state;
    struct sy_kernel_set *set = open_plugins("good", "other"), *turned;
    turned = open_plugins("other", "good");
    const struct sy_kernel_entry *of_good = sy_kernel_set_find(set, "axpy", NULL);
    const struct sy_kernel_entry *of_other = sy_kernel_set_find(turned, "axpy", NULL);
    assert_int_equal(of_good->argument_count, 2);
    assert_int_equal(of_other->argument_count, 0);
    assert_ptr_equal(sy_kernel_set_find(set, "other:axpy", NULL), of_other);
    assert_ptr_equal(sy_kernel_set_find(turned, "good:axpy", NULL), of_good);
    assert_string_equal(sy_kernel_set_find(set, "only", NULL)->name, "only");
    sy_kernel_set_close(set);
    sy_kernel_set_close(turned);
}

static void unknown_names_get_the_nearest(void **state) {
    (void)state;
    struct sy_error error = {0};
    struct sy_kernel_set *set = open_plugins("good", NULL);
    assert_null(sy_kernel_set_find(set, "axpi", &error));
    assert_non_null(strstr(error.message, "'axpi'"));
    assert_non_null(strstr(error.hint, "'axpy'"));
    assert_null(sy_kernel_set_find(set, "good:onyl", &error));
    assert_null(sy_kernel_set_find(set, "nobody:axpy", &error));
    assert_null(sy_kernel_set_find(set, "somethingelse", NULL));
    sy_kernel_set_close(set);
}

static void workloads_and_their_arguments(void **state) {
    (void)state;
    struct sy_error error = {.message = "old"};
    const char *rest = NULL;
    struct sy_kernel_set *set = open_plugins("good", "other");
    assert_string_equal(sy_kernel_set_workload(set, "good:run:n=4:x", &rest, &error)->name, "run");
    assert_string_equal(rest, "n=4:x");
    assert_string_equal(sy_kernel_set_workload(set, "other:walk", &rest, &error)->name, "walk");
    assert_string_equal(rest, "");
    assert_null(sy_kernel_set_workload(set, "gen:cholesky:4", &rest, &error));
    assert_string_equal(error.message, "");
    assert_null(sy_kernel_set_workload(set, "good", &rest, NULL));
    assert_null(sy_kernel_set_workload(set, "good:wakl:n=4", &rest, &error));
    assert_non_null(strstr(error.message, "'wakl'"));
    assert_non_null(strstr(error.hint, "good:walk"));
    assert_null(sy_kernel_set_workload(set, "good::", &rest, &error));
    assert_non_null(strstr(error.hint, "walk, run"));
    sy_kernel_set_close(set);
}

static void pipelines_and_their_arguments(void **state) {
    (void)state;
    struct sy_error error = {.message = "old"};
    const char *rest = NULL;
    struct sy_kernel_set *set = open_plugins("good", "other");
    assert_string_equal(sy_kernel_set_pipeline(set, "good:stream:items=4:x", &rest, &error)->name,
                        "stream");
    assert_string_equal(rest, "items=4:x");
    assert_string_equal(sy_kernel_set_pipeline(set, "good:walk", &rest, &error)->usage, "items=N");
    assert_string_equal(rest, "");
    assert_null(sy_kernel_set_pipeline(set, "file.json", &rest, &error));
    assert_string_equal(error.message, "");
    assert_null(sy_kernel_set_pipeline(set, "good:sream", &rest, &error));
    assert_non_null(strstr(error.message, "no pipeline 'sream'"));
    assert_non_null(strstr(error.hint, "good:stream"));
    assert_null(sy_kernel_set_pipeline(set, "good:run", &rest, &error));
    assert_non_null(strstr(error.hint, "'run' is a workload"));
    assert_null(sy_kernel_set_workload(set, "good:stream:items=4", &rest, &error));
    assert_non_null(strstr(error.hint, "symph run --pipeline good:stream"));
    assert_null(sy_kernel_set_pipeline(set, "other:xxxxxxxx", &rest, &error));
    assert_non_null(strstr(error.hint, "symph kernels"));
    sy_kernel_set_close(set);
}

/* One task of the kernel that accesses as many data, all in one mode. */
static struct sy_graph *graph_of(const char *kernel, uint32_t count, uint32_t mode) {
    struct sy_graph *graph = sy_graph_create("g", false);
    struct sy_access accesses[SY_ARGUMENT_MAX + 2];
    struct sy_kernel_desc desc = {.name = kernel};
    struct sy_task_desc task = {.name = "it", .accesses = accesses, .access_count = count};
    assert_int_equal(sy_graph_add_kernel(graph, &desc, &task.kernel), 0);
    for (uint32_t i = 0; i < count; i++) {
        sy_data_id datum;
        assert_int_equal(sy_graph_add_data(graph, NULL, 8, &datum), 0);
        accesses[i] = (struct sy_access){datum.index, mode};
    }
    sy_task_id id;
    assert_int_equal(sy_graph_add_task(graph, &task, &id), 0);
    assert_int_equal(sy_graph_seal(graph, NULL), 0);
    return graph;
}

static void check_bind(const char *kernel, uint32_t count, uint32_t mode, const char *why) {
    struct sy_kernel_set *set = open_plugins("good", NULL);
    struct sy_graph *graph = graph_of(kernel, count, mode);
    const struct sy_kernel_entry *entry = NULL;
    struct sy_error error = {0};
    int code = sy_kernel_set_bind(set, graph, true, &entry, &error);
    if (why) {
        assert_true(code < 0);
        assert_null(entry);
        if (!strstr(error.message, why) || !strstr(error.message, kernel) ||
            !strstr(error.message, "it")) {
            fail_msg("\"%s\", not \"%s\"", error.message, why);
        }
        entry = (const struct sy_kernel_entry *)graph;
        assert_int_equal(sy_kernel_set_bind(set, graph, false, &entry, &error), 0);
        assert_null(entry);
    } else {
        assert_int_equal(code, 0);
        assert_string_equal(entry->name, kernel);
    }
    sy_graph_destroy(graph);
    sy_kernel_set_close(set);
}

static void tasks_must_fit_their_kernels(void **state) {
    (void)state;
    check_bind("axpy", 2, SY_READ_WRITE, NULL);
    check_bind("axpy", 1, SY_READ_WRITE, "accesses 1 data");
    check_bind("axpy", 2, SY_READ, "access 2 must be read and written");
    check_bind("axpy", 2, SY_WRITE, "access 1 must be read");
    check_bind("sum", SY_ARGUMENT_MAX, SY_READ, NULL);
    check_bind("sum", SY_ARGUMENT_MAX + 1, SY_READ, "at most 16");
    check_bind("nobody", 1, SY_READ, "no kernel plug-in has");
}

static void features_of_the_kernel_or_of_the_call(void **state) {
    (void)state;
    struct sy_kernel_set *set = open_plugins("good", NULL);
    const struct sy_argument arguments[] = {{NULL, 100, SY_READ}, {NULL, 28, SY_WRITE}};
    const struct sy_call call = {.arguments = arguments, .argument_count = 2, .work = 7};
    struct sy_cost_features found =
        sy_kernel_features(sy_kernel_set_find(set, "axpy", NULL), &call);
    assert_true(found.flops == 7 && found.bytes == 128);
    found = sy_kernel_features(sy_kernel_set_find(set, "sum", NULL), &call);
    assert_true(found.flops == 14 && found.bytes == 0); /* -1 byte is none */
    sy_kernel_set_close(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_loaded_answers_plain_names),
        cmocka_unit_test(unknown_names_get_the_nearest),
        cmocka_unit_test(workloads_and_their_arguments),
        cmocka_unit_test(pipelines_and_their_arguments),
        cmocka_unit_test(tasks_must_fit_their_kernels),
        cmocka_unit_test(features_of_the_kernel_or_of_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
