/* SPDX-License-Identifier: Apache-2.0
 *
 * The pipelines as tables, for filling and checking: the same data and kernels, in the same order,
 * as in their texts (*.json.in), which a test compares.
 */
#ifndef GNN_PIPELINES_H
#define GNN_PIPELINES_H

#include "gnn/graph.h"

enum gnn_kind { GNN_IS_GRAPH, GNN_IS_MATRIX, GNN_IS_WEIGHT, GNN_IS_EDGES };
enum { GNN_DATUM_MAX = 24, GNN_STEP_MAX = 12, GNN_NO_DATUM = 255 };

struct gnn_datum {
    const char *name;
    enum gnn_kind kind;
    enum gnn_feature columns; /* of a matrix with a row per node, or of weights */
    enum gnn_feature rows;    /* of weights */
};

struct gnn_step {
    enum gnn_kernel kernel;
    uint8_t reads[GNN_READ_MAX]; /* the graph left out; GNN_NO_DATUM: none */
    uint8_t write;
    enum gnn_activation activation;
    double self;
    bool mean;
};

struct gnn_pipeline {
    const char *name;
    bool normal;                          /* the graph's values, see gnn_recipe_write */
    struct gnn_datum data[GNN_DATUM_MAX]; /* 0 is the graph, 1 the features, the last the result */
    uint32_t datum_count;
    struct gnn_step steps[GNN_STEP_MAX];
    uint32_t step_count;
};

extern const struct gnn_pipeline gnn_gcn, gnn_gin, gnn_sage, gnn_gat;

/* A stream; see struct sy_kernel_pipeline. */
int gnn_open(const struct gnn_pipeline *pipeline, const char *arguments, void **ret_state,
             struct sy_error *error);
int gnn_next(void *state, uint64_t item, double *ret_values, uint64_t *ret_input);
int gnn_fill(void *state, uint64_t item, uint32_t datum, void *pointer, uint64_t bytes);
int gnn_check(void *state, uint64_t item, void *const *data, double *ret_error,
              double *ret_tolerance, struct sy_error *error);
void gnn_close(void *state);
extern const char gnn_usage[];

/* The result of an item beside one in double precision, by other code: the largest error of a row
 * over its largest value. All rows where that is cheap, else up to `rows` that need little. */
SY_MUST_CHECK int gnn_compare(const struct gnn_pipeline *pipeline, const double *values,
                              void *const *data, uint32_t rows, uint64_t seed, double *ret_error);
#define GNN_TOLERANCE 2e-4

#endif
