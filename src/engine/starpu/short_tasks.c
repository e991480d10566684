/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks that take less time than a decision: nothing is gained by thinking about them. They pass
 * the policy and its world by, and wait in order of readiness for the next worker of the class that
 * is fastest for them; a worker that has nothing to do takes several at a time.
 *
 * Only under the default policy: who asks for another one wants to see what it does. And only where
 * the class has one memory, and the inputs are in it. What cannot enter the world for want of
 * memory goes the same way.
 */
#include "engine/starpu/shared.h"
#include <stdlib.h>

#define AT_ONCE    8u   /* and a fair share of what waits: others may be idle, too; */
#define AT_ONCE_NS 40e3 /* and what takes so long */

/* The memory of all its devices; SY_NONE: there are several. */
static uint32_t memory_of(const struct sy_machine *machine, uint32_t class_index) {
    uint32_t memory = SY_NONE;
    for (uint32_t d = 0; d < machine->device_count; d++) {
        if (machine->devices[d].class_index == class_index) {
            if (memory != SY_NONE && machine->devices[d].memory != memory) {
                return SY_NONE;
            }
            memory = machine->devices[d].memory;
        }
    }
    return memory;
}

static bool inputs_are_there(const struct node *node, uint32_t class_index) {
    if (sy_shared.machine->memory_count == 1) {
        return true;
    }
    uint32_t memory = memory_of(sy_shared.machine, class_index);
    for (uint32_t i = 0; memory != SY_NONE && i < node->access_count; i++) {
        const struct node_access *a = &node->accesses[i];
        if ((a->mode & SY_READ) && !(datum_valid(a->datum) >> memory & 1)) {
            return false;
        }
    }
    return memory != SY_NONE;
}

bool short_alike(const struct node *node) {
    return WORKERS_POLL && sy_shared.shorts && node->row && !node->task->cl->can_execute &&
           !node->task->workerids_len && row_short_class(node->row) != SY_NONE;
}

/* One that was laid follows its plan, unless plans have turned out not to be worth their time: the
 * first tasks of a program are laid before anybody knows how short they are. */
static bool is_free(const struct node *node) {
    const struct context *context = node->context;
    return node->index == SY_NONE ||
           (!planner_pays(context) &&
            sy_live_view(context->live)->task_device[node->index] == SY_NONE);
}

bool short_enough(const struct node *node) {
    return short_alike(node) && is_free(node) && inputs_are_there(node, node->row->short_class);
}

static bool can_run(const struct context *context, const struct node *node, uint32_t worker) {
    unsigned mask = 0;
    return context->workers[worker] &&
           starpu_worker_can_execute_task_impl(worker, node->task, &mask);
}

/* Of its short class, else of the first worker that can run it at all. */
static uint32_t class_of(const struct context *context, const struct node *node) {
    const struct sy_machine *m = sy_shared.machine;
    uint32_t worker = 0;
    if (node->row && node->row->short_class != SY_NONE) {
        return node->row->short_class;
    }
    while (worker + 1 < m->device_count && !can_run(context, node, worker)) {
        worker++;
    }
    return m->devices[worker].class_index;
}

void short_line_up(struct context *context, struct node *node) {
    uint32_t class_index = class_of(context, node);
    struct short_line *line = &context->shorts[class_index];
    context->unlaid -= !node->is_short && node->index == SY_NONE;
    if (node->index != SY_NONE) {
        sy_live_withdraw(context->live, node->index);
        context->slots[node->index] = NULL;
        node->index = SY_NONE;
    }
    node->is_short = true;
    node->state = NODE_READY;
    node->expected_ns = !node->row                              ? 0
                        : node->row->short_class == class_index ? node->row->short_ns
                                                                : node->row->time_ns[class_index];
    node->line_prev = line->last;
    node->line_next = NULL;
    *(line->last ? &line->last->line_next : &line->first) = node;
    line->last = node;
    atomic_fetch_add_explicit(&line->count, 1, memory_order_relaxed);
}

static void leave(struct short_line *line, struct node *node) {
    *(node->line_prev ? &node->line_prev->line_next : &line->first) = node->line_next;
    *(node->line_next ? &node->line_next->line_prev : &line->last) = node->line_prev;
    node->line_prev = node->line_next = NULL;
    atomic_fetch_sub_explicit(&line->count, 1, memory_order_relaxed);
}

void short_hand_out(struct context *context, uint32_t worker) {
    struct short_line *line = &context->shorts[sy_shared.machine->devices[worker].class_index];
    uint32_t waiting = atomic_load_explicit(&line->count, memory_order_relaxed);
    uint32_t share = waiting / sy_shared.machine->device_count + 1;
    double sum_ns = 0;
    for (uint32_t i = 0; line->first && i < share && i < AT_ONCE && sum_ns < AT_ONCE_NS; i++) {
        struct node *node = line->first;
        sum_ns += node->expected_ns;
        leave(line, node);
        boxes_put(context, node, worker);
    }
}

bool short_waits(const struct context *context, uint32_t worker) {
    const struct short_line *line =
        &context->shorts[sy_shared.machine->devices[worker].class_index];
    return atomic_load_explicit(&line->count, memory_order_relaxed);
}
