/* SPDX-License-Identifier: Apache-2.0
 *
 * A long short-term memory cell (Hochreiter and Schmidhuber 1997, with forget gate), one step at a
 * time, forward and backward: c' = f c + i g, h' = o tanh(c').
 *
 * In: a row and the state [h, c]. Out: the state after the step. Forget gates start open.
 */
#include "papers/layers.h"
#include "papers/matrix.h"
#include <math.h>
#include <string.h>

struct sy_lstm sy_lstm_make(uint32_t in, uint32_t width, uint32_t *at) {
    SY_ASSERT(width > 0 && width <= SY_LSTM_WIDTH);
    struct sy_lstm lstm = {.in = in, .width = width, .weight = *at};
    *at += (in + width + 1) * 4 * width;
    return lstm;
}

void sy_lstm_start(const struct sy_lstm *lstm, struct sy_rng *rng, float *block) {
    const uint32_t inputs = lstm->in + lstm->width, gates = 4 * lstm->width;
    float *weight = block + lstm->weight, *bias = weight + (size_t)inputs * gates;
    /* Each gate by itself is a dense layer of that many inputs and width outputs. */
    double bound = inputs ? sqrt(6.0 / (inputs + lstm->width)) : 0;
    for (size_t i = 0; i < (size_t)inputs * gates; i++) {
        weight[i] = (float)(bound * (2 * sy_rng_uniform(rng) - 1));
    }
    for (uint32_t i = 0; i < gates; i++) {
        bias[i] = i / lstm->width == 1 ? 1 : 0;
    }
}

/* Of each step: i f g o, then h and c before it, then tanh of c after it. */
uint32_t sy_lstm_tape(const struct sy_lstm *lstm) {
    return 7 * lstm->width;
}

void sy_lstm_forward(const struct sy_lstm *lstm, const float *block, const float *x, float *state,
                     float *tape) {
    const uint32_t width = lstm->width, gates = 4 * width;
    const float *weight = block + lstm->weight, *inner = weight + (size_t)lstm->in * gates;
    float *input = tape, *forget = tape + width, *fresh = tape + 2 * width, *out = tape + 3 * width;
    float *before = tape + gates, *bent = before + 2 * width, *h = state, *c = state + width;
    sy_matrix_fill(inner + (size_t)width * gates, 1, gates, tape);
    sy_matrix_add((struct sy_matrix){x, lstm->in, 1}, weight, 1, lstm->in, gates, tape);
    sy_matrix_add((struct sy_matrix){h, width, 1}, inner, 1, width, gates, tape);
    sy_vector_sigmoid(input, 2 * width);
    sy_vector_tanh(fresh, width);
    sy_vector_sigmoid(out, width);
    memcpy(before, state, 2 * width * sizeof *state);
    for (uint32_t j = 0; j < width; j++) {
        c[j] = forget[j] * c[j] + input[j] * fresh[j];
        bent[j] = c[j];
    }
    sy_vector_tanh(bent, width);
    for (uint32_t j = 0; j < width; j++) {
        h[j] = out[j] * bent[j];
    }
}

void sy_lstm_backward(const struct sy_lstm *lstm, const float *block, const float *x,
                      const float *tape, float *d_state, float *ret_slopes, float *ret_dx) {
    const uint32_t width = lstm->width, gates = 4 * width;
    const float *weight = block + lstm->weight, *inner = weight + (size_t)lstm->in * gates;
    const float *before = tape + gates;
    float sums[4 * SY_LSTM_WIDTH]; /* slopes of what went into the gates */
    for (uint32_t j = 0; j < width; j++) {
        float in = tape[j], forget = tape[width + j], fresh = tape[2 * width + j];
        float out = tape[3 * width + j], c = tape[5 * width + j], bent = tape[6 * width + j];
        float dh = d_state[j], dc = d_state[width + j] + dh * out * (1 - bent * bent);
        sums[j] = dc * fresh * in * (1 - in);
        sums[width + j] = dc * c * forget * (1 - forget);
        sums[2 * width + j] = dc * in * (1 - fresh * fresh);
        sums[3 * width + j] = dh * bent * out * (1 - out);
        d_state[width + j] = dc * forget;
    }
    float *slopes = ret_slopes + lstm->weight, *inner_slopes = slopes + (size_t)lstm->in * gates;
    sy_matrix_add((struct sy_matrix){x, 1, lstm->in}, sums, lstm->in, 1, gates, slopes);
    sy_matrix_add((struct sy_matrix){before, 1, width}, sums, width, 1, gates, inner_slopes);
    sy_matrix_sum(sums, 1, gates, inner_slopes + (size_t)width * gates);
    sy_matrix_across(sums, inner, 1, gates, width, false, d_state);
    if (ret_dx) {
        sy_matrix_across(sums, weight, 1, gates, lstm->in, false, ret_dx);
    }
}
