/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of a diamond whose figures are known by hand.
 */
#include "cli/graph/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static struct sy_graph *diamond(void) {
    struct sy_graph *graph = sy_graph_create("diamond", true);
    struct sy_kernel_desc desc = {.name = "k"};
    desc.variants[SY_CPU] = (struct sy_variant){.present = true, .ns_per_work = 10};
    desc.variants[SY_GPU] = (struct sy_variant){.present = true, .ns_per_work = 2};
    sy_kernel_id kernel;
    sy_data_id datum;
    sy_task_id task[4];
    assert_int_equal(sy_graph_add_kernel(graph, &desc, &kernel), 0);
    assert_int_equal(sy_graph_add_data(graph, "d", 100, &datum), 0);
    assert_int_equal(sy_graph_add_data(graph, "e", 50, &datum), 0);
    for (int i = 0; i < 4; i++) {
        struct sy_task_desc t = {.kernel = kernel, .work = i + 1};
        assert_int_equal(sy_graph_add_task(graph, &t, &task[i]), 0);
    }
    assert_int_equal(sy_graph_add_edge(graph, task[0], task[1]), 0);
    assert_int_equal(sy_graph_add_edge(graph, task[0], task[2]), 0);
    assert_int_equal(sy_graph_add_edge(graph, task[1], task[3]), 0);
    assert_int_equal(sy_graph_add_edge(graph, task[2], task[3]), 0);
    struct sy_error error = {0};
    assert_int_equal(sy_graph_seal(graph, &error), 0);
    return graph;
}

static void figures_of_a_diamond(void **state) {
    (void)state;
    struct sy_graph *graph = diamond();
    struct sy_graph_stats stats;
    sy_graph_stats_init(graph, &stats);
    assert_int_equal(stats.depth_count, 3);
    assert_int_equal(stats.width_count, 2);
    assert_true(stats.data_bytes == 150);
    assert_true(stats.work_ns == 2 * (1 + 2 + 3 + 4));
    assert_true(stats.critical_path_ns == 2 * (1 + 3 + 4));
    assert_true(fabs(stats.parallelism_ratio - 20.0 / 16) < 1e-12);
    assert_int_equal(stats.kernels[0].task_count, 4);
    assert_true(stats.kernels[0].mean_ns[SY_CPU] == 25);
    assert_true(stats.kernels[0].mean_ns[SY_GPU] == 5);
    assert_true(isnan(stats.kernels[0].mean_ns[SY_FPGA]));
    sy_graph_stats_finish(&stats);
    sy_graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(figures_of_a_diamond)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
