/* SPDX-License-Identifier: Apache-2.0
 *
 * explain: the parts of symph explain.
 *
 * In: the record of a run. Out: why a task went where it did, or what the run as a whole tells.
 * Never knows: how the record came to be. Invariant: whatever the record holds, nothing here
 * divides by a time that is 0 or follows a chain that does not end.
 */
#ifndef SY_CLI_EXPLAIN_EXPLAIN_H
#define SY_CLI_EXPLAIN_EXPLAIN_H

#include "cli/cli.h"
#include "engine/engine.h"

/* The record of a run: a file, or "last". Prints what is wrong and returns an exit code. */
int sy_input_record(const char *spec, char *ret_path, size_t path_size,
                    struct sy_record **ret_record);

/* The record, indexed by what people ask. Arrays are of arena. */
struct sy_explain {
    const struct sy_record *record;
    const char *path;
    struct sy_arena *arena;
    uint32_t *device_start; /* device_count + 1 */
    uint32_t *device_tasks; /* tasks of a device, by start */
    uint32_t *position;     /* [task] in device_tasks; SY_NONE: never ran */
    uint32_t *decision;     /* [task] the last decision about it; SY_NONE: none */
    double *stall_ns;       /* [task] its device waited for its inputs; 0: not at all, or unknown */
    uint32_t ran_count;     /* tasks that ran */
    double first_ns, end_ns; /* first submission or start, last end */
};
void sy_explain_init(struct sy_explain *explain, const struct sy_record *record);
void sy_explain_finish(struct sy_explain *explain);

/* --- facts (facts.c) -------------------------------------------------------------------------- */
const struct sy_decided *sy_explain_decided(const struct sy_explain *explain, uint32_t task);
double sy_explain_duration_ns(const struct sy_explain *explain, uint32_t task); /* NAN: none */
const char *sy_explain_device(const struct sy_explain *explain, uint32_t device);
const char *sy_explain_kernel(const struct sy_explain *explain, uint32_t task);
uint32_t sy_explain_class(const struct sy_explain *explain, uint32_t device);
/* The predecessor that ended last; SY_NONE: none that ran. */
uint32_t sy_explain_last_input(const struct sy_explain *explain, uint32_t task);
/* Who ran on its device before it; SY_NONE: nobody. */
uint32_t sy_explain_before(const struct sy_explain *explain, uint32_t task);

/* What really came of tasks like this one on devices of a class. */
struct sy_explain_seen {
    uint32_t count;   /* of the same kernel and, where there are any, of the same work */
    double median_ns; /* NAN: count is 0 */
};

/* When the task would have ended elsewhere, by what is known now; NAN: nothing to go by. */
struct sy_explain_hindsight {
    double free_ns; /* the device had really done what was given to it before */
    double end_ns;  /* max(free, inputs as predicted) + median of its like there */
    struct sy_explain_seen seen;
};
struct sy_explain_hindsight sy_explain_hindsight(const struct sy_explain *explain,
                                                 const struct sy_decided *decided,
                                                 const struct sy_alternative *alternative);

/* --- what policies say of their decisions (reason.c) --------------------------------------------
 * Nothing, or null, where they say nothing. */
struct sy_json_writer;
void sy_explain_reason_text(const struct sy_reason *reason, struct sy_buffer *out);
void sy_explain_reason_json(const struct sy_reason *reason, struct sy_json_writer *writer);
/* How often a guard did what, over the run. */
void sy_explain_guards_text(const struct sy_record *record, struct sy_buffer *out);
void sy_explain_guards_json(const struct sy_record *record, struct sy_json_writer *writer);

/* --- the whole run (path.c, idle.c, errors.c, run.c) --------------------------------------------
 */
enum sy_explain_cause { SY_CAUSE_START, SY_CAUSE_DEVICE, SY_CAUSE_INPUT };

/* One link of the chain that determines the makespan. */
struct sy_explain_link {
    uint32_t task;
    enum sy_explain_cause cause; /* what it waited for last: its device, an input, nobody */
    double gap_ns;               /* between the end of that and its start */
};

/* Where the time of a device went. */
struct sy_explain_idle {
    uint32_t task_count;
    double busy_ns;
    double inputs_ns;  /* its next task was placed and ready, and had not begun */
    double nothing_ns; /* no task that it could run was waiting anywhere */
    double held_ns;    /* some were waiting, but not for it */
};

/* Predictions of execution times, against what they were. */
#define SY_EXPLAIN_WORST 5
struct sy_explain_errors {
    uint32_t count;                 /* tasks that have one and ran */
    double median_ratio, p90_ratio; /* of |actual / predicted - 1|; NAN: count is 0 */
    uint32_t worst_count;
    uint32_t worst[SY_EXPLAIN_WORST]; /* tasks, by the time they were off */
};

/* The arrays are of explain's arena. */
struct sy_explain_errors sy_explain_errors(struct sy_explain *explain);
struct sy_explain_idle *sy_explain_idle(struct sy_explain *explain);
struct sy_explain_link *sy_explain_path(struct sy_explain *explain, uint32_t *ret_count);

struct sy_explain_overview {
    struct sy_explain_errors errors;
    struct sy_explain_link *links; /* from one that nothing held up to the last task to end */
    uint32_t link_count;
    struct sy_explain_idle *idle; /* one per device */
};
struct sy_explain_overview sy_explain_overview(struct sy_explain *explain);

/* --- answers; they return an exit code ----------------------------------------------------------
 */
int sy_explain_task_text(struct sy_explain *explain, uint32_t task);
int sy_explain_task_json(struct sy_explain *explain, uint32_t task);
int sy_explain_run_text(struct sy_explain *explain, const struct sy_explain_overview *overview);
int sy_explain_run_json(struct sy_explain *explain, const struct sy_explain_overview *overview);

#endif
