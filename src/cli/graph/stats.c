/* SPDX-License-Identifier: Apache-2.0
 *
 * stats: see stats.h. One pass in topological order.
 */
#include "cli/graph/stats.h"
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>

static double fastest_ns(const struct sy_graph *graph, uint32_t task) {
    double best = INFINITY;
    for (int kind = 0; kind < SY_KIND_COUNT; kind++) {
        best = fmin(best, sy_graph_time_ns(graph, task, (enum sy_device_kind)kind));
    }
    return isfinite(best) ? best : 0;
}

static void count_kernels(const struct sy_graph *graph, struct sy_kernel_stats *kernels) {
    for (uint32_t t = 0; t < graph->task_count; t++) {
        struct sy_kernel_stats *kernel = &kernels[graph->tasks[t].kernel];
        kernel->task_count++;
        for (int kind = 0; kind < SY_KIND_COUNT; kind++) {
            kernel->mean_ns[kind] += sy_graph_time_ns(graph, t, (enum sy_device_kind)kind);
        }
    }
    for (uint32_t k = 0; k < graph->kernel_count; k++) {
        for (int kind = 0; kind < SY_KIND_COUNT; kind++) {
            double mean = kernels[k].mean_ns[kind] / kernels[k].task_count;
            kernels[k].mean_ns[kind] = isfinite(mean) ? mean : NAN;
        }
    }
}

/* Level and earliest end of every task; level_count[l] counts the tasks of level l. */
static void walk(const struct sy_graph *graph, uint32_t *level, uint32_t *level_count,
                 double *end_ns, struct sy_graph_stats *stats) {
    for (uint32_t i = 0; i < graph->task_count; i++) {
        uint32_t task = graph->order[i];
        double start_ns = 0;
        for (uint32_t p = graph->pred_start[task]; p < graph->pred_start[task + 1]; p++) {
            uint32_t before = graph->pred[p];
            start_ns = fmax(start_ns, end_ns[before]);
            level[task] = level[before] + 1 > level[task] ? level[before] + 1 : level[task];
        }
        double time_ns = fastest_ns(graph, task);
        end_ns[task] = start_ns + time_ns;
        stats->work_ns += time_ns;
        stats->critical_path_ns = fmax(stats->critical_path_ns, end_ns[task]);
        uint32_t width = ++level_count[level[task]];
        stats->width_count = width > stats->width_count ? width : stats->width_count;
        stats->depth_count =
            level[task] + 1 > stats->depth_count ? level[task] + 1 : stats->depth_count;
    }
}

void sy_graph_stats_init(const struct sy_graph *graph, struct sy_graph_stats *ret_stats) {
    struct sy_graph_stats stats = {0};
    size_t n = graph->task_count + 1u;
    uint32_t *level = sy_need(calloc(n, sizeof(*level)));
    uint32_t *level_count = sy_need(calloc(n, sizeof(*level_count)));
    double *end_ns = sy_need(calloc(n, sizeof(*end_ns)));
    stats.kernels = sy_need(calloc(graph->kernel_count + 1u, sizeof(*stats.kernels)));
    walk(graph, level, level_count, end_ns, &stats);
    count_kernels(graph, stats.kernels);
    for (uint32_t d = 0; d < graph->data_count; d++) {
        stats.data_bytes += graph->data_bytes[d];
    }
    stats.parallelism_ratio =
        stats.critical_path_ns > 0 ? stats.work_ns / stats.critical_path_ns : 1;
    *ret_stats = stats;
    free(level);
    free(level_count);
    free(end_ns);
}

void sy_graph_stats_finish(struct sy_graph_stats *stats) {
    free(stats->kernels);
    stats->kernels = NULL;
}
