/* SPDX-License-Identifier: Apache-2.0
 *
 * pipeline: a repeated pipeline as text, what its kernels cost for given inputs, and replanning.
 *
 * In: a description (symph-pipeline-1, docs/pipeline-format.md) whose sizes are expressions over
 * features of the input; measured times. Out: a struct sy_plan_problem; a plan that follows the
 * data. Never knows: who measures, real or modelled. Invariant: an estimate says how sure it is and
 * where it comes from.
 *
 *   description + features of one item -> bytes of data, cost features of kernels
 *   samples (kernel, class, width, cost features, time) -> cost store -> time with spread
 *   both + a system of devices -> problem -> planner.h -> plan -> run -> samples ...
 */
#ifndef SY_PLANNER_PIPELINE_H
#define SY_PLANNER_PIPELINE_H

#include "cost/cost.h"
#include "planner/planner.h"

/* --- the description ---------------------------------------------------------------------------
 */
#define SY_PIPELINE_COST_MAX      SY_FEATURE_MAX /* cost features of a kernel */
#define SY_PIPELINE_PARAMETER_MAX 8              /* as SY_CALL_PARAMETER_MAX */
#define SY_PIPELINE_ARGUMENT_MAX  16

enum sy_pipeline_role {
    SY_PIPELINE_INPUT,    /* of each item */
    SY_PIPELINE_CONSTANT, /* weights: the same for all items, resident where it is used */
    SY_PIPELINE_BETWEEN,
    SY_PIPELINE_OUTPUT,
};

struct sy_pipeline_feature {
    const char *name, *about;
    double low, high; /* what is allowed */
    double usual;     /* where it is not said; NAN: it must be said */
};

struct sy_pipeline_datum {
    const char *name;
    enum sy_pipeline_role role;
    uint32_t bytes; /* expression */
};

struct sy_pipeline_kernel {
    const char *name;   /* in this pipeline: "gemm1" */
    const char *kernel; /* what runs: "sgemm", or "gnn:sgemm" of another plug-in */
    uint32_t argument_count;
    uint32_t arguments[SY_PIPELINE_ARGUMENT_MAX]; /* data, in the kernel's order */
    bool writes[SY_PIPELINE_ARGUMENT_MAX];
    uint32_t parameter_count, parameters[SY_PIPELINE_PARAMETER_MAX]; /* expressions */
    uint32_t cost_count, costs[SY_PIPELINE_COST_MAX];                /* expressions */
    /* "flops" and "bytes" first, always there, then by name: as in struct sy_features */
    const char *cost_names[SY_PIPELINE_COST_MAX];
    bool split; /* rows may be split between devices that share memory, or have all of the input */
};

/* Named inputs that come with the description: "arxiv". */
struct sy_pipeline_example {
    const char *name, *about;
    const double *values; /* per feature */
};

struct sy_pipeline {
    struct sy_arena *arena;
    const char *name, *about;
    const struct sy_pipeline_feature *features;
    uint32_t feature_count;
    const struct sy_pipeline_datum *data;
    uint32_t datum_count;
    const struct sy_pipeline_kernel *kernels; /* in an order in which they can run */
    uint32_t kernel_count;
    const struct sy_pipeline_example *examples;
    uint32_t example_count;
    const struct sy_expr *expressions;
    uint32_t expression_count;
    const char *const *names; /* that expressions speak of: name i is feature name_feature[i] */
    const uint32_t *name_feature;
};

SY_MUST_CHECK int sy_pipeline_read_text(const char *file, const char *text, size_t length,
                                        struct sy_pipeline **ret_pipeline, struct sy_error *error);
SY_MUST_CHECK int sy_pipeline_read_file(const char *path, struct sy_pipeline **ret_pipeline,
                                        struct sy_error *error);
void sy_pipeline_destroy(struct sy_pipeline *pipeline);

/* Feature values from "nodes=1e5,edges=2e6", the name of an example, an example with changes
 * ("arxiv,width=256"), or a JSON file of an object. ret_values: one per feature. The error names
 * what is missing, unknown or out of its range. */
SY_MUST_CHECK int sy_pipeline_values(const struct sy_pipeline *pipeline, const char *text,
                                     double *ret_values, struct sy_error *error);
/* All expressions for these values; ret_numbers: expression_count. -EDOM: one is not a positive
 * finite number (a parameter: a finite one), named in the error. */
SY_MUST_CHECK int sy_pipeline_measure(const struct sy_pipeline *pipeline, const double *values,
                                      double *ret_numbers, struct sy_error *error);

/* What a kernel costs there, for estimates; costs has room for SY_PIPELINE_COST_MAX. */
struct sy_features sy_pipeline_features(const struct sy_pipeline_kernel *kernel,
                                        const double *numbers, uint32_t width, double *costs);
/* For the columns of a table: adds the names of the pipeline's costs that are not among the first
 * count of names, which has room for SY_COSTS_NAME_MAX. Returns how many there are then; more than
 * that: these did not fit. One pipeline's do. */
uint32_t sy_pipeline_cost_names(const struct sy_pipeline *pipeline, const char **names,
                                uint32_t count);

/* --- a system: what there is to plan on --------------------------------------------------------
 */
struct sy_system_class {
    const char *name; /* as samples name it; sy_system_from_machine: the machine's class */
    enum sy_device_kind kind;
    uint32_t device_count, busy_count; /* of them busy with others' work */
    uint32_t width_max;                /* 1: kernels are not split between devices */
    double slowdown;                   /* times are multiplied by it: what others cost here */
    double idle_watts, busy_watts;     /* of one device; busy: with what it draws idle */
    double price_per_hour, memory_bytes;
    struct sy_roofline roofline;
};

struct sy_system {
    struct sy_system_class classes[SY_PLAN_CLASS_MAX];
    uint32_t class_count;
    struct sy_plan_link
        links[(SY_PLAN_CLASS_MAX + 1) * (SY_PLAN_CLASS_MAX + 1)]; /* of class_count */
    bool overlap;
    /* Can this kernel ("spmm") run on a class at all? NULL: wherever there is an estimate. */
    bool (*runs)(const void *user, const char *kernel, uint32_t class_index);
    const void *runs_user;
    /* Time on width devices from that on one, growing with it, where this is known. NULL: estimated
     * as all times are. costs: of the kernel, as in struct sy_features. */
    double (*split_ns)(const void *user, uint32_t class_index, uint32_t width, double time_ns,
                       const double *costs);
    const void *split_user;
};

/* Classes of a machine, all its devices free, links from its routes. Rooflines, prices and, where
 * the machine does not say, watts are assumptions by kind. Names stay the machine's. Of more than
 * SY_PLAN_DEVICE_MAX devices of a class as many are used; of more than SY_PLAN_CLASS_MAX classes
 * none (-E2BIG). The rooflines are for sy_store_set_roofline. */
SY_MUST_CHECK int sy_system_from_machine(const struct sy_machine *machine,
                                         struct sy_system *ret_system, struct sy_error *error);

/* The problem for one item. Shapes: all powers of two and all that are free, up to width_max, of
 * each class. optimism: times are the median times exp(-optimism * log_sigma). It and
 * what it points to live in arena. ret_estimates, if not NULL: [kernel * shape_count + shape]. */
SY_MUST_CHECK int sy_pipeline_problem(const struct sy_pipeline *pipeline, const double *values,
                                      const struct sy_system *system, const struct sy_store *store,
                                      double optimism, struct sy_arena *arena,
                                      struct sy_plan_problem *ret_problem,
                                      const struct sy_estimate **ret_estimates,
                                      struct sy_error *error);

/* --- following the data ------------------------------------------------------------------------
 * One item after the other: has its input moved away from what the plan was made for, does what ran
 * contradict what was believed, is there something promising that was never tried? Then a new plan,
 * at most one item later. Optimistic until nothing new is learned (probes), then by medians. */
struct sy_replan_options {
    struct sy_plan_request request;
    double optimism;    /* of probes, in log_sigma; 2 */
    uint32_t probe_max; /* plans tried per kind of input; 4 */
    double gain_ratio;  /* a new plan must promise at least so much; 1.03 */
    double drift_ratio; /* a feature that changes by less is the same input; 1.1 */
    const char *fixed;  /* this plan for ever (sy_plan_parse); NULL: follow the data */
};
extern const struct sy_replan_options sy_replan_usual;

struct sy_replanner;
SY_MUST_CHECK int sy_replanner_create(const struct sy_pipeline *pipeline,
                                      const struct sy_system *system,
                                      struct sy_store *store, /* borrowed, learns */
                                      const struct sy_replan_options *options,
                                      struct sy_replanner **ret_replanner, struct sy_error *error);
void sy_replanner_destroy(struct sy_replanner *replanner);
enum sy_replan_cause {
    SY_REPLAN_KEPT,
    SY_REPLAN_FIRST,
    SY_REPLAN_DRIFT,
    SY_REPLAN_PROBE,
    SY_REPLAN_LEARNED
};
const char *sy_replan_cause_name(enum sy_replan_cause cause);
/* The plan for the next item. The plan stays valid until the next call. */
SY_MUST_CHECK int sy_replanner_next(struct sy_replanner *replanner, const double *values,
                                    const struct sy_plan **ret_plan,
                                    enum sy_replan_cause *ret_cause, struct sy_error *error);
/* What one kernel of an item took, where it ran. */
SY_MUST_CHECK int sy_replanner_learn(struct sy_replanner *replanner, const double *values,
                                     uint32_t kernel, uint32_t shape, double time_ns, double watts);
/* Items went through a plan in `ratio` times the period that it promises, steadily. */
void sy_replanner_paced(struct sy_replanner *replanner, const struct sy_plan *plan, double ratio);
/* The problem of the last plan, for showing it. */
const struct sy_plan_problem *sy_replanner_problem(const struct sy_replanner *replanner);

#endif
