/* SPDX-License-Identifier: Apache-2.0
 *
 * Who wrote what a task reads, in a graph whose dependencies are explicit.
 *
 * In: edges, accesses and an order. Out: access_producer. Program order says nothing here, so only
 * an edge can: the producer is the predecessor that writes the datum, the latest in order if there
 * are several, and none (the datum as it was at the start) if no predecessor writes it. The shorter
 * of "writers of the datum" and "predecessors of the task" is walked and the other searched, so
 * that hubs stay cheap.
 */
#include "graph/internal.h"
#include <errno.h>
#include <stdlib.h>

struct finder {
    const struct sy_graph *graph;
    uint32_t *position;     /* of each task in order */
    uint32_t *writer_start; /* writers of datum d, by increasing index */
    uint32_t *writers;
};

static bool contains(const uint32_t *sorted, uint32_t count, uint32_t value) {
    uint32_t low = 0;
    while (count > 0) {
        uint32_t half = count / 2;
        if (sorted[low + half] < value) {
            low += half + 1;
            count -= half + 1;
        } else if (sorted[low + half] == value) {
            return true;
        } else {
            count = half;
        }
    }
    return false;
}

static uint32_t latest_common(const struct finder *finder, uint32_t task, uint32_t datum) {
    const struct sy_graph *graph = finder->graph;
    const uint32_t *walk = &finder->writers[finder->writer_start[datum]];
    const uint32_t *search = &graph->pred[graph->pred_start[task]];
    uint32_t walk_count = finder->writer_start[datum + 1] - finder->writer_start[datum];
    uint32_t search_count = graph->pred_start[task + 1] - graph->pred_start[task];
    if (walk_count > search_count) {
        const uint32_t *list = walk;
        uint32_t count = walk_count;
        walk = search;
        walk_count = search_count;
        search = list;
        search_count = count;
    }
    uint32_t best = SY_NONE;
    for (uint32_t i = 0; i < walk_count; i++) {
        if ((best == SY_NONE || finder->position[walk[i]] > finder->position[best]) &&
            contains(search, search_count, walk[i])) {
            best = walk[i];
        }
    }
    return best;
}

static void list_writers(struct finder *finder) {
    const struct sy_graph *graph = finder->graph;
    uint32_t *start = finder->writer_start;
    for (uint32_t a = 0; a < graph->access_count; a++) {
        if (graph->accesses[a].mode & SY_WRITE) {
            start[graph->accesses[a].datum + 2]++;
        }
    }
    for (uint32_t d = 0; d < graph->data_count; d++) {
        start[d + 2] += start[d + 1];
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        finder->position[graph->order[t]] = t;
        for (uint32_t a = graph->tasks[t].access_start; a < graph->tasks[t + 1].access_start; a++) {
            if (graph->accesses[a].mode & SY_WRITE) {
                finder->writers[start[graph->accesses[a].datum + 1]++] = t;
            }
        }
    }
}

int sy_graph_find_producers(struct sy_graph *graph) {
    if (!graph->access_count) {
        return 0;
    }
    struct finder finder = {
        .graph = graph,
        .position = malloc((size_t)graph->task_count * sizeof(uint32_t)),
        .writer_start = calloc((size_t)graph->data_count + 2, sizeof(uint32_t)),
        .writers = malloc((size_t)graph->access_count * sizeof(uint32_t)),
    };
    int code = finder.position && finder.writer_start && finder.writers ? 0 : -ENOMEM;
    if (!code) {
        list_writers(&finder);
    }
    for (uint32_t t = 0; !code && t < graph->task_count; t++) {
        for (uint32_t a = graph->tasks[t].access_start; a < graph->tasks[t + 1].access_start; a++) {
            graph->access_producer[a] = graph->accesses[a].mode & SY_READ
                                            ? latest_common(&finder, t, graph->accesses[a].datum)
                                            : SY_NONE;
        }
    }
    free(finder.position);
    free(finder.writer_start);
    free(finder.writers);
    return code;
}
