/* SPDX-License-Identifier: Apache-2.0
 *
 * Freezing a graph: unique sorted edges both ways, a topological order, or the cycle by name.
 *
 * In: edges in any order, with copies. Out: succ, pred and order. Invariant: a graph that fails
 * here stays unsealed; the time is linear in tasks and edges and nothing recurses.
 */
#include "graph/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CYCLE_TEXT 180 /* characters spelled out before the rest of a cycle is only counted */

/* Turns counts at [i + 1] into starts at [i]. */
static void sum_up(uint32_t *start, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        start[i + 1] += start[i];
    }
}

/* Stable counting sort by key; start is scratch of count + 2. */
static void sort_by(const uint32_t *key, const uint32_t *other, uint32_t edges, uint32_t mask,
                    uint32_t *start, uint32_t count, uint32_t *ret_key, uint32_t *ret_other) {
    memset(start, 0, ((size_t)count + 2) * sizeof *start);
    for (uint32_t e = 0; e < edges; e++) {
        start[(key[e] & mask) + 1]++;
    }
    sum_up(start, count);
    for (uint32_t e = 0; e < edges; e++) {
        uint32_t at = start[key[e] & mask]++;
        ret_key[at] = key[e];
        ret_other[at] = other[e];
    }
}

/* Sorts the edges by (from, to) and drops copies. An edge is given only if no access implies it. */
static int unique_edges(struct sy_graph *graph) {
    struct sy_graph_builder *builder = graph->builder;
    uint32_t edges = builder->edge_count, tasks = graph->task_count;
    if (!edges) {
        return 0;
    }
    uint32_t *start = malloc(((size_t)tasks + 2) * sizeof *start);
    uint32_t *from = malloc((size_t)edges * sizeof *from);
    uint32_t *to = malloc((size_t)edges * sizeof *to);
    int code = start && from && to ? 0 : -ENOMEM;
    if (!code) {
        sort_by(builder->edge_to, builder->edge_from, edges, ~SY_GRAPH_GIVEN, start, tasks, to,
                from);
        sort_by(from, to, edges, ~0u, start, tasks, builder->edge_from, builder->edge_to);
        uint32_t kept = 0;
        for (uint32_t e = 0; e < edges; e++) {
            uint32_t f = builder->edge_from[e], t = builder->edge_to[e];
            if (kept && builder->edge_from[kept - 1] == f &&
                ((builder->edge_to[kept - 1] ^ t) & ~SY_GRAPH_GIVEN) == 0) {
                builder->edge_to[kept - 1] &= t;
                continue;
            }
            builder->edge_from[kept] = f;
            builder->edge_to[kept++] = t;
        }
        builder->edge_count = kept;
    }
    free(start);
    free(from);
    free(to);
    return code;
}

static int build_adjacency(struct sy_graph *graph) {
    const struct sy_graph_builder *builder = graph->builder;
    uint32_t edges = builder->edge_count, tasks = graph->task_count;
    graph->edge_count = edges;
    graph->succ_start = sy_arena_alloc(graph->arena, (size_t)tasks + 1, sizeof(uint32_t));
    graph->pred_start = sy_arena_alloc(graph->arena, (size_t)tasks + 2, sizeof(uint32_t));
    graph->succ = sy_arena_alloc(graph->arena, (size_t)edges + 1, sizeof(uint32_t));
    graph->pred = sy_arena_alloc(graph->arena, (size_t)edges + 1, sizeof(uint32_t));
    graph->pred_given = sy_arena_alloc(graph->arena, (size_t)edges + 1, 1);
    graph->order = sy_arena_alloc(graph->arena, (size_t)tasks + 1, sizeof(uint32_t));
    if (!graph->succ_start || !graph->pred_start || !graph->succ || !graph->pred ||
        !graph->pred_given || !graph->order) {
        return -ENOMEM;
    }
    for (uint32_t e = 0; e < edges; e++) {
        uint32_t to = builder->edge_to[e] & ~SY_GRAPH_GIVEN;
        graph->succ_start[builder->edge_from[e] + 1]++;
        graph->pred_start[to + 2]++; /* shifted once more: the next loop moves it into place */
        graph->succ[e] = to;
    }
    sum_up(graph->succ_start, tasks);
    sum_up(graph->pred_start, tasks + 1);
    for (uint32_t e = 0; e < edges; e++) {
        uint32_t at = graph->pred_start[graph->succ[e] + 1]++;
        graph->pred[at] = builder->edge_from[e];
        graph->pred_given[at] = (builder->edge_to[e] & SY_GRAPH_GIVEN) != 0;
    }
    return 0;
}

static bool is_program_order(const struct sy_graph *graph) {
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (uint32_t e = graph->succ_start[t]; e < graph->succ_start[t + 1]; e++) {
            if (graph->succ[e] <= t) {
                return false;
            }
        }
    }
    return true;
}

/* Kahn's algorithm, first come first served; order is its own queue. Returns how many it reached;
 * missing counts the predecessors of the others that were not. */
static uint32_t sort_tasks(struct sy_graph *graph, uint32_t *missing) {
    uint32_t tail = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        missing[t] = graph->pred_start[t + 1] - graph->pred_start[t];
        if (!missing[t]) {
            graph->order[tail++] = t;
        }
    }
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t t = graph->order[head];
        for (uint32_t e = graph->succ_start[t]; e < graph->succ_start[t + 1]; e++) {
            if (--missing[graph->succ[e]] == 0) {
                graph->order[tail++] = graph->succ[e];
            }
        }
    }
    return tail;
}

/* Walks back over tasks that could not be ordered until one comes again. next[] then leads round
 * the cycle; the result is its member with the smallest index. */
static uint32_t find_cycle(const struct sy_graph *graph, const uint32_t *missing, uint32_t *next) {
    uint32_t at = 0, before = 0;
    while (!missing[at]) {
        at++;
    }
    memset(next, 0xff, (size_t)graph->task_count * sizeof *next);
    for (uint32_t start = at;; at = before) {
        uint32_t e = graph->pred_start[at];
        while (!missing[graph->pred[e]]) {
            e++;
        }
        before = graph->pred[e];
        bool is_known = next[before] != SY_NONE || before == start;
        next[before] = at;
        if (is_known) {
            break;
        }
    }
    uint32_t smallest = before;
    for (uint32_t t = next[before]; t != before; t = next[t]) {
        smallest = t < smallest ? t : smallest;
    }
    return smallest;
}

/* "a -> b -> a"; the middle of a long cycle is only counted. Returns the last task before first. */
static uint32_t spell_cycle(const struct sy_graph *graph, const uint32_t *next, uint32_t first,
                            struct sy_buffer *text) {
    char name[SY_GRAPH_NAME_SIZE];
    uint32_t at = first, last = first, hidden = 0;
    do {
        if (text->length < CYCLE_TEXT) {
            sy_buffer_printf(text, "%.40s -> ", sy_graph_task_name(graph, (sy_task_id){at}, name));
        } else {
            hidden++;
        }
        last = at;
        at = next[at];
    } while (at != first);
    if (hidden) {
        sy_buffer_printf(text, "(%u more) -> ", hidden);
    }
    sy_buffer_printf(text, "%.40s", sy_graph_task_name(graph, (sy_task_id){first}, name));
    return last;
}

static int fail_cycle(const struct sy_graph *graph, const uint32_t *missing, struct sy_error *error,
                      struct sy_graph_cycle *ret_cycle) {
    uint32_t *next = malloc((size_t)graph->task_count * sizeof *next);
    if (!next) {
        return sy_out_of_memory(error);
    }
    struct sy_buffer text = {0};
    uint32_t first = find_cycle(graph, missing, next);
    uint32_t last = spell_cycle(graph, next, first, &text);
    *ret_cycle = (struct sy_graph_cycle){last, first};
    sy_fail(error, -EINVAL, "cycle: %s", text.failed ? "(out of memory)" : text.text);
    sy_hint(error, "a task cannot depend on a task that depends on it");
    sy_buffer_finish(&text);
    free(next);
    return -EINVAL;
}

static int order_tasks(struct sy_graph *graph, struct sy_error *error,
                       struct sy_graph_cycle *ret_cycle) {
    if (is_program_order(graph)) {
        for (uint32_t t = 0; t < graph->task_count; t++) {
            graph->order[t] = t;
        }
        return 0;
    }
    uint32_t *missing = malloc((size_t)graph->task_count * sizeof *missing);
    if (!missing) {
        return sy_out_of_memory(error);
    }
    int code = sort_tasks(graph, missing) == graph->task_count
                   ? 0
                   : fail_cycle(graph, missing, error, ret_cycle);
    free(missing);
    return code;
}

int sy_graph_seal_locate(struct sy_graph *graph, struct sy_error *error,
                         struct sy_graph_cycle *ret_cycle) {
    *ret_cycle = (struct sy_graph_cycle){SY_NONE, SY_NONE};
    if (graph->sealed) {
        return sy_fail(error, -EINVAL, "the graph is sealed already");
    }
    int code = unique_edges(graph);
    code = code ? code : build_adjacency(graph);
    if (code) {
        return sy_fail(error, code, "out of memory");
    }
    code = order_tasks(graph, error, ret_cycle);
    if (!code && graph->is_explicit) {
        code = sy_graph_find_producers(graph);
        if (code) {
            return sy_fail(error, code, "out of memory");
        }
    }
    if (!code) {
        sy_graph_builder_destroy(graph->builder);
        graph->builder = NULL;
        graph->sealed = true;
    }
    return code;
}
