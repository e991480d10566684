/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define CASES 40

struct graph_case {
    struct sy_gn gn;
    struct reference_graph graph;
    uint32_t from[32], to[32];
};

static void forward(const void *context, const double *block, const double *x, double *y) {
    const struct graph_case *c = context;
    reference_gn(&c->gn, block, &c->graph, x, y);
}

static struct graph_case make_case(struct sy_rng *rng, uint32_t *ret_at) {
    struct graph_case c = {.graph = {.vertex_count = sy_rng_below(rng, 7)}};
    c.graph.edge_count = c.graph.vertex_count ? sy_rng_below(rng, 12) : 0;
    for (uint32_t e = 0; e < c.graph.edge_count; e++) {
        c.from[e] = sy_rng_below(rng, c.graph.vertex_count);
        c.to[e] = sy_rng_below(rng, c.graph.vertex_count);
    }
    uint32_t edge[2] = {1 + sy_rng_below(rng, 9), 1 + sy_rng_below(rng, 9)};
    uint32_t vertex[2] = {1 + sy_rng_below(rng, 9), 1 + sy_rng_below(rng, 9)};
    uint32_t global[2] = {1 + sy_rng_below(rng, 9), 1 + sy_rng_below(rng, 9)};
    c.gn = sy_gn_make(sy_rng_below(rng, 4), sy_rng_below(rng, 4), sy_rng_below(rng, 4), edge,
                      sy_rng_below(rng, 2) ? vertex : NULL, global, sy_rng_below(rng, 4), ret_at);
    return c;
}

/* The edges' slopes are not asked for: no network looks at the edges that come out. */
static void slopes(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(test_seed(), 1, 0);
    for (uint32_t i = 0; i < CASES; i++) {
        uint32_t at = sy_rng_below(&rng, 5);
        struct graph_case c = make_case(&rng, &at);
        c.graph.from = c.from;
        c.graph.to = c.to;
        const uint32_t edges = c.graph.edge_count, vertices = c.graph.vertex_count;
        const uint32_t vertex_out = c.gn.vertices ? sy_mlp_out(&c.gn.vertex) : c.gn.vertex_in;
        const uint32_t edge_count = edges * c.gn.edge_in, vertex_count = vertices * c.gn.vertex_in;
        const uint32_t x_count = edge_count + vertex_count + c.gn.global_in;
        const uint32_t edge_y = edges * sy_mlp_out(&c.gn.edge), vertex_y = vertices * vertex_out;
        const uint32_t y_count = edge_y + vertex_y + sy_mlp_out(&c.gn.global);
        size_t tape_size = sy_gn_tape(&c.gn, vertices, edges);
        float *block = floats(at), *slope = floats(at), *x = floats(x_count), *dx = floats(x_count);
        float *y = floats(y_count), *dy = floats(y_count);
        float *tape = floats(tape_size), *scratch = floats(tape_size);
        fill_random(&rng, block, at);
        fill_random(&rng, x, x_count);
        fill_random(&rng, dy + edge_y, y_count - edge_y);
        struct sy_gn_input input = {
            vertices, edges, c.from, c.to, x, x + edge_count, x + edge_count + vertex_count};
        struct sy_gn_output output = sy_gn_forward(&c.gn, block, &input, tape);
        memcpy(y, output.edges, edge_y * sizeof *y);
        memcpy(y + edge_y, output.vertices, vertex_y * sizeof *y);
        memcpy(y + edge_y + vertex_y, output.global, sy_mlp_out(&c.gn.global) * sizeof *y);
        sy_gn_backward(&c.gn, block, &input, tape, dy + edge_y, dy + edge_y + vertex_y, scratch,
                       slope, dx, dx + edge_count, dx + edge_count + vertex_count);
        struct slope_case s = {"graph network", &c, at, x_count, y_count, block, x, dy, forward};
        check_values(&s, y);
        check_slopes(&s, slope, dx);
        float *all[] = {block, slope, x, dx, y, dy, tape, scratch};
        for (size_t k = 0; k < SY_COUNT(all); k++) {
            free(all[k]);
        }
    }
}

static const uint32_t wide[2] = {5, 4}, narrow[2] = {3, 2};

/* Slopes that nobody gives are 0, slopes that nobody wants are not written. */
static void slopes_left_out(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(test_seed(), 2, 0);
    for (int with = 0; with < 2; with++) {
        uint32_t at = 0, from[3] = {0, 1, 2}, to[3] = {1, 2, 0};
        struct sy_gn gn = sy_gn_make(2, 3, 1, wide, with ? narrow : NULL, narrow, SY_TANH, &at);
        size_t size = sy_gn_tape(&gn, 3, 3);
        float *block = floats(at), *tape = floats(size), *scratch = floats(size);
        float *a = floats(at), *b = floats(at), x[16], zeros[16] = {0}, d_global[2] = {1, -2};
        float dx[3][16] = {0};
        sy_gn_start(&gn, &rng, block);
        fill_random(&rng, x, 16);
        struct sy_gn_input input = {3, 3, from, to, x, x + 6, x + 15};
        sy_gn_forward(&gn, block, &input, tape);
        sy_gn_backward(&gn, block, &input, tape, zeros, d_global, scratch, a, dx[0], dx[0] + 6,
                       dx[0] + 15);
        sy_gn_backward(&gn, block, &input, tape, NULL, d_global, scratch, b, NULL, NULL, NULL);
        assert_memory_equal(a, b, at * sizeof *a);
        sy_gn_backward(&gn, block, &input, tape, NULL, d_global, scratch, b, NULL, dx[1] + 6, NULL);
        assert_memory_equal(dx[0] + 6, dx[1] + 6, 9 * sizeof(float));
        assert_true(dx[1][0] == 0 && dx[1][15] == 0);
        memset(a, 0, at * sizeof *a);
        sy_gn_backward(&gn, block, &input, tape, NULL, NULL, scratch, a, dx[2], dx[2] + 6,
                       dx[2] + 15);
        for (uint32_t i = 0; i < at; i++) {
            assert_true(a[i] == 0);
        }
        assert_memory_equal(dx[2], zeros, sizeof zeros);
        float *all[] = {block, tape, scratch, a, b};
        for (size_t k = 0; k < SY_COUNT(all); k++) {
            free(all[k]);
        }
    }
}

/* No vertices, no widths, no memory behind them. */
static void nothing_in(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(test_seed(), 3, 0);
    uint32_t at = 0;
    struct sy_gn gn = sy_gn_make(0, 0, 0, wide, narrow, narrow, SY_RELU, &at);
    size_t size = sy_gn_tape(&gn, 0, 0);
    float *block = floats(at), *slope = floats(at), *tape = floats(size), *scratch = floats(size);
    sy_gn_start(&gn, &rng, block);
    struct sy_gn_input input = {0};
    struct sy_gn_output output = sy_gn_forward(&gn, block, &input, tape);
    assert_true(output.global[0] == 0 && output.global[1] == 0); /* biases start at 0 */
    float d_global[2] = {1, 1};
    sy_gn_backward(&gn, block, &input, tape, NULL, d_global, scratch, slope, NULL, NULL, NULL);
    free(block);
    free(slope);
    free(tape);
    free(scratch);
}

/* Another order of the edges is the same graph. */
static void order_of_edges(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(test_seed(), 4, 0);
    uint32_t at = 0, from[2][3] = {{0, 1, 0}, {0, 0, 1}}, to[2][3] = {{1, 2, 2}, {2, 1, 2}};
    struct sy_gn gn = sy_gn_make(1, 2, 0, wide, narrow, narrow, SY_TANH, &at);
    size_t size = sy_gn_tape(&gn, 3, 3);
    float *block = floats(at), *tape[2] = {floats(size), floats(size)}, vertices[6];
    float edges[2][3] = {{0.5f, -1, 2}, {2, 0.5f, -1}};
    sy_gn_start(&gn, &rng, block);
    fill_random(&rng, vertices, 6);
    struct sy_gn_output output[2];
    for (int k = 0; k < 2; k++) {
        struct sy_gn_input input = {3, 3, from[k], to[k], edges[k], vertices, NULL};
        output[k] = sy_gn_forward(&gn, block, &input, tape[k]);
    }
    for (int i = 0; i < 6; i++) {
        assert_float_equal(output[0].vertices[i], output[1].vertices[i], 1e-6f);
    }
    assert_float_equal(output[0].global[1], output[1].global[1], 1e-6f);
    free(block);
    free(tape[0]);
    free(tape[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes),
        cmocka_unit_test(slopes_left_out),
        cmocka_unit_test(nothing_in),
        cmocka_unit_test(order_of_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
