/* SPDX-License-Identifier: Apache-2.0
 *
 * Late binding: an accelerator holds a second task, so that its inputs travel while the first runs.
 * If the first takes longer than expected, or another device becomes idle, the second may end
 * sooner elsewhere: it is taken back. Only for a device that is idle now and that nothing else
 * wanted. Tried: to let tasks whose turn comes sooner take its place. Its inputs had travelled,
 * theirs had not, and where copies disturb each other up to a quarter more bytes travelled
 * (docs/design/005).
 */
#include "schedulers/late_binding.h"
#include <errno.h>

/* Two devices must not pass a task to and fro. */
#define RECALLS_MOST 4

int sy_late_recall_init(struct late *l, const struct sy_view *view) {
    struct sy_arena *arena = l->base.arena;
    l->recalls = sy_arena_alloc(arena, view->task_capacity + 1u, sizeof *l->recalls);
    l->queued = sy_arena_alloc(arena, view->machine->device_count, sizeof *l->queued);
    return l->recalls && l->queued ? 0 : -ENOMEM;
}

/* Forgets what has begun, or was taken away. */
static struct late_queued *look_at_queued(struct late *l, const struct sy_view *view,
                                          uint32_t device) {
    struct late_queued *queued = &l->queued[device];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < queued->count; i++) {
        uint32_t task = queued->task[i];
        if (view->task_device[task] == device && view->task_state[task] <= SY_TASK_READY) {
            queued->task[kept] = task;
            queued->exec_ns[kept++] = queued->exec_ns[i];
        }
    }
    queued->count = kept;
    return queued;
}

void sy_late_note_queued(struct late *l, const struct sy_view *view, uint32_t task,
                         const struct late_choice *choice) {
    struct late_queued *queued = &l->queued[choice->device]; /* of this round: in no view yet */
    if (view->machine->devices[choice->device].kind != SY_CPU && queued->count < LATE_QUEUED) {
        queued->task[queued->count] = task;
        queued->exec_ns[queued->count++] = choice->exec_ns;
    }
}

static bool is_idle(const struct sy_view *view, uint32_t device) {
    const struct sy_view_device *d = &view->devices[device];
    return !d->lost && d->running == SY_NONE && !d->queue_length;
}

bool sy_late_may_recall(struct late *l, const struct sy_view *view) {
    bool any = false, idle = false;
    for (uint32_t d = 0; d < view->machine->device_count && !l->mode.gate; d++) {
        any |= look_at_queued(l, view, d)->count > 0;
        idle = idle || is_idle(view, d);
    }
    return any && idle;
}

/* When it would begin where it waits, if what runs there ends as expected. */
static double begins_ns(const struct late_queued *queued, const struct sy_view *view,
                        uint32_t device, uint32_t i) {
    double ns = sy_estimate_end_ns(view, device);
    for (uint32_t k = 0; k < i; k++) {
        ns += queued->exec_ns[k];
    }
    return ns;
}

/* Where it would go if it had to be bound now. */
static struct late_choice bind_again(struct late *l, const struct sy_view *view, uint32_t device,
                                     double from_ns, uint32_t task) {
    double free_ns = l->free_ns[device];
    sy_late_book(l, view, device, from_ns);
    struct late_choice choice = sy_late_best(l, view, task);
    sy_late_book(l, view, device, free_ns);
    if (l->quick) {
        sy_quick_forget(l->quick, task);
    }
    return choice;
}

/* To hand it out once more takes a while: a little sooner is not enough. */
static bool is_worth(const struct late *l, const struct sy_view *view, uint32_t device,
                     double ends_ns, const struct late_choice *there) {
    return there->device != SY_NONE && there->device != device && !l->held[there->device] &&
           is_idle(view, there->device) && there->finish_ns + LATE_ACCELERATOR_NS < ends_ns;
}

uint32_t sy_late_recall(struct late *l, const struct sy_view *view, struct sy_decision *ret,
                        uint32_t capacity) {
    uint32_t count = 0;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        const struct late_queued *queued = look_at_queued(l, view, d);
        for (uint32_t i = 0; i < queued->count && count < capacity; i++) {
            uint32_t task = queued->task[i];
            if (l->recalls[task] == RECALLS_MOST) {
                continue;
            }
            double from_ns = begins_ns(queued, view, d, i);
            struct late_choice there = bind_again(l, view, d, from_ns, task);
            if (is_worth(l, view, d, from_ns + queued->exec_ns[i], &there)) {
                l->recalls[task]++;
                l->held[there.device]++; /* it takes one */
                sy_order_charge(&l->base, view, task, -queued->exec_ns[i]);
                ret[count++] = (struct sy_decision){.kind = SY_RECALL, .task = task, .device = d};
            }
        }
    }
    return count;
}
