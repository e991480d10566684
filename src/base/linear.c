/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix kernels, blocked so that the sums stay in registers. There is one copy per vector width;
 * none of them fuses or reorders operations.
 */
#include "base/linear.h"
#include "base/dispatch.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

#define BLOCK 8u /* rows that the Cholesky factor takes at a time */

/* As many numbers as the widest registers hold; compilers split them where registers are narrower.
 * They lie anywhere in an array. */
typedef float floats __attribute__((vector_size(64), aligned(4), may_alias));
typedef float few_floats __attribute__((vector_size(32), aligned(4), may_alias));
typedef double doubles __attribute__((vector_size(64), aligned(8), may_alias));
typedef double few_doubles __attribute__((vector_size(32), aligned(8), may_alias));
_Static_assert(sizeof(floats) == SY_LANES * sizeof(float), "a row is whole vectors");
#define HALF (SY_LANES / 2) /* numbers in doubles and few_floats */

SY_INLINE void sy_axpy_body(double *restrict y, const double *restrict x, double scale,
                            uint32_t length) {
    for (uint32_t i = 0; i < length; i++) {
        y[i] += scale * x[i];
    }
}
SY_DISPATCH(void, sy_axpy,
            (double *restrict y, const double *restrict x, double scale, uint32_t length),
            (y, x, scale, length))

SY_INLINE void sy_subtract_rows_narrow_body(float *restrict y, const float *rows, uint32_t stride,
                                            uint32_t count, const float *scales) {
    for (uint32_t c = 0; c < stride; c += SY_LANES) {
        floats sum = *(const floats *)(y + c);
        for (uint32_t k = 0; k < count; k++) {
            sum -= scales[k] * *(const floats *)(rows + (size_t)k * stride + c);
        }
        *(floats *)(y + c) = sum;
    }
}
SY_DISPATCH(void, sy_subtract_rows_narrow,
            (float *restrict y, const float *rows, uint32_t stride, uint32_t count,
             const float *scales),
            (y, rows, stride, count, scales))

SY_INLINE void sy_look_ahead_body(const struct sy_ahead *to, const double *p, const double *q,
                                  const double *keeps, double steps, uint32_t stride, uint32_t n) {
    memset(to->squares, 0, stride * sizeof *to->squares);
    for (uint32_t i = 0; i < n; i += 4) {
        for (uint32_t c = 0; c < stride; c += HALF) {
            few_floats squares = *(few_floats *)(to->squares + c);
            doubles keep = *(const doubles *)(keeps + c);
            for (uint32_t r = i; r < i + 4; r++) { /* rows past n hold zeros */
                size_t at = (size_t)r * stride + c;
                doubles sum = keeps[r] * keep * *(const doubles *)(p + at) +
                              steps * *(const doubles *)(q + at);
                few_floats less = __builtin_convertvector(sum, few_floats);
                *(doubles *)(to->wide + at) = sum;
                *(few_floats *)(to->narrow + at) = less;
                squares += less * less;
            }
            *(few_floats *)(to->squares + c) = squares;
        }
    }
}
SY_DISPATCH(void, sy_look_ahead,
            (const struct sy_ahead *to, const double *p, const double *q, const double *keeps,
             double steps, uint32_t stride, uint32_t n),
            (to, p, q, keeps, steps, stride, n))

SY_INLINE float dot_narrow(const float *x, const float *y, uint32_t length) {
    few_floats sum = {0};
    for (uint32_t i = 0; i < length; i += HALF) {
        sum += *(const few_floats *)(x + i) * *(const few_floats *)(y + i);
    }
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

SY_INLINE void sy_dots_narrow_body(float *restrict out, const float *rows, uint32_t stride,
                                   uint32_t count, const float *x) {
    for (uint32_t k = 0; k < count; k++) {
        out[k] = dot_narrow(rows + (size_t)k * stride, x, stride);
    }
}
SY_DISPATCH(void, sy_dots_narrow,
            (float *restrict out, const float *rows, uint32_t stride, uint32_t count,
             const float *x),
            (out, rows, stride, count, x))

SY_INLINE void sy_sum_rows_narrow_body(float *restrict out, const float *matrix, uint32_t stride,
                                       uint32_t n, const float *scales) {
    memset(out, 0, stride * sizeof *out);
    for (uint32_t k = 0; k < n; k += 4) {
        /* Rows past n hold zeros: the matrix has stride of them. */
        const float *r0 = matrix + (size_t)k * stride, *r1 = r0 + stride, *r2 = r1 + stride;
        const float *r3 = r2 + stride;
        float s0 = scales[k], s1 = scales[k + 1], s2 = scales[k + 2], s3 = scales[k + 3];
        for (uint32_t i = 0; i < stride; i++) {
            out[i] += (s0 * r0[i] + s1 * r1[i]) + (s2 * r2[i] + s3 * r3[i]);
        }
    }
}
SY_DISPATCH(void, sy_sum_rows_narrow,
            (float *restrict out, const float *matrix, uint32_t stride, uint32_t n,
             const float *scales),
            (out, matrix, stride, n, scales))

SY_INLINE double sy_dot_body(const double *x, const double *y, uint32_t length) {
    doubles sum = {0};
    double rest = 0;
    uint32_t i = 0;
    for (; i + HALF <= length; i += HALF) {
        sum += *(const doubles *)(x + i) * *(const doubles *)(y + i);
    }
    for (; i < length; i++) {
        rest += x[i] * y[i];
    }
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7])) + rest;
}
SY_DISPATCH(double, sy_dot, (const double *x, const double *y, uint32_t length), (x, y, length))

SY_INLINE void add_rows(double *restrict out, const double *const from[4], const double scales[4],
                        uint32_t stride) {
    for (uint32_t i = 0; i < stride; i++) {
        out[i] += scales[0] * from[0][i] + scales[1] * from[1][i] +
                  (scales[2] * from[2][i] + scales[3] * from[3][i]);
    }
}

SY_INLINE void sy_combine_body(double *restrict out, const double *matrix, uint32_t stride,
                               const uint32_t *rows, const double *scales, uint32_t count) {
    if (count == 1) {
        const double *only = matrix + (size_t)rows[0] * stride;
        for (uint32_t i = 0; i < stride; i++) {
            out[i] = scales[0] * only[i];
        }
        return;
    }
    for (uint32_t i = 0; i < stride; i++) {
        out[i] = 0;
    }
    for (uint32_t k = 0; k < count; k += 4) {
        const double *from[4];
        double by[4];
        for (uint32_t r = 0; r < 4; r++) {
            uint32_t at = k + r < count ? k + r : k;
            from[r] = matrix + (size_t)rows[at] * stride;
            by[r] = k + r < count ? scales[at] : 0;
        }
        add_rows(out, from, by, stride);
    }
}
SY_DISPATCH(void, sy_combine,
            (double *restrict out, const double *matrix, uint32_t stride, const uint32_t *rows,
             const double *scales, uint32_t count),
            (out, matrix, stride, rows, scales, count))

SY_INLINE void sy_sum_rows_body(double *restrict out, const double *matrix, uint32_t stride,
                                uint32_t n, const double *scales) {
    for (uint32_t i = 0; i < stride; i++) {
        out[i] = 0;
    }
    for (uint32_t k = 0; k < n; k += 4) {
        const double *from[4];
        double by[4];
        for (uint32_t r = 0; r < 4; r++) {
            from[r] = matrix + (size_t)(k + r < n ? k + r : k) * stride;
            by[r] = k + r < n ? scales[k + r] : 0;
        }
        add_rows(out, from, by, stride);
    }
}
SY_DISPATCH(void, sy_sum_rows,
            (double *restrict out, const double *matrix, uint32_t stride, uint32_t n,
             const double *scales),
            (out, matrix, stride, n, scales))

SY_INLINE void sy_nudge_body(double *p, uint32_t stride, uint32_t n, const double *a,
                             const double *b, double keep, double scale) {
    for (uint32_t i = 0; i < n; i++) {
        double *restrict row = p + (size_t)i * stride;
        double plus = scale * a[i], minus = scale * b[i];
        for (uint32_t j = 0; j < stride; j++) {
            row[j] = keep * row[j] + (plus * a[j] - minus * b[j]);
        }
    }
}
SY_DISPATCH(void, sy_nudge,
            (double *p, uint32_t stride, uint32_t n, const double *a, const double *b, double keep,
             double scale),
            (p, stride, n, a, b, keep, scale))

/* below -= sum of rows[r][i] * rows[r], from column `from` on, for eight rows. */
SY_INLINE void subtract_eight(double *restrict below, const double *rows, uint32_t stride,
                              uint32_t i, uint32_t from) {
    const double *r0 = rows, *r1 = r0 + stride, *r2 = r1 + stride, *r3 = r2 + stride;
    const double *r4 = r3 + stride, *r5 = r4 + stride, *r6 = r5 + stride, *r7 = r6 + stride;
    double f0 = r0[i], f1 = r1[i], f2 = r2[i], f3 = r3[i];
    double f4 = r4[i], f5 = r5[i], f6 = r6[i], f7 = r7[i];
    for (uint32_t j = from; j < stride; j++) {
        below[j] -= ((f0 * r0[j] + f1 * r1[j]) + (f2 * r2[j] + f3 * r3[j])) +
                    ((f4 * r4[j] + f5 * r5[j]) + (f6 * r6[j] + f7 * r7[j]));
    }
}

SY_INLINE bool sy_cholesky_body(double *a, uint32_t stride, uint32_t m, const double *floors) {
    for (uint32_t first = 0; first < m; first += BLOCK) {
        uint32_t end = first + BLOCK < m ? first + BLOCK : m;
        for (uint32_t k = first; k < end; k++) {
            double *restrict row = a + (size_t)k * stride;
            if (floors) {
                row[k] = row[k] > floors[k] ? row[k] : floors[k];
            } else if (!(row[k] > 0 && row[k] < (double)INFINITY)) {
                return false;
            }
            double scale = 1 / sqrt(row[k]);
            for (uint32_t j = first; j < stride; j++) {
                row[j] *= scale;
            }
            for (uint32_t i = k + 1; i < end; i++) {
                double *restrict below = a + (size_t)i * stride;
                double factor = row[i];
                for (uint32_t j = first; j < stride; j++) {
                    below[j] -= factor * row[j];
                }
            }
        }
        for (uint32_t i = end; i < m; i++) {
            subtract_eight(a + (size_t)i * stride, a + (size_t)first * stride, stride, i,
                           i / BLOCK * BLOCK);
        }
    }
    return true;
}
SY_DISPATCH(bool, sy_cholesky, (double *a, uint32_t stride, uint32_t m, const double *floors),
            (a, stride, m, floors))

/* The columns [c, c + width * HALF): width is a constant wherever this is inlined. */
SY_INLINE void solve_panel(const double *u, uint32_t u_stride, uint32_t m, double *w,
                           uint32_t stride, uint32_t c, uint32_t width) {
    for (uint32_t i = 0; i < m; i++) {
        doubles sum[4], *to = (doubles *)(w + (size_t)i * stride + c);
        for (uint32_t l = 0; l < width; l++) {
            sum[l] = to[l];
        }
        for (uint32_t k = 0; k < i; k++) {
            const doubles *from = (const doubles *)(w + (size_t)k * stride + c);
            double factor = u[(size_t)k * u_stride + i];
            for (uint32_t l = 0; l < width; l++) {
                sum[l] -= factor * from[l];
            }
        }
        double scale = 1 / u[(size_t)i * u_stride + i];
        for (uint32_t l = 0; l < width; l++) {
            to[l] = sum[l] * scale;
        }
    }
}

SY_INLINE void sy_solve_lower_body(const double *u, uint32_t u_stride, uint32_t m, double *w,
                                   uint32_t stride) {
    uint32_t c = 0;
    for (; c + 4 * HALF <= stride; c += 4 * HALF) {
        solve_panel(u, u_stride, m, w, stride, c, 4);
    }
    for (; c < stride; c += 2 * HALF) {
        solve_panel(u, u_stride, m, w, stride, c, 2);
    }
}
SY_DISPATCH(void, sy_solve_lower,
            (const double *u, uint32_t u_stride, uint32_t m, double *w, uint32_t stride),
            (u, u_stride, m, w, stride))

SY_INLINE void sy_solve_forward_body(const double *u, uint32_t u_stride, uint32_t m,
                                     double *restrict z) {
    for (uint32_t i = 0; i < m; i++) {
        const double *row = u + (size_t)i * u_stride;
        z[i] /= row[i];
        for (uint32_t k = i + 1; k < m; k++) {
            z[k] -= z[i] * row[k];
        }
    }
}
SY_DISPATCH(void, sy_solve_forward,
            (const double *u, uint32_t u_stride, uint32_t m, double *restrict z),
            (u, u_stride, m, z))

/* A block at a time: a vector is not read soon after its numbers were written one by one. */
SY_INLINE void sy_solve_backward_body(const double *u, uint32_t u_stride, uint32_t m, double *z) {
    for (uint32_t end = m, first; end > 0; end = first) {
        first = (end - 1) / BLOCK * BLOCK;
        for (uint32_t i = first; i < end; i++) {
            z[i] -= sy_dot_body(u + (size_t)i * u_stride + end, z + end, m - end);
        }
        for (uint32_t i = end; i-- > first;) {
            const double *row = u + (size_t)i * u_stride;
            double sum = z[i];
            for (uint32_t k = end; --k > i;) {
                sum -= row[k] * z[k];
            }
            z[i] = sum / row[i];
        }
    }
}
SY_DISPATCH(void, sy_solve_backward, (const double *u, uint32_t u_stride, uint32_t m, double *z),
            (u, u_stride, m, z))

SY_INLINE void take_off(double *from, const floats *what) {
    few_floats low = __builtin_shufflevector(*what, *what, 0, 1, 2, 3, 4, 5, 6, 7);
    few_floats high = __builtin_shufflevector(*what, *what, 8, 9, 10, 11, 12, 13, 14, 15);
    *(doubles *)from -= __builtin_convertvector(low, doubles);
    *(doubles *)(from + HALF) -= __builtin_convertvector(high, doubles);
}

/* p -= w'w for the 4 rows at i and the columns from `from` on. */
SY_INLINE void four_rows(double *p, uint32_t stride, const float *w, uint32_t m, uint32_t i,
                         uint32_t from) {
    for (uint32_t j = from; j < stride; j += SY_LANES) {
        floats s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        for (uint32_t k = 0; k < m; k++) {
            const float *left = w + (size_t)k * stride + i;
            floats right = *(const floats *)(w + (size_t)k * stride + j);
            s0 += left[0] * right;
            s1 += left[1] * right;
            s2 += left[2] * right;
            s3 += left[3] * right;
        }
        double *to = p + (size_t)i * stride + j;
        take_off(to, &s0);
        take_off(to + stride, &s1);
        take_off(to + 2 * (size_t)stride, &s2);
        take_off(to + 3 * (size_t)stride, &s3);
    }
}

/* The four by four numbers at `to` become those at `from`, turned. */
SY_INLINE void mirror(double *to, const double *from, size_t stride) {
    few_doubles a = *(const few_doubles *)from, b = *(const few_doubles *)(from + stride);
    few_doubles c = *(const few_doubles *)(from + 2 * stride);
    few_doubles d = *(const few_doubles *)(from + 3 * stride);
    few_doubles ab_even = __builtin_shufflevector(a, b, 0, 4, 2, 6);
    few_doubles ab_odd = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    few_doubles cd_even = __builtin_shufflevector(c, d, 0, 4, 2, 6);
    few_doubles cd_odd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    *(few_doubles *)to = __builtin_shufflevector(ab_even, cd_even, 0, 1, 4, 5);
    *(few_doubles *)(to + stride) = __builtin_shufflevector(ab_odd, cd_odd, 0, 1, 4, 5);
    *(few_doubles *)(to + 2 * stride) = __builtin_shufflevector(ab_even, cd_even, 2, 3, 6, 7);
    *(few_doubles *)(to + 3 * stride) = __builtin_shufflevector(ab_odd, cd_odd, 2, 3, 6, 7);
}

SY_INLINE void sy_downdate_body(double *p, uint32_t stride, const double *w, uint32_t m,
                                float *narrow) {
    for (uint32_t i = 0; i < m * stride; i += HALF) {
        *(few_floats *)(narrow + i) =
            __builtin_convertvector(*(const doubles *)(w + i), few_floats);
    }
    for (uint32_t i = 0; i < stride; i += 4) {
        four_rows(p, stride, narrow, m, i, i / SY_LANES * SY_LANES);
        for (uint32_t b = 0; b < i; b += 4) {
            mirror(p + (size_t)i * stride + b, p + (size_t)b * stride + i, stride);
        }
        for (uint32_t r = i + 1; r < i + 4; r++) {
            for (uint32_t b = i; b < r; b++) {
                p[(size_t)b * stride + r] = p[(size_t)r * stride + b];
            }
        }
    }
}
SY_DISPATCH(void, sy_downdate,
            (double *p, uint32_t stride, const double *w, uint32_t m, float *narrow),
            (p, stride, w, m, narrow))
