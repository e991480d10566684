/* SPDX-License-Identifier: Apache-2.0
 *
 * DOT export: one box per task, coloured by kernel, edges labelled with the bytes they carry.
 *
 * In: a sealed graph. Out: text for Graphviz. Invariant: the same graph gives the same bytes.
 */
#include "graph/graph.h"
#include <string.h>

/* DOT strings know one escape that matters to names, and \l-like ones that a backslash would make.
 * What cannot be shown becomes a blank. */
static void put_escaped(struct sy_buffer *buffer, const char *text) {
    for (size_t left = strlen(text), step; left > 0; text += step, left -= step) {
        size_t shown = sy_shown_length(text, left);
        if (*text == '"' || *text == '\\') {
            sy_buffer_append(buffer, "\\", 1);
        }
        sy_buffer_append(buffer, shown ? text : " ", shown ? shown : 1);
        step = shown ? shown : 1;
    }
}

static void put_bytes(struct sy_buffer *buffer, double bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    uint32_t unit = 0;
    for (; bytes >= 999.5 && unit + 1 < SY_COUNT(units); unit++) {
        bytes /= 1000;
    }
    sy_buffer_printf(buffer, " [label=\"%.3g %s\"]", bytes, units[unit]);
}

/* What task reads of what pred wrote. */
static double carried_bytes(const struct sy_graph *graph, uint32_t pred, uint32_t task) {
    double bytes = 0;
    for (uint32_t a = graph->tasks[task].access_start; a < graph->tasks[task + 1].access_start;
         a++) {
        if (graph->access_producer[a] == pred) {
            bytes += graph->data_bytes[graph->accesses[a].datum];
        }
    }
    return bytes;
}

static void put_task(struct sy_buffer *buffer, const struct sy_graph *graph, uint32_t task) {
    char name[32];
    /* Golden-ratio steps keep the hues of neighbouring kernels apart. */
    double hue = graph->tasks[task].kernel * 0.618033988749895;
    hue -= (double)(uint64_t)hue;
    sy_buffer_printf(buffer, "  t%u [fillcolor=\"%.3f 0.35 0.95\", label=\"", task, hue);
    put_escaped(buffer, sy_graph_task_name(graph, (sy_task_id){task}, name));
    sy_buffer_append(buffer, "\\n", 2);
    put_escaped(buffer, graph->kernels[graph->tasks[task].kernel].name);
    sy_buffer_printf(buffer, "\"];\n");
}

void sy_graph_write_dot(const struct sy_graph *graph, struct sy_buffer *buffer) {
    SY_ASSERT(graph->sealed);
    sy_buffer_printf(buffer, "digraph \"");
    put_escaped(buffer, graph->name);
    sy_buffer_printf(buffer, "\" {\n  node [shape=box, style=filled];\n");
    for (uint32_t t = 0; t < graph->task_count; t++) {
        put_task(buffer, graph, t);
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (uint32_t e = graph->pred_start[t]; e < graph->pred_start[t + 1]; e++) {
            double bytes = carried_bytes(graph, graph->pred[e], t);
            sy_buffer_printf(buffer, "  t%u -> t%u", graph->pred[e], t);
            if (bytes > 0) {
                put_bytes(buffer, bytes);
            }
            sy_buffer_append(buffer, ";\n", 2);
        }
    }
    sy_buffer_printf(buffer, "}\n");
}
