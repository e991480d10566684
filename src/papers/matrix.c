/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner loops of all layers, in vectors of four floats and, where the processor has them, of
 * eight. Which one runs does not show in the results.
 */
#include "papers/matrix.h"
#include <string.h>

#define EXP_MOST     80.0f
#define SIGMOID_MOST 20.0f

typedef float quad __attribute__((vector_size(16), aligned(4), may_alias));

#define LANES 4
#define TARGET
#define NAME(x) x##_4
#include "papers/matrix_loops.h"
#undef LANES
#undef TARGET
#undef NAME

#ifdef __x86_64__
#define LANES   8
#define TARGET  __attribute__((target("avx2")))
#define NAME(x) x##_8
#include "papers/matrix_loops.h"
#define RUN(name, ...)                                                                             \
    (__builtin_cpu_supports("avx2") ? name##_8(__VA_ARGS__) : name##_4(__VA_ARGS__))
#else
#define RUN(name, ...) name##_4(__VA_ARGS__)
#endif

void sy_matrix_add(struct sy_matrix a, const float *b, uint32_t rows, uint32_t depth,
                   uint32_t columns, float *c) {
    RUN(add, a, b, rows, depth, columns, c);
}

void sy_matrix_across(const float *a, const float *b, uint32_t rows, uint32_t depth,
                      uint32_t columns, bool add, float *c) {
    RUN(across, a, b, rows, depth, columns, add, c);
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

void sy_matrix_sum(const float *x, uint32_t rows, uint32_t columns, float *sum) {
    for (uint32_t r = 0; columns && r < rows; r++) {
        const float *row = x + (size_t)r * columns;
        for (uint32_t j = 0; j < columns; j++) {
            sum[j] += row[j];
        }
    }
}

void sy_vector_exp(float *x, size_t count) {
    RUN(exp, x, count);
}

void sy_vector_tanh(float *x, size_t count) {
    RUN(tanh, x, count);
}

void sy_vector_sigmoid(float *x, size_t count) {
    RUN(sigmoid, x, count);
}

void sy_vector_rectify(float *x, size_t count, float below) {
    RUN(rectify, x, count, below);
}

void sy_vector_rectify_back(const float *y, const float *dy, size_t count, float below,
                            float *ret_dx) {
    RUN(rectify_back, y, dy, count, below, ret_dx);
}
