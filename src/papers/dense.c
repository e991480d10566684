/* SPDX-License-Identifier: Apache-2.0
 *
 * Inverses and slopes of matrix algebra; see dense.h.
 */
#include "papers/dense.h"
#include <stddef.h>
#include <string.h>

#define AT(matrix, i, j) (matrix)[(size_t)(i)*n + (j)]

void sy_dense_inverse(const double *u, uint32_t n, double *ret_inverse) {
    memset(ret_inverse, 0, sizeof *ret_inverse * n * n);
    for (uint32_t i = 0; i < n; i++) {
        AT(ret_inverse, i, i) = 1;
        sy_solve_forward(u, n, n, &AT(ret_inverse, i, 0));
        sy_solve_backward(u, n, n, &AT(ret_inverse, i, 0));
    }
    for (uint32_t i = 0; i < n; i++) { /* to the bit */
        for (uint32_t j = 0; j < i; j++) {
            AT(ret_inverse, j, i) = AT(ret_inverse, i, j);
        }
    }
}

/* With F = lower triangle of L' L_slope, its diagonal halved: a_slope = sym(L'^-1 F L^-1), L = U'
 * (Murray, "Differentiation of the Cholesky decomposition", 2016, equation 10). */
void sy_dense_cholesky_reverse(const double *u, uint32_t n, double *l_slope, double *ret_a_slope) {
    double *f = ret_a_slope;
    memset(f, 0, sizeof *f * n * n);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            double sum = 0;
            for (uint32_t k = i; k < n; k++) {
                sum += AT(u, i, k) * AT(l_slope, k, j);
            }
            AT(f, i, j) = i == j ? sum / 2 : sum;
        }
    }
    double *t = l_slope; /* rows of T = (F L^-1)': solve L' t = row of F, for each row */
    for (uint32_t i = 0; i < n; i++) {
        memcpy(&AT(t, i, 0), &AT(f, i, 0), sizeof *t * n);
        sy_solve_backward(u, n, n, &AT(t, i, 0));
    }
    for (uint32_t j = 0; j < n; j++) { /* columns of L'^-1 T, kept as rows */
        double *column = &AT(f, j, 0);
        for (uint32_t i = 0; i < n; i++) {
            column[i] = AT(t, i, j);
        }
        sy_solve_backward(u, n, n, column);
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            AT(f, i, j) = AT(f, j, i) = (AT(f, i, j) + AT(f, j, i)) / 2;
        }
    }
}

void sy_dense_sandwich(const double *s, const double *m, uint32_t n, double *scratch,
                       double *ret_product) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            AT(scratch, i, j) = sy_dot(&AT(s, i, 0), &AT(m, j, 0), n);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            AT(ret_product, i, j) = -sy_dot(&AT(scratch, i, 0), &AT(s, j, 0), n);
        }
    }
}
