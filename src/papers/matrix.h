/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner loops of all layers: products of small matrices, and functions of one number.
 *
 * Invariant: every sum is taken in the order of its terms (or of eight lanes, for _across), so that
 * a row's result does not depend on the rows beside it nor on the width of the processor's vectors.
 */
#ifndef SY_PAPERS_MATRIX_H
#define SY_PAPERS_MATRIX_H

#include "base/base.h"

/* A matrix that is read: entry (row, column) is at[row * row_step + column * column_step]. */
struct sy_matrix {
    const float *at;
    size_t row_step, column_step;
};

/* c[rows][columns] += a[rows][depth] * b[depth][columns]. */
void sy_matrix_add(struct sy_matrix a, const float *b, uint32_t rows, uint32_t depth,
                   uint32_t columns, float *c);
/* c[rows][columns] = a[rows][depth] * b[columns][depth], b turned; or += it. */
void sy_matrix_across(const float *a, const float *b, uint32_t rows, uint32_t depth,
                      uint32_t columns, bool add, float *c);
/* y[rows][columns]: every row is the given one, or 0 for NULL. */
void sy_matrix_fill(const float *row, uint32_t rows, uint32_t columns, float *y);
/* sum[columns] += the rows of x, in their order. */
void sy_matrix_sum(const float *x, uint32_t rows, uint32_t columns, float *sum);

/* In place. Not libm's: those take one number at a time, and differ between processors. Within
 * 2e-7 relative of the exact exp (which saturates outside +-80) and 2e-7 absolute of the others. */
void sy_vector_exp(float *x, size_t count);
void sy_vector_tanh(float *x, size_t count);
void sy_vector_sigmoid(float *x, size_t count);
/* x where it is positive, below * x elsewhere, in place. */
void sy_vector_rectify(float *x, size_t count, float below);
/* From what that gave; ret_dx may be dy. */
void sy_vector_rectify_back(const float *y, const float *dy, size_t count, float below,
                            float *ret_dx);

#endif
