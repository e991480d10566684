/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands at the end of a network: a choice among candidates.
 *
 * In: scores. Out: probabilities that sum to 1 over the allowed ones (or are
 * all 0 when none is), their entropy, and slopes.
 */
#include "papers/layers.h"
#include "papers/matrix.h"
#include <float.h>
#include <math.h>

void sy_softmax(const float *scores, const bool *mask, uint32_t count, float *ret_probability) {
    float most = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        if ((!mask || mask[i]) && scores[i] > most) {
            most = scores[i];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        ret_probability[i] = !mask || mask[i] ? scores[i] - most : 0;
    }
    sy_vector_exp(ret_probability, count);
    for (uint32_t i = 0; i < count; i++) {
        ret_probability[i] = !mask || mask[i] ? ret_probability[i] : 0;
        sum += ret_probability[i];
    }
    for (uint32_t i = 0; sum > 0 && i < count; i++) {
        ret_probability[i] /= sum;
    }
}

float sy_softmax_log(const float *probability, uint32_t chosen) {
    return logf(probability[chosen] > FLT_MIN ? probability[chosen] : FLT_MIN);
}

float sy_softmax_entropy(const float *probability, uint32_t count) {
    float entropy = 0;
    for (uint32_t i = 0; i < count; i++) {
        entropy -= probability[i] > 0 ? probability[i] * logf(probability[i]) : 0;
    }
    return entropy;
}

void sy_softmax_backward(const float *probability, uint32_t count, uint32_t chosen, float weight,
                         float entropy_weight, float *ret_d_scores) {
    float entropy = entropy_weight != 0 ? sy_softmax_entropy(probability, count) : 0;
    for (uint32_t i = 0; i < count; i++) {
        float p = probability[i], slope = weight * ((i == chosen ? 1 : 0) - p);
        if (entropy_weight != 0 && p > 0) {
            slope -= entropy_weight * p * (logf(p) + entropy);
        }
        ret_d_scores[i] = slope;
    }
}
