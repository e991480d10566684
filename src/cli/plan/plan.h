/* SPDX-License-Identifier: Apache-2.0
 *
 * plan: the parts of symph plan.
 *
 *   plan.c        the command: what was asked, in which order things happen
 *   plan_setup.c  pipeline, machine, times: what is known
 *   plan_busy.c   what others use of this machine
 *   plan_solve.c  the plan, the front, and what each constraint costs
 *   plan_info.c   the pipeline alone
 *   plan_show.c   tables    plan_json.c  JSON    plan_plot.c  SVG
 *
 * In: a pipeline and features of one item. Out: where its kernels should run, and why. Never knows:
 * how plans are searched or times estimated. Invariant: whatever rests on a model or on a guess
 * says so wherever it is shown.
 */
#ifndef SY_CLI_PLAN_PLAN_H
#define SY_CLI_PLAN_PLAN_H

#include "cli/cli.h"
#include "cli/plan/busy.h"
#include "cli/plan/constraints.h"
#include "cli/units.h"
#include "kernels/kernels.h"

#define SY_PLANNING_BESIDE_MAX 16
#define SY_PLANNING_SEEN_MAX   16

struct sy_planning_args {
    struct sy_common_args common;
    struct sy_text_list pipelines; /* one */
    const char *features, *objective, *machine;
    const char *kernels, *models, *plot;
    struct sy_text_list constraints, times, busy, prices, classes, beside;
    bool overlap, no_overlap, side_by_side, front;
    bool machine_given;
};

/* What an estimate rests on. */
enum sy_basis { SY_BASIS_MEASURED, SY_BASIS_MODEL, SY_BASIS_ROOFLINE, SY_BASIS_COUNT };
enum sy_basis sy_basis_of(const struct sy_estimate *estimate);
const char *sy_basis_name(enum sy_basis basis);

/* What a constraint costs: the answer without it. */
struct sy_planning_price {
    bool known;   /* false: without it there is no answer either */
    double ratio; /* the objective with it, over without: 1 or more */
    struct sy_plan plan;
    struct sy_plan_problem problem; /* whose plan it is: without a limit there are more shapes */
};

/* A plan of the user's own. */
struct sy_planning_beside {
    const char *text;
    struct sy_plan plan;
    bool within;
};

/* A class that there are samples of. */
struct sy_planning_seen {
    char name[32];
    uint64_t kernels;                     /* bit set: kernels of this pipeline */
    uint64_t watts;                       /* those whose power is known */
    uint32_t measured_count, model_count; /* samples of these kernels */
};

/* What the store has to say. */
struct sy_planning_times {
    uint32_t sample_count, used_count, model_count;     /* used: by this pipeline on this machine */
    uint32_t foreign_count;                             /* with other cost features */
    uint32_t older_count;                               /* of another build of a kernel */
    struct sy_planning_seen seen[SY_PLANNING_SEEN_MAX]; /* in order of appearance */
    uint32_t seen_count;
};

struct sy_planning {
    const struct sy_planning_args *args;
    const struct sy_command *command;
    struct sy_arena *arena;
    struct sy_kernel_set *set; /* NULL: the pipeline is a file */
    char plugin[64];           /* whose pipeline it is; "": a file */
    struct sy_pipeline *pipeline;
    double *values; /* per feature */
    struct sy_machine *machine;
    struct sy_system system; /* without limits of constraints */
    uint32_t named, priced;  /* bit sets of its classes: by --class, by --price */
    struct sy_planning_others others[SY_PLAN_CLASS_MAX]; /* of --busy auto */
    struct sy_constraint_list constraints;
    enum sy_plan_objective objective;
    struct sy_store *store;
    struct sy_planning_times times;
    struct sy_planner *planner;
    /* the answers */
    struct sy_plan_problem problem;
    const struct sy_estimate *estimates; /* [kernel * shape_count + shape] */
    struct sy_plan plan;
    struct sy_plan *front; /* by period */
    uint32_t front_count;
    struct sy_planning_price prices[SY_CONSTRAINT_MAX];
    struct sy_planning_beside beside[SY_PLANNING_BESIDE_MAX];
    uint32_t beside_count;
};

/* All print what is wrong and return an exit code. */
int sy_planning_open_pipeline(struct sy_planning *planning);
int sy_planning_open_system(struct sy_planning *planning);
int sy_planning_read_times(struct sy_planning *planning);
int sy_planning_solve(struct sy_planning *planning);
int sy_planning_print_pipeline(const struct sy_planning *planning);
int sy_planning_print_table(const struct sy_planning *planning);
int sy_planning_print_json(const struct sy_planning *planning);
int sy_planning_write_plot(const struct sy_planning *planning);

/* --- the front: what a plan is judged by, least is best -----------------------------------------
 */
#define SY_PLANNING_FIGURES 4u
double sy_planning_figure(const struct sy_plan *plan, uint32_t figure);
/* The plan of the front that is best in it, and what that is called: "least latency". */
uint32_t sy_planning_best(const struct sy_planning *planning, uint32_t figure);
const char *sy_planning_best_name(uint32_t figure);
/* The same figures as the plan that was chosen. */
bool sy_planning_is_chosen(const struct sy_planning *planning, const struct sy_plan *plan);

/* --- pieces that several show -------------------------------------------------------------------
 */
/* How far a time may be off, up or down, as a ratio: 0.12 is 12 %. */
double sy_planning_spread(const struct sy_estimate *estimate);
/* The estimate for a kernel where a plan runs it. */
const struct sy_estimate *sy_planning_estimate(const struct sy_planning *planning, uint32_t kernel,
                                               uint32_t shape);
/* Whether the power of a kernel on a class was sampled; else it is assumed. */
bool sy_planning_has_watts(const struct sy_planning *planning, uint32_t kernel,
                           uint32_t class_index);
/* How many of the estimates that the search saw rest on what. */
void sy_planning_bases(const struct sy_planning *planning, uint32_t ret_counts[SY_BASIS_COUNT]);
/* Appends "gemm1+spmm1". */
void sy_planning_kernels(const struct sy_planning *planning, uint64_t kernels,
                         struct sy_buffer *buffer);
/* Appends "cpu + gpu": the classes a plan uses. */
void sy_planning_mix(const struct sy_planning *planning, const struct sy_plan *plan,
                     struct sy_buffer *buffer);
/* What may not be missing from a picture or a table: what the numbers rest on, in a line. */
void sy_planning_caveat(const struct sy_planning *planning, struct sy_buffer *buffer);
/* "1,234 /s", "2.30 mJ". */
struct sy_units sy_planning_rate(double period_ns);
struct sy_units sy_planning_joules(double joules);

#endif
