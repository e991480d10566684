/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a declared FPGA card would take: a model of cycles, fitted to no card. Whoever shows
 * these numbers says that they are a model.
 *
 * The card is like an Alveo U280. Sparse products are as on Sextans (Song et al., FPGA 2022): rows
 * are dealt out to processing elements in turn, each takes one non-zero per cycle times COLUMNS
 * columns of the dense matrix, whose rows wait on the chip, a window of them at a time; a row may
 * be added to again only ADD_CYCLES later, others fill the gap. Dense ones are a systolic array.
 *
 * In: a task; the degrees of its graph where they are in host memory, else rows are taken as equal.
 */
#include "gnn/gnn.h"
#include <math.h>
#include <stdlib.h>

/* All constants of the declared card. */
static const struct {
    double clock_hz;       /* 225 MHz: what HLS designs of this size reach on the card */
    double bytes_per_s;    /* 460 GB/s of HBM, all 32 channels */
    double efficiency;     /* of that, in long bursts */
    double start_ns;       /* from the host's request to the first cycle */
    double sparse_share;   /* of the channels for non-zeros, */
    double dense_share;    /* for rows of the dense matrix, */
    double result_share;   /* for the result */
    double window_rows;    /* of the dense matrix on the chip */
    double array_rows;     /* of the systolic array, */
    double array_columns;  /* which has a multiplier and adder at each crossing */
    double array_clock_hz; /* it is regular: 250 MHz */
} card = {225e6, 460e9, 0.85, 20e3, 8.0 / 32, 8.0 / 32, 8.0 / 32, 16384, 32, 32, 250e6};
enum {
    ELEMENTS = 64, /* processing elements */
    COLUMNS = 8,   /* of the dense matrix per element and cycle */
    ADD_CYCLES = 8 /* of a float addition */
};

/* Cycles until the last element has its non-zeros through, once. */
static double element_cycles(const struct gnn_task *task) {
    double load[ELEMENTS] = {0}, longest[ELEMENTS] = {0}, most = 0;
    const uint32_t *offsets = task->graph.offsets;
    if (!offsets) {
        double degree = (double)task->edges / task->rows;
        double rows = ceil((double)task->rows / ELEMENTS);
        return fmax(rows * degree, (degree - 1) * ADD_CYCLES + 1);
    }
    for (uint32_t row = 0; row < task->rows; row++) {
        double degree = offsets[row + 1] - offsets[row];
        load[row % ELEMENTS] += fmax(degree, 1);
        longest[row % ELEMENTS] = fmax(longest[row % ELEMENTS], degree);
    }
    for (int i = 0; i < ELEMENTS; i++) {
        most = fmax(most, fmax(load[i], (longest[i] - 1) * ADD_CYCLES + 1));
    }
    return most;
}

static double stream_ns(double bytes, double share) {
    return bytes / (card.bytes_per_s * card.efficiency * share) * 1e9;
}

/* One pass per COLUMNS columns; non-zeros stream in during it, the window before it, the result
 * after it. */
static double spmm_ns(const struct gnn_task *task) {
    double passes = ceil((double)task->columns / COLUMNS);
    double slice = 4.0 * COLUMNS * task->rows;
    double busy = element_cycles(task) / card.clock_hz * 1e9;
    double windows = ceil(task->rows / card.window_rows);
    double pass = fmax(busy, stream_ns(8.0 * task->edges, card.sparse_share));
    double own = task->self != 0 ? stream_ns(slice, card.dense_share) : 0;
    return passes * (pass + stream_ns(slice, card.dense_share) + own +
                     stream_ns(slice, card.result_share) + windows * ADD_CYCLES);
}

/* As spmm with the roles of result and non-zeros exchanged: partial products of each edge go in and
 * out once per pass. */
static double sddmm_ns(const struct gnn_task *task) {
    double passes = ceil((double)task->columns / COLUMNS);
    double slice = 4.0 * COLUMNS * task->rows;
    double busy = element_cycles(task) / card.clock_hz * 1e9;
    double pass = fmax(busy, stream_ns(12.0 * task->edges, card.sparse_share));
    return passes * (pass + 2 * stream_ns(slice, card.dense_share));
}

/* Three passes over the edges: largest, sum of exponentials, quotients. */
static double softmax_ns(const struct gnn_task *task) {
    double busy = element_cycles(task) / card.clock_hz * 1e9;
    return 3 * fmax(busy, stream_ns(4.0 * task->edges, card.sparse_share));
}

static double gemm_ns(const struct gnn_task *task) {
    double terms = task->kernel == GNN_GEMM2 ? 2 : 1;
    double tiles = ceil(task->rows / card.array_rows) * ceil(task->columns / card.array_columns);
    double fill = card.array_rows + card.array_columns;
    double busy = (tiles * task->inner * terms + fill) / card.array_clock_hz * 1e9;
    /* A goes in once per band of columns that the array holds; here all bands share it. */
    double values =
        terms * ((double)task->rows * task->inner + (double)task->inner * task->columns);
    values += (double)task->rows * task->columns * (task->kernel == GNN_GEMM_ADD ? 2 : 1);
    return fmax(busy, stream_ns(4 * values, 1));
}

double gnn_fpga_ns(const struct gnn_task *task) {
    switch (task->kernel) {
    case GNN_GEMM:
    case GNN_GEMM_ADD:
    case GNN_GEMM2:
        return card.start_ns + gemm_ns(task);
    case GNN_SPMM:
    case GNN_SPMM_WEIGHTED:
        return card.start_ns + spmm_ns(task);
    case GNN_SDDMM:
        return card.start_ns + sddmm_ns(task);
    case GNN_EDGE_SOFTMAX:
        return card.start_ns + softmax_ns(task);
    case GNN_KERNEL_COUNT:
        break;
    }
    return (double)NAN;
}
