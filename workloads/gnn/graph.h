/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs with given statistics, and the statistics of given graphs.
 *
 * Degrees are log-normal, fitted to a mean, a coefficient of variation and a largest degree; the
 * columns of a row are drawn in proportion to degrees, a share of them from its neighbourhood.
 * Every row follows from the seed alone, so that statistics need no whole graph. Every node has an
 * edge; columns ascend and differ. Self loops are not added.
 */
#ifndef GNN_GRAPH_H
#define GNN_GRAPH_H

#include "gnn/gnn.h"

struct gnn_shape {
    const char *name, *about;
    uint32_t nodes, edges;
    uint32_t width, hidden, classes;
    double degree_cv;    /* aimed at */
    uint32_t degree_max; /* of one hub; no other has more */
    double locality;     /* share of edges to nodes whose numbers are near */
    uint64_t seed;
};

/* Features in the order in which pipelines name them. */
enum gnn_feature {
    GNN_NODES,
    GNN_EDGES,
    GNN_WIDTH,
    GNN_HIDDEN,
    GNN_CLASSES,
    GNN_DEGREE_CV,
    GNN_DEGREE_MAX,
    GNN_REUSE,
    GNN_FEATURE_COUNT
};

/* Degrees are settled, columns are not drawn yet. */
struct gnn_recipe {
    struct gnn_shape shape;
    uint32_t *offsets; /* nodes + 1 */
    uint32_t *guide;   /* edge number >> guide_shift -> a node at or before its row */
    uint32_t guide_shift;
};

SY_MUST_CHECK int gnn_recipe_init(const struct gnn_shape *shape, struct gnn_recipe *ret_recipe);
void gnn_recipe_finish(struct gnn_recipe *recipe);
/* The columns of a row, as many as its degree. */
void gnn_recipe_row(const struct gnn_recipe *recipe, uint32_t row, uint32_t *ret_columns);

/* normal: values are 1 / sqrt(degree_i degree_j), as in a GCN; else 1. blob: gnn_graph_bytes. */
void gnn_recipe_write(const struct gnn_recipe *recipe, bool normal, void *blob);
static inline uint64_t gnn_graph_bytes(uint64_t nodes, uint64_t edges) {
    return 4 * (nodes + 1 + 2 * edges);
}
struct gnn_graph gnn_graph_of(const void *blob, uint64_t nodes, uint64_t edges);

/* Spread and maximum of degrees, and the share of column accesses that hit one of the lately used
 * ones, in about a thousand rows. */
void gnn_graph_features(const void *blob, uint32_t nodes, uint32_t edges, double *ret_degree_cv,
                        double *ret_degree_max, double *ret_reuse);
/* The same without the graph, with the shape's sizes: GNN_FEATURE_COUNT values. */
SY_MUST_CHECK int gnn_recipe_features(const struct gnn_recipe *recipe, double *ret_values);

/* Data sets by name. */
extern const struct gnn_shape gnn_shapes[];
extern const uint32_t gnn_shape_count;
/* A share of the nodes, with the same degrees where they fit. */
struct gnn_shape gnn_shape_scale(const struct gnn_shape *shape, double ratio);

/* Counter-based random words. */
static inline uint64_t gnn_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}
static inline uint64_t gnn_word(uint64_t seed, uint64_t index) {
    return gnn_mix((seed + 1) * 0xD1B54A32D192ED03u + index * 0x9E3779B97F4A7C15u);
}

#endif
