/* SPDX-License-Identifier: Apache-2.0
 *
 * nets: the networks that schedulers use. Layers as forward and backward pairs, and the file that
 * holds their weights.
 *
 * In: numbers (features that schedulers compute). Out: numbers (corrections, probabilities, a
 * value), and slopes for training. Never knows: tasks, devices, time. Invariants: all parameters of
 * a network lie in one block of floats; forward and backward allocate nothing; the same input gives
 * the same bits on every run of one build.
 */
#ifndef SY_NETS_NETS_H
#define SY_NETS_NETS_H

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
/* Layer norm with a gain and an offset per column: 2 * width parameters. */
struct sy_norm {
    uint32_t width, gain;
};
struct sy_norm sy_norm_make(uint32_t width, uint32_t *at);
void sy_norm_start(const struct sy_norm *norm, float *block);
void sy_norm_forward(const struct sy_norm *norm, const float *block, const float *x, uint32_t rows,
                     float *ret_y);
void sy_norm_backward(const struct sy_norm *norm, const float *block, const float *x,
                      const float *dy, uint32_t rows, float *ret_slopes, float *ret_dx);

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

/* --- heads: heads.c -----------------------------------------------------------------------------
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
/* One-head attention of a query over candidates: y = sum softmax(q K^T / sqrt(d)) V. */
struct sy_attention {
    uint32_t in, width;
    struct sy_linear query, key, value;
};
struct sy_attention sy_attention_make(uint32_t in, uint32_t width, uint32_t *at);
void sy_attention_start(const struct sy_attention *attention, struct sy_rng *rng, float *block);
size_t sy_attention_tape(const struct sy_attention *attention, uint32_t count);
/* No candidates: y is 0. Backward writes ret_d_* (NULL: not wanted); scratch as large as the tape.
 */
void sy_attention_forward(const struct sy_attention *attention, const float *block,
                          const float *query, const float *candidates, uint32_t count, float *tape,
                          float *ret_y);
void sy_attention_backward(const struct sy_attention *attention, const float *block,
                           const float *query, const float *candidates, uint32_t count,
                           const float *tape, const float *dy, float *scratch, float *ret_slopes,
                           float *ret_d_query, float *ret_d_candidates);

/* --- optimiser: adam.c --------------------------------------------------------------------------
 */
struct sy_adam {
    uint32_t count, steps;
    float *first, *second; /* moments; the caller's, zero at first */
};
/* Clips the slopes to a norm (0: not), then moves the block against them. Returns the norm they
 * had; slopes that are not finite move nothing. */
double sy_adam_step(struct sy_adam *adam, float *block, float *slopes, double rate,
                    double clip_norm);

/* --- weights: weights.c -------------------------------------------------------------------------
 * A file is a few lines of text, zeros up to a multiple of 64 bytes, then the block as
 * little-endian floats: docs/weights-format.md. */
#define SY_WEIGHTS_MAX 262144 /* floats in a block */
struct sy_weights {
    const char *kind; /* which policy understands them: "symphony", "symphony-paper", "black-box",
                         and no other: the list is in weights.c */
    uint32_t shape;   /* version of that policy's layout: a policy refuses another */
    const float *block;
    uint32_t count;
    uint64_t hash;      /* of the block */
    const char *origin; /* how they were made: lines "key value", for people */
    void *memory;       /* what close gives back */
    size_t memory_size;
};
/* Reads a file. -EINVAL with line and reason for a file that is not one, was cut or was changed. */
SY_MUST_CHECK int sy_weights_open(const char *path, struct sy_weights *ret_weights,
                                  struct sy_error *error);
void sy_weights_close(struct sy_weights *weights);
/* The same from memory, which must be aligned to 64 bytes and outlive the weights. */
SY_MUST_CHECK int sy_weights_parse(const void *bytes, size_t size, struct sy_weights *ret_weights,
                                   struct sy_error *error);
/* Through a temporary name: the file is whole or not there. Needs kind, shape, block and count;
 * origin may be NULL or lines "key value" (keys of a-z, 0-9, - and _); computes the hash. */
SY_MUST_CHECK int sy_weights_write(const char *path, const struct sy_weights *weights,
                                   struct sy_error *error);
/* The weights that come with the program, by kind; NULL: none do. */
const struct sy_weights *sy_weights_shipped(const char *kind);

/* --- what a learned policy is given beside its name ---------------------------------------------
 * struct sy_scheduler points at it; NULL: the shipped weights and all parts. */
enum sy_policy_part {
    SY_PART_BELIEF = 1u << 0,   /* what counters say */
    SY_PART_TOPOLOGY = 1u << 1, /* graph network over the machine */
    SY_PART_GRAPH = 1u << 2,    /* graph network over the job */
    SY_PART_LSTM = 1u << 3,
    SY_PART_GUARD = 1u << 4,
    SY_PART_BACKBONE = 1u << 5, /* the heuristic that is corrected */
    SY_PART_PLANS = 1u << 6,    /* plans of a job that is alone */
    SY_PART_NET = 1u << 7,      /* the correction itself */
};
struct sy_policy_tape; /* what training records of decisions; the policy's own */
struct sy_policy_setup {
    const struct sy_weights *weights; /* NULL: the shipped ones */
    uint32_t without;                 /* parts left out: bits of enum sy_policy_part */
    struct sy_policy_tape *tape;      /* NULL: nothing is recorded, the best is chosen */
};
/* Bit of a part's name ("belief", "topology", "graph", "lstm", "guard", "backbone", "plans",
 * "net"), 0: none is called so. */
uint32_t sy_policy_part(const char *name, size_t length);
const char *sy_policy_part_at(uint32_t index);

#endif
