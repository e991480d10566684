/* SPDX-License-Identifier: Apache-2.0
 *
 * Random models and readings for the tests of the training side.
 */
#ifndef TESTS_PAPERS_WORLDS_H
#define TESTS_PAPERS_WORLDS_H

#include "../base/check.h"
#include "papers/training.h"
#include <string.h>

struct world_shape {
    uint32_t variables, relations;
    double width;    /* of relations */
    bool plain;      /* no offsets, no negative terms, no "at most" */
    bool correlated; /* the drift has a covariance */
};

static inline void world_variable(struct sy_model *model, struct sy_rng *rng, bool plain) {
    char name[16];
    snprintf(name, sizeof name, "v%u", model->variable_count);
    double start = 3 + 2 * sy_rng_uniform(rng);
    struct sy_variable v = {.name = name,
                            .role = "",
                            .counter = model->variable_count,
                            .pmu = 0,
                            .start_log = start,
                            .start_sd = 0.3 + 0.4 * sy_rng_uniform(rng),
                            .drift_sd = 0.05 + 0.2 * sy_rng_uniform(rng),
                            .noise_ratio = 0.05 + 0.2 * sy_rng_uniform(rng),
                            .offset = plain ? 0 : 2 * sy_rng_uniform(rng),
                            .capacity = exp(start + sy_rng_uniform(rng)),
                            .resource = SY_NONE};
    assert_int_not_equal(sy_model_add_variable(model, &v), SY_NONE);
}

/* out = sum of two or three others, scaled so that the start values nearly agree. */
static inline void world_relation(struct sy_model *model, struct sy_rng *rng,
                                  const struct world_shape *shape) {
    uint32_t n = model->variable_count, count = 2 + sy_rng_below(rng, 2);
    uint32_t out = sy_rng_below(rng, n);
    double kind = shape->plain ? 1 : sy_rng_uniform(rng);
    struct sy_term terms[4];
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        terms[i].variable = (out + 1 + sy_rng_below(rng, n - 1)) % n;
        terms[i].coefficient = 0.5 + sy_rng_uniform(rng);
        if (!shape->plain && i + 1 == count && count > 2) {
            terms[i].coefficient *= -0.2;
        }
        sum += terms[i].coefficient * exp(model->variables[terms[i].variable].start_log);
    }
    bool at_most = kind < 0.2;
    double fit = exp(model->variables[out].start_log + 0.2 * sy_rng_normal(rng)) / sum;
    for (uint32_t i = 0; i < count; i++) {
        terms[i].coefficient *= at_most ? 1.5 * fit : fit; /* violated at the start: it binds */
    }
    struct sy_factor factor = {.kind = at_most ? SY_FACTOR_AT_MOST : SY_FACTOR_EQUAL,
                               .why = "random",
                               .out = out,
                               .constant = shape->plain ? 0 : sy_rng_normal(rng),
                               .width = shape->width * (0.5 + sy_rng_uniform(rng))};
    assert_int_not_equal(sy_model_add_factor(model, &factor, terms, count), SY_NONE);
}

static inline void world_covariance(struct sy_model *model, struct sy_rng *rng) {
    uint32_t n = model->variable_count;
    double *q = sy_arena_alloc(model->arena, (size_t)n * n, sizeof *q);
    double direction[64];
    assert_true(q && n <= 64);
    for (uint32_t i = 0; i < n; i++) {
        direction[i] = 0.2 * sy_rng_normal(rng);
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            double own = model->variables[i].drift_sd;
            q[(size_t)i * n + j] = direction[i] * direction[j] + (i == j ? own * own : 0);
        }
    }
    model->covariance = q;
}

static inline struct sy_model *world_model(struct sy_rng *rng, const struct world_shape *shape) {
    struct sy_model *model = sy_model_create("random");
    assert_non_null(model);
    model->step_ns = 1e6;
    for (uint32_t i = 0; i < shape->variables; i++) {
        world_variable(model, rng, shape->plain);
    }
    for (uint32_t i = 0; i < shape->relations; i++) {
        world_relation(model, rng, shape);
    }
    if (shape->correlated) {
        world_covariance(model, rng);
    }
    assert_int_equal(sy_model_check(model, NULL), 0);
    return model;
}

/* Readings of some variables, near their start values. */
static inline uint32_t world_readings(const struct sy_model *model, struct sy_rng *rng,
                                      double share, struct sy_observation *ret_readings) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->variable_count; i++) {
        if (sy_rng_uniform(rng) < share) {
            double log_rate = model->variables[i].start_log + 0.4 * sy_rng_normal(rng);
            ret_readings[count++] = (struct sy_observation){.variable = i, .rate = exp(log_rate)};
        }
    }
    return count;
}

#endif
