/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker's box: tasks that it may take without the lock. It holds what its worker needs to go on
 * until somebody has time to fill it again, and no more: what is in a box is not taken back, and
 * what comes later cannot overtake it: while a long task runs, it holds nothing. A task whose
 * inputs are just being asked for (staged) is not handed out, nor is what comes behind it.
 */
#include "engine/starpu/urgent.h"

#include "schedulers/policy.h"

#define BOX_NS   200e3 /* tasks of so long are enough */
#define LASTS_NS 5e6   /* a thousand times what a worker needs to come for its next task */

/* StarPU's workers. */
static uint32_t lanes(void) {
    return sy_shared.machine->device_count + sy_shared.options.urgent_count;
}

/* How long what is in the box takes. */
static double held_ns(const struct sy_ring *ring) {
    double sum = 0;
    for (uint32_t i = 0; i < sy_ring_held(ring); i++) {
        const struct node *node = ring->items[(ring->seen + i) % SY_RING_SIZE];
        sum += node->expected_ns;
    }
    return sum;
}

void boxes_count_waiting(struct context *context, int32_t more) {
    uint32_t waiting = atomic_load_explicit(&context->waiting, memory_order_relaxed);
    atomic_store_explicit(&context->waiting, waiting + (uint32_t)more, memory_order_relaxed);
}

static void put(struct context *context, struct node *node, uint32_t worker, uint32_t lane) {
    struct box *box = &context->boxes[lane];
    uint32_t class_index = sy_shared.machine->devices[worker].class_index;
    boxes_count_waiting(context, -1);
    node->state = NODE_HANDED;
    node->worker = worker;
    if (node->row) {
        row_begin(node->row, node, class_index);
        implementation_choose(node, worker, class_index);
    }
    sy_ring_put(&box->ring, node);
    box->wake = !WORKERS_POLL || lane != worker;
}

void boxes_put(struct context *context, struct node *node, uint32_t worker) {
    put(context, node, worker, worker);
}

void boxes_put_urgent(struct context *context, struct node *node) {
    put(context, node, node->worker, urgent_worker(node->worker));
}

void boxes_not_idle(struct context *context, uint32_t worker) {
    struct box *box = &context->boxes[worker];
    if (atomic_load_explicit(&box->idle, memory_order_relaxed) &&
        atomic_exchange(&box->idle, false)) {
        atomic_fetch_sub_explicit(&context->idle, 1, memory_order_relaxed);
    }
}

/* One that a policy committed before it was ready must also have been told of since. */
static bool may_go(const struct context *context, uint32_t task) {
    return task != SY_NONE && context->slots[task]->state == NODE_COMMITTED &&
           !context->slots[task]->staged;
}

/* What runs there goes on for so long that the next task can wait outside, where the policy may
 * still take it back: to fetch it from there costs its worker some microseconds. So does what comes
 * behind a task that stands aside. */
static bool is_far_from_done(const struct context *context, uint32_t worker) {
    const struct sy_view *view = context->live ? sy_live_view(context->live) : NULL;
    const struct sy_view_device *d = view ? &view->devices[worker] : NULL;
    return d && (d->suspended || (d->running != SY_NONE &&
                                  sy_estimate_end_ns(view, worker) > view->now_ns + LASTS_NS));
}

void boxes_fill(struct context *context, uint32_t worker) {
    struct box *box = &context->boxes[worker];
    struct sy_ring *ring = &box->ring;
    bool far = is_far_from_done(context, worker);
    uint32_t first = context->live && !far ? sy_live_first(context->live, worker) : SY_NONE;
    while (sy_ring_held(ring) < SY_RING_SIZE && held_ns(ring) <= BOX_NS && may_go(context, first)) {
        sy_live_hand(context->live, worker);
        context->slots[first]->expected_ns = sy_live_expected_ns(context->live, first);
        boxes_put(context, context->slots[first], worker);
        first = sy_live_first(context->live, worker);
    }
    bool more = may_go(context, first);
    if (more != atomic_load_explicit(&box->more, memory_order_relaxed)) {
        atomic_store_explicit(&box->more, more, memory_order_relaxed);
    }
}

void boxes_fill_all(struct context *context) {
    for (uint32_t w = 0; w < sy_shared.machine->device_count; w++) {
        boxes_fill(context, w);
    }
}

void boxes_look(struct context *context) {
    for (uint32_t w = 0; sy_shared.machine && w < lanes(); w++) {
        double taken_ns = 0;
        struct node *node;
        while ((node = sy_ring_seen(&context->boxes[w].ring, &taken_ns))) {
            node->state = NODE_RUNNING;
            if (node->index != SY_NONE && !node->is_short) {
                sy_live_clock(context->live, taken_ns);
                sy_live_begin(context->live, node->index);
                sy_live_started(context->live, node->index, device_of(w));
            }
        }
    }
}

struct node *boxes_take(struct context *context, uint32_t worker) {
    struct sy_ring *ring = &context->boxes[worker].ring;
    if (sy_ring_is_empty(ring)) {
        return NULL;
    }
    struct node *node = sy_ring_get(ring, shared_now_ns());
    node->taken = true;
    return node;
}

/* The worker is elsewhere and stays there: StarPU takes it out of a context only while it is not
 * in one of our hooks. */
void boxes_recall(struct context *context, uint32_t worker) {
    boxes_look(context);
    struct node *node;
    while ((node = sy_ring_take_back(&context->boxes[worker].ring))) {
        if (node->row) {
            row_end(node->row, node, sy_shared.machine->devices[worker].class_index, 0);
        }
        node->implementation = NO_IMPLEMENTATION;
        node->state = NODE_READY;
        boxes_count_waiting(context, 1);
        if (node->is_short) {
            short_line_up(context, node);
        } else {
            row_wait(node->row, node, true);
            sy_live_recall(context->live, node->index);
        }
    }
}

/* An urgent worker may take the core of whoever wakes it. */
static void wake(uint32_t worker) {
    if (is_urgent(worker)) {
        urgent_call(worker);
    } else {
        starpu_wake_worker_relax_light((int)worker);
    }
}

void boxes_wake(struct context *context) {
    uint32_t first = WORKERS_POLL ? sy_shared.machine->device_count : 0;
    for (uint32_t w = first; w < lanes(); w++) {
        if (context->boxes[w].wake) {
            context->boxes[w].wake = false;
            shared_unlock();
            wake(w);
            shared_lock();
        }
    }
}
