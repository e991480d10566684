/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers once more, forward only, in double and as plainly as can be, with std C's functions;
 * and slopes by differences of them, which the backward passes are held against.
 *
 * A difference in double over 1e-6 is right to about nine digits, so that what is found is the
 * error of the float code and not that of the difference.
 */
#ifndef SY_TESTS_PAPERS_REFERENCE_H
#define SY_TESTS_PAPERS_REFERENCE_H

#include "papers/layers.h"

#define REFERENCE_MAX 4096 /* numbers in a result */

void reference_linear(const struct sy_linear *layer, const double *block, const double *x,
                      uint32_t rows, double *y);
void reference_activate(enum sy_activation kind, double *x, uint32_t count);
void reference_mlp(const struct sy_mlp *mlp, const double *block, const double *x, uint32_t rows,
                   double *y);
struct reference_graph {
    uint32_t vertex_count, edge_count;
    const uint32_t *from, *to;
};
/* x: edges, vertices, global, one behind the other; y: likewise. */
void reference_gn(const struct sy_gn *gn, const double *block, const struct reference_graph *graph,
                  const double *x, double *y);
void reference_lstm(const struct sy_lstm *lstm, const double *block, const double *x,
                    double *state);
void reference_softmax(const double *scores, const bool *mask, uint32_t count, double *probability);

/* A function of parameters and inputs whose result is weighed into one number by random weights. */
struct slope_case {
    const char *name;
    const void *context;
    uint32_t block_count, x_count, y_count;
    const float *block, *x, *dy; /* dy: the weights */
    void (*forward)(const void *context, const double *block, const double *x, double *y);
};
/* Asserts y against forward, and slopes and dx (NULL: not looked at) against differences. */
void check_values(const struct slope_case *slope_case, const float *y);
void check_slopes(const struct slope_case *slope_case, const float *slopes, const float *dx);

/* Zeros, in memory of its exact size, so that a sanitizer sees a step outside; to be freed. */
float *floats(size_t count);
/* Numbers about 1 in size. */
void fill_random(struct sy_rng *rng, float *to, size_t count);
/* The seed of this run: SYMPH_TEST_SEED or a fixed one; printed. */
uint64_t test_seed(void);

#endif
