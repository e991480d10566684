/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a session on StarPU: how tasks are submitted, where their data are, what is kept of
 * them. Every run is one; its driver submits the tasks.
 *
 *   session.c        kernels, jobs, what is said to the user, the call of the driver
 *   session_task.c   submission, whole or in parts, and ends
 *   session_data.c   host memory kept per size, data and their handles
 *   session_graph.c  the driver of a graph that is known in advance
 *   session_stream.c the driver of many of those, each a job that arrives some time
 *   pipeline.c       the driver of a stream of items; all others are in plug-ins
 *
 * All but ends of tasks happen on the thread that called the driver. StarPU's threads only count
 * down, write the task's row and put it into a queue: they never call the driver. What must stay
 * readable while others add to it lives in blocks that never move. Invariant: task and datum i here
 * are task and datum i of the record's graph.
 */
#ifndef SY_ENGINE_STARPU_SESSION_H
#define SY_ENGINE_STARPU_SESSION_H

#include "engine/starpu/process.h"
#include <math.h>
#include <symph/session.h>

#define BLOCK_ITEMS 4096u
#define BLOCK_COUNT 16384u /* so that there are at most 67 million of anything */

struct blocks {
    size_t item_bytes;
    uint32_t count;
    void *items[BLOCK_COUNT];
};

/* NULL when out of memory. Zeroed. */
void *blocks_add(struct blocks *blocks);
static inline void *blocks_at(const struct blocks *blocks, uint32_t index) {
    return (char *)blocks->items[index / BLOCK_ITEMS] + index % BLOCK_ITEMS * blocks->item_bytes;
}

struct session;

struct session_driver {
    /* All tasks have rows and StarPU tasks, which are the driver's, before the first is submitted.
     * Else rows and the record's graph grow as tasks are submitted. */
    bool known;
    /* Before the clock starts, once there are workers; NULL: nothing to do. */
    int (*prepare)(struct session *session, struct sy_error *error);
    /* Submits. What is still under way when it returns is waited for. */
    int (*drive)(struct session *session, struct sy_error *error);
    /* 1: everything is set back, drive once more. NULL: once is enough. */
    int (*again)(struct session *session, struct sy_error *error);
};

struct session_datum {
    starpu_data_handle_t handle; /* NULL: dropped, or a piece of another one */
    uint64_t bytes;
    const char *name;    /* NULL: none */
    const void *guarded; /* its memory, if that has guards; else NULL */
    /* What was last written in parts: the first part's is the datum itself, the others' pieces are
     * recorded behind each other. */
    uint32_t piece_start, piece_count;
    bool used;     /* some task was submitted that accesses it */
    bool homeless; /* without memory of the driver's */
};

struct session_job {
    uint32_t tenant;
    double weight;
    bool ended;
};

struct session_task;

struct session_fetch {
    struct session_task *task;
    starpu_data_handle_t handle;
};

/* A task, or a part of one, between its submission and the report of its end; used again. */
struct session_task {
    struct sy_engine_slot slot;
    struct session_task *whole; /* the first part; the rest here is in that one */
    void *tag;
    _Atomic uint32_t pending;      /* ends of parts, and data on their way back */
    struct session_task *next;     /* ended, or free */
    struct sy_session_ended ended; /* so far */
    uint32_t fetch_count;
    double parameters[SY_CALL_PARAMETER_MAX];
    struct sy_access accesses[SY_ARGUMENT_MAX];
    struct session_fetch fetches[SY_ARGUMENT_MAX];
};

#define SIZE_CLASSES (64 * 8)

struct session {
    struct sy_session base; /* what the driver sees */
    struct sy_engine *engine;
    const struct session_driver *driver;
    const char *arguments;
    void *state;                   /* of the driver of a graph */
    struct session_stream *stream; /* NULL: it is none of jobs */
    struct sy_error error;         /* the last, for a driver that says nothing itself */
    struct sy_map kernels;         /* by name, as it was asked for */
    struct sy_map tenants;
    struct session_job *jobs;
    uint32_t job_count, job_capacity, tenant_count;
    struct sy_note *notes;
    uint32_t note_count, note_capacity;
    bool several; /* memories: data must be fetched back */
    bool pinned;  /* host memory, since a device profits */
    int priority_min, priority_max;
    /* Data. */
    struct blocks data;              /* struct session_datum */
    void *free_memory[SIZE_CLASSES]; /* the first word is the next one */
    void *allocations;               /* a tree (search.h) of those that have guards */
    /* Tasks. */
    struct blocks tasks;        /* struct session_task */
    struct blocks rows;         /* struct sy_engine_row */
    struct sy_access *accesses; /* of the task that is being recorded */
    uint32_t access_count, access_capacity;
    uint32_t reported;             /* submitted with a tag, and not yet handed back */
    struct sy_session_ended ended; /* that wait returned last */
    struct starpu_codelet border;  /* before and behind parts; runs nowhere */
    _Atomic uint32_t unfinished;   /* submitted and not ended */
    _Atomic uint32_t calls;        /* of the driver */
    /* Ends. The lock guards these. */
    starpu_pthread_mutex_t lock;
    starpu_pthread_cond_t some;
    struct session_task *first, *last; /* ended */
    struct session_task *free_tasks;
};

/* Of a driver's call, which shows that it is alive. */
static inline struct session *session_of(struct sy_session *base) {
    struct session *session = (struct session *)base;
    atomic_fetch_add_explicit(&session->calls, 1, memory_order_relaxed);
    return session;
}

#define SESSION_NEVER_RAN ((struct sy_record_task){SY_NONE, NAN, NAN, NAN, NAN, NAN})

static inline struct sy_engine_row *session_row(const struct session *session, uint32_t task) {
    return blocks_at(&session->rows, task);
}

/* NULL: no such datum. */
static inline struct session_datum *session_find_datum(const struct session *session,
                                                       uint32_t number) {
    struct session_datum *datum =
        number < session->data.count ? blocks_at(&session->data, number) : NULL;
    return datum && datum->handle ? datum : NULL;
}

/* --- session.c --- */
/* Keeps the reason. Returns code. */
__attribute__((format(printf, 3, 4))) int session_fail(struct session *session, int code,
                                                       const char *format, ...);
/* With room for so many kernels. */
SY_MUST_CHECK int session_create(struct sy_engine *engine, const struct session_driver *driver,
                                 uint32_t kernel_capacity, struct sy_error *error);
/* On the kernels of the plug-in that has the workload or the pipeline. */
SY_MUST_CHECK int session_open(struct sy_engine *engine, const struct session_driver *driver,
                               const char *arguments, struct sy_error *error);
int session_add_kernel(struct session *session, const struct sy_kernel_entry *entry,
                       const char *name);
/* A kernel that the session has, or one of another plug-in, which is prepared now. */
int session_find_kernel(struct session *session, const char *name,
                        struct sy_engine_kernel **ret_kernel);
/* Once there are workers; then the driver's own preparation. */
SY_MUST_CHECK int session_prepare(struct session *session, struct sy_error *error);
/* Calls the driver and waits for what it submitted. */
SY_MUST_CHECK int session_drive(struct session *session, struct sy_error *error);
/* A drive function in a plug-in. */
extern const struct session_driver session_plugin;

/* --- session_task.c --- */
int session_submit(struct sy_session *base, const struct sy_session_task *desc);
int session_wait(struct sy_session *base, void **ret_tag);
void session_ended(struct sy_session *base, struct sy_session_ended *ret_ended);
void session_init_tasks(struct session *session);
/* Exact features of a call. room: for its arguments. */
struct sy_cost_features session_features(const struct session *session,
                                         const struct sy_engine_slot *slot,
                                         struct sy_argument *room);
/* A part's, of those of the whole. */
void session_share_costs(const struct sy_engine_slot *slot);
/* StarPU's task of a slot, in its row: a fresh one, or the driver's. worker: SY_NONE: the policy
 * decides. -ENOMEM. */
int session_make_task(struct session *session, struct sy_engine_slot *slot, uint32_t worker);
/* Submits it. */
int session_hand_over(struct session *session, const struct sy_engine_slot *slot);
/* Which tasks are alike. -ENOMEM. */
int session_number_likes(struct session *session, uint32_t *ret_count);

/* --- session_data.c --- */
void *session_allocate(struct sy_session *base, uint64_t bytes);
void session_release(struct sy_session *base, void *pointer, uint64_t bytes);
/* One block, cut into pieces of these sizes: never given back. -ENOMEM. */
int session_allocate_all(struct session *session, const uint64_t *bytes, uint32_t count,
                         void **ret_pointers);
int session_add_data(struct sy_session *base, const char *name, void *pointer, uint64_t bytes,
                     uint32_t *ret_datum);
void session_drop_data(struct sy_session *base, uint32_t datum);
/* Numbers of recorded data without bytes: the first of count. -ENOMEM. */
int session_record_pieces(struct session *session, uint32_t count, uint32_t *ret_first);
/* Data have guards in runs whose results are checked. After a C function has returned: ends the
 * process if it wrote past its data. */
void session_check_call(struct sy_engine *engine, const struct sy_engine_worker *worker,
                        const struct sy_engine_slot *slot);
/* Of all data that are still there, once nobody works on them. Ends the process if one is broken.
 */
void session_check_guards(struct session *session);
void session_drop_all(struct session *session);

/* --- session_graph.c --- */
/* The engine's graph, as a session that a driver of our own submits. */
SY_MUST_CHECK int session_open_graph(struct sy_engine *engine, struct sy_error *error);
/* Who has each kernel of the engine's graph; NULL: nobody, and the emulator stands in for it. */
SY_MUST_CHECK int session_bind(const struct sy_engine *engine,
                               const struct sy_kernel_entry **ret_entries, struct sy_error *error);
const struct sy_kernel_entry *session_emulator(const struct sy_engine *engine,
                                               struct sy_error *error);
/* The same with a driver that has tasks of the graph handed over at times of its own. */
SY_MUST_CHECK int session_open_driven(struct sy_engine *engine, const struct session_driver *driver,
                                      struct sy_error *error);
/* Of such a driver: data, rows, StarPU's tasks. And the slot of a task of the graph. */
SY_MUST_CHECK int session_prepare_graph(struct session *session, struct sy_error *error);
struct sy_engine_slot *session_graph_slot(const struct session *session, uint32_t task);
/* What StarPU still has of its tasks. */
void session_forget_graph(struct session *session);
/* Brings all data home, so that the engine's pointers are what the run left. */
SY_MUST_CHECK int session_fetch_graph(struct session *session, struct sy_error *error);

/* --- session_stream.c --- */
#define SESSION_RANK_MAX 1e6 /* priorities of a graph's tasks are that much above the least */
SY_MUST_CHECK int session_open_stream(struct sy_engine *engine, struct sy_error *error);
/* Every slot becomes its job's. */
void session_stream_claim(struct session *session, struct sy_engine_slot *slots);
/* What became of the jobs, if it was a stream of them; once the record has tasks and a model.
 * -ENOMEM. */
SY_MUST_CHECK int session_report_stream(const struct session *session, struct sy_record *record);

/* What an emulated task takes: the graph's CPU time; what no CPU runs, that of its fastest device.
 */
double session_emulated_ns(const struct sy_graph *graph, uint32_t task);

#endif
