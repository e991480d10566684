/* SPDX-License-Identifier: Apache-2.0
 *
 * bench: tables of the documentation as data. A sheet is a table: its rows are policies, each of
 * its columns one figure of one scenario. Scenarios are arguments of symph simulate.
 */
#ifndef SY_SYMPH_BENCH_BENCH_H
#define SY_SYMPH_BENCH_BENCH_H

#include "cli/simulate/simulate.h"

enum sy_figure {
    SY_FIGURE_OVER_BOUND, /* geometric mean with interval */
    SY_FIGURE_OVER_LP,    /* the same against the mixed LP bound */
    SY_FIGURE_SLOWDOWN,
    SY_FIGURE_SLOWDOWN_P99,
    SY_FIGURE_WITHIN_0,
    SY_FIGURE_WITHIN_10,
    SY_FIGURE_WITHIN_20,
    SY_FIGURE_FAIRNESS,
    SY_FIGURE_DECISION_P50,
    SY_FIGURE_DECISION_P99,
};

#define SY_BENCH_GRAPHS  12
#define SY_BENCH_COLUMNS 6

/* Machines and graphs of several benches. */
#define SY_BENCH_NODE  "cpu:12 gpu:4@pcie3x16"
#define SY_BENCH_MIXED "2x(cpu:4 dram:40GB/s) gpu:2@pcie3x16 fpga:1@regions=1"
#define SY_BENCH_GENERATED                                                                         \
    {                                                                                              \
        "gen:cholesky:12", "gen:lu:10", "gen:qr:10", "gen:fft:5", "gen:gauss:20",                  \
            "gen:stencil:20", "gen:layered:width=12,depth=20,seed=1",                              \
            "gen:layered:width=40,depth=8,seed=2", "gen:forkjoin:20", "gen:genomics:24",           \
            "gen:intree:6", "gen:outtree:6"                                                        \
    }
#define SY_BENCH_SIX                                                                               \
    {                                                                                              \
        "gen:cholesky:8", "gen:lu:6", "gen:qr:6", "gen:layered:width=8,depth=12,seed=3",           \
            "gen:genomics:12", "gen:forkjoin:20"                                                   \
    }

struct sy_bench_scenario {
    const char *machine;
    const char *policies; /* of the sheet's, those that run here; NULL: all */
    /* "data:..." is a path in the data folder; "pairs:..." stands for training jobs, one for each
     * name in a table of pairs there. */
    const char *graphs[SY_BENCH_GRAPHS];
    const char *costs, *smt_table, *gpu_table; /* in the data folder; NULL: none */
    bool accelerate;
    uint64_t accelerate_seed; /* 0: 1 */
    uint32_t max_instances;   /* of a recorded stage; 0: as symph simulate has it */
    double within; /* of recorded jobs only those near the middle one, sy_jobs_choose; 0: all */
    double noise, hidden_load, throttle, counter_noise, load;
    const char *stragglers;             /* as symph simulate takes it; NULL: none */
    const char *belief, *hidden_period; /* NULL: as symph simulate has them */
    uint32_t counters;                  /* that count at a time; 0: all */
    uint32_t seeds;                     /* 0: as asked for */
    uint32_t tenants, jobs;
    bool contention, preempt, timing;
};

/* What it needs and is not there: "--data", where there is no data folder, or a file in it; NULL:
 * nothing. */
const char *sy_scenario_lacks(const struct sy_bench_scenario *scenario, const char *data);

struct sy_column {
    const char *title;
    uint32_t scenario; /* of its sheet */
    enum sy_figure figure;
};

struct sy_sheet {
    const char *bench, *title;
    const char *also; /* another bench that prints it too; NULL: none */
    const char *policies;
    struct sy_bench_scenario scenarios[SY_BENCH_COLUMNS];
    struct sy_column columns[SY_BENCH_COLUMNS];
};

/* Which worlds a scenario is run in. */
struct sy_bench_worlds {
    const char *data; /* folder; NULL: none */
    uint64_t seed;    /* the first */
    uint32_t seeds, threads;
    bool quiet;
    const char *decision_time; /* as of symph simulate */
};

/* A scenario after its runs; bench_scene.c. */
struct sy_scene {
    struct sy_simulate_args args;
    struct sy_simulate simulate;
    struct sy_summary *summary, *against_lp; /* per policy; against_lp NULL: not measured */
    char *paths[2 * SY_BENCH_GRAPHS + 4];    /* built from the data folder */
    int files[SY_BENCH_GRAPHS];              /* jobs in memory */
    uint32_t path_count, file_count;
};
/* Prints what is wrong and returns an exit code; to be finished in any case. */
int sy_scene_run(struct sy_scene *scene, const struct sy_bench_worlds *worlds,
                 const struct sy_bench_scenario *from, const char *policies);
/* The same runs against the tighter bound; left out, with a note, where no solver is installed. */
void sy_scene_measure_lp(struct sy_scene *scene);
void sy_scene_finish(struct sy_scene *scene);

/* Jobs that no file holds so, as a file in memory: its descriptor, or a negative errno. jobs.c.
 * Of a .dag file: jobs of three stages and more whose work is at most so many times that of the
 * middle one, and at least its part. One job of Alibaba has 99.7 % of all work, and a stream with
 * it is empty but for it. */
int sy_jobs_choose(const char *path, double within);
/* Of a table of pairs: for each name a job that trains step by step on GPUs. Says what is wrong. */
int sy_jobs_of_pairs(const char *path);

/* All sheets, NULL past the end. */
const struct sy_sheet *sy_bench_sheet_at(uint32_t index);

/* What the belief about shared resources is worth in the simulator; bench_belief.c. */
struct sy_bench_belief {
    uint32_t seeds, threads;
    bool quiet;
};
struct sy_json_writer;
int sy_bench_belief(const struct sy_bench_belief *bench, struct sy_json_writer *writer,
                    struct sy_buffer *buffer);

/* Streams of recorded jobs, over the first of the policies (NULL: the usual ones), with all *.dag
 * below the data folder's graphs/; bench_recorded.c. */
int sy_bench_recorded(const struct sy_bench_worlds *worlds, const char *policies,
                      struct sy_json_writer *writer, struct sy_buffer *buffer);

/* Where a policy does worst against the usual ones; bench_adversarial.c. */
struct sy_bench_adversarial {
    const char *policy; /* NULL: the default */
    const char *save;   /* folder for the worst graphs; NULL: none */
    const char *only;   /* kinds must match this glob; NULL: all */
    uint64_t seed;
    uint32_t mutations;
    bool quiet;
};
int sy_bench_adversarial(const struct sy_bench_adversarial *bench, struct sy_json_writer *writer,
                         struct sy_buffer *buffer);

/* Plans for pipelines on a calibrated system; bench_dype.c. */
/* The geometric mean with its bootstrap interval. */
struct sy_spread sy_bench_geomean(const double *values, uint32_t count, struct sy_clusters groups);

/* The folder of recorded tables of times. False: it is not there. */
bool sy_dype_recorded(char *path, size_t size);
struct sy_bench_dype {
    const struct sy_text_list *times, *pipelines; /* none: as shipped; of all plug-ins */
    const char *kernels;                          /* plug-ins; NULL: the usual ones */
    const char *plot;                             /* NULL: none */
    double noise;                                 /* of one measurement */
    uint32_t threads;
    bool quiet;
};
int sy_bench_dype(const struct sy_bench_dype *bench, struct sy_json_writer *writer,
                  struct sy_buffer *buffer);

/* Writes FILE.which.svg, or FILE where which is NULL. Returns an exit code. */
struct sy_plot;
int sy_bench_plot(const char *path, const char *which, const struct sy_plot *plot);

/* The simulator's own speed: appends runs as text rows, or as JSON objects to writer. */
int sy_bench_speed(struct sy_json_writer *writer, struct sy_buffer *buffer);

/* All of it; argv as main has it. Returns an exit code. */
int sy_bench_command(int argc, char **argv);

#endif
