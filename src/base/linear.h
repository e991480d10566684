/* SPDX-License-Identifier: Apache-2.0
 *
 * linear: small dense matrices.
 *
 * Matrices lie row by row, stride numbers apart. Where a function says "padded", each row has a
 * multiple of SY_LANES numbers, and a square matrix as many rows. Every element is computed by the
 * same operations in the same order whatever the vector width, so that machines agree to the bit.
 */
#ifndef SY_BASE_LINEAR_H
#define SY_BASE_LINEAR_H

#include <stdbool.h>
#include <stdint.h>

#define SY_LANES 16u

static inline uint32_t sy_padded(uint32_t n) {
    return (n + SY_LANES - 1) / SY_LANES * SY_LANES;
}

/* y += scale * x */
void sy_axpy(double *restrict y, const double *restrict x, double scale, uint32_t length);
/* In single precision, padded: y -= sum of scales[k] * row k, out[k] = row k * x, and
 * out = sum of scales[k] * row k. */
void sy_subtract_rows_narrow(float *restrict y, const float *rows, uint32_t stride, uint32_t count,
                             const float *scales);
void sy_dots_narrow(float *restrict out, const float *rows, uint32_t stride, uint32_t count,
                    const float *x);
void sy_sum_rows_narrow(float *restrict out, const float *matrix, uint32_t stride, uint32_t n,
                        const float *scales);
struct sy_ahead {
    double *wide;
    float *narrow;
    float *squares; /* of each column of narrow, summed */
};
/* wide = narrow = keeps keeps' * p + steps * q, element by element; n rows, padded */
void sy_look_ahead(const struct sy_ahead *to, const double *p, const double *q, const double *keeps,
                   double steps, uint32_t stride, uint32_t n);
/* The sum is taken in eight parts. */
double sy_dot(const double *x, const double *y, uint32_t length);
/* out = sum of scales[k] * row rows[k] of the matrix */
void sy_combine(double *restrict out, const double *matrix, uint32_t stride, const uint32_t *rows,
                const double *scales, uint32_t count);
/* The same of the first n rows; for a symmetric matrix, matrix * scales. */
void sy_sum_rows(double *restrict out, const double *matrix, uint32_t stride, uint32_t n,
                 const double *scales);
/* p = keep * p + scale * (a a' - b b'), square, n rows */
void sy_nudge(double *p, uint32_t stride, uint32_t n, const double *a, const double *b, double keep,
              double scale);
/* The upper triangle of the symmetric a (m rows) becomes U with U'U = a; what is below it is left
 * undefined. A pivot under floors[i] counts as that much: rounding never makes a matrix unusable.
 * floors NULL: false where a is not positive definite. */
bool sy_cholesky(double *a, uint32_t stride, uint32_t m, const double *floors);
/* w = U'^-1 w for m rows of stride; padded. */
void sy_solve_lower(const double *u, uint32_t u_stride, uint32_t m, double *w, uint32_t stride);
/* z = U'^-1 z, then z = U^-1 z */
void sy_solve_forward(const double *u, uint32_t u_stride, uint32_t m, double *z);
void sy_solve_backward(const double *u, uint32_t u_stride, uint32_t m, double *z);
/* p -= w'w, square and symmetric; w has m rows. Products are taken in single precision: they are
 * right to 1e-7 of the variance before. narrow: m rows of scratch. Padded. */
void sy_downdate(double *p, uint32_t stride, const double *w, uint32_t m, float *narrow);

#endif
