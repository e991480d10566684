/* SPDX-License-Identifier: Apache-2.0
 *
 * The hooks that StarPU calls, from the program's threads and from its workers. They leave what
 * happened for whoever has the lock (combine.c); a worker that asks for work gets the first task of
 * its box, and if there is none it does that work itself.
 */
#include "engine/starpu/recorder.h"
#include "engine/starpu/status.h"
#include "engine/starpu/turns.h"
#include "engine/starpu/urgent.h"
#include <errno.h>
#include <math.h>

#define PATIENCE    32 /* times that a worker lets another go first */
#define CLOCK_POLLS 32 /* a worker that polls looks at the clock now and then */
#define PAUSES      16 /* and rests in between: some 0.2 to 1 us */

static struct context *context_of(unsigned id) {
    return id < STARPU_NMAX_SCHED_CTXS ? &sy_shared.contexts[id] : NULL;
}

/* Tasks that StarPU runs nowhere never come to us. Tasks without data that a program puts on a
 * worker itself (initialisation, mostly) tell nothing, and StarPU does not always say when they
 * end. */
static bool ours(const struct starpu_task *task) {
    return task->cl && task->cl->where != STARPU_NOWHERE && task->where != STARPU_NOWHERE &&
           !(task->execute_on_a_specific_worker && STARPU_TASK_GET_NBUFFERS(task) == 0);
}

/* Machine and models, before the first task. */
static int start(void) {
    if (atomic_load_explicit(&sy_shared.up, memory_order_acquire)) {
        return 0;
    }
    shared_lock();
    int code = shared_start();
    shared_unlock();
    return code;
}

/* StarPU asks nobody about a task that its program puts on a worker: it is met when it begins. And
 * when a task is ready it may be taken away from us, by a prologue (with fault tolerance it runs
 * nowhere, and others in its place) or because its transaction is cancelled: such tasks are met
 * when they are pushed, if ever. */
static bool is_sure_to_come(const struct starpu_task *task) {
#if STARPU_MAJOR_VERSION > 1 || STARPU_MINOR_VERSION >= 4
    if (task->transaction) {
        return false;
    }
#endif
    return ours(task) && !task->execute_on_a_specific_worker && !task->prologue_callback_func;
}

static void on_submit(struct starpu_task *task) {
    struct context *context = context_of(task->sched_ctx);
    task->sched_data = NULL;
    if (!is_sure_to_come(task) || !context || !context->used || start()) {
        return;
    }
    struct node *node = node_create(context, task);
    if (!node) {
        return;
    }
    sy_stack_push(&context->submitted, &node->told_first);
    atomic_fetch_add_explicit(&context->submitted_count, 1, memory_order_relaxed);
    if (combine_pending(context) && !somebody_is_idle(context)) {
        combine(context, -1);
    }
}

/* A core that has just made a task ready is about to ask, with the data in its cache: where no
 * other task waits, the others let it go first. */
static void announce_asking(struct context *context, int worker) {
    if (worker >= 0 && !is_urgent((uint32_t)worker) &&
        sy_shared.machine->devices[worker].kind == SY_CPU && !context->boxes[worker].about_to_ask) {
        context->boxes[worker].about_to_ask = true;
        atomic_fetch_add_explicit(&context->about_to_ask, 1, memory_order_relaxed);
    }
}

static void asks(struct context *context, uint32_t worker) {
    if (context->boxes[worker].about_to_ask) {
        context->boxes[worker].about_to_ask = false;
        atomic_fetch_sub_explicit(&context->about_to_ask, 1, memory_order_relaxed);
    }
}

/* But not for long: what runs in between may be anything. */
static bool lets_others_go_first(struct context *context, uint32_t worker) {
    struct box *box = &context->boxes[worker];
    if (box->waited >= PATIENCE ||
        atomic_load_explicit(&context->about_to_ask, memory_order_relaxed) <= 0 ||
        atomic_load_explicit(&context->waiting, memory_order_relaxed) > 0) {
        box->waited = 0;
        return false;
    }
    box->waited++;
    return true;
}

static int on_push(struct starpu_task *task) {
    struct context *context = context_of(task->sched_ctx);
    struct node *node = node_of(task);
    int code = start();
    if (!code && !node) {
        node = node_create(context, task);
    }
    if (code || !node) {
        return code ? code : -ENOMEM;
    }
    recorder_ready(node);
    status_pushed();
    starpu_push_task_end(task);
    int worker = WORKERS_POLL ? starpu_worker_get_id() : -1;
    announce_asking(context, worker);
    sy_stack_push(&context->pushed, &node->told_next);
    if (worker < 0 && !somebody_is_idle(context)) {
        combine(context, -1);
    }
    return 0;
}

/* --- running -----------------------------------------------------------------------------------
 */

/* By its worker. duration 0: not measured. */
static void end(struct node *node, double now_ns, double duration_ns) {
    struct context *context = node->context;
    struct node **link = &context->running[node->lane];
    while (*link && *link != node) {
        link = &(*link)->run_next;
    }
    if (*link) {
        *link = node->run_next;
    }
    recorder_end(node, now_ns);
    status_end(node->lane, now_ns, duration_ns);
    if (node->task) {
        node->task->sched_data = NULL;
        node->task = NULL;
    }
    node->end_ns = now_ns;
    node->duration_ns = duration_ns;
    sy_stack_push(&context->ended, &node->told_first);
}

/* StarPU tells of the start of its own internal tasks (reductions), but not of their end: what
 * began on this worker before until (NULL: anything) is over. */
static void end_silent(struct context *context, uint32_t worker, const struct node *until) {
    while (context->running[worker] && context->running[worker] != until) {
        context->running[worker]->task = NULL; /* StarPU may have freed it */
        end(context->running[worker], shared_now_ns(), 0);
    }
}

/* A task that came to a worker without us, or to another than we said: what it takes is learned all
 * the same. */
static bool meet(struct node *node, uint32_t lane) {
    uint32_t worker = device_of(lane);
    struct context *context = node->context;
    shared_lock();
    combine_drain(context);
    if (!node->entered) {
        node_enter(node, false);
    }
    if (node->index == SY_NONE && planner_append(context, node)) {
        shared_unlock();
        return false;
    }
    node->worker = worker;
    node->state = NODE_RUNNING;
    row_wait(node->row, node, false);
    sy_live_clock(context->live, node->start_ns);
    sy_live_started(context->live, node->index, worker);
    shared_unlock();
    return true;
}

/* Its place among the running is its worker's alone. */
static void on_pre(struct starpu_task *task, unsigned id) {
    struct node *node = node_of(task);
    struct context *context = node ? node->context : context_of(id);
    if (!node && task->execute_on_a_specific_worker && ours(task) && context && context->used &&
        start() == 0) {
        node = node_create(context, task);
    }
    if (!node) {
        return;
    }
    uint32_t worker = (uint32_t)starpu_worker_get_id_check();
    node->start_ns = shared_now_ns();
    node->idle_ns = context->running[worker] ? INFINITY : sy_shared.last_end_ns[worker];
    node->lane = worker;
    if (!(node->taken && node->worker == device_of(worker)) && !meet(node, worker)) {
        return;
    }
    node->aside_ns = urgent_had_ns(worker, node->start_ns);
    node->begun = true;
    recorder_begin(node, worker);
    status_begin(node, worker);
    struct node **link = &context->running[worker];
    while (*link) {
        link = &(*link)->run_next;
    }
    *link = node;
}

static void on_post(struct starpu_task *task, unsigned id) {
    (void)id;
    struct node *node = node_of(task);
    if (node && node->begun) {
        double now_ns = shared_now_ns(), *last_end = &sy_shared.last_end_ns[node->lane];
        double duration_ns = now_ns - fmax(node->start_ns, *last_end);
        duration_ns -= urgent_had_ns(node->lane, now_ns) - node->aside_ns;
        *last_end = now_ns;
        end_silent(node->context, node->lane, node);
        end(node, now_ns, duration_ns);
    }
}

/* --- asking for work ---------------------------------------------------------------------------
 */

/* Cores only: who drives an accelerator has that to look after. */
static void set_idle(struct context *context, uint32_t worker, bool idle) {
    struct box *box = &context->boxes[worker];
    if (!idle) {
        boxes_not_idle(context, worker);
    } else if (!atomic_load_explicit(&box->idle, memory_order_relaxed) && sy_shared.cores_poll &&
               sy_shared.machine->devices[worker].kind == SY_CPU &&
               !atomic_exchange(&box->idle, true)) {
        atomic_fetch_add_explicit(&context->idle, 1, memory_order_relaxed);
    }
}

/* An accelerator's worker that has something to drive. */
static bool is_driving(const struct context *context, uint32_t worker) {
    return sy_shared.machine->devices[worker].kind != SY_CPU && context->running[worker];
}

/* Who took its last task sees to it that there is another; an accelerator also that inputs are on
 * their way. */
static bool looks_ahead(struct context *context, uint32_t worker) {
    struct box *box = &context->boxes[worker];
    bool last = sy_ring_is_empty(&box->ring);
    bool core = sy_shared.machine->devices[worker].kind == SY_CPU;
    return (last || !core) && !somebody_is_idle(context) &&
           (combine_pending(context) || atomic_load_explicit(&box->more, memory_order_relaxed));
}

/* A core that polls takes execution units from the thread beside it and lines from all caches. */
static void rest(uint32_t worker) {
#if defined(__x86_64__) || defined(__i386__)
    bool core = sy_shared.machine->devices[worker].kind == SY_CPU;
    for (int i = 0; WORKERS_POLL && core && i < PAUSES; i++) {
        __builtin_ia32_pause();
    }
#else
    (void)worker;
#endif
}

static struct node *take(struct context *context, uint32_t worker) {
    if (context->running[worker] && sy_shared.machine->devices[worker].kind == SY_CPU) {
        end_silent(context, worker, NULL); /* a core does one thing at a time */
    }
    struct node *node = boxes_take(context, worker);
    bool clock = context->boxes[worker].polls++ % CLOCK_POLLS == 0;
    asks(context, worker);
    bool waits = !node && !(is_driving(context, worker) && somebody_is_idle(context));
    if (waits && combine_is_due(context, worker, clock) && !lets_others_go_first(context, worker)) {
        combine(context, (int)worker);
        node = boxes_take(context, worker);
    } else if (node && looks_ahead(context, worker)) {
        combine(context, -1);
    } else if (node && sy_shared.machine->devices[worker].kind != SY_CPU) {
        /* Room for another: an idle core may decide which. */
        atomic_fetch_add_explicit(&context->version, 1, memory_order_relaxed);
    }
    set_idle(context, worker, !node);
    recorder_taken(node);
    if (!node) {
        rest(worker);
    }
    return node;
}

/* StarPU lets a worker leave only while it is not in one of our hooks. */
static void forget_worker(struct context *context, uint32_t worker) {
    boxes_recall(context, worker);
    asks(context, worker);
    set_idle(context, worker, false);
}

/* Others have its core, or no longer. */
static void set_away(struct context *context, uint32_t worker, bool away) {
    if (sy_shared.machine->devices[worker].kind != SY_CPU || context->away[worker] == away) {
        return;
    }
    shared_lock();
    combine_drain(context);
    context->away[worker] = away;
    atomic_fetch_add(&context->away_count, away ? 1 : UINT32_MAX);
    if (context->live) {
        if (away) {
            forget_worker(context, worker);
        }
        sy_live_lost(context->live, worker, away || !context->workers[worker]);
        policy_ask(context);
    }
    combine_leave(context);
}

static struct starpu_task *take_in_turn(struct context *context, uint32_t worker) {
    bool work = atomic_load_explicit(&context->waiting, memory_order_relaxed) > 0;
    if (!turns_begin(context, worker, context->away[worker], work)) {
        set_away(context, worker, true);
        turns_sleep(worker);
        return NULL;
    }
    set_away(context, worker, false);
    struct node *node = take(context, worker);
    if (!turns_go_on(context, worker, node)) {
        set_away(context, worker, true);
    }
    return node ? node->task : NULL;
}

static struct starpu_task *on_pop(unsigned id) {
    struct context *context = context_of(id);
    uint32_t worker = (uint32_t)starpu_worker_get_id_check();
    if (!atomic_load_explicit(&sy_shared.up, memory_order_acquire)) {
        return NULL; /* nothing was ever submitted */
    }
    if (is_urgent(worker)) {
        struct node *node = urgent_take(context, worker);
        return node ? node->task : NULL;
    }
    if (urgent_has_core(worker)) {
        asks(context, worker);
        boxes_not_idle(context, worker);
        return NULL;
    }
    if (turns_are_taken()) {
        return take_in_turn(context, worker);
    }
    struct node *node = take(context, worker);
    return node ? node->task : NULL;
}

static void on_do_schedule(unsigned id) {
    struct context *context = context_of(id);
    if (!context->used || !atomic_load_explicit(&sy_shared.up, memory_order_acquire)) {
        return;
    }
    shared_lock();
    combine_drain(context);
    planner_notice(context, true);
    combine_leave(context);
}

static void set_workers(unsigned id, const int *workers, unsigned count, bool has) {
    struct context *context = context_of(id);
    shared_lock();
    for (unsigned i = 0; i < count; i++) {
        if (workers[i] < STARPU_NMAXWORKERS) {
            context->workers[workers[i]] = has;
            if (context->live && (uint32_t)workers[i] < sy_shared.machine->device_count) {
                if (!has) {
                    forget_worker(context, (uint32_t)workers[i]);
                }
                sy_live_lost(context->live, (uint32_t)workers[i],
                             !has || context->away[workers[i]]);
            }
        }
    }
    if (context->live) {
        policy_ask(context);
    }
    shared_unlock();
}

static void on_add_workers(unsigned id, int *workers, unsigned count) {
    set_workers(id, workers, count, true);
}

static void on_remove_workers(unsigned id, int *workers, unsigned count) {
    set_workers(id, workers, count, false);
}

struct starpu_sched_policy sy_starpu_policy = {
    .init_sched = sy_starpu_context_open,
    .deinit_sched = sy_starpu_context_close,
    .add_workers = on_add_workers,
    .remove_workers = on_remove_workers,
    .submit_hook = on_submit,
    .push_task = on_push,
    .pop_task = on_pop,
    .pre_exec_hook = on_pre,
    .post_exec_hook = on_post,
    .do_schedule = on_do_schedule,
    .policy_name = "symphony",
    .policy_description = "Symphony's policies (SYMPH_POLICY selects one)",
    .worker_type = STARPU_WORKER_LIST,
#if STARPU_MAJOR_VERSION > 1 || STARPU_MINOR_VERSION >= 4
    .prefetches = 1,
#endif
};
