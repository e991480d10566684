/* SPDX-License-Identifier: Apache-2.0
 *
 * sim: a workload on a machine in virtual time, under any scheduler.
 *
 * In: workload, options, a policy. Out: a result, optionally a trace and its check. Never knows:
 * what a policy thinks, or the real clock (to time a policy it takes one as a parameter).
 * Invariants: the same seed gives the same bytes (unless a real clock is charged); hidden noise and
 * load depend on the seed alone, so that all policies meet the same world; nothing is allocated
 * between start and end of a run.
 */
#ifndef SY_SIM_SIM_H
#define SY_SIM_SIM_H

#include "cost/cost.h"
#include "trace/trace.h"
#include <symph/scheduler.h>

/* Relative speed of a kernel beside another on the same SMT core or GPU. */
struct sy_interference {
    uint32_t count;
    const char **names;
    double *ratio;   /* [a * count + b]: speed of a while b runs beside it; 1: undisturbed */
    double fallback; /* for a pair with a kernel that is not in the table: its geometric mean */
    struct sy_arena *arena;
};
/* The square table of smt-pairs-*.csv or the pair lines of gpu-pairs-*.csv. */
SY_MUST_CHECK int sy_interference_read(const char *path, struct sy_interference **ret_table,
                                       struct sy_error *error);
void sy_interference_destroy(struct sy_interference *table);

/* Shape of timing noise: ratios to the median, sorted; drawn by inverse transform. */
struct sy_noise_table {
    double *ratio;
    uint32_t count;
};
/* HOFT timing files (Size,runIndex,time...); sizes are pooled after division by their median. */
SY_MUST_CHECK int sy_noise_read(const char *path, struct sy_noise_table *ret_table,
                                struct sy_error *error);
void sy_noise_finish(struct sy_noise_table *table);

struct sy_device_event {
    double at_ns;
    uint32_t device;
    bool lost; /* false: it returns */
};

/* What policies that ask for readings are given. */
enum sy_sim_belief {
    SY_SIM_RAW,      /* the last reading of each counter */
    SY_SIM_NONE,     /* what durations alone make believe: the world has no counters */
    SY_SIM_FILTERED, /* what is believed to flow now, inferred from counters and durations */
    SY_SIM_TRUE,     /* what does flow now: what a perfect belief would be worth */
};

/* What the counters count. */
enum sy_sim_events {
    SY_SIM_LISTING, /* of a host's memory: reads, writes, both, cache misses; else traffic */
    SY_SIM_TRAFFIC, /* the traffic of each resource */
};

/* What a policy is called for. */
enum sy_sim_call {
    SY_CALL_JOB_ARRIVED,
    SY_CALL_JOB_LEFT,
    SY_CALL_TASK_READY,
    SY_CALL_TASK_DONE,
    SY_CALL_DEVICE, /* lost, returned */
    SY_CALL_DECIDE,
};

struct sy_sim_options {
    uint64_t seed;
    double noise_sigma;                       /* log-normal, median 1 */
    const struct sy_noise_table *noise_table; /* instead of log-normal; NULL: none */
    double spike_probability, spike_factor;   /* now and then a task takes that much longer */
    double model_error_sigma;                 /* true / estimated per (kernel, class), log-normal */
    bool contention;                          /* shared bandwidth, co-run slowdown */
    bool preempt;                             /* on cores, by policies that want to */
    const struct sy_interference *smt, *gpu;  /* NULL: group members do not slow each other */
    double hidden_load;   /* mean share of each resource that other tenants take, 0..0.9; on/off */
    double hidden_weight; /* flows of ours that they share it like, whatever they want; 0: 4 */
    double throttle; /* mean share of its speed that each device loses to others, 0..0.9; on/off */
    double hidden_period_ns;  /* mean on+off time of both; 0: 1/20 of the longest job alone */
    double straggler_share;   /* of the time that each device is slow for long, 0..0.9 */
    double straggler_factor;  /* tasks take so many times longer then, 1 or more */
    double straggler_ns;      /* mean length of such a spell; 0: the longest job alone */
    double counter_period_ns; /* between two readings; 0: 2 ms, as in the engine */
    double counter_noise;     /* relative error, Student-t(4); default 0 means exact */
    double counter_outliers;  /* share of readings that are ten times too large or too small */
    uint32_t counter_live;    /* counters that count at a time, others wait; 0: all */
    enum sy_sim_events counter_events;
    enum sy_sim_belief belief;
    double decision_ns; /* charged to the clock for each task placed */
    /* Charge what the policy's calls took by clock_ns: results depend on the machine. Not of
     * policies that need the truth, nor of searches (NAME:N), which are made offline. */
    bool charge;
    const struct sy_device_event *device_events; /* sorted by time */
    uint32_t device_event_count;
    const struct sy_policy_setup *setup; /* of learned policies; NULL: as their names say */
    bool record;                         /* fill the trace */
    bool judge;                          /* fill the result's accuracy; costs time */
    bool (*stop)(void);       /* asked now and then: end the run with -ECANCELED; NULL: never */
    double (*clock_ns)(void); /* to time the policy's calls with; NULL: not timed */
    /* Told of every call that was timed: what it took, and how much was decided. NULL: nobody */
    void (*observe)(void *observer, enum sy_sim_call call, double ns, uint32_t decisions);
    void *observer;
};

struct sy_sim_job_result {
    double done_ns;  /* completion time - arrival */
    double slowdown; /* done_ns / isolated_ns: sy_cost_slowdown */
};

/* How good what is told of shared resources was, and slowdowns predicted from it. */
struct sy_sim_accuracy {
    double error_points[SY_RES_INTERCONNECT + 1]; /* per kind of resource: mean over time of
                                  |told - true use|, in points of 100; NAN: there is none */
    double covered;            /* share of time in which the 95 % band held the use */
    double slowdown_within_10; /* share of tasks: predicted at their start within 10 % of true */
    double slowdown_covered;   /* share of tasks inside the predicted 95 % band */
    double slowdown_error;     /* median of |predicted / true - 1| */
    double slowed;             /* share of tasks that took over 10 % longer than alone */
    uint64_t task_count;
};

struct sy_sim_result {
    double makespan_ns;
    double jct_mean_ns, jct_p99_ns;
    double slowdown_mean, slowdown_p99; /* of jobs */
    double slowdown_long; /* mean of the jobs whose time alone is in the longest fifth */
    double within_0, within_10,
        within_20; /* share of tasks whose stall + run is within x % of alone */
    double bytes_moved;
    double energy_joules;
    uint64_t task_count, event_count, decision_count, transfer_count, reconfigure_count;
    double policy_ns;                        /* in all calls of the policy; NAN: not timed */
    double decision_p50_ns, decision_p99_ns; /* NAN: not timed */
    double fairness; /* Jain index of the tenants' mean slowdowns; 1 with one tenant */
    struct sy_sim_accuracy accuracy; /* options.judge */
    const double *device_busy_ns;    /* per device; owned by the simulator */
    const double *memory_peak_bytes; /* per memory */
    const struct sy_sim_job_result *jobs;
};

struct sy_sim;
SY_MUST_CHECK int sy_sim_create(const struct sy_workload *workload,
                                const struct sy_sim_options *options, struct sy_sim **ret_sim,
                                struct sy_error *error);
void sy_sim_destroy(struct sy_sim *sim);
/* Runs the policy (by name, with its arguments) from the start; may be called again.
 * -EINVAL: unknown policy; -EDEADLK, -EPROTO: the policy blocked itself or decided the impossible.
 */
SY_MUST_CHECK int sy_sim_run(struct sy_sim *sim, const char *policy,
                             struct sy_sim_result *ret_result, struct sy_error *error);
/* The same under a policy that no registry knows. scheduler->state is state until init sets it. */
SY_MUST_CHECK int sy_sim_run_ops(struct sy_sim *sim, const struct sy_scheduler_ops *ops,
                                 void *state, struct sy_sim_result *ret_result,
                                 struct sy_error *error);
/* The last run's record (options.record). */
const struct sy_trace *sy_sim_trace(const struct sy_sim *sim);
/* Names of tasks, devices ... for the trace writers. */
struct sy_trace_names sy_sim_names(const struct sy_sim *sim, const char *title, double bound_ns);

/* Judges a trace from nothing but workload and machine: precedence, one task a device at a time,
 * inputs present, transfers from a valid copy and not faster than the route, images resident.
 * 0, or -EINVAL with the first violation. */
SY_MUST_CHECK int sy_sim_check(const struct sy_workload *workload, const struct sy_trace *trace,
                               struct sy_error *error);

#endif
