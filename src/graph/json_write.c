/* SPDX-License-Identifier: Apache-2.0
 *
 * Writer of the native JSON format. What it writes, json.c reads back to the same graph: data and
 * tasks are referred to by index, and of the edges only those that no access implies are spelled
 * out. Of several data or tasks with one name only the first keeps it: a reader wants them unique.
 */
#include "base/json.h"
#include "graph/graph.h"
#include <errno.h>
#include <math.h>
#include <string.h>

static void put_if(struct sy_json_writer *writer, const char *key, double value) {
    if (value != 0) {
        sy_json_member_number(writer, key, value);
    }
}

static void put_variant(struct sy_json_writer *writer, const struct sy_variant *variant) {
    sy_json_open(writer, '{');
    put_if(writer, "fixed_ns", variant->fixed_ns);
    put_if(writer, "ns_per_work", variant->ns_per_work);
    put_if(writer, "log_sigma", variant->log_sigma);
    put_if(writer, "demand_bytes_per_s", variant->demand_bytes_per_s);
    put_if(writer, "link_demand_bytes_per_s", variant->link_demand_bytes_per_s);
    put_if(writer, "watts", variant->watts);
    put_if(writer, "image_bytes", variant->image_bytes);
    sy_json_close(writer, '}');
}

static void put_kernel(struct sy_json_writer *writer, const struct sy_kernel *kernel) {
    sy_json_print(writer, "{name: %s", kernel->name);
    if (strcmp(kernel->interference, kernel->name) != 0) {
        sy_json_member_string(writer, "interference", kernel->interference);
    }
    sy_json_open_member(writer, "variants", '{');
    for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
        if (kernel->variants[kind].present) {
            sy_json_key(writer, sy_device_kind_name((enum sy_device_kind)kind));
            put_variant(writer, &kernel->variants[kind]);
        }
    }
    sy_json_close(writer, '}');
    put_if(writer, "part_max", kernel->part_max);
    put_if(writer, "part_ns", kernel->part_ns);
    sy_json_close(writer, '}');
}

/* The name, if there is one that is not taken. */
static void put_name(struct sy_json_writer *writer, struct sy_map *taken, const char *name) {
    int code = name && name[0] ? sy_map_put(taken, name, strlen(name), 0) : -EEXIST;
    if (code == 0) {
        sy_json_member_string(writer, "name", name);
    }
    writer->buffer.failed = writer->buffer.failed || code == -ENOMEM;
}

static void put_datum(struct sy_json_writer *writer, struct sy_map *taken, const char *name,
                      double bytes) {
    sy_json_open(writer, '{');
    put_name(writer, taken, name);
    sy_json_print(writer, "bytes: %g}", bytes);
}

static void put_mode(struct sy_json_writer *writer, const struct sy_access *accesses,
                     uint32_t count, uint32_t mode, const char *key) {
    bool is_open = false;
    for (uint32_t i = 0; i < count; i++) {
        if (accesses[i].mode == mode) {
            if (!is_open) {
                sy_json_open_member(writer, key, '[');
                is_open = true;
            }
            sy_json_put_u64(writer, accesses[i].datum);
        }
    }
    if (is_open) {
        sy_json_close(writer, ']');
    }
}

static void put_ordered(struct sy_json_writer *writer, const struct sy_access *accesses,
                        uint32_t count) {
    static const char *const modes[] = {"", "read", "write", "update"};
    sy_json_open_member(writer, "accesses", '[');
    for (uint32_t i = 0; i < count; i++) {
        sy_json_print(writer, "[%s, %u]", modes[accesses[i].mode], accesses[i].datum);
    }
    sy_json_close(writer, ']');
}

/* The order of accesses is part of the graph: three lists only where they keep it. */
static void put_accesses(struct sy_json_writer *writer, const struct sy_access *accesses,
                         uint32_t count) {
    static const uint32_t rank[] = {0, 0, 2, 1}; /* reads, updates, writes */
    for (uint32_t i = 1; i < count; i++) {
        if (rank[accesses[i].mode] < rank[accesses[i - 1].mode]) {
            put_ordered(writer, accesses, count);
            return;
        }
    }
    put_mode(writer, accesses, count, SY_READ, "reads");
    put_mode(writer, accesses, count, SY_READ_WRITE, "updates");
    put_mode(writer, accesses, count, SY_WRITE, "writes");
}

static void put_after(struct sy_json_writer *writer, const struct sy_graph *graph, uint32_t task) {
    bool is_open = false;
    for (uint32_t e = graph->pred_start[task]; e < graph->pred_start[task + 1]; e++) {
        if (graph->pred_given[e]) {
            if (!is_open) {
                sy_json_open_member(writer, "after", '[');
                is_open = true;
            }
            sy_json_put_u64(writer, graph->pred[e]);
        }
    }
    if (is_open) {
        sy_json_close(writer, ']');
    }
}

static void put_times(struct sy_json_writer *writer, const double *time_ns) {
    bool is_open = false;
    for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
        if (isnan(time_ns[kind])) {
            continue;
        }
        if (!is_open) {
            sy_json_open_member(writer, "time_ns", '{');
            is_open = true;
        }
        sy_json_key(writer, sy_device_kind_name((enum sy_device_kind)kind));
        sy_json_put_number(writer, time_ns[kind]); /* null for INFINITY: cannot run there */
    }
    if (is_open) {
        sy_json_close(writer, '}');
    }
}

static void put_task(struct sy_json_writer *writer, struct sy_map *taken,
                     const struct sy_graph *graph, uint32_t index) {
    const struct sy_task *task = &graph->tasks[index];
    sy_json_open(writer, '{');
    put_name(writer, taken, task->name);
    sy_json_member_string(writer, "kernel", graph->kernels[task->kernel].name);
    if (task->work != 1) {
        sy_json_member_number(writer, "work", task->work);
    }
    uint32_t access_count = graph->tasks[index + 1].access_start - task->access_start;
    if (access_count) { /* a graph without data has no array to point into */
        put_accesses(writer, &graph->accesses[task->access_start], access_count);
    }
    put_after(writer, graph, index);
    if (graph->time_ns) {
        put_times(writer, &graph->time_ns[(size_t)index * SY_KIND_COUNT]);
    }
    sy_json_close(writer, '}');
}

void sy_graph_write_json(const struct sy_graph *graph, struct sy_buffer *buffer) {
    SY_ASSERT(graph->sealed);
    struct sy_json_writer writer = {.buffer = *buffer, .compact_from = 3};
    struct sy_map data = {0}, tasks = {0};
    sy_json_print(&writer, "{schema: %s", "symph-graph-1");
    if (graph->name[0]) {
        sy_json_member_string(&writer, "name", graph->name);
    }
    sy_json_member_string(&writer, "dependencies", graph->is_explicit ? "explicit" : "sequential");
    sy_json_open_member(&writer, "kernels", '[');
    for (uint32_t i = 0; i < graph->kernel_count; i++) {
        put_kernel(&writer, &graph->kernels[i]);
    }
    sy_json_print(&writer, "], data: [");
    for (uint32_t i = 0; i < graph->data_count; i++) {
        put_datum(&writer, &data, graph->data_names[i], graph->data_bytes[i]);
    }
    sy_json_print(&writer, "], tasks: [");
    for (uint32_t i = 0; i < graph->task_count; i++) {
        put_task(&writer, &tasks, graph, i);
    }
    sy_json_print(&writer, "]}");
    sy_map_finish(&data);
    sy_map_finish(&tasks);
    *buffer = writer.buffer;
}
