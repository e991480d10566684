/* SPDX-License-Identifier: Apache-2.0
 *
 * Activation functions on arrays, to be inlined into functions of each level: steps of 16 floats
 * that compilers turn into its vectors.
 */
#ifndef GNN_ACTIVATE_H
#define GNN_ACTIVATE_H

#include "gnn/gnn.h"
#include <string.h>

enum { GNN_STEP = 16 };

/* exp(x) to about 2e-7, by halves of ln 2 and a polynomial; x is brought into [-87, 88]. */
static inline __attribute__((always_inline)) float gnn_exp(float x) {
    x = x < -87 ? -87 : x > 88 ? 88 : x;
    float rounded = x * 1.44269504f + 12582912.0f; /* the integer is in the low bits */
    float times = rounded - 12582912.0f;
    float r = (x - times * 0.693359375f) - times * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1;
    uint32_t bits = 0, shift = 0;
    memcpy(&shift, &rounded, sizeof(shift));
    memcpy(&bits, &p, sizeof(bits));
    bits += shift << 23;
    memcpy(&p, &bits, sizeof(p));
    return p;
}

/* 0.5 x (1 + tanh(u)) = x / (1 + exp(-2 u)) */
static inline __attribute__((always_inline)) float gnn_gelu(float x) {
    float u = 0.7978845608f * (x + 0.044715f * x * x * x);
    return x / (1 + gnn_exp(-2 * u));
}

static inline __attribute__((always_inline)) void gnn_activate(float *values, size_t count,
                                                               enum gnn_activation activation) {
    if (activation == GNN_RELU) {
        for (size_t i = 0; i < count; i++) {
            values[i] = values[i] > 0 ? values[i] : 0;
        }
    } else if (activation == GNN_GELU) {
        size_t whole = count / GNN_STEP * GNN_STEP;
        for (size_t i = 0; i < whole; i += GNN_STEP) {
            for (size_t j = 0; j < GNN_STEP; j++) {
                values[i + j] = gnn_gelu(values[i + j]);
            }
        }
        for (size_t i = whole; i < count; i++) {
            values[i] = gnn_gelu(values[i]);
        }
    }
}

#endif
