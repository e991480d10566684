/* SPDX-License-Identifier: Apache-2.0
 *
 * Cholesky, its solves and its reverse mode, in plain loops.
 */
#include "papers/dense.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

#define AT(matrix, i, j) (matrix)[(size_t)(i)*n + (j)]

double sy_dense_dot(const double *a, const double *b, uint32_t n) {
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

bool sy_dense_cholesky(double *a, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            double rest = AT(a, i, j) - sy_dense_dot(&AT(a, i, 0), &AT(a, j, 0), j);
            if (i == j && !(rest > 0 && isfinite(rest))) {
                return false;
            }
            AT(a, i, j) = i == j ? sqrt(rest) : rest / AT(a, j, j);
        }
        for (uint32_t j = i + 1; j < n; j++) {
            AT(a, i, j) = 0;
        }
    }
    return true;
}

void sy_dense_solve_lower(const double *l, uint32_t n, double *x) {
    for (uint32_t i = 0; i < n; i++) {
        x[i] = (x[i] - sy_dense_dot(&AT(l, i, 0), x, i)) / AT(l, i, i);
    }
}

void sy_dense_solve_upper(const double *l, uint32_t n, double *x) {
    for (uint32_t i = n; i-- > 0;) {
        x[i] /= AT(l, i, i);
        for (uint32_t j = 0; j < i; j++) {
            x[j] -= AT(l, i, j) * x[i];
        }
    }
}

void sy_dense_solve(const double *l, uint32_t n, double *x) {
    sy_dense_solve_lower(l, n, x);
    sy_dense_solve_upper(l, n, x);
}

void sy_dense_inverse(const double *l, uint32_t n, double *ret_inverse) {
    memset(ret_inverse, 0, sizeof *ret_inverse * n * n);
    for (uint32_t i = 0; i < n; i++) {
        AT(ret_inverse, i, i) = 1;
        sy_dense_solve(l, n, &AT(ret_inverse, i, 0));
    }
    for (uint32_t i = 0; i < n; i++) { /* to the bit */
        for (uint32_t j = 0; j < i; j++) {
            AT(ret_inverse, j, i) = AT(ret_inverse, i, j);
        }
    }
}

void sy_dense_multiply(const double *a, uint32_t n, const double *x, double *ret_y) {
    for (uint32_t i = 0; i < n; i++) {
        ret_y[i] = sy_dense_dot(&AT(a, i, 0), x, n);
    }
}

/* With F = lower triangle of L' L_slope, its diagonal halved: a_slope = sym(L'^-1 F L^-1)
 * (Murray, "Differentiation of the Cholesky decomposition", 2016, equation 10). */
void sy_dense_cholesky_reverse(const double *l, uint32_t n, double *l_slope, double *ret_a_slope) {
    double *f = ret_a_slope;
    memset(f, 0, sizeof *f * n * n);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            double sum = 0;
            for (uint32_t k = i; k < n; k++) {
                sum += AT(l, k, i) * AT(l_slope, k, j);
            }
            AT(f, i, j) = i == j ? sum / 2 : sum;
        }
    }
    double *t = l_slope; /* rows of T = (F L^-1)': solve L' t = row of F, for each row */
    for (uint32_t i = 0; i < n; i++) {
        memcpy(&AT(t, i, 0), &AT(f, i, 0), sizeof *t * n);
        sy_dense_solve_upper(l, n, &AT(t, i, 0));
    }
    for (uint32_t j = 0; j < n; j++) { /* columns of L'^-1 T, kept as rows */
        double *column = &AT(f, j, 0);
        for (uint32_t i = 0; i < n; i++) {
            column[i] = AT(t, i, j);
        }
        sy_dense_solve_upper(l, n, column);
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
            AT(scratch, i, j) = sy_dense_dot(&AT(s, i, 0), &AT(m, j, 0), n);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            AT(ret_product, i, j) = -sy_dense_dot(&AT(scratch, i, 0), &AT(s, j, 0), n);
        }
    }
}
