/* SPDX-License-Identifier: Apache-2.0
 *
 * simulate: the parts of symph simulate.
 *
 * In: the command's arguments. Out: cases (a workload and a seed), each run under every policy.
 * Invariant: cases and their results have one order, whatever the number of threads.
 */
#ifndef SY_CLI_SIMULATE_SIMULATE_H
#define SY_CLI_SIMULATE_SIMULATE_H

#include "cli/cli.h"
#include "sim/sim.h"
#include <stdatomic.h>

struct sy_simulate_args {
    struct sy_common_args common;
    const char *machine;
    struct sy_text_list graph_specs;
    struct sy_graph_args graphs;
    const char *policy;
    uint32_t seeds;
    uint64_t seed;
    uint64_t accelerate;
    const char *times;
    double noise;
    const char *noise_file, *spikes, *stragglers;
    double model_error;
    const char *smt_table, *gpu_table;
    double hidden_load, hidden_weight, throttle, counter_noise, counter_outliers;
    const char *belief, *counter_events, *hidden_period, *counter_period, *straggler_time;
    uint32_t counters;
    struct sy_text_list fails, replays;
    const char *decision_time, *parts;
    uint32_t tenants, jobs;
    const char *arrivals;
    double load;
    uint32_t threads;
    const char *plot, *trace, *paje;
    bool accelerate_given, stream;
    bool contention, preempt, split, judge, timing, check, per_graph, list_policies;
};

/* A device that is lost, and perhaps comes back. Times are ns, or a share of the lower bound. */
struct sy_fail {
    uint32_t device;
    double lost_at, back_at; /* back_at INFINITY: never */
    bool lost_relative, back_relative;
};

enum sy_picture { SY_PICTURE_GANTT, SY_PICTURE_TRACE, SY_PICTURE_PAJE, SY_PICTURE_COUNT };

/* What is kept of one run. */
struct sy_run {
    double makespan_ns, jct_mean_ns, jct_p99_ns, slowdown_mean, slowdown_p99;
    double slowdown_long; /* of the jobs that are the longest fifth alone */
    double within_0, within_10, within_20;
    double bytes_moved, energy_joules, fairness;
    double decision_p50_ns, decision_p99_ns;
    double policy_ns; /* in all calls of the policy; NAN: not timed */
    uint64_t event_count;
    struct sy_sim_accuracy accuracy; /* args->judge */
};

struct sy_case {
    const char *graph; /* name; "stream" for a stream of jobs */
    uint64_t seed;
    const struct sy_workload *workload;
    double bound_ns;
    struct sy_run *runs; /* per policy */
    double *slowdowns;   /* [policy * job_count + job] */
    atomic_uint done;    /* the first so many policies have run */
};

struct sy_simulate {
    const struct sy_simulate_args *args;
    struct sy_machine *machine;
    struct sy_graph_list graphs;
    struct sy_graph_cut cut;   /* args->split: how tasks are cut */
    struct sy_graph_list cuts; /* the graphs, cut; empty: they stay whole */
    double *isolated_ns;       /* per graph, whole, where there are cuts */
    struct sy_store *store;
    struct sy_interference *smt, *gpu;
    struct sy_noise_table noise;
    double spike_probability, spike_factor;
    double straggler_share, straggler_factor, straggler_ns;
    enum sy_sim_belief belief;
    enum sy_sim_events counter_events;
    double hidden_period_ns, counter_period_ns, decision_ns;
    bool charge, timed; /* policies' calls are timed, and what they take is charged */
    struct sy_text_list policies;
    struct sy_arena *arena; /* policy names, cases and their results */
    struct sy_fail *fails;
    struct sy_job *jobs; /* recorded arrivals; malloc'ed */
    uint32_t job_count;
    struct sy_workload **workloads;
    uint32_t workload_count;
    struct sy_case *cases;
    uint32_t case_count;
    struct sy_buffer *pictures; /* [policy * SY_PICTURE_COUNT + picture] of the first case */
    bool may_leave;             /* at Ctrl-C the process ends next: threads may be left behind */
    bool left;                  /* they were: nothing may be changed or freed any more */
    uint64_t asked;             /* runs, where this holds fewer: those done before Ctrl-C */
};

/* The command's table, for messages. */
const struct sy_command *sy_simulate_command(void);

/* Reads what the arguments name. All of these print what is wrong and return an exit code. */
int sy_simulate_setup(struct sy_simulate *simulate, const struct sy_simulate_args *args);
void sy_simulate_finish(struct sy_simulate *simulate);
/* Lays the graphs on the machine: one case per graph and seed, or per seed of a job stream. */
int sy_simulate_cases(struct sy_simulate *simulate);
/* Runs every case under every policy, on several threads. */
int sy_simulate_run(struct sy_simulate *simulate);
/* --decision-time; NULL: nothing is charged. */
#define SY_MEASURED "measured"
int sy_simulate_decision_time(const struct sy_command *command, const char *text, double *ret_ns,
                              bool *ret_charge);
/* What is done of it so far: the cases that got furthest, under the policies that all of them have
 * run. It borrows; *ret_cases is to be freed by the caller. False: nothing, or out of memory. */
bool sy_simulate_done(const struct sy_simulate *simulate, struct sy_simulate *ret_done,
                      struct sy_case **ret_cases);
/* The pictures of the first case: drawn by the thread that ran it, written at the end. */
bool sy_simulate_wants(const struct sy_simulate *simulate, enum sy_picture picture);
void sy_simulate_draw(struct sy_simulate *simulate, uint32_t policy, struct sy_sim *sim);
int sy_simulate_write(struct sy_simulate *simulate);

/* --replay (replay_report.c): recorded runs again; of the other arguments only contention and
 * decision_time count. */
int sy_simulate_replay(const struct sy_simulate_args *args);

/* --- results -----------------------------------------------------------------------------------
 */
struct sy_spread {
    double value, low, high; /* 95 % bootstrap interval */
};

struct sy_summary {
    struct sy_spread over_bound; /* makespan / lower bound, geometric mean */
    struct sy_spread over_best;  /* score / score of the best policy, run by run, geometric mean */
    struct sy_spread slowdown;   /* of runs' mean job slowdowns, geometric mean */
    double slowdown_mean, slowdown_p99; /* over all jobs of all runs */
    double slowdown_long;               /* of each run's longest fifth, mean over runs */
    double within_0, within_10, within_20, fairness, energy_joules, bytes_moved, jct_mean_ns;
    struct sy_sim_accuracy accuracy;         /* means over runs; args->judge */
    double decision_p50_ns, decision_p99_ns; /* medians of the runs' values; NAN: not timed */
    double policy_share; /* time of the policy's calls / makespan, mean; NAN: not timed */
};

/* One per policy, freed by the caller. The score of a run is makespan /
 * bound, or the mean job slowdown in a stream. *ret_best is the policy of the best score. */
struct sy_summary *sy_simulate_summary(const struct sy_simulate *simulate, uint32_t *ret_best);
/* Kinds of resources, as error_points counts them. */
const char *sy_simulate_resource(enum sy_resource_kind kind);
int sy_simulate_print_table(const struct sy_simulate *simulate, const struct sy_summary *summary);
int sy_simulate_print_json(const struct sy_simulate *simulate, const struct sy_summary *summary,
                           uint32_t best);

#endif
