/* SPDX-License-Identifier: Apache-2.0
 *
 * engine: the contract of symph/scheduler.h in real time, and the record of a real run.
 *
 * In: a graph of real kernels, events of a runtime. Out: decisions; a run record (symph-run-1).
 * live.c keeps the view and asks the policy; record.c reads and writes what happened; starpu/ ties
 * both to StarPU, in a process of its own (symph-engine) or inside other people's programs
 * (libsymph-starpu.so). Never knows: the simulator. Nothing outside starpu/ knows StarPU.
 */
#ifndef SY_ENGINE_ENGINE_H
#define SY_ENGINE_ENGINE_H

#include "cost/cost.h"
#include "trace/trace.h"
#include <stdatomic.h>
#include <symph/scheduler.h>

/* --- the page that an engine process shares with its supervisor --------------------------------
 * A memfd that the supervisor makes and the engine inherits. The supervisor only reads. */
#define SY_PAGE_MAGIC 0x53594d50u

enum sy_phase {
    SY_PHASE_STARTING, /* finding devices, loading kernels, filling data */
    SY_PHASE_READY,    /* paused, waiting for a byte on its standard input */
    SY_PHASE_RUNNING,
    SY_PHASE_CHECKING, /* result against the reference, then the record */
    SY_PHASE_SAVING,   /* the record is written; what was learned is kept */
    SY_PHASE_DONE,     /* StarPU is shut down, the workload frees its memory */
    SY_PHASE_FAILED,   /* message says why */
};

/* Whose fault a failure is. */
enum sy_blame {
    SY_BLAME_RUN = 1, /* it ran, and failed */
    SY_BLAME_REQUEST, /* what was asked cannot be understood */
    SY_BLAME_INPUT,   /* graph, plug-in, policy, device */
};

/* How long the rest of a run may take, for a limit of one task. Sign of life: a task's end, a call
 * of the driver, a beat. */
static inline double sy_limit_start_s(double limit_s) { /* measures every link of the machine */
    return 60 + 9 * limit_s;
}
static inline double
sy_limit_step_s(double limit_s) { /* filling, driving without tasks, checking */
    return 10 * limit_s;
}
static inline double sy_limit_leave_s(double limit_s) { /* saving; and shutting down */
    return 10 + limit_s;
}
static inline double sy_limit_silence_s(double limit_s) { /* then the supervisor gives it up */
    return 10 + 1.5 * limit_s;
}

struct sy_page {
    uint32_t magic;
    _Atomic uint32_t phase;
    _Atomic uint32_t task_count, done_count; /* task_count: so far, if growing */
    _Atomic int32_t blame;                   /* with SY_PHASE_FAILED: enum sy_blame */
    struct sy_error error;         /* what happened, with the kernel's name and its input */
    _Atomic uint32_t growing;      /* not 0: tasks are submitted as it goes */
    _Atomic uint32_t beat;         /* counts while it is busy without tasks, within its limits */
    _Atomic double done, total;    /* what it says of itself; total 0: not known */
    char unit[24];                 /* of these; set before them */
    char note[512];                /* for people, of a run that went well; "": nothing to say */
    _Atomic uint64_t record_bytes; /* of the record; set before it is written */
};

/* --- what a program under our policy does now, for symph top -----------------------------------
 * A memfd of this name, which the program makes and holds open: whoever may look into its /proc can
 * read it, and it is gone when the program is, however that ends. Written while tasks run, by
 * relaxed stores, each field by one thread; a reader sees numbers that belong together but nearly.
 * Times are ns of the program's clock. */
#define SY_STATUS_NAME    "symph-status"
#define SY_STATUS_MAGIC   0x53595331u
#define SY_STATUS_WORKERS 256u
#define SY_STATUS_KERNELS 256u

struct sy_status_worker {
    _Alignas(64) _Atomic uint64_t pushed; /* tasks that became ready on its thread */
    _Atomic uint64_t begun, ended;
    _Atomic double busy_ns;  /* in tasks that have ended */
    _Atomic double since_ns; /* when what it runs began */
    _Atomic uint32_t kernel; /* of that */
};

struct sy_status {
    uint32_t magic; /* set last */
    uint32_t pid, worker_count;
    double start_ns;  /* of the first submission */
    double offset_ns; /* of CLOCK_MONOTONIC against the program's clock */
    char program[256], policy[64];
    char names[SY_STATUS_WORKERS][32];
    char kernels[SY_STATUS_KERNELS][64]; /* set before a worker names one; "": not yet */
    _Alignas(64) _Atomic uint64_t submitted;
    struct sy_status_worker workers[SY_STATUS_WORKERS + 1]; /* the last: threads that are none */
};

/* --- the record of a run -----------------------------------------------------------------------
 */
/* Predicted, at the moment of the decision, for one device that could have run the task; all times
 * but log_sigma in ns. finish = queue + max(inputs - queue, 0) + exec, from the decision on. */
struct sy_alternative {
    uint32_t device;
    double queue_ns;  /* until the device has done what it holds */
    double inputs_ns; /* until the task's inputs could be there */
    double exec_ns;   /* execution, corrected for what is known of the present load */
    double finish_ns;
    double log_sigma; /* spread of exec_ns */
};

#define SY_ALTERNATIVE_MAX 8 /* the chosen one and the best others, at most one per idle twin */

struct sy_decided {
    double at_ns;
    double priority;
    uint32_t task, device;
    uint32_t ready_count; /* tasks that were waiting to be placed, this one included */
    uint32_t alternative_count;
    struct sy_alternative alternatives[SY_ALTERNATIVE_MAX]; /* [0] is what was chosen */
    struct sy_reason reason;                                /* all 0: the policy did not say */
};

struct sy_record_task {
    uint32_t device;     /* SY_NONE: never ran */
    double submitted_ns; /* all since the run began; NAN: not known */
    double ready_ns, start_ns, end_ns;
    double predicted_ns; /* execution, when it was decided; NAN: by a policy that does not say */
    double aside_ns;     /* between start and end, while its core had another; from the trace */
};

/* What it took, alone. */
static inline double sy_record_took_ns(const struct sy_record_task *task) {
    return task->end_ns - task->start_ns - task->aside_ns;
}

/* Of a stream of jobs. Its tasks are consecutive. */
struct sy_record_job {
    const char *graph;
    uint32_t tenant, first_task, task_count;
    double weight;
    double arrive_ns, end_ns; /* since the run began */
    double alone_ns; /* at least, on this machine, if it had it to itself; NAN: not known */
};

/* One line that a program adds to its summary: "calls", "5,431". */
struct sy_note {
    const char *key, *value;
};

/* --- what came of a stream of items ------------------------------------------------------------
 * Rates are items per s; what is not known is NAN. */
struct sy_stream_phase {
    uint64_t first_item, item_count;
    const char *plan;  /* sy_plan_write */
    const char *cause; /* sy_replan_cause_name */
    double period_ns;  /* as it was predicted, per item */
    double rate;       /* from the first end to the last */
    double latency_p50_ns, latency_p99_ns;
    double joules; /* per item */
};

struct sy_stream_report {
    const char *pipeline, *objective;
    uint64_t item_count, checked_count;
    uint32_t window;    /* items under way at most, under any of the plans */
    double rate;        /* of all, from the first submission to the last end */
    double steady_rate; /* without the first window of items; NAN: these are more than half */
    double latency_p50_ns, latency_p99_ns;
    double joules;                         /* per item */
    double result_error, result_tolerance; /* of the worst item that was checked */
    uint64_t worst_item;
    const struct sy_stream_phase *phases;
    uint32_t phase_count;
};

/* Everything that is known of one run. Strings and arrays live in arena. */
struct sy_record {
    struct sy_arena *arena;
    const char *spec;    /* the graph as it was asked for */
    const char *policy;  /* "lb", "starpu:dmdas" */
    const char *runtime; /* "StarPU 1.3.10" */
    const char *host, *date;
    struct sy_graph *graph;     /* owned; task times per kind hold the model's estimate */
    struct sy_machine *machine; /* owned */
    /* [task * class_count + class of machine] what the cost model said at the end of the run;
     * NAN: unknown, INFINITY: cannot. */
    double *model_ns;
    struct sy_record_task *tasks; /* as many as the graph has */
    struct sy_decided *decisions; /* in order of time */
    uint32_t decision_count;
    struct sy_trace trace;                   /* tasks, stalls where known */
    double makespan_ns;                      /* first submission to last end */
    double *moved_bytes;                     /* [from * memory_count + to] */
    double energy_joules;                    /* NAN: not readable here */
    const char *energy_source;               /* NULL: none */
    double result_error, result_tolerance;   /* NAN: not checked */
    double decision_p50_ns, decision_p99_ns; /* NAN: not ours to measure */
    const struct sy_note *notes;
    uint32_t note_count;
    const struct sy_record_job *jobs;      /* in order of arrival */
    uint32_t job_count;                    /* 0: it was no stream of jobs */
    const struct sy_stream_report *stream; /* NULL: it was none */
};

/* "none", "trusted", "bounded", "fallback", "plan"; NULL past the end. */
const char *sy_guard_name(uint32_t guard);
bool sy_reason_given(const struct sy_reason *reason);

struct sy_record *sy_record_create(void);
void sy_record_destroy(struct sy_record *record);
/* symph-run-1, one JSON object. */
void sy_record_write(const struct sy_record *record, struct sy_buffer *buffer);
SY_MUST_CHECK int sy_record_read_text(const char *name, const char *text, size_t length,
                                      struct sy_record **ret_record, struct sy_error *error);
SY_MUST_CHECK int sy_record_read_file(const char *path, struct sy_record **ret_record,
                                      struct sy_error *error);

/* Of its tasks, when and where each ran: the spans of its trace. An asynchronous device is told of
 * a task while it still runs another: it starts after that, which its row then says. What a core
 * begins and ends while it has another task made that stand aside: it has parts. asked_ns:
 * since when a device waited for a task's inputs, NAN: not known; NULL: of no task. -ENOMEM. */
SY_MUST_CHECK int sy_record_add_trace(struct sy_record *record, const double *asked_ns);
/* How long each of its tasks stood aside, by its trace. -ENOMEM. */
SY_MUST_CHECK int sy_record_find_asides(struct sy_record *record);
/* [task * class_count + class of machine]: what its model says; where that is nothing for the class
 * on which a task ran, the median of what its like took there: ret_unknown counts these. Every task
 * must have run. -ENOMEM. */
SY_MUST_CHECK int sy_record_times(const struct sy_record *record, double *ret_time_ns,
                                  uint32_t *ret_unknown);
/* What tasks took over the median of those like them, where there are several: at most one figure
 * per task. Every task must have run. -ENOMEM. */
SY_MUST_CHECK int sy_record_noise(const struct sy_record *record, double *ret_ratios,
                                  uint32_t *ret_count);
/* The kernels of a graph, its own or a part of it, get the spread with which they ran. */
SY_MUST_CHECK int sy_record_set_spreads(const struct sy_record *record, struct sy_graph *graph);
/* The times of its graph become what its model says, so that bounds and replays speak of this
 * machine. -ENOMEM. */
SY_MUST_CHECK int sy_record_set_times(struct sy_record *record);

/* Its trace as a picture or another trace. bound_ns: a line in the chart; NAN: none. */
typedef void sy_trace_writer(const struct sy_trace *trace, const struct sy_trace_names *names,
                             struct sy_buffer *buffer);
void sy_record_draw(const struct sy_record *record, sy_trace_writer *writer, double bound_ns,
                    struct sy_buffer *buffer);

/* The record of the last run. Both return 0 or a negative errno and why there is no such folder or
 * file. */
SY_MUST_CHECK int sy_last_path(char *buffer, size_t size, struct sy_error *error);
SY_MUST_CHECK int sy_last_keep(const struct sy_buffer *text, struct sy_error *error);

#endif
