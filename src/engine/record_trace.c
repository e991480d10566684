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
#define SWITCH_NS    2e5    /* as is what passes between two tasks of one worker */

static int compare_starts(const void *left, const void *right, void *argument) {
    const struct sy_record_task *tasks = argument;
    const struct sy_record_task *a = &tasks[*(const uint32_t *)left];
    const struct sy_record_task *b = &tasks[*(const uint32_t *)right];
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

struct tracer {
    struct sy_record *record;
    const double *asked_ns;
    uint32_t open;   /* of the device: begun, and perhaps not yet at its end; SY_NONE */
    double since_ns; /* the open one goes on */
    double free_ns;  /* the device: last end */
};

static void add_span(struct tracer *t, enum sy_span_kind kind, uint32_t task, double start_ns,
                     double end_ns) {
    sy_trace_add(&t->record->trace, &(struct sy_span){.kind = kind,
                                                      .start_ns = start_ns,
                                                      .end_ns = end_ns,
                                                      .subject = task,
                                                      .place = t->record->tasks[task].device});
}

static void close_open(struct tracer *t) {
    if (t->open != SY_NONE) {
        add_span(t, SY_SPAN_TASK, t->open, t->since_ns, t->record->tasks[t->open].end_ns);
    }
    t->open = SY_NONE;
}

/* The core had it while the open one stood aside. */
static bool is_inside(const struct tracer *t, const struct sy_record_task *task) {
    const struct sy_record_task *open = t->open == SY_NONE ? NULL : &t->record->tasks[t->open];
    return open && t->record->machine->devices[task->device].kind == SY_CPU &&
           task->start_ns < open->end_ns && task->end_ns <= open->end_ns;
}

static void trace_inside(struct tracer *t, uint32_t number) {
    const struct sy_record_task *task = &t->record->tasks[number];
    double start_ns = fmin(fmax(task->start_ns, t->since_ns), task->end_ns);
    /* From the first part on, a moment between two that are inside is no part. */
    bool first = t->since_ns <= t->record->tasks[t->open].start_ns;
    if (start_ns > t->since_ns && (first || start_ns - t->since_ns > SWITCH_NS)) {
        add_span(t, SY_SPAN_PART, t->open, t->since_ns, start_ns);
    }
    add_span(t, SY_SPAN_TASK, number, start_ns, task->end_ns);
    t->since_ns = fmax(t->since_ns, task->end_ns);
}

static void trace_task(struct tracer *t, uint32_t number) {
    struct sy_record_task *task = &t->record->tasks[number];
    if (is_inside(t, task)) {
        trace_inside(t, number);
        return;
    }
    close_open(t);
    task->start_ns = fmin(fmax(task->start_ns, t->free_ns), task->end_ns);
    bool asked = t->asked_ns && !isnan(t->asked_ns[number]);
    double since_ns = asked ? fmax(t->asked_ns[number], t->free_ns) : NAN;
    if (task->start_ns - since_ns > STALL_MIN_NS) {
        add_span(t, SY_SPAN_STALL, number, since_ns, task->start_ns);
    }
    t->open = number;
    t->since_ns = task->start_ns;
    t->free_ns = task->end_ns;
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
    struct tracer tracer = {.record = record, .asked_ns = asked_ns, .open = SY_NONE};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t here = record->tasks[order[i]].device;
        if (here == SY_NONE) {
            continue;
        }
        if (here != device) {
            close_open(&tracer);
            tracer.free_ns = 0;
        }
        device = here;
        trace_task(&tracer, order[i]);
    }
    close_open(&tracer);
    sy_trace_sort(&record->trace);
    return record->trace.failed ? -ENOMEM : sy_record_find_asides(record);
}

int sy_record_find_asides(struct sy_record *record) {
    uint32_t count = record->graph->task_count;
    double *had_ns = calloc(count + 1u, sizeof *had_ns);
    bool *in_parts = calloc(count + 1u, sizeof *in_parts);
    for (uint32_t i = 0; had_ns && in_parts && i < record->trace.count; i++) {
        const struct sy_span *span = &record->trace.spans[i];
        if (sy_span_executes(span)) {
            had_ns[span->subject] += span->end_ns - span->start_ns;
            in_parts[span->subject] |= span->kind == SY_SPAN_PART;
        }
    }
    for (uint32_t t = 0; had_ns && in_parts && t < count; t++) {
        struct sy_record_task *task = &record->tasks[t];
        double aside_ns = task->end_ns - task->start_ns - had_ns[t];
        task->aside_ns = in_parts[t] ? fmax(0, aside_ns) : 0;
    }
    int code = had_ns && in_parts ? 0 : -ENOMEM;
    free(had_ns);
    free(in_parts);
    return code;
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
