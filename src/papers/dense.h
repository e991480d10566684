/* SPDX-License-Identifier: Apache-2.0
 *
 * dense: inverses and slopes on top of base/linear.h, for training. Matrices are row by row without
 * padding; u is what sy_cholesky gives, L is U'.
 */
#ifndef SY_PAPERS_DENSE_H
#define SY_PAPERS_DENSE_H

#include "base/linear.h"

/* (U'U)^-1, symmetric. */
void sy_dense_inverse(const double *u, uint32_t n, double *ret_inverse);
/* Reverse mode of a = L L': the slope with respect to L (lower triangle, overwritten as scratch)
 * becomes that with respect to a, symmetric. */
void sy_dense_cholesky_reverse(const double *u, uint32_t n, double *l_slope, double *ret_a_slope);
/* -s m s for symmetric s and m: the slope of an inverse. scratch: n * n. */
void sy_dense_sandwich(const double *s, const double *m, uint32_t n, double *scratch,
                       double *ret_product);

#endif
