/* SPDX-License-Identifier: Apache-2.0
 *
 * The filter's matrix kernels, blocked so that the sums stay in registers. The compiler makes one
 * copy per vector width and the loader picks; none of them fuses or reorders operations.
 */
#include "belief/linear.h"
#include <math.h>
#include <stddef.h>

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDEST __attribute__((target_clones("avx2", "default")))
#else
#define WIDEST
#endif
#define INLINE static inline __attribute__((always_inline))

WIDEST void sy_axpy(double *restrict y, const double *restrict x, double scale, uint32_t length) {
    for (uint32_t i = 0; i < length; i++) {
        y[i] += scale * x[i];
    }
}

WIDEST void sy_cholesky(double *a, uint32_t stride, uint32_t m, const double *floors) {
    for (uint32_t k = 0; k < m; k++) {
        double *restrict row = a + (size_t)k * stride;
        row[k] = row[k] > floors[k] ? row[k] : floors[k];
        double scale = 1 / sqrt(row[k]);
        for (uint32_t j = k; j < stride; j++) {
            row[j] *= scale;
        }
        for (uint32_t i = k + 1; i < m; i++) {
            double *restrict below = a + (size_t)i * stride;
            double factor = row[i];
            for (uint32_t j = i / SY_LANES * SY_LANES; j < stride; j++) {
                below[j] -= factor * row[j];
            }
        }
    }
}

/* The columns [c, c + width): width is a constant wherever this is inlined. */
INLINE void solve_panel(const double *u, uint32_t u_stride, uint32_t m, double *restrict w,
                        uint32_t stride, uint32_t c, uint32_t width) {
    for (uint32_t i = 0; i < m; i++) {
        double sum[4 * SY_LANES], *to = w + (size_t)i * stride + c;
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

WIDEST void sy_solve_lower(const double *u, uint32_t u_stride, uint32_t m, double *w,
                           uint32_t stride) {
    uint32_t c = 0;
    for (; c + 4 * SY_LANES <= stride; c += 4 * SY_LANES) {
        solve_panel(u, u_stride, m, w, stride, c, 4 * SY_LANES);
    }
    for (; c < stride; c += SY_LANES) {
        solve_panel(u, u_stride, m, w, stride, c, SY_LANES);
    }
}

void sy_solve_vector(const double *u, uint32_t u_stride, uint32_t m, double *z) {
    for (uint32_t i = 0; i < m; i++) {
        const double *row = u + (size_t)i * u_stride;
        z[i] /= row[i];
        for (uint32_t k = i + 1; k < m; k++) {
            z[k] -= row[k] * z[i];
        }
    }
    for (uint32_t i = m; i-- > 0;) {
        const double *row = u + (size_t)i * u_stride;
        double sum = z[i];
        for (uint32_t k = i + 1; k < m; k++) {
            sum -= row[k] * z[k];
        }
        z[i] = sum / row[i];
    }
}

/* p -= w'w for the 4 rows at i and the columns from `from` on. */
INLINE void four_rows(double *restrict p, uint32_t stride, const double *w, uint32_t m, uint32_t i,
                      uint32_t from) {
    for (uint32_t j = from; j < stride; j += SY_LANES) {
        double s0[SY_LANES] = {0}, s1[SY_LANES] = {0}, s2[SY_LANES] = {0}, s3[SY_LANES] = {0};
        for (uint32_t k = 0; k < m; k++) {
            const double *left = w + (size_t)k * stride + i;
            const double *right = w + (size_t)k * stride + j;
            for (uint32_t l = 0; l < SY_LANES; l++) {
                s0[l] += left[0] * right[l];
                s1[l] += left[1] * right[l];
                s2[l] += left[2] * right[l];
                s3[l] += left[3] * right[l];
            }
        }
        double *to = p + (size_t)i * stride + j;
        for (uint32_t l = 0; l < SY_LANES; l++) {
            to[l] -= s0[l];
            to[stride + l] -= s1[l];
            to[2 * stride + l] -= s2[l];
            to[3 * stride + l] -= s3[l];
        }
    }
}

WIDEST void sy_downdate(double *p, uint32_t stride, const double *w, uint32_t m) {
    for (uint32_t i = 0; i < stride; i += 4) {
        four_rows(p, stride, w, m, i, i / SY_LANES * SY_LANES);
    }
    for (uint32_t i = 0; i < stride; i += SY_LANES) {
        for (uint32_t j = i; j < stride; j += SY_LANES) {
            for (uint32_t a = i; a < i + SY_LANES; a++) {
                for (uint32_t b = j; b < j + SY_LANES; b++) {
                    p[(size_t)b * stride + a] = p[(size_t)a * stride + b];
                }
            }
        }
    }
}
