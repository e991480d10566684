/* SPDX-License-Identifier: Apache-2.0
 *
 * planner: maps the kernels of a repeated pipeline onto devices, exactly.
 *
 * In: what each kernel costs in each shape, what moves between kernels, what is asked for. Out: a
 * plan (stages of kernels on devices), or the whole Pareto front. Never knows: where costs came
 * from (pipeline.h makes a problem of features and measurements), threads, the clock. Invariant:
 * for given costs no plan of the searched space is better than the answer. Paper: DyPe (docs/
 * PAPERS.md), whose dp[i][f][g] forgets the last stage's devices and is kept as "greedy".
 *
 * The space. Kernels form a graph; a plan cuts it by growing down-sets into stages, each on devices
 * of one class that no other stage uses. A stage has `replicas` groups of `width` devices: a group
 * works on one item at a time, its devices split each kernel between them; groups take items in
 * turn. Data go from stage to stage: what a later one needs passes through those between.
 *
 *   compute  = sum over the stage's kernels of time[kernel][shape]
 *   transfer = link latency + bytes at the cut / (link bytes/s * lanes); the last stage's also
 *              counts the way of the outputs to the host; lanes: the smaller width of those ends
 *              that are not the host
 *   stage    = compute + transfer, or max of both where transfers overlap (latency: always the sum)
 *   period   = max over stages of stage / replicas        latency = sum over stages
 *   energy   = joules of kernels and transfers + period * idle watts of the devices used
 *   money    = period * price of the devices used
 * A cap on power is kept by slowing down: period = max(period, joules / (cap - idle watts)).
 *
 * Bytes at a cut: of data that are there (inputs, or made by what is done) and are read by what is
 * not done, or are outputs. Memory of a stage on each of its devices: the resident bytes of its
 * kernels, and twice (one item in work, one on its way) the bytes of the data they read or write
 * divided by the width. A stage that does not fit, or a kernel that cannot run, is not in the
 * space. Lanes: rates add up; latency is the longest; joules are the mean by rate.
 */
#ifndef SY_PLANNER_PLANNER_H
#define SY_PLANNER_PLANNER_H

#include "base/base.h"

#define SY_PLAN_KERNEL_MAX 64 /* one bit each */
#define SY_PLAN_CLASS_MAX  4
#define SY_PLAN_DEVICE_MAX 64 /* of one class */
#define SY_PLAN_STAGE_MAX  64
#define SY_PLAN_LANE_MAX   8
#define SY_PLAN_CUT_MAX    16384 /* down-sets of a graph; more is -E2BIG, with the number */

/* --- the problem -------------------------------------------------------------------------------
 */
struct sy_plan_class {
    const char *name;
    uint32_t device_count; /* that may be used: without those others hold */
    double idle_watts;     /* of one device in use by the plan */
    double price_per_s;
    double memory_bytes; /* of one device; INFINITY: not limited */
};

/* Devices of one class that work on one item together. */
struct sy_plan_shape {
    uint32_t class_index, width;
};

struct sy_plan_datum {
    const char *name;
    double bytes;
    uint32_t producer; /* kernel; SY_NONE: an input, at first in host memory */
    uint64_t readers;  /* bit set of kernels */
    bool output;       /* goes to the host in the end */
};

struct sy_plan_kernel {
    const char *name;
    double resident_bytes; /* weights and the like, kept where it runs */
};

struct sy_plan_link {
    double latency_ns;
    double bytes_per_s; /* INFINITY: the same memory, nothing moves and latency_ns is 0 */
    double joules_per_byte;
};

/* Flat, borrowed, constant while it is searched. */
struct sy_plan_problem {
    const struct sy_plan_kernel *kernels;
    uint32_t kernel_count;
    const struct sy_plan_datum *data; /* precedence follows from producers and readers */
    uint32_t datum_count;
    const struct sy_plan_class *classes;
    uint32_t class_count;
    const struct sy_plan_shape *shapes; /* each (class, width) at most once */
    uint32_t shape_count;
    const double *time_ns; /* [kernel * shape_count + shape]; INFINITY: cannot run there */
    const double *joules;  /* the same: above idle, of all devices of the shape */
    /* [from * (class_count + 1) + to]; the last row and column are the host. From a class to
     * itself: between two stages that both use it. */
    const struct sy_plan_link *links;
    bool overlap; /* transfers hide behind computing */
};

/* --- the question ------------------------------------------------------------------------------
 */
enum sy_plan_objective {
    SY_PLAN_THROUGHPUT, /* least period */
    SY_PLAN_LATENCY,
    SY_PLAN_ENERGY,
    SY_PLAN_MONEY,
    SY_PLAN_BALANCED, /* least energy * period */
    SY_PLAN_OBJECTIVE_COUNT
};
const char *sy_plan_objective_name(enum sy_plan_objective objective);

/* Bounds that must hold; INFINITY (rate: 0): none. Devices and memory are limits of the classes. */
struct sy_plan_bounds {
    double latency_ns;
    double period_ns; /* a floor of the throughput */
    double energy_joules;
    double money;
    double power_watts;
};
extern const struct sy_plan_bounds sy_plan_unbounded;

struct sy_plan_request {
    enum sy_plan_objective objective;
    struct sy_plan_bounds bounds;
    /* Several pipelines side by side, each on devices of its own, items dealt out in proportion to
     * their rates. Only for SY_PLAN_THROUGHPUT without bounds on energy, money or power. Lanes that
     * have more than SY_PLAN_STAGE_MAX stages together give way to fewer. */
    bool side_by_side;
};

/* --- the answer --------------------------------------------------------------------------------
 */
struct sy_plan_stage {
    uint64_t kernels; /* bit set */
    uint32_t shape, replicas;
    uint32_t lane;
};

struct sy_plan_outcome {
    double period_ns, latency_ns, energy_joules, money, power_watts;
};

/* Stages in order, lane after lane. */
struct sy_plan {
    uint32_t stage_count, lane_count;
    struct sy_plan_stage stages[SY_PLAN_STAGE_MAX];
    struct sy_plan_outcome outcome;
    double lane_rate[SY_PLAN_LANE_MAX]; /* items per s */
};

/* Memory of the search, kept between calls: a second one of the same size allocates nothing. */
struct sy_planner;
struct sy_planner *sy_planner_create(void);
void sy_planner_destroy(struct sy_planner *planner);

/* Of plans of least period without bounds one of least energy; of those of least latency one of
 * least period. -EINVAL: the problem contradicts itself; -ENODEV: a kernel runs nowhere, or fits no
 * memory (the error names it); -E2BIG: more down-sets than SY_PLAN_CUT_MAX, or with devices and
 * shapes more than 2^23 states; -ERANGE: the bounds cannot be met: the error names the bound, the
 * best value within the others, and what to relax; -ENOMEM. */
SY_MUST_CHECK int sy_plan_solve(struct sy_planner *planner, const struct sy_plan_problem *problem,
                                const struct sy_plan_request *request, struct sy_plan *ret_plan,
                                struct sy_error *error);
/* All plans within the bounds that no other beats in (period, latency, energy, money), by period;
 * of equal ones one. They live in the planner until its next call. */
SY_MUST_CHECK int sy_plan_front(struct sy_planner *planner, const struct sy_plan_problem *problem,
                                const struct sy_plan_bounds *bounds,
                                const struct sy_plan **ret_plans, uint32_t *ret_count,
                                struct sy_error *error);
/* What a plan costs, from the definition above alone. -EINVAL with the reason: not a plan. */
SY_MUST_CHECK int sy_plan_evaluate(const struct sy_plan_problem *problem,
                                   const struct sy_plan_bounds *bounds, const struct sy_plan *plan,
                                   struct sy_plan_outcome *ret_outcome, struct sy_error *error);
/* What each stage of a plan takes for one item, before it is divided by replicas: the sums above,
 * for showing them. ret_parts: one per stage. */
struct sy_plan_part {
    double compute_ns, transfer_ns, joules;
};
void sy_plan_parts(const struct sy_plan_problem *problem, const struct sy_plan *plan,
                   struct sy_plan_part *ret_parts);
double sy_plan_value(enum sy_plan_objective objective, const struct sy_plan_outcome *outcome);
bool sy_plan_within(const struct sy_plan_bounds *bounds, const struct sy_plan_outcome *outcome);

/* One line: "gemm1+spmm1@gpu | gemm2@cpu:4x2", width behind the colon, replicas behind the x, lanes
 * joined by " || ". Reading back gives the same plan. */
void sy_plan_write(const struct sy_plan_problem *problem, const struct sy_plan *plan,
                   struct sy_buffer *buffer);
SY_MUST_CHECK int sy_plan_parse(const struct sy_plan_problem *problem, const char *text,
                                struct sy_plan *ret_plan, struct sy_error *error);

#endif
