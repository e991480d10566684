/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that symph-bench makes: which recorded ones it takes, and those of a table of pairs.
 */
#include "symph-bench/bench.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// clang-format off
#include <cmocka.h>
// clang-format on

/* A file with that text, which the caller removes and frees. */
static char *write_text(const char *text) {
    char *path = strdup("/tmp/symph-test-jobs-XXXXXX");
    assert_non_null(path);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return path;
}

/* Closes it. */
static struct sy_graph_list read_graphs(int fd) {
    char path[64];
    struct sy_graph_list graphs = {0};
    struct sy_error error = {0};
    assert_true(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(sy_graph_read_file(path, &(struct sy_graph_read_options){0}, &graphs, &error),
                     0);
    close(fd);
    return graphs;
}

#define JOB(name, seconds)                                                                         \
    "J " name " 3 1\nT 0 a " seconds " 4 0\n# a comment\nT 1 b 0 1 0\nT 2 c 0 1 0\nE 0 1 5\n"

static int choose(const char *text, double within) {
    char *path = write_text(text);
    int fd = sy_jobs_choose(path, within);
    unlink(path);
    free(path);
    return fd;
}

static void near_the_middle(void **state) {
    (void)state;
    static const char text[] = JOB("small", "0.9") JOB("least", "1")
        JOB("middle", "10") "J bag 1 0\nT 0 a 10 9 0\n" JOB("most", "100") JOB("large", "101");
    struct sy_graph_list graphs = read_graphs(choose(text, 10));
    assert_int_equal(graphs.count, 3);
    assert_string_equal(sy_graph_name(graphs.graphs[0]), "least");
    assert_string_equal(sy_graph_name(graphs.graphs[2]), "most");
    sy_graph_list_finish(&graphs);
    graphs = read_graphs(choose(text, 1000));
    assert_int_equal(graphs.count, 5);
    sy_graph_list_finish(&graphs);
}

/* Its reader says what is wrong, with the file's own name. */
static void not_understood(void **state) {
    (void)state;
    assert_true(choose("", 10) < 0);
    assert_true(choose("T 0 a 1 1 0\n", 10) < 0);
    assert_true(choose(JOB("a", "x"), 10) < 0);
    assert_true(choose("J a 1 0\nT 0 a 1 1 0\n", 10) < 0);
    assert_true(sy_jobs_choose("/no/such/file", 10) < 0);
}

static void training(void **state) {
    (void)state;
    char *path = write_text("job_a,job_b,a_colocated_ratio,b_colocated_ratio\n"
                            "left,right,0.5,0.6\nright,right,0.4,0.4\n");
    struct sy_graph_list graphs = read_graphs(sy_jobs_of_pairs(path));
    assert_int_equal(graphs.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct sy_graph *graph = graphs.graphs[i];
        assert_string_equal(sy_graph_name(graph), i ? "right" : "left");
        assert_true(graph->task_count >= 5 && graph->task_count <= 160);
        assert_int_equal(graph->kernel_count, 1);
    }
    sy_graph_list_finish(&graphs);
    unlink(path);
    free(path);
    assert_true(sy_jobs_of_pairs("/no/such/file") < 0);
}

static void what_a_scenario_lacks(void **state) {
    (void)state;
    struct sy_bench_scenario scenario = {.machine = "cpu:2", .graphs = {"gen:lu:3"}};
    assert_null(sy_scenario_lacks(&scenario, NULL));
    scenario.gpu_table = "interference/none.csv";
    assert_string_equal(sy_scenario_lacks(&scenario, NULL), "--data");
    assert_string_equal(sy_scenario_lacks(&scenario, "/tmp"), "interference/none.csv");
    scenario.gpu_table = NULL;
    scenario.graphs[1] = "pairs:interference/none.csv";
    assert_string_equal(sy_scenario_lacks(&scenario, "/tmp"), "interference/none.csv");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_the_middle),
        cmocka_unit_test(not_understood),
        cmocka_unit_test(training),
        cmocka_unit_test(what_a_scenario_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
