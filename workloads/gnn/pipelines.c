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

#define EDGES(name)                                                                                \
    { name, GNN_IS_EDGES, GNN_NODES, GNN_NODES }
#define GEMM(a, b, c, activation)                                                                  \
    { GNN_GEMM, {a, b, NONE, NONE}, c, activation, 0, false }
#define SPMM(x, y, activation, self, mean)                                                         \
    { GNN_SPMM, {x, NONE, NONE, NONE}, y, activation, self, mean }
#define GEMM2(a, b, a2, b2, c, activation)                                                         \
    { GNN_GEMM2, {a, b, a2, b2}, c, activation, 0, false }
#define SDDMM(q, k, s)                                                                             \
    { GNN_SDDMM, {q, k, NONE, NONE}, s, GNN_NONE, 0, false }
#define SOFTMAX(s, a)                                                                              \
    { GNN_EDGE_SOFTMAX, {s, NONE, NONE, NONE}, a, GNN_NONE, 0, false }
#define WEIGHTED(x, weights, y, activation)                                                        \
    { GNN_SPMM_WEIGHTED, {x, weights, NONE, NONE}, y, activation, 0, false }

#define GIN_SELF 1.1 /* 1 + epsilon */

const struct gnn_pipeline gnn_gcn = {
    "gcn",
    true,
    {GRAPH, MATRIX("x", GNN_WIDTH), WEIGHT("w1", GNN_WIDTH, GNN_HIDDEN), MATRIX("h1", GNN_HIDDEN),
     MATRIX("a1", GNN_HIDDEN), WEIGHT("w2", GNN_HIDDEN, GNN_CLASSES), MATRIX("h2", GNN_CLASSES),
     MATRIX("out", GNN_CLASSES)},
    8,
    {GEMM(1, 2, 3, GNN_NONE), SPMM(3, 4, GNN_RELU, 0, false), GEMM(4, 5, 6, GNN_NONE),
     SPMM(6, 7, GNN_NONE, 0, false)},
    4};

const struct gnn_pipeline gnn_gin = {
    "gin",
    false,
    {GRAPH, MATRIX("x", GNN_WIDTH), MATRIX("a1", GNN_WIDTH), WEIGHT("u1", GNN_WIDTH, GNN_HIDDEN),
     MATRIX("b1", GNN_HIDDEN), WEIGHT("v1", GNN_HIDDEN, GNN_HIDDEN), MATRIX("h1", GNN_HIDDEN),
     MATRIX("a2", GNN_HIDDEN), WEIGHT("u2", GNN_HIDDEN, GNN_HIDDEN), MATRIX("b2", GNN_HIDDEN),
     WEIGHT("v2", GNN_HIDDEN, GNN_CLASSES), MATRIX("out", GNN_CLASSES)},
    12,
    {SPMM(1, 2, GNN_NONE, GIN_SELF, false), GEMM(2, 3, 4, GNN_RELU), GEMM(4, 5, 6, GNN_RELU),
     SPMM(6, 7, GNN_NONE, GIN_SELF, false), GEMM(7, 8, 9, GNN_RELU), GEMM(9, 10, 11, GNN_NONE)},
    6};

const struct gnn_pipeline gnn_sage = {
    "sage",
    false,
    {GRAPH, MATRIX("x", GNN_WIDTH), MATRIX("m1", GNN_WIDTH), WEIGHT("s1", GNN_WIDTH, GNN_HIDDEN),
     WEIGHT("n1", GNN_WIDTH, GNN_HIDDEN), MATRIX("h1", GNN_HIDDEN), MATRIX("m2", GNN_HIDDEN),
     WEIGHT("s2", GNN_HIDDEN, GNN_CLASSES), WEIGHT("n2", GNN_HIDDEN, GNN_CLASSES),
     MATRIX("out", GNN_CLASSES)},
    10,
    {SPMM(1, 2, GNN_NONE, 0, true), GEMM2(1, 3, 2, 4, 5, GNN_RELU), SPMM(5, 6, GNN_NONE, 0, true),
     GEMM2(5, 7, 6, 8, 9, GNN_NONE)},
    4};

const struct gnn_pipeline gnn_gat = {
    "gat",
    false,
    {GRAPH, MATRIX("x", GNN_WIDTH), WEIGHT("p1", GNN_WIDTH, GNN_HIDDEN), MATRIX("q1", GNN_HIDDEN),
     WEIGHT("r1", GNN_WIDTH, GNN_HIDDEN), MATRIX("k1", GNN_HIDDEN), EDGES("e1"), EDGES("f1"),
     MATRIX("h1", GNN_HIDDEN), WEIGHT("p2", GNN_HIDDEN, GNN_CLASSES), MATRIX("q2", GNN_CLASSES),
     WEIGHT("r2", GNN_HIDDEN, GNN_CLASSES), MATRIX("k2", GNN_CLASSES), EDGES("e2"), EDGES("f2"),
     MATRIX("out", GNN_CLASSES)},
    16,
    {GEMM(1, 2, 3, GNN_NONE), GEMM(1, 4, 5, GNN_NONE), SDDMM(3, 5, 6), SOFTMAX(6, 7),
     WEIGHTED(5, 7, 8, GNN_RELU), GEMM(8, 9, 10, GNN_NONE), GEMM(8, 11, 12, GNN_NONE),
     SDDMM(10, 12, 13), SOFTMAX(13, 14), WEIGHTED(12, 14, 15, GNN_NONE)},
    10};
