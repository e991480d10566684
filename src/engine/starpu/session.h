/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a session on StarPU: tasks that a plug-in submits as it goes.
 *
 *   session.c         kernels, jobs, what is said to the user, the call of drive
 *   session_task.c    submission, whole or in parts, and ends
 *   session_data.c    host memory kept per size, data and their handles
 *   session_record.c  what ran, as a graph, once it has ended
 *
 * All but ends of tasks happen on the thread that called drive. StarPU's threads only count down,
 * write the task's row and put it into a queue: they never call the plug-in. What must stay
 * readable while others add to it lives in blocks that never move. Invariant: of a task that ended
 * and was reported only its row is left.
 */
#ifndef SY_ENGINE_STARPU_SESSION_H
#define SY_ENGINE_STARPU_SESSION_H

#include "engine/starpu/process.h"
#include <symph/session.h>

#define BLOCK_ITEMS 4096u
#define BLOCK_COUNT 4096u /* so that there are at most 16.7 million of anything */

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

struct session_datum {
    starpu_data_handle_t handle; /* NULL: the number is free */
    uint64_t bytes;
    uint32_t recorded;   /* its number in the record */
    uint32_t next_free;  /* SY_NONE: none */
    bool used;           /* some task was submitted that accesses it */
    bool homeless;       /* without memory of the driver's */
    const void *guarded; /* its memory, if that has guards; else NULL */
    /* What was last written in parts: the first part's is the datum itself, the others' pieces are
     * recorded behind each other. */
    uint32_t piece_start, piece_count;
    char name[40]; /* "": none */
};

struct session_job {
    uint32_t tenant;
    double weight;
    bool ended;
};

/* What is kept of a task that is gone. */
struct session_row {
    const char *name; /* NULL: unnamed */
    double work;
    struct sy_cost_features features; /* rounded */
    struct sy_engine_times times;
    uint32_t kernel, footprint;
    uint32_t access_start; /* in session.accesses; they end where the next row's start */
};

struct session_task;

struct session_fetch {
    struct session_task *task;
    starpu_data_handle_t handle;
};

/* A task, or a part of one, between its submission and the report of its end; used again. */
struct session_task {
    struct sy_engine_slot slot;
    struct session *session;
    struct session_row *row;
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
    struct sy_session base; /* what the plug-in sees */
    struct sy_engine *engine;
    const char *arguments;
    struct sy_error error; /* the last, for a driver that says nothing itself */
    struct sy_map kernels; /* by name, as it was asked for */
    struct sy_map tenants;
    struct session_job *jobs;
    uint32_t job_count, job_capacity, tenant_count;
    struct sy_note *notes;
    uint32_t note_count, note_capacity;
    bool several; /* memories: data must be fetched back */
    bool pinned;  /* host memory, since a device profits */
    int priority_min, priority_max;
    /* Data. */
    struct blocks data; /* struct session_datum */
    uint32_t free_datum;
    void *free_memory[SIZE_CLASSES]; /* the first word is the next one */
    void *allocations;               /* a tree (search.h) of those that have guards */
    /* Tasks. */
    struct blocks tasks;        /* struct session_task */
    struct blocks rows;         /* struct session_row */
    struct sy_access *accesses; /* of rows; data as they are recorded */
    uint32_t access_count, access_capacity;
    double *data_bytes; /* of recorded data */
    uint32_t recorded_count, recorded_capacity;
    uint32_t reported;             /* submitted with a tag, and not yet handed back */
    struct sy_session_ended ended; /* that wait returned last */
    struct starpu_codelet border;  /* before and behind parts; runs nowhere */
    _Atomic uint32_t unfinished;
    _Atomic uint32_t calls; /* of the driver */
    /* Ends. The lock guards these. */
    starpu_pthread_mutex_t lock;
    starpu_pthread_cond_t some;
    struct session_task *first, *last; /* ended */
    struct session_task *free_tasks;
};

/* Keeps the reason. Returns code. */
__attribute__((format(printf, 3, 4))) int session_fail(struct session *session, int code,
                                                       const char *format, ...);
/* Of a driver's call, which shows that it is alive. */
static inline struct session *session_of(struct sy_session *base) {
    struct session *session = (struct session *)base;
    atomic_fetch_add_explicit(&session->calls, 1, memory_order_relaxed);
    return session;
}

/* session.c */
/* A kernel of the session's own plug-in, or of another one, which is prepared now. */
int session_find_kernel(struct session *session, const char *name, uint32_t *ret_kernel);

/* session_task.c */
int session_submit(struct sy_session *base, const struct sy_session_task *desc);
int session_wait(struct sy_session *base, void **ret_tag);
void session_ended(struct sy_session *base, struct sy_session_ended *ret_ended);
void session_init_tasks(struct session *session);

/* session_data.c */
void *session_allocate(struct sy_session *base, uint64_t bytes);
void session_release(struct sy_session *base, void *pointer, uint64_t bytes);
int session_add_data(struct sy_session *base, const char *name, void *pointer, uint64_t bytes,
                     uint32_t *ret_datum);
void session_drop_data(struct sy_session *base, uint32_t datum);
/* Numbers of recorded data without bytes: the first of count. -ENOMEM. */
int session_record_pieces(struct session *session, uint32_t count, uint32_t *ret_first);
/* NULL: no such datum. */
struct session_datum *session_find_datum(const struct session *session, uint32_t datum);
void session_drop_all(struct session *session);

#endif
