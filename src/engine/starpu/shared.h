/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of Symphony's StarPU policy: what its hooks share.
 *
 * StarPU's hooks carry no pointer of ours until a context exists, and a program has one StarPU:
 * hence one static struct shared. Its lock guards everything below unless said otherwise. Hooks
 * hold it for microseconds and call no StarPU function that may wait while they do. All locks and
 * threads are StarPU's wrappers, because under SimGrid threads and time are simulated.
 *
 *   submit_hook -> node.c   a node per task; who waits for whom, from the handles it accesses
 *   push, pop   -> hooks.c  ready tasks to the policy, decisions to the workers' queues
 *   lay_ahead.c             lays all that is submitted, a job per job, on a thread of its own
 *   links.c                 how fast are the buses now, with others on them
 *   readings.c              what counters say of the machine's resources, for policies that ask
 *   codelet_times.c         how long does this codelet take on data of this size, on each class
 *   implementation.c        which of a codelet's implementations a task runs with
 *   status.c                what runs now, for symph top
 *   recorder.c              what is kept of each task, if its program is to be recorded
 */
#ifndef SY_ENGINE_STARPU_SHARED_H
#define SY_ENGINE_STARPU_SHARED_H

#include "engine/live.h"
#include "engine/starpu/hooks.h"
#include "schedulers/schedulers.h"

struct node;
struct note;
struct recorder;

#define DATUM_WORLDS 4

/* What a handle is while unfinished tasks use it. */
struct datum {
    struct sy_chained link; /* by handle */
    starpu_data_handle_t handle;
    double bytes;
    uint32_t uses;       /* unfinished nodes that access it */
    struct node *writer; /* the last one submitted, if unfinished */
    struct reader {
        struct node *node;
        uint32_t access; /* of its accesses, this one */
    } * readers;
    uint32_t reader_count, reader_capacity; /* unfinished, since that writer */
    uint32_t writes;                        /* so far: readers of an earlier one are forgotten */
    /* Its number in up to so many worlds: two per context while one replaces the other. */
    uint64_t world[DATUM_WORLDS];
    uint32_t index[DATUM_WORLDS];
};

/* Times of one codelet on data of one footprint. */
struct row {
    struct sy_chained link; /* by codelet and footprint */
    uint32_t kernel;        /* number for the policy */
    const char *name;       /* of the kernel; NULL: no memory */
    bool rounded;           /* one of many sizes of its kernel: what others suggest is believed */
    struct sy_cell **cells; /* per class; NULL: cannot run there */
    double *prior_ns;       /* per class: what the program's own models say; NAN: nothing */
    double *time_ns;        /* per class: for the policy */
    struct implementation *implementations; /* per class and number, see implementation.c */
    uint8_t *only; /* per class: the one there is; NO_IMPLEMENTATION: it depends on the task */
    uint32_t *exploring;  /* per class: tasks under way though the class is not yet trusted */
    struct node *waiting; /* ready and nowhere committed: their times are kept fresh */
    uint32_t waiting_count;
    double next_refresh_ns;
};

/* How fast one implementation of a codelet is, on data of one footprint and one class. */
#define NO_IMPLEMENTATION UINT8_MAX
struct implementation {
    uint32_t count, under_way;
    double middle_ns; /* of what it took; robust */
};

enum node_state { NODE_WAITING, NODE_READY, NODE_COMMITTED, NODE_RUNNING, NODE_DONE };

struct node_access {
    struct datum *datum;
    uint32_t reader, writes; /* its place among the readers, while datum->writes is this */
    struct node *producer;   /* as referenced as a predecessor */
    uint32_t mode;
};

struct node {
    struct starpu_task *task; /* until it is done */
    struct context *context;
    struct node *prev, *next;           /* unfinished, in order of submission */
    struct node *row_prev, *row_next;   /* row->waiting */
    struct row *row;                    /* NULL: no memory for one */
    uint32_t references;                /* itself, and unfinished successors */
    uint32_t waited_by;                 /* sequence of the last that was seen to wait for it, + 1 */
    struct node *line_prev, *line_next; /* context->line */
    uint32_t number;                    /* for the record */
    struct note *note;                  /* recorder.h; NULL: none is made */
    uint32_t sequence;                  /* order of submission */
    struct sy_starpu_job job;
    uint32_t index, next_index; /* in the world, and in the one being made */
    uint64_t plan;              /* the one that next_index belongs to */
    enum node_state state;
    uint32_t staged; /* threads that ask for its inputs just now: until they are done it stays */
    uint8_t implementation; /* that it runs with; NO_IMPLEMENTATION: not chosen by us */
    bool exploring, listed;
    bool single, lined;    /* in the world as a job of its own; in context->line */
    bool prefetched;       /* as a whole: StarPU wants that once per task */
    uint32_t worker;       /* COMMITTED, RUNNING */
    struct node *run_next; /* began later on the same worker */
    double start_ns;
    double asked_ns, promised_ns; /* its inputs: asked for when, to take how long */
    uint32_t link;                /* which they cross; see links.c */
    uint32_t access_count, pred_count;
    struct node_access *accesses; /* behind the node, in the same block */
    struct node **preds;
};

struct context {
    bool used;
    unsigned id;
    bool *workers; /* which of all workers it has */
    struct sy_live *live;
    struct node **slots; /* node of each task index of live */
    struct node *first, *last;
    struct node **running; /* per worker: those that began and have not ended, oldest first */
    uint32_t count;        /* unfinished */
    uint32_t unlaid;       /* submitted since the world was laid */
    /* Ready tasks that were not laid enter the world as jobs of their own. Policies look at every
     * job, so only a few do at a time, and the others wait in line. */
    struct node *line, *line_last;
    uint32_t singles; /* in the world, unfinished */
    /* Read without the lock, so that an idle worker's polling costs nothing: the policy decides for
     * all devices at once, so nobody need ask again until something has changed. */
    _Atomic uint32_t version;  /* of what the policy could know */
    _Atomic uint32_t asked;    /* version at which it was asked last */
    _Atomic uint64_t asked_ns; /* and when */
    _Atomic(uint32_t) *mail;   /* per worker: counts what was put into its queue */
    uint32_t *read;            /* per worker: how much of it the worker knows of */
    bool *hungry;              /* per worker: it ended a task and has not asked since */
    /* Planner. */
    starpu_pthread_t planner, courier; /* the second one sends inputs ahead */
    starpu_pthread_cond_t wake, errand;
    bool planner_runs, stop, flush, planning;
    bool renew;             /* the policy was replaced */
    uint64_t plans;         /* made so far */
    struct node *graveyard; /* done while a plan is being made */
    struct fetch {
        struct node *node; /* staged */
        uint32_t worker;
    } * fetches;
    uint32_t fetch_count, fetch_capacity;
};

#define DECISION_SAMPLES 65536

struct shared {
    starpu_pthread_mutex_t lock;
    bool started;
    struct sy_starpu_options options;
    char *policy;              /* as it was asked for */
    char *policy_name;         /* the same without its weights, */
    struct sy_weights weights; /* which are read once: a program may go elsewhere */
    struct sy_policy_setup setup;
    struct sy_machine *machine; /* NULL: not looked at yet */
    struct links *links;
    struct watcher *watcher;     /* NULL: the policy wants no readings */
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
    struct sy_map kernels;
    struct sy_arena *names; /* of kernels */
    uint32_t kernel_count;
    uint32_t submitted;
    uint64_t worlds;     /* made so far: their numbers, since addresses are used again */
    double *last_end_ns; /* per worker */
    struct sy_decided *decisions;
    uint32_t decision_count, decision_capacity;
    float *decision_ns; /* ring */
    uint64_t decision_samples;
    uint64_t task_total;
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
double shared_now_ns(void);
void shared_fail(const char *text);
/* Takes both over: as it was asked for, and without its weights. */
void shared_set_policy(char *policy, char *name);
/* Whether the next decision is kept. */
bool shared_records(void);
/* Machine and store, once StarPU knows its workers. */
int shared_start(void);
/* The calling thread, no worker, leaves the cores to themselves that drive accelerators: they poll,
 * and a GPU whose worker waits for its turn stands still for milliseconds. Once there is a machine;
 * *done: it was called before. */
void shared_step_aside(bool *done);

/* --- nodes --------------------------------------------------------------------------------------
 */
/* NULL when out of memory. announced: by submit_hook, so that order tells dependencies. */
struct node *node_create(struct context *context, struct starpu_task *task, bool announced);
struct node *node_of(const struct starpu_task *task);
/* It ended: forgets what later tasks no longer wait for. */
void node_finish(struct node *node);
void node_release(struct node *node);
void node_reap(struct context *context); /* empties the graveyard */
/* Index of a datum in a world, adding it if need be; where StarPU has it now. */
uint32_t datum_index(struct datum *datum, struct sy_live *live);
uint64_t datum_valid(const struct datum *datum);

/* --- rows ---------------------------------------------------------------------------------------
 */
struct row *row_of(struct starpu_task *task, unsigned context, const struct sy_starpu_told *told);
/* A task of this row begins or ends on a class; duration 0: it was not measured. */
void row_begin(struct row *row, struct node *node, uint32_t class_index);
void row_end(struct row *row, struct node *node, uint32_t class_index, double duration_ns);
/* What the model says of a class by now, ns; NAN: nothing, INFINITY: it cannot run there. */
double row_model_ns(const struct row *row, uint32_t class_index);
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
int watcher_start(void); /* once there is a machine and a policy; -1: no memory */
void watcher_stop(void); /* without the lock */
bool watcher_opened(
    void); /* with it: it has found what can be read, or there is nothing to watch */

/* --- planner ------------------------------------------------------------------------------------
 */
int planner_start(struct context *context);
void planner_stop(struct context *context);
/* With the lock held: a world, empty, before there are tasks. */
int planner_prepare(struct context *context);
/* With the lock held: adds a node to the present world as a job of its own. -ENOMEM. */
int planner_append(struct context *context, struct node *node);
/* With the lock held: whether another task may enter the world as a job of its own; whether this
 * one shall wait in line, which it then does; it leaves the line. */
bool planner_has_room(const struct context *context);
bool planner_line_up(struct context *context, struct node *node);
void planner_leave_line(struct context *context, struct node *node);
/* With the lock held: the inputs of a task that exist shall travel to a worker's memory. */
void planner_fetch(struct context *context, struct node *node, uint32_t worker);
/* With the lock held: is it time to lay again? Wakes the planner. */
void planner_notice(struct context *context, bool flush);

/* --- policy -------------------------------------------------------------------------------------
 */
/* With the lock held by the caller, who gets it back: asks the policy and carries out what it says,
 * prefetches and wake-ups without the lock. self: the worker that asks; -1: none. */
void policy_ask(struct context *context, int self);

#endif
