/* SPDX-License-Identifier: Apache-2.0
 *
 * WfFormat 1.4 and 1.5: the same workflow both ways, and what is refused.
 */
#include "check.h"
#include <math.h>
#include <string.h>

/* Version 1.4: one list, references by name, files in the tasks. */
static const char old[] =
    "{\"name\": \"wf\", \"schemaVersion\": \"1.4\", \"author\": {\"name\": \"x\"},\n"
    " \"workflow\": {\"makespanInSeconds\": 9, \"executedAt\": \"then\",\n"
    "  \"tasks\": [\n"
    "   {\"name\": \"split_ID01\", \"id\": \"ID01\", \"category\": \"split\", \"type\": "
    "\"compute\",\n"
    "    \"parents\": [], \"children\": [\"work_ID02\", \"work_ID03\"], \"runtimeInSeconds\": 1,\n"
    "    \"files\": [{\"link\": \"input\", \"name\": \"in\", \"sizeInBytes\": 100},\n"
    "              {\"link\": \"output\", \"name\": \"a\", \"sizeInBytes\": 10},\n"
    "              {\"link\": \"output\", \"name\": \"b\", \"sizeInBytes\": 20}]},\n"
    "   {\"name\": \"work_ID02\", \"id\": \"ID02\", \"parents\": [\"split_ID01\"], \"children\": "
    "[],\n"
    "    \"command\": {\"program\": \"/bin/work\", \"arguments\": [\"-x\"]}, "
    "\"runtimeInSeconds\": 2,\n"
    "    \"files\": [{\"link\": \"input\", \"name\": \"a\", \"sizeInBytes\": 10}]},\n"
    "   {\"name\": \"work_ID03\", \"id\": \"ID03\", \"parents\": [], \"children\": [],\n"
    "    \"runtimeInSeconds\": 3.5, \"cores\": 1,\n"
    "    \"files\": [{\"link\": \"input\", \"name\": \"b\", \"sizeInBytes\": 20}]}],\n"
    "  \"machines\": [{\"nodeName\": \"n\"}]}}\n";

/* Version 1.5: specification and execution apart, references by id; execution comes first here. */
static const char new[] =
    "{\"name\": \"wf\", \"schemaVersion\": \"1.5\", \"workflow\": {\n"
    " \"execution\": {\"makespanInSeconds\": 9, \"executedAt\": \"then\", \"tasks\": [\n"
    "   {\"id\": \"1\", \"runtimeInSeconds\": 1, \"command\": {\"program\": \"split\"}},\n"
    "   {\"id\": \"2\", \"runtimeInSeconds\": 2, \"command\": {\"program\": \"/bin/work\"}},\n"
    "   {\"id\": \"3\", \"runtimeInSeconds\": 3.5, \"machines\": [\"n\"]}]},\n"
    " \"specification\": {\"tasks\": [\n"
    "   {\"name\": \"split_ID01\", \"id\": \"1\", \"parents\": [], \"children\": [\"2\", \"3\"],\n"
    "    \"inputFiles\": [\"in\"], \"outputFiles\": [\"a\", \"b\"]},\n"
    "   {\"name\": \"work_ID02\", \"id\": \"2\", \"parents\": [\"1\"], \"children\": [],\n"
    "    \"inputFiles\": [\"a\"]},\n"
    "   {\"name\": \"work_ID03\", \"id\": \"3\", \"parents\": [\"1\"], \"children\": [],\n"
    "    \"inputFiles\": [\"b\"]}],\n"
    "  \"files\": [{\"id\": \"in\", \"sizeInBytes\": 100}, {\"id\": \"a\", \"sizeInBytes\": 10},\n"
    "            {\"id\": \"b\", \"sizeInBytes\": 20}]}}}\n";

static void test_both_versions(void **state) {
    (void)state;
    const char *texts[] = {old, new};
    struct sy_graph_list lists[2];
    for (uint32_t i = 0; i < 2; i++) {
        lists[i] = check_read(texts[i], NULL);
        assert_int_equal(lists[i].count, 1);
        const struct sy_graph *graph = lists[i].graphs[0];
        assert_string_equal(graph->name, "wf");
        assert_int_equal(graph->task_count, 3);
        assert_int_equal(graph->edge_count, 2);
        assert_true(check_has_edge(graph, 0, 1));
        assert_true(check_has_edge(graph, 0, 2));
        assert_int_equal(graph->data_count, 3);
        assert_true(graph->data_bytes[1] == 10);
        assert_string_equal(graph->data_names[2], "b");
        assert_true(sy_graph_time_ns(graph, 2, SY_CPU) == 3.5e9);
        assert_true(sy_graph_time_ns(graph, 2, SY_GPU) == INFINITY);
        /* Category or program, a path's last part; else the name without its number. */
        assert_int_equal(graph->kernel_count, 2);
        assert_string_equal(graph->kernels[graph->tasks[0].kernel].name, "split");
        assert_string_equal(graph->kernels[graph->tasks[1].kernel].name, "work");
        assert_int_equal(graph->tasks[1].kernel, graph->tasks[2].kernel);
        assert_string_equal(graph->tasks[1].name, "work_ID02");
        /* "in" was there from the start, "a" and "b" come from the first task. */
        const uint32_t producers[] = {SY_NONE, SY_NONE, SY_NONE, 0, 0};
        assert_memory_equal(graph->access_producer, producers, sizeof producers);
    }
    check_same(lists[0].graphs[0], lists[1].graphs[0]);
    sy_graph_list_finish(&lists[0]);
    sy_graph_list_finish(&lists[1]);
}

#define SPECIFICATION(tasks)                                                                       \
    "{\"name\": \"w\", \"schemaVersion\": \"1.5\",\n\"workflow\": {\"specification\": "            \
    "{\"tasks\": [\n" tasks "]}}}"

/* A file alone makes a dependency; a second writer is not one; a task may rewrite its input. */
static void test_files(void **state) {
    (void)state;
    struct sy_graph_list list = check_read(
        SPECIFICATION("{\"id\": \"r\", \"inputFiles\": [\"f\"], \"runtimeInSeconds\": 1},\n"
                      "{\"id\": \"w\", \"outputFiles\": [\"f\"], \"runtimeInSeconds\": 1},\n"
                      "{\"id\": \"v\", \"outputFiles\": [\"f\"], \"runtimeInSeconds\": 1},\n"
                      "{\"id\": \"s\", \"inputFiles\": [\"g\"], \"outputFiles\": [\"g\"], "
                      "\"runtimeInSeconds\": 1}"),
        NULL);
    const struct sy_graph *graph = list.graphs[0];
    assert_int_equal(graph->edge_count, 1);
    assert_true(check_has_edge(graph, 1, 0));
    assert_int_equal(graph->access_count, 3);
    assert_int_equal(graph->accesses[2].mode, SY_READ_WRITE);
    assert_int_equal(graph->access_producer[0], 1);
    assert_string_equal(graph->tasks[0].name, "r");
    sy_graph_list_finish(&list);
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t line, column;
        const char *message;
    } cases[] = {
        {"{\"workflow\": {\"tasks\": [{\"id\": \"a\", \"runtimeInSeconds\": 1}]}}", 1, 1,
         "no \"schemaVersion\""},
        {"{\"schemaVersion\": \"1.4\"}", 1, 1, "no \"workflow\""},
        {"{\"schemaVersion\": \"1.2\"}", 1, 19, "version \"1.2\" is not known"},
        {SPECIFICATION(""), 1, 1, "no \"tasks\""},
        {SPECIFICATION("{\"name\": \"a\"}"), 3, 1, "task \"a\" has no runtimeInSeconds"},
        {SPECIFICATION("{\"runtimeInSeconds\": 1}"), 3, 1, "neither \"id\" nor \"name\""},
        {SPECIFICATION("{\"id\": \"a\", \"runtimeInSeconds\": -1}"), 3, 33,
         "the run time is -1, outside"},
        {SPECIFICATION("{\"id\": \"a\", \"runtimeInSeconds\": 1},\n {\"id\": \"a\", "
                       "\"runtimeInSeconds\": 1}"),
         4, 2, "task \"a\" is described twice"},
        {SPECIFICATION("{\"id\": \"a\", \"runtimeInSeconds\": 1,\n \"parents\": [\"b\"]}"), 4, 14,
         "no task \"b\""},
        {SPECIFICATION("{\"id\": \"a\", \"runtimeInSeconds\": 1, \"parents\": [\"b\"]},\n"
                       "{\"id\": \"b\", \"runtimeInSeconds\": 1, \"parents\": [\"a\"]}"),
         3, 1, "cycle: a -> b -> a"},
        {SPECIFICATION("{\"id\": \"a\", \"files\": [{\"name\": \"f\"}], \"runtimeInSeconds\": 1}"),
         3, 23, "file has no \"link\""},
        {SPECIFICATION("{\"id\": \"a\", \"files\": [{\"name\": \"f\", \"link\": \"input\", "
                       "\"sizeInBytes\": -3}], \"runtimeInSeconds\": 1}"),
         3, 69, "size of a file is -3"},
        {"{\"schemaVersion\": \"1.5\", \"workflow\": {\n", 2, 1, "the text ends here"},
        {"{\"schemaVersion\": \"1.5\", \"workflow\": []}", 1, 38, "expected an object"},
    };
    for (uint32_t i = 0; i < SY_COUNT(cases); i++) {
        check_refused(cases[i].text, cases[i].line, cases[i].column, cases[i].message, NULL);
    }
}

static void test_truncation(void **state) {
    (void)state;
    for (size_t length = 0; length + 2 < sizeof new; length++) {
        struct sy_error error = {0};
        struct sy_graph_list list = {0};
        assert_int_not_equal(sy_graph_read_text("t", new, length, NULL, &list, &error), 0);
        assert_true(error.line > 0 && error.column > 0 && error.message[0]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_versions),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_truncation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
