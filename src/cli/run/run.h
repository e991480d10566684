/* SPDX-License-Identifier: Apache-2.0
 *
 * run: the parts of symph run, some of which other commands use too.
 *
 * In: what to run. Out: the record of each run, figures and pictures of them. Never knows: StarPU,
 * or how kernels work. Invariant: when a function here returns, no process that it started is left,
 * and no file is half written.
 */
#ifndef SY_CLI_RUN_RUN_H
#define SY_CLI_RUN_RUN_H

#include "cli/cli.h"
#include "cli/options.h"
#include "supervise/supervise.h"

/* --- one engine process (engine.c) ---------------------------------------------------------------
 */
/* Runs an engine until its record is there. Ctrl-C (after sy_interrupt_watch) ends it. Prints what
 * is wrong and returns an exit code. label: in front of the progress bar. The record, as a text and
 * read, is given where it is whole, also after a failure; ret_record NULL: it is not wanted. The
 * engine may still be saving what it learned: *ret_child is for sy_run_finish. */
int sy_run_engine(const struct sy_request *request, const char *label, bool quiet,
                  struct sy_buffer *ret_text, struct sy_record **ret_record,
                  struct sy_child **ret_child);
/* Lets it end, and tells what it could not keep. The results are what they are: only Ctrl-C and a
 * crash make an exit code. child may be NULL. told: remembers what was told, so that many runs do
 * not say the same; SY_NOTE_SIZE bytes, "" at first; NULL: nobody remembers. */
#define SY_NOTE_SIZE sizeof((struct sy_outcome *)0)->note
int sy_run_finish(struct sy_child *child, bool quiet, char *told);

/* --- the command ---------------------------------------------------------------------------------
 */
struct sy_run_args {
    struct sy_common_args common;
    struct sy_text_list graphs; /* one; of a stream of jobs, all that they are drawn from */
    struct sy_request request;  /* all but the spec */
    const char *compare;
    const char *plot, *trace, *paje, *record;
    const char *pipeline;
    struct sy_text_list constraints;
    uint32_t repeat;
    bool calibrate, check, no_check;
    bool stream; /* of jobs */
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
    double *slowdowns; /* per job of a stream; NAN: its time alone is not known */
    uint32_t job_count;
    double jct_mean_ns, slowdown_mean, slowdown_p99; /* of a stream of jobs */
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
    uint32_t last;           /* the policy whose record is kept as the last run */
    struct sy_child *engine; /* of the last run, which is still saving; NULL: it has ended */
    char told[SY_NOTE_SIZE]; /* what could not be kept */
};

/* The figures of a record; arrays from arena. */
void sy_run_figures(const struct sy_record *record, struct sy_arena *arena,
                    struct sy_run_figures *ret_figures);
/* A result that was checked, and is wrong. */
bool sy_run_is_wrong(const struct sy_run_figures *figures);

struct sy_run_summary {
    double median_ns, min_ns, max_ns;                       /* makespan */
    double over_bound;                                      /* median / bound */
    double over_baseline, over_low, over_high;              /* of medians, with its interval */
    double moved_bytes, energy_joules, result_error;        /* medians; the error is the worst */
    double decision_p50_ns, decision_p99_ns, decision_mean; /* medians; decisions per run */
    double jct_mean_ns, slowdown_mean, slowdown_p99;        /* over all jobs of all runs */
};
/* Of all runs: the least, so that it holds for each. NAN: none has one. */
double sy_run_bound_ns(const struct sy_runs *runs);
/* Against the first policy. */
struct sy_run_summary sy_run_summarise(const struct sy_runs *runs, uint32_t policy);

/* The pictures, the record that was asked for, and the one kept as the last. All print what is
 * wrong and return an exit code. */
int sy_run_write(const struct sy_runs *runs);
int sy_run_print_table(const struct sy_runs *runs);
int sy_run_print_json(const struct sy_runs *runs);
/* What each device did, as a table. */
void sy_run_put_devices(const struct sy_run_policy *policy, struct sy_buffer *buffer);

/* --- streams of jobs (jobs.c)
 * ---------------------------------------------------------------------
 */
/* Do its options go together? An exit code. */
int sy_run_check_stream(const struct sy_command *command, const struct sy_run_args *args);
/* What the engine is asked for; texts from arena. */
void sy_run_ask_stream(const struct sy_run_args *args, struct sy_arena *arena,
                       struct sy_request *request);
/* The figures of a record's jobs. */
void sy_run_job_figures(const struct sy_record *record, struct sy_arena *arena,
                        struct sy_run_figures *figures);
/* Of all runs of a policy. */
void sy_run_summarise_jobs(const struct sy_run_policy *policy, struct sy_run_summary *summary);

/* --- pipelines (run_pipeline.c) ------------------------------------------------------------------
 */
/* Do its options go together? An exit code. */
int sy_run_check_pipeline(const struct sy_command *command, const struct sy_run_args *args);
int sy_run_pipeline(const struct sy_run_args *args);

#endif
