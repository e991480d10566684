/* SPDX-License-Identifier: Apache-2.0
 *
 * supervise: engine processes from their start to their end, whatever becomes of them.
 *
 * In: a request. Out: a record, and an outcome: data that others print. One program may look after
 * several engines at once: poll() on what sy_child_polls gives for each, then sy_child_step. Never
 * knows: StarPU, kernels, terminals, the clock (the time is an argument). Invariants: no call but
 * sy_child_destroy waits; once a child has ended, it and all that it started are gone and reaped.
 */
#ifndef SY_SUPERVISE_SUPERVISE_H
#define SY_SUPERVISE_SUPERVISE_H

#include "base/base.h"
#include "engine/engine.h"
#include "engine/request.h"
#include <poll.h>
#include <sys/types.h>

/* The engine of this installation, or SYMPH_ENGINE. -EINVAL: that is no program. -EIO: there is no
 * engine. */
SY_MUST_CHECK int sy_engine_find(char *path, size_t size, struct sy_error *error);

/* --- one engine --------------------------------------------------------------------------------
 * All times are seconds of one clock that never goes back. */
struct sy_child;

enum sy_child_state {
    SY_CHILD_STARTING, /* looks for devices and kernels */
    SY_CHILD_RUNNING,
    SY_CHILD_RECORDED, /* its record is whole; it saves what it learned, and leaves */
    SY_CHILD_ENDING,   /* it was told to end */
    SY_CHILD_ENDED,    /* it is gone: the outcome is final */
};

/* Starts a program as an engine. The request is copied by the way. The caller must not ignore
 * SIGCHLD, or the way in which the child ends stays unknown. */
SY_MUST_CHECK int sy_child_start(const char *program, const struct sy_request *request,
                                 double now_s, struct sy_child **ret_child, struct sy_error *error);
/* What to wait for: polls[SY_CHILD_POLLS], with fd -1 where there is nothing. Returns after how
 * many ms to call sy_child_step at the latest; -1: it has ended. */
#define SY_CHILD_POLLS 2
int sy_child_polls(const struct sy_child *child, struct pollfd *ret_polls);
/* Takes what there is, lets a ready engine begin, and ends one that breaks its limits. */
enum sy_child_state sy_child_step(struct sy_child *child, double now_s);
/* Asks it to end; it is killed if it does not. Its outcome will be -ECANCELED, unless it has failed
 * or ended before. */
void sy_child_stop(struct sy_child *child, double now_s);
/* Kills it if it has not ended, and waits for that (10 s at most, if the system cannot end it).
 * child may be NULL. */
void sy_child_destroy(struct sy_child *child);

/* How far it is. */
struct sy_child_progress {
    enum sy_phase phase;
    uint32_t done_count, task_count;
    bool growing;       /* task_count: tasks are submitted as it goes */
    double done, total; /* in its own unit, if it grows; total 0: not known */
};
struct sy_child_progress sy_child_progress(const struct sy_child *child);

/* What it wrote as its record (symph-run-1), whole or not: given away, the child has none then.
 * Also of a run that failed: where the result is wrong there is a record to look at. -ENOMEM. */
SY_MUST_CHECK int sy_child_take_record(struct sy_child *child, struct sy_buffer *ret_text);

struct sy_outcome {
    int code; /* 0, or a negative errno: so far, or finally */
    enum sy_blame blame;
    struct sy_error error; /* of a code; "" if it was stopped on request */
    char said[256];        /* a line that it printed and that may explain the failure; "": none */
    char note[512];        /* for people, of a run that went well: what could not be kept */
};
struct sy_outcome sy_child_outcome(const struct sy_child *child);

/* --- what runs now, whoever started it ---------------------------------------------------------
 */
struct sy_status_seen_worker {
    char name[32];
    char kernel[64]; /* that it runs; "": none */
    uint64_t done_count, running_count;
    double busy_ns;  /* in tasks, up to now */
    double since_ns; /* for so long it has run this one; NAN: none */
};

struct sy_status_seen {
    pid_t pid;
    bool engine;    /* symph-engine, else somebody else's program */
    char phase[16]; /* "running", ... */
    char program[256], policy[64];
    uint64_t task_count; /* submitted so far, or in all */
    uint64_t done_count, ready_count, running_count;
    double age_ns; /* since the first submission; 0: not known */
    struct sy_status_seen_worker *workers;
    uint32_t worker_count; /* 0: it does not say: a policy of StarPU's own */
};

/* Engines and other people's programs under our policies, by pid. now_ns: CLOCK_MONOTONIC. Their
 * workers are in arena; the list is to be freed. 0 or a negative errno. */
SY_MUST_CHECK int sy_status_list(struct sy_arena *arena, double now_ns,
                                 struct sy_status_seen **ret_programs, uint32_t *ret_count);

#endif
