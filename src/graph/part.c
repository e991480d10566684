/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of a graph as a graph of its own: one job of a stream that was laid out as one.
 *
 * In: a sealed graph, a run of its tasks. Out: the same tasks, with the kernels and data that they
 * use. Invariant: no task of a part depends on one outside it; such a part is refused.
 */
#include "graph/graph.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct part {
    const struct sy_graph *from;
    struct sy_graph *to;
    uint32_t first, end;
    uint32_t *kernel, *datum; /* of from: which one it is of to; SY_NONE: not yet one */
    struct sy_access *accesses;
};

static int take_kernel(struct part *part, uint32_t number, sy_kernel_id *ret_kernel) {
    const struct sy_kernel *kernel = &part->from->kernels[number];
    if (part->kernel[number] != SY_NONE) {
        ret_kernel->index = part->kernel[number];
        return 0;
    }
    struct sy_kernel_desc desc = {.name = kernel->name, .interference = kernel->interference};
    memcpy(desc.variants, kernel->variants, sizeof desc.variants);
    int code = sy_graph_add_kernel(part->to, &desc, ret_kernel);
    part->kernel[number] = ret_kernel->index;
    return code;
}

static int take_datum(struct part *part, uint32_t number, uint32_t *ret_datum) {
    const struct sy_graph *from = part->from;
    sy_data_id id = {part->datum[number]};
    int code = 0;
    if (id.index == SY_NONE) {
        code = sy_graph_add_data(part->to, from->data_names[number], from->data_bytes[number], &id);
        part->datum[number] = id.index;
    }
    *ret_datum = id.index;
    return code;
}

static int take_task(struct part *part, uint32_t number) {
    const struct sy_graph *from = part->from;
    const struct sy_task *task = &from->tasks[number];
    uint32_t count = from->tasks[number + 1].access_start - task->access_start;
    struct sy_task_desc desc = {
        .name = task->name,
        .work = task->work,
        .time_ns = from->time_ns ? &from->time_ns[(size_t)number * SY_KIND_COUNT] : NULL,
        .accesses = part->accesses,
        .access_count = count};
    int code = take_kernel(part, task->kernel, &desc.kernel);
    for (uint32_t a = 0; a < count && !code; a++) {
        part->accesses[a] = from->accesses[task->access_start + a];
        code = take_datum(part, part->accesses[a].datum, &part->accesses[a].datum);
    }
    sy_task_id id;
    return code ? code : sy_graph_add_task(part->to, &desc, &id);
}

/* Those that accesses do not say. */
static int take_edges(struct part *part, uint32_t number) {
    const struct sy_graph *from = part->from;
    int code = 0;
    for (uint32_t p = from->pred_start[number]; p < from->pred_start[number + 1] && !code; p++) {
        uint32_t before = from->pred[p];
        if (before < part->first || before >= part->end) {
            return -EINVAL;
        }
        if (from->is_explicit || from->pred_given[p]) {
            code = sy_graph_add_edge(part->to, (sy_task_id){before - part->first},
                                     (sy_task_id){number - part->first});
        }
    }
    return code;
}

static int take_all(struct part *part) {
    int code = 0;
    for (uint32_t t = part->first; t < part->end && !code; t++) {
        code = take_task(part, t);
    }
    for (uint32_t t = part->first; t < part->end && !code; t++) {
        code = take_edges(part, t);
    }
    return code;
}

static uint32_t *numbers(uint32_t count) {
    uint32_t *numbers = malloc((count + 1u) * sizeof *numbers);
    for (uint32_t i = 0; numbers && i < count; i++) {
        numbers[i] = SY_NONE;
    }
    return numbers;
}

int sy_graph_part(const struct sy_graph *graph, const char *name, uint32_t first, uint32_t count,
                  struct sy_graph **ret_part, struct sy_error *error) {
    struct part part = {.from = graph,
                        .to = sy_graph_create(name, graph->is_explicit),
                        .first = first,
                        .end = first + count,
                        .kernel = numbers(graph->kernel_count),
                        .datum = numbers(graph->data_count),
                        .accesses = calloc(graph->access_count + 1u, sizeof *part.accesses)};
    bool ready = part.to && part.kernel && part.datum && part.accesses;
    int code = ready ? take_all(&part) : -ENOMEM;
    free(part.kernel);
    free(part.datum);
    free(part.accesses);
    if (code) {
        sy_fail(error, code,
                code == -EINVAL ? "a task of job %s depends on a task of another job"
                                : "no memory for the tasks of job %s",
                name);
    }
    code = code ? code : sy_graph_seal(part.to, error);
    if (code) {
        sy_graph_destroy(part.to);
        return code;
    }
    *ret_part = part.to;
    return 0;
}
