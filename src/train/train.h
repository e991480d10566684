/* SPDX-License-Identifier: Apache-2.0
 *
 * train: makes weights, by running policies in simulated worlds drawn from numbers.
 *
 * In: what worlds to draw, a budget, a way to do many things at once. Out: weights, their score on
 * worlds that training never met, checkpoints. Never knows: threads, terminals, the time of day.
 * Invariant: the same seed gives the same bytes, whatever the number of workers; worlds of
 * training, validation and test are never the same.
 */
#ifndef SY_TRAIN_TRAIN_H
#define SY_TRAIN_TRAIN_H

#include "nets/nets.h"
#include "schedulers/schedulers.h"
#include "sim/sim.h"

/* --- many things at once: given by the caller ---------------------------------------------------
 * run calls work for every item once, in any order and several at a time; no two calls with the
 * same worker overlap, and worker < worker_count. It returns the failure of the first item in
 * order, with its error, or 0. */
typedef int sy_work(void *context, uint32_t worker, uint32_t item, struct sy_error *error);
struct sy_parallel {
    uint32_t worker_count;
    int (*run)(void *pool, uint32_t item_count, sy_work *work, void *context,
               struct sy_error *error);
    void *pool;
    bool (*stop)(void); /* asked in the middle of simulations; they end with -ECANCELED */
};

/* --- what devices cost: utility.c ---------------------------------------------------------------
 * For the time in which they work, as where one pays by use: a machine that is rented as a whole
 * costs what its makespan says. In any currency. */
struct sy_prices {
    double per_hour[SY_KIND_COUNT]; /* of a whole core, GPU, board or ASIC */
};
/* Of the order of what clouds ask; assumed, not measured. */
struct sy_prices sy_prices_default(void);
/* "cpu=0.05/h,gpu=2.5/h"; kinds that are not named keep the price they have. */
SY_MUST_CHECK int sy_prices_parse(const char *text, struct sy_prices *known,
                                  struct sy_error *error);
/* busy_ns per device; threads, streams and regions share the price of the whole. */
double sy_prices_sum(const struct sy_prices *prices, const struct sy_machine *machine,
                     const double *busy_ns);

/* --- somebody's own graphs: traces.c ------------------------------------------------------------
 * Worlds of them alone: those of training and validation of one half, those of test of the other.
 */
enum sy_half { SY_HALF_TRAINING, SY_HALF_HELD_OUT, SY_HALF_COUNT };
struct sy_traced_graph {
    const struct sy_graph *graph;
    const double *time_ns; /* as of a job */
    const char *name;      /* of worlds that it dominates */
    const char *file;      /* for errors; the same pointer for all of a file */
    uint32_t shape;        /* the first graph with the same tasks, data and dependences */
    enum sy_half half;
    double area_ns; /* in which the whole machine could do it */
};
struct sy_traced_stream {
    struct sy_job *jobs; /* sorted by arrival; of graphs above */
    uint32_t job_count;
};
struct sy_traced {
    const struct sy_machine *machine;
    struct sy_traced_graph *graphs;
    uint32_t graph_count;
    struct sy_traced_stream *streams;
    uint32_t stream_count;
    struct sy_noise_table noise; /* as measured; count 0: drawn at random */
    bool accelerate;
    uint64_t accelerate_seed;
    uint32_t shape_count; /* 1: both halves have it, and the beginning or the end of each stream */
    uint64_t fingerprint; /* of what is in which half */
};
/* Sets shapes, halves and areas by the seed alone; graphs of a shape are in the same half. -EINVAL:
 * there is nothing to decide, or a task can run nowhere; the error names the file. */
SY_MUST_CHECK int sy_traced_split(struct sy_traced *traces, uint64_t seed, struct sy_error *error);

/* --- worlds: catalogue.c, families.c, left_out.c, scenario.c ------------------------------------
 */
struct sy_catalogue_options {
    const struct sy_traced *traces; /* split; then no other graph and machine. NULL: none */
    const char *data;            /* folder with graphs/ and machines/; NULL: generated ones alone */
    const char *families;        /* only these, with commas; NULL: all */
    const char *without_family;  /* none of these */
    const char *without_machine; /* likewise; names as sy_catalogue_machine tells them */
    enum sy_sim_belief belief;
    double tasks_low, tasks_high;   /* in a world, all jobs together; 0: 200 and 1800 */
    double single_share;            /* of worlds with one job; NAN: 0.35 */
    const struct sy_prices *prices; /* NULL: the defaults */
};
struct sy_catalogue;
/* -EINVAL with a hint for a name that is none. */
SY_MUST_CHECK int sy_catalogue_open(const struct sy_catalogue_options *options,
                                    struct sy_catalogue **ret_catalogue, struct sy_error *error);
void sy_catalogue_close(struct sy_catalogue *catalogue);
/* What worlds are drawn from, left-out ones not included; NULL past the end. */
const char *sy_catalogue_family(const struct sy_catalogue *catalogue, uint32_t index);
const char *sy_catalogue_machine(const struct sy_catalogue *catalogue, uint32_t index);

/* Numbers of worlds. Validation and test are the same for every training seed, so that weights can
 * be compared; training has its own for each seed (below 65,536; index below 16,777,216). */
enum sy_split { SY_SPLIT_TRAINING, SY_SPLIT_VALIDATION, SY_SPLIT_TEST };
uint64_t sy_scenario_number(enum sy_split split, uint32_t seed, uint32_t index);

/* --- what a run costs: utility.c ----------------------------------------------------------------
 */
enum sy_measure {
    SY_MEASURE_SLOWDOWN, /* mean over jobs, by their weights; of a single job, its makespan */
    SY_MEASURE_P99,      /* of job slowdowns */
    SY_MEASURE_MAKESPAN,
    SY_MEASURE_COMPLETION, /* mean job completion time */
    SY_MEASURE_ENERGY,
    SY_MEASURE_UNFAIRNESS, /* 1 / Jain's index of tenants' slowdowns */
    SY_MEASURE_MONEY,      /* by the scenario's prices */
    SY_MEASURE_COUNT,
};
struct sy_utility {
    double weight[SY_MEASURE_COUNT]; /* sum 1 */
};
/* "slowdown", "slowdown=1,p99=0.2,energy=0.1". */
SY_MUST_CHECK int sy_utility_parse(const char *text, struct sy_utility *ret_utility,
                                   struct sy_error *error);
/* The weighted mean of ln(cost / reference), within +-1. */
double sy_utility_score(const struct sy_utility *utility, const double *cost,
                        const double *reference);

struct sy_scenario {
    uint64_t number;
    const char *family;  /* "mixed": jobs of several */
    const char *machine; /* name of its shape */
    bool stream;         /* several jobs */
    struct sy_workload *workload;
    struct sy_sim_options options;
    struct sy_prices prices;
    double reference[SY_MEASURE_COUNT]; /* what the heuristics cost here, set by the caller */
    struct sy_machine *own_machine;     /* NULL: the catalogue's */
    struct sy_graph **own_graphs;
    uint32_t own_graph_count;
};
/* The world of a number; needs the catalogue as long as it lives. */
SY_MUST_CHECK int sy_scenario_create(const struct sy_catalogue *catalogue, uint64_t number,
                                     struct sy_scenario **ret_scenario, struct sy_error *error);
void sy_scenario_destroy(struct sy_scenario *scenario);

/* --- runs: rollout.c ----------------------------------------------------------------------------
 * What one worker keeps from one run to the next. Zero at first. */
struct sy_runner {
    const struct sy_scenario *scenario; /* that sim is of */
    struct sy_sim *sim;
    struct sy_policy_setup setup;
    struct sy_weights weights;
};
/* Also before the scenario it last ran in ends; it may be used again. */
void sy_runner_finish(struct sy_runner *runner);
/* Runs policy in the scenario and writes SY_MEASURE_COUNT costs. kind NULL: no weights, policy says
 * all there is; otherwise count floats of weights of that kind and shape. stop may be NULL. */
struct sy_rollout {
    const char *policy;
    const char *kind;
    uint32_t shape, count;
    const float *block;
    bool (*stop)(void);
};
SY_MUST_CHECK int sy_runner_run(struct sy_runner *runner, const struct sy_scenario *scenario,
                                const struct sy_rollout *rollout, double *ret_cost,
                                struct sy_error *error);
/* The same with the alternatives of "learned" laid open (probe NULL: no difference). */
SY_MUST_CHECK int sy_runner_probe(struct sy_runner *runner, const struct sy_scenario *scenario,
                                  const struct sy_rollout *rollout, struct sy_probe *probe,
                                  double *ret_cost, struct sy_error *error);
/* The least cost of several policies (names with commas), measure by measure as of the one whose
 * utility is best. */
SY_MUST_CHECK int sy_runner_reference(struct sy_runner *runner, const struct sy_scenario *scenario,
                                      const char *policies, const struct sy_utility *utility,
                                      bool (*stop)(void), double *ret_cost, struct sy_error *error);

/* --- evolution strategies: es.c -----------------------------------------------------------------
 * Ask for points, have them scored (lower is better), tell the scores. */
struct sy_es_options {
    uint64_t seed;
    uint32_t count; /* parameters */
    uint32_t pairs; /* antithetic, per generation */
    double sigma;   /* of the points around the middle */
    double rate;    /* of Adam, after a few generations; falls to a twentieth on a cosine */
    double clip_norm;
    double keep; /* of the average, per generation: 0.9 remembers about 10 */
};
struct sy_es {
    struct sy_es_options options;
    uint32_t generation;
    float *block;   /* the middle */
    float *average; /* of middles: what one should use */
    float *points;  /* [2 * pairs][count]: +, -, +, - ... */
    float *slopes;
    struct sy_adam adam;
};
/* start: count floats. */
SY_MUST_CHECK int sy_es_init(struct sy_es *es, const struct sy_es_options *options,
                             const float *start);
void sy_es_finish(struct sy_es *es);
void sy_es_ask(struct sy_es *es);
/* progress: 0 at the start, 1 at the end, for the rate. */
void sy_es_tell(struct sy_es *es, const double *scores, double progress);

/* --- training: training.c -----------------------------------------------------------------------
 */
struct sy_training_options {
    const char *policy;     /* "learned" */
    const char *kind;       /* of its weights */
    uint32_t shape, count;  /* likewise */
    const char *references; /* heuristics, with commas */
    struct sy_utility utility;
    uint32_t seed;
    uint32_t scenarios;      /* worlds in a generation, new ones each time */
    uint32_t validation;     /* worlds that say which weights are kept */
    uint32_t every;          /* generations between two validations */
    uint32_t patience;       /* validations without a better one, then it stops; 0: never */
    double hinge;            /* extra weight of what is worse than the references */
    double hinge_from;       /* ln of the ratio from which it counts */
    struct sy_es_options es; /* of expert iteration: rate, clip_norm and keep alone count */
    uint32_t decisions;      /* expert iteration: tried in each world; 0: evolution strategies */
    uint32_t alternatives;   /* of each, 1 to SY_OTHERS_MAX */
    struct sy_catalogue_options worlds;
    const float *start; /* NULL: all 0 */
};
struct sy_training_point {
    uint32_t generation;
    double training;          /* mean ln ratio over the last generation's points; NAN: none yet */
    double validation, error; /* of the average, with its standard error */
    double worst;             /* the largest ln ratio in validation */
};
struct sy_training {
    struct sy_training_options options;
    struct sy_parallel parallel;
    struct sy_catalogue *catalogue;
    struct sy_es es;
    struct sy_expert *expert;          /* NULL: evolution strategies */
    struct sy_runner *runners;         /* per worker */
    struct sy_scenario **validation;   /* with their references */
    struct sy_scenario **now, **next;  /* of this generation and of the one after */
    double *scores;                    /* [scenario][point], or per validation world */
    double *sums;                      /* per point */
    float *best;                       /* by validation */
    uint32_t best_at;                  /* in history */
    struct sy_training_point *history; /* validations */
    uint32_t history_count, history_capacity;
    double last_training;
    uint64_t rollout_count;
};
/* Draws and measures the validation worlds. */
SY_MUST_CHECK int sy_training_open(const struct sy_training_options *options,
                                   const struct sy_parallel *parallel,
                                   struct sy_training **ret_training, struct sy_error *error);
void sy_training_close(struct sy_training *training);
/* Validates if it is time, then one generation. -ECANCELED: stopped, and all is as before the
 * generation. */
SY_MUST_CHECK int sy_training_step(struct sy_training *training, double progress,
                                   struct sy_error *error);
/* Once more at the end; does nothing for a generation that was validated. */
SY_MUST_CHECK int sy_training_validate(struct sy_training *training, struct sy_error *error);
/* Enough: patience is at its end. */
bool sy_training_exhausted(const struct sy_training *training);

/* --- checkpoints: checkpoint.c ------------------------------------------------------------------
 * A file that holds all that the next generation depends on. */
SY_MUST_CHECK int sy_training_save(const struct sy_training *training, const char *settings,
                                   const char *path, struct sy_error *error);
/* settings must be those it was saved with: -EINVAL, and the error shows both. */
SY_MUST_CHECK int sy_training_load(struct sy_training *training, const char *settings,
                                   const char *path, struct sy_error *error);
/* The same from memory; name stands for the file in errors. */
SY_MUST_CHECK int sy_training_parse(struct sy_training *training, const char *settings,
                                    const char *name, const char *text, size_t length,
                                    struct sy_error *error);

/* --- comparison on fresh worlds: compare.c ------------------------------------------------------
 */
struct sy_contender {
    struct sy_rollout rollout;
    double *score; /* per scenario: ln(cost / reference) */
    double *cost;  /* [scenario * SY_MEASURE_COUNT + measure] */
};
struct sy_comparison {
    const char *references;
    struct sy_utility utility;
    uint32_t scenario_count;
    struct sy_contender *contenders;
    uint32_t contender_count;
    const char **families, **machines; /* per scenario, of the catalogue */
    bool *streams;
};
/* The first world of the family of this one: worlds of one family have much in common. */
uint32_t sy_comparison_family(const struct sy_comparison *comparison, uint32_t world);
/* Test worlds 0 .. scenario_count - 1; the caller gives arrays and catalogue. */
SY_MUST_CHECK int sy_compare(struct sy_comparison *comparison, const struct sy_catalogue *catalogue,
                             const struct sy_parallel *parallel, struct sy_error *error);

#endif
