/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands at the end of a network: a choice among candidates, and attention over them.
 *
 * In: scores or rows of candidates. Out: probabilities that sum to 1 over the allowed ones (or are
 * all 0 when none is), their entropy, and slopes.
 */
#include "nets/matrix.h"
#include "nets/nets.h"
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

struct sy_attention sy_attention_make(uint32_t in, uint32_t width, uint32_t *at) {
    SY_ASSERT(width > 0);
    struct sy_attention attention = {.in = in, .width = width};
    attention.query = sy_linear_make(in, width, at);
    attention.key = sy_linear_make(in, width, at);
    attention.value = sy_linear_make(in, width, at);
    return attention;
}

void sy_attention_start(const struct sy_attention *attention, struct sy_rng *rng, float *block) {
    sy_linear_start(&attention->query, 1, rng, block);
    sy_linear_start(&attention->key, 1, rng, block);
    sy_linear_start(&attention->value, 1, rng, block);
}

/* The query, the keys, the values, the probabilities. */
size_t sy_attention_tape(const struct sy_attention *attention, uint32_t count) {
    return attention->width + (size_t)count * (2 * attention->width + 1);
}

void sy_attention_forward(const struct sy_attention *attention, const float *block,
                          const float *query, const float *candidates, uint32_t count, float *tape,
                          float *ret_y) {
    const uint32_t width = attention->width;
    const float scale = 1 / sqrtf((float)width);
    float *q = tape, *keys = q + width, *values = keys + (size_t)count * width;
    float *probability = values + (size_t)count * width;
    sy_linear_forward(&attention->query, block, query, 1, q);
    sy_linear_forward(&attention->key, block, candidates, count, keys);
    sy_linear_forward(&attention->value, block, candidates, count, values);
    sy_matrix_across(q, keys, 1, width, count, false, probability);
    for (uint32_t i = 0; i < count; i++) {
        probability[i] *= scale;
    }
    sy_softmax(probability, NULL, count, probability);
    sy_matrix_fill(NULL, 1, width, ret_y);
    sy_matrix_add((struct sy_matrix){probability, count, 1}, values, 1, count, width, ret_y);
}

/* Slopes of the scores, from those of the probabilities: p (dp - sum of p dp). */
static void back_scores(const float *probability, uint32_t count, float scale, float *d_scores) {
    float sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += probability[i] * d_scores[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        d_scores[i] = scale * probability[i] * (d_scores[i] - sum);
    }
}

void sy_attention_backward(const struct sy_attention *attention, const float *block,
                           const float *query, const float *candidates, uint32_t count,
                           const float *tape, const float *dy, float *scratch, float *ret_slopes,
                           float *ret_d_query, float *ret_d_candidates) {
    const uint32_t width = attention->width;
    const float *q = tape, *keys = q + width, *values = keys + (size_t)count * width;
    const float *probability = values + (size_t)count * width;
    float *dq = scratch, *d_keys = dq + width, *d_values = d_keys + (size_t)count * width;
    float *d_scores = d_values + (size_t)count * width;

    sy_matrix_across(dy, values, 1, width, count, false, d_scores);
    back_scores(probability, count, 1 / sqrtf((float)width), d_scores);
    sy_matrix_fill(NULL, 1, width + 2 * count * width, scratch);
    sy_matrix_add((struct sy_matrix){d_scores, count, 1}, keys, 1, count, width, dq);
    sy_matrix_add((struct sy_matrix){d_scores, 1, 1}, q, count, 1, width, d_keys);
    sy_matrix_add((struct sy_matrix){probability, 1, 1}, dy, count, 1, width, d_values);

    sy_linear_backward(&attention->query, block, query, dq, 1, ret_slopes, ret_d_query);
    sy_linear_backward(&attention->key, block, candidates, d_keys, count, ret_slopes,
                       ret_d_candidates);
    sy_linear_backward(&attention->value, block, candidates, d_values, count, ret_slopes, NULL);
    if (ret_d_candidates) {
        sy_matrix_across(d_values, block + attention->value.weight, count, width, attention->in,
                         true, ret_d_candidates);
    }
}
