/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner loops of band.c, written once for every width of vectors; band.c includes it per level
 * with these macros set:
 *   NAME(x) TARGET LANES VECTOR                names, function attribute, floats of a vector
 *   SET LOAD STORE LOAD_SOME STORE_SOME        _SOME: only the first n lanes, others are 0
 *   ADD SUBTRACT MULTIPLY FMA LARGEST          element by element; FMA(a, b, c) = a * b + c
 *   ROUND POWER_OF_2                           to the nearest integer; 2^n of integers n
 *   ABOVE(x, limit, v)                         v where x >= limit, else 0
 * It undefines them. Tiles are ATTN_ROWS x ATTN_KEYS.
 */

/* tile[r][k] = scale * q[r] . key k, for k in [from, to) widened to whole vectors. keys: [width]
 * [ATTN_KEYS]. */
TARGET static void NAME(scores)(const float *const *q, const float *keys, uint32_t width,
                                uint32_t from, uint32_t to, float scale, float *tile) {
    for (uint32_t k = from / LANES * LANES; k < to; k += LANES) {
        VECTOR s0 = SET(0), s1 = SET(0), s2 = SET(0), s3 = SET(0);
        VECTOR s4 = SET(0), s5 = SET(0), s6 = SET(0), s7 = SET(0);
        for (uint32_t c = 0; c < width; c++) {
            VECTOR key = LOAD(keys + c * ATTN_KEYS + k);
            s0 = FMA(SET(q[0][c]), key, s0);
            s1 = FMA(SET(q[1][c]), key, s1);
            s2 = FMA(SET(q[2][c]), key, s2);
            s3 = FMA(SET(q[3][c]), key, s3);
            s4 = FMA(SET(q[4][c]), key, s4);
            s5 = FMA(SET(q[5][c]), key, s5);
            s6 = FMA(SET(q[6][c]), key, s6);
            s7 = FMA(SET(q[7][c]), key, s7);
        }
        VECTOR factor = SET(scale);
        STORE(tile + 0 * ATTN_KEYS + k, MULTIPLY(s0, factor));
        STORE(tile + 1 * ATTN_KEYS + k, MULTIPLY(s1, factor));
        STORE(tile + 2 * ATTN_KEYS + k, MULTIPLY(s2, factor));
        STORE(tile + 3 * ATTN_KEYS + k, MULTIPLY(s3, factor));
        STORE(tile + 4 * ATTN_KEYS + k, MULTIPLY(s4, factor));
        STORE(tile + 5 * ATTN_KEYS + k, MULTIPLY(s5, factor));
        STORE(tile + 6 * ATTN_KEYS + k, MULTIPLY(s6, factor));
        STORE(tile + 7 * ATTN_KEYS + k, MULTIPLY(s7, factor));
    }
}

/* Two vectors of columns of four rows: out[r] += sum over keys of tile[r][k] * values[k]. */
TARGET static void NAME(mix_4)(const float *tile, const float *values, uint32_t stride,
                               uint32_t from, uint32_t to, float *const *out, uint32_t c,
                               uint32_t width) {
    uint32_t low = width - c < LANES ? width - c : LANES;
    uint32_t high = width - c - low < LANES ? width - c - low : LANES;
    VECTOR a0 = LOAD_SOME(out[0] + c, low), b0 = LOAD_SOME(out[0] + c + low, high);
    VECTOR a1 = LOAD_SOME(out[1] + c, low), b1 = LOAD_SOME(out[1] + c + low, high);
    VECTOR a2 = LOAD_SOME(out[2] + c, low), b2 = LOAD_SOME(out[2] + c + low, high);
    VECTOR a3 = LOAD_SOME(out[3] + c, low), b3 = LOAD_SOME(out[3] + c + low, high);
    for (uint32_t k = from; k < to; k++) {
        VECTOR a = LOAD(values + k * stride + c), b = LOAD(values + k * stride + c + LANES);
        VECTOR p0 = SET(tile[0 * ATTN_KEYS + k]), p1 = SET(tile[1 * ATTN_KEYS + k]);
        VECTOR p2 = SET(tile[2 * ATTN_KEYS + k]), p3 = SET(tile[3 * ATTN_KEYS + k]);
        a0 = FMA(p0, a, a0);
        b0 = FMA(p0, b, b0);
        a1 = FMA(p1, a, a1);
        b1 = FMA(p1, b, b1);
        a2 = FMA(p2, a, a2);
        b2 = FMA(p2, b, b2);
        a3 = FMA(p3, a, a3);
        b3 = FMA(p3, b, b3);
    }
    STORE_SOME(out[0] + c, low, a0);
    STORE_SOME(out[0] + c + low, high, b0);
    STORE_SOME(out[1] + c, low, a1);
    STORE_SOME(out[1] + c + low, high, b1);
    STORE_SOME(out[2] + c, low, a2);
    STORE_SOME(out[2] + c + low, high, b2);
    STORE_SOME(out[3] + c, low, a3);
    STORE_SOME(out[3] + c + low, high, b3);
}

/* values: [ATTN_KEYS][stride], stride a multiple of twice the widest vector. */
TARGET static void NAME(mix)(const float *tile, const float *values, uint32_t stride,
                             uint32_t width, uint32_t from, uint32_t to, float *const *out) {
    for (uint32_t r = 0; r < ATTN_ROWS; r += 4) {
        for (uint32_t c = 0; c < width; c += 2 * LANES) {
            NAME(mix_4)(tile + r * ATTN_KEYS, values, stride, from, to, out + r, c, width);
        }
    }
}

/* e^x to about 1e-7, for x <= 0; 0 where it is no normal number. */
TARGET static inline VECTOR NAME(power)(VECTOR x) {
    VECTOR limited = LARGEST(x, SET(-87.0f));
    VECTOR n = ROUND(MULTIPLY(limited, SET(1.44269504f)));
    VECTOR rest = FMA(n, SET(-0.693359375f), limited);
    rest = FMA(n, SET(2.12194440e-4f), rest);
    VECTOR sum = FMA(SET(1.9875691500e-4f), rest, SET(1.3981999507e-3f));
    sum = FMA(sum, rest, SET(8.3334519073e-3f));
    sum = FMA(sum, rest, SET(4.1665795894e-2f));
    sum = FMA(sum, rest, SET(1.6666665459e-1f));
    sum = FMA(sum, rest, SET(5.0000001201e-1f));
    sum = FMA(sum, MULTIPLY(rest, rest), ADD(rest, SET(1)));
    return ABOVE(x, SET(-87.0f), MULTIPLY(sum, POWER_OF_2(n)));
}

/* The largest of count values. */
TARGET static float NAME(largest)(const float *x, uint32_t count) {
    float lanes[LANES], most = x[0];
    uint32_t at = 0;
    if (count >= LANES) {
        VECTOR m = LOAD(x);
        for (at = LANES; at + LANES <= count; at += LANES) {
            m = LARGEST(m, LOAD(x + at));
        }
        STORE(lanes, m);
        for (uint32_t i = 0; i < LANES; i++) {
            most = lanes[i] > most ? lanes[i] : most;
        }
    }
    for (; at < count; at++) {
        most = x[at] > most ? x[at] : most;
    }
    return most;
}

/* out = e^(x - shift); the sum of it is returned. In place is fine. */
TARGET static float NAME(powers)(const float *x, uint32_t count, float shift, float *out) {
    VECTOR sums = SET(0), less = SET(shift);
    float lanes[LANES], total = 0;
    uint32_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        VECTOR p = NAME(power)(SUBTRACT(LOAD(x + at), less));
        STORE(out + at, p);
        sums = ADD(sums, p);
    }
    STORE(lanes, sums);
    for (uint32_t i = 0; i < LANES; i++) {
        total += lanes[i];
    }
    if (at < count) {
        STORE(lanes, NAME(power)(SUBTRACT(LOAD_SOME(x + at, count - at), less)));
        for (uint32_t i = 0; at < count; at++, i++) {
            out[at] = lanes[i];
            total += lanes[i];
        }
    }
    return total;
}

TARGET static void NAME(multiply)(float *x, uint32_t count, float factor) {
    uint32_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        STORE(x + at, MULTIPLY(LOAD(x + at), SET(factor)));
    }
    for (; at < count; at++) {
        x[at] *= factor;
    }
}

static const struct attn_lanes NAME(lanes) = {NAME(scores), NAME(mix), NAME(largest), NAME(powers),
                                              NAME(multiply)};

#undef NAME
#undef TARGET
#undef LANES
#undef VECTOR
#undef SET
#undef LOAD
#undef STORE
#undef LOAD_SOME
#undef STORE_SOME
#undef ADD
#undef SUBTRACT
#undef MULTIPLY
#undef FMA
#undef LARGEST
#undef ROUND
#undef POWER_OF_2
#undef ABOVE
