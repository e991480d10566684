/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA part's own header: which way a sparse product takes.
 */
#ifndef GNN_CUDA_PART_H
#define GNN_CUDA_PART_H

#include "gnn/cuda_kernels.h"
#include "gnn/gnn.h"

/* cuSPARSE instead of our kernels? To be told by measurements (bench/gnn_kernels.c prints both);
 * until there are any, ours, which fuse what follows and need no set-up. */
static inline bool gnn_prefers_library(const struct gnn_task *task) {
    (void)task;
    return false;
}

extern const struct gnn_part gnn_cuda;

#endif
