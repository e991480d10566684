/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers as forward and backward pairs: dense, activations, and dense layers in a row.
 *
 * In: rows of numbers and the block. Out: rows of numbers; backward, slopes. Rows do not touch each
 * other: what a row gives does not depend on the others.
 */
#include "papers/layers.h"
#include "papers/matrix.h"
#include <math.h>
#include <string.h>

#define LEAK 0.01f

struct sy_linear sy_linear_make(uint32_t in, uint32_t out, uint32_t *at) {
    struct sy_linear layer = {.in = in, .out = out, .weight = *at};
    *at += (in + 1) * out;
    return layer;
}

void sy_linear_forward(const struct sy_linear *layer, const float *block, const float *x,
                       uint32_t rows, float *ret_y) {
    const float *weight = block + layer->weight;
    sy_matrix_fill(weight + (size_t)layer->in * layer->out, rows, layer->out, ret_y);
    sy_matrix_add((struct sy_matrix){x, layer->in, 1}, weight, rows, layer->in, layer->out, ret_y);
}

void sy_linear_backward(const struct sy_linear *layer, const float *block, const float *x,
                        const float *dy, uint32_t rows, float *ret_slopes, float *ret_dx) {
    float *slopes = ret_slopes + layer->weight;
    sy_matrix_add((struct sy_matrix){x, 1, layer->in}, dy, layer->in, rows, layer->out, slopes);
    sy_matrix_sum(dy, rows, layer->out, slopes + (size_t)layer->in * layer->out);
    if (ret_dx) {
        sy_matrix_across(dy, block + layer->weight, rows, layer->out, layer->in, false, ret_dx);
    }
}

void sy_linear_start(const struct sy_linear *layer, float gain, struct sy_rng *rng, float *block) {
    float *weight = block + layer->weight;
    uint32_t count = layer->in * layer->out;
    double bound = count ? gain * sqrt(6.0 / (layer->in + layer->out)) : 0;
    for (uint32_t i = 0; i < count; i++) {
        weight[i] = (float)(bound * (2 * sy_rng_uniform(rng) - 1));
    }
    sy_matrix_fill(NULL, 1, layer->out, weight + count);
}

static float slope_below(enum sy_activation kind) {
    return kind == SY_RELU ? 0 : LEAK;
}

void sy_activate(enum sy_activation kind, float *x, uint32_t count) {
    if (kind == SY_TANH) {
        sy_vector_tanh(x, count);
    } else if (kind != SY_LINEAR) {
        sy_vector_rectify(x, count, slope_below(kind));
    }
}

void sy_activate_backward(enum sy_activation kind, const float *y, const float *dy, uint32_t count,
                          float *ret_dx) {
    if (kind == SY_TANH) {
        for (uint32_t i = 0; i < count; i++) {
            ret_dx[i] = dy[i] * (1 - y[i] * y[i]);
        }
    } else if (kind != SY_LINEAR) {
        sy_vector_rectify_back(y, dy, count, slope_below(kind), ret_dx);
    } else if (ret_dx != dy && count) {
        memcpy(ret_dx, dy, count * sizeof *dy);
    }
}

struct sy_mlp sy_mlp_make(uint32_t in, const uint32_t *widths, uint32_t count,
                          enum sy_activation hidden, enum sy_activation last, uint32_t *at) {
    SY_ASSERT(count > 0 && count <= SY_MLP_LAYERS);
    struct sy_mlp mlp = {.count = count, .hidden = hidden, .last = last};
    for (uint32_t i = 0; i < count; i++) {
        mlp.layers[i] = sy_linear_make(i ? widths[i - 1] : in, widths[i], at);
    }
    return mlp;
}

/* A rectifier halves the variance, which the gain makes up for. */
static float gain_for(enum sy_activation kind) {
    return kind == SY_RELU || kind == SY_LEAKY_RELU ? 1.41421356f : 1;
}

void sy_mlp_start(const struct sy_mlp *mlp, float last_gain, struct sy_rng *rng, float *block) {
    for (uint32_t i = 0; i < mlp->count; i++) {
        float gain = i + 1 < mlp->count ? gain_for(mlp->hidden) : last_gain * gain_for(mlp->last);
        sy_linear_start(&mlp->layers[i], gain, rng, block);
    }
}

uint32_t sy_mlp_out(const struct sy_mlp *mlp) {
    return mlp->layers[mlp->count - 1].out;
}

uint32_t sy_mlp_tape(const struct sy_mlp *mlp) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < mlp->count; i++) {
        sum += mlp->layers[i].out;
    }
    return sum;
}

static enum sy_activation activation_of(const struct sy_mlp *mlp, uint32_t layer) {
    return layer + 1 < mlp->count ? mlp->hidden : mlp->last;
}

const float *sy_mlp_forward(const struct sy_mlp *mlp, const float *block, const float *x,
                            uint32_t rows, float *tape) {
    for (uint32_t i = 0; i < mlp->count; i++) {
        const struct sy_linear *layer = &mlp->layers[i];
        sy_linear_forward(layer, block, x, rows, tape);
        sy_activate(activation_of(mlp, i), tape, rows * layer->out);
        x = tape;
        tape += (size_t)rows * layer->out;
    }
    return x;
}

void sy_mlp_backward(const struct sy_mlp *mlp, const float *block, const float *x,
                     const float *tape, const float *dy, uint32_t rows, float *scratch,
                     float *ret_slopes, float *ret_dx) {
    uint32_t widest = 0;
    for (uint32_t i = 0; i < mlp->count; i++) {
        widest = mlp->layers[i].out > widest ? mlp->layers[i].out : widest;
    }
    float *here = scratch, *other = scratch + (size_t)rows * widest;
    const float *y = tape + (size_t)rows * (sy_mlp_tape(mlp) - sy_mlp_out(mlp));
    for (uint32_t i = mlp->count; i-- > 0;) {
        const struct sy_linear *layer = &mlp->layers[i];
        const float *from = i ? y - (size_t)rows * layer->in : x;
        sy_activate_backward(activation_of(mlp, i), y, dy, rows * layer->out, here);
        sy_linear_backward(layer, block, from, here, rows, ret_slopes, i ? other : ret_dx);
        y = from;
        dy = other;
        float *swap = here;
        here = other;
        other = swap;
    }
}
