/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a StarPU program, while its tasks are unfinished: data, what codelets take,
 * tasks and who waits for whom, and what each context has. Guarded by the lock of shared.h unless
 * said otherwise.
 */
#ifndef SY_ENGINE_STARPU_CONTEXT_H
#define SY_ENGINE_STARPU_CONTEXT_H

#include "base/handoff.h"
#include "engine/live.h"
#include "engine/starpu/hooks.h"

struct node;
struct note;

/* Workers that poll need not be woken, and need not wait for the lock: they come back. */
#if defined(STARPU_NON_BLOCKING_DRIVERS) && !defined(STARPU_SIMGRID)
#define WORKERS_POLL true
#else
#define WORKERS_POLL false
#endif

#define DATUM_WORLDS 4

/* A thread beside the workers. Most programs end before they need one: see shared_help. */
struct helper {
    starpu_pthread_t thread;
    bool runs, failed;
};

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
    /* Its number in the last few worlds: two per context while one replaces the other. */
    uint64_t world[DATUM_WORLDS];
    uint32_t index[DATUM_WORLDS];
};

#define KERNEL_SIZES 64

/* What does not depend on data; lives as long as the policy. */
struct kernel {
    struct sy_chained link;   /* by codelet and name */
    const char *name;         /* as the program calls it, */
    const char *stored;       /* and as its times are kept */
    uint32_t number;          /* for the policy */
    struct sy_group **groups; /* per class, of the store; NULL: not asked for yet */
    struct kernel_length {
        uint32_t count;
        double share, mean_ns;       /* that are short; of all, longer ones cut off */
    } before, lengths[KERNEL_SIZES]; /* in earlier runs; in this one, by size */
};

/* Times of one codelet on data of one footprint. */
struct row {
    struct sy_chained link; /* by codelet and footprint */
    struct kernel *known;
    uint32_t kernel;        /* number for the policy */
    uint32_t size;          /* among those of its kernel's lengths */
    const char *name;       /* of the kernel; NULL: no memory */
    bool compares;          /* it is in shared.comparison */
    bool rounded;           /* one of many sizes of its kernel: what others suggest is believed */
    struct sy_cell **cells; /* per class; NULL: cannot run there */
    double *prior_ns;       /* per class: what the program's own models say; NAN: nothing */
    double *time_ns;        /* per class: for the policy */
    struct implementation *implementations; /* per class and number, see implementation.c */
    uint8_t *only; /* per class: the one there is; NO_IMPLEMENTATION: it depends on the task */
    uint32_t *exploring;  /* per class: tasks under way though the class is not yet trusted */
    uint32_t short_class; /* where it is known to take less time than a decision; SY_NONE */
    double short_ns;      /* how long it takes there */
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

/* HANDED: in its worker's box, or taken from it and not yet known to be. */
enum node_state { NODE_WAITING, NODE_READY, NODE_COMMITTED, NODE_HANDED, NODE_RUNNING, NODE_DONE };

struct node_access {
    struct datum *datum;
    uint32_t reader, writes; /* its place among the readers, while datum->writes is this */
    struct node *producer;   /* as referenced as a predecessor */
    uint32_t mode;
};

#define NODE_FEW 4

struct node {
    /* On which stack of its context it is: submitted or ended; pushed. */
    struct sy_stacked told_first, told_next;
    struct starpu_task *task; /* until it is done */
    struct context *context;
    struct row *row; /* NULL: no memory for one */
    struct sy_starpu_told told;
    struct note *note; /* recorder.h; NULL: none is made */
    uint64_t row_key;
    uint64_t footprint;
    /* Its worker's alone from when it is taken to when it has ended. */
    bool taken, begun;
    uint32_t lane;         /* StarPU's worker that runs it */
    struct node *run_next; /* began later on the same worker */
    double start_ns, end_ns;
    double duration_ns; /* 0: not measured */
    double aside_ns;    /* what others had of its core before it began */
    double idle_ns;     /* since when its worker had nothing to do; INFINITY: it had */
    /* Guarded by the lock. */
    enum node_state state;
    struct node *prev, *next;           /* unfinished, in order of submission */
    struct node *row_prev, *row_next;   /* row->waiting */
    struct node *line_prev, *line_next; /* context->line, or a class's short tasks */
    uint32_t references;                /* itself, and unfinished successors */
    uint32_t waited_by;                 /* sequence of the last that was seen to wait for it, + 1 */
    uint32_t sequence;                  /* order of submission */
    uint32_t index, next_index;         /* in the world, and in the one being made */
    uint64_t plan;                      /* the one that next_index belongs to */
    uint32_t staged; /* threads that ask for its inputs just now: until they are done it stays */
    uint32_t worker; /* COMMITTED and later: the device */
    bool urgent;     /* for the urgent worker there */
    uint8_t implementation; /* that it runs with; NO_IMPLEMENTATION: not chosen by us */
    bool entered;           /* it has its data, its row and its predecessors */
    bool exploring, listed;
    bool single, lined;           /* in the world as a job of its own; in context->line */
    bool is_short;                /* it passed the policy by */
    bool prefetched;              /* as a whole: StarPU wants that once per task */
    double expected_ns;           /* HANDED: for the box */
    double asked_ns, promised_ns; /* its inputs: asked for when, to take how long */
    uint32_t link;                /* which they cross; see links.c */
    uint32_t buffers;             /* room for so many accesses, behind the node */
    uint32_t access_count, pred_count;
    struct node_access *accesses;
    struct node **preds, *few[NODE_FEW];
};

/* What its worker may take without the lock. */
struct box {
    struct sy_ring ring; /* of nodes; who has the lock puts */
    _Atomic bool more;   /* there is more for it than fits */
    _Atomic bool idle;   /* it is counted in context->idle; its worker's, and the urgent one's, */
    uint32_t polls;      /* and has asked in vain so many times; */
    uint32_t waited;     /* of those, in favour of a worker that is about to ask; */
    bool about_to_ask;   /* it is counted in context->about_to_ask */
    bool wake;           /* guarded by the lock: it got something and may be asleep */
};

struct context {
    bool used;
    unsigned id;
    bool *workers; /* which of all workers it has */
    bool *away;    /* and those of cores that other programs have now */
    _Atomic uint32_t away_count;
    struct sy_live *live;
    struct sy_live *spare; /* empty, made before there was work; NULL: taken, or never made */
    struct node **slots;   /* node of each task index of live */
    struct node *first, *last;
    uint32_t count;  /* unfinished */
    uint32_t unlaid; /* submitted since the world was laid */
    /* Running means, on the fastest class, of what needs a decision: of the tasks submitted, as far
     * as was known then, and of those that became ready. */
    double usual_ns, ready_ns;
    /* Ready tasks that were not laid enter the world as jobs of their own. Policies look at every
     * job, so only a few do at a time, and the others wait in line. */
    struct node *line, *line_last;
    uint32_t singles; /* in the world, unfinished */
    struct short_line {
        struct node *first, *last;
        _Atomic uint32_t count;
    } * shorts; /* per class */
    /* Not guarded by the lock: what happened and was not yet told to the world. */
    struct sy_stack submitted, pushed, ended;
    _Atomic uint32_t submitted_count;
    _Alignas(SY_CACHE_LINE) _Atomic int idle; /* cores that found nothing when they asked last */
    _Atomic int about_to_ask; /* cores that pushed a task and have not asked since */
    _Atomic uint32_t waiting; /* ready tasks that are in no box; who has the lock writes */
    struct node **running;    /* per worker, and its own: began and have not ended, oldest first */
    /* Read without the lock, so that an idle worker's polling costs nothing: the policy decides for
     * all devices at once, so nobody need ask again until something has changed. */
    _Atomic uint32_t version; /* of what the policy could know */
    _Atomic uint32_t asked;   /* version at which it was asked last */
    _Atomic int64_t asked_ns; /* and when */
    struct box *boxes;        /* per worker */
    /* Planner. */
    struct helper planner, courier; /* the second one sends inputs ahead */
    starpu_pthread_cond_t wake, errand;
    bool stop, flush, planning;
    bool renew;             /* the policy was replaced */
    uint64_t plans;         /* made so far */
    struct node *graveyard; /* done while a plan is being made */
    struct fetch {
        struct node *node; /* staged */
        uint32_t worker;
    } * fetches;
    uint32_t fetch_count, fetch_capacity;
};

#endif
