/* SPDX-License-Identifier: Apache-2.0
 *
 * A job cut out of a stream that was laid out as one graph is the graph that it was made of.
 */
#include "check.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two jobs: a -> b by a datum, and c -> d by an edge; x -> y of another kernel. */
static struct sy_graph *stream_of(bool joined) {
    struct sy_graph *graph = sy_graph_create("stream", false);
    struct sy_kernel_desc kernels[] = {
        {.name = "k", .variants = {{.present = true, .fixed_ns = 5}}},
        {.name = "l", .interference = "k"}};
    sy_kernel_id k, l;
    sy_data_id data[3];
    sy_task_id tasks[6];
    assert_non_null(graph);
    assert_int_equal(sy_graph_add_kernel(graph, &kernels[0], &k), 0);
    assert_int_equal(sy_graph_add_kernel(graph, &kernels[1], &l), 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(sy_graph_add_data(graph, i ? NULL : "first", 100 + i, &data[i]), 0);
    }
    for (uint32_t i = 0; i < 6; i++) {
        bool second = i >= 4;
        struct sy_access access = {second  ? data[2].index
                                   : i < 2 ? data[0].index
                                           : data[1].index,
                                   SY_READ_WRITE};
        double times[] = {10.0 + i, NAN, INFINITY, NAN};
        struct sy_task_desc desc = {.kernel = second ? l : k,
                                    .work = i,
                                    .time_ns = times,
                                    .accesses = &access,
                                    .access_count = i == 2 || i == 3 ? 0 : 1};
        assert_int_equal(sy_graph_add_task(graph, &desc, &tasks[i]), 0);
    }
    assert_int_equal(sy_graph_add_edge(graph, tasks[2], tasks[3]), 0);
    if (joined) {
        assert_int_equal(sy_graph_add_edge(graph, tasks[1], tasks[4]), 0);
    }
    assert_int_equal(sy_graph_seal(graph, NULL), 0);
    return graph;
}

static void parts(void **state) {
    struct sy_graph *graph = stream_of(false), *first = NULL, *second = NULL;
    (void)state;
    assert_int_equal(sy_graph_part(graph, "one", 0, 4, &first, NULL), 0);
    assert_int_equal(sy_graph_part(graph, "two", 4, 2, &second, NULL), 0);
    assert_string_equal(sy_graph_name(first), "one");
    assert_int_equal(first->task_count, 4);
    assert_int_equal(first->kernel_count, 1);
    assert_int_equal(first->data_count, 1); /* what no task uses stays behind */
    assert_string_equal(first->data_names[0], "first");
    assert_int_equal(first->edge_count, 2);
    assert_int_equal(first->pred[first->pred_start[3]], 2);
    assert_int_equal(second->task_count, 2);
    assert_string_equal(second->kernels[0].name, "l");
    assert_string_equal(second->kernels[0].interference, "k");
    assert_int_equal(second->edge_count, 1);
    assert_true(second->data_bytes[0] == 102);
    assert_true(second->tasks[1].work == 5);
    assert_true(sy_graph_time_ns(second, 1, SY_CPU) == 15);
    assert_true(isinf(sy_graph_time_ns(second, 1, SY_FPGA)));
    sy_graph_destroy(first);
    sy_graph_destroy(second);
    sy_graph_destroy(graph);
}

static void what_depends_on_others(void **state) {
    struct sy_graph *graph = stream_of(true), *part = NULL;
    struct sy_error error = {0};
    (void)state;
    assert_int_equal(sy_graph_part(graph, "two", 4, 2, &part, &error), -EINVAL);
    assert_non_null(strstr(error.message, "job two"));
    assert_null(part);
    sy_graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts),
        cmocka_unit_test(what_depends_on_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
