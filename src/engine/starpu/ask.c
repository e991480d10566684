/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking the policy, and carrying out what it says: committed tasks stay in the world's queues
 * until there is room in their worker's box; inputs are sent ahead without the lock.
 */
#include "engine/starpu/shared.h"
#include <stdlib.h>
#include <string.h>

#define TOLD_MAX 128

/* Inputs of a task, which is staged, shall travel to a worker's memory. */
struct told {
    struct node *node;
    uint32_t worker;
};

struct told_list {
    struct context *context;
    uint32_t count, commits;
    struct told items[TOLD_MAX];
};

static bool inputs_missing(const struct context *context, uint32_t task, uint32_t device) {
    const struct sy_view *v = sy_live_view(context->live);
    uint64_t bit = UINT64_C(1) << v->machine->devices[device].memory;
    for (uint32_t a = v->access_start[task]; a < v->access_start[task + 1]; a++) {
        if ((v->access[a].mode & SY_READ) && !(v->data_valid[v->access[a].datum] & bit)) {
            return true;
        }
    }
    return false;
}

/* The policy knows classes; a program may forbid single workers. The least busy allowed one. */
static uint32_t allowed_worker(struct context *context, struct node *node, uint32_t worker) {
    struct starpu_task *task = node->task;
    if (!task->cl->can_execute && !task->workerids_len) {
        return worker;
    }
    const struct sy_view *v = sy_live_view(context->live);
    uint32_t best = SY_NONE;
    unsigned mask = 0;
    if (starpu_worker_can_execute_task_impl(worker, task, &mask)) {
        return worker;
    }
    for (uint32_t w = 0; w < v->machine->device_count; w++) {
        if (context->workers[w] && starpu_worker_can_execute_task_impl(w, task, &mask) &&
            (best == SY_NONE || v->devices[w].queued_ns < v->devices[best].queued_ns)) {
            best = w;
        }
    }
    return best == SY_NONE ? worker : best;
}

static void send_later(struct told_list *list, struct node *node, uint32_t worker) {
    if (list->count < TOLD_MAX) {
        node->staged++;
        node->prefetched = true;
        list->items[list->count++] = (struct told){node, worker};
    }
}

/* Its worker has nothing else to do: it asks for the inputs itself, at once. */
static bool is_next(const struct context *context, uint32_t task, uint32_t worker) {
    return sy_live_view(context->live)->devices[worker].running == SY_NONE &&
           sy_ring_held(&context->boxes[worker].ring) == 0 &&
           sy_live_first(context->live, worker) == task;
}

static void on_told(void *argument, uint32_t task, uint32_t device, bool fetch) {
    struct told_list *list = argument;
    struct context *context = list->context;
    struct node *node = context->slots[task];
    if (!node || node->state > NODE_COMMITTED) {
        return;
    }
    bool prefetch = starpu_get_prefetch_flag();
    if (fetch) {
        if (prefetch && node->state == NODE_READY && !node->prefetched) {
            send_later(list, node, device);
        } else if (prefetch && node->state == NODE_WAITING) {
            planner_fetch(context, node, device);
        }
        return;
    }
    uint32_t worker = allowed_worker(context, node, device);
    if (worker != device) {
        sy_live_move(context->live, task, worker);
    }
    list->commits++;
    node->state = NODE_COMMITTED;
    node->worker = worker;
    links_ask(node, worker, sy_live_view(context->live)->now_ns);
    row_wait(node->row, node, false);
    if (prefetch && !node->prefetched && !is_next(context, task, worker) &&
        inputs_missing(context, task, worker)) {
        send_later(list, node, worker);
    }
}

static void on_taken_back(void *argument, uint32_t task) {
    struct told_list *list = argument;
    struct node *node = list->context->slots[task];
    node->state = NODE_READY;
    row_wait(node->row, node, true);
}

/* Its inputs are asked for first, where some are missing. */
static void on_pushed(void *argument, uint32_t task, uint32_t device) {
    struct told_list *list = argument;
    struct context *context = list->context;
    struct node *node = context->slots[task];
    list->commits++;
    node->state = NODE_COMMITTED;
    node->worker = device;
    node->urgent = true;
    links_ask(node, device, sy_live_view(context->live)->now_ns);
    row_wait(node->row, node, false);
    if (starpu_get_prefetch_flag() && !node->prefetched && inputs_missing(context, task, device)) {
        send_later(list, node, device);
    }
    if (!node->staged) {
        boxes_put_urgent(context, node);
    }
}

static void on_decided(void *argument, const struct sy_decided *decided) {
    struct shared *s = &sy_shared;
    struct told_list *list = argument;
    if (!shared_records() ||
        sy_grow(&s->decisions, &s->decision_capacity, s->decision_count + 1, sizeof *decided)) {
        return;
    }
    s->decisions[s->decision_count] = *decided;
    s->decisions[s->decision_count++].task = list->context->slots[decided->task]->told.number;
}

static void note_cost(double ns, uint32_t commits) {
    struct shared *s = &sy_shared;
    if (commits && s->decision_ns) {
        s->decision_ns[s->decision_samples++ % DECISION_SAMPLES] = (float)(ns / commits);
    }
}

/* A policy that breaks the contract is replaced, by the planner, by one that does not. */
static void check_policy(struct context *context) {
    const char *failure = sy_live_failure(context->live);
    if (failure && strcmp(sy_shared.policy, "eager") != 0) {
        char *eager = strdup("eager"), *name = strdup("eager");
        shared_fail(failure);
        if (eager && name) {
            shared_set_policy(eager, name);
            planner_forget(context);
            context->renew = true;
            planner_notice(context, true);
        }
    }
}

/* Asks for inputs, without the lock: until that is done a task is staged, and stays. It may take
 * long, since StarPU allocates what it copies to; each task goes as soon as it can. */
static void send_inputs(struct context *context, struct told_list *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        struct node *node = list->items[i].node;
        shared_unlock();
        starpu_prefetch_task_input_for(node->task, list->items[i].worker);
        shared_lock();
        if (--node->staged == 0 && node->state == NODE_COMMITTED) {
            if (node->urgent) {
                boxes_put_urgent(context, node);
            } else {
                boxes_fill(context, node->worker);
            }
            boxes_wake(context);
        }
    }
}

bool policy_is_stale(const struct context *context) {
    return atomic_load_explicit(&context->version, memory_order_relaxed) !=
           atomic_load_explicit(&context->asked, memory_order_relaxed);
}

void policy_ask(struct context *context) {
    struct told_list list;
    list.context = context;
    list.count = list.commits = 0;
    struct sy_live_listener listener = {.context = &list,
                                        .told = on_told,
                                        .taken_back = on_taken_back,
                                        .pushed = on_pushed,
                                        .decided = on_decided};
    double from = shared_now_ns();
    uint32_t version = atomic_load_explicit(&context->version, memory_order_relaxed);
    sy_live_clock(context->live, from);
    sy_live_decide(context->live, &listener);
    double to = shared_now_ns();
    note_cost(to - from, list.commits);
    watcher_notice(to);
    atomic_store_explicit(&context->asked, version, memory_order_relaxed);
    atomic_store_explicit(&context->asked_ns, (int64_t)to, memory_order_relaxed);
    check_policy(context);
    boxes_fill_all(context);
    boxes_wake(context);
    send_inputs(context, &list);
}
