/* SPDX-License-Identifier: Apache-2.0
 *
 * See reference.h. Written from the formulas, without a look at src/nets' loops.
 */
#include "reference.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP      1e-6
#define TOLERANCE 1e-4 /* of the largest number compared, or of SMALL */
#define SMALL     0.1  /* slopes of bent functions are differences of numbers of about 1 */

void reference_linear(const struct sy_linear *layer, const double *block, const double *x,
                      uint32_t rows, double *y) {
    const double *w = block + layer->weight, *bias = w + (size_t)layer->in * layer->out;
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t o = 0; o < layer->out; o++) {
            double sum = bias[o];
            for (uint32_t i = 0; i < layer->in; i++) {
                sum += x[r * layer->in + i] * w[i * layer->out + o];
            }
            y[r * layer->out + o] = sum;
        }
    }
}

void reference_activate(enum sy_activation kind, double *x, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        switch (kind) {
        case SY_LINEAR:
            break;
        case SY_RELU:
            x[i] = fmax(x[i], 0);
            break;
        case SY_LEAKY_RELU:
            x[i] = x[i] > 0 ? x[i] : 0.01 * x[i];
            break;
        case SY_TANH:
            x[i] = tanh(x[i]);
            break;
        }
    }
}

void reference_mlp(const struct sy_mlp *mlp, const double *block, const double *x, uint32_t rows,
                   double *y) {
    double *here = NULL;
    for (uint32_t i = 0; i < mlp->count; i++) {
        const struct sy_linear *layer = &mlp->layers[i];
        double *next = calloc((size_t)rows * layer->out + 1, sizeof *next);
        assert_non_null(next);
        reference_linear(layer, block, here ? here : x, rows, next);
        reference_activate(i + 1 < mlp->count ? mlp->hidden : mlp->last, next, rows * layer->out);
        free(here);
        here = next;
    }
    memcpy(y, here, (size_t)rows * sy_mlp_out(mlp) * sizeof *y);
    free(here);
}

/* Appends numbers and returns where the next go. */
static double *append(double *to, const double *from, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        to[i] = from[i];
    }
    return to + count;
}

void reference_gn(const struct sy_gn *gn, const double *block, const struct reference_graph *graph,
                  const double *x, double *y) {
    const uint32_t edge_out = sy_mlp_out(&gn->edge);
    const uint32_t vertex_out = gn->vertices ? sy_mlp_out(&gn->vertex) : gn->vertex_in;
    const double *edges = x, *vertices = edges + graph->edge_count * gn->edge_in;
    const double *global = vertices + graph->vertex_count * gn->vertex_in;
    double *new_edges = y, *new_vertices = new_edges + graph->edge_count * edge_out;
    double *new_global = new_vertices + graph->vertex_count * vertex_out, row[REFERENCE_MAX];
    double all[REFERENCE_MAX] = {0};
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        double *at = append(row, edges + e * gn->edge_in, gn->edge_in);
        at = append(at, vertices + graph->from[e] * gn->vertex_in, gn->vertex_in);
        at = append(at, vertices + graph->to[e] * gn->vertex_in, gn->vertex_in);
        append(at, global, gn->global_in);
        reference_mlp(&gn->edge, block, row, 1, new_edges + e * edge_out);
        for (uint32_t j = 0; j < edge_out; j++) {
            all[j] += new_edges[e * edge_out + j];
        }
    }
    for (uint32_t v = 0; v < graph->vertex_count; v++) {
        memset(row, 0, sizeof row);
        for (uint32_t e = 0; e < graph->edge_count; e++) {
            for (uint32_t j = 0; j < edge_out && graph->to[e] == v; j++) {
                row[j] += new_edges[e * edge_out + j];
            }
        }
        double *at = append(row + edge_out, vertices + v * gn->vertex_in, gn->vertex_in);
        append(at, global, gn->global_in);
        if (!gn->vertices) {
            append(new_vertices + v * vertex_out, vertices + v * gn->vertex_in, vertex_out);
            continue;
        }
        reference_mlp(&gn->vertex, block, row, 1, new_vertices + v * vertex_out);
        for (uint32_t j = 0; j < vertex_out; j++) {
            all[edge_out + j] += new_vertices[v * vertex_out + j];
        }
    }
    append(all + edge_out + (gn->vertices ? vertex_out : 0), global, gn->global_in);
    reference_mlp(&gn->global, block, all, 1, new_global);
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

void reference_lstm(const struct sy_lstm *lstm, const double *block, const double *x,
                    double *state) {
    const uint32_t width = lstm->width, gates = 4 * width, inputs = lstm->in + width;
    double row[REFERENCE_MAX], sums[REFERENCE_MAX];
    append(append(row, x, lstm->in), state, width);
    struct sy_linear all = {.in = inputs, .out = gates, .weight = lstm->weight};
    reference_linear(&all, block, row, 1, sums);
    for (uint32_t j = 0; j < width; j++) {
        double c = sigmoid(sums[width + j]) * state[width + j] +
                   sigmoid(sums[j]) * tanh(sums[2 * width + j]);
        state[width + j] = c;
        state[j] = sigmoid(sums[3 * width + j]) * tanh(c);
    }
}

void reference_softmax(const double *scores, const bool *mask, uint32_t count,
                       double *probability) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        probability[i] = !mask || mask[i] ? exp(scores[i]) : 0;
        sum += probability[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        probability[i] /= sum > 0 ? sum : 1;
    }
}

static double *widen(const float *from, uint32_t count) {
    double *to = calloc(count + 1, sizeof *to);
    assert_non_null(to);
    for (uint32_t i = 0; i < count; i++) {
        to[i] = from[i];
    }
    return to;
}

static void compare(const char *name, const char *what, const float *got, const double *want,
                    uint32_t count) {
    double most = SMALL;
    for (uint32_t i = 0; i < count; i++) {
        most = fmax(most, fabs(want[i]));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!(fabs(got[i] - want[i]) <= TOLERANCE * most)) {
            fail_msg("%s: %s %u is %.9g, want %.9g (largest %.3g)", name, what, i, got[i], want[i],
                     most);
        }
    }
}

void check_values(const struct slope_case *slope_case, const float *y) {
    double *block = widen(slope_case->block, slope_case->block_count);
    double *x = widen(slope_case->x, slope_case->x_count), want[REFERENCE_MAX];
    assert_true(slope_case->y_count <= REFERENCE_MAX);
    slope_case->forward(slope_case->context, block, x, want);
    compare(slope_case->name, "result", y, want, slope_case->y_count);
    free(block);
    free(x);
}

static double loss(const struct slope_case *slope_case, const double *block, const double *x) {
    double y[REFERENCE_MAX], sum = 0;
    slope_case->forward(slope_case->context, block, x, y);
    for (uint32_t i = 0; i < slope_case->y_count; i++) {
        sum += slope_case->dy[i] * y[i];
    }
    return sum;
}

/* moved is block or x. */
static double *differences(const struct slope_case *slope_case, double *block, double *x,
                           double *moved, uint32_t count) {
    double *slopes = calloc(count + 1, sizeof *slopes);
    assert_non_null(slopes);
    for (uint32_t i = 0; i < count; i++) {
        double was = moved[i];
        moved[i] = was + STEP;
        double up = loss(slope_case, block, x);
        moved[i] = was - STEP;
        slopes[i] = (up - loss(slope_case, block, x)) / (2 * STEP);
        moved[i] = was;
    }
    return slopes;
}

void check_slopes(const struct slope_case *slope_case, const float *slopes, const float *dx) {
    double *block = widen(slope_case->block, slope_case->block_count);
    double *x = widen(slope_case->x, slope_case->x_count);
    double *want = differences(slope_case, block, x, block, slope_case->block_count);
    compare(slope_case->name, "slope of parameter", slopes, want, slope_case->block_count);
    free(want);
    if (dx) {
        want = differences(slope_case, block, x, x, slope_case->x_count);
        compare(slope_case->name, "slope of input", dx, want, slope_case->x_count);
        free(want);
    }
    free(block);
    free(x);
}

float *floats(size_t count) {
    float *memory = calloc(count ? count : 1, sizeof *memory);
    assert_non_null(memory);
    return memory;
}

void fill_random(struct sy_rng *rng, float *to, size_t count) {
    for (size_t i = 0; i < count; i++) {
        to[i] = (float)(0.7 * sy_rng_normal(rng));
    }
}

uint64_t test_seed(void) {
    const char *text = getenv("SYMPH_TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : 20261115;
    print_message("# seed %llu\n", (unsigned long long)seed);
    return seed;
}
