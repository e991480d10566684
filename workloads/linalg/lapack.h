/* SPDX-License-Identifier: Apache-2.0
 *
 * The few LAPACK routines that are called here, as OpenBLAS exports them (Fortran's interface, so
 * that OpenBLAS is the only library needed; LAPACKE would bring the reference BLAS along).
 */
#ifndef LINALG_LAPACK_H
#define LINALG_LAPACK_H

#include <stddef.h>

/* The hidden last argument is the length of the string. */
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t length);
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *work_count, int *info);
void dtpqrt_(const int *m, const int *n, const int *l, const int *nb, double *a, const int *lda,
             double *b, const int *ldb, double *t, const int *ldt, double *work, int *info);

#endif
