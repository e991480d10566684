/* SPDX-License-Identifier: Apache-2.0
 *
 * StarPU's tasks.rec: a recording in its own words, and what is refused.
 */
#include "check.h"
#include <math.h>
#include <string.h>

static const char recorded[] = "Name: POTRF\n"
                               "Model: chol_model_potrf\n"
                               "JobId: 1\n"
                               "SubmitOrder: 1\n"
                               "Priority: 10\n"
                               "Tag: 1a\n"
                               "WorkerId: 0\n"
                               "MemoryNode: 0\n"
                               "StartTime: 10.000000\n"
                               "EndTime: 12.500000\n"
                               "GFlop: 0.295\n"
                               "Parameters: 960\n"
                               "Handles: 5560aa 77\n"
                               "Modes: RW S\n"
                               "Sizes: 7372800 100\n"
                               "MPIRank: -1\n"
                               "\n"
                               "JobId: 2\n" /* no model: control */
                               "DependsOn: 1 999\n"
                               "\n"
                               "Name: TRSM\n"
                               "Model: chol_model_trsm\n"
                               "JobId: 3\n"
                               "DependsOn: 2 1\n"
                               "MemoryNode: 1\n"
                               "StartTime: 13\n"
                               "EndTime: 14\n"
                               "Handles: 5560aa 5560bb\n"
                               "Modes: R RW\n"
                               "Sizes: 7372800 7372800\n"
                               "\n"
                               "Model: chol_model_trsm\n"
                               "JobId: 4\n"
                               "MemoryNode: 0\n"
                               "StartTime: 13\n"
                               "EndTime: 33\n"
                               "Handles: 5560cc\n"
                               "Modes: W\n"
                               "Sizes: 1\n";

static void test_recording(void **state) {
    (void)state;
    struct sy_graph_list list = check_read(recorded, NULL);
    assert_int_equal(list.count, 1);
    const struct sy_graph *graph = list.graphs[0];
    assert_int_equal(graph->task_count, 4);
    assert_int_equal(graph->kernel_count, 3);
    assert_string_equal(graph->tasks[0].name, "POTRF#1");
    assert_string_equal(graph->tasks[3].name, "chol_model_trsm#4");
    assert_string_equal(graph->kernels[graph->tasks[0].kernel].name, "chol_model_potrf");
    assert_true(graph->tasks[0].work == 0.295e9);
    /* Unknown job 999 is dropped; the rest stays. */
    assert_int_equal(graph->edge_count, 3);
    assert_true(check_has_edge(graph, 0, 1));
    assert_true(check_has_edge(graph, 1, 2));
    assert_true(check_has_edge(graph, 0, 2));
    /* Scratch is no access. */
    assert_int_equal(graph->tasks[1].access_start, 1);
    assert_int_equal(graph->access_producer[1], 0);
    assert_true(graph->data_bytes[0] == 7372800);
    /* Its own time where it ran, the mean of the others elsewhere, nothing where none ran. */
    assert_true(sy_graph_time_ns(graph, 0, SY_CPU) == 2.5e6);
    assert_true(sy_graph_time_ns(graph, 0, SY_GPU) == INFINITY);
    assert_true(sy_graph_time_ns(graph, 2, SY_GPU) == 1e6);
    assert_true(sy_graph_time_ns(graph, 2, SY_CPU) == 20e6);
    for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
        assert_true(sy_graph_time_ns(graph, 1, (enum sy_device_kind)kind) == 0);
    }
    sy_graph_list_finish(&list);
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t line, column;
        const char *message, *hint;
    } cases[] = {
        {"Model: a\n\n", 1, 1, "no JobId", NULL},
        {"Model: a\nJobId:\n", 2, 7, "ends before the job's number", NULL},
        {"Model: a\nJobId: 1\n\nModel: a\nJobId: 1\n", 4, 1, "has the same JobId",
         "first on line 1"},
        {"Model: a\nnonsense\n", 2, 1, "expected a line \"Key: value\"", "blank line"},
        {"Model: a\nJobId: 1\nStartTime: nan\n", 3, 12, "start time is not a finite number", NULL},
        {"Model: a\nJobId: 1\nStartTime: -4\n", 3, 12, "start time is -4", NULL},
        {"Model: a\nJobId: 1\nStartTime: 5\nEndTime: 4\n", 1, 1, "ends before it starts", NULL},
        {"Model: a\nJobId: 1\nHandles: 1 2\nModes: R\n", 1, 1, "differ in number", NULL},
        {"Model: a\nJobId: 1\nHandles: 1\nModes: R\nSizes: 1 2\n", 1, 1, "differ in number", NULL},
        {"Model: a\nJobId: 1\nHandles: 1\nModes: R\nSizes: x\n", 5, 8, "size is not a finite",
         NULL},
        {"Model: a\nJobId: 1\nMemoryNode: -1\n", 3, 13, "not a whole number", NULL},
        {"Model: a\nJobId: 1\nDependsOn: 2\n\nModel: b\nJobId: 2\nDependsOn: 1\n", 1, 1,
         "cycle: a#1 -> b#2 -> a#1", NULL},
        {"Model: a\nJobId: 1\nDependsOn: 1\n", 1, 1, "cycle: a#1 -> a#1", NULL},
    };
    for (uint32_t i = 0; i < SY_COUNT(cases); i++) {
        check_refused(cases[i].text, cases[i].line, cases[i].column, cases[i].message,
                      cases[i].hint);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recording),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
