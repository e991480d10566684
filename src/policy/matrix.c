/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner loops. Written for the compiler's vectors: eight floats, whatever the processor has.
 *
 * Four rows at a time share each load of b; one row alone takes four vectors at a time, so that the
 * processor always has independent sums to work on.
 */
#include "policy/matrix.h"
#include <string.h>

#define LANES 8
#define WIDE  (4 * LANES)
/* No alignment is asked for: layers lie in the block one behind the other. */
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

#ifndef SY_CLONES
#define SY_CLONES
#endif

static inline void four_rows(struct sy_matrix a, const float *b, uint32_t depth, uint32_t columns,
                             float *c) {
    const float *a0 = a.at, *a1 = a0 + a.row_step, *a2 = a1 + a.row_step, *a3 = a2 + a.row_step;
    uint32_t j = 0;
    for (; j + LANES <= columns; j += LANES) {
        lanes *c0 = (lanes *)(c + j), *c1 = (lanes *)(c + columns + j);
        lanes *c2 = (lanes *)(c + 2 * columns + j), *c3 = (lanes *)(c + 3 * columns + j);
        lanes s0 = *c0, s1 = *c1, s2 = *c2, s3 = *c3;
        for (uint32_t k = 0; k < depth; k++) {
            lanes w = *(const lanes *)(b + (size_t)k * columns + j);
            size_t at = k * a.column_step;
            s0 += a0[at] * w;
            s1 += a1[at] * w;
            s2 += a2[at] * w;
            s3 += a3[at] * w;
        }
        *c0 = s0;
        *c1 = s1;
        *c2 = s2;
        *c3 = s3;
    }
    for (; j < columns; j++) {
        float s0 = c[j], s1 = c[columns + j], s2 = c[2 * columns + j], s3 = c[3 * columns + j];
        for (uint32_t k = 0; k < depth; k++) {
            float w = b[(size_t)k * columns + j];
            size_t at = k * a.column_step;
            s0 += a0[at] * w;
            s1 += a1[at] * w;
            s2 += a2[at] * w;
            s3 += a3[at] * w;
        }
        c[j] = s0;
        c[columns + j] = s1;
        c[2 * columns + j] = s2;
        c[3 * columns + j] = s3;
    }
}

static inline void one_row(struct sy_matrix a, const float *b, uint32_t depth, uint32_t columns,
                           float *c) {
    uint32_t j = 0;
    for (; j + WIDE <= columns; j += WIDE) {
        lanes *to = (lanes *)(c + j);
        lanes s0 = to[0], s1 = to[1], s2 = to[2], s3 = to[3];
        for (uint32_t k = 0; k < depth; k++) {
            const lanes *w = (const lanes *)(b + (size_t)k * columns + j);
            float x = a.at[k * a.column_step];
            s0 += x * w[0];
            s1 += x * w[1];
            s2 += x * w[2];
            s3 += x * w[3];
        }
        to[0] = s0;
        to[1] = s1;
        to[2] = s2;
        to[3] = s3;
    }
    for (; j + LANES <= columns; j += LANES) {
        lanes sum = *(lanes *)(c + j);
        for (uint32_t k = 0; k < depth; k++) {
            sum += a.at[k * a.column_step] * *(const lanes *)(b + (size_t)k * columns + j);
        }
        *(lanes *)(c + j) = sum;
    }
    for (; j < columns; j++) {
        float sum = c[j];
        for (uint32_t k = 0; k < depth; k++) {
            sum += a.at[k * a.column_step] * b[(size_t)k * columns + j];
        }
        c[j] = sum;
    }
}

SY_CLONES
void sy_matrix_add(struct sy_matrix a, const float *b, uint32_t rows, uint32_t depth,
                   uint32_t columns, float *c) {
    uint32_t r = 0;
    for (; depth && r + 4 <= rows; r += 4) {
        struct sy_matrix part = a;
        part.at += r * a.row_step;
        four_rows(part, b, depth, columns, c + (size_t)r * columns);
    }
    for (; depth && r < rows; r++) {
        struct sy_matrix part = a;
        part.at += r * a.row_step;
        one_row(part, b, depth, columns, c + (size_t)r * columns);
    }
}

static inline float dot(const float *x, const float *y, uint32_t count) {
    lanes sums = {0};
    uint32_t k = 0;
    for (; k + LANES <= count; k += LANES) {
        sums += *(const lanes *)(x + k) * *(const lanes *)(y + k);
    }
    float sum =
        ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
    for (; k < count; k++) {
        sum += x[k] * y[k];
    }
    return sum;
}

SY_CLONES
void sy_matrix_across(const float *a, const float *b, uint32_t rows, uint32_t depth,
                      uint32_t columns, bool add, float *c) {
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t j = 0; j < columns; j++) {
            float *to = c + (size_t)r * columns + j;
            float sum = depth ? dot(a + (size_t)r * depth, b + (size_t)j * depth, depth) : 0;
            *to = add ? *to + sum : sum;
        }
    }
}

void sy_matrix_fill(const float *row, uint32_t rows, uint32_t columns, float *y) {
    for (uint32_t r = 0; columns && r < rows; r++) {
        if (row) {
            memcpy(y + (size_t)r * columns, row, columns * sizeof *y);
        } else {
            memset(y + (size_t)r * columns, 0, columns * sizeof *y);
        }
    }
}

SY_CLONES
void sy_matrix_sum(const float *x, uint32_t rows, uint32_t columns, float *sum) {
    for (uint32_t r = 0; columns && r < rows; r++) {
        const float *row = x + (size_t)r * columns;
        for (uint32_t j = 0; j < columns; j++) {
            sum[j] += row[j];
        }
    }
}

/* exp(x) = 2^n * exp(r), |r| <= ln 2 / 2; the polynomial and the split of ln 2 are Cephes' expf. */
static inline float exp_of(float x) {
    const float most = 88.0f, least = -87.0f, magic = 12582912.0f; /* 1.5 * 2^23: rounds */
    x = x > most ? most : x;
    x = x < least ? least : x;
    float n = (x * 1.44269504f + magic) - magic;
    float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1;
    union {
        int32_t bits;
        float value;
    } power = {.bits = ((int32_t)n + 127) * (1 << 23)};
    return p * power.value;
}

SY_CLONES
void sy_vector_exp(float *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        x[i] = exp_of(x[i]);
    }
}

/* Near 0 a polynomial (Cephes' tanhf), so that small slopes keep their digits. */
SY_CLONES
void sy_vector_tanh(float *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float v = x[i], z = v * v;
        float p = -5.70498872745e-3f;
        p = p * z + 2.06390887954e-2f;
        p = p * z - 5.37397155531e-2f;
        p = p * z + 1.33314422036e-1f;
        p = p * z - 3.33332819422e-1f;
        float near = p * z * v + v;
        float far = 1 - 2 / (exp_of(2 * v) + 1);
        x[i] = z < 0.390625f ? near : far;
    }
}

SY_CLONES
void sy_vector_sigmoid(float *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        x[i] = 1 / (1 + exp_of(-x[i]));
    }
}
