/* SPDX-License-Identifier: Apache-2.0
 *
 * attention: kernels of sliding-window attention, in single precision, and the pipelines that they
 * are part of. Token i of a sequence looks at tokens j of the same sequence with
 * |i - j| <= window / 2, in each of several heads.
 *
 * All data are dense, row-major floats. rows = batch * length; row r is token r % length of
 * sequence r / length. width = model / heads: the head's own columns.
 *
 *   qkv            rows x 3 * model       queries, keys, values; of each, head after head
 *   scores         rows x heads x (window + 1)   slot s of token i belongs to token
 *   probabilities  the same                      i - window / 2 + s; where there is no such token
 *                                                the score is -INFINITY and the probability 0
 *   mixed          rows x model           head after head
 *
 *   window_scores     qkv -> scores: q . k / sqrt(width)
 *   window_softmax    scores -> probabilities: of each row and head
 *   window_mix        probabilities, qkv -> mixed: sum of p * v
 *   window_attention  qkv -> mixed: all three at once; no scores are ever stored
 *
 * Parameters of each call: length, window (even), batch, model (a multiple of heads), heads.
 * A part of a call does rows [rows * part / part_count, rows * (part + 1) / part_count); the bits
 * of a row do not depend on how the rows are divided.
 */
#ifndef ATTENTION_ATTENTION_H
#define ATTENTION_ATTENTION_H

#include "guest.h"
#include "simd.h"

enum { ATTN_WIDTH_MAX = 256 };

enum attn_kernel { ATTN_SCORES, ATTN_SOFTMAX, ATTN_MIX, ATTN_ATTENTION, ATTN_KERNEL_COUNT };
extern const char *const attn_names[ATTN_KERNEL_COUNT];

struct attn_shape {
    uint32_t length, window, batch, model, heads;
    uint32_t width, half, slots; /* model / heads, window / 2, window + 1 */
    uint64_t rows;
};

/* What a call's parameters say, if they and the sizes of its arguments fit; else -EINVAL and a
 * message. */
SY_MUST_CHECK int attn_shape_of(const struct sy_call *call, enum attn_kernel kernel,
                                struct attn_shape *ret_shape);

/* One kernel on rows [first, last). a: qkv, or probabilities, or scores; b: qkv for ATTN_MIX. */
void attn_run(enum attn_kernel kernel, const struct attn_shape *shape, const float *a,
              const float *b, float *out, uint64_t first, uint64_t last, enum guest_simd level);

/* How long a card with the systolic array of fpga.c would take: a model. NAN: not for this. */
double attn_fpga_model_ns(enum attn_kernel kernel, const struct attn_shape *shape);

/* What one flavour offers. On CUDA, data are in device memory, and calls only enqueue. */
#define ATTN_CUDA_FILE   "attention/attention_cuda.so"
#define ATTN_CUDA_SYMBOL "attn_cuda"
struct attn_device_part {
    int (*prepare)(const struct sy_call *call);
    int (*run)(enum attn_kernel kernel, const struct attn_shape *shape, const struct sy_call *call);
};

/* --- pipelines --------------------------------------------------------------------------------
 * "block" and "fused": see pipelines.c. */
enum attn_feature {
    ATTN_LENGTH,
    ATTN_WINDOW,
    ATTN_BATCH,
    ATTN_MODEL,
    ATTN_HEADS,
    ATTN_FFN,
    ATTN_FEATURE_COUNT
};
struct attn_example {
    const char *name;
    double values[ATTN_FEATURE_COUNT];
};
extern const struct attn_example attn_examples[];
extern const uint32_t attn_example_count;
extern const char attn_example_names[]; /* all, between spaces */
extern const char attn_block_text[], attn_fused_text[];

/* The numbers of data in the texts that are filled and checked, the same in both. */
enum attn_datum {
    ATTN_X,
    ATTN_W_QKV,
    ATTN_W_OUT,
    ATTN_W_UP,
    ATTN_W_DOWN,
    ATTN_Y,
    ATTN_DATUM_COUNT
};

/* Of struct sy_kernel_pipeline. */
#define ATTN_STREAM_USAGE                                                                          \
    "[example=NAME[+NAME...]][,items=N][,seed=N][,check=ROWS] | drift=1[,example=NAME[+NAME]]"     \
    "[,items=N] | calibrate=1[,points=N][,model=N]"
int attn_stream_open(const char *arguments, void **ret_state, struct sy_error *error);
int attn_stream_next(void *state, uint64_t item, double *ret_values, uint64_t *ret_input);
int attn_stream_fill(void *state, uint64_t item, uint32_t datum, void *pointer, uint64_t bytes);
int attn_stream_check(void *state, uint64_t item, void *const *data, double *ret_error,
                      double *ret_tolerance, struct sy_error *error);
void attn_stream_close(void *state);

/* Row `row` of y in double precision, straight from x and the weights; data as check gets them.
 * scratch: attn_reference_scratch doubles. */
size_t attn_reference_scratch(const double *values);
void attn_reference_row(const double *values, void *const *data, uint64_t row, double *scratch,
                        double *ret_y);

#endif
