/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers as forward and backward pairs: dense, activations, layer norm, and dense layers in a row.
 *
 * In: rows of numbers and the block. Out: rows of numbers; backward, slopes. Rows do not touch each
 * other: what a row gives does not depend on the others.
 */
#include "nets/matrix.h"
#include "nets/nets.h"
#include <math.h>
#include <string.h>

#define LEAK    0.01f
#define EPSILON 1e-5f /* of layer norm, added to the variance */

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

struct sy_norm sy_norm_make(uint32_t width, uint32_t *at) {
    struct sy_norm norm = {.width = width, .gain = *at};
    *at += 2 * width;
    return norm;
}

void sy_norm_start(const struct sy_norm *norm, float *block) {
    for (uint32_t j = 0; j < norm->width; j++) {
        block[norm->gain + j] = 1;
        block[norm->gain + norm->width + j] = 0;
    }
}

/* Mean and 1 / standard deviation of a row. */
static void moments(const float *x, uint32_t width, float *ret_mean, float *ret_scale) {
    float mean = 0, variance = 0;
    for (uint32_t j = 0; j < width; j++) {
        mean += x[j];
    }
    mean /= (float)width;
    for (uint32_t j = 0; j < width; j++) {
        variance += (x[j] - mean) * (x[j] - mean);
    }
    *ret_mean = mean;
    *ret_scale = 1 / sqrtf(variance / (float)width + EPSILON);
}

void sy_norm_forward(const struct sy_norm *norm, const float *block, const float *x, uint32_t rows,
                     float *ret_y) {
    const float *gain = block + norm->gain, *offset = gain + norm->width;
    for (uint32_t r = 0; norm->width && r < rows; r++) {
        const float *from = x + (size_t)r * norm->width;
        float *to = ret_y + (size_t)r * norm->width, mean, scale;
        moments(from, norm->width, &mean, &scale);
        for (uint32_t j = 0; j < norm->width; j++) {
            to[j] = gain[j] * ((from[j] - mean) * scale) + offset[j];
        }
    }
}

/* With n = (x - mean) * scale and g = gain * dy:
 * dx = scale * (g - mean of g - n * mean of g n). */
void sy_norm_backward(const struct sy_norm *norm, const float *block, const float *x,
                      const float *dy, uint32_t rows, float *ret_slopes, float *ret_dx) {
    const uint32_t width = norm->width;
    const float *gain = block + norm->gain;
    float *slopes = ret_slopes + norm->gain;
    for (uint32_t r = 0; width && r < rows; r++) {
        const float *from = x + (size_t)r * width, *d = dy + (size_t)r * width;
        float mean, scale, sum = 0, sum_n = 0;
        moments(from, width, &mean, &scale);
        for (uint32_t j = 0; j < width; j++) {
            float n = (from[j] - mean) * scale;
            slopes[j] += d[j] * n;
            slopes[width + j] += d[j];
            sum += gain[j] * d[j];
            sum_n += gain[j] * d[j] * n;
        }
        sum /= (float)width;
        sum_n /= (float)width;
        for (uint32_t j = 0; ret_dx && j < width; j++) {
            float n = (from[j] - mean) * scale;
            ret_dx[(size_t)r * width + j] = scale * (gain[j] * d[j] - sum - n * sum_n);
        }
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
