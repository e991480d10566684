/* SPDX-License-Identifier: Apache-2.0
 *
 * symph-engine: one process that runs one session, once, on StarPU. Who drives it is a plug-in, a
 * stream of items, or the engine itself with a graph that is known in advance.
 *
 * In: KEY=VALUE arguments, kernel plug-ins, a byte on standard input. Out: a run record, and the
 * page shared with the supervisor (engine.h). Invariant: whatever happens (a kernel that fails,
 * crashes or never ends, a device that is not there) the page says so and the process ends.
 */
#ifndef SY_ENGINE_STARPU_PROCESS_H
#define SY_ENGINE_STARPU_PROCESS_H

#include "base/folder.h"
#include "engine/engine.h"
#include "engine/request.h"
#include "engine/starpu/hooks.h"
#include "graph/graph.h"
#include "kernels/kernels.h"
#include <limits.h>
#include <sys/types.h>

/* What one worker has started and not yet ended, oldest first: asynchronous devices hold several.
 * Written by the worker alone; read by the watchdog and by the signal handler. */
#define SY_FLIGHT_MAX 16
struct sy_flight {
    _Atomic uint32_t first, end; /* running numbers; task i is at i % SY_FLIGHT_MAX */
    _Atomic(const struct sy_engine_slot *) tasks[SY_FLIGHT_MAX];
    _Atomic uint64_t since_ns; /* since when the oldest one has had the device to itself */
};

struct sy_engine_slot;

struct sy_engine_worker {
    char name[64];
    enum sy_flavour flavour;
    uint32_t number; /* among the workers of its flavour */
    struct sy_flight flight;
    struct sy_argument *arguments; /* room for the widest task */
    char message[SY_CALL_MESSAGE_MAX];
    double last_end_ns; /* of its last task, since the start; the worker's own */
};

struct sy_engine;

struct sy_engine_kernel {
    const struct sy_kernel_entry *entry;
    const char *name; /* as it was asked for */
    uint64_t build;   /* of its plug-in; 0: not known */
    bool emulated;
    uint32_t recorded; /* its number in the record's graph; SY_NONE: not used yet */
    struct starpu_codelet codelet;
    struct starpu_perfmodel model; /* not used by our policies */
};

/* What is kept of a task until the record is written. */
struct sy_engine_row {
    const char *name; /* NULL: its number stands for it */
    struct sy_engine_kernel *kernel;
    struct sy_cost_features features;
    double work;                /* handed to the kernel: the submitter's, or the time to emulate */
    uint32_t footprint;         /* of the features, where sizes hardly ever repeat; 0: exact */
    uint32_t like;              /* same kernel and features, same number; below like_count */
    struct starpu_task *starpu; /* NULL: gone */
    struct sy_record_task ran;
    double asked_ns; /* for its inputs; NAN: not known */
};

/* What a codelet is told about its task. Stays readable after the task's end: faults tell of it. */
struct sy_engine_slot {
    struct sy_engine *engine;
    struct sy_engine_row *row;
    uint32_t task; /* number in the record */
    uint32_t access_count;
    const struct sy_access *accesses;
    const double *parameters;
    uint32_t parameter_count;
    uint32_t part, part_count; /* 0 of 1: all of it */
    int priority;
    void *user;
    struct sy_starpu_job job;
};

struct session;
struct sy_energy;
struct sy_pipeline;

struct sy_engine {
    struct sy_request request;
    struct sy_arena *arena;
    struct sy_page *page;
    char scratch[PATH_MAX]; /* a folder that the keeper removes; "": none */
    /* load.c */
    struct sy_kernel_set *plugins;
    const struct sy_kernel_workload *workload; /* NULL: a graph without a meaning */
    const struct sy_kernel_pipeline *pipeline; /* NULL: it is none */
    struct sy_pipeline *description;
    const struct sy_stream_report *stream; /* once it has run */
    struct sy_store *store;                /* it learns into; NULL: it was none */
    void *state;
    void **pointers;        /* per datum of a graph: its host memory */
    struct sy_graph *graph; /* known in advance, or what was submitted so far */
    struct session *session;
    /* session.c. They do not move. */
    struct sy_engine_kernel *kernels;
    uint32_t kernel_count, kernel_capacity;
    uint32_t emulated_count;
    uint32_t widest; /* most accesses of a task */
    /* workers.c */
    struct sy_engine_worker *workers;
    uint32_t worker_count; /* each is a device of the machine; */
    uint32_t urgent_count; /* behind them, on the cores of the last so many: urgent.c */
    struct sy_machine *machine;
    char runtime[256];
    bool ours; /* one of our policies, not one of StarPU's */
    /* run.c */
    double start_us;              /* of the first submission, StarPU's clock */
    _Atomic uint64_t progress_ns; /* when a task last began or ended */
    double *moved_bytes;          /* [from * memory_count + to] */
    double result_error, result_tolerance;
    struct sy_energy *energy;
    double energy_joules;      /* NAN: nothing readable */
    const char *energy_source; /* NULL: none */
};

/* home.c */
/* Where StarPU and PoCL put their files; before the keeper is made. */
SY_MUST_CHECK int sy_engine_set_home(struct sy_engine *engine, struct sy_error *error);

/* keeper.c */
/* From here on in a child of a keeper, which ends with the engine's own status. parent: who started
 * us; scratch: a folder to be removed at the end, or "". Before there are threads. */
SY_MUST_CHECK int sy_engine_keep(pid_t parent, const char *scratch);

/* load.c; after the plug-ins were opened */
SY_MUST_CHECK int sy_engine_load(struct sy_engine *engine, struct sy_error *error);

/* cores.c */
struct sy_cores {
    uint32_t count;  /* this process may use: by its affinity mask, and by its groups' quotas */
    bool restricted; /* fewer than the machine has */
};
struct sy_cores sy_engine_cores(void);
/* Cores' worth of time that control groups grant; INFINITY: no quota. membership: a file such as
 * /proc/self/cgroup; root: where version 2 groups are mounted. */
double sy_engine_quota(const char *membership, const char *root);

/* workers.c */
SY_MUST_CHECK int sy_engine_start_workers(struct sy_engine *engine, struct sy_error *error);

/* codelet.c */
/* Codelets for the kernels from first on, prepared on every device, while others may be running. */
SY_MUST_CHECK int sy_engine_add_codelets(struct sy_engine *engine, uint32_t first,
                                         struct sy_error *error);
/* Some worker must be able to run the kernel. */
SY_MUST_CHECK int sy_engine_check_devices(const struct sy_engine *engine,
                                          const struct sy_engine_kernel *kernel,
                                          struct sy_error *error);
/* Of the engine's tasks, for the policy. */
void sy_engine_describe(const struct starpu_task *task, struct sy_starpu_told *told);

/* run.c */
SY_MUST_CHECK int sy_engine_run(struct sy_engine *engine, struct sy_error *error);
/* Since the run began; NAN: cannot be read. And by what; NULL: nothing. */
double sy_engine_joules(const struct sy_engine *engine);
const char *sy_engine_energy_source(const struct sy_engine *engine);

/* pipeline.c */
SY_MUST_CHECK int sy_engine_load_pipeline(struct sy_engine *engine, struct sy_error *error);

/* pipeline.c, and by way of it the policy's: after the record is written. */
void sy_engine_save(struct sy_engine *engine);

/* report.c */
SY_MUST_CHECK int sy_engine_report(struct sy_engine *engine, struct sy_error *error);

/* model.c */
/* Times that the cost model gives now, into the record and into its graph. */
SY_MUST_CHECK int sy_engine_add_model(struct sy_engine *engine, struct sy_record *record);

/* faults.c */
/* Fault handlers; again after other libraries have put theirs. */
SY_MUST_CHECK int sy_engine_catch_faults(struct sy_engine *engine);
/* An alternate stack for the calling thread, so that an overflow of its own can be told. */
void sy_engine_guard_thread(void);
void sy_engine_phase(struct sy_engine *engine, enum sy_phase phase);
/* Something that symph shall tell after a run that went well. The first one counts. */
__attribute__((format(printf, 2, 3))) void sy_engine_note(struct sy_engine *engine,
                                                          const char *format, ...);
/* Tells and ends the process. The first to fail is told; a second one waits for its end. */
_Noreturn void sy_engine_fail(struct sy_engine *engine, enum sy_blame blame,
                              const struct sy_error *error);
/* What a kernel itself answered. */
_Noreturn void sy_engine_fail_kernel(struct sy_engine *engine,
                                     const struct sy_engine_worker *worker,
                                     const struct sy_engine_slot *slot, int code);
/* Bytes around a datum were overwritten. worker and slot: who found it; NULL: the end of the run.
 */
_Noreturn void sy_engine_fail_guard(struct sy_engine *engine, const struct sy_engine_worker *worker,
                                    const struct sy_engine_slot *slot, uint32_t datum,
                                    uint32_t before, uint32_t behind);
/* The calling thread begins or has left a kernel that runs on the host. */
void sy_engine_enter(const struct sy_engine_worker *worker, const struct sy_engine_slot *slot);
void sy_engine_leave(void);
/* The same for what else may crash or hang: " while it prepared kernel ", "gemm". */
void sy_engine_doing(const char *what, const char *name);

/* watchdog.c */
SY_MUST_CHECK int sy_engine_start_watchdog(struct sy_engine *engine);
/* A worker begins a task, or the first it has in flight has ended. */
void sy_flight_begin(struct sy_engine *engine, struct sy_engine_worker *worker,
                     const struct sy_engine_slot *slot);
void sy_flight_end(struct sy_engine *engine, struct sy_engine_worker *worker);

#endif
