/* SPDX-License-Identifier: Apache-2.0
 *
 * The graph while it is built, and what can be asked of it afterwards.
 *
 * In: kernels, data, tasks and edges, one call each. Out: growing arrays that seal.c freezes.
 * Never knows: files, machines. Invariant: a refused call changes nothing; after -ENOMEM the graph
 * may only be destroyed.
 */
#include "graph/internal.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[SY_KIND_COUNT] = {"cpu", "gpu", "fpga", "asic"};

const char *sy_device_kind_name(enum sy_device_kind kind) {
    SY_ASSERT((uint32_t)kind < SY_KIND_COUNT);
    return kind_names[kind];
}

bool sy_device_kind_parse(const char *name, enum sy_device_kind *ret_kind) {
    uint32_t kind = sy_index_of(name, kind_names, SY_KIND_COUNT, sizeof *kind_names);
    if (kind != SY_NONE) {
        *ret_kind = (enum sy_device_kind)kind;
    }
    return kind != SY_NONE;
}

void sy_graph_builder_destroy(struct sy_graph_builder *builder) {
    if (!builder) {
        return;
    }
    sy_map_finish(&builder->kernels);
    free(builder->edge_from);
    free(builder->edge_to);
    free(builder->last_writer);
    free(builder->reader_head);
    free(builder->reader_task);
    free(builder->reader_next);
    free(builder);
}

/* There is always one task more than counted: it closes the accesses of the last. */
static int open_task(struct sy_graph *graph, uint32_t index) {
    int code =
        sy_grow(&graph->tasks, &graph->builder->task_capacity, index + 1, sizeof *graph->tasks);
    if (!code) {
        graph->tasks[index] = (struct sy_task){.access_start = graph->access_count};
    }
    return code;
}

struct sy_graph *sy_graph_create(const char *name, bool is_explicit) {
    struct sy_graph *graph = calloc(1, sizeof *graph);
    if (!graph) {
        return NULL;
    }
    graph->is_explicit = is_explicit;
    graph->arena = sy_arena_create();
    graph->builder = calloc(1, sizeof *graph->builder);
    graph->name = graph->arena ? sy_arena_strdup(graph->arena, name ? name : "") : NULL;
    if (!graph->name || !graph->builder || open_task(graph, 0) < 0) {
        sy_graph_destroy(graph);
        return NULL;
    }
    return graph;
}

void sy_graph_destroy(struct sy_graph *graph) {
    if (!graph) {
        return;
    }
    sy_graph_builder_destroy(graph->builder);
    free(graph->kernels);
    free(graph->tasks);
    free(graph->time_ns);
    free(graph->data_bytes);
    free(graph->data_names);
    free(graph->accesses);
    free(graph->access_producer);
    if (graph->arena) {
        sy_arena_destroy(graph->arena);
    }
    free(graph);
}

static bool is_amount(double value) {
    return value >= 0 && value <= SY_GRAPH_NUMBER_MAX;
}

static bool is_variant(const struct sy_variant *variant) {
    return is_amount(variant->fixed_ns) && is_amount(variant->ns_per_work) &&
           is_amount(variant->log_sigma) && is_amount(variant->demand_bytes_per_s) &&
           is_amount(variant->link_demand_bytes_per_s) && is_amount(variant->watts) &&
           is_amount(variant->image_bytes);
}

static bool is_kernel(const struct sy_graph *graph, const struct sy_kernel_desc *desc) {
    bool valid = !graph->sealed && desc->name && desc->name[0] && desc->part_max <= SY_PART_MAX &&
                 is_amount(desc->part_ns);
    for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
        valid = valid && (!desc->variants[kind].present || is_variant(&desc->variants[kind]));
    }
    return valid;
}

int sy_graph_add_kernel(struct sy_graph *graph, const struct sy_kernel_desc *desc,
                        sy_kernel_id *ret_kernel) {
    if (!is_kernel(graph, desc)) {
        return -EINVAL;
    }
    struct sy_graph_builder *builder = graph->builder;
    uint32_t index = graph->kernel_count;
    size_t length = strlen(desc->name);
    uint32_t same;
    if (sy_map_get(&builder->kernels, desc->name, length, &same)) {
        return -EEXIST;
    }
    if (sy_grow(&graph->kernels, &builder->kernel_capacity, index + 1, sizeof *graph->kernels) <
        0) {
        return -ENOMEM;
    }
    struct sy_kernel *kernel = &graph->kernels[index];
    *kernel = (struct sy_kernel){.name = sy_arena_strdup(graph->arena, desc->name),
                                 .part_max = desc->part_max,
                                 .part_ns = desc->part_ns};
    kernel->interference = desc->interference && strcmp(desc->interference, desc->name) != 0
                               ? sy_arena_strdup(graph->arena, desc->interference)
                               : kernel->name;
    if (!kernel->name || !kernel->interference ||
        sy_map_put(&builder->kernels, kernel->name, length, index) < 0) {
        return -ENOMEM;
    }
    for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
        if (desc->variants[kind].present) {
            kernel->variants[kind] = desc->variants[kind];
        }
    }
    graph->kernel_count++;
    *ret_kernel = (sy_kernel_id){index};
    return 0;
}

int sy_graph_add_data(struct sy_graph *graph, const char *name, double bytes,
                      sy_data_id *ret_data) {
    if (graph->sealed || !is_amount(bytes)) {
        return -EINVAL;
    }
    struct sy_graph_builder *builder = graph->builder;
    uint32_t index = graph->data_count;
    if (index >= SY_GRAPH_EDGE_MAX) {
        return -EOVERFLOW;
    }
    if (sy_grow(&graph->data_bytes, &builder->data_capacity, index + 1, sizeof(double)) < 0 ||
        sy_grow(&graph->data_names, &builder->name_capacity, index + 1, sizeof(char *)) < 0) {
        return -ENOMEM;
    }
    char *copy = name ? sy_arena_strdup(graph->arena, name) : NULL;
    if (name && !copy) {
        return -ENOMEM;
    }
    graph->data_bytes[index] = bytes;
    graph->data_names[index] = copy;
    graph->data_count++;
    *ret_data = (sy_data_id){index};
    return 0;
}

static int check_task(const struct sy_graph *graph, const struct sy_task_desc *desc) {
    if (graph->sealed || desc->kernel.index >= graph->kernel_count || !is_amount(desc->work)) {
        return -EINVAL;
    }
    for (uint32_t i = 0; i < desc->access_count; i++) {
        const struct sy_access *access = &desc->accesses[i];
        if (access->datum >= graph->data_count || access->mode < SY_READ ||
            access->mode > SY_READ_WRITE) {
            return -EINVAL;
        }
    }
    for (uint32_t kind = 0; desc->time_ns && kind < SY_KIND_COUNT; kind++) {
        double time_ns = desc->time_ns[kind];
        if (!isnan(time_ns) && !is_amount(time_ns) && time_ns != INFINITY) {
            return -EINVAL;
        }
    }
    uint64_t accesses = (uint64_t)graph->access_count + desc->access_count;
    return graph->task_count >= SY_GRAPH_TASK_MAX || accesses > SY_GRAPH_EDGE_MAX ? -EOVERFLOW : 0;
}

/* The table of overrides begins with the first task that has one. */
static int store_times(struct sy_graph *graph, const double *time_ns) {
    if (!time_ns && !graph->time_ns) {
        return 0;
    }
    bool is_first = !graph->time_ns;
    size_t row = SY_KIND_COUNT * sizeof(double);
    uint32_t index = graph->task_count;
    if (sy_grow(&graph->time_ns, &graph->builder->time_capacity, index + 1, row) < 0) {
        return -ENOMEM;
    }
    size_t from = is_first ? 0 : (size_t)index * SY_KIND_COUNT;
    for (size_t i = from; i < ((size_t)index + 1) * SY_KIND_COUNT; i++) {
        graph->time_ns[i] = NAN;
    }
    if (time_ns) {
        memcpy(&graph->time_ns[(size_t)index * SY_KIND_COUNT], time_ns, row);
    }
    return 0;
}

static int store_accesses(struct sy_graph *graph, const struct sy_task_desc *desc) {
    struct sy_graph_builder *builder = graph->builder;
    uint32_t start = graph->access_count, need = start + desc->access_count;
    if (sy_grow(&graph->accesses, &builder->access_capacity, need, sizeof *graph->accesses) < 0 ||
        sy_grow(&graph->access_producer, &builder->producer_capacity, need, sizeof(uint32_t)) < 0) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < desc->access_count; i++) {
        graph->accesses[start + i] = desc->accesses[i];
        graph->access_producer[start + i] = SY_NONE;
    }
    graph->access_count = need;
    return 0;
}

int sy_graph_add_task(struct sy_graph *graph, const struct sy_task_desc *desc,
                      sy_task_id *ret_task) {
    int code = check_task(graph, desc);
    if (code) {
        return code;
    }
    uint32_t index = graph->task_count;
    const char *name = desc->name ? sy_arena_strdup(graph->arena, desc->name) : NULL;
    if ((desc->name && !name) || store_times(graph, desc->time_ns) < 0 ||
        store_accesses(graph, desc) < 0 || open_task(graph, index + 1) < 0) {
        return -ENOMEM;
    }
    struct sy_task *task = &graph->tasks[index];
    task->kernel = desc->kernel.index;
    task->name = name;
    task->work = desc->work;
    graph->task_count++;
    code = graph->is_explicit ? 0 : sy_graph_infer(graph);
    if (!code) {
        *ret_task = (sy_task_id){index};
    }
    return code;
}

int sy_graph_builder_edge(struct sy_graph *graph, uint32_t from, uint32_t to, uint32_t given) {
    struct sy_graph_builder *builder = graph->builder;
    uint32_t index = builder->edge_count;
    if (index >= SY_GRAPH_EDGE_MAX) {
        return -EOVERFLOW;
    }
    if (sy_grow(&builder->edge_from, &builder->from_capacity, index + 1, sizeof(uint32_t)) < 0 ||
        sy_grow(&builder->edge_to, &builder->to_capacity, index + 1, sizeof(uint32_t)) < 0) {
        return -ENOMEM;
    }
    builder->edge_from[index] = from;
    builder->edge_to[index] = to | given;
    builder->edge_count++;
    return 0;
}

int sy_graph_add_edge(struct sy_graph *graph, sy_task_id from, sy_task_id to) {
    if (graph->sealed || from.index >= graph->task_count || to.index >= graph->task_count) {
        return -EINVAL;
    }
    return sy_graph_builder_edge(graph, from.index, to.index, SY_GRAPH_GIVEN);
}

int sy_graph_seal(struct sy_graph *graph, struct sy_error *error) {
    struct sy_graph_cycle cycle;
    return sy_graph_seal_locate(graph, error, &cycle);
}

const char *sy_graph_name(const struct sy_graph *graph) {
    return graph->name;
}

uint32_t sy_graph_task_count(const struct sy_graph *graph) {
    return graph->task_count;
}

uint32_t sy_graph_data_count(const struct sy_graph *graph) {
    return graph->data_count;
}

uint32_t sy_graph_kernel_count(const struct sy_graph *graph) {
    return graph->kernel_count;
}

uint32_t sy_graph_edge_count(const struct sy_graph *graph) {
    return graph->edge_count;
}

const char *sy_graph_task_name(const struct sy_graph *graph, sy_task_id task, char *buffer) {
    SY_ASSERT(task.index < graph->task_count);
    if (graph->tasks[task.index].name) {
        return graph->tasks[task.index].name;
    }
    snprintf(buffer, SY_GRAPH_NAME_SIZE, "task %u", task.index);
    return buffer;
}

double sy_graph_time_ns(const struct sy_graph *graph, uint32_t task, enum sy_device_kind kind) {
    if (graph->time_ns) {
        double time_ns = graph->time_ns[(size_t)task * SY_KIND_COUNT + (size_t)kind];
        if (!isnan(time_ns)) {
            return time_ns;
        }
    }
    const struct sy_task *entry = &graph->tasks[task];
    const struct sy_variant *variant = &graph->kernels[entry->kernel].variants[kind];
    return variant->present ? variant->fixed_ns + entry->work * variant->ns_per_work : INFINITY;
}
