/* SPDX-License-Identifier: Apache-2.0
 *
 * No hook waits. What it has to tell it leaves on one of its context's stacks; whoever gets the
 * lock tells the world all of it, asks the policy once and fills the workers' boxes. Who finds the
 * lock taken goes on: the one who has it looks again after letting go, so nothing is left behind
 * (tests/models/combine.pml). Where workers sleep, everybody waits for the lock instead.
 *
 * Causes come before effects: a task is submitted before it is pushed, and what made it ready has
 * ended before that. So the stacks are emptied in reverse, and what they held is told forwards.
 */
#include "engine/starpu/shared.h"
#include "engine/starpu/turns.h"
#include <math.h>

#define SUBMIT_BATCH 32u /* tasks that are not ready may wait for others to come */
#define ASK_AGAIN_NS                                                                               \
    500000 /* an idle worker asks again, since time alone may change the answer                    \
            */

bool combine_pending(struct context *context) {
    return !sy_stack_is_empty(&context->pushed) || !sy_stack_is_empty(&context->ended) ||
           atomic_load_explicit(&context->submitted_count, memory_order_relaxed) >= SUBMIT_BATCH;
}

/* --- telling the world -------------------------------------------------------------------------
 */

/* Tells the policy of a task that is ready. */
static void announce(struct context *context, struct node *node) {
    for (uint32_t i = 0; sy_shared.machine->memory_count > 1 && i < node->access_count; i++) {
        struct datum *datum = node->accesses[i].datum;
        sy_live_set_valid(context->live, datum_index(datum, context->live), datum_valid(datum));
    }
    sy_live_set_times(context->live, node->index, node->row->time_ns);
    sy_live_ready(context->live, node->index);
    atomic_fetch_add_explicit(&context->version, 1, memory_order_relaxed);
}

/* It enters the world. Until it has, it counts as waiting, so that a world which is made meanwhile
 * does not announce it, too. */
static void let_in(struct context *context, struct node *node) {
    node->state = NODE_WAITING;
    if (node->index == SY_NONE && planner_append(context, node)) {
        shared_fail("out of memory");
        short_line_up(context, node); /* it runs all the same */
        return;
    }
    node->state = NODE_READY;
    row_wait(node->row, node, true);
    announce(context, node);
}

void combine_admit(struct context *context, struct node *node) {
    if (!node->entered) {
        node_enter(node, false);
    }
    sy_shared.task_total++;
    boxes_count_waiting(context, 1);
    planner_hears(&context->ready_ns, node);
    if (short_enough(node)) {
        sy_shared.short_total++;
        short_line_up(context, node);
    } else if (planner_line_up(context, node)) {
        node->state = NODE_READY;
        row_wait(node->row, node, true);
    } else {
        let_in(context, node);
    }
}

/* As tasks end, others of those that wait in line enter the world. */
static void let_others_in(struct context *context) {
    while (context->line && planner_has_room(context)) {
        struct node *node = context->line;
        planner_leave_line(context, node);
        let_in(context, node);
    }
}

static void finish(struct context *context, struct node *node) {
    uint32_t class_index = sy_shared.machine->devices[node->worker].class_index;
    if (node->promised_ns > 0) {
        links_arrived(node, node->start_ns, node->idle_ns);
    }
    row_end(node->row, node, class_index, node->duration_ns);
    if (node->index != SY_NONE) {
        sy_live_clock(context->live, fmax(node->end_ns, sy_live_view(context->live)->now_ns));
        sy_live_done(context->live, node->index, node->duration_ns);
        context->slots[node->index] = NULL;
        atomic_fetch_add_explicit(&context->version, 1, memory_order_relaxed);
    }
    node_finish(node);
}

static void tell_submitted(struct context *context, struct sy_stacked *item) {
    if (!item) {
        return;
    }
    while (item) {
        struct sy_stacked *next = item->next;
        node_enter(SY_CONTAINER(item, struct node, told_first), true);
        item = next;
    }
    planner_notice(context, false);
}

void combine_drain(struct context *context) {
    struct sy_stacked *pushed = sy_stack_take(&context->pushed);
    struct sy_stacked *ended = sy_stack_take(&context->ended);
    boxes_look(context);
    atomic_store_explicit(&context->submitted_count, 0, memory_order_relaxed);
    tell_submitted(context, sy_stack_take(&context->submitted));
    bool some_ended = ended;
    while (ended) {
        struct sy_stacked *next = ended->next;
        finish(context, SY_CONTAINER(ended, struct node, told_first));
        ended = next;
    }
    while (pushed) {
        struct sy_stacked *next = pushed->next;
        combine_admit(context, SY_CONTAINER(pushed, struct node, told_next));
        pushed = next;
    }
    if (some_ended) {
        let_others_in(context);
    }
}

void combine_drain_all(void) {
    for (unsigned c = 0; c < STARPU_NMAX_SCHED_CTXS; c++) {
        if (sy_shared.contexts[c].used && sy_shared.machine) {
            combine_drain(&sy_shared.contexts[c]);
        }
    }
}

/* --- whoever has the lock ----------------------------------------------------------------------
 */

static bool was_long_ago(const struct context *context) {
    return (int64_t)shared_now_ns() -
               atomic_load_explicit(&context->asked_ns, memory_order_relaxed) >
           ASK_AGAIN_NS;
}

/* For a worker that has nothing to do: what is there for it already, tasks that need no decision,
 * and only then a decision. */
static void serve(struct context *context, int self) {
    combine_drain(context);
    bool idle = self >= 0;
    if (idle) {
        boxes_fill(context, (uint32_t)self);
        if (sy_ring_held(&context->boxes[self].ring) == 0) {
            short_hand_out(context, (uint32_t)self);
        }
        idle = sy_ring_held(&context->boxes[self].ring) == 0;
    }
    if (!context->live) {
        return;
    }
    if (atomic_load_explicit(&context->waiting, memory_order_relaxed)) {
        turns_ask(context);
    }
    if (policy_is_stale(context) ? idle || self < 0 : idle && was_long_ago(context)) {
        policy_ask(context);
    }
}

void combine_leave(struct context *context) {
    for (;;) {
        shared_unlock();
        if (!combine_pending(context) || !shared_try_lock()) {
            return;
        }
        serve(context, -1);
    }
}

/* Others would otherwise keep the one who drives an accelerator from it for milliseconds, while a
 * program submits its tasks. */
static bool has_other_duties(struct context *context) {
    int worker = starpu_worker_get_id();
    return worker >= 0 && (uint32_t)worker < sy_shared.machine->device_count &&
           sy_shared.machine->devices[worker].kind != SY_CPU && somebody_is_idle(context);
}

void combine(struct context *context, int self) {
    if (!shared_try_lock()) {
        return;
    }
    serve(context, self);
    if (has_other_duties(context)) {
        shared_unlock();
    } else {
        combine_leave(context);
    }
}

void combine_surely(struct context *context) {
    shared_lock();
    serve(context, -1);
    combine_leave(context);
}

bool combine_is_due(struct context *context, uint32_t worker, bool look_at_clock) {
    return combine_pending(context) || policy_is_stale(context) || short_waits(context, worker) ||
           atomic_load_explicit(&context->boxes[worker].more, memory_order_relaxed) ||
           (look_at_clock && was_long_ago(context));
}
