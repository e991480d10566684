/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of every level beside dense products in double precision; graphs and their statistics;
 * the model of the FPGA card.
 */
#include "gnn/graph.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 40, WIDTH_MAX = 300, EDGES_MAX = NODES * NODES };
#define CLOSE 1e-5

static const uint64_t seed = 7;

/* A matrix of which about a third is set, one row empty and one full, and everything else. */
struct case_data {
    uint32_t blob[NODES + 1 + 2 * EDGES_MAX];
    uint32_t edges;
    double dense[NODES][NODES];
    float x[NODES * WIDTH_MAX], k[NODES * WIDTH_MAX], weights[EDGES_MAX];
    float result[NODES * WIDTH_MAX > EDGES_MAX ? NODES *WIDTH_MAX : EDGES_MAX];
};

static float noise(uint64_t stream, uint64_t index) {
    return (float)(2 * guest_noise(seed + stream, index) - 1);
}

static void make_case(struct case_data *data) {
    uint32_t *offsets = data->blob, *columns = offsets + NODES + 1, count = 0;
    float values[EDGES_MAX];
    memset(data, 0, sizeof(*data));
    for (uint32_t i = 0; i < NODES; i++) {
        for (uint32_t j = 0; j < NODES; j++) {
            if (i == 5 || (i != 3 && guest_noise(seed, i * NODES + j) < 0.3)) {
                columns[count] = j;
                values[count] = noise(1, count);
                data->dense[i][j] = (double)values[count++];
            }
        }
        offsets[i + 1] = count;
    }
    memcpy(columns + count, values, count * sizeof(float));
    data->edges = count;
    for (uint32_t i = 0; i < NODES * WIDTH_MAX; i++) {
        data->x[i] = noise(2, i);
        data->k[i] = noise(3, i);
    }
    for (uint32_t i = 0; i < count; i++) {
        data->weights[i] = noise(4, i);
    }
}

static struct gnn_task sparse_task(struct case_data *data, enum gnn_kernel kernel, uint32_t width) {
    struct gnn_task task = {.kernel = kernel,
                            .rows = NODES,
                            .columns = width,
                            .edges = data->edges,
                            .scale = 0.25f,
                            .end = NODES,
                            .graph = gnn_graph_of(data->blob, NODES, data->edges),
                            .reads = {data->x},
                            .result = data->result};
    memset(data->result, 0x7f, sizeof(data->result)); /* large numbers: everything is written */
    return task;
}

static double act(double x, enum gnn_activation activation) {
    return activation == GNN_RELU ? fmax(x, 0)
           : activation == GNN_GELU
               ? 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)))
               : x;
}

static void same(double right, float found, const char *what, enum guest_simd level, uint32_t row,
                 uint32_t column) {
    if (!(fabs(right - (double)found) <= CLOSE * (1 + fabs(right)))) {
        fail_msg("%s, %s: row %u, column %u is %g, not %g", what, guest_simd_name(level), row,
                 column, (double)found, right);
    }
}

static const uint32_t widths[] = {1,  3,   7,   8,   15,  16,  17,  31, 40,
                                  64, 100, 127, 128, 129, 200, 257, 300};
enum { WIDTHS = sizeof(widths) / sizeof(widths[0]) };

static double neighbours(const struct case_data *data, const struct gnn_task *task, uint32_t i,
                         uint32_t c) {
    double sum = 0;
    uint32_t degree = task->graph.offsets[i + 1] - task->graph.offsets[i];
    for (uint32_t j = 0, e = task->graph.offsets[i]; j < NODES; j++) {
        bool edge = e < task->graph.offsets[i + 1] && task->graph.columns[e] == j;
        double value = task->kernel == GNN_SPMM ? data->dense[i][j]
                       : edge                   ? (double)data->weights[e]
                                                : 0;
        sum += value * (double)data->x[j * task->columns + c];
        e += edge;
    }
    sum /= task->mean && degree ? degree : 1;
    return act(sum + (double)task->self * (double)data->x[i * task->columns + c], task->activation);
}

static void spmm_is_right(void **state) {
    struct case_data *data = *state;
    make_case(data);
    for (uint32_t at = 0; at < WIDTHS * GUEST_SIMD_COUNT * 12; at++) {
        enum guest_simd level = (enum guest_simd)(at % GUEST_SIMD_COUNT);
        uint32_t variant = at / GUEST_SIMD_COUNT % 12, width = widths[at / GUEST_SIMD_COUNT / 12];
        if (level > guest_simd_of_processor()) {
            continue;
        }
        struct gnn_task task = sparse_task(data, variant % 2 ? GNN_SPMM : GNN_SPMM_WEIGHTED, width);
        task.reads[1] = data->weights;
        task.mean = variant / 2 % 2;
        task.self = variant % 3 == 0 ? 1.5f : 0;
        task.activation = (enum gnn_activation)(variant / 4);
        assert_int_equal(gnn_run_c(&task, level), 0);
        for (uint32_t i = 0; i < NODES * width; i++) {
            same(neighbours(data, &task, i / width, i % width), data->result[i], "spmm", level,
                 i / width, i % width);
        }
    }
}

static void sddmm_is_right(void **state) {
    struct case_data *data = *state;
    make_case(data);
    for (uint32_t at = 0; at < WIDTHS * GUEST_SIMD_COUNT; at++) {
        enum guest_simd level = (enum guest_simd)(at % GUEST_SIMD_COUNT);
        uint32_t width = widths[at / GUEST_SIMD_COUNT];
        if (level > guest_simd_of_processor()) {
            continue;
        }
        struct gnn_task task = sparse_task(data, GNN_SDDMM, width);
        task.reads[1] = data->k;
        assert_int_equal(gnn_run_c(&task, level), 0);
        for (uint32_t i = 0; i < NODES; i++) {
            for (uint32_t e = task.graph.offsets[i]; e < task.graph.offsets[i + 1]; e++) {
                double sum = 0;
                for (uint32_t c = 0; c < width; c++) {
                    sum += (double)data->x[i * width + c] *
                           (double)data->k[task.graph.columns[e] * width + c];
                }
                same(0.25 * sum, data->result[e], "sddmm", level, i, e);
            }
        }
    }
}

static void softmax_is_right(void **state) {
    struct case_data *data = *state;
    make_case(data);
    struct gnn_task task = sparse_task(data, GNN_EDGE_SOFTMAX, 1);
    data->weights[task.graph.offsets[5]] = 200; /* does not overflow */
    task.reads[0] = data->weights;
    assert_int_equal(gnn_run_c(&task, guest_simd()), 0);
    for (uint32_t i = 0; i < NODES; i++) {
        double sum = 0, most = -INFINITY;
        uint32_t from = task.graph.offsets[i], to = task.graph.offsets[i + 1];
        for (uint32_t e = from; e < to; e++) {
            most = fmax(most, (double)data->weights[e]);
        }
        for (uint32_t e = from; e < to; e++) {
            sum += exp((double)data->weights[e] - most);
        }
        for (uint32_t e = from; e < to; e++) {
            same(exp((double)data->weights[e] - most) / sum, data->result[e], "edge_softmax",
                 guest_simd(), i, e);
        }
    }
}

static void dense_products_are_right(void **state) {
    struct case_data *data = *state;
    make_case(data);
    enum { INNER = 33, COLUMNS = 29 };
    for (uint32_t at = 0; at < 9 * GUEST_SIMD_COUNT; at++) {
        enum guest_simd level = (enum guest_simd)(at % GUEST_SIMD_COUNT);
        if (level > guest_simd_of_processor()) {
            continue;
        }
        const float *a2 = data->x + 100, *b2 = data->k + 1000, *r = data->k + 50;
        struct gnn_task task = sparse_task(data, (enum gnn_kernel)(at / 3 % 3), COLUMNS);
        task.inner = INNER;
        task.activation = (enum gnn_activation)(at / 9 % 3);
        task.begin = 2; /* a part */
        task.reads[1] = data->k;
        task.reads[2] = task.kernel == GNN_GEMM2 ? a2 : r;
        task.reads[3] = b2;
        assert_int_equal(gnn_run_c(&task, level), 0);
        for (uint32_t i = 2 * COLUMNS; i < NODES * COLUMNS; i++) {
            uint32_t row = i / COLUMNS, column = i % COLUMNS;
            double sum = 0;
            for (uint32_t k = 0; k < INNER; k++) {
                sum += (double)data->x[row * INNER + k] * (double)data->k[k * COLUMNS + column];
                sum += task.kernel == GNN_GEMM2
                           ? (double)a2[row * INNER + k] * (double)b2[k * COLUMNS + column]
                           : 0;
            }
            sum = act(sum, task.activation) + (task.kernel == GNN_GEMM_ADD ? (double)r[i] : 0);
            same(sum, data->result[i], gnn_names[task.kernel], level, row, column);
        }
        assert_true(data->result[2 * COLUMNS - 1] > 1e30f); /* not its part */
    }
}

/* --- graphs ----------------------------------------------------------------------------------- */

static void graphs_keep_their_promises(void **state) {
    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < 300; i++) {
        struct gnn_shape shape = {.name = "random", .nodes = 1, .width = 1, .seed = seed + i};
        shape.nodes = 1 + (uint32_t)(guest_noise(seed, 5 * i) * 700);
        double degree = 1 + guest_noise(seed, 5 * i + 1) * fmin(60, shape.nodes - 1);
        shape.edges = (uint32_t)(degree * shape.nodes);
        shape.degree_cv = 4 * guest_noise(seed, 5 * i + 2);
        shape.degree_max = (uint32_t)fmin(shape.nodes, degree * (1 + 8 * shape.degree_cv) + 1);
        shape.locality = guest_noise(seed, 5 * i + 3);
        shape = gnn_shape_scale(&shape, 1);
        struct gnn_recipe recipe;
        assert_int_equal(gnn_recipe_init(&shape, &recipe), 0);
        uint64_t bytes = gnn_graph_bytes(shape.nodes, shape.edges);
        uint32_t *blob = malloc(bytes), *again = malloc(bytes);
        gnn_recipe_write(&recipe, true, blob);
        gnn_recipe_write(&recipe, true, again);
        assert_memory_equal(blob, again, bytes);
        struct gnn_graph graph = gnn_graph_of(blob, shape.nodes, shape.edges);
        assert_int_equal(graph.offsets[0], 0);
        assert_int_equal(graph.offsets[shape.nodes], shape.edges);
        for (uint32_t row = 0; row < shape.nodes; row++) {
            uint32_t from = graph.offsets[row], to = graph.offsets[row + 1];
            assert_true(to > from && to - from <= shape.degree_max);
            for (uint32_t e = from; e < to; e++) {
                assert_true(graph.columns[e] < shape.nodes);
                assert_true(e == from || graph.columns[e] > graph.columns[e - 1]);
                assert_true(graph.values[e] > 0 && graph.values[e] <= 1);
            }
        }
        double values[GNN_FEATURE_COUNT], cv = 0, most = 0, reuse = 0;
        gnn_graph_features(blob, shape.nodes, shape.edges, &cv, &most, &reuse);
        assert_int_equal(gnn_recipe_features(&recipe, values), 0);
        assert_true(cv == values[GNN_DEGREE_CV] && most == values[GNN_DEGREE_MAX] &&
                    reuse == values[GNN_REUSE]);
        assert_true(reuse >= 0 && reuse <= 1);
        free(blob);
        free(again);
        gnn_recipe_finish(&recipe);
    }
}

static void features_of_known_graphs(void **state) {
    (void)state;
    /* Degrees 1 1 1 5; all columns but the first few were used before. */
    static const uint32_t blob[] = {0, 1, 2, 3, 8, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0};
    double cv = 0, most = 0, reuse = 0;
    gnn_graph_features(blob, 4, 8, &cv, &most, &reuse);
    assert_true(fabs(cv - sqrt(3) / 2) < 1e-12);
    assert_true(most == 5);
    assert_true(reuse == 0); /* windows of less than a row each: nothing comes twice */
    struct gnn_shape near = {"near", "", 5000, 100000, 1, 1, 1, 0, 20, 1, 3};
    struct gnn_shape far = near;
    far.locality = 0;
    double values[2][GNN_FEATURE_COUNT];
    const struct gnn_shape *const shapes[] = {&near, &far};
    for (int i = 0; i < 2; i++) {
        struct gnn_recipe recipe;
        assert_int_equal(gnn_recipe_init(shapes[i], &recipe), 0);
        assert_int_equal(gnn_recipe_features(&recipe, values[i]), 0);
        assert_true(values[i][GNN_DEGREE_CV] == 0 && values[i][GNN_DEGREE_MAX] == 20);
        gnn_recipe_finish(&recipe);
    }
    assert_true(values[0][GNN_REUSE] > values[1][GNN_REUSE] + 0.1);
}

static void impossible_graphs_are_refused(void **state) {
    (void)state;
    struct gnn_recipe recipe;
    static const struct gnn_shape bad[] = {
        {"no nodes", "", 0, 0, 1, 1, 1, 0, 1, 0, 1},
        {"fewer edges than nodes", "", 10, 9, 1, 1, 1, 0, 2, 0, 1},
        {"more than fit", "", 10, 90, 1, 1, 1, 0, 8, 0, 1},
        {"hub beyond the nodes", "", 10, 20, 1, 1, 1, 0, 11, 0, 1},
        {"hub leaves nothing", "", 10, 12, 1, 1, 1, 0, 9, 0, 1},
    };
    for (uint32_t i = 0; i < GUEST_COUNT(bad); i++) {
        assert_int_equal(gnn_recipe_init(&bad[i], &recipe), -EINVAL);
    }
}

/* Spread and maximum are as asked for. */
static void degrees_are_fitted(void **state) {
    (void)state;
    static const struct gnn_shape shapes[] = {
        {"even", "", 20000, 300000, 1, 1, 1, 0.5, 200, 0.2, 1},
        {"spread", "", 20000, 300000, 1, 1, 1, 2, 2000, 0.2, 2},
        {"hub", "", 20000, 300000, 1, 1, 1, 6, 12000, 0.2, 3},
    };
    for (uint32_t i = 0; i < GUEST_COUNT(shapes); i++) {
        struct gnn_recipe recipe;
        double values[GNN_FEATURE_COUNT];
        assert_int_equal(gnn_recipe_init(&shapes[i], &recipe), 0);
        assert_int_equal(gnn_recipe_features(&recipe, values), 0);
        assert_true(fabs(values[GNN_DEGREE_CV] / shapes[i].degree_cv - 1) < 0.05);
        assert_true(values[GNN_DEGREE_MAX] == shapes[i].degree_max);
        gnn_recipe_finish(&recipe);
    }
}

/* --- the model -------------------------------------------------------------------------------- */

static void model_follows_the_data(void **state) {
    (void)state;
    enum { ROWS = 6400 };
    static uint32_t even[ROWS + 1], uneven[ROWS + 1];
    for (uint32_t i = 0; i < ROWS; i++) {
        even[i + 1] = even[i] + 10;
        uneven[i + 1] = uneven[i] + (i % 64 == 0 ? 10 + 63 * 9 : 1);
    }
    assert_int_equal(even[ROWS], uneven[ROWS]);
    struct gnn_task task = {.kernel = GNN_SPMM, .rows = ROWS, .columns = 64, .edges = even[ROWS]};
    double guessed = gnn_fpga_ns(&task);
    task.graph.offsets = even;
    double alike = gnn_fpga_ns(&task);
    task.graph.offsets = uneven; /* one element has nearly all of it */
    double unlike = gnn_fpga_ns(&task);
    assert_true(fabs(guessed / alike - 1) < 0.01);
    assert_true(unlike > 5 * alike);
    static const enum gnn_kernel all[] = {GNN_GEMM,  GNN_GEMM_ADD,     GNN_GEMM2,        GNN_SPMM,
                                          GNN_SDDMM, GNN_EDGE_SOFTMAX, GNN_SPMM_WEIGHTED};
    for (uint32_t i = 0; i < GUEST_COUNT(all); i++) {
        struct gnn_task small = {.kernel = all[i], .rows = 1000, .columns = 64, .edges = 10000};
        small.inner = 64;
        struct gnn_task large = small;
        large.rows *= 100;
        large.edges *= 100;
        assert_true(gnn_fpga_ns(&small) > 0 && gnn_fpga_ns(&large) > 5 * gnn_fpga_ns(&small));
    }
    /* Never above what the declared array can do: 2 * 32 * 32 * 250e6. */
    struct gnn_task gemm = {.kernel = GNN_GEMM, .rows = 1 << 20, .inner = 1024, .columns = 1024};
    assert_true(2.0 * gemm.rows * gemm.inner * gemm.columns / gnn_fpga_ns(&gemm) < 512.001);
}

static int give_case(void **state) {
    *state = malloc(sizeof(struct case_data));
    return *state ? 0 : -1;
}

static int take_case(void **state) {
    free(*state);
    return 0;
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(spmm_is_right),
        cmocka_unit_test(sddmm_is_right),
        cmocka_unit_test(softmax_is_right),
        cmocka_unit_test(dense_products_are_right),
        cmocka_unit_test(graphs_keep_their_promises),
        cmocka_unit_test(features_of_known_graphs),
        cmocka_unit_test(impossible_graphs_are_refused),
        cmocka_unit_test(degrees_are_fitted),
        cmocka_unit_test(model_follows_the_data),
    };
    return cmocka_run_group_tests(tests, give_case, take_case);
}
