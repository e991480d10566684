/* SPDX-License-Identifier: Apache-2.0
 *
 * One row of a block's result, in double precision and without any of the kernels: what theirs is
 * compared with.
 *
 * Keys and values of a whole window would cost a product of matrices per row. But
 * q . (x_j W) = (W q) . x_j, and sum of p_j (x_j W) = (sum of p_j x_j) W: so only vectors.
 */
#include "attention/attention.h"
#include <math.h>

struct sizes {
    uint32_t length, half, model, heads, width, ffn, slots;
};

static struct sizes sizes_of(const double *values) {
    struct sizes sizes = {.length = (uint32_t)values[ATTN_LENGTH],
                          .half = (uint32_t)values[ATTN_WINDOW] / 2,
                          .model = (uint32_t)values[ATTN_MODEL],
                          .heads = (uint32_t)values[ATTN_HEADS],
                          .ffn = (uint32_t)values[ATTN_FFN]};
    sizes.width = sizes.model / sizes.heads;
    sizes.slots = 2 * sizes.half + 1;
    return sizes;
}

size_t attn_reference_scratch(const double *values) {
    struct sizes sizes = sizes_of(values);
    return (size_t)sizes.model * 5 + sizes.ffn + sizes.slots;
}

/* y = x W; W has inner rows, and columns [first, first + columns) of wide ones are used. */
static void multiply(const double *x, const float *w, uint32_t inner, uint32_t wide, uint32_t first,
                     uint32_t columns, double *y) {
    for (uint32_t j = 0; j < columns; j++) {
        y[j] = 0;
    }
    for (uint32_t c = 0; c < inner; c++) {
        const float *line = w + (size_t)c * wide + first;
        for (uint32_t j = 0; j < columns; j++) {
            y[j] += x[c] * line[j];
        }
    }
}

/* p: of tokens [from, to), the softmax of u . x_j / sqrt(width). */
static void softmax(const struct sizes *sizes, const float *sequence, const double *u,
                    uint32_t from, uint32_t to, double *p) {
    double most = -INFINITY, sum = 0;
    for (uint32_t j = from; j < to; j++) {
        const float *x = sequence + (size_t)j * sizes->model;
        double dot = 0;
        for (uint32_t c = 0; c < sizes->model; c++) {
            dot += u[c] * x[c];
        }
        p[j - from] = dot / sqrt(sizes->width);
        most = fmax(most, p[j - from]);
    }
    for (uint32_t j = 0; j < to - from; j++) {
        p[j] = exp(p[j] - most);
        sum += p[j];
    }
    for (uint32_t j = 0; j < to - from; j++) {
        p[j] /= sum;
    }
}

/* What one head attends to, width columns. q: the row's queries of all heads; u and p: scratch. */
static void attend(const struct sizes *sizes, const float *sequence, const float *weights,
                   const double *q, uint32_t position, uint32_t head, double *u, double *p,
                   double *ret_mixed) {
    uint32_t model = sizes->model, wide = 3 * model, column = head * sizes->width;
    uint32_t from = position > sizes->half ? position - sizes->half : 0;
    uint32_t to =
        sizes->length - position > sizes->half ? position + sizes->half + 1 : sizes->length;
    for (uint32_t c = 0; c < model; c++) {
        const float *line = weights + (size_t)c * wide + model + column;
        u[c] = 0;
        for (uint32_t t = 0; t < sizes->width; t++) {
            u[c] += q[column + t] * line[t];
        }
    }
    softmax(sizes, sequence, u, from, to, p);
    for (uint32_t c = 0; c < model; c++) {
        u[c] = 0;
    }
    for (uint32_t j = from; j < to; j++) {
        const float *x = sequence + (size_t)j * model;
        for (uint32_t c = 0; c < model; c++) {
            u[c] += p[j - from] * x[c];
        }
    }
    multiply(u, weights, model, wide, 2 * model + column, sizes->width, ret_mixed);
}

static double gelu(double x) {
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

void attn_reference_row(const double *values, void *const *data, uint64_t row, double *scratch,
                        double *ret_y) {
    struct sizes sizes = sizes_of(values);
    uint32_t model = sizes.model, position = (uint32_t)(row % sizes.length);
    double *x = scratch, *q = x + model, *u = q + model, *mixed = u + model,
           *attended = mixed + model, *up = attended + model, *p = up + sizes.ffn;
    const float *line = (const float *)data[ATTN_X] + row * model;
    const float *sequence = line - (size_t)position * model;
    for (uint32_t c = 0; c < model; c++) {
        x[c] = line[c];
    }
    multiply(x, data[ATTN_W_QKV], model, 3 * model, 0, model, q);
    for (uint32_t head = 0; head < sizes.heads; head++) {
        attend(&sizes, sequence, data[ATTN_W_QKV], q, position, head, u, p,
               mixed + (size_t)head * sizes.width);
    }
    multiply(mixed, data[ATTN_W_OUT], model, model, 0, model, attended);
    for (uint32_t c = 0; c < model; c++) {
        attended[c] += x[c];
    }
    multiply(attended, data[ATTN_W_UP], model, sizes.ffn, 0, sizes.ffn, up);
    for (uint32_t c = 0; c < sizes.ffn; c++) {
        up[c] = gelu(up[c]);
    }
    multiply(up, data[ATTN_W_DOWN], sizes.ffn, model, 0, model, ret_y);
    for (uint32_t c = 0; c < model; c++) {
        ret_y[c] += attended[c];
    }
}
