/* SPDX-License-Identifier: Apache-2.0
 *
 * dype: the parts of symph-bench dype, which plans pipelines for a calibrated system and
 * judges the plans by times that the planner was not shown.
 *
 * In: times (docs/costs-format.md) of calibration inputs and of the pipelines' examples. Out: cases
 * (pipeline x example x interconnect x objective), each with its optimum by exhaustive search and
 * with what every policy got. Invariants: stores learn from inputs that are no examples and
 * from plans that they ran; what was not measured for all kernels of an example is left out by
 * name.
 *
 * The system is one CPU (all cores that were measured, as one device), 2 GPUs and 3 FPGAs. Measured
 * are the times of single devices of CPU and GPU; FPGA times are a model of cycles; splitting a
 * kernel over several devices, links, and watts that no sample has are models too.
 */
#ifndef SY_SYMPH_BENCH_DYPE_H
#define SY_SYMPH_BENCH_DYPE_H

#include "base/json.h"
#include "planner/pipeline.h"
#include "symph-bench/bench.h"

/* --- times: bench_dype_times.c ------------------------------------------------------------------
 */
enum sy_dype_class { SY_DYPE_CPU, SY_DYPE_GPU, SY_DYPE_FPGA, SY_DYPE_CLASSES };

struct sy_dype_row {
    struct sy_cost_sample sample; /* of its input: "arxiv", "gcn 17" */
    bool teaches;                 /* of no example, as one device of the system took it */
};

struct sy_dype_times {
    struct sy_arena *arena;
    struct sy_dype_row *rows;
    uint32_t count, capacity;
    const char *classes[SY_DYPE_CLASSES]; /* names in the rows; NULL: none */
    uint32_t calibrations;                /* rows to learn from */
};
/* path NULL: all tables that are installed or lie beside the build; -ENOENT: there are none. May be
 * called for several files. */
SY_MUST_CHECK int sy_dype_times_read(struct sy_dype_times *times, const char *path,
                                     struct sy_error *error);
/* After the last file: which class is which, and which rows may be learned from: those that are not
 * at the features of an example of any of the pipelines. */
struct sy_dype_pipeline;
SY_MUST_CHECK int sy_dype_times_end(struct sy_dype_times *times,
                                    const struct sy_dype_pipeline *pipelines,
                                    uint32_t pipeline_count, struct sy_error *error);
void sy_dype_times_finish(struct sy_dype_times *times);

/* What one device of a class takes for a kernel; of a CPU with its best number of cores. */
struct sy_dype_time {
    double time_ns;
    double watts;       /* NAN: not known */
    uint32_t row_count; /* 0: not measured */
};
/* costs: in the kernel's order. */
struct sy_dype_time sy_dype_times_find(const struct sy_dype_times *times,
                                       const struct sy_pipeline_kernel *kernel, const double *costs,
                                       enum sy_dype_class which);
/* Whether any row says that this kernel runs on this class. */
bool sy_dype_times_runs(const struct sy_dype_times *times, const char *kernel,
                        enum sy_dype_class which);

/* --- the system: bench_dype_system.c ------------------------------------------------------------
 */
#define SY_DYPE_LINKS 3
const char *sy_dype_link_name(uint32_t link);
/* What is declared and what is a model, in words. */
void sy_dype_describe(const struct sy_dype_times *times, struct sy_buffer *text);
void sy_dype_system(const struct sy_dype_times *times, uint32_t link, struct sy_system *ret_system);
/* A store that knows what may be learned from. */
SY_MUST_CHECK int sy_dype_train(const struct sy_dype_times *times, const struct sy_system *system,
                                const struct sy_pipeline *pipeline, struct sy_store **ret_store,
                                struct sy_error *error);

/* --- pipelines and their examples ---------------------------------------------------------------
 */
struct sy_dype_pipeline {
    struct sy_pipeline *description;
    const char *name;
    double *numbers;    /* of sy_pipeline_measure, one example after the other; NAN: it failed */
    uint32_t *examples; /* those with all times */
    uint32_t example_count;
    uint32_t first_case;
};

enum sy_dype_objective {
    SY_DYPE_THROUGHPUT,
    SY_DYPE_ENERGY,
    SY_DYPE_BALANCED,
    SY_DYPE_LATENCY,
    SY_DYPE_FLOOR, /* energy, with at least 70 % of the best throughput */
    SY_DYPE_OBJECTIVES
};
const char *sy_dype_objective_name(enum sy_dype_objective objective);

enum sy_dype_policy {
    SY_DYPE_OURS,  /* after its probes */
    SY_DYPE_FIRST, /* before any */
    SY_DYPE_GREEDY,
    SY_DYPE_GREEDY_TRUE,
    SY_DYPE_STATIC,       /* one plan for all examples and links, chosen with all of them known */
    SY_DYPE_STATIC_FIRST, /* the optimum of the first example, for all */
    SY_DYPE_FLEET,        /* the same, with dense kernels on GPUs and sparse ones on FPGAs */
    SY_DYPE_GPU_ONLY,
    SY_DYPE_FPGA_ONLY,
    SY_DYPE_CPU_ONLY,
    SY_DYPE_ADDITIVE, /* no plan: rates of GPU-only and FPGA-only added */
    SY_DYPE_LANES,    /* exact, several pipelines side by side; only for throughput */
    SY_DYPE_POLICIES
};
const char *sy_dype_policy_name(enum sy_dype_policy policy);

struct sy_dype_case {
    uint32_t pipeline, example, link;
    enum sy_dype_objective objective;
    double floor_ns; /* longest period allowed; INFINITY: any */
    struct sy_plan_outcome best;
    const char *best_plan, *our_plan, *first_plan;
    struct sy_plan_outcome got[SY_DYPE_POLICIES]; /* period NAN: there is no such plan */
    uint32_t probes, plans_run;
    uint64_t space; /* plans searched exhaustively */
    bool exact;     /* sy_plan_solve found the same optimum */
};
/* Of an outcome, what the objective counts, less is better. Plans that miss the floor come after
 * all that meet it. */
double sy_dype_key(const struct sy_dype_case *item, const struct sy_plan_outcome *outcome);
/* 1: as good as the optimum. What misses the floor is charged what it misses it by. NAN: no plan.
 */
double sy_dype_ratio(const struct sy_dype_case *item, enum sy_dype_policy policy);

/* --- one pipeline on one interconnect: bench_dype_unit.c ---------------------------------------
 */
struct sy_dype_guess { /* how wrong the first estimate was */
    const char *kernel;
    enum sy_dype_class which;
    double log_error, log_sigma;
};

enum sy_dype_streamer {
    SY_DYPE_STREAM_OURS,
    SY_DYPE_STREAM_STATIC, /* the one plan that takes the whole stream in least time */
    SY_DYPE_STREAM_GPU,    /* on GPUs alone, the best plan for each input */
    SY_DYPE_STREAM_BEST,   /* the optimum for each input, changes for nothing */
    SY_DYPE_STREAMERS
};
struct sy_dype_stream {
    double time_ns[SY_DYPE_STREAMERS], joules[SY_DYPE_STREAMERS];
    uint32_t items, inputs, changes;
    uint32_t late_most; /* items of a new input that went by before there was a new plan */
    uint32_t probes;
};

/* A plan in all examples of a unit: by no other name than a hash, as spaces differ where memory is
 * short. */
struct sy_dype_score {
    uint64_t hash;                   /* 0: free */
    uint32_t met;                    /* examples in which it is a plan */
    double sums[SY_DYPE_OBJECTIVES]; /* of logs */
    double period_ns;                /* sum */
};

struct sy_dype_unit {
    const struct sy_dype *bench;
    uint32_t pipeline, link;
    struct sy_arena *arena;
    struct sy_planner *planner;
    struct sy_system system;
    struct sy_plan_problem *truth; /* per usable example */
    double *numbers;               /* [usable example * expression_count + expression] */
    struct sy_store *taught;       /* by calibration inputs */
    struct sy_dype_score *scores;
    uint32_t score_count, score_capacity; /* a power of two */
    /* Plans tuned on the first example, by hash; 0: none. */
    uint64_t tuned[SY_DYPE_OBJECTIVES], fleet[SY_DYPE_OBJECTIVES];
    struct sy_dype_guess *guesses;
    uint32_t guess_count;
    struct sy_dype_stream stream;
};

struct sy_dype {
    const struct sy_bench_dype *args;
    struct sy_arena *arena;
    struct sy_dype_times times;
    struct sy_dype_pipeline *pipelines;
    uint32_t pipeline_count;
    struct sy_dype_case *cases;
    uint32_t case_count;
    struct sy_dype_unit *units; /* [pipeline * SY_DYPE_LINKS + link] */
    uint32_t unit_count;
    struct sy_text_list left_out; /* "gcn/reddit: no time of spmm on h200" */
    double noise;
};

struct sy_dype_case *sy_dype_case_at(const struct sy_dype *bench, uint32_t pipeline,
                                     uint32_t example, uint32_t link,
                                     enum sy_dype_objective objective);
/* All examples: truth, optimum, baselines, ours. Then, when all units are there, what needs them
 * all: the static plan; and the stream. */
SY_MUST_CHECK int sy_dype_unit_run(struct sy_dype_unit *unit, struct sy_error *error);
SY_MUST_CHECK int sy_dype_unit_after(struct sy_dype_unit *unit, struct sy_error *error);
void sy_dype_unit_finish(struct sy_dype_unit *unit);

/* Exhaustive search over the true costs: bench_dype_space.c. */
SY_MUST_CHECK int sy_dype_space_search(struct sy_dype_unit *unit, uint32_t example,
                                       struct sy_error *error);
/* The plan that fits all examples of the units first to last and has the least sum there: of logs
 * of what an objective counts, or (SY_DYPE_OBJECTIVES) of periods. -ENOENT: none fits all. */
SY_MUST_CHECK int sy_dype_space_least(const struct sy_dype_unit *first,
                                      const struct sy_dype_unit *last, uint32_t objective,
                                      struct sy_plan *ret_plan, struct sy_error *error);

/* Ours, on estimates: bench_dype_ours.c, bench_dype_stream.c. */
/* One item of an example goes through a plan, and its kernels are timed. */
SY_MUST_CHECK int sy_dype_run_item(const struct sy_dype_unit *unit, uint32_t example,
                                   const struct sy_plan *plan, struct sy_rng *rng,
                                   struct sy_replanner *replanner);
struct sy_replan_options sy_dype_replan_options(const struct sy_plan_request *request);
const double *sy_dype_values(const struct sy_dype_unit *unit, uint32_t example);
const char *sy_dype_plan_text(struct sy_dype_unit *unit, uint32_t example,
                              const struct sy_plan *plan);

SY_MUST_CHECK int sy_dype_ours(struct sy_dype_unit *unit, struct sy_dype_case *item,
                               struct sy_error *error);
SY_MUST_CHECK int sy_dype_errors(struct sy_dype_unit *unit, struct sy_error *error);
SY_MUST_CHECK int sy_dype_stream_run(struct sy_dype_unit *unit, const struct sy_plan *fixed,
                                     struct sy_error *error);
struct sy_plan_request sy_dype_request(const struct sy_dype_case *item);

/* --- tables: bench_dype_tables.c, bench_dype_goals.c -------------------------------------------
 */
void sy_dype_tables(const struct sy_dype *bench, struct sy_json_writer *out,
                    struct sy_buffer *text);
void sy_dype_goals(const struct sy_dype *bench, struct sy_json_writer *out, struct sy_buffer *text);
int sy_dype_plot(const struct sy_dype *bench, const char *path);
/* other / ours of what the objective counts, over the cases of a pipeline (SY_NONE: all). */
struct sy_spread sy_dype_gain(const struct sy_dype *bench, enum sy_dype_policy other,
                              enum sy_dype_objective objective, uint32_t pipeline);
/* Share of cases, of all objectives, whose ratio is at most limit. */
double sy_dype_share(const struct sy_dype *bench, enum sy_dype_policy policy, double limit,
                     uint32_t pipeline);

#endif
