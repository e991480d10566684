/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimiser Adam (Kingma and Ba 2015), with slopes clipped by their norm.
 *
 * In: slopes of a loss. Out: the block, one step down. A step that is not finite is not made: one
 * bad episode must not end a training.
 */
#include "nets/nets.h"
#include <math.h>

#define BETA1   0.9
#define BETA2   0.999
#define EPSILON 1e-8

double sy_adam_step(struct sy_adam *adam, float *block, float *slopes, double rate,
                    double clip_norm) {
    double squares = 0;
    for (uint32_t i = 0; i < adam->count; i++) {
        squares += (double)slopes[i] * slopes[i];
    }
    double norm = sqrt(squares);
    if (!isfinite(norm)) {
        return norm;
    }
    double scale = clip_norm > 0 && norm > clip_norm ? clip_norm / norm : 1;
    adam->steps++;
    double first_scale = 1 / (1 - pow(BETA1, adam->steps));
    double second_scale = 1 / (1 - pow(BETA2, adam->steps));
    for (uint32_t i = 0; i < adam->count; i++) {
        double slope = slopes[i] * scale;
        double first = BETA1 * adam->first[i] + (1 - BETA1) * slope;
        double second = BETA2 * adam->second[i] + (1 - BETA2) * slope * slope;
        slopes[i] = (float)slope;
        adam->first[i] = (float)first;
        adam->second[i] = (float)second;
        block[i] -= (float)(rate * first * first_scale / (sqrt(second * second_scale) + EPSILON));
    }
    return norm;
}
