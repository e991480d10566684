/* SPDX-License-Identifier: Apache-2.0
 *
 * The hooks that StarPU calls. Ready tasks go to the policy; a worker that asks for work gets the
 * first ready task of its own queue, and if there is none the policy is asked. A committed task's
 * inputs are asked for at once, without the lock: until that is done it is staged, and no worker
 * takes it.
 */
#include "engine/starpu/recorder.h"
#include "engine/starpu/status.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLD_MAX 128
/* An idle worker asks again, since time alone may change the answer. */
#define ASK_AGAIN_NS 500000

struct told {
    struct node *node; /* staged if fetch; else it may be gone */
    uint32_t worker;
    bool fetch;     /* some input is not where it is needed */
    bool committed; /* else only its inputs travel */
};

struct told_list {
    struct context *context;
    uint32_t count, commits;
    int self;
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

static void tell(struct told_list *list, struct node *node, uint32_t worker, bool fetch,
                 bool committed) {
    if (list->count < TOLD_MAX) {
        node->staged += fetch;
        node->prefetched |= fetch;
        list->items[list->count++] = (struct told){node, worker, fetch, committed};
    }
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
            tell(list, node, device, true, false);
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
    atomic_fetch_add(&context->mail[worker], 1);
    node->state = NODE_COMMITTED;
    node->worker = worker;
    links_ask(node, worker, sy_live_view(context->live)->now_ns);
    row_wait(node->row, node, false);
    bool alone = (int)worker == list->self && sy_live_first(context->live, worker) == task;
    if (!alone) {
        tell(list, node, worker,
             prefetch && !node->prefetched && inputs_missing(context, task, worker), true);
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
    s->decisions[s->decision_count++].task = list->context->slots[decided->task]->number;
}

static void note_cost(double ns, uint32_t commits) {
    struct shared *s = &sy_shared;
    if (commits && s->decision_ns) {
        s->decision_ns[s->decision_samples++ % DECISION_SAMPLES] = (float)(ns / commits);
    }
}

static double clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* A policy that breaks the contract is replaced, by the planner, by one that does not. */
static void check_policy(struct context *context) {
    const char *failure = sy_live_failure(context->live);
    if (failure && strcmp(sy_shared.policy, "eager") != 0) {
        char *eager = strdup("eager"), *name = strdup("eager");
        shared_fail(failure);
        if (eager && name) {
            shared_set_policy(eager, name);
            context->renew = true;
            planner_notice(context, true);
        }
    }
}

/* Without the lock: asks for inputs and wakes workers; with it: lets go of the tasks. */
static void carry_out(struct context *context, struct told_list *list) {
    bool fetched = false;
    shared_unlock();
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].fetch) {
            starpu_prefetch_task_input_for(list->items[i].node->task, list->items[i].worker);
            fetched = true;
        }
    }
    if (fetched) {
        shared_lock();
        for (uint32_t i = 0; i < list->count; i++) {
            struct told *told = &list->items[i];
            if (told->fetch) {
                told->node->staged--;
                /* Who committed it meanwhile found it staged: its worker is woken here. */
                told->committed |= told->node->state == NODE_COMMITTED;
                told->worker = told->committed ? told->node->worker : told->worker;
                atomic_fetch_add(&context->mail[told->worker], 1);
            }
        }
        shared_unlock();
    }
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].committed && (int)list->items[i].worker != list->self) {
            starpu_wake_worker_relax_light((int)list->items[i].worker);
        }
    }
    shared_lock();
}

void policy_ask(struct context *context, int self) {
    struct told_list list;
    list.context = context;
    list.count = list.commits = 0;
    list.self = self;
    struct sy_live_listener listener = {&list, on_told, on_decided};
    double from = clock_ns();
    sy_live_clock(context->live, shared_now_ns());
    sy_live_decide(context->live, &listener);
    note_cost(clock_ns() - from, list.commits);
    atomic_store(&context->asked, atomic_load(&context->version));
    atomic_store(&context->asked_ns, (uint64_t)shared_now_ns());
    check_policy(context);
    if (list.count) {
        carry_out(context, &list);
    }
}

/* --- hooks -------------------------------------------------------------------------------------
 */

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

/* Nobody asks us about a task that its program puts on a worker: it is met when it begins. */
static void on_submit(struct starpu_task *task) {
    task->sched_data = NULL;
    if (!ours(task) || task->execute_on_a_specific_worker) {
        return;
    }
    shared_lock();
    struct context *context = context_of(task->sched_ctx);
    if (shared_start() == 0 && context && context->used && node_create(context, task, true)) {
        planner_notice(context, false);
    }
    shared_unlock();
}

/* Tells the policy of a task that is ready. */
static void announce(struct context *context, struct node *node) {
    sy_live_clock(context->live, shared_now_ns());
    for (uint32_t i = 0; i < node->access_count; i++) {
        struct datum *datum = node->accesses[i].datum;
        sy_live_set_valid(context->live, datum_index(datum, context->live), datum_valid(datum));
    }
    sy_live_set_times(context->live, node->index, node->row->time_ns);
    sy_live_ready(context->live, node->index);
    atomic_fetch_add(&context->version, 1);
}

/* As tasks end, others of those that wait in line enter the world. */
static void let_in(struct context *context) {
    while (context->line && planner_has_room(context)) {
        struct node *node = context->line;
        planner_leave_line(context, node);
        node->state = NODE_WAITING; /* so that a world made meanwhile does not announce it, too */
        if (planner_append(context, node)) {
            shared_fail("out of memory");
            return;
        }
        node->state = NODE_READY;
        announce(context, node);
    }
}

static int on_push(struct starpu_task *task) {
    shared_lock();
    struct context *context = context_of(task->sched_ctx);
    struct node *node = node_of(task);
    int code = shared_start();
    if (!code && !node) {
        node = node_create(context, task, false);
    }
    bool waits = !code && node && planner_line_up(context, node);
    if (!code && node && !waits && node->index == SY_NONE) {
        code = planner_append(context, node);
    }
    if (code || !node) {
        shared_unlock();
        return code ? code : -ENOMEM;
    }
    sy_shared.task_total++;
    node->state = NODE_READY;
    recorder_ready(node);
    status_pushed();
    row_wait(node->row, node, true);
    starpu_push_task_end(task);
    if (!waits) {
        announce(context, node);
        policy_ask(context, -1);
    }
    shared_unlock();
    return 0;
}

static struct starpu_task *take(struct context *context, uint32_t worker) {
    uint32_t first = sy_live_first(context->live, worker);
    struct node *node = first == SY_NONE ? NULL : context->slots[first];
    if (!node || node->staged) {
        return NULL;
    }
    uint32_t class_index = sy_shared.machine->devices[worker].class_index;
    sy_live_clock(context->live, shared_now_ns());
    sy_live_take(context->live, worker);
    sy_live_started(context->live, first, worker);
    node->state = NODE_RUNNING;
    node->worker = worker;
    node->start_ns = NAN;
    recorder_taken(node);
    row_begin(node->row, node, class_index);
    implementation_choose(node, worker, class_index);
    return node->task;
}

/* --- running -----------------------------------------------------------------------------------
 */

/* duration 0: not measured. */
static void end(struct node *node, double now_ns, double duration_ns) {
    struct context *context = node->context;
    struct node **link = &context->running[node->worker];
    while (*link && *link != node) {
        link = &(*link)->run_next;
    }
    if (*link) {
        *link = node->run_next;
    }
    recorder_end(node, now_ns);
    status_end(node->worker, now_ns, duration_ns);
    row_end(node->row, node, sy_shared.machine->devices[node->worker].class_index, duration_ns);
    sy_live_clock(context->live, now_ns);
    sy_live_done(context->live, node->index, duration_ns);
    context->slots[node->index] = NULL;
    context->hungry[node->worker] = true;
    node_finish(node);
    let_in(context);
}

/* StarPU tells of the start of its own internal tasks (reductions), but not of their end: what
 * began on this worker before until (NULL: anything) is over. */
static void end_silent(struct context *context, uint32_t worker, const struct node *until) {
    while (context->running[worker] && context->running[worker] != until) {
        context->running[worker]->task = NULL; /* StarPU may have freed it */
        end(context->running[worker], shared_now_ns(), 0);
    }
}

/* A task that was put on a worker without us: what it takes is learned all the same. */
static struct node *meet(struct starpu_task *task, unsigned id) {
    struct context *context = context_of(id);
    shared_lock();
    struct node *node =
        shared_start() == 0 && context && context->used ? node_create(context, task, false) : NULL;
    shared_unlock();
    return node;
}

/* Of a task that the worker took from us nothing is left to say but the time, unless it waited for
 * inputs long enough to tell of a link. Its place among the running is its worker's alone. */
static void on_pre(struct starpu_task *task, unsigned id) {
    struct node *node = node_of(task);
    if (!node && task->execute_on_a_specific_worker && ours(task)) {
        node = meet(task, id);
    }
    if (!node) {
        return;
    }
    struct context *context = node->context;
    uint32_t worker = (uint32_t)starpu_worker_get_id_check();
    bool taken = node->state == NODE_RUNNING && node->worker == worker;
    node->start_ns = shared_now_ns();
    if (!taken || node->promised_ns > 0) {
        shared_lock();
        if (node->index == SY_NONE && planner_append(context, node)) {
            shared_unlock();
            return;
        }
        node->worker = worker;
        node->state = NODE_RUNNING;
        bool busy = context->running[worker] != NULL;
        links_arrived(node, node->start_ns, busy ? INFINITY : sy_shared.last_end_ns[worker]);
        row_wait(node->row, node, false);
        sy_live_clock(context->live, node->start_ns);
        sy_live_started(context->live, node->index, worker);
        shared_unlock();
    }
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
    shared_lock();
    struct node *node = node_of(task);
    if (node && node->state == NODE_RUNNING && node->index != SY_NONE) {
        double now_ns = shared_now_ns(), *last_end = &sy_shared.last_end_ns[node->worker];
        double duration_ns = now_ns - fmax(node->start_ns, *last_end);
        *last_end = now_ns;
        end_silent(node->context, node->worker, node);
        end(node, now_ns, duration_ns);
    }
    shared_unlock();
}

static bool worth_asking(const struct context *context, uint32_t worker) {
    return context->hungry[worker] ||
           atomic_load(&context->version) != atomic_load(&context->asked) ||
           (uint64_t)shared_now_ns() - atomic_load(&context->asked_ns) > ASK_AGAIN_NS;
}

/* A worker that polls does not stand in line: whoever has the lock is deciding for it, too. */
static bool lock_to_ask(void) {
#ifdef STARPU_NON_BLOCKING_DRIVERS
    return STARPU_PTHREAD_MUTEX_TRYLOCK(&sy_shared.lock) == 0;
#else
    shared_lock();
    return true;
#endif
}

static struct starpu_task *on_pop(unsigned id) {
    struct context *context = context_of(id);
    uint32_t worker = (uint32_t)starpu_worker_get_id_check();
    struct starpu_task *task = NULL;
    if (context->hungry[worker] || atomic_load(&context->mail[worker]) != context->read[worker]) {
        shared_lock();
    } else if (!worth_asking(context, worker) || !lock_to_ask()) {
        return NULL;
    }
    if (context->live) {
        if (sy_shared.machine->devices[worker].kind == SY_CPU) {
            end_silent(context, worker, NULL); /* a core does one thing at a time */
        }
        context->read[worker] = atomic_load(&context->mail[worker]);
        task = take(context, worker);
        if (!task && worth_asking(context, worker)) {
            context->hungry[worker] = false;
            policy_ask(context, (int)worker);
            context->read[worker] = atomic_load(&context->mail[worker]);
            task = take(context, worker);
        }
        /* What else is in the queue is looked at next time. */
        context->read[worker] -= task && sy_live_first(context->live, worker) != SY_NONE;
    }
    shared_unlock();
    return task;
}

static void on_do_schedule(unsigned id) {
    struct context *context = context_of(id);
    shared_lock();
    if (context->used) {
        planner_notice(context, true);
    }
    shared_unlock();
}

static void set_workers(unsigned id, const int *workers, unsigned count, bool has) {
    struct context *context = context_of(id);
    shared_lock();
    for (unsigned i = 0; i < count; i++) {
        if (workers[i] < STARPU_NMAXWORKERS) {
            context->workers[workers[i]] = has;
            if (context->live && (uint32_t)workers[i] < sy_shared.machine->device_count) {
                sy_live_lost(context->live, (uint32_t)workers[i], !has);
            }
        }
    }
    if (context->live) {
        policy_ask(context, -1);
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
