/* SPDX-License-Identifier: Apache-2.0
 *
 * Inner loops in plain C; see struct gnn_lanes.
 */
#include "gnn/activate.h"

static void gather(const float *x, uint32_t width, const uint32_t *columns, const float *values,
                   uint32_t count, const uint32_t *limit, float *restrict y) {
    (void)limit;
    memset(y, 0, width * sizeof(*y));
    for (uint32_t e = 0; e < count; e++) {
        const float *restrict row = x + (size_t)columns[e] * width;
        float value = values[e];
        for (uint32_t j = 0; j < width; j++) {
            y[j] += value * row[j];
        }
    }
}

static void dots(const float *q, const float *k, uint32_t width, const uint32_t *columns,
                 uint32_t count, const uint32_t *limit, float scale, float *result) {
    (void)limit;
    for (uint32_t e = 0; e < count; e++) {
        const float *row = k + (size_t)columns[e] * width;
        float sums[4] = {0, 0, 0, 0};
        uint32_t j = 0;
        for (; j + 4 <= width; j += 4) {
            for (uint32_t l = 0; l < 4; l++) {
                sums[l] += q[j + l] * row[j + l];
            }
        }
        for (; j < width; j++) {
            sums[0] += q[j] * row[j];
        }
        result[e] = scale * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
}

static void activate(float *values, size_t count, enum gnn_activation activation) {
    gnn_activate(values, count, activation);
}

const struct gnn_lanes gnn_lanes_plain = {gather, dots, activate};
