/* SPDX-License-Identifier: Apache-2.0
 *
 * A pipeline's result beside one in double precision, by plain loops that share nothing with the
 * kernels.
 *
 * From the rows of the result that are looked at follow, backwards, the rows of all other data that
 * they need; these alone are computed, forwards. Two layers reach far: of a large graph those rows
 * are taken whose neighbours' neighbours are few.
 */
#include "gnn/pipelines.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CANDIDATES = 256 };
#define WHOLE_FLOPS  3e8 /* up to so many, all rows */
#define REACH_BUDGET 2e5 /* neighbours of neighbours of all rows that are looked at */

/* Rows of one datum. A matrix has columns values per row, data of edges as many as its degree. */
struct rows {
    uint32_t *slots; /* per node: 1 + its place, 0: not needed */
    uint32_t count;
    uint64_t *starts; /* per place: where its values begin */
    double *values;
};

struct work {
    const struct gnn_pipeline *pipeline;
    const double *sizes;
    struct gnn_graph graph;
    uint32_t nodes;
    void *const *data;
    struct rows rows[GNN_DATUM_MAX];
};

static uint32_t columns_of(const struct work *work, uint32_t datum) {
    return (uint32_t)work->sizes[work->pipeline->data[datum].columns];
}

static uint32_t degree_of(const struct work *work, uint32_t row) {
    return work->graph.offsets[row + 1] - work->graph.offsets[row];
}

static double *row_of(const struct work *work, uint32_t datum, uint32_t row) {
    const struct rows *rows = &work->rows[datum];
    return rows->values + rows->starts[rows->slots[row] - 1];
}

/* --- what is needed --------------------------------------------------------------------------- */

static void need(struct work *work, uint32_t datum, uint32_t row) {
    struct rows *rows = &work->rows[datum];
    if (rows->slots[row] == 0) {
        rows->slots[row] = ++rows->count;
    }
}

static bool by_neighbours(const struct gnn_step *step, int read) {
    return step->kernel == GNN_SPMM || (step->kernel == GNN_SPMM_WEIGHTED && read == 0) ||
           (step->kernel == GNN_SDDMM && read == 1);
}

static void need_reads(struct work *work, const struct gnn_step *step, uint32_t row) {
    for (int read = 0; read < GNN_READ_MAX && step->reads[read] != GNN_NO_DATUM; read++) {
        uint32_t datum = step->reads[read];
        if (work->pipeline->data[datum].kind == GNN_IS_WEIGHT) {
            continue;
        }
        if (by_neighbours(step, read)) {
            for (uint32_t e = work->graph.offsets[row]; e < work->graph.offsets[row + 1]; e++) {
                need(work, datum, work->graph.columns[e]);
            }
        }
        if (!by_neighbours(step, read) || step->self != 0) {
            need(work, datum, row);
        }
    }
}

static int reserve(struct work *work, uint32_t datum) {
    struct rows *rows = &work->rows[datum];
    bool edges = work->pipeline->data[datum].kind == GNN_IS_EDGES;
    uint64_t total = 0;
    rows->starts = malloc(sizeof(*rows->starts) * ((size_t)rows->count + 1));
    if (!rows->starts) {
        return -ENOMEM;
    }
    /* Places were given out in another order than that of the nodes. */
    for (uint32_t row = 0; row < work->nodes; row++) {
        if (rows->slots[row]) {
            rows->starts[rows->slots[row] - 1] = total;
            total += edges ? degree_of(work, row) : columns_of(work, datum);
        }
    }
    rows->values = calloc(total + 1, sizeof(*rows->values));
    return rows->values ? 0 : -ENOMEM;
}

/* --- what comes out --------------------------------------------------------------------------- */

static double activated(double x, enum gnn_activation activation) {
    if (activation == GNN_RELU) {
        return x > 0 ? x : 0;
    }
    return activation == GNN_GELU
               ? 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)))
               : x;
}

static void add_product(const struct work *work, uint32_t a, uint32_t b, uint32_t row, double *y) {
    uint32_t inner = columns_of(work, a), columns = columns_of(work, b);
    const double *x = row_of(work, a, row);
    const float *weights = work->data[b];
    for (uint32_t k = 0; k < inner; k++) {
        for (uint32_t j = 0; j < columns; j++) {
            y[j] += x[k] * (double)weights[(size_t)k * columns + j];
        }
    }
}

static void add_neighbours(const struct work *work, const struct gnn_step *step, uint32_t row,
                           double *y) {
    uint32_t from = work->graph.offsets[row], degree = degree_of(work, row);
    uint32_t width = columns_of(work, step->write);
    for (uint32_t e = 0; e < degree; e++) {
        const double *x = row_of(work, step->reads[0], work->graph.columns[from + e]);
        double value = step->kernel == GNN_SPMM ? (double)work->graph.values[from + e]
                                                : row_of(work, step->reads[1], row)[e];
        for (uint32_t j = 0; j < width; j++) {
            y[j] += value * x[j] / (step->mean ? degree : 1);
        }
    }
    for (uint32_t j = 0; step->self != 0 && j < width; j++) {
        y[j] += step->self * row_of(work, step->reads[0], row)[j];
    }
}

static void edge_products(const struct work *work, const struct gnn_step *step, uint32_t row,
                          double *y) {
    uint32_t width = columns_of(work, step->reads[0]);
    const double *q = row_of(work, step->reads[0], row);
    for (uint32_t e = 0; e < degree_of(work, row); e++) {
        const double *k =
            row_of(work, step->reads[1], work->graph.columns[work->graph.offsets[row] + e]);
        for (uint32_t j = 0; j < width; j++) {
            y[e] += q[j] * k[j] / sqrt(width);
        }
    }
}

static void edge_shares(const struct work *work, const struct gnn_step *step, uint32_t row,
                        double *y) {
    const double *s = row_of(work, step->reads[0], row);
    double sum = 0, most = -INFINITY;
    uint32_t degree = degree_of(work, row);
    for (uint32_t e = 0; e < degree; e++) {
        most = fmax(most, s[e]);
    }
    for (uint32_t e = 0; e < degree; e++) {
        sum += exp(s[e] - most);
    }
    for (uint32_t e = 0; e < degree; e++) {
        y[e] = exp(s[e] - most) / sum;
    }
}

static void compute_row(const struct work *work, const struct gnn_step *step, uint32_t row) {
    double *y = row_of(work, step->write, row);
    switch (step->kernel) {
    case GNN_GEMM2:
        add_product(work, step->reads[2], step->reads[3], row, y);
        add_product(work, step->reads[0], step->reads[1], row, y);
        break;
    case GNN_GEMM:
    case GNN_GEMM_ADD:
        add_product(work, step->reads[0], step->reads[1], row, y);
        break;
    case GNN_SPMM:
    case GNN_SPMM_WEIGHTED:
        add_neighbours(work, step, row, y);
        break;
    case GNN_SDDMM:
        edge_products(work, step, row, y);
        break;
    case GNN_EDGE_SOFTMAX:
        edge_shares(work, step, row, y);
        break;
    case GNN_KERNEL_COUNT:
        break;
    }
    if (work->pipeline->data[step->write].kind == GNN_IS_MATRIX) {
        for (uint32_t j = 0; j < columns_of(work, step->write); j++) {
            y[j] = activated(y[j], step->activation);
            if (step->kernel == GNN_GEMM_ADD) {
                y[j] += row_of(work, step->reads[2], row)[j];
            }
        }
    }
}

static void load_features(const struct work *work) {
    uint32_t width = columns_of(work, 1);
    const float *x = work->data[1];
    for (uint32_t row = 0; row < work->nodes; row++) {
        for (uint32_t j = 0; work->rows[1].slots[row] && j < width; j++) {
            row_of(work, 1, row)[j] = (double)x[(size_t)row * width + j];
        }
    }
}

/* Over the row's largest value; where that is tiny beside the whole, over the whole's. */
static double error_of(const struct work *work) {
    uint32_t datum = work->pipeline->datum_count - 1, columns = columns_of(work, datum);
    const float *out = work->data[datum];
    double most = 0, worst = 0;
    for (uint64_t i = 0; i < (uint64_t)work->rows[datum].count * columns; i++) {
        most = fmax(most, fabs(work->rows[datum].values[i]));
    }
    for (uint32_t row = 0; row < work->nodes; row++) {
        if (!work->rows[datum].slots[row]) {
            continue;
        }
        const double *right = row_of(work, datum, row);
        double norm = 1e-3 * most + 1e-30, error = 0;
        for (uint32_t j = 0; j < columns; j++) {
            double difference = fabs((double)out[(size_t)row * columns + j] - right[j]);
            norm = fmax(norm, fabs(right[j]));
            error = isnan(difference) ? (double)INFINITY : fmax(error, difference);
        }
        worst = fmax(worst, error / norm);
    }
    return worst;
}

/* --- which rows ------------------------------------------------------------------------------- */

static double flops_of(const struct work *work) {
    double flops = 0;
    for (uint32_t s = 0; s < work->pipeline->step_count; s++) {
        const struct gnn_step *step = &work->pipeline->steps[s];
        uint32_t wide = columns_of(work, step->reads[0]), out = columns_of(work, step->write);
        flops += gnn_is_dense(step->kernel)         ? 2.0 * work->nodes * wide * out
                 : step->kernel == GNN_EDGE_SOFTMAX ? 10 * work->sizes[GNN_EDGES]
                                                    : 2 * work->sizes[GNN_EDGES] * wide;
    }
    return flops;
}

struct candidate {
    double reach;
    uint32_t row;
};

static int by_reach(const void *a, const void *b) {
    const struct candidate *first = a, *second = b;
    return first->reach < second->reach ? -1 : first->reach > second->reach;
}

static void choose_rows(struct work *work, uint32_t rows, uint64_t seed) {
    uint32_t datum = work->pipeline->datum_count - 1;
    if (flops_of(work) <= WHOLE_FLOPS) {
        for (uint32_t row = 0; row < work->nodes; row++) {
            need(work, datum, row);
        }
        return;
    }
    struct candidate candidates[CANDIDATES];
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        uint32_t row = (uint32_t)(gnn_word(seed, i) % work->nodes);
        candidates[i] = (struct candidate){1, row};
        for (uint32_t e = work->graph.offsets[row]; e < work->graph.offsets[row + 1]; e++) {
            candidates[i].reach += 1 + degree_of(work, work->graph.columns[e]);
        }
    }
    qsort(candidates, CANDIDATES, sizeof(*candidates), by_reach);
    double budget = REACH_BUDGET;
    for (uint32_t i = 0; i < CANDIDATES && i < rows; i++) {
        budget -= candidates[i].reach;
        if (i == 0 || budget >= 0) {
            need(work, datum, candidates[i].row);
        }
    }
}

static int compute(struct work *work, uint32_t rows, uint64_t seed) {
    const struct gnn_pipeline *pipeline = work->pipeline;
    int code = 0;
    for (uint32_t datum = 1; datum < pipeline->datum_count; datum++) {
        work->rows[datum].slots = calloc(work->nodes, sizeof(uint32_t));
        code = work->rows[datum].slots ? code : -ENOMEM;
    }
    if (code) {
        return code;
    }
    choose_rows(work, rows, seed);
    for (uint32_t s = pipeline->step_count; s-- > 0;) {
        for (uint32_t row = 0; row < work->nodes; row++) {
            if (work->rows[pipeline->steps[s].write].slots[row]) {
                need_reads(work, &pipeline->steps[s], row);
            }
        }
    }
    for (uint32_t datum = 1; datum < pipeline->datum_count && code == 0; datum++) {
        code = reserve(work, datum);
    }
    if (code) {
        return code;
    }
    load_features(work);
    for (uint32_t s = 0; s < pipeline->step_count; s++) {
        for (uint32_t row = 0; row < work->nodes; row++) {
            if (work->rows[pipeline->steps[s].write].slots[row]) {
                compute_row(work, &pipeline->steps[s], row);
            }
        }
    }
    return 0;
}

int gnn_compare(const struct gnn_pipeline *pipeline, const double *values, void *const *data,
                uint32_t rows, uint64_t seed, double *ret_error) {
    struct work work = {.pipeline = pipeline, .sizes = values, .data = data};
    work.nodes = (uint32_t)values[GNN_NODES];
    work.graph = gnn_graph_of(data[0], work.nodes, (uint64_t)values[GNN_EDGES]);
    int code = compute(&work, rows, seed);
    if (code == 0) {
        *ret_error = error_of(&work);
    }
    for (uint32_t datum = 0; datum < pipeline->datum_count; datum++) {
        free(work.rows[datum].slots);
        free(work.rows[datum].starts);
        free(work.rows[datum].values);
    }
    return code;
}
