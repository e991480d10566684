/* SPDX-License-Identifier: Apache-2.0
 *
 * A scheduling policy of your own, complete: an idle device takes the ready task that would run
 * longest there. Build and try:
 *
 *   cc -shared -fPIC $(pkg-config --cflags symph) -o longest.so policy_longest.c
 *   symph simulate --machine "cpu:4 gpu:1" --graphs gen:lu:6 --policy ./longest.so,eager,heft
 */
#include <math.h>
#include <stdlib.h>
#include <symph/scheduler.h>

struct longest {
    uint32_t *ready;
    uint32_t count;
};

static int init(struct sy_scheduler *scheduler, const struct sy_view *view, const char *args) {
    (void)args;
    struct longest *l = calloc(1, sizeof *l);
    scheduler->state = l;
    if (l == NULL) {
        return -12; /* -ENOMEM */
    }
    l->ready = calloc(view->task_capacity + 1u, sizeof *l->ready);
    return l->ready ? 0 : -12;
}

static void finish(struct sy_scheduler *scheduler) {
    struct longest *l = scheduler->state;
    if (l) {
        free(l->ready);
        free(l);
    }
}

static void task_ready(struct sy_scheduler *scheduler, const struct sy_view *view, uint32_t task) {
    struct longest *l = scheduler->state;
    (void)view;
    l->ready[l->count++] = task;
}

static double time_on(const struct sy_view *view, uint32_t task, uint32_t device) {
    const struct sy_machine *m = view->machine;
    return view->time_ns[(size_t)task * m->class_count + m->devices[device].class_index];
}

static uint32_t decide(struct sy_scheduler *scheduler, const struct sy_view *view,
                       struct sy_decision *ret_decisions, uint32_t capacity) {
    struct longest *l = scheduler->state;
    (void)capacity;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        const struct sy_view_device *device = &view->devices[d];
        if (device->running != SY_NONE || device->queue_length > 0 || device->lost) {
            continue;
        }
        uint32_t best = SY_NONE;
        for (uint32_t i = 0; i < l->count; i++) {
            double time = time_on(view, l->ready[i], d);
            if (isfinite(time) && (best == SY_NONE || time > time_on(view, l->ready[best], d))) {
                best = i;
            }
        }
        if (best == SY_NONE) {
            continue;
        }
        uint32_t task = l->ready[best];
        l->ready[best] = l->ready[--l->count];
        ret_decisions[0] = (struct sy_decision){
            .kind = SY_RUN, .task = task, .device = d, .expected_ns = time_on(view, task, d)};
        return 1;
    }
    return 0;
}

static const struct sy_scheduler_ops longest = {.name = "longest",
                                                .summary = "an idle device takes the longest task",
                                                .init = init,
                                                .finish = finish,
                                                .task_ready = task_ready,
                                                .decide = decide};

SY_SCHEDULER_PLUGIN(longest);
