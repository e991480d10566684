/* SPDX-License-Identifier: Apache-2.0
 *
 * stats: the figures of a graph that need no machine.
 *
 * In: a sealed graph. Out: counts, shape and times. Invariant: times are those of each task's
 * fastest kind of device, transfers free.
 */
#ifndef SY_CLI_GRAPH_STATS_H
#define SY_CLI_GRAPH_STATS_H

#include "graph/graph.h"

struct sy_kernel_stats {
    uint32_t task_count;
    double mean_ns[SY_KIND_COUNT]; /* NAN: no variant for this kind */
};

struct sy_graph_stats {
    double data_bytes;
    uint32_t depth_count; /* levels */
    uint32_t width_count; /* tasks on the widest level */
    double work_ns, critical_path_ns;
    double parallelism_ratio;        /* work / critical path */
    struct sy_kernel_stats *kernels; /* per kernel of the graph */
};

void sy_graph_stats_init(const struct sy_graph *graph, struct sy_graph_stats *ret_stats);
void sy_graph_stats_finish(struct sy_graph_stats *stats);

#endif
