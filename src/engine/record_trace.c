/* SPDX-License-Identifier: Apache-2.0
 *
 * What a record says of itself once its tasks and its model are known: the spans of its trace, the
 * times of its graph.
 */
#include "engine/engine.h"
#include "graph/graph.h"
#include "topology/topology.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define STALL_MIN_NS 1000.0 /* shorter waits are StarPU's own work */

static int compare_starts(const void *left, const void *right, void *argument) {
    const struct sy_record_task *tasks = argument;
    const struct sy_record_task *a = &tasks[*(const uint32_t *)left];
    const struct sy_record_task *b = &tasks[*(const uint32_t *)right];
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

int sy_record_add_trace(struct sy_record *record, const double *asked_ns) {
    uint32_t count = record->graph->task_count, device = SY_NONE;
    uint32_t *order = sy_arena_alloc(record->arena, count + 1u, sizeof *order);
    if (!order || sy_trace_reserve(&record->trace, 2 * count) < 0) {
        return -ENOMEM;
    }
    for (uint32_t t = 0; t < count; t++) {
        order[t] = t;
    }
    qsort_r(order, count, sizeof *order, compare_starts, record->tasks);
    double free_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct sy_record_task *task = &record->tasks[order[i]];
        if (task->device == SY_NONE) {
            continue;
        }
        free_ns = task->device == device ? free_ns : 0;
        device = task->device;
        task->start_ns = fmin(fmax(task->start_ns, free_ns), task->end_ns);
        bool asked = asked_ns && !isnan(asked_ns[order[i]]);
        double since_ns = asked ? fmax(asked_ns[order[i]], free_ns) : NAN;
        if (task->start_ns - since_ns > STALL_MIN_NS) {
            sy_trace_add(&record->trace, &(struct sy_span){.kind = SY_SPAN_STALL,
                                                           .start_ns = since_ns,
                                                           .end_ns = task->start_ns,
                                                           .subject = order[i],
                                                           .place = device});
        }
        sy_trace_add(&record->trace, &(struct sy_span){.kind = SY_SPAN_TASK,
                                                       .start_ns = task->start_ns,
                                                       .end_ns = task->end_ns,
                                                       .subject = order[i],
                                                       .place = device});
        free_ns = task->end_ns;
    }
    sy_trace_sort(&record->trace);
    return record->trace.failed ? -ENOMEM : 0;
}

int sy_record_set_times(struct sy_record *record) {
    struct sy_graph *graph = record->graph;
    const struct sy_machine *machine = record->machine;
    size_t classes = machine->class_count, count = graph->task_count;
    if (!graph->time_ns) {
        graph->time_ns = calloc(count * SY_KIND_COUNT + 1, sizeof(double)); /* as the graph does */
        for (size_t i = 0; graph->time_ns && i < count * SY_KIND_COUNT; i++) {
            graph->time_ns[i] = NAN;
        }
    }
    for (size_t t = 0; graph->time_ns && t < count; t++) {
        double *times = &graph->time_ns[t * SY_KIND_COUNT];
        bool set[SY_KIND_COUNT] = {0};
        for (size_t c = 0; c < classes; c++) {
            double time_ns = record->model_ns[t * classes + c];
            enum sy_device_kind kind = machine->classes[c].kind;
            if (!isnan(time_ns) && (!set[kind] || time_ns < times[kind])) {
                times[kind] = time_ns;
                set[kind] = true;
            }
        }
    }
    return graph->time_ns ? 0 : -ENOMEM;
}
