/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA part's own header: which way a sparse product takes.
 */
#ifndef GNN_CUDA_PART_H
#define GNN_CUDA_PART_H

#include "gnn/cuda_kernels.h"
#include "gnn/gnn.h"

/* cuSPARSE instead of our kernels? On an H200 it was 1.1 to 2.1 times as fast on every graph that
 * was tried, from 1.2 to 11 million edges and 40 to 602 columns (docs/bench/pipelines.md). It looks
 * at the matrix first, so small ones are left to ours; where it begins to pay was not measured. */
static inline bool gnn_prefers_library(const struct gnn_task *task) {
#ifdef GNN_CUSPARSE
    return task->edges >= 1u << 16;
#else
    (void)task;
    return false;
#endif
}

extern const struct gnn_part gnn_cuda;

#endif
