/* SPDX-License-Identifier: Apache-2.0
 *
 * Telling formats apart, lists, files, and the DOT export.
 */
#include "check.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_formats(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool is_explicit;
    } cases[] = {
        {"\n\n J g 0 0\n", true},
        {" {\"schema\": \"symph-graph-1\", \"tasks\": []}", false},
        {"{\"schemaVersion\": \"1.4\", \"workflow\": {\"tasks\": [{\"id\": \"a\", "
         "\"runtimeInSeconds\": 1}]}}",
         true},
        {"Control: WontUse\nModel: a\nJobId: 1\n", true},
    };
    for (uint32_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_graph_list list = check_read(cases[i].text, NULL);
        assert_int_equal(list.count, 1);
        assert_int_equal(list.graphs[0]->is_explicit, cases[i].is_explicit);
        sy_graph_list_finish(&list);
        assert_null(list.graphs);
    }
}

static void test_unknown(void **state) {
    (void)state;
    check_refused("", 1, 1, "the file is empty", "known are");
    check_refused(" \n\n", 1, 1, "the file is empty", "known are");
    check_refused("hello world", 1, 1, "not a graph in a known format", "known are");
    check_refused("42", 1, 1, "not a graph in a known format", NULL);
    struct sy_error error = {0};
    struct sy_graph_list list = {0};
    assert_int_equal(sy_graph_read_text("t", "J g 0 0\nT \0", 11, NULL, &list, &error), -EINVAL);
    assert_int_equal(error.line, 2);
    assert_int_equal(error.column, 3);
    assert_string_equal(error.message, "a NUL byte");
    check_refused("J g 1 0\nT 0 caf\xe9 1 1 0\n", 2, 8, "a byte that is not UTF-8", "UTF-8");
    /* An error is not required to be wanted. */
    assert_int_equal(sy_graph_read_text("t", "{", 1, NULL, &list, NULL), -EINVAL);
    assert_int_equal(sy_graph_read_text("t", "J", 1, NULL, &list, NULL), -EINVAL);
    assert_int_equal(sy_graph_read_text("t", "{\"workflow\": 1}", 15, NULL, &list, NULL), -EINVAL);
    assert_int_equal(sy_graph_read_text("t", "A: 1", 4, NULL, &list, NULL), -EINVAL);
}

/* Text need not end with a NUL: the byte behind it is not looked at. */
static void test_exact_length(void **state) {
    (void)state;
    const char *text = "{\"schema\": \"symph-graph-1\", \"tasks\": []}";
    size_t length = strlen(text);
    char *exact = malloc(length);
    memcpy(exact, text, length);
    struct sy_error error = {0};
    struct sy_graph_list list = {0};
    assert_int_equal(sy_graph_read_text("t", exact, length, NULL, &list, &error), 0);
    sy_graph_list_finish(&list);
    free(exact);
}

static void test_file(void **state) {
    (void)state;
    char path[] = "/tmp/symph-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    const char text[] = "J g 1 0\nT 0 a 1 1 0\nJ h 1 0\nT 0 a 1 1 x\n";
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    struct sy_error error = {0};
    struct sy_graph_list list = {0};
    assert_int_equal(sy_graph_read_file(path, NULL, &list, &error), -EINVAL);
    assert_string_equal(error.file, path);
    assert_int_equal(error.line, 4);
    assert_int_equal(error.column, 11);
    assert_null(list.graphs);
    unlink(path);
    assert_int_equal(sy_graph_read_file(path, NULL, &list, &error), -ENOENT);
    assert_string_equal(error.file, path);
}

static void test_examples(void **state) {
    (void)state;
    static const struct {
        const char *path;
        uint32_t graphs, tasks, edges; /* of the first graph */
    } cases[] = {{EXAMPLES "/variant-calling.json", 1, 5, 5},
                 {EXAMPLES "/in-place.json", 1, 4, 4},
                 {EXAMPLES "/two-tenants.json", 2, 3, 2}};
    for (uint32_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_error error = {0};
        struct sy_graph_list list = {0};
        if (sy_graph_read_file(cases[i].path, NULL, &list, &error) != 0) {
            fail_msg("%s:%u:%u: %s", error.file, error.line, error.column, error.message);
        }
        assert_int_equal(list.count, cases[i].graphs);
        assert_int_equal(list.graphs[0]->task_count, cases[i].tasks);
        assert_int_equal(list.graphs[0]->edge_count, cases[i].edges);
        sy_graph_list_finish(&list);
    }
}

static void test_many_graphs(void **state) {
    (void)state;
    struct sy_buffer text = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        sy_buffer_printf(&text, "J g%u 1 0\nT 0 a %u 1 0\n", i, i);
    }
    struct sy_graph_list list = check_read(text.text, NULL);
    assert_int_equal(list.count, 1000);
    assert_string_equal(list.graphs[999]->name, "g999");
    sy_graph_list_finish(&list);
    sy_buffer_finish(&text);
}

static void test_dot(void **state) {
    (void)state;
    struct sy_graph_list list =
        check_read("{\"schema\": \"symph-graph-1\", \"name\": \"a \\\"b\\\"\", \"kernels\": "
                   "[{\"name\": \"k\\\\\"}, {\"name\": \"l\"}], \"data\": [{\"bytes\": 2500000}], "
                   "\"tasks\": [{\"name\": \"x\\ny\", \"kernel\": 0, \"writes\": [0]}, "
                   "{\"kernel\": 1, \"reads\": [0]}, {\"kernel\": 1, \"after\": [1]}]}",
                   NULL);
    struct sy_buffer text = {0};
    sy_graph_write_dot(list.graphs[0], &text);
    assert_string_equal(text.text, "digraph \"a \\\"b\\\"\" {\n"
                                   "  node [shape=box, style=filled];\n"
                                   "  t0 [fillcolor=\"0.000 0.35 0.95\", label=\"x y\\nk\\\\\"];\n"
                                   "  t1 [fillcolor=\"0.618 0.35 0.95\", label=\"task 1\\nl\"];\n"
                                   "  t2 [fillcolor=\"0.618 0.35 0.95\", label=\"task 2\\nl\"];\n"
                                   "  t0 -> t1 [label=\"2.5 MB\"];\n"
                                   "  t1 -> t2;\n"
                                   "}\n");
    sy_buffer_finish(&text);
    sy_graph_list_finish(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),      cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_exact_length), cmocka_unit_test(test_file),
        cmocka_unit_test(test_examples),     cmocka_unit_test(test_many_graphs),
        cmocka_unit_test(test_dot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
