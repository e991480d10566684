/* SPDX-License-Identifier: Apache-2.0
 *
 * dense: plain matrix algebra for the offline and training side.
 *
 * Matrices are row by row without padding. Unlike the filter's kernels (linear.h) nothing is
 * floored: a factorisation that fails says so, and what succeeds can be differentiated.
 */
#ifndef SY_PAPERS_DENSE_H
#define SY_PAPERS_DENSE_H

#include <stdbool.h>
#include <stdint.h>

/* The lower triangle becomes L with L L' = a, the upper one 0. False: not positive definite. */
bool sy_dense_cholesky(double *a, uint32_t n);
void sy_dense_solve_lower(const double *l, uint32_t n, double *x); /* x = L^-1 x */
void sy_dense_solve_upper(const double *l, uint32_t n, double *x); /* x = L'^-1 x */
void sy_dense_solve(const double *l, uint32_t n, double *x);       /* x = (L L')^-1 x */
/* (L L')^-1, symmetric. */
void sy_dense_inverse(const double *l, uint32_t n, double *ret_inverse);
double sy_dense_dot(const double *a, const double *b, uint32_t n);
void sy_dense_multiply(const double *a, uint32_t n, const double *x, double *ret_y); /* y = A x */
/* Reverse mode of a = L L': the slope with respect to L (lower triangle, overwritten as scratch)
 * becomes that with respect to a, symmetric. */
void sy_dense_cholesky_reverse(const double *l, uint32_t n, double *l_slope, double *ret_a_slope);
/* -s m s for symmetric s and m: the slope of an inverse. scratch: n * n. */
void sy_dense_sandwich(const double *s, const double *m, uint32_t n, double *scratch,
                       double *ret_product);

#endif
