/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of matrix.c, which includes them once per vector width: LANES floats in a vector,
 * TARGET the attribute of functions that may use them, NAME(x) what x is called for this width.
 *
 * Four rows share each load of b; one row alone takes four vectors at a time: the processor always
 * has independent sums to work on, and all of them fit its registers. Each sum runs in the order of
 * its terms, so that all widths give the same bits.
 */

/* No alignment is asked for: layers lie in the block one behind the other. */
typedef float NAME(lanes)
    __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));
typedef int32_t NAME(words)
    __attribute__((vector_size(LANES * sizeof(int32_t)), aligned(4), may_alias));
#define lanes NAME(lanes)
#define words NAME(words)

/* Columns j to j + 2 * LANES of four rows. */
TARGET static inline void NAME(four_wide)(struct sy_matrix a, const float *b, uint32_t depth,
                                          size_t columns, float *c) {
    const float *a0 = a.at, *a1 = a0 + a.row_step, *a2 = a1 + a.row_step, *a3 = a2 + a.row_step;
    lanes *c0 = (lanes *)c, *c1 = (lanes *)(c + columns);
    lanes *c2 = (lanes *)(c + 2 * columns), *c3 = (lanes *)(c + 3 * columns);
    lanes s00 = c0[0], s01 = c0[1], s10 = c1[0], s11 = c1[1];
    lanes s20 = c2[0], s21 = c2[1], s30 = c3[0], s31 = c3[1];
    for (uint32_t k = 0; k < depth; k++) {
        const lanes *w = (const lanes *)(b + k * columns);
        size_t at = k * a.column_step;
        s00 += a0[at] * w[0];
        s01 += a0[at] * w[1];
        s10 += a1[at] * w[0];
        s11 += a1[at] * w[1];
        s20 += a2[at] * w[0];
        s21 += a2[at] * w[1];
        s30 += a3[at] * w[0];
        s31 += a3[at] * w[1];
    }
    c0[0] = s00, c0[1] = s01;
    c1[0] = s10, c1[1] = s11;
    c2[0] = s20, c2[1] = s21;
    c3[0] = s30, c3[1] = s31;
}

TARGET static inline void NAME(four_narrow)(struct sy_matrix a, const float *b, uint32_t depth,
                                            size_t columns, float *c) {
    const float *a0 = a.at, *a1 = a0 + a.row_step, *a2 = a1 + a.row_step, *a3 = a2 + a.row_step;
    lanes *c0 = (lanes *)c, *c1 = (lanes *)(c + columns);
    lanes *c2 = (lanes *)(c + 2 * columns), *c3 = (lanes *)(c + 3 * columns);
    lanes s0 = *c0, s1 = *c1, s2 = *c2, s3 = *c3;
    for (uint32_t k = 0; k < depth; k++) {
        lanes w = *(const lanes *)(b + k * columns);
        size_t at = k * a.column_step;
        s0 += a0[at] * w;
        s1 += a1[at] * w;
        s2 += a2[at] * w;
        s3 += a3[at] * w;
    }
    *c0 = s0;
    *c1 = s1;
    *c2 = s2;
    *c3 = s3;
}

TARGET static inline void NAME(four_single)(struct sy_matrix a, const float *b, uint32_t depth,
                                            size_t columns, float *c) {
    const float *a0 = a.at, *a1 = a0 + a.row_step, *a2 = a1 + a.row_step, *a3 = a2 + a.row_step;
    float s0 = c[0], s1 = c[columns], s2 = c[2 * columns], s3 = c[3 * columns];
    for (uint32_t k = 0; k < depth; k++) {
        float w = b[k * columns];
        size_t at = k * a.column_step;
        s0 += a0[at] * w;
        s1 += a1[at] * w;
        s2 += a2[at] * w;
        s3 += a3[at] * w;
    }
    c[0] = s0;
    c[columns] = s1;
    c[2 * columns] = s2;
    c[3 * columns] = s3;
}

TARGET static inline void NAME(four_rows)(struct sy_matrix a, const float *b, uint32_t depth,
                                          uint32_t columns, float *c) {
    uint32_t j = 0;
    for (; j + 2 * LANES <= columns; j += 2 * LANES) {
        NAME(four_wide)(a, b + j, depth, columns, c + j);
    }
    for (; j + LANES <= columns; j += LANES) {
        NAME(four_narrow)(a, b + j, depth, columns, c + j);
    }
    for (; j < columns; j++) {
        NAME(four_single)(a, b + j, depth, columns, c + j);
    }
}

TARGET static inline void NAME(one_row)(struct sy_matrix a, const float *b, uint32_t depth,
                                        size_t columns, float *c) {
    size_t j = 0;
    for (; j + 4 * LANES <= columns; j += 4 * LANES) {
        lanes *to = (lanes *)(c + j);
        lanes s0 = to[0], s1 = to[1], s2 = to[2], s3 = to[3];
        for (uint32_t k = 0; k < depth; k++) {
            const lanes *w = (const lanes *)(b + k * columns + j);
            float x = a.at[k * a.column_step];
            s0 += x * w[0];
            s1 += x * w[1];
            s2 += x * w[2];
            s3 += x * w[3];
        }
        to[0] = s0;
        to[1] = s1;
        to[2] = s2;
        to[3] = s3;
    }
    for (; j + LANES <= columns; j += LANES) {
        lanes sum = *(lanes *)(c + j);
        for (uint32_t k = 0; k < depth; k++) {
            sum += a.at[k * a.column_step] * *(const lanes *)(b + k * columns + j);
        }
        *(lanes *)(c + j) = sum;
    }
    for (; j < columns; j++) {
        float sum = c[j];
        for (uint32_t k = 0; k < depth; k++) {
            sum += a.at[k * a.column_step] * b[k * columns + j];
        }
        c[j] = sum;
    }
}

TARGET static void NAME(add)(struct sy_matrix a, const float *b, uint32_t rows, uint32_t depth,
                             uint32_t columns, float *c) {
    uint32_t r = 0;
    for (; depth && r + 4 <= rows; r += 4) {
        NAME(four_rows)(a, b, depth, columns, c + (size_t)r * columns);
        a.at += 4 * a.row_step;
    }
    for (; depth && r < rows; r++) {
        NAME(one_row)(a, b, depth, columns, c + (size_t)r * columns);
        a.at += a.row_step;
    }
}

/* Products of eight terms each, added to eight sums: term k goes to sum k % 8. */
TARGET static inline quad NAME(eights)(const float *x, const float *y, uint32_t eights) {
#if LANES == 8
    lanes sums = {0};
    for (uint32_t k = 0; k < eights; k++) {
        sums += ((const lanes *)x)[k] * ((const lanes *)y)[k];
    }
    return __builtin_shufflevector(sums, sums, 0, 1, 2, 3) +
           __builtin_shufflevector(sums, sums, 4, 5, 6, 7);
#else
    lanes low = {0}, high = {0};
    for (uint32_t k = 0; k < eights; k++) {
        low += ((const lanes *)x)[2 * k] * ((const lanes *)y)[2 * k];
        high += ((const lanes *)x)[2 * k + 1] * ((const lanes *)y)[2 * k + 1];
    }
    return low + high;
#endif
}

TARGET static inline float NAME(dot)(const float *x, const float *y, uint32_t count) {
    quad sums = NAME(eights)(x, y, count / 8);
    float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (uint32_t k = count & ~7u; k < count; k++) {
        sum += x[k] * y[k];
    }
    return sum;
}

/* Four dot products, with rows of y that are count apart; as dot gives them. */
TARGET static inline quad NAME(four_dots)(const float *x, const float *y, uint32_t count) {
    const size_t step = count;
    quad a = NAME(eights)(x, y, count / 8), b = NAME(eights)(x, y + step, count / 8);
    quad c = NAME(eights)(x, y + 2 * step, count / 8), d = NAME(eights)(x, y + 3 * step, count / 8);
    quad ab = __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
    quad cd = __builtin_shufflevector(c, d, 0, 4, 2, 6) + __builtin_shufflevector(c, d, 1, 5, 3, 7);
    quad sum =
        __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    for (uint32_t k = count & ~7u; k < count; k++) {
        sum += x[k] * (quad){y[k], y[step + k], y[2 * step + k], y[3 * step + k]};
    }
    return sum;
}

TARGET static void NAME(across)(const float *a, const float *b, uint32_t rows, uint32_t depth,
                                uint32_t columns, bool add, float *c) {
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t j = 0;
        for (; depth && j + 4 <= columns; j += 4) {
            quad *to = (quad *)(c + (size_t)r * columns + j), was = {0};
            quad sum = NAME(four_dots)(a + (size_t)r * depth, b + (size_t)j * depth, depth);
            if (add) {
                was = *to;
            }
            *to = was + sum;
        }
        for (; j < columns; j++) {
            float *to = c + (size_t)r * columns + j;
            float sum = depth ? NAME(dot)(a + (size_t)r * depth, b + (size_t)j * depth, depth) : 0;
            *to = add ? *to + sum : sum;
        }
    }
}

/* a where the mask is set, else b. */
TARGET static inline lanes NAME(pick)(words mask, lanes a, lanes b) {
    return (lanes)((mask & (words)a) | (~mask & (words)b));
}

TARGET static inline lanes NAME(clamp)(lanes x, float most) {
    const lanes zero = {0}, high = zero + most, low = zero - most;
    x = NAME(pick)(x > high, high, x);
    return NAME(pick)(x < low, low, x);
}

/* exp(x) = 2^n * exp(r), |r| <= ln 2 / 2; the polynomial and the split of ln 2 are Cephes' expf. */
TARGET static inline lanes NAME(exp_of)(lanes x) {
    const float magic = 12582912.0f; /* 1.5 * 2^23: what is added and taken off again is rounded */
    x = NAME(clamp)(x, EXP_MOST);
    lanes n = (x * 1.44269504f + magic) - magic;
    lanes r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    lanes p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    words power = (__builtin_convertvector(n, words) + 127) << 23;
    return p * (lanes)power;
}

/* Near 0 a polynomial (Cephes' tanhf), so that small numbers keep their digits. */
TARGET static inline lanes NAME(tanh_of)(lanes x) {
    lanes z = x * x, p = z * -5.70498872745e-3f + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    const lanes zero = {0}, limit = zero + 0.390625f;
    lanes far = 1.0f - 2.0f / (NAME(exp_of)(x + x) + 1.0f);
    return NAME(pick)(z < limit, p * z * x + x, far);
}

/* Never so small that what is multiplied by it loses its digits, which processors do slowly. */
TARGET static inline lanes NAME(sigmoid_of)(lanes x) {
    return 1.0f / (1.0f + NAME(exp_of)(-NAME(clamp)(x, SIGMOID_MOST)));
}

/* x where it is positive, below * x elsewhere; backward from what that gave. In place too, which is
 * why the compiler does not find these vectors by itself. */
TARGET static void NAME(rectify)(float *x, size_t count, float below) {
    const lanes zero = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        lanes v = *(lanes *)(x + i);
        *(lanes *)(x + i) = NAME(pick)(v > zero, v, below * v);
    }
    for (; i < count; i++) {
        x[i] = x[i] > 0 ? x[i] : below * x[i];
    }
}

TARGET static void NAME(rectify_back)(const float *y, const float *dy, size_t count, float below,
                                      float *dx) {
    const lanes zero = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        lanes d = *(const lanes *)(dy + i);
        *(lanes *)(dx + i) = NAME(pick)(*(const lanes *)(y + i) > zero, d, below * d);
    }
    for (; i < count; i++) {
        dx[i] = y[i] > 0 ? dy[i] : below * dy[i];
    }
}

/* Each function over a row, the last few in a vector of their own. */
#define OVER_ROWS(function)                                                                        \
    TARGET static void NAME(function)(float *x, size_t count) {                                    \
        size_t i = 0;                                                                              \
        for (; i + LANES <= count; i += LANES) {                                                   \
            *(lanes *)(x + i) = NAME(function##_of)(*(lanes *)(x + i));                            \
        }                                                                                          \
        if (i < count) {                                                                           \
            lanes rest = {0};                                                                      \
            memcpy(&rest, x + i, (count - i) * sizeof *x);                                         \
            rest = NAME(function##_of)(rest);                                                      \
            memcpy(x + i, &rest, (count - i) * sizeof *x);                                         \
        }                                                                                          \
    }
OVER_ROWS(exp)
OVER_ROWS(tanh)
OVER_ROWS(sigmoid)
#undef OVER_ROWS
#undef lanes
#undef words
