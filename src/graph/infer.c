/* SPDX-License-Identifier: Apache-2.0
 *
 * Dependencies that accesses imply, by sequential consistency.
 *
 * In: the accesses of the newest task and who touched each datum before it. Out: edges and
 * producers. Invariant: a task comes after the last writer of what it reads, after the readers of
 * what it overwrites, and after the last writer of what it overwrites when nobody read it. The work
 * is linear in the accesses: each reader is visited once, by the write that ends its list.
 */
#include "graph/internal.h"
#include <errno.h>

/* Makes room for data and accesses added since the last task. */
static int make_room(struct sy_graph *graph, uint32_t old_data) {
    struct sy_graph_builder *builder = graph->builder;
    size_t size = sizeof(uint32_t);
    if (sy_grow(&builder->last_writer, &builder->writer_capacity, graph->data_count, size) < 0 ||
        sy_grow(&builder->reader_head, &builder->head_capacity, graph->data_count, size) < 0 ||
        sy_grow(&builder->reader_task, &builder->reader_capacity, graph->access_count, size) < 0 ||
        sy_grow(&builder->reader_next, &builder->next_capacity, graph->access_count, size) < 0) {
        return -ENOMEM;
    }
    for (uint32_t i = old_data; i < builder->writer_capacity; i++) {
        builder->last_writer[i] = builder->reader_head[i] = SY_NONE;
    }
    return 0;
}

static int read_datum(struct sy_graph *graph, uint32_t task, uint32_t access) {
    struct sy_graph_builder *builder = graph->builder;
    uint32_t datum = graph->accesses[access].datum, writer = builder->last_writer[datum];
    graph->access_producer[access] = writer;
    if (graph->accesses[access].mode == SY_READ) {
        builder->reader_task[access] = task;
        builder->reader_next[access] = builder->reader_head[datum];
        builder->reader_head[datum] = access;
    }
    return writer == SY_NONE ? 0 : sy_graph_builder_edge(graph, writer, task, 0);
}

static int write_datum(struct sy_graph *graph, uint32_t task, uint32_t access) {
    struct sy_graph_builder *builder = graph->builder;
    uint32_t datum = graph->accesses[access].datum, writer = builder->last_writer[datum];
    bool is_read = graph->accesses[access].mode != SY_WRITE;
    int code = 0;
    for (uint32_t a = builder->reader_head[datum]; !code && a != SY_NONE;
         a = builder->reader_next[a]) {
        is_read = true;
        if (builder->reader_task[a] != task) {
            code = sy_graph_builder_edge(graph, builder->reader_task[a], task, 0);
        }
    }
    if (!code && !is_read && writer != SY_NONE && writer != task) {
        code = sy_graph_builder_edge(graph, writer, task, 0);
    }
    builder->last_writer[datum] = task;
    builder->reader_head[datum] = SY_NONE;
    return code;
}

int sy_graph_infer(struct sy_graph *graph) {
    uint32_t task = graph->task_count - 1;
    uint32_t start = graph->tasks[task].access_start, end = graph->access_count;
    int code = make_room(graph, graph->builder->writer_capacity);
    /* All reads see the world before this task, in whatever order the accesses are listed. */
    for (uint32_t a = start; !code && a < end; a++) {
        code = graph->accesses[a].mode & SY_READ ? read_datum(graph, task, a) : 0;
    }
    for (uint32_t a = start; !code && a < end; a++) {
        code = graph->accesses[a].mode & SY_WRITE ? write_datum(graph, task, a) : 0;
    }
    return code;
}
