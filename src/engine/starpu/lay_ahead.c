/* SPDX-License-Identifier: Apache-2.0
 *
 * The planner: lays everything that is submitted and not yet ended as the jobs of a new world (one,
 * unless the program says whose a task is), so that ranks and plans see the graph ahead, and moves
 * over to it. Runs on a thread of its own; only
 * the copying of tasks holds the lock, the policy's work on the job does not. Tasks that become
 * ready before they were laid enter the present world one by one and do not wait for it.
 */
#include "engine/starpu/shared.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORLD_FIRST    512  /* tasks: most programs have fewer, and empty room costs time */
#define WORLD_MIN      4096 /* once there were more */
#define WORTH_NS       5e3  /* a plan is made if tasks take longer, on the average */
#define NO_DECISION_NS 1    /* what a task counts for that needs no plan */
#define MEAN_OF        64   /* tasks, about */
#define ROOM_MIN       (WORLD_MIN / 4) /* a world with less room is full; a small one with half */
#define SINGLES        64              /* jobs of one task in a world, at most, */
#define SINGLES_EACH   4               /* and for each device */
#define COME_S         1e-4f           /* between two looks at whether more is being submitted: */
#define COME_FEW       8               /* so many meanwhile; */
#define COME_LOOKS     20              /* and not for longer than so many looks */
#define BATCH_MIN      64 /* lay again once this many are new, and as many as the world has */

struct plan {
    struct sy_live *live;
    struct node **nodes;
    struct node **slots;
    uint32_t count, capacity; /* of nodes */
};

/* On SimGrid what is computed takes no time, and a plan would be free: where it shall not, its
 * thread sleeps for as long. */
static double charge_from(void) {
    struct timespec now = {0};
#ifdef STARPU_SIMGRID
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
#endif
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void charge(double from_ns) {
#ifdef STARPU_SIMGRID
    const char *decisions = getenv("SYMPH_DECISION_TIME");
    if (decisions && strcmp(decisions, "measured") == 0) {
        starpu_sleep((float)((charge_from() - from_ns) / 1e9));
    }
#else
    (void)from_ns;
#endif
}

static void plan_finish(struct plan *plan) {
    free(plan->nodes);
    free(plan->slots);
    sy_live_destroy(plan->live);
}

/* A world takes milliseconds to make. The policy may be replaced while the lock is let go. */
static int make_world(struct context *context, bool unlocked, uint32_t room,
                      struct sy_live **ret_live) {
    struct shared *s = &sy_shared;
    struct sy_error error = {0};
    char *policy = strdup(s->policy_name);
    struct sy_live_options options = {.machine = s->machine,
                                      .policy = policy,
                                      .setup = &s->setup,
                                      .seed = s->options.request->seed,
                                      .number = ++s->worlds,
                                      .task_capacity = room,
                                      .explain = shared_records(),
                                      .preempts = s->options.urgent_count > 0,
                                      .readings = s->readings};
    context->planning = true;
    if (unlocked) {
        shared_unlock();
    }
    double from_ns = charge_from();
    int code = policy ? sy_live_create(&options, ret_live, &error) : -ENOMEM;
    charge(from_ns);
    free(policy);
    if (unlocked) {
        shared_lock();
    }
    context->planning = false;
    return code;
}

/* The one that was made before the clock ran, if it has room: to make one takes longer than to lay
 * a thousand tasks. */
static struct sy_live *take_spare(struct context *context) {
    struct sy_live *spare = context->spare;
    if (!spare || sy_live_room(spare) < context->count + ROOM_MIN) {
        return NULL;
    }
    context->spare = NULL;
    return spare;
}

/* Lay again before a world is full, since the next takes its time. */
static bool is_full(const struct context *context) {
    uint32_t half = sy_live_view(context->live)->task_capacity / 2;
    return sy_live_room(context->live) < (half < ROOM_MIN ? half : ROOM_MIN);
}

/* Of the next world. Indices only grow: where a stream of tasks, few at a time, has filled a small
 * one, it would soon do so again. */
static uint32_t room_for(const struct context *context, uint32_t least) {
    uint32_t need = 4 * context->count;
    if (context->live) {
        uint32_t now = sy_live_view(context->live)->task_capacity;
        least = is_full(context) ? 4 * now : now;
        least = least < WORLD_MIN ? least : WORLD_MIN;
    }
    return need > least ? need : least;
}

static int plan_begin(struct context *context, uint32_t least, bool unlocked, struct plan *plan) {
    struct shared *s = &sy_shared;
    uint32_t room = 0;
    int code = 0;
    while (!code && (!plan->live || room < context->count)) { /* more may come meanwhile */
        sy_live_destroy(plan->live);
        plan->live = NULL;
        plan->live = take_spare(context);
        room = plan->live ? sy_live_room(plan->live) : room_for(context, least);
        code = plan->live ? 0 : make_world(context, unlocked, room, &plan->live);
    }
    if (code) {
        return code;
    }
    plan->capacity = context->count;
    plan->nodes = calloc(context->count + 1u, sizeof(struct node *));
    plan->slots = calloc(room + 1u, sizeof(struct node *));
    if (!plan->nodes || !plan->slots) {
        return -ENOMEM;
    }
    sy_live_clock(plan->live, shared_now_ns());
    for (uint32_t d = 0; d < s->machine->device_count; d++) {
        sy_live_lost(plan->live, d, !context->workers[d] || context->away[d]);
    }
    return 0;
}

/* Laid by this plan (0: none), in the same job. */
static bool is_before(const struct node *pred, const struct node *node, uint64_t plan) {
    return plan && pred->plan == plan && pred->told.job.job == node->told.job.job;
}

/* Adds a node to a world whose job is open; its predecessors in it come before it. */
static uint32_t add_node(struct sy_live *live, struct node *node, uint64_t plan) {
    struct sy_live_access small[STARPU_NMAXBUFS], *accesses = small;
    uint32_t few[32], *preds = few, pred_count = 0, index = SY_NONE;
    if (node->access_count > STARPU_NMAXBUFS) {
        accesses = calloc(node->access_count, sizeof *accesses);
    }
    if (node->pred_count > SY_COUNT(few)) {
        preds = calloc(node->pred_count, sizeof *preds);
    }
    if (accesses && preds && node->row) {
        for (uint32_t i = 0; i < node->access_count; i++) {
            const struct node_access *a = &node->accesses[i];
            bool inside = a->producer && is_before(a->producer, node, plan);
            accesses[i] = (struct sy_live_access){datum_index(a->datum, live), a->mode,
                                                  inside ? a->producer->next_index : SY_NONE};
        }
        for (uint32_t i = 0; i < node->pred_count; i++) {
            if (is_before(node->preds[i], node, plan)) {
                preds[pred_count++] = node->preds[i]->next_index;
            }
        }
        index = sy_live_add_task(live, &(struct sy_live_task){.kernel = node->row->kernel,
                                                              .accesses = accesses,
                                                              .access_count = node->access_count,
                                                              .preds = preds,
                                                              .pred_count = pred_count,
                                                              .time_ns = node->row->time_ns});
    }
    if (accesses != small) {
        free(accesses);
    }
    if (preds != few) {
        free(preds);
    }
    return index;
}

static void begin_job(struct sy_live *live, const struct sy_starpu_job *job) {
    sy_live_begin_job(live, job->tenant, job->weight);
    sy_live_tell_job(live, job->arrive_ns, job->isolated_ns);
}

static int compare_nodes(const void *left, const void *right) {
    const struct node *a = *(struct node *const *)left, *b = *(struct node *const *)right;
    if (a->told.job.job != b->told.job.job) {
        return a->told.job.job < b->told.job.job ? -1 : 1;
    }
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

/* Copies the unfinished tasks job by job, in order of submission. */
static int plan_copy(struct context *context, struct plan *plan) {
    uint64_t number = ++context->plans;
    bool several = false;
    for (struct node *node = context->first; node; node = node->next) {
        if (!node->is_short) {
            plan->nodes[plan->count++] = node;
            several |= node->told.job.job != context->first->told.job.job;
        }
    }
    if (several) {
        qsort(plan->nodes, plan->count, sizeof(struct node *), compare_nodes);
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        struct node *node = plan->nodes[i];
        if (i == 0 || plan->nodes[i - 1]->told.job.job != node->told.job.job) {
            if (i > 0) {
                sy_live_lay_job(plan->live);
            }
            begin_job(plan->live, &node->told.job);
        }
        node->next_index = add_node(plan->live, node, number);
        if (node->next_index == SY_NONE) {
            return -ENOMEM;
        }
        node->plan = number;
    }
    if (plan->count) {
        sy_live_lay_job(plan->live);
    }
    return 0;
}

static void restore(struct context *context, struct plan *plan, struct node *node) {
    struct sy_live *old = context->live;
    uint32_t index = node->next_index;
    double priority = 0, expected = 0;
    enum sy_restore state = SY_RESTORE_DONE;
    /* One that has passed the policy by since it was copied is as good as done. */
    enum node_state now = node->is_short ? NODE_DONE : node->state;
    if (now != NODE_DONE) {
        plan->slots[index] = node;
    }
    switch (now) {
    case NODE_WAITING:
        return;
    case NODE_READY:
        state = SY_RESTORE_READY;
        if (node->row) { /* its estimate may have moved since it was copied */
            sy_live_set_times(plan->live, index, node->row->time_ns);
        }
        break;
    case NODE_COMMITTED:
    case NODE_HANDED:
    case NODE_RUNNING:
        state = node->state == NODE_RUNNING  ? SY_RESTORE_RUNNING
                : node->state == NODE_HANDED ? SY_RESTORE_HANDED
                                             : SY_RESTORE_COMMITTED;
        if (node->urgent) {
            state = now == NODE_RUNNING ? SY_RESTORE_PUSHED : SY_RESTORE_PUSHING;
        }
        priority = sy_live_priority(old, node->index);
        expected = sy_live_expected_ns(old, node->index);
        break;
    case NODE_DONE:
        break;
    }
    sy_live_restore(plan->live, index, state, node->worker, priority, expected);
}

/* Nodes that came after the copy: those already in the old world follow one by one. */
static int follow(struct context *context, struct plan *plan) {
    for (struct node *node = context->first; node; node = node->next) {
        if (node->plan == context->plans) {
            continue;
        }
        if (node->index == SY_NONE || sy_live_room(plan->live) == 0) {
            node->index = SY_NONE;
            continue;
        }
        begin_job(plan->live, &node->told.job);
        node->next_index = add_node(plan->live, node, 0);
        sy_live_end_job(plan->live);
        if (node->next_index == SY_NONE) {
            return -ENOMEM;
        }
        restore(context, plan, node);
        node->plan = context->plans;
    }
    return 0;
}

static int move_over(struct context *context, struct plan *plan) {
    int code = follow(context, plan);
    if (code) {
        return code;
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        struct node *node = plan->nodes[i];
        restore(context, plan, node);
        context->singles -= node->single && node->state != NODE_DONE;
        node->single = false;
    }
    if (context->live) {
        sy_live_restore_load(plan->live, context->live);
    }
    context->unlaid = 0;
    for (struct node *node = context->first; node; node = node->next) {
        bool laid = node->plan == context->plans && !node->is_short;
        node->index = laid ? node->next_index : SY_NONE;
        context->unlaid += node->index == SY_NONE && !node->is_short;
        if (node->index != SY_NONE) {
            planner_leave_line(context, node);
        }
    }
    struct sy_live *old = context->live;
    struct node **slots = context->slots;
    context->live = plan->live;
    context->slots = plan->slots;
    plan->live = old;
    plan->slots = slots;
    atomic_fetch_add(&context->version, 1);
    return 0;
}

/* With the lock held. A first world has room for at least this number of tasks. If unlocked, the
 * lock is let go while the policy works on the job. */
static int lay(struct context *context, uint32_t least, bool unlocked) {
    struct plan plan = {0};
    int code = plan_begin(context, least, unlocked, &plan);
    if (!code) {
        code = plan_copy(context, &plan);
    }
    if (!code) {
        context->planning = true;
        if (unlocked) {
            shared_unlock();
        }
        double from_ns = charge_from();
        sy_live_announce(plan.live);
        charge(from_ns);
        if (unlocked) {
            shared_lock();
        }
        context->planning = false;
        sy_live_clock(plan.live, shared_now_ns());
        code = move_over(context, &plan);
    }
    node_reap(context);
    if (unlocked) {
        shared_unlock();
    }
    plan_finish(&plan);
    if (unlocked) {
        shared_lock();
    }
    return code;
}

int planner_append(struct context *context, struct node *node) {
    while (context->planning && (!context->live || sy_live_room(context->live) == 0)) {
        shared_unlock(); /* rare: the first world, or one that filled up, is just being made */
        starpu_sleep(1e-4f);
        shared_lock();
    }
    if (node->index != SY_NONE) {
        return 0;
    }
    if (!context->live || sy_live_room(context->live) == 0) {
        int code = lay(context, WORLD_FIRST, false);
        return code ? code : node->index == SY_NONE ? -ENOMEM : 0;
    }
    struct sy_live *live = context->live;
    begin_job(live, &node->told.job);
    uint32_t index = add_node(live, node, 0);
    sy_live_end_job(live);
    if (index == SY_NONE) {
        return -ENOMEM;
    }
    node->index = index;
    node->single = true;
    context->slots[index] = node;
    context->unlaid--;
    context->singles++;
    return 0;
}

bool planner_has_room(const struct context *context) {
    return context->singles < SINGLES + SINGLES_EACH * sy_shared.machine->device_count;
}

bool planner_line_up(struct context *context, struct node *node) {
    if (!context->live || node->index != SY_NONE || planner_has_room(context)) {
        return false;
    }
    node->lined = true;
    node->line_prev = context->line_last;
    *(context->line_last ? &context->line_last->line_next : &context->line) = node;
    context->line_last = node;
    return true;
}

void planner_leave_line(struct context *context, struct node *node) {
    if (node->lined) {
        *(node->line_prev ? &node->line_prev->line_next : &context->line) = node->line_next;
        *(node->line_next ? &node->line_next->line_prev : &context->line_last) = node->line_prev;
        node->line_prev = node->line_next = NULL;
        node->lined = false;
    }
}

/* --- the thread --------------------------------------------------------------------------------
 */

/* Asked for as a program would, so that StarPU orders it among the tasks that use the handle. Not
 * from a hook: what it lets go on may be pushed at once, and StarPU's hooks do not nest. */
static void fetch_inputs(const struct fetch *fetch) {
    const struct node *node = fetch->node;
    unsigned memory = starpu_worker_get_memory_node(fetch->worker);
    for (uint32_t i = 0; i < node->access_count; i++) {
        const struct node_access *a = &node->accesses[i];
        bool exists = !a->producer || a->producer->state == NODE_DONE;
        if ((a->mode & SY_READ) && exists && node->task->sequential_consistency) {
            starpu_data_prefetch_on_node(a->datum->handle, memory, 1);
        }
    }
}

static void fetch_all(struct context *context) {
    for (uint32_t i = 0; i < context->fetch_count; i++) { /* the list may grow meanwhile */
        struct fetch fetch = context->fetches[i];
        shared_unlock();
        fetch_inputs(&fetch);
        shared_lock();
        fetch.node->staged--;
        if (fetch.node->state == NODE_COMMITTED) { /* its worker found it staged */
            boxes_fill(context, fetch.node->worker);
            boxes_wake(context);
        }
    }
    context->fetch_count = 0;
}

/* A thread of its own, since a plan may take long. */
static void *courier_main(void *argument) {
    struct context *context = argument;
    shared_step_aside(&(bool){false}, true);
    shared_lock();
    while (!context->stop) {
        if (context->fetch_count) {
            fetch_all(context);
        } else {
            shared_wait(&context->errand, NULL);
        }
    }
    combine_leave(context);
    return NULL;
}

void planner_fetch(struct context *context, struct node *node, uint32_t worker) {
    if ((node->state != NODE_WAITING && node->state != NODE_READY) || context->stop ||
        !shared_help(&context->courier, "symph courier", courier_main, context)) {
        return;
    }
    if (!sy_grow(&context->fetches, &context->fetch_capacity, context->fetch_count + 1,
                 sizeof(struct fetch))) {
        node->staged++;
        context->fetches[context->fetch_count++] = (struct fetch){node, worker};
        STARPU_PTHREAD_COND_SIGNAL(&context->errand);
    }
}

void planner_hears(double *mean_ns, const struct node *node) {
    double least = INFINITY;
    for (uint32_t c = 0; node->row && c < sy_shared.machine->class_count; c++) {
        least = fmin(least, node->row->time_ns[c]);
    }
    least = short_alike(node) ? NO_DECISION_NS : least;
    if (isfinite(least)) {
        *mean_ns += (least - *mean_ns) / (*mean_ns > 0 ? MEAN_OF : 1);
    }
}

/* To lay a task costs about as much as to run one of a microsecond or two. A program may submit all
 * it has before anybody knows how short its tasks are: what becomes ready says it later. */
bool planner_pays(const struct context *context) {
    bool submitted = context->usual_ns > WORTH_NS;
    bool ready = context->ready_ns > WORTH_NS || !(context->ready_ns > 0);
    return !sy_shared.shorts || (submitted && ready);
}

static bool due(const struct context *context) {
    uint32_t laid = context->count - context->unlaid;
    uint32_t batch = laid > BATCH_MIN ? laid : BATCH_MIN;
    bool full = context->live && is_full(context);
    bool pays = planner_pays(context);
    return context->renew || full || (pays && context->unlaid >= batch) ||
           (pays && context->flush && context->unlaid > 1);
}

/* To lay half of what a program is just submitting is to lay it twice, on the core that it submits
 * from. Where a world is there already it may go on for as long as it took to make one. */
static void let_them_come(struct context *context) {
    uint32_t before = 0;
    for (uint32_t i = 0; i < COME_LOOKS && context->spare && !context->flush && !context->stop &&
                         context->count >= before + COME_FEW;
         i++) {
        before = context->count;
        shared_unlock();
        starpu_sleep(COME_S);
        shared_lock();
        combine_drain(context);
    }
}

static void *planner_main(void *argument) {
    struct context *context = argument;
    shared_step_aside(&(bool){false}, true); /* not with the lock: its new core may be busy */
    shared_lock();
    while (!context->stop) {
        if (!due(context)) {
            shared_wait(&context->wake, NULL);
            continue;
        }
        let_them_come(context);
        context->flush = context->renew = false;
        combine_drain(context);
        if (lay(context, WORLD_FIRST, true)) {
            shared_fail("out of memory: the graph ahead is not planned");
            context->stop = true;
            STARPU_PTHREAD_COND_SIGNAL(&context->errand);
            break;
        }
        policy_ask(context);
    }
    combine_leave(context);
    return NULL;
}

void planner_notice(struct context *context, bool flush) {
    context->flush |= flush;
    if (due(context) && !context->planning && !context->stop &&
        shared_help(&context->planner, "symph planner", planner_main, context)) {
        STARPU_PTHREAD_COND_SIGNAL(&context->wake);
    }
}

int planner_prepare(struct context *context) {
    shared_help(&context->planner, "symph planner", planner_main, context);
    shared_help(&context->courier, "symph courier", courier_main, context);
    int code = context->live ? 0 : lay(context, WORLD_MIN, false);
    return code || context->spare ? code : make_world(context, false, WORLD_MIN, &context->spare);
}

void planner_forget(struct context *context) {
    sy_live_destroy(context->spare);
    context->spare = NULL;
}

void planner_open(struct context *context) {
    STARPU_PTHREAD_COND_INIT(&context->wake, NULL);
    STARPU_PTHREAD_COND_INIT(&context->errand, NULL);
}

void planner_stop(struct context *context) {
    shared_lock();
    context->stop = true;
    STARPU_PTHREAD_COND_SIGNAL(&context->wake);
    STARPU_PTHREAD_COND_SIGNAL(&context->errand);
    shared_unlock();
    shared_join(&context->planner);
    shared_join(&context->courier);
    STARPU_PTHREAD_COND_DESTROY(&context->wake);
    STARPU_PTHREAD_COND_DESTROY(&context->errand);
}
