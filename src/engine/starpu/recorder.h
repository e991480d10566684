/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept of the tasks of somebody else's program, for its record (docs/run-format.md).
 *
 *   submitted, ready, taken, begun, ended  -> recorder.c         notes, in blocks that do not move
 *   the end of StarPU                      -> recorder_graph.c   who waited for whom
 *                                             recorder_write.c   record, pictures, the last record
 *
 * A note belongs to whoever has the task: the calls below need no lock, and nothing but a test of a
 * pointer if no record is made. Memory is bounded: tasks beyond the limit are counted only.
 */
#ifndef SY_ENGINE_STARPU_RECORDER_H
#define SY_ENGINE_STARPU_RECORDER_H

#include "engine/starpu/shared.h"
#include <sys/types.h>

#define RECORDER_BLOCK     1024u
#define RECORDER_TASKS     100000u /* unless the user says otherwise */
#define RECORDER_TASKS_MAX 10000000u

/* How an access is ordered among those of the same datum, in order of submission. */
enum note_order {
    NOTE_UNORDERED, /* the program sees to it */
    NOTE_READS,
    NOTE_WRITES,
    NOTE_COMMUTES, /* in any order among their like, */
    NOTE_REDUCES,  /* or at the same time */
};

struct note_access {
    uint32_t datum;
    uint16_t mode; /* enum sy_access_mode */
    uint16_t order;
};

struct note {
    double submitted_ns, ready_ns, asked_ns, start_ns, end_ns; /* StarPU's clock; NAN: not known */
    double work;
    const struct row *row; /* NULL: no memory for all of it */
    const char *name;      /* the program's own for this task; NULL: none */
    uint32_t number;       /* as decisions name it */
    uint32_t index;        /* among the notes */
    uint32_t worker;
    uint32_t access_start, access_count;
};

struct recorder {
    /* Files, absolute; NULL: not asked for. */
    char *record, *plot, *trace, *paje;
    pid_t pid;      /* whose it is: a child that forks off has a copy */
    uint32_t limit; /* of tasks */
    starpu_pthread_mutex_t lock;
    /* Guarded by it until the end of StarPU. */
    struct note **blocks;
    uint32_t count;
    uint64_t left_out; /* tasks beyond the limit, or without memory */
    struct note_access *accesses;
    uint32_t access_count, access_capacity;
    struct note_edge {
        uint32_t from, to; /* notes; that the program declared itself */
    } * edges;
    uint32_t edge_count, edge_capacity;
    struct sy_chains data; /* struct note_datum by handle */
    double *data_bytes;
    uint32_t data_count, data_capacity;
    struct sy_arena *arena; /* names, struct note_datum */
};

/* A program's wish, from its environment: files for this start of StarPU, the first being 1. *ret
 * is NULL if nothing is to be recorded. -ENOMEM, or what is wrong with a file or the limit. */
SY_MUST_CHECK int recorder_open(uint32_t start, struct recorder **ret_recorder,
                                struct sy_error *error);
/* Once the last task has ended, before what the policy knows is freed. 0 or what could not be
 * written. */
SY_MUST_CHECK int recorder_write(struct recorder *recorder, struct sy_error *error);
void recorder_close(struct recorder *recorder); /* may be NULL */

static inline struct note *recorder_note(const struct recorder *recorder, uint32_t index) {
    return &recorder->blocks[index / RECORDER_BLOCK][index % RECORDER_BLOCK];
}

/* The graph of what was submitted. order: notes by number; task i of the graph is order[i]. */
SY_MUST_CHECK int recorder_graph(const struct recorder *recorder, const uint32_t *order,
                                 uint32_t count, const char *name, struct sy_graph **ret_graph,
                                 struct sy_error *error);

/* --- while tasks run ----------------------------------------------------------------------------
 */
/* A node was made: gives it a note, if tasks are noted; without the lock. */
void recorder_note_task(struct node *node);
/* It has its row and its data; with the lock held that guards these. ordered: among other tasks, by
 * its accesses. */
void recorder_enter(struct node *node, bool ordered);

static inline void recorder_create(struct node *node) {
    if (sy_shared.recorder) {
        recorder_note_task(node);
    }
}

static inline void recorder_ready(struct node *node) {
    if (node->note) {
        node->note->ready_ns = shared_now_ns();
    }
}

/* By a worker, to whose memory some of its inputs may have to travel. */
static inline void recorder_taken(struct node *node) { /* NULL: none */
    if (node && node->note && node->promised_ns > 0) {
        node->note->asked_ns = shared_now_ns();
    }
}

static inline void recorder_begin(struct node *node, uint32_t worker) {
    if (node->note) {
        node->note->worker = worker;
        node->note->start_ns = node->start_ns;
    }
}

/* Its task has ended, but StarPU has not told those that wait for it: who are they? */
void recorder_successors(const struct node *node);

static inline void recorder_end(struct node *node, double now_ns) {
    if (node->note) {
        node->note->end_ns = now_ns;
        if (node->task) {
            recorder_successors(node);
        }
    }
}

#endif
