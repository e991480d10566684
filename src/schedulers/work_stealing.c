/* SPDX-License-Identifier: Apache-2.0
 *
 * Work stealing: each device has a deque. A task goes to the device that released it, an owner
 * takes its newest, a device without work steals the oldest from the fullest deque that holds
 * something it can run.
 */
#include "schedulers/policy.h"
#include <errno.h>

struct stealing {
    struct policy base;
    uint32_t *oldest, *newest, *count; /* per device */
    uint32_t *older, *younger;         /* per task */
    uint32_t releaser;                 /* device whose task has just ended */
    uint32_t turn;
};

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    int code = sy_policy_init(s, view, args, sizeof(struct stealing));
    if (code) {
        return code;
    }
    struct stealing *w = s->state;
    uint32_t devices = view->machine->device_count;
    w->oldest = sy_arena_alloc(w->base.arena, devices, sizeof *w->oldest);
    w->newest = sy_arena_alloc(w->base.arena, devices, sizeof *w->newest);
    w->count = sy_arena_alloc(w->base.arena, devices, sizeof *w->count);
    w->older = sy_arena_alloc(w->base.arena, view->task_capacity + 1u, sizeof *w->older);
    w->younger = sy_arena_alloc(w->base.arena, view->task_capacity + 1u, sizeof *w->younger);
    if (!w->oldest || !w->newest || !w->count || !w->older || !w->younger) {
        return -ENOMEM;
    }
    for (uint32_t d = 0; d < devices; d++) {
        w->oldest[d] = w->newest[d] = SY_NONE;
    }
    w->releaser = SY_NONE;
    return 0;
}

static void job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    sy_order_arrived(s->state, view, job);
}

static void task_done(struct sy_scheduler *s, const struct sy_view *view, uint32_t task,
                      uint32_t device, double duration_ns) {
    sy_policy_task_done(s, view, task, device, duration_ns);
    ((struct stealing *)s->state)->releaser = device;
}

static void task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct stealing *w = s->state;
    uint32_t device = w->releaser, devices = view->machine->device_count;
    for (uint32_t i = 0; i < devices; i++) {
        if (device != SY_NONE && isfinite(sy_estimate_time_ns(view, task, device))) {
            break;
        }
        device = w->turn++ % devices;
    }
    w->older[task] = w->newest[device];
    w->younger[task] = SY_NONE;
    *(w->newest[device] == SY_NONE ? &w->oldest[device] : &w->younger[w->newest[device]]) = task;
    w->newest[device] = task;
    w->count[device]++;
}

static void take(struct stealing *w, uint32_t device, uint32_t task) {
    uint32_t older = w->older[task], younger = w->younger[task];
    *(older == SY_NONE ? &w->oldest[device] : &w->younger[older]) = younger;
    *(younger == SY_NONE ? &w->newest[device] : &w->older[younger]) = older;
    w->count[device]--;
}

/* Of a deque, the task to take: from the given end on the first that the device can run, or under a
 * job order the first of the job that comes first. */
static uint32_t look(const struct stealing *w, const struct sy_view *view, uint32_t owner,
                     uint32_t device, bool newest_first) {
    uint32_t task = newest_first ? w->newest[owner] : w->oldest[owner], best = SY_NONE;
    double best_key = -INFINITY;
    for (; task != SY_NONE; task = newest_first ? w->older[task] : w->younger[task]) {
        if (!isfinite(sy_estimate_time_ns(view, task, device))) {
            continue;
        }
        double key = sy_order_job_key(&w->base, view, view->task_job[task]);
        if (key > best_key) {
            best_key = key;
            best = task;
        }
        if (w->base.order == ORDER_NONE) {
            break;
        }
    }
    return best;
}

static uint32_t pop(struct stealing *w, const struct sy_view *view, uint32_t device) {
    uint32_t task = look(w, view, device, device, true);
    if (task != SY_NONE) {
        take(w, device, task);
    }
    return task;
}

static uint32_t steal(struct stealing *w, const struct sy_view *view, uint32_t thief) {
    uint32_t victim = SY_NONE, found = SY_NONE;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        if (w->count[d] == 0 || (victim != SY_NONE && w->count[d] <= w->count[victim])) {
            continue;
        }
        uint32_t task = look(w, view, d, thief, false);
        if (task != SY_NONE) {
            victim = d;
            found = task;
        }
    }
    if (found != SY_NONE) {
        take(w, victim, found);
    }
    return found;
}

static uint32_t decide(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                       uint32_t capacity) {
    struct stealing *w = s->state;
    w->releaser = SY_NONE;
    (void)capacity;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        const struct sy_view_device *v = &view->devices[d];
        if (v->running != SY_NONE || v->queue_length || v->lost) {
            continue;
        }
        uint32_t task = pop(w, view, d);
        task = task == SY_NONE ? steal(w, view, d) : task;
        if (task != SY_NONE) {
            double exec_ns = sy_estimate_exec_ns(&w->base, view, task, d);
            *ret = (struct sy_decision){
                .kind = SY_RUN, .task = task, .device = d, .expected_ns = exec_ns};
            sy_order_charge(&w->base, view, task, exec_ns);
            return 1;
        }
    }
    return 0;
}

const struct sy_scheduler_ops sy_policy_stealing = {
    .name = "ws",
    .summary = "work stealing: own newest first, else the oldest of the fullest deque",
    .init = init,
    .finish = sy_policy_finish,
    .job_arrived = job_arrived,
    .task_ready = task_ready,
    .task_done = task_done,
    .decide = decide,
};
