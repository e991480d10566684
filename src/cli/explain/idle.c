/* SPDX-License-Identifier: Apache-2.0
 *
 * idle: why devices were idle. Where the time of each device went: it worked, waited for the inputs
 * of its next task, had nothing that it could run, or what it could run was kept for others.
 */
#include "cli/explain/explain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct stretch {
    double from_ns, to_ns;
};

struct stretches {
    struct stretch *items;
    uint32_t count;
};

static int by_from(const void *a, const void *b) {
    const struct stretch *x = a, *y = b;
    return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static double ready_ns(const struct sy_explain *explain, uint32_t task) {
    double ready = explain->record->tasks[task].ready_ns;
    if (isnan(ready)) {
        uint32_t input = sy_explain_last_input(explain, task);
        ready = input == SY_NONE ? explain->first_ns : explain->record->tasks[input].end_ns;
    }
    return ready;
}

/* When some task that the class can run was ready and had not started: merged, in order. */
static struct stretches waiting(const struct sy_explain *explain, uint32_t class_index,
                                struct stretch *room) {
    const struct sy_record *record = explain->record;
    struct stretches all = {.items = room};
    for (uint32_t t = 0; t < record->graph->task_count; t++) {
        size_t cell = (size_t)t * record->machine->class_count + class_index;
        double from = ready_ns(explain, t), to = record->tasks[t].start_ns;
        to = isnan(to) ? explain->end_ns : to;
        if (record->model_ns[cell] != INFINITY && to > from) {
            room[all.count++] = (struct stretch){from, to};
        }
    }
    qsort(room, all.count, sizeof *room, by_from);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < all.count; i++) {
        if (kept && room[i].from_ns <= room[kept - 1].to_ns) {
            room[kept - 1].to_ns = fmax(room[kept - 1].to_ns, room[i].to_ns);
        } else {
            room[kept++] = room[i];
        }
    }
    all.count = kept;
    return all;
}

/* How much of [from, to] the stretches cover. at moves on: gaps come in order of time. */
static double covered_ns(const struct stretches *all, uint32_t *at, double from_ns, double to_ns) {
    double sum = 0;
    while (*at < all->count && all->items[*at].to_ns <= from_ns) {
        ++*at;
    }
    for (uint32_t i = *at; i < all->count && all->items[i].from_ns < to_ns; i++) {
        sum += fmin(to_ns, all->items[i].to_ns) - fmax(from_ns, all->items[i].from_ns);
    }
    return sum;
}

static void add_gap(const struct stretches *all, uint32_t *at, double from_ns, double to_ns,
                    struct sy_explain_idle *idle) {
    if (to_ns > from_ns) {
        double held = covered_ns(all, at, from_ns, to_ns);
        idle->held_ns += held;
        idle->nothing_ns += to_ns - from_ns - held;
    }
}

/* In front of a task: from when it was ready and placed the device waits for its inputs. */
static void walk_device(const struct sy_explain *explain, uint32_t device,
                        const struct stretches *all, struct sy_explain_idle *idle) {
    const struct sy_record_task *tasks = explain->record->tasks;
    double free_ns = explain->first_ns;
    uint32_t at = 0;
    for (uint32_t i = explain->device_start[device]; i < explain->device_start[device + 1]; i++) {
        uint32_t t = explain->device_tasks[i];
        const struct sy_decided *decided = sy_explain_decided(explain, t);
        double placed = decided ? fmax(decided->at_ns, ready_ns(explain, t)) : ready_ns(explain, t);
        placed = fmin(fmax(placed, free_ns), tasks[t].start_ns);
        placed = fmin(placed, fmax(free_ns, tasks[t].start_ns - explain->stall_ns[t]));
        idle->inputs_ns += fmax(0, tasks[t].start_ns - fmax(placed, free_ns));
        add_gap(all, &at, free_ns, placed, idle);
        idle->busy_ns += fmax(0, tasks[t].end_ns - fmax(tasks[t].start_ns, free_ns));
        free_ns = fmax(free_ns, tasks[t].end_ns);
        idle->task_count++;
    }
    add_gap(all, &at, free_ns, explain->end_ns, idle);
}

struct sy_explain_idle *sy_explain_idle(struct sy_explain *explain) {
    const struct sy_machine *machine = explain->record->machine;
    struct sy_explain_idle *idle =
        sy_need(sy_arena_alloc(explain->arena, machine->device_count, sizeof *idle));
    struct stretch *room = sy_need(calloc(explain->record->graph->task_count + 1u, sizeof *room));
    for (uint32_t c = 0; c < machine->class_count; c++) {
        struct stretches all = waiting(explain, c, room);
        for (uint32_t d = 0; d < machine->device_count; d++) {
            if (machine->devices[d].class_index == c) {
                walk_device(explain, d, &all, &idle[d]);
            }
        }
    }
    free(room);
    return idle;
}
