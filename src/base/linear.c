/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix kernels, blocked so that the sums stay in registers. There is one copy per vector width;
 * none of them fuses or reorders operations.
 */
#include "base/linear.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
/* name(...) runs the widest copy of name_body that the processor has. Not by target_clones: its
 * symbols are seen from outside the library. */
#ifdef __x86_64__
#define AVX2   __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx2,avx512f,avx512vl,avx512dq")))
#define DISPATCH(type, name, parameters, arguments)                                                \
    AVX512 static type name##_avx512 parameters {                                                  \
        return name##_body arguments;                                                              \
    }                                                                                              \
    AVX2 static type name##_avx2 parameters {                                                      \
        return name##_body arguments;                                                              \
    }                                                                                              \
    type name parameters {                                                                         \
        if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {            \
            return name##_avx512 arguments;                                                        \
        }                                                                                          \
        return __builtin_cpu_supports("avx2") ? name##_avx2 arguments : name##_body arguments;     \
    }
#else
#define DISPATCH(type, name, parameters, arguments)                                                \
    type name parameters {                                                                         \
        return name##_body arguments;                                                              \
    }
#endif
#define PARTS 8u /* of a sum */
#define BLOCK 8u /* rows that the Cholesky factor takes at a time */

INLINE void sy_axpy_body(double *restrict y, const double *restrict x, double scale,
                         uint32_t length) {
    for (uint32_t i = 0; i < length; i++) {
        y[i] += scale * x[i];
    }
}
DISPATCH(void, sy_axpy,
         (double *restrict y, const double *restrict x, double scale, uint32_t length),
         (y, x, scale, length))

INLINE void sy_axpy_narrow_body(float *restrict y, const float *restrict x, float scale,
                                uint32_t length) {
    for (uint32_t i = 0; i < length; i++) {
        y[i] += scale * x[i];
    }
}
DISPATCH(void, sy_axpy_narrow,
         (float *restrict y, const float *restrict x, float scale, uint32_t length),
         (y, x, scale, length))

INLINE void sy_look_ahead_body(double *restrict out, float *restrict narrow, const double *p,
                               const double *q, const double *keeps, double keep, double steps,
                               float *restrict squares, uint32_t length) {
    for (uint32_t i = 0; i < length; i++) {
        double sum = keep * keeps[i] * p[i] + steps * q[i];
        float less = (float)sum;
        out[i] = sum;
        narrow[i] = less;
        squares[i] += less * less;
    }
}
DISPATCH(void, sy_look_ahead,
         (double *restrict out, float *restrict narrow, const double *p, const double *q,
          const double *keeps, double keep, double steps, float *restrict squares, uint32_t length),
         (out, narrow, p, q, keeps, keep, steps, squares, length))

INLINE float sy_dot_narrow_body(const float *x, const float *y, uint32_t length) {
    float sum[PARTS] = {0};
    for (uint32_t i = 0; i < length; i += PARTS) {
        for (uint32_t l = 0; l < PARTS; l++) {
            sum[l] += x[i + l] * y[i + l];
        }
    }
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}
DISPATCH(float, sy_dot_narrow, (const float *x, const float *y, uint32_t length), (x, y, length))

INLINE void sy_sum_rows_narrow_body(float *restrict out, const float *matrix, uint32_t stride,
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
DISPATCH(void, sy_sum_rows_narrow,
         (float *restrict out, const float *matrix, uint32_t stride, uint32_t n,
          const float *scales),
         (out, matrix, stride, n, scales))

INLINE double sy_dot_body(const double *x, const double *y, uint32_t length) {
    double sum[PARTS] = {0}, rest = 0;
    uint32_t i = 0;
    for (; i + PARTS <= length; i += PARTS) {
        for (uint32_t l = 0; l < PARTS; l++) {
            sum[l] += x[i + l] * y[i + l];
        }
    }
    for (; i < length; i++) {
        rest += x[i] * y[i];
    }
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7])) + rest;
}
DISPATCH(double, sy_dot, (const double *x, const double *y, uint32_t length), (x, y, length))

INLINE void add_rows(double *restrict out, const double *const from[4], const double scales[4],
                     uint32_t stride) {
    for (uint32_t i = 0; i < stride; i++) {
        out[i] += scales[0] * from[0][i] + scales[1] * from[1][i] +
                  (scales[2] * from[2][i] + scales[3] * from[3][i]);
    }
}

INLINE void sy_combine_body(double *restrict out, const double *matrix, uint32_t stride,
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
DISPATCH(void, sy_combine,
         (double *restrict out, const double *matrix, uint32_t stride, const uint32_t *rows,
          const double *scales, uint32_t count),
         (out, matrix, stride, rows, scales, count))

INLINE void sy_sum_rows_body(double *restrict out, const double *matrix, uint32_t stride,
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
DISPATCH(void, sy_sum_rows,
         (double *restrict out, const double *matrix, uint32_t stride, uint32_t n,
          const double *scales),
         (out, matrix, stride, n, scales))

INLINE void sy_nudge_body(double *p, uint32_t stride, uint32_t n, const double *a, const double *b,
                          double keep, double scale) {
    for (uint32_t i = 0; i < n; i++) {
        double *restrict row = p + (size_t)i * stride;
        double plus = scale * a[i], minus = scale * b[i];
        for (uint32_t j = 0; j < stride; j++) {
            row[j] = keep * row[j] + (plus * a[j] - minus * b[j]);
        }
    }
}
DISPATCH(void, sy_nudge,
         (double *p, uint32_t stride, uint32_t n, const double *a, const double *b, double keep,
          double scale),
         (p, stride, n, a, b, keep, scale))

/* below -= sum of rows[r][i] * rows[r], from column `from` on, for eight rows. */
INLINE void subtract_eight(double *restrict below, const double *rows, uint32_t stride, uint32_t i,
                           uint32_t from) {
    const double *r0 = rows, *r1 = r0 + stride, *r2 = r1 + stride, *r3 = r2 + stride;
    const double *r4 = r3 + stride, *r5 = r4 + stride, *r6 = r5 + stride, *r7 = r6 + stride;
    double f0 = r0[i], f1 = r1[i], f2 = r2[i], f3 = r3[i];
    double f4 = r4[i], f5 = r5[i], f6 = r6[i], f7 = r7[i];
    for (uint32_t j = from; j < stride; j++) {
        below[j] -= ((f0 * r0[j] + f1 * r1[j]) + (f2 * r2[j] + f3 * r3[j])) +
                    ((f4 * r4[j] + f5 * r5[j]) + (f6 * r6[j] + f7 * r7[j]));
    }
}

INLINE bool sy_cholesky_body(double *a, uint32_t stride, uint32_t m, const double *floors) {
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
DISPATCH(bool, sy_cholesky, (double *a, uint32_t stride, uint32_t m, const double *floors),
         (a, stride, m, floors))

/* The columns [c, c + width): width is a constant wherever this is inlined. */
INLINE void solve_panel(const double *u, uint32_t u_stride, uint32_t m, double *restrict w,
                        uint32_t stride, uint32_t c, uint32_t width) {
    for (uint32_t i = 0; i < m; i++) {
        double sum[2 * SY_LANES], *to = w + (size_t)i * stride + c;
        for (uint32_t l = 0; l < width; l++) {
            sum[l] = to[l];
        }
        for (uint32_t k = 0; k < i; k++) {
            const double *from = w + (size_t)k * stride + c;
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

INLINE void sy_solve_lower_body(const double *u, uint32_t u_stride, uint32_t m, double *w,
                                uint32_t stride) {
    uint32_t c = 0;
    for (; c + 2 * SY_LANES <= stride; c += 2 * SY_LANES) {
        solve_panel(u, u_stride, m, w, stride, c, 2 * SY_LANES);
    }
    for (; c < stride; c += SY_LANES) {
        solve_panel(u, u_stride, m, w, stride, c, SY_LANES);
    }
}
DISPATCH(void, sy_solve_lower,
         (const double *u, uint32_t u_stride, uint32_t m, double *w, uint32_t stride),
         (u, u_stride, m, w, stride))

INLINE void sy_solve_forward_body(const double *u, uint32_t u_stride, uint32_t m,
                                  double *restrict z) {
    for (uint32_t i = 0; i < m; i++) {
        const double *row = u + (size_t)i * u_stride;
        z[i] /= row[i];
        for (uint32_t k = i + 1; k < m; k++) {
            z[k] -= z[i] * row[k];
        }
    }
}
DISPATCH(void, sy_solve_forward,
         (const double *u, uint32_t u_stride, uint32_t m, double *restrict z), (u, u_stride, m, z))

void sy_solve_backward(const double *u, uint32_t u_stride, uint32_t m, double *z) {
    for (uint32_t i = m; i-- > 0;) {
        const double *row = u + (size_t)i * u_stride;
        z[i] = (z[i] - sy_dot(row + i + 1, z + i + 1, m - i - 1)) / row[i];
    }
}

/* p -= w'w for the 4 rows at i and the columns from `from` on. */
INLINE void four_rows(double *restrict p, uint32_t stride, const float *w, uint32_t m, uint32_t i,
                      uint32_t from) {
    for (uint32_t j = from; j < stride; j += SY_LANES) {
        float s0[SY_LANES] = {0}, s1[SY_LANES] = {0}, s2[SY_LANES] = {0}, s3[SY_LANES] = {0};
        for (uint32_t k = 0; k < m; k++) {
            const float *left = w + (size_t)k * stride + i;
            const float *right = w + (size_t)k * stride + j;
            for (uint32_t l = 0; l < SY_LANES; l++) {
                s0[l] += left[0] * right[l];
                s1[l] += left[1] * right[l];
                s2[l] += left[2] * right[l];
                s3[l] += left[3] * right[l];
            }
        }
        double *to = p + (size_t)i * stride + j;
        for (uint32_t l = 0; l < SY_LANES; l++) {
            to[l] -= (double)s0[l];
            to[stride + l] -= (double)s1[l];
            to[2 * stride + l] -= (double)s2[l];
            to[3 * stride + l] -= (double)s3[l];
        }
    }
}

INLINE void sy_downdate_body(double *p, uint32_t stride, const double *w, uint32_t m,
                             float *narrow) {
    for (uint32_t i = 0; i < m * stride; i++) {
        narrow[i] = (float)w[i];
    }
    for (uint32_t i = 0; i < stride; i += 4) {
        four_rows(p, stride, narrow, m, i, i / SY_LANES * SY_LANES);
    }
    for (uint32_t i = 0; i < stride; i += 4) {
        for (uint32_t b = i; b < stride; b++) {
            const double *from = p + (size_t)i * stride + b;
            double *to = p + (size_t)b * stride + i;
            for (uint32_t l = 0; l < 4; l++) {
                to[l] = from[(size_t)l * stride];
            }
        }
    }
}
DISPATCH(void, sy_downdate,
         (double *p, uint32_t stride, const double *w, uint32_t m, float *narrow),
         (p, stride, w, m, narrow))
