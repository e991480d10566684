/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of Symphony's StarPU policy: what its hooks share.
 *
 * StarPU's hooks carry no pointer of ours until a context exists, and a program has one StarPU:
 * hence one static struct shared. Its lock guards everything below unless said otherwise, and no
 * hook waits for it: see combine.c. No StarPU function that may wait is called with it. All locks
 * and threads are StarPU's wrappers, because under SimGrid threads and time are simulated.
 *
 *   hooks.c                 what StarPU calls: leaves what happened, takes from the worker's box
 *   combine.c               whoever gets the lock tells the world all that happened meanwhile
 *   ask.c                   asks the policy, sends inputs ahead
 *   boxes.c                 tasks that a worker may take without the lock
 *   short_tasks.c           tasks shorter than a decision pass the policy by
 *   turns.c, urgent.c       who has a device: other programs, by a broker; what pushes aside
 *   node.c                  a node per task; who waits for whom, from the handles it accesses
 *   lay_ahead.c             lays all that is submitted, a job per job, on a thread of its own
 *   links.c                 how fast are the buses now, with others on them
 *   readings.c              what counters say of the machine's resources, for policies that ask
 *   kernels.c               codelets by what they are called, looked up once
 *   codelet_times.c         how long does this codelet take on data of this size, on each class
 *   implementation.c        which of a codelet's implementations a task runs with
 *   status.c                what runs now, for symph top
 *   recorder.c              what is kept of each task, if its program is to be recorded
 */
#ifndef SY_ENGINE_STARPU_SHARED_H
#define SY_ENGINE_STARPU_SHARED_H

#include "engine/starpu/context.h"
#include "schedulers/schedulers.h"

struct recorder;

#define DECISION_SAMPLES 65536
#define SPARE_BUFFERS    8
#define COMPARED_ROWS    255 /* that say how long a class takes of what another does */

struct shared {
    starpu_pthread_mutex_t lock;
    _Alignas(SY_CACHE_LINE) _Atomic bool busy; /* a hint, for those who would only try the lock */
    _Alignas(SY_CACHE_LINE) _Atomic bool up;   /* shared_start has been here */
    bool cores_poll; /* every worker has a core to itself: an idle one may work for others */
    bool shorts;     /* short tasks pass the policy by */
    bool started;
    struct sy_starpu_options options;
    char *policy;              /* as it was asked for */
    char *policy_name;         /* the same without its weights, */
    struct sy_weights weights; /* which are read once: a program may go elsewhere */
    struct sy_policy_setup setup;
    struct sy_machine *machine; /* NULL: not looked at yet */
    struct links *links;
    struct urgent *urgents; /* per core that has two workers; their own locks guard them */
    _Atomic bool urgent_sleep;
    struct turns *turns;         /* NULL: there is no broker */
    struct watcher *watcher;     /* NULL: the policy wants no readings */
    double start_ns;             /* of the first task */
    cpu_set_t *home;             /* where the thread that started StarPU may run; NULL: anywhere */
    struct sy_reading *readings; /* per resource */
    struct recorder *recorder;   /* NULL: nothing is recorded here */
    uint32_t starts;             /* of StarPU in this program */
    struct sy_status *status;    /* NULL: none */
    int status_fd;
    struct sy_store *store;
    bool learned;      /* the store has something new */
    char warning[512]; /* about the store; "": none */
    struct context contexts[STARPU_NMAX_SCHED_CTXS];
    struct sy_chains data, rows;
    struct spare {
        _Atomic bool taken;
        struct node *first;
        uint32_t count;
    } spare[SPARE_BUFFERS + 1]; /* nodes to be used again, by their buffers */
    struct sy_chains known;     /* kernels, by codelet and name */
    struct sy_map kernels;      /* their numbers, by name */
    struct sy_arena *names;     /* of kernels, and what else is known of them */
    uint32_t kernel_count;
    struct comparison {
        struct row *rows[COMPARED_ROWS]; /* ring */
        uint32_t count;                  /* ever */
        uint64_t ended;                  /* tasks that were measured */
        struct class_ratio {
            double value;   /* NAN: no row knows both */
            uint32_t count; /* and when it was worked out */
            uint64_t ended;
        } * ratios; /* [class * class_count + other class] */
    } comparison;
    uint32_t submitted;
    uint64_t worlds;     /* made so far: their numbers, since addresses are used again */
    double *last_end_ns; /* per worker */
    struct sy_decided *decisions;
    uint32_t decision_count, decision_capacity;
    float *decision_ns; /* ring */
    uint64_t decision_samples;
    uint64_t task_total, short_total; /* tasks that became ready; that passed the policy by */
    char failure[sizeof((struct sy_error *)0)->message];
};

extern struct shared sy_shared;

void sy_starpu_context_open(unsigned id);
void sy_starpu_context_close(unsigned id);
/* Told before everything is freed; each program that links the policy defines it. */
void sy_starpu_closing(void);

/* --- lock: a worker that waits for it must let others change its state --------------------------
 */
void shared_lock(void);
void shared_unlock(void);
/* Where workers poll, only tries; elsewhere waits. */
bool shared_try_lock(void);
/* For helper threads that wait for something, which gives the lock away meanwhile. */
void shared_wait(starpu_pthread_cond_t *condition, const struct timespec *until);
double shared_now_ns(void);
void shared_fail(const char *text);
/* With the lock held: starts a helper unless it runs already. False: no thread can be had, now or
 * later. */
bool shared_help(struct helper *helper, const char *name, void *(*run)(void *), void *argument);
/* Without the lock, once it was told to stop. */
void shared_join(struct helper *helper);
/* Takes both over: as it was asked for, and without its weights. */
void shared_set_policy(char *policy, char *name);
/* Whether the next decision is kept. */
bool shared_records(void);
/* Machine and store, once StarPU knows its workers. */
int shared_start(void);
/* The calling thread, no worker, leaves the cores to themselves that drive accelerators: they poll,
 * and a GPU whose worker waits for its turn stands still for milliseconds. A helper leaves all
 * workers' cores, if another is left. Once there is a machine; *done: it was called before. */
void shared_step_aside(bool *done, bool helper);

/* --- nodes --------------------------------------------------------------------------------------
 */
/* Without the lock, which is taken for the first one ever. NULL when out of memory. */
struct node *node_create(struct context *context, struct starpu_task *task);
struct node *node_of(const struct starpu_task *task);
/* It becomes one of its context's tasks. announced: by submit_hook, so that order tells
 * dependencies. */
void node_enter(struct node *node, bool announced);
/* It ended: forgets what later tasks no longer wait for. */
void node_finish(struct node *node);
void node_release(struct node *node);
void node_reap(struct context *context); /* empties the graveyard */
void node_free_spare(void);
/* Index of a datum in a world, adding it if need be; where StarPU has it now. */
uint32_t datum_index(struct datum *datum, struct sy_live *live);
uint64_t datum_valid(const struct datum *datum);

/* --- kernels ------------------------------------------------------------------------------------
 */
/* Which codelet a task has, and a number. */
uint64_t kernel_key(const struct starpu_task *task, uint64_t number);
/* NULL: out of memory. told_build: of the engine's own kernels. */
struct kernel *kernel_of(struct starpu_task *task, uint64_t told_build);
/* What the store has of it, in all sizes; NULL: out of memory. */
struct sy_group *kernel_group(struct kernel *kernel, uint32_t class_index);
/* What its tasks take, where a single class can run them: is that so little that a decision is not
 * worth it? How long then; INFINITY: no, or nobody knows. */
#define SHORT_ALONE_NS 5e4 /* ten times what a decision takes, with all that belongs to it */
double kernel_short_ns(const struct kernel *kernel, uint32_t size);
uint32_t kernel_size(double flops, double bytes);
void kernel_took(struct kernel *kernel, uint32_t size, double duration_ns);

/* --- rows ---------------------------------------------------------------------------------------
 */
/* Without the lock: which row is a task's. With it: that row; NULL when out of memory. */
void row_key(struct node *node);
struct row *row_of(struct node *node);
/* A task of this row begins or ends on a class; duration 0: it was not measured. */
void row_begin(struct row *row, struct node *node, uint32_t class_index);
void row_end(struct row *row, struct node *node, uint32_t class_index, double duration_ns);
/* What the model says of a class by now, ns; NAN: nothing, INFINITY: it cannot run there. */
double row_model_ns(const struct row *row, uint32_t class_index);
/* The class on which it is known to take less time than a decision, by what is known now; SY_NONE.
 */
uint32_t row_short_class(struct row *row);
void row_wait(struct row *row, struct node *node, bool waits);
void row_free_all(void);

/* --- implementations ----------------------------------------------------------------------------
 */
/* What the program's own model says of one; only before the first task. */
void implementation_told(struct implementation *implementation, double time_ns);
/* Chooses one that the program allows for this task on this worker, and sets it. */
void implementation_choose(struct node *node, uint32_t worker, uint32_t class_index);
/* The task ended; duration 0: it was not measured. */
void implementation_ended(struct node *node, uint32_t class_index, double duration_ns);

/* --- links --------------------------------------------------------------------------------------
 */
int links_open(void); /* once there is a machine */
void links_close(void);
void links_ask(struct node *node, uint32_t worker, double now_ns);
/* It begins; before that its worker was last busy until last_end_ns. */
void links_arrived(struct node *node, double now_ns, double last_end_ns);

/* --- watcher ------------------------------------------------------------------------------------
 */
int watcher_prepare(void); /* once there is a machine and a policy; -1: no memory */
/* With the lock held: it begins to look, unless there is nothing that it could be asked for. */
void watcher_start(void);
/* With the lock held: there is work. It does so if there has been for so long that it may pay, and
 * goes on if it rests. */
void watcher_notice(double now_ns);
/* With the lock held: it has found what can be read, or there is nothing to watch. */
bool watcher_opened(void);
void watcher_stop(void); /* without the lock */

/* --- planner ------------------------------------------------------------------------------------
 */
void planner_open(struct context *context);
void planner_stop(struct context *context);
/* With the lock held: a world, empty, and the threads, before there are tasks. */
int planner_prepare(struct context *context);
/* With the lock held: what was made ahead is of no use any more. */
void planner_forget(struct context *context);
/* With the lock held: adds a node to the present world as a job of its own. -ENOMEM. */
int planner_append(struct context *context, struct node *node);
/* With the lock held: whether another task may enter the world as a job of its own; whether this
 * one shall wait in line, which it then does; it leaves the line. */
bool planner_has_room(const struct context *context);
bool planner_line_up(struct context *context, struct node *node);
void planner_leave_line(struct context *context, struct node *node);
/* With the lock held: the inputs of a task that exist shall travel to a worker's memory. */
void planner_fetch(struct context *context, struct node *node, uint32_t worker);
/* With the lock held: what a task takes goes into a mean, to know whether a plan is worth its time;
 * 0 without decision. */
void planner_hears(double *mean_ns, const struct node *node);
/* With the lock held: is it? */
bool planner_pays(const struct context *context);
/* With the lock held: is it time to lay again? Wakes the planner. */
void planner_notice(struct context *context, bool flush);

/* --- short tasks --------------------------------------------------------------------------------
 */
/* Whether this one needs no decision, if its inputs are there when it is ready. */
bool short_alike(const struct node *node);
/* It is ready: it needs none. */
bool short_enough(const struct node *node);
/* It waits for the next worker of its short class, else of one that can run it. */
void short_line_up(struct context *context, struct node *node);
/* Some for a worker that has nothing to do. */
void short_hand_out(struct context *context, uint32_t worker);
/* Without the lock. */
bool short_waits(const struct context *context, uint32_t worker);

/* --- boxes --------------------------------------------------------------------------------------
 */
/* What is committed and not staged goes into the worker's box, as far as it needs it to go on
 * without us. */
void boxes_fill(struct context *context, uint32_t worker);
void boxes_put(struct context *context, struct node *node, uint32_t worker);
/* One that shall push aside what runs on its core. */
void boxes_put_urgent(struct context *context, struct node *node);
/* Without the lock, by whoever has its core: it does no work for others. */
void boxes_not_idle(struct context *context, uint32_t worker);
/* So many more ready tasks are in no box. */
void boxes_count_waiting(struct context *context, int32_t more);
void boxes_fill_all(struct context *context);
/* Tells the world what was taken since. */
void boxes_look(struct context *context);
/* Its worker left the context and does not take any more: what it has is ready again. */
void boxes_recall(struct context *context, uint32_t worker);
/* Without the lock, by the worker: the next task; NULL: none. */
struct node *boxes_take(struct context *context, uint32_t worker);
/* With the lock held by the caller, who gets it back: wakes those who got something. */
void boxes_wake(struct context *context);

/* --- combining ----------------------------------------------------------------------------------
 */
/* Without the lock: there is something that the world does not know of. */
bool combine_pending(struct context *context);
/* Without the lock: would a worker that has nothing to do learn anything new? Time alone may change
 * the answer, if it is looked at. */
bool combine_is_due(struct context *context, uint32_t worker, bool look_at_clock);
/* Without the lock: tells the world what happened and asks the policy, unless somebody else is at
 * it, who then sees what we left, too. self: the worker that has nothing to do; -1: none. */
void combine(struct context *context, int self);
/* The same, waiting for the lock: for who sleeps afterwards. */
void combine_surely(struct context *context);
/* An idle core works for everybody. */
static inline bool somebody_is_idle(const struct context *context) {
    return WORKERS_POLL && atomic_load_explicit(&context->idle, memory_order_relaxed) > 0;
}
/* With the lock held: only tells. For all contexts: before somebody looks at what was learned. */
void combine_drain(struct context *context);
void combine_drain_all(void);
/* Lets go of the lock, after what others left meanwhile is done. */
void combine_leave(struct context *context);
/* With the lock held: a task becomes ready, and the policy gets to know. */
void combine_admit(struct context *context, struct node *node);

/* --- policy -------------------------------------------------------------------------------------
 */
/* With the lock held by the caller, who gets it back: asks the policy and carries out what it says,
 * prefetches and wake-ups without the lock. */
void policy_ask(struct context *context);
/* With the lock held: has anything changed since it was asked? */
bool policy_is_stale(const struct context *context);

#endif
