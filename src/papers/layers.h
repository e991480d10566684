/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers of the papers' networks, as forward and backward pairs.
 *
 * In: numbers (features that the policies compute). Out: numbers (probabilities, a value), and
 * slopes for training. Never knows: tasks, devices, time. Invariants: all parameters of a network
 * lie in one block of floats; forward and backward allocate nothing; the same input gives the same
 * bits on every run of one build.
 */
#ifndef SY_PAPERS_LAYERS_H
#define SY_PAPERS_LAYERS_H

#include "base/base.h"

/* --- layers: layers.c ---------------------------------------------------------------------------
 * A layer knows where its parameters begin in the block; sizes are fixed when it is made. x is
 * [rows][in], y is [rows][out], row by row. Backward adds to ret_slopes (the block's shape) and
 * writes ret_dx (NULL: not wanted). */
enum sy_activation { SY_LINEAR, SY_RELU, SY_LEAKY_RELU /* 0.01 below 0 */, SY_TANH };

struct sy_linear {
    uint32_t in, out;
    uint32_t weight; /* [in][out], at this place of the block; the bias, [out], follows it */
};
/* Takes its place at *at and moves *at behind it. */
struct sy_linear sy_linear_make(uint32_t in, uint32_t out, uint32_t *at);
void sy_linear_forward(const struct sy_linear *layer, const float *block, const float *x,
                       uint32_t rows, float *ret_y);
void sy_linear_backward(const struct sy_linear *layer, const float *block, const float *x,
                        const float *dy, uint32_t rows, float *ret_slopes, float *ret_dx);
/* Uniform in +-sqrt(6 / (in + out)) times gain, bias 0; gain 0: a layer that begins by saying
 * nothing. */
void sy_linear_start(const struct sy_linear *layer, float gain, struct sy_rng *rng, float *block);

void sy_activate(enum sy_activation kind, float *x, uint32_t count);
/* From the activated values: dx = dy * slope, in place allowed. */
void sy_activate_backward(enum sy_activation kind, const float *y, const float *dy, uint32_t count,
                          float *ret_dx);
/* Dense layers one after another; hidden ones are activated, the last is too if last says so. */
#define SY_MLP_LAYERS 4
struct sy_mlp {
    uint32_t count;
    struct sy_linear layers[SY_MLP_LAYERS];
    enum sy_activation hidden, last;
};
struct sy_mlp sy_mlp_make(uint32_t in, const uint32_t *widths, uint32_t count,
                          enum sy_activation hidden, enum sy_activation last, uint32_t *at);
void sy_mlp_start(const struct sy_mlp *mlp, float last_gain, struct sy_rng *rng, float *block);
uint32_t sy_mlp_out(const struct sy_mlp *mlp);
/* Floats per row that forward leaves for backward (all layers' outputs, the last included). */
uint32_t sy_mlp_tape(const struct sy_mlp *mlp);
/* The result is the last sy_mlp_out columns: at tape + rows * (sy_mlp_tape - sy_mlp_out). */
const float *sy_mlp_forward(const struct sy_mlp *mlp, const float *block, const float *x,
                            uint32_t rows, float *tape);
/* scratch: 2 * rows * the widest layer. */
void sy_mlp_backward(const struct sy_mlp *mlp, const float *block, const float *x,
                     const float *tape, const float *dy, uint32_t rows, float *scratch,
                     float *ret_slopes, float *ret_dx);

/* --- graph network block (Battaglia et al. 2018): graphnet.c ------------------------------------
 * e' = edge([e, from, to, u]); v' = vertex([sum of e' into it, v, u]); u' = global([sum of e', sum
 * of v', u]). A block without vertex function leaves v as it is and does not sum it (the papers'
 * second graph network). Any of e, v, u may have width 0. */
struct sy_gn {
    uint32_t edge_in, vertex_in, global_in;
    bool vertices; /* has a vertex function */
    struct sy_mlp edge, vertex, global;
};
struct sy_gn sy_gn_make(uint32_t edge_in, uint32_t vertex_in, uint32_t global_in,
                        const uint32_t edge[2], const uint32_t *vertex, const uint32_t global[2],
                        enum sy_activation activation, uint32_t *at);
void sy_gn_start(const struct sy_gn *gn, struct sy_rng *rng, float *block);
struct sy_gn_input {
    uint32_t vertex_count, edge_count;
    const uint32_t *from, *to;              /* per edge */
    const float *edges, *vertices, *global; /* [count][width] */
};
struct sy_gn_output {
    const float *edges, *vertices, *global; /* on the tape */
};
size_t sy_gn_tape(const struct sy_gn *gn, uint32_t vertex_count, uint32_t edge_count);
struct sy_gn_output sy_gn_forward(const struct sy_gn *gn, const float *block,
                                  const struct sy_gn_input *input, float *tape);
/* d_vertices, d_global: slopes of the outputs (NULL: 0). ret_d_*: of the inputs (NULL: not
 * wanted). scratch as large as the tape. */
void sy_gn_backward(const struct sy_gn *gn, const float *block, const struct sy_gn_input *input,
                    const float *tape, const float *d_vertices, const float *d_global,
                    float *scratch, float *ret_slopes, float *ret_d_edges, float *ret_d_vertices,
                    float *ret_d_global);

/* --- LSTM: lstm.c -------------------------------------------------------------------------------
 */
#define SY_LSTM_WIDTH 256 /* at most */
struct sy_lstm {
    uint32_t in, width;
    uint32_t weight; /* [in + width][4 * width], gates i f g o; the bias, [4 * width], follows */
};
struct sy_lstm sy_lstm_make(uint32_t in, uint32_t width, uint32_t *at);
void sy_lstm_start(const struct sy_lstm *lstm, struct sy_rng *rng, float *block);
/* One step. state: [h, c], changed in place. tape: sy_lstm_tape floats of this step. */
uint32_t sy_lstm_tape(const struct sy_lstm *lstm);
void sy_lstm_forward(const struct sy_lstm *lstm, const float *block, const float *x, float *state,
                     float *tape);
/* One step back. d_state: slopes of [h, c] after the step, turned into those before it. */
void sy_lstm_backward(const struct sy_lstm *lstm, const float *block, const float *x,
                      const float *tape, float *d_state, float *ret_slopes, float *ret_dx);

/* --- a choice among candidates: softmax.c
 * -----------------------------------------------------------------------------
 */
/* Probabilities of the allowed among count scores; the others get 0. NULL mask: all allowed. None
 * allowed: all get 0. */
void sy_softmax(const float *scores, const bool *mask, uint32_t count, float *ret_probability);
/* ln p[chosen], and the entropy. */
float sy_softmax_log(const float *probability, uint32_t chosen);
float sy_softmax_entropy(const float *probability, uint32_t count);
/* d(weight * ln p[chosen] + entropy_weight * entropy) / d scores. */
void sy_softmax_backward(const float *probability, uint32_t count, uint32_t chosen, float weight,
                         float entropy_weight, float *ret_d_scores);

#endif
