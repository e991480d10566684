/* SPDX-License-Identifier: Apache-2.0
 *
 * eight: floats, eight at a time.
 *
 * In: vectors, by pointer, as without AVX they cannot be handed over. Out: the same with sums,
 * logarithms and exponentials, for functions that dispatch.h makes in several widths. Invariant:
 * the basic operations and roots alone, in one order, so that all machines and widths
 * agree to the bit; libm's functions do not promise that, and take one number at a time.
 */
#ifndef SY_BASE_EIGHT_H
#define SY_BASE_EIGHT_H

#include "base/base.h"
#include "base/dispatch.h"
#include <math.h>

typedef float sy_eight __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t sy_eight_int __attribute__((vector_size(32), aligned(4), may_alias));

/* Of each two lanes, the larger; neither is NAN. */
SY_INLINE void sy_eight_most(sy_eight *a, const sy_eight *b) {
    sy_eight_int above = *b > *a;
    *a = (sy_eight)(((sy_eight_int)*b & above) | ((sy_eight_int)*a & ~above));
}

SY_INLINE void sy_eight_least(sy_eight *a, const sy_eight *b) {
    sy_eight_int below = *b < *a;
    *a = (sy_eight)(((sy_eight_int)*b & below) | ((sy_eight_int)*a & ~below));
}

/* Each lane: the largest of all. */
SY_INLINE void sy_eight_top(sy_eight *a) {
    sy_eight other = __builtin_shufflevector(*a, *a, 4, 5, 6, 7, 0, 1, 2, 3);
    sy_eight_most(a, &other);
    other = __builtin_shufflevector(*a, *a, 2, 3, 0, 1, 6, 7, 4, 5);
    sy_eight_most(a, &other);
    other = __builtin_shufflevector(*a, *a, 1, 0, 3, 2, 5, 4, 7, 6);
    sy_eight_most(a, &other);
}

SY_INLINE void sy_eight_sqrt(sy_eight *a) {
    for (uint32_t i = 0; i < 8; i++) {
        (*a)[i] = sqrtf((*a)[i]);
    }
}

SY_INLINE float sy_eight_sum(const sy_eight *a) {
    sy_eight half = *a + __builtin_shufflevector(*a, *a, 4, 5, 6, 7, 0, 1, 2, 3);
    return (half[0] + half[2]) + (half[1] + half[3]);
}

/* Lane i: the sum of row i. */
SY_INLINE void sy_eight_sums(const sy_eight *rows, sy_eight *ret) {
    sy_eight two[4], four[2];
    for (uint32_t i = 0; i < 4; i++) {
        sy_eight a = rows[2 * i], b = rows[2 * i + 1];
        two[i] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) +
                 __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (uint32_t i = 0; i < 2; i++) {
        sy_eight a = two[2 * i], b = two[2 * i + 1];
        four[i] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13) +
                  __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
    *ret = __builtin_shufflevector(four[0], four[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(four[0], four[1], 4, 5, 6, 7, 12, 13, 14, 15);
}

/* exp(x) to 3e-7 of itself, for x from -87 to 0; below, as at -87. */
SY_INLINE void sy_eight_exp(sy_eight *x) {
    const float round = 0x1.8p23f; /* adding it leaves a whole number in the last bits */
    sy_eight from = (sy_eight){0} - 87;
    sy_eight_most(&from, x);
    sy_eight shifted = from * 0x1.715476p+0f + round, whole = shifted - round;
    /* log(2) in two parts, so that what is left of x is exact */
    sy_eight rest = from - whole * 0x1.62ep-1f - whole * 0x1.0bfbe8p-15f;
    sy_eight p = rest * 0x1.6c16c2p-10f + 0x1.111112p-7f;
    p = p * rest + 0x1.555556p-5f;
    p = p * rest + 0x1.555556p-3f;
    p = p * rest + 0.5f;
    p = p * rest + 1;
    p = p * rest + 1;
    *x = (sy_eight)((sy_eight_int)p + ((sy_eight_int)shifted << 23));
}

/* log(x) to 2e-7, for normal numbers above 0. */
SY_INLINE void sy_eight_log(sy_eight *x) {
    const int32_t root_half = 0x3f3504f3; /* so that what is left of x lies around 1 */
    sy_eight_int bits = (sy_eight_int)*x, power = (bits - root_half) >> 23;
    sy_eight rest = (sy_eight)(bits - (power << 23)) - 1;
    sy_eight whole = __builtin_convertvector(power, sy_eight);
    sy_eight s = rest / (2 + rest), square = s * s; /* log(x) = log((1 + s) / (1 - s)) */
    sy_eight p = square * 0x1.c71c72p-4f + 0x1.24924ap-3f;
    p = p * square + 0x1.99999ap-3f;
    p = p * square + 0x1.555556p-2f;
    *x = whole * 0x1.62ep-1f + (whole * 0x1.0bfbe8p-15f + 2 * (s + s * square * p));
}

#endif
