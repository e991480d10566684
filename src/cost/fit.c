/* SPDX-License-Identifier: Apache-2.0
 *
 * Robust location and spread: Student-t with 4 degrees of freedom, fitted to logarithms by EM.
 *
 * In: logarithms. Out: their middle and spread. Invariant: a sample far away loses its weight with
 * the square of its distance.
 */
#include "cost/store.h"
#include <math.h>

#define DEGREES       4.0
#define ITERATION_MAX 200
#define TOLERANCE     1e-9
#define SCALE_FLOOR   1e-9 /* of a logarithm: below it samples count as equal */
/* The t(4) scale fitted to normal data of spread 1 is 0.8310: root of E[5 z^2 / (4 s^2 + z^2)] = 1
 * over z ~ N(0,1). Its inverse turns the fitted scale into sigma. */
#define SIGMA_PER_SCALE 1.2033643751

/* Median and a first scale from the median deviation; work holds count values. */
static void start_values(const double *x, uint32_t count, double *work, double *ret_location,
                         double *ret_scale) {
    for (uint32_t i = 0; i < count; i++) {
        work[i] = x[i];
    }
    double location = sy_quantile(work, count, 0.5), square = 0;
    for (uint32_t i = 0; i < count; i++) {
        work[i] = fabs(x[i] - location);
        square += work[i] * work[i];
    }
    double scale = sy_quantile(work, count, 0.5) * 1.4826;
    /* Timers tick: where more than half the samples are equal, start from the others. */
    *ret_scale = scale > SCALE_FLOOR ? scale : sqrt(square / count);
    *ret_location = location;
}

static void iterate(const double *x, uint32_t count, double *location, double *scale) {
    for (uint32_t round = 0; round<ITERATION_MAX && * scale> SCALE_FLOOR; round++) {
        double weight_sum = 0, weighted = 0, variance = *scale * *scale;
        for (uint32_t i = 0; i < count; i++) {
            double deviation = x[i] - *location;
            double weight = (DEGREES + 1) / (DEGREES + deviation * deviation / variance);
            weight_sum += weight;
            weighted += weight * deviation;
        }
        double next = *location + weighted / weight_sum, square = 0;
        for (uint32_t i = 0; i < count; i++) {
            double old = x[i] - *location, deviation = x[i] - next;
            double weight = (DEGREES + 1) / (DEGREES + old * old / variance);
            square += weight * deviation * deviation;
        }
        /* Dividing by the weights' sum instead of count is the faster PX-EM of the same fixed
         * point. */
        double next_scale = sqrt(square / weight_sum);
        double change = fabs(next - *location) + fabs(next_scale - *scale);
        *location = next;
        *scale = next_scale;
        if (change < TOLERANCE * (1 + next_scale)) {
            break;
        }
    }
}

void sy_cost_fit(double *logs, uint32_t count, double *work, double *ret_location,
                 double *ret_sigma) {
    double scale;
    start_values(logs, count, work, ret_location, &scale);
    iterate(logs, count, ret_location, &scale);
    *ret_sigma = scale > SCALE_FLOOR ? scale * SIGMA_PER_SCALE : 0;
}
