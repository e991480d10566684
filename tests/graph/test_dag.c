/* SPDX-License-Identifier: Apache-2.0
 *
 * .dag lines: what becomes of them, and each way they can be wrong.
 */
#include "check.h"
#include <math.h>
#include <string.h>

static void test_plain(void **state) {
    (void)state;
    struct sy_graph_list list = check_read("# a comment\n"
                                           "J first 3 2\n"
                                           "T 0 read 1.5 1 100\n"
                                           "T 2 merge 0.25 1 0\n" /* any order of T lines */
                                           "T 1 read 2 1 0\n"
                                           "\n"
                                           "E 0 2 1000\r\n"
                                           "E 1 2 0\n"
                                           "J empty 0 0\n"
                                           "J second 1 0\n"
                                           "T 0 x 1 1 0",
                                           NULL);
    assert_int_equal(list.count, 3);
    const struct sy_graph *graph = list.graphs[0];
    assert_string_equal(graph->name, "first");
    assert_true(graph->is_explicit);
    assert_int_equal(graph->task_count, 3);
    assert_int_equal(graph->edge_count, 2);
    assert_int_equal(graph->kernel_count, 2);
    assert_int_equal(graph->data_count, 1); /* only edges that carry bytes */
    assert_true(graph->data_bytes[0] == 1000);
    assert_true(sy_graph_time_ns(graph, 0, SY_CPU) == 1.5e9);
    assert_true(sy_graph_time_ns(graph, 2, SY_CPU) == 0.25e9);
    assert_true(sy_graph_time_ns(graph, 0, SY_GPU) == INFINITY);
    assert_int_equal(graph->tasks[0].kernel, graph->tasks[1].kernel);
    assert_string_equal(graph->kernels[graph->tasks[2].kernel].name, "merge");
    assert_int_equal(graph->access_count, 2);
    assert_int_equal(graph->access_producer[1], 0);
    assert_int_equal(list.graphs[1]->task_count, 0);
    assert_string_equal(list.graphs[2]->name, "second");
    sy_graph_list_finish(&list);
}

static double total_ns(const struct sy_graph *graph) {
    double sum = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        sum += sy_graph_time_ns(graph, t, SY_CPU);
    }
    return sum;
}

static double total_bytes(const struct sy_graph *graph) {
    double sum = 0;
    for (uint32_t d = 0; d < graph->data_count; d++) {
        sum += graph->data_bytes[d];
    }
    return sum;
}

static void test_instances(void **state) {
    (void)state;
    struct sy_graph_list list = check_read("J g 2 1\nT 0 map 3 4 0\nT 1 reduce 1 2 0\n"
                                           "E 0 1 800\n",
                                           NULL);
    const struct sy_graph *graph = list.graphs[0];
    assert_int_equal(graph->task_count, 6);
    assert_int_equal(graph->edge_count, 8);
    assert_int_equal(graph->data_count, 8);
    assert_true(total_bytes(graph) == 800);
    assert_true(total_ns(graph) == 14e9);
    assert_string_equal(graph->tasks[1].name, "map#0[1]");
    for (uint32_t from = 0; from < 4; from++) {
        for (uint32_t to = 4; to < 6; to++) {
            assert_true(check_has_edge(graph, from, to));
        }
    }
    sy_graph_list_finish(&list);
}

/* Folding keeps the total time; 1e9 instances cost nothing. */
static void test_folding(void **state) {
    (void)state;
    struct sy_graph_list list = check_read("J g 1 0\nT 0 map 2 1000000000 0\n", NULL);
    assert_int_equal(list.graphs[0]->task_count, 32);
    assert_true(fabs(total_ns(list.graphs[0]) / 2e18 - 1) < 1e-12);
    sy_graph_list_finish(&list);
    struct sy_graph_read_options options = {.max_instances = 3};
    list = check_read("J g 1 0\nT 0 map 2 7 0\n", &options);
    assert_int_equal(list.graphs[0]->task_count, 3);
    assert_true(fabs(total_ns(list.graphs[0]) / 14e9 - 1) < 1e-12);
    sy_graph_list_finish(&list);
}

static void test_sync(void **state) {
    (void)state;
    struct sy_graph_read_options options = {.max_instances = 40};
    struct sy_graph_list list = check_read("J g 3 2\nT 0 a 1 40 0\nT 1 b 1 40 0\nT 2 c 1 1 0\n"
                                           "E 0 1 4000\nE 1 2 0\n",
                                           &options);
    const struct sy_graph *graph = list.graphs[0];
    uint32_t sync = 81;
    assert_int_equal(graph->task_count, 82);
    assert_int_equal(graph->edge_count, 80 + 40);
    assert_int_equal(graph->data_count, 80);
    assert_true(graph->data_bytes[0] == 100);
    for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
        assert_true(sy_graph_time_ns(graph, sync, (enum sy_device_kind)kind) == 0);
    }
    for (uint32_t i = 0; i < 40; i++) {
        assert_true(check_has_edge(graph, i, sync));
        assert_true(check_has_edge(graph, sync, 40 + i));
    }
    /* What b reads was written by the sync. */
    assert_int_equal(graph->access_producer[graph->tasks[40].access_start], sync);
    sy_graph_list_finish(&list);
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t line, column;
        const char *message, *hint;
    } cases[] = {
        {"J g 1 0\nT 0 a 1 1 0 7\n", 2, 13, "one word too many", NULL},
        {"J g 1 0\nX 0\n", 2, 1, "unknown kind", "lines are"},
        {"T 0 a 1 1 0\n", 1, 1, "before the first J", "begins with"},
        {"J g\n", 1, 4, "ends before the number of tasks", NULL},
        {"J\n", 1, 2, "ends before the graph's name", NULL},
        {"J g 1 0\nT 1 a 1 1 0\n", 2, 3, "the task's index is 1, but the graph has 1 tasks",
         "start at 0"},
        {"J g 2 0\nT 0 a 1 1 0\nT 0 b 1 1 0\n", 3, 3, "task 0 was described before",
         "first on line 2"},
        {"J g 2 0\nT 0 a 1 1 0           \n", 2, 23, "ends with 1 of 2 tasks", "line 1"},
        {"J g 2 0\nT 0 a 1 1 0            \nJ h 0 0\n", 3, 1, "ends with 1 of 2 tasks", "line 1"},
        {"J g 2 1\nT 0 a 1 1 0\nT 1 a 1 1 0          \n", 3, 22, "ends with 0 of 1 edges",
         "truncated"},
        {"J g 2 1\nT 0 a 1 1 0\nT 1 a 1 1 0\nE 0 1 0\nE 0 1 0\n", 5, 1, "more than the 1 edges",
         "line 1"},
        {"J g 2 1\nT 0 a 1 1 0\nT 1 a 1 1 0\nE 0 2 0\n", 4, 5, "the edge's second task is 2", NULL},
        {"J g 2 1\nT 0 a 1 1 0\nT 1 a 1 1 0\nE 1 1 0\n", 4, 5, "cycle: task 1 -> task 1",
         "depend on itself"},
        {"J g 2 1\nT 0 a 1 1 0\nT 1 a 1 1 0\nE 0 1 -5\n", 4, 7, "size in bytes is -5", NULL},
        {"J g 1 0\nT 0 a nan 1 0\n", 2, 7, "time in seconds is not a finite number: nan", NULL},
        {"J g 1 0\nT 0 a inf 1 0\n", 2, 7, "not a finite number", NULL},
        {"J g 1 0\nT 0 a -1 1 0\n", 2, 7, "time in seconds is -1", NULL},
        {"J g 1 0\nT 0 a 1e15 9 0\n", 2, 12, "takes longer", NULL},
        {"J g 1 0\nT 0 a 1 0 0\n", 2, 9, "at least one instance", NULL},
        {"J g 1 0\nT 0 a 1 1.5 0\n", 2, 9, "not a whole number that fits: 1.5", NULL},
        {"J g 1 0\nT 0 a 1 1\n", 2, 10, "ends before the memory", NULL},
        {"J g 1000000000 0\n", 1, 5, "number of tasks is 1000000000, but at most", NULL},
        {"J g 1 99999999999\n", 1, 7, "number of edges is 99999999999", NULL},
        {"J g 40000000 0\nT 0 a 1 1 0\n", 1, 14, "only 12 bytes follow", "truncated"},
        {"J g 1 0\nT 0 a 1 1 0\nJ h -1 0\n", 3, 5, "not a whole number", NULL},
        {"J g 3 3\nT 0 a 1 1 0\nT 1 b 1 1 0\nT 2 c 1 1 0\nE 0 1 0\nE 1 2 0\nE 2 0 0\n", 7, 1,
         "cycle: task 0 -> task 1 -> task 2 -> task 0", NULL},
        {"J g 2 2\nT 0 a 1 40 0\nT 1 b 1 2 0\nE 0 1 0\nE 1 0 0\n", 5, 1, "cycle: a#0[", NULL},
    };
    for (uint32_t i = 0; i < SY_COUNT(cases); i++) {
        check_refused(cases[i].text, cases[i].line, cases[i].column, cases[i].message,
                      cases[i].hint);
    }
}

/* Every prefix of a good file is either good or refused with a place. */
static void test_truncation(void **state) {
    (void)state;
    const char *text = "J g 3 2\nT 0 a 1.5 1 0\nT 1 b 1 2 0\nT 2 c 1 1 0\nE 0 1 10\nE 1 2 20\n";
    uint32_t good = 0;
    for (size_t length = 1; length <= strlen(text); length++) {
        struct sy_error error = {0};
        struct sy_graph_list list = {0};
        if (sy_graph_read_text("t", text, length, NULL, &list, &error) == 0) {
            good++;
            sy_graph_list_finish(&list);
        } else {
            assert_true(error.line > 0 && error.column > 0 && error.message[0]);
        }
    }
    /* Cut inside the last number, or just before the last line end. */
    assert_int_equal(good, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),   cmocka_unit_test(test_instances),
        cmocka_unit_test(test_folding), cmocka_unit_test(test_sync),
        cmocka_unit_test(test_errors),  cmocka_unit_test(test_truncation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
