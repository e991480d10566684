/* SPDX-License-Identifier: Apache-2.0
 *
 * run: the parts of symph run, and the supervision of an engine process that others use too.
 *
 * In: what to run. Out: the record of each run, figures and pictures of them. Never knows: StarPU,
 * or how kernels work. Invariant: when a function here returns, no process that it started is left,
 * and no file is half written.
 */
#ifndef SY_CLI_RUN_RUN_H
#define SY_CLI_RUN_RUN_H

#include "cli/cli.h"
#include "cli/options.h"
#include "engine/engine.h"
#include "planner/planner.h"
#include <sys/types.h>

/* --- one engine process (run_engine.c, run_spawn.c) ----------------------------------------------
 */
#define SY_RUN_LIMIT_S 60.0 /* how long one task may take, unless told */

/* What is asked of a pipeline; NULL: nothing. */
struct sy_engine_pipeline {
    const char *objective, *plan, *times, *calibrate;
    const char *limits; /* of classes: "gpu=1;memory.h200=4e10" */
    struct sy_plan_bounds bounds;
    uint32_t window; /* 0: as the engine sees fit */
    bool check_all, watts, side_by_side;
};

struct sy_engine_start {
    const char *spec, *policy;
    const char *kernels, *models; /* NULL: where the engine looks by itself */
    uint64_t seed;
    bool check;                  /* the result against the reference */
    bool emulate;                /* kernels that no plug-in has are stood in for */
    double limit_s;              /* of one task; 0: SY_RUN_LIMIT_S */
    double start_limit_s;        /* until it is ready; set by the supervisor */
    uint32_t cpus, opencl, cuda; /* workers at most; SY_NONE: all there are */
    uint32_t samples;            /* calibration: runs of each kernel and size; 0: a normal run */
    const char *label;           /* in front of the progress bar */
    bool quiet;
    const struct sy_engine_pipeline *pipeline; /* NULL: a graph */
};

/* Runs an engine until its record is there: starts it, lets it begin, follows it. Ctrl-C (after
 * sy_interrupt_watch) ends it. Prints what is wrong and returns an exit code. What the engine wrote
 * as its record (symph-run-1) is appended to ret_record, unless that is NULL: all of it on success,
 * perhaps something on failure. The engine may still be saving what it learned: *ret_run is for
 * sy_engine_finish; NULL: it has ended already. */
struct sy_engine_run;
int sy_engine_run_to_record(const struct sy_engine_start *start, struct sy_buffer *ret_record,
                            struct sy_engine_run **ret_run);
/* Lets it end, reaps it, and tells what it could not keep. The results are what they are: only
 * Ctrl-C and a crash make an exit code. run may be NULL. told: remembers what was told, so that
 * many runs do not say the same; SY_NOTE_SIZE bytes, "" at first; NULL: nobody remembers. */
#define SY_NOTE_SIZE 512
int sy_engine_finish(struct sy_engine_run *run, char *told);
/* It has something to tell. run may be NULL. */
bool sy_engine_noted(const struct sy_engine_run *run);
/* Both at once. */
int sy_engine_supervise(const struct sy_engine_start *start, struct sy_buffer *ret_record);

/* What the engine knows the pipe of its record by. */
#define SY_RECORD_FD 4
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
 * last.json in the folder symph/runs of the user's state (base/folder.h). 0 or a negative errno and
 * why there is no such folder. make: it is made. */
SY_MUST_CHECK int sy_run_last_path(bool make, char *buffer, size_t size, struct sy_error *error);

/* --- the command ---------------------------------------------------------------------------------
 */
struct sy_run_args {
    struct sy_common_args common;
    struct sy_text_list graphs; /* one */
    const char *policy, *compare;
    const char *kernels, *models;
    const char *plot, *trace, *paje, *record;
    const char *pipeline, *objective, *plan, *times, *out;
    struct sy_text_list constraints;
    uint32_t window;
    bool calibrate, watts, side_by_side;
    uint32_t repeat, cpus, opencl, cuda;
    uint64_t seed;
    double limit_s;
    bool check, no_check, emulate;
};

/* What is kept of every run. Numbers that are not known are NAN. */
struct sy_run_figures {
    double makespan_ns;
    double bound_ns; /* by the model's times */
    double energy_joules;
    double result_error, result_tolerance;
    double decision_p50_ns, decision_p99_ns;
    uint32_t decision_count;
    double moved_bytes;
    double *route_bytes;    /* [from * memory_count + to] */
    double *device_busy_ns; /* per device */
    uint32_t *device_tasks;
};

struct sy_run_policy {
    const char *name;
    struct sy_run_figures *runs; /* per repeat */
    uint32_t run_count;
    uint32_t fastest;         /* the run below; or the one whose result is wrong */
    struct sy_record *record; /* NULL: none yet */
    struct sy_buffer text;    /* of the record */
};

struct sy_runs {
    const struct sy_run_args *args;
    struct sy_arena *arena; /* names and figures */
    struct sy_run_policy *policies;
    uint32_t policy_count;
    uint32_t last;                /* the policy whose record is kept as the last run */
    struct sy_engine_run *engine; /* of the last run, which is still saving; NULL: it has ended */
    char told[SY_NOTE_SIZE];      /* what could not be kept */
};

/* The figures of a record; arrays from arena. -ENOMEM. */
SY_MUST_CHECK int sy_run_figures(const struct sy_record *record, struct sy_arena *arena,
                                 struct sy_run_figures *ret_figures);
/* A result that was checked, and is wrong. */
bool sy_run_is_wrong(const struct sy_run_figures *figures);

struct sy_run_summary {
    double median_ns, min_ns, max_ns;                       /* makespan */
    double over_bound;                                      /* median / bound */
    double over_baseline, over_low, over_high;              /* of medians, with its interval */
    double moved_bytes, energy_joules, result_error;        /* medians; the error is the worst */
    double decision_p50_ns, decision_p99_ns, decision_mean; /* medians; decisions per run */
};
/* Of all runs: the least, so that it holds for each. NAN: none has one. */
double sy_run_bound_ns(const struct sy_runs *runs);
/* Against the first policy. */
SY_MUST_CHECK int sy_run_summarise(const struct sy_runs *runs, uint32_t policy,
                                   struct sy_run_summary *ret_summary);

/* The pictures, the record that was asked for, and the one kept as the last. All print what is
 * wrong and return an exit code. */
int sy_run_write(const struct sy_runs *runs);
int sy_run_print_table(const struct sy_runs *runs);
int sy_run_print_json(const struct sy_runs *runs);
/* What each device did, as a table. */
void sy_run_put_devices(const struct sy_run_policy *policy, struct sy_buffer *buffer);

/* --- pipelines (run_pipeline.c) ------------------------------------------------------------------
 */
/* Do its options go together? An exit code. */
int sy_run_check_pipeline(const struct sy_command *command, const struct sy_run_args *args);
int sy_run_pipeline(const struct sy_run_args *args);

#endif
