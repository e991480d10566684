/* SPDX-License-Identifier: Apache-2.0
 *
 * run: the parts of symph run, and the supervision of an engine process that others use too.
 *
 * In: what to run. Out: the record of each run, figures and pictures of them. Never knows: StarPU,
 * or how kernels work. Invariant: when a function here returns, no process that it started is left,
 * and no file is half written.
 */
#ifndef SY_CLI_RUN_H
#define SY_CLI_RUN_H

#include "cli/cli.h"
#include "engine/engine.h"
#include <sys/types.h>

/* --- one engine process (run_engine.c, run_spawn.c) ----------------------------------------------
 */
#define SY_RUN_LIMIT_S 60.0 /* how long one task may take, unless told */

struct sy_engine_start {
    const char *spec, *policy;
    const char *kernels, *models; /* NULL: where the engine looks by itself */
    uint64_t seed;
    bool check;                  /* the result against the reference */
    bool emulate;                /* kernels that no plug-in has are stood in for */
    double limit_s;              /* of one task; 0: SY_RUN_LIMIT_S */
    uint32_t cpus, opencl, cuda; /* workers at most; SY_NONE: all there are */
    uint32_t samples;            /* calibration: runs of each kernel and size; 0: a normal run */
    const char *label;           /* in front of the progress bar */
    bool quiet;
};

/* Runs an engine to its end: starts it, lets it begin, follows it, reaps it. Ctrl-C (after
 * sy_interrupt_watch) ends it. Prints what is wrong and returns an exit code. On success the text
 * of the record (symph-run-1) is appended to ret_record, unless that is NULL. */
int sy_engine_run(const struct sy_engine_start *start, struct sy_buffer *ret_record);

/* The child and our ends of what connects us; -1: closed. */
struct sy_engine_child {
    pid_t pid;
    int control;                /* its standard input */
    int record;                 /* what it writes to its record */
    int said;                   /* its standard output and error */
    const struct sy_page *page; /* mapped */
};
/* Prints what is wrong and returns an exit code. */
int sy_engine_spawn(const struct sy_engine_start *start, struct sy_engine_child *ret_child);
/* Closes and unmaps. The process must be gone already. */
void sy_engine_release(struct sy_engine_child *child);

/* --- where the last run is kept ------------------------------------------------------------------
 * $XDG_STATE_HOME/symph/runs/last.json, else ~/.local/state/symph/runs/last.json. 0 or a negative
 * errno: there is no home, or the buffer is too small. */
SY_MUST_CHECK int sy_run_last_path(char *buffer, size_t size);

#endif
