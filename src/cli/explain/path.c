/* SPDX-License-Identifier: Apache-2.0
 *
 * path: the critical path as it was, the chain of tasks that determined the makespan.
 */
#include "cli/explain/explain.h"

#include <math.h>

/* Started before; equal starts by number, so that a chain of such steps ends. */
static bool is_earlier(const struct sy_record_task *tasks, uint32_t a, uint32_t b) {
    return tasks[a].start_ns < tasks[b].start_ns ||
           (tasks[a].start_ns == tasks[b].start_ns && a < b);
}

/* What ended last before the task could start. */
static struct sy_explain_link step(const struct sy_explain *explain, uint32_t task,
                                   uint32_t *ret_next) {
    const struct sy_record_task *tasks = explain->record->tasks;
    uint32_t input = sy_explain_last_input(explain, task);
    uint32_t before = sy_explain_before(explain, task);
    input = input != SY_NONE && is_earlier(tasks, input, task) ? input : SY_NONE;
    before = before != SY_NONE && is_earlier(tasks, before, task) ? before : SY_NONE;
    bool by_input =
        input != SY_NONE && (before == SY_NONE || tasks[input].end_ns >= tasks[before].end_ns);
    uint32_t next = by_input ? input : before;
    double from = next == SY_NONE ? explain->first_ns : tasks[next].end_ns;
    *ret_next = next;
    return (struct sy_explain_link){.task = task,
                                    .cause = next == SY_NONE ? SY_CAUSE_START
                                             : by_input      ? SY_CAUSE_INPUT
                                                             : SY_CAUSE_DEVICE,
                                    .gap_ns = fmax(0, tasks[task].start_ns - from)};
}

struct sy_explain_link *sy_explain_path(struct sy_explain *explain, uint32_t *ret_count) {
    const struct sy_record_task *tasks = explain->record->tasks;
    uint32_t last = SY_NONE, next = SY_NONE, count = 0;
    for (uint32_t t = 0; t < explain->record->graph->task_count; t++) {
        if (tasks[t].device != SY_NONE &&
            (last == SY_NONE || tasks[t].end_ns > tasks[last].end_ns)) {
            last = t;
        }
    }
    for (uint32_t t = last; t != SY_NONE; t = next) {
        step(explain, t, &next);
        count++;
    }
    struct sy_explain_link *links =
        sy_need(sy_arena_alloc(explain->arena, count + 1u, sizeof *links));
    uint32_t at = count;
    for (uint32_t t = last; t != SY_NONE; t = next) {
        links[--at] = step(explain, t, &next);
    }
    *ret_count = count;
    return links;
}
