/* SPDX-License-Identifier: Apache-2.0
 *
 * facts: what the record says about one task, and what its like really took.
 */
#include "cli/explain/explain.h"

#include <math.h>
#include <stdlib.h>

#define LIKE 1.001 /* works within this ratio count as the same */

static int by_start(const void *a, const void *b, void *context) {
    const struct sy_record_task *tasks = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = SY_ORDER(tasks[x].start_ns, tasks[y].start_ns);
    order = order ? order : SY_ORDER(tasks[x].end_ns, tasks[y].end_ns);
    return order ? order : SY_ORDER(x, y);
}

/* Tasks dealt out to their devices, then each device's by start. */
static void sort_devices(struct sy_explain *explain) {
    const struct sy_record *record = explain->record;
    uint32_t devices = record->machine->device_count, tasks = record->graph->task_count;
    uint32_t *start = explain->device_start;
    for (uint32_t t = 0; t < tasks; t++) {
        if (record->tasks[t].device != SY_NONE) {
            start[record->tasks[t].device + 1]++;
        }
    }
    for (uint32_t d = 0; d < devices; d++) {
        start[d + 1] += start[d];
    }
    for (uint32_t t = tasks; t-- > 0;) {
        if (record->tasks[t].device != SY_NONE) {
            explain->device_tasks[--start[record->tasks[t].device + 1]] = t;
        }
    }
    /* Each entry has moved down to where its device begins, one place too high. */
    for (uint32_t d = 0; d < devices; d++) {
        start[d] = start[d + 1];
    }
    start[devices] = explain->ran_count;
    for (uint32_t d = 0; d < devices; d++) {
        qsort_r(explain->device_tasks + start[d], start[d + 1] - start[d], sizeof(uint32_t),
                by_start, record->tasks);
    }
    for (uint32_t i = 0; i < explain->ran_count; i++) {
        explain->position[explain->device_tasks[i]] = i;
    }
}

static void find_decisions(struct sy_explain *explain) {
    const struct sy_record *record = explain->record;
    for (uint32_t i = 0; i < record->decision_count; i++) {
        uint32_t *last = &explain->decision[record->decisions[i].task];
        if (*last == SY_NONE || record->decisions[i].at_ns >= record->decisions[*last].at_ns) {
            *last = i;
        }
    }
}

static void find_extent(struct sy_explain *explain) {
    const struct sy_record *record = explain->record;
    double first = INFINITY, end = -INFINITY;
    for (uint32_t t = 0; t < record->graph->task_count; t++) {
        const struct sy_record_task *task = &record->tasks[t];
        first = fmin(first, fmin(task->submitted_ns, task->start_ns)); /* fmin passes NAN over */
        end = fmax(end, task->end_ns);
        explain->ran_count += task->device != SY_NONE;
    }
    explain->first_ns = isfinite(first) ? first : 0;
    explain->end_ns = isfinite(end) ? fmax(end, explain->first_ns) : explain->first_ns;
}

void sy_explain_init(struct sy_explain *explain, const struct sy_record *record) {
    uint32_t tasks = record->graph->task_count;
    *explain = (struct sy_explain){.record = record, .arena = sy_need(sy_arena_create())};
    explain->device_start = sy_need(sy_arena_alloc(
        explain->arena, record->machine->device_count + 1u, sizeof *explain->device_start));
    explain->device_tasks = sy_need(sy_arena_alloc(explain->arena, tasks + 1u, sizeof(uint32_t)));
    explain->position = sy_need(sy_arena_alloc(explain->arena, tasks + 1u, sizeof(uint32_t)));
    explain->decision = sy_need(sy_arena_alloc(explain->arena, tasks + 1u, sizeof(uint32_t)));
    explain->stall_ns = sy_need(sy_arena_alloc(explain->arena, tasks + 1u, sizeof(double)));
    for (uint32_t t = 0; t < tasks; t++) {
        explain->position[t] = explain->decision[t] = SY_NONE;
    }
    for (uint32_t i = 0; i < record->trace.count; i++) {
        const struct sy_span *span = &record->trace.spans[i];
        if (span->kind == SY_SPAN_STALL) {
            explain->stall_ns[span->subject] += span->end_ns - span->start_ns;
        }
    }
    find_extent(explain);
    sort_devices(explain);
    find_decisions(explain);
}

void sy_explain_finish(struct sy_explain *explain) {
    sy_arena_destroy(explain->arena);
}

const struct sy_decided *sy_explain_decided(const struct sy_explain *explain, uint32_t task) {
    uint32_t index = explain->decision[task];
    return index == SY_NONE ? NULL : &explain->record->decisions[index];
}

double sy_explain_duration_ns(const struct sy_explain *explain, uint32_t task) {
    return sy_record_took_ns(&explain->record->tasks[task]);
}

const char *sy_explain_device(const struct sy_explain *explain, uint32_t device) {
    return explain->record->machine->devices[device].name;
}

const char *sy_explain_kernel(const struct sy_explain *explain, uint32_t task) {
    const struct sy_graph *graph = explain->record->graph;
    return graph->kernels[graph->tasks[task].kernel].name;
}

uint32_t sy_explain_class(const struct sy_explain *explain, uint32_t device) {
    return explain->record->machine->devices[device].class_index;
}

uint32_t sy_explain_last_input(const struct sy_explain *explain, uint32_t task) {
    const struct sy_graph *graph = explain->record->graph;
    const struct sy_record_task *tasks = explain->record->tasks;
    uint32_t last = SY_NONE;
    for (uint32_t e = graph->pred_start[task]; e < graph->pred_start[task + 1]; e++) {
        uint32_t pred = graph->pred[e];
        if (tasks[pred].device != SY_NONE &&
            (last == SY_NONE || tasks[pred].end_ns > tasks[last].end_ns)) {
            last = pred;
        }
    }
    return last;
}

uint32_t sy_explain_before(const struct sy_explain *explain, uint32_t task) {
    uint32_t at = explain->position[task];
    if (at == SY_NONE || at == explain->device_start[explain->record->tasks[task].device]) {
        return SY_NONE;
    }
    return explain->device_tasks[at - 1];
}

/* Durations of other tasks like this one on devices of the class; returns how many. */
static uint32_t collect(const struct sy_explain *explain, uint32_t task, uint32_t class_index,
                        bool same_work, double *values) {
    const struct sy_record *record = explain->record;
    const struct sy_task *graph_tasks = record->graph->tasks;
    double work = graph_tasks[task].work;
    uint32_t count = 0;
    for (uint32_t t = 0; t < record->graph->task_count; t++) {
        bool is_like = !same_work ||
                       (graph_tasks[t].work <= work * LIKE && graph_tasks[t].work * LIKE >= work);
        if (t != task && graph_tasks[t].kernel == graph_tasks[task].kernel && is_like &&
            record->tasks[t].device != SY_NONE &&
            sy_explain_class(explain, record->tasks[t].device) == class_index) {
            values[count++] = sy_explain_duration_ns(explain, t);
        }
    }
    return count;
}

static struct sy_explain_seen seen_on(const struct sy_explain *explain, uint32_t task,
                                      uint32_t class_index) {
    double *values = sy_need(calloc(explain->record->graph->task_count + 1u, sizeof *values));
    uint32_t count = collect(explain, task, class_index, true, values);
    if (count == 0) {
        count = collect(explain, task, class_index, false, values);
    }
    struct sy_explain_seen seen = {count, sy_quantile(values, count, 0.5)};
    free(values);
    return seen;
}

/* When the device had really ended what it was given before that moment. */
static double really_free_ns(const struct sy_explain *explain, const struct sy_decided *decided,
                             uint32_t device) {
    const struct sy_record *record = explain->record;
    double free_ns = decided->at_ns;
    for (uint32_t i = explain->device_start[device]; i < explain->device_start[device + 1]; i++) {
        uint32_t t = explain->device_tasks[i];
        const struct sy_decided *other = sy_explain_decided(explain, t);
        bool was_there = record->tasks[t].start_ns < decided->at_ns ||
                         (other && (other->at_ns < decided->at_ns ||
                                    (other->at_ns == decided->at_ns && other < decided)));
        if (t != decided->task && was_there) {
            free_ns = fmax(free_ns, record->tasks[t].end_ns);
        }
    }
    return free_ns;
}

struct sy_explain_hindsight sy_explain_hindsight(const struct sy_explain *explain,
                                                 const struct sy_decided *decided,
                                                 const struct sy_alternative *alternative) {
    uint32_t device = alternative->device;
    struct sy_explain_hindsight answer = {
        .free_ns = really_free_ns(explain, decided, device),
        .seen = seen_on(explain, decided->task, sy_explain_class(explain, device))};
    double inputs_ns = isfinite(alternative->inputs_ns) ? alternative->inputs_ns : 0;
    answer.end_ns = fmax(answer.free_ns, decided->at_ns + inputs_ns) + answer.seen.median_ns;
    return answer;
}
