/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of supervise/ share: one child, and the wires between it and us.
 */
#ifndef SY_SUPERVISE_CHILD_H
#define SY_SUPERVISE_CHILD_H

#include "supervise/supervise.h"

#define SY_PAGE_FD   3 /* in the engine */
#define SY_RECORD_FD 4

/* The process, and our ends of what connects us; -1: closed. */
struct sy_wires {
    pid_t pid;
    int control;                /* its standard input */
    int record;                 /* what it writes to its record */
    int said;                   /* its standard output and error */
    const struct sy_page *page; /* mapped; written by the child at any time */
};
/* On failure nothing is left open. */
SY_MUST_CHECK int sy_wires_spawn(const char *program, const struct sy_request *request,
                                 struct sy_wires *ret_wires, struct sy_error *error);
/* Closes and unmaps. */
void sy_wires_release(struct sy_wires *wires);

/* Why it was told to end. */
enum sy_verdict {
    SY_VERDICT_NONE,
    SY_VERDICT_STOPPED, /* on request */
    SY_VERDICT_FOREIGN, /* it speaks another version of our protocol */
    SY_VERDICT_FLOOD,   /* more came as its record than it may have */
    SY_VERDICT_SILENT,  /* no sign of life */
    SY_VERDICT_LATE,    /* it had said all, and did not leave */
};

#define SY_SAID_SIZE 2048
struct sy_child {
    struct sy_wires wires;
    struct sy_buffer record;
    char said[SY_SAID_SIZE]; /* the end of what it printed */
    size_t said_length;
    uint32_t phase, ended_count, beat; /* as they were seen last */
    double since_s; /* of the last thing that happened: a phase, a task's end, a beat */
    double start_limit_s, silence_limit_s;
    enum sy_verdict verdict;
    double waited_s;         /* silent: for how long, */
    uint32_t silent_phase;   /* and when */
    bool stopped_late;       /* stopped on request after its record */
    double told_s, killed_s; /* when it was told to end, and killed; NAN: not yet */
    bool ended;              /* gone and reaped */
    bool lost;               /* or given up, as the system could not end it */
    int status;              /* of waitpid, once ended */
    struct sy_outcome outcome;
};

/* The most that its record may have. */
uint64_t sy_child_record_limit(const struct sy_child *child);
/* outcome.c: after it has ended. */
void sy_child_conclude(struct sy_child *child);

#endif
