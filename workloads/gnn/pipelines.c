/* SPDX-License-Identifier: Apache-2.0
 *
 * The pipelines as tables; see pipelines.h.
 */
#include "gnn/pipelines.h"

#define NONE GNN_NO_DATUM
#define GRAPH                                                                                      \
    { "graph", GNN_IS_GRAPH, GNN_NODES, GNN_NODES }
#define MATRIX(name, columns)                                                                      \
    { name, GNN_IS_MATRIX, columns, GNN_NODES }
#define WEIGHT(name, rows, columns)                                                                \
    { name, GNN_IS_WEIGHT, columns, rows }

const struct gnn_pipeline gnn_gcn = {
    "gcn",
    true,
    {GRAPH, MATRIX("x", GNN_WIDTH), WEIGHT("w1", GNN_WIDTH, GNN_HIDDEN), MATRIX("h1", GNN_HIDDEN),
     MATRIX("a1", GNN_HIDDEN), WEIGHT("w2", GNN_HIDDEN, GNN_CLASSES), MATRIX("h2", GNN_CLASSES),
     MATRIX("out", GNN_CLASSES)},
    8,
    {{GNN_GEMM, {1, 2, NONE, NONE}, 3, GNN_NONE, 0, false},
     {GNN_SPMM, {3, NONE, NONE, NONE}, 4, GNN_RELU, 0, false},
     {GNN_GEMM, {4, 5, NONE, NONE}, 6, GNN_NONE, 0, false},
     {GNN_SPMM, {6, NONE, NONE, NONE}, 7, GNN_NONE, 0, false}},
    4};
