/* SPDX-License-Identifier: Apache-2.0
 *
 * From the arguments and parameters of a call to a task whose sizes fit together; see gnn.h.
 */
#include "gnn/graph.h"
#include <errno.h>
#include <math.h>

const char *const gnn_names[GNN_KERNEL_COUNT] = {
    "sgemm", "sgemm_add", "sgemm2", "spmm", "spmm_weighted", "sddmm", "edge_softmax"};

/* How many values there are of each argument, as its kernel reads and writes them. */
enum extent { OF_GRAPH, OF_A, OF_B, OF_C, OF_X, OF_EDGES };
static const struct {
    uint32_t parameters;
    uint32_t count;
    enum extent extents[GNN_READ_MAX + 1];
} rules[GNN_KERNEL_COUNT] = {
    {4, 3, {OF_A, OF_B, OF_C}},
    {4, 4, {OF_A, OF_B, OF_C, OF_C}},
    {4, 5, {OF_A, OF_B, OF_A, OF_B, OF_C}},
    {6, 3, {OF_GRAPH, OF_X, OF_X}},
    {6, 4, {OF_GRAPH, OF_X, OF_EDGES, OF_X}},
    {4, 4, {OF_GRAPH, OF_X, OF_X, OF_EDGES}},
    {2, 3, {OF_GRAPH, OF_EDGES, OF_EDGES}},
};

static uint64_t values_of(const struct gnn_task *task, enum extent extent) {
    switch (extent) {
    case OF_GRAPH:
        return gnn_graph_bytes(task->rows, task->edges) / sizeof(float);
    case OF_A:
        return (uint64_t)task->rows * task->inner;
    case OF_B:
        return (uint64_t)task->inner * task->columns;
    case OF_C:
    case OF_X:
        return (uint64_t)task->rows * task->columns;
    case OF_EDGES:
        break;
    }
    return task->edges;
}

static bool size_of(double value, double most, uint32_t *ret_size) {
    *ret_size = value >= 1 && value <= most ? (uint32_t)value : 0;
    return *ret_size >= 1 && *ret_size == value;
}

static bool activation_of(double value, enum gnn_activation *ret_activation) {
    bool known = value == GNN_NONE || value == GNN_RELU || value == GNN_GELU;
    *ret_activation = known ? (enum gnn_activation)(int)value : GNN_NONE;
    return known;
}

static bool read_parameters(const double *p, struct gnn_task *task) {
    bool good = size_of(p[0], 1e9, &task->rows);
    if (gnn_is_dense(task->kernel)) {
        good = good && size_of(p[1], 1e6, &task->inner) && size_of(p[2], 1e6, &task->columns);
        return good && activation_of(p[3], &task->activation);
    }
    good = good && size_of(p[1], UINT32_MAX, &task->edges);
    if (task->kernel == GNN_EDGE_SOFTMAX) {
        return good;
    }
    good = good && size_of(p[2], 1e6, &task->columns) && isfinite(p[3]);
    if (task->kernel == GNN_SDDMM) {
        task->scale = p[3] != 0 ? (float)p[3] : 1 / sqrtf((float)task->columns);
        return good;
    }
    task->self = (float)p[3];
    task->mean = p[4] != 0;
    return good && activation_of(p[5], &task->activation);
}

int gnn_task_read(enum gnn_kernel kernel, const struct sy_call *call, struct gnn_task *ret_task) {
    struct gnn_task task = {.kernel = kernel, .columns = 1, .scale = 1};
    const char *name = gnn_names[kernel];
    if (call->parameter_count != rules[kernel].parameters ||
        call->argument_count != rules[kernel].count) {
        return guest_call_fail(call, -EINVAL,
                               "%s has %u arguments and %u parameters, not %u and %u", name,
                               rules[kernel].count, rules[kernel].parameters, call->argument_count,
                               call->parameter_count);
    }
    if (!read_parameters(call->parameters, &task)) {
        return guest_call_fail(call, -EINVAL, "%s: a parameter is out of its range", name);
    }
    uint32_t reads = 0;
    for (uint32_t at = 0; at < call->argument_count; at++) {
        const struct sy_argument *argument = &call->arguments[at];
        uint64_t needed = sizeof(float) * values_of(&task, rules[kernel].extents[at]);
        if (argument->bytes < needed) {
            return guest_call_fail(call, -EINVAL,
                                   "%s: argument %u has %llu bytes, its sizes say %llu", name, at,
                                   (unsigned long long)argument->bytes, (unsigned long long)needed);
        }
        if (rules[kernel].extents[at] == OF_GRAPH) {
            task.graph = argument->pointer ? gnn_graph_of(argument->pointer, task.rows, task.edges)
                                           : (struct gnn_graph){NULL, NULL, NULL};
        } else if (at + 1 < call->argument_count) {
            task.reads[reads++] = argument->pointer;
        } else {
            task.result = argument->pointer;
        }
    }
    uint32_t parts = call->part_count ? call->part_count : 1;
    task.begin = (uint32_t)((uint64_t)task.rows * call->part / parts);
    task.end = (uint32_t)((uint64_t)task.rows * (call->part + 1) / parts);
    *ret_task = task;
    return 0;
}
