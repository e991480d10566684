/* SPDX-License-Identifier: Apache-2.0
 *
 * What is decided in a live world: asking the policy, queues of devices, and the alternatives that
 * make a decision explainable.
 */
#include "engine/live_world.h"
#include <math.h>
#include <string.h>

#define DECISIONS_AT_ONCE 64

/* --- queues ------------------------------------------------------------------------------------
 */

void live_enqueue(struct sy_live *live, uint32_t task) {
    struct live_queue *queue = &live->queues[live->task_device[task]];
    struct sy_heap *heap = &queue->heap;
    if (sy_grow(&heap->entries, &queue->capacity, heap->count + 1, sizeof *heap->entries)) {
        live_fail(live, "out of memory");
        return;
    }
    sy_heap_push(heap,
                 (struct sy_heap_entry){-live->priority[task], live->committed_at[task], task});
}

void live_dequeue(struct sy_live *live, uint32_t task) {
    struct sy_heap *heap = &live->queues[live->task_device[task]].heap;
    for (uint32_t i = 0; i < heap->count; i++) {
        if (heap->entries[i].item == task) {
            sy_heap_take(heap, i);
            return;
        }
    }
}

void live_commit(struct sy_live *live, uint32_t task, uint32_t device, double priority,
                 double expected_ns) {
    struct sy_view_device *v = &live->devices[device];
    live->task_device[task] = device;
    live->priority[task] = priority;
    live->expected_ns[task] = expected_ns;
    live->committed_at[task] = live->sequence++;
    v->queue_length++;
    v->queued_ns += expected_ns;
    if (live->task_state[task] == SY_TASK_READY) {
        live_enqueue(live, task);
        live_inputs_coming(live, task);
    }
}

void live_uncommit(struct sy_live *live, uint32_t task) {
    struct sy_view_device *v = &live->devices[live->task_device[task]];
    if (live->task_state[task] == SY_TASK_READY && live->committed_at[task] != LIVE_HANDED) {
        live_dequeue(live, task);
    }
    v->queue_length--;
    bool more = v->queue_length || v->suspended;
    v->queued_ns = more ? fmax(0, v->queued_ns - live->expected_ns[task]) : 0;
}

void sy_live_move(struct sy_live *live, uint32_t task, uint32_t device) {
    live_uncommit(live, task);
    live_commit(live, task, device, live->priority[task], live->expected_ns[task]);
}

static void inputs_coming(struct sy_live *live, uint32_t task, uint32_t memory) {
    uint64_t bit = UINT64_C(1) << memory;
    for (uint32_t a = live->access_start[task]; a < live->access_start[task + 1]; a++) {
        uint32_t datum = live->access[a].datum;
        uint32_t producer = live->access_producer[a];
        bool exists = producer == SY_NONE || live->task_state[producer] == SY_TASK_DONE;
        if ((live->access[a].mode & SY_READ) && exists && !(live->data_valid[datum] & bit)) {
            live->data_inflight[datum] |= bit;
        }
    }
}

void live_inputs_coming(struct sy_live *live, uint32_t task) {
    inputs_coming(live, task, live->view.machine->devices[live->task_device[task]].memory);
}

uint32_t sy_live_first(const struct sy_live *live, uint32_t device) {
    const struct sy_heap *heap = &live->queues[device].heap;
    return heap->count ? heap->entries[0].item : SY_NONE;
}

double sy_live_expected_ns(const struct sy_live *live, uint32_t task) {
    return live->expected_ns[task];
}

double sy_live_priority(const struct sy_live *live, uint32_t task) {
    return live->priority[task];
}

/* --- alternatives ------------------------------------------------------------------------------
 */

/* Copies of the inputs that are not there, one after the other, each from where it is nearest. */
static double inputs_ns(const struct sy_live *live, uint32_t task, uint32_t memory) {
    const struct sy_machine *m = live->view.machine;
    uint64_t bit = UINT64_C(1) << memory;
    double sum = 0;
    for (uint32_t a = live->access_start[task]; a < live->access_start[task + 1]; a++) {
        uint32_t datum = live->access[a].datum;
        uint64_t there = live->data_valid[datum];
        if (!(live->access[a].mode & SY_READ) || (there & bit) || !there) {
            continue;
        }
        double nearest = INFINITY;
        for (uint32_t from = 0; from < m->memory_count; from++) {
            if (there >> from & 1) {
                nearest =
                    fmin(nearest, sy_cost_transfer_ns(m, from, memory, live->data_bytes[datum]));
            }
        }
        sum += nearest;
    }
    return sum;
}

static bool same_prospects(const struct sy_live *live, uint32_t a, uint32_t b) {
    const struct sy_device *x = &live->view.machine->devices[a],
                           *y = &live->view.machine->devices[b];
    return x->class_index == y->class_index && x->memory == y->memory;
}

/* Until the device has done what it holds. */
static double load_ns(const struct sy_live *live, uint32_t device) {
    const struct sy_view_device *v = &live->devices[device];
    double busy = live->running_count[device] ? v->running_end_ns - live->view.now_ns : 0;
    return fmax(0, busy) + v->queued_ns;
}

static struct sy_alternative prospect(const struct sy_live *live, uint32_t task, uint32_t device) {
    const struct sy_machine *m = live->view.machine;
    uint32_t class_index = m->devices[device].class_index;
    size_t kernel = live->task_kernel[task];
    struct sy_alternative a = {.device = device};
    a.queue_ns = load_ns(live, device);
    a.inputs_ns = inputs_ns(live, task, m->devices[device].memory);
    a.exec_ns = live->time_ns[(size_t)task * m->class_count + class_index];
    a.log_sigma = live->log_sigma[kernel * m->class_count + class_index];
    a.finish_ns = fmax(a.queue_ns, a.inputs_ns) + a.exec_ns;
    return a;
}

/* The device of each kind and memory that is free first, [0] apart: the others are worse. */
static void consider(const struct sy_live *live, struct sy_decided *d, uint32_t device) {
    double queue_ns = load_ns(live, device);
    for (uint32_t i = 1; i < d->alternative_count; i++) {
        if (same_prospects(live, d->alternatives[i].device, device)) {
            if (queue_ns < d->alternatives[i].queue_ns) {
                d->alternatives[i].device = device;
                d->alternatives[i].queue_ns = queue_ns;
            }
            return;
        }
    }
    if (d->alternative_count < SY_ALTERNATIVE_MAX) {
        d->alternatives[d->alternative_count++] =
            (struct sy_alternative){.device = device, .queue_ns = queue_ns};
    }
}

static void explain(const struct sy_live *live, const struct sy_decision *decision,
                    struct sy_decided *ret_decided) {
    struct sy_decided *d = ret_decided;
    *d = (struct sy_decided){.at_ns = live->view.now_ns,
                             .priority = decision->priority,
                             .task = decision->task,
                             .device = decision->device,
                             .ready_count = live->ready_count,
                             .alternative_count = 1,
                             .reason = decision->reason};
    d->alternatives[0] = prospect(live, decision->task, decision->device);
    if (isfinite(decision->expected_ns)) {
        d->alternatives[0].exec_ns = decision->expected_ns;
        d->alternatives[0].finish_ns =
            fmax(d->alternatives[0].queue_ns, d->alternatives[0].inputs_ns) + decision->expected_ns;
    }
    const struct sy_machine *m = live->view.machine;
    const double *time_ns = live->time_ns + (size_t)decision->task * m->class_count;
    for (uint32_t i = 0; i < m->device_count; i++) {
        if (i != decision->device && !live->devices[i].lost &&
            isfinite(time_ns[m->devices[i].class_index])) {
            consider(live, d, i);
        }
    }
    for (uint32_t i = 1; i < d->alternative_count; i++) {
        d->alternatives[i] = prospect(live, decision->task, d->alternatives[i].device);
    }
}

/* --- asking ------------------------------------------------------------------------------------
 */

static const char *illegal_push(const struct sy_live *live, const struct sy_decision *d) {
    if (!live->devices[d->device].preemptible) {
        return "nothing there can be pushed aside";
    }
    return live->task_state[d->task] == SY_TASK_READY
               ? NULL
               : "a task that is not ready pushes nothing aside";
}

static const char *illegal(const struct sy_live *live, const struct sy_decision *d) {
    const struct sy_machine *m = live->view.machine;
    if (d->kind == SY_RECONFIGURE) {
        return "asked for a reconfiguration, and there is no region";
    }
    if (d->task >= live->task_count || d->device >= m->device_count) {
        return "decided about a task or a device that does not exist";
    }
    if (d->kind == SY_PREEMPT && illegal_push(live, d)) {
        return illegal_push(live, d);
    }
    if (d->kind != SY_FETCH && d->kind != SY_RECALL &&
        (live->task_device[d->task] != SY_NONE || live->task_state[d->task] > SY_TASK_READY)) {
        return "placed a task twice";
    }
    if (d->kind == SY_RECALL &&
        (live->task_device[d->task] != d->device || live->task_state[d->task] > SY_TASK_READY)) {
        return "took back a task that does not wait there";
    }
    uint32_t class_index = m->devices[d->device].class_index;
    if (!isfinite(live->time_ns[(size_t)d->task * m->class_count + class_index])) {
        return "placed a task on a device that cannot run it";
    }
    return live->devices[d->device].lost ? "placed a task on a lost device" : NULL;
}

/* What its device has in hand already stays there. */
static void take_back(struct sy_live *live, uint32_t task,
                      const struct sy_live_listener *listener) {
    if (live->committed_at[task] == LIVE_HANDED) {
        return;
    }
    if (live->task_state[task] == SY_TASK_READY) {
        sy_live_recall(live, task);
        listener->taken_back(listener->context, task);
    } else {
        live_uncommit(live, task);
        live->task_device[task] = SY_NONE;
    }
}

static void carry_out(struct sy_live *live, const struct sy_decision *d,
                      const struct sy_live_listener *listener) {
    bool ready = live->task_state[d->task] == SY_TASK_READY;
    if (d->kind == SY_FETCH) {
        inputs_coming(live, d->task, live->view.machine->devices[d->device].memory);
        listener->told(listener->context, d->task, d->device, true);
        return;
    }
    if (d->kind == SY_RECALL) {
        take_back(live, d->task, listener);
        return;
    }
    if (live->explain && listener->decided) {
        struct sy_decided decided;
        explain(live, d, &decided);
        listener->decided(listener->context, &decided);
    }
    live->ready_count -= ready;
    live_commit(live, d->task, d->device, d->kind == SY_PREEMPT ? INFINITY : d->priority,
                d->expected_ns);
    if (ready && d->kind == SY_PREEMPT) {
        live_dequeue(live, d->task);
        live->committed_at[d->task] = LIVE_HANDED;
        live->asides[d->device].pusher = d->task;
        live_see_preemptible(live, d->device);
        listener->pushed(listener->context, d->task, d->device);
    } else if (ready) {
        listener->told(listener->context, d->task, d->device, false);
    }
}

void sy_live_decide(struct sy_live *live, const struct sy_live_listener *listener) {
    struct sy_decision decisions[DECISIONS_AT_ONCE];
    for (uint32_t i = 0; i < live->fresh_count; i++) {
        uint32_t task = live->fresh[i];
        if (live->task_state[task] == SY_TASK_READY && live->task_device[task] != SY_NONE) {
            live_inputs_coming(live, task);
            listener->told(listener->context, task, live->task_device[task], false);
        }
    }
    live->fresh_count = 0;
    for (;;) {
        uint32_t count = live->scheduler.ops->decide(&live->scheduler, &live->view, decisions,
                                                     DECISIONS_AT_ONCE);
        for (uint32_t i = 0; i < count; i++) {
            const char *wrong = illegal(live, &decisions[i]);
            if (wrong) {
                live_fail(live, wrong);
                return;
            }
            carry_out(live, &decisions[i], listener);
        }
        if (!count) {
            return;
        }
    }
}
