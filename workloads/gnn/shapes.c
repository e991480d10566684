/* SPDX-License-Identifier: Apache-2.0
 *
 * Data sets by name: public ones by their statistics, and made-up ones around them.
 *
 * Of ogbn-arxiv, ogbn-products and reddit the numbers of nodes, edges, features and classes are
 * those that their authors publish (arxiv: directed edges; products: undirected ones; reddit: both
 * directions). Spread and maximum of degrees are as remembered from tables about them and not
 * verified here; locality is assumed.
 */
#include "gnn/graph.h"
#include <math.h>

const struct gnn_shape gnn_shapes[] = {
    {"arxiv", "as ogbn-arxiv: citations", 169343, 1166243, 128, 128, 40, 5.0, 13161, 0.3, 1},
    {"products", "as ogbn-products: bought together", 2449029, 61859140, 100, 128, 47, 1.9, 17481,
     0.5, 1},
    {"reddit", "as reddit: posts with common commenters", 232965, 114615892, 602, 128, 41, 1.6,
     21657, 0.3, 1},
    {"arxiv-tenth", "a tenth of the nodes of arxiv", 16934, 116624, 128, 128, 40, 4.0, 3000, 0.3,
     1},
    {"products-tenth", "a tenth of the nodes of products", 244902, 6185914, 100, 128, 47, 1.9,
     17481, 0.5, 1},
    {"reddit-tenth", "a tenth of the nodes of reddit", 23296, 11461589, 602, 128, 41, 1.6, 20000,
     0.3, 1},
    {"dense-small", "few nodes, each with many neighbours", 4000, 1600000, 128, 128, 16, 0.3, 1200,
     0, 1},
    {"sparse-huge", "many nodes, each with few neighbours", 4000000, 8000000, 64, 64, 16, 0.8, 64,
     0.2, 1},
    {"hubs", "a few nodes have most of the edges", 200000, 4000000, 128, 128, 32, 12, 100000, 0, 1},
    {"regular", "all degrees equal, neighbours close", 200000, 3200000, 128, 128, 32, 0, 16, 0.95,
     1},
    {"wide", "long feature vectors", 20000, 400000, 1024, 256, 64, 1, 800, 0.3, 1},
    {"narrow", "short feature vectors", 500000, 10000000, 16, 16, 4, 1.5, 5000, 0.3, 1},
    {"tiny", "for tests", 600, 4000, 40, 24, 7, 1.2, 80, 0.3, 1},
};
const uint32_t gnn_shape_count = GUEST_COUNT(gnn_shapes);

struct gnn_shape gnn_shape_scale(const struct gnn_shape *shape, double ratio) {
    struct gnn_shape scaled = *shape;
    double nodes = fmax(1, round(shape->nodes * ratio));
    double edges = fmax(nodes, round((double)shape->edges * ratio));
    scaled.nodes = (uint32_t)fmin(nodes, UINT32_MAX / 2);
    scaled.degree_max = shape->degree_max < scaled.nodes ? shape->degree_max : scaled.nodes;
    /* The hub leaves one edge for each other node, and all together fit. */
    edges = fmin(edges, fmin((double)scaled.nodes * scaled.degree_max, UINT32_MAX / 2));
    scaled.edges = (uint32_t)edges;
    uint32_t spare = scaled.edges - scaled.nodes;
    scaled.degree_max = scaled.degree_max - 1 > spare ? spare + 1 : scaled.degree_max;
    return scaled;
}
