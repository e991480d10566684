/* SPDX-License-Identifier: Apache-2.0
 *
 * A world from its memory to its last event.
 */
#include "world/flow.h"
#include "world/inside.h"
#include <errno.h>
#include <math.h>
#include <string.h>

/* Joined by & rather than &&: nothing depends on the order, and all failures are alike. */
#define TAKE(field, count)                                                                         \
    ((int)((w->field = sy_arena_alloc(arena, (size_t)(count), sizeof *w->field)) != NULL))

static bool take_tasks(struct sy_world *w, struct sy_arena *arena,
                       const struct sy_world_options *o) {
    size_t tasks = o->task_capacity + 1u, data = o->data_capacity + 1u;
    return TAKE(task_state, tasks) & TAKE(task_delayed, tasks) & TAKE(task_device, tasks) &
           TAKE(task_pending, tasks) & TAKE(task_missing, tasks) & TAKE(task_priority, tasks) &
           TAKE(task_expected_ns, tasks) & TAKE(begin_ns, tasks) & TAKE(end_ns, tasks) &
           TAKE(data_valid, data) & TAKE(data_inflight, data) & TAKE(data_copies, data) &
           TAKE(accesses, o->access_capacity + 1u) & TAKE(copies, w->copy_capacity) &
           TAKE(jobs, o->job_capacity + 1u);
}

static bool take_machine(struct sy_world *w, struct sy_arena *arena,
                         const struct sy_world_options *o) {
    const struct sy_machine *m = w->machine;
    bool accounts = !o->accounts ||
                    (TAKE(data_uses, o->data_capacity + 1u) & TAKE(memory_bytes, m->memory_count) &
                     TAKE(memory_peak_bytes, m->memory_count));
    return accounts && (TAKE(view_devices, m->device_count) & TAKE(devices, m->device_count) &
                        TAKE(boards, m->board_count + 1u) & TAKE(channels, m->memory_count));
}

static bool take_events(struct sy_world *w, struct sy_arena *arena, uint32_t driver_slots) {
    w->slot_decision = w->machine->device_count;
    w->slot_driver = w->slot_decision + 1;
    w->slot_copy = w->slot_driver + driver_slots;
    size_t slots = (size_t)w->slot_copy + w->copy_capacity;
    bool taken =
        TAKE(events.key, slots) & TAKE(events.position, slots) & TAKE(events.entries, slots);
    for (size_t i = 0; taken && i < w->slot_copy; i++) {
        w->events.key[i] = INFINITY; /* those of copies when they are first used */
    }
    return taken;
}

int sy_world_init(struct sy_world *w, struct sy_arena *arena, const struct sy_machine *machine,
                  const struct sy_world_options *options) {
    *w = (struct sy_world){.machine = machine,
                           .shared = options->shared,
                           .preempts = options->preempts,
                           .copy_capacity = options->copy_capacity,
                           .fetched_limit = options->fetched_limit};
    bool taken = take_tasks(w, arena, options) && take_machine(w, arena, options) &&
                 take_events(w, arena, options->slot_count);
    taken =
        taken && !sy_queues_init(&w->queues, arena, options->task_capacity + 1u, w->task_priority);
    return taken ? sy_world_sharing_init(w, arena, options) : -ENOMEM;
}

void sy_world_finish(struct sy_world *w) {
    sy_flow_destroy(w->net);
    w->net = NULL;
}

void sy_world_see(struct sy_world *w, const struct sy_view *view) {
    w->view = *view;
    w->view.devices = w->view_devices;
    w->view.jobs = w->jobs;
    w->view.task_state = w->task_state;
    w->view.task_device = w->task_device;
    w->view.data_valid = w->data_valid;
    w->view.data_inflight = w->data_inflight;
}

static void clear_machine(struct sy_world *w) {
    const struct sy_machine *m = w->machine;
    for (uint32_t d = 0; d < m->device_count; d++) {
        w->view_devices[d] =
            (struct sy_view_device){.running = SY_NONE, .image = SY_NONE, .last_image = SY_NONE};
        w->devices[d] = (struct sy_world_device){.queue = SY_NONE,
                                                 .port_next = SY_NONE,
                                                 .pending_kernel = SY_NONE,
                                                 .pusher = SY_NONE,
                                                 .aside = SY_NONE,
                                                 .speed = 1};
    }
    for (uint32_t b = 0; b < m->board_count; b++) {
        w->boards[b] = (struct sy_world_board){.first_waiting = SY_NONE, .last_waiting = SY_NONE};
    }
    for (uint32_t i = 0; i < m->memory_count; i++) {
        w->channels[i] = (struct sy_world_channel){.first_queued = SY_NONE, .last_queued = SY_NONE};
    }
}

void sy_world_clear(struct sy_world *w) {
    while (w->events.count) {
        sy_heap_unset(&w->events, w->events.entries[w->events.count - 1].item);
    }
    w->failure = 0;
    w->news = false;
    w->live_events = 0;
    w->queues.next_turn = 0;
    w->held_next = w->held_count = 0;
    w->scheduler_free_ns = w->uncharged_ns = 0;
    w->copy_unused = 0;
    w->copy_free = SY_NONE;
    w->fetched_count = 0;
    w->event_count = w->decision_count = w->transfer_count = w->reconfigure_count = 0;
    w->bytes_moved = 0;
    clear_machine(w);
    sy_world_sharing_clear(w);
}

static void happen(struct sy_world *w, uint32_t slot) {
    w->event_count++;
    if (slot < w->slot_decision) {
        sy_world_device_event(w, slot);
    } else if (slot >= w->slot_copy) {
        sy_world_copy_done(w, slot - w->slot_copy);
    } else if (slot == w->slot_decision) {
        sy_world_decision_due(w);
    } else {
        w->hooks.event(w->driver, slot - w->slot_driver);
    }
}

bool sy_world_step(struct sy_world *w) {
    sy_world_settle(w);
    if (!w->live_events) {
        return false;
    }
    double now_ns = w->events.entries[0].key;
    w->view.now_ns = now_ns;
    do {
        happen(w, w->events.entries[0].item);
    } while (w->events.count && w->events.entries[0].key <= now_ns && !w->failure);
    if (w->news && w->jobs_left && !w->failure) {
        sy_world_ask(w);
    }
    return true;
}
