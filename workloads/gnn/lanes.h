/* SPDX-License-Identifier: Apache-2.0
 *
 * Inner loops for a level that has defined VECTOR, LANES, MASK and the operations on them; included
 * once by each (lanes_avx2.c, lanes_avx512.c).
 *
 * gather keeps up to 8 vectors of the result in registers, goes through the row's edges and then
 * takes the next 8 vectors. The rows of x that are needed AHEAD edges later are asked for
 * meanwhile, also across the end of the row: columns of the next one follow.
 */
enum { AHEAD = 6, LINE = 16 /* floats of a cache line */ };

static inline __attribute__((always_inline)) void prefetch(const float *row, uint32_t count) {
    for (uint32_t j = 0; j < count; j += LINE) {
        __builtin_prefetch(row + j);
    }
}

/* `vectors` whole ones, the last of them only under the mask. */
#define GATHER(vectors)                                                                            \
    TARGET static void gather##vectors(const float *x, uint32_t width, const uint32_t *columns,    \
                                       const float *values, uint32_t count, const uint32_t *limit, \
                                       MASK mask, float *y) {                                      \
        VECTOR sums[vectors];                                                                      \
        UNROLL for (int v = 0; v < vectors; v++) {                                                 \
            sums[v] = ZERO();                                                                      \
        }                                                                                          \
        for (uint32_t e = 0; e < count; e++) {                                                     \
            const float *row = x + (size_t)columns[e] * width;                                     \
            VECTOR value = SET(values[e]);                                                         \
            if (columns + e + AHEAD < limit) {                                                     \
                prefetch(x + (size_t)columns[e + AHEAD] * width, vectors * LANES);                 \
            }                                                                                      \
            UNROLL for (int v = 0; v < vectors - 1; v++) {                                         \
                sums[v] = FMA(value, LOAD(row + v * LANES), sums[v]);                              \
            }                                                                                      \
            sums[vectors - 1] =                                                                    \
                FMA(value, LOAD_SOME(mask, row + (vectors - 1) * LANES), sums[vectors - 1]);       \
        }                                                                                          \
        UNROLL for (int v = 0; v < vectors - 1; v++) {                                             \
            STORE(y + v * LANES, sums[v]);                                                         \
        }                                                                                          \
        STORE_SOME(y + (vectors - 1) * LANES, mask, sums[vectors - 1]);                            \
    }

GATHER(1)
GATHER(2)
GATHER(3)
GATHER(4)
GATHER(5)
GATHER(6)
GATHER(7)
GATHER(8)

TARGET static void gather(const float *x, uint32_t width, const uint32_t *columns,
                          const float *values, uint32_t count, const uint32_t *limit, float *y) {
    typedef void (*piece)(const float *, uint32_t, const uint32_t *, const float *, uint32_t,
                          const uint32_t *, MASK, float *);
    static const piece pieces[8] = {gather1, gather2, gather3, gather4,
                                    gather5, gather6, gather7, gather8};
    for (uint32_t at = 0; at < width; at += 8 * LANES) {
        uint32_t left = width - at < 8 * LANES ? width - at : 8 * LANES;
        uint32_t vectors = (left + LANES - 1) / LANES;
        pieces[vectors - 1](x + at, width, columns, values, count, limit,
                            MASK_OF(left - (vectors - 1) * LANES), y + at);
    }
}

TARGET static void dots(const float *q, const float *k, uint32_t width, const uint32_t *columns,
                        uint32_t count, const uint32_t *limit, float scale, float *result) {
    uint32_t whole = width / (2 * LANES) * (2 * LANES), rest = width - whole;
    MASK first = MASK_OF(rest < LANES ? rest : LANES);
    MASK second = MASK_OF(rest < LANES ? 0 : rest - LANES);
    for (uint32_t e = 0; e < count; e++) {
        const float *row = k + (size_t)columns[e] * width;
        VECTOR a = ZERO(), b = ZERO();
        if (columns + e + AHEAD < limit) {
            prefetch(k + (size_t)columns[e + AHEAD] * width, width);
        }
        for (uint32_t j = 0; j < whole; j += 2 * LANES) {
            a = FMA(LOAD(q + j), LOAD(row + j), a);
            b = FMA(LOAD(q + j + LANES), LOAD(row + j + LANES), b);
        }
        a = FMA(LOAD_SOME(first, q + whole), LOAD_SOME(first, row + whole), a);
        b = FMA(LOAD_SOME(second, q + whole + LANES), LOAD_SOME(second, row + whole + LANES), b);
        result[e] = scale * SUM(ADD(a, b));
    }
}

TARGET static void activate(float *values, size_t count, enum gnn_activation activation) {
    gnn_activate(values, count, activation);
}
