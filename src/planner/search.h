/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the planner: the space that is searched, bounds on what is left to do, and labels.
 *
 * A state of the search is (down-set done, devices used per class, shape of the last stage): all
 * that later stages depend on. Tables lie flat by that triple.
 */
#ifndef SY_PLANNER_SEARCH_H
#define SY_PLANNER_SEARCH_H

#include "planner/planner.h"
#include <math.h>

#define SY_PLAN_SHAPE_MAX (SY_PLAN_CLASS_MAX * SY_PLAN_DEVICE_MAX)
#define SY_PLAN_STATE_MAX (1u << 23)
/* Sums taken in another order differ by less; what is better by less than this is not better. */
#define SY_PLAN_SLACK 1e-12

/* --- what a problem says --------------------------------------------------------------------- */
struct sy_plan_order {
    uint64_t all;
    uint64_t before[SY_PLAN_KERNEL_MAX]; /* direct predecessors */
    uint32_t order[SY_PLAN_KERNEL_MAX];  /* one in which kernels can run */
};
/* -EINVAL with the reason: NAN, negative, out of range, a cycle. */
SY_MUST_CHECK int sy_plan_check(const struct sy_plan_problem *problem,
                                struct sy_plan_order *ret_order, struct sy_error *error);
/* -EINVAL: a bound is NAN or negative, the objective is none. */
SY_MUST_CHECK int sy_plan_check_request(const struct sy_plan_request *request,
                                        struct sy_error *error);
/* What a plan costs; the problem was checked and it is a plan. Fills also lane_rate. */
void sy_plan_cost(const struct sy_plan_problem *problem, const struct sy_plan_bounds *bounds,
                  struct sy_plan *plan);

/* --- the space ------------------------------------------------------------------------------- */
struct sy_plan_cut {
    uint64_t kernels;
    double bytes; /* that must pass */
};

struct sy_plan_way {
    double latency_ns, bytes_per_s, joules_per_byte; /* lanes counted */
};

/* Devices used, or left: a number per class. Index: sum of count * stride. */
struct sy_plan_use {
    uint8_t counts[SY_PLAN_CLASS_MAX];
    double idle_watts, price_per_s;
};

struct sy_plan_form { /* a shape that there are devices for */
    uint32_t shape, class_index, width, replicas_max, step;
};

/* One stage in one shape, without what comes before. */
struct sy_plan_work {
    double compute_ns, joules;
    double out_ns; /* to the host, in the last stage */
    bool possible;
};

struct sy_plan_block {
    char *memory;
    size_t size, taken;
};

struct sy_plan_space {
    const struct sy_plan_problem *problem;
    struct sy_plan_order order;
    struct sy_plan_cut *cuts; /* by size: the first is empty, the last is all */
    uint32_t cut_count, cut_capacity;
    struct sy_plan_cut *found; /* scratch: before they are sorted */
    uint32_t found_capacity;
    struct sy_plan_form forms[SY_PLAN_SHAPE_MAX];
    uint32_t form_count;
    uint32_t row; /* forms, rounded up to pairs */
    uint32_t use_count, stride[SY_PLAN_CLASS_MAX];
    bool memory_limited;
    /* in block: */
    struct sy_plan_work *costs; /* of one kernel: [kernel * form_count + form] */
    struct sy_plan_way *ways;   /* [to * (form_count + 1) + from]; from form_count: the host */
    struct sy_plan_way *out;    /* [form] */
    struct sy_plan_use *uses;   /* [use] */
    struct sy_plan_work *work;  /* of the stage asked for last: [form] */
    uint64_t work_kernels;
    uint32_t work_from;
    struct sy_plan_block block;
};

SY_MUST_CHECK int sy_plan_space_prepare(struct sy_plan_space *space,
                                        const struct sy_plan_problem *problem,
                                        struct sy_error *error);
void sy_plan_space_finish(struct sy_plan_space *space);
/* Stages from cut to cut, in every form, into space->work. False: in none. */
bool sy_plan_space_work(struct sy_plan_space *space, uint32_t from, uint32_t to);
void *sy_plan_block_take(struct sy_plan_block *block, size_t count, size_t size);
SY_MUST_CHECK int sy_plan_block_reserve(struct sy_plan_block *block, size_t size);

static inline bool sy_plan_nested(const struct sy_plan_space *space, uint32_t from, uint32_t to) {
    return (space->cuts[from].kernels & ~space->cuts[to].kernels) == 0;
}

static inline const struct sy_plan_way *sy_plan_way_to(const struct sy_plan_space *space,
                                                       uint32_t cut, uint32_t from, uint32_t to) {
    return &space->ways[to * (space->form_count + 1) + (cut ? from : space->form_count)];
}

static inline double sy_plan_way_ns(const struct sy_plan_way *way, double bytes) {
    return way->latency_ns + bytes / way->bytes_per_s * 1e9;
}

/* A cap on power stretches the period. */
static inline double sy_plan_paced_ns(double period_ns, double joules, double idle_watts,
                                      double cap_watts) {
    if (cap_watts == INFINITY) {
        return period_ns;
    }
    if (idle_watts > cap_watts) {
        return INFINITY;
    }
    return joules > 0 ? sy_most(period_ns, joules / (cap_watts - idle_watts) * 1e9) : period_ns;
}

/* --- the search ------------------------------------------------------------------------------ */
struct sy_plan_label {
    double period_ns, joules, latency_ns; /* so far */
    uint32_t parent;
    uint16_t cut;
    uint8_t form, replicas; /* of the stage that ends here */
};

struct sy_plan_cell {
    uint32_t first, count;
};

struct sy_plan_stack {
    struct sy_plan_label *labels;
    uint32_t count, capacity;
};

/* A whole plan: a label and the stage that ends it. */
struct sy_plan_found {
    double period_ns, latency_ns, energy_joules, money;
    double value;
    uint32_t parent;
    uint8_t form, replicas;
};

enum sy_plan_mode {
    SY_PLAN_BEST,       /* one, by the objective */
    SY_PLAN_ALL,        /* the front */
    SY_PLAN_EACH_BUDGET /* least period for each number of devices */
};

/* What must be kept in labels for a question. */
struct sy_plan_need {
    bool period, joules, latency;
};

struct sy_planner {
    struct sy_plan_space space;
    /* the question */
    enum sy_plan_mode mode;
    enum sy_plan_objective objective;
    struct sy_plan_bounds bounds, loose; /* loose: with slack */
    struct sy_plan_need need;
    /* [(cut * use_count + devices left) * row + last form]: the least that the rest needs; NULL:
     * not asked for. Of the empty cut only the first form counts. */
    double *floor_period, *floor_joules, *floor_latency;
    double *stage_ns, *sum_ns, *scaled_ns, *way_joules; /* scratch: [form before] */
    /* Joules of the rest, those of idle devices at the pace counted, no stage slower than that:
     * picks among plans of least period. */
    double *floor_thrift, pace_ns;
    double ceiling_ns;          /* of periods that count in floor_period */
    double *ways_ns;            /* scratch: [to * row + from] */
    struct sy_plan_cell *cells; /* [(cut * use_count + devices used) * form_count + last form] */
    struct sy_plan_block block;
    struct sy_plan_stack *stacks; /* of the cut that is being reached: [use * form_count + form] */
    uint32_t stack_capacity;
    struct sy_plan_label *labels;
    uint32_t label_count, label_capacity;
    struct sy_plan_found *found; /* by period */
    uint32_t found_count, found_capacity;
    struct sy_plan *plans;
    uint32_t plan_capacity;
};

/* Kernels and what they move find room in the memory of one device of that shape; evaluate.c. */
bool sy_plan_fits(const struct sy_plan_problem *problem, uint64_t kernels,
                  const struct sy_plan_shape *shape);

void sy_plan_ask(struct sy_planner *planner, enum sy_plan_mode mode,
                 enum sy_plan_objective objective, const struct sy_plan_bounds *bounds);
/* One quantity alone, without bounds: its floor of the empty cut is the answer. */
bool sy_plan_is_simple(const struct sy_planner *planner);
/* Floors of what the need asks for. */
SY_MUST_CHECK int sy_plan_floors(struct sy_planner *planner);
void sy_plan_floor_thrift(struct sy_planner *planner, double pace_ns);
/* Follows a floor (not that of joules) from the empty cut. False: there is no plan. */
bool sy_plan_follow(struct sy_planner *planner, const double *floor, struct sy_plan *ret_plan);
/* Fills found. -ENOMEM. */
SY_MUST_CHECK int sy_plan_search(struct sy_planner *planner);
void sy_plan_unwind(const struct sy_planner *planner, const struct sy_plan_found *found,
                    struct sy_plan *ret_plan);
/* Sets the question and finds one best plan in the prepared space. -ERANGE: none within bounds. */
SY_MUST_CHECK int sy_plan_best(struct sy_planner *planner, enum sy_plan_objective objective,
                               const struct sy_plan_bounds *bounds, struct sy_plan *ret_plan);
/* Says why there is no plan: -ENODEV, -ERANGE or -ENOMEM. */
SY_MUST_CHECK int sy_plan_explain(struct sy_planner *planner, const struct sy_plan_bounds *bounds,
                                  struct sy_error *error);
int sy_plan_explain_lanes(const struct sy_plan_bounds *bounds, double least_ns,
                          struct sy_error *error);
SY_MUST_CHECK int sy_plan_lanes(struct sy_planner *planner, const struct sy_plan_request *request,
                                struct sy_plan *ret_plan, struct sy_error *error);

#endif
