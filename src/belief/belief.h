/* SPDX-License-Identifier: Apache-2.0
 *
 * belief: what the machine is doing, inferred from counters that are few, late and wrong.
 *
 * In: a model (variables = logarithms of true rates; factors = how the architecture ties them
 * together) and observations. Out: the posterior of every rate, utilisations in [0,1] with bands,
 * which counters to read next. What policies see of shared resources is senses.h.
 * Never knows: where an observation came from, schedulers, or the real clock.
 * Invariants: no allocation after create; one filter is small (a core, a socket, a GPU), filters
 * are joined by sums; every relation has a width that is learned and is left out while it is
 * refuted. Papers: Symphony (ICML'20) section 4, BayesPerf (ASPLOS'21); docs/PAPERS.md says what
 * was changed.
 */
#ifndef SY_BELIEF_BELIEF_H
#define SY_BELIEF_BELIEF_H

#include "counters/counters.h"

/* --- model: a factor graph over log rates ------------------------------------------------------
 */
struct sy_variable {
    const char *name;
    const char *role; /* canonical meaning ("dram_read_bytes", "l2_miss"); "" if it has none */
    uint32_t counter; /* of the sources it was built for, that measures it; SY_NONE: hidden */
    uint32_t pmu;     /* whose slot a measurement takes; SY_PMU_NONE: measured at every step */
    double start_log; /* ln rate before anything was seen, and its standard deviation */
    double start_sd;
    double settles; /* share of the way back to start_log that it goes in one step; 0: it wanders */
    double drift_sd;    /* of the change of the ln rate in one step, where no covariance is given */
    double noise_ratio; /* relative standard deviation of one reading */
    double offset;      /* added to a rate before its logarithm: rates near 0 stay finite */
    double capacity;    /* rate at which its resource is full; INFINITY: not a resource */
    uint32_t resource;  /* of the machine, that it is the traffic of; SY_NONE */
};

enum sy_factor_kind {
    SY_FACTOR_EQUAL,   /* constant + sum of coefficient * rate = rate of out */
    SY_FACTOR_AT_MOST, /* constant + sum of coefficient * rate <= rate of out */
};
/* Where a relation comes from; printed by `symph counters model`. */
enum sy_factor_origin {
    SY_FROM_UNIT_MASK, /* event with mask a|b = with a + with b */
    SY_FROM_SUBSET,    /* with mask a <= with mask a|b */
    SY_FROM_NAME,      /* X = X_RD + X_WR and the like */
    SY_FROM_METRIC,    /* a metric that is a share */
    SY_FROM_ROLE,      /* written by us between roles */
    SY_FROM_TOPOLOGY,  /* sums over threads, cores, links */
};

struct sy_term {
    uint32_t variable;
    double coefficient;
};

struct sy_factor {
    enum sy_factor_kind kind;
    enum sy_factor_origin origin;
    const char *why; /* one line for people */
    uint32_t out;    /* SY_NONE: the constant 1 */
    double constant;
    uint32_t first_term, term_count;
    double width; /* relative standard deviation allowed; learned from there */
};

struct sy_model {
    const char *name;
    struct sy_variable *variables;
    uint32_t variable_count;
    struct sy_factor *factors;
    uint32_t factor_count;
    struct sy_term *terms;
    uint32_t term_count;
    const double *covariance; /* [i * n + j] of the change of ln rates in one step; NULL: diagonal
                                 drift_sd */
    double step_ns;           /* the step that drift and covariance speak of */
    struct sy_arena *arena;   /* owns all of it */
};
void sy_model_destroy(struct sy_model *model);
/* Empty; then add. The add functions copy; SY_NONE when out of memory. */
struct sy_model *sy_model_create(const char *name);
uint32_t sy_model_add_variable(struct sy_model *model, const struct sy_variable *variable);
/* factor->first_term and term_count are set from terms. */
uint32_t sy_model_add_factor(struct sy_model *model, const struct sy_factor *factor,
                             const struct sy_term *terms, uint32_t term_count);
/* Indices in range, numbers finite, widths positive. */
SY_MUST_CHECK int sy_model_check(const struct sy_model *model, struct sy_error *error);
void sy_model_write_dot(const struct sy_model *model, struct sy_buffer *buffer);
const char *sy_factor_origin_name(enum sy_factor_origin origin);
/* Learns covariance, starts, how fast rates settle, and factor widths from complete series:
 * rates[t * n + i], of several programs one after another (lengths). share: of the learned
 * covariance, the rest is its diagonal. */
SY_MUST_CHECK int sy_model_learn(struct sy_model *model, const double *rates,
                                 const uint32_t *lengths, uint32_t series_count, double share);

/* --- filter: the posterior, step by step --------------------------------------------------------
 */
struct sy_observation {
    uint32_t variable;
    double rate;        /* mean over the step */
    double noise_ratio; /* 0: the variable's */
};

struct sy_filter_options {
    double student_degrees; /* of the measurement error; 0: 4. INFINITY: Gaussian */
    double active_share;    /* of the slots that are chosen by gain, the rest in turn; 0: 0.75 */
    uint64_t seed;          /* order of the turns */
    bool no_relations, no_overlap, no_learning; /* ablations */
};

struct sy_posterior {
    double mean; /* of the rate */
    double median;
    double low, high; /* 95 % band */
    double log_mean, log_sd;
    double age_ns; /* since it was last measured itself; INFINITY: never */
};

struct sy_filter;
/* The model is borrowed and must outlive the filter. options NULL: defaults. */
SY_MUST_CHECK int sy_filter_create(const struct sy_model *model,
                                   const struct sy_filter_options *options,
                                   struct sy_filter **ret_filter);
void sy_filter_destroy(struct sy_filter *filter);
size_t sy_filter_bytes(const struct sy_filter *filter);
void sy_filter_reset(struct sy_filter *filter);
/* Time goes on by elapsed_ns, then these were seen. Rates that are negative, not finite, or of
 * variables that do not exist are ignored and counted. */
void sy_filter_step(struct sy_filter *filter, double elapsed_ns,
                    const struct sy_observation *observations, uint32_t count);
/* What to measure in the next step: for each pmu at most slots[pmu] variables, into ret_variables
 * (capacity: the sum of slots). Consecutive sets overlap in their Markov blankets (BayesPerf 2.3),
 * and every variable gets its turn. Returns how many. */
uint32_t sy_filter_choose(struct sy_filter *filter, const uint32_t *slots, uint32_t pmu_count,
                          uint32_t *ret_variables);
struct sy_posterior sy_filter_estimate(const struct sy_filter *filter, uint32_t variable);
/* A sum of rates with its spread, correlations counted. */
struct sy_posterior sy_filter_sum(const struct sy_filter *filter, const struct sy_term *terms,
                                  uint32_t count);
/* One joint draw of all rates from the posterior. */
void sy_filter_sample(const struct sy_filter *filter, struct sy_rng *rng, double *ret_rates);
/* State of a relation: its width now, whether it is left out, and how much it was off (in standard
 * deviations, smoothed). */
struct sy_factor_state {
    double width;
    bool rejected;
    double surprise;
};
struct sy_factor_state sy_filter_factor(const struct sy_filter *filter, uint32_t factor);
uint64_t sy_filter_ignored(const struct sy_filter *filter);

/* --- the whole machine: filters joined, utilisations
 * ----------------------------------------------- */
struct sy_utilisation {
    const char *name;  /* "dram0", "gpu0.down", "cpu3" */
    uint32_t resource; /* of the machine; SY_NONE: a device, or a resource it does not list */
    uint32_t device;   /* of the machine; SY_NONE */
    double mean, low, high, sd; /* in [0,1] */
    double rate, capacity;      /* in unit; capacity NAN: unknown */
    const char *unit;
    double age_ns;
    bool measured; /* something speaks of it; false: prior only */
    bool nominal;  /* the capacity is what a description says: the rate may exceed it */
};

struct sy_belief;
/* listing may be NULL. machine, listing and counters are borrowed. A counter whose event is the
 * name of a resource of the machine ("dram0", "gpu0.down") measures its traffic, in bytes per
 * second or as a share; others are recognised by their role (docs/belief.md). */
SY_MUST_CHECK int sy_belief_create(const struct sy_machine *machine,
                                   const struct sy_listing *listing,
                                   const struct sy_counter *counters, uint32_t counter_count,
                                   const struct sy_pmu *pmus, uint32_t pmu_count,
                                   struct sy_belief **ret_belief, struct sy_error *error);
void sy_belief_destroy(struct sy_belief *belief);
void sy_belief_update(struct sy_belief *belief, double now_ns, const struct sy_sample *samples,
                      uint32_t count);
/* Counters to select next; returns how many. */
uint32_t sy_belief_choose(struct sy_belief *belief, uint32_t *ret_counters, uint32_t capacity);
const struct sy_utilisation *sy_belief_utilisations(const struct sy_belief *belief,
                                                    uint32_t *ret_count);
/* The filters and their models, for show. */
uint32_t sy_belief_filter_count(const struct sy_belief *belief);
const struct sy_filter *sy_belief_filter(const struct sy_belief *belief, uint32_t index);
const struct sy_model *sy_belief_model(const struct sy_belief *belief, uint32_t index);
/* Names of the listing's events that the roles ask for, NULL-terminated, in the arena. */
SY_MUST_CHECK int sy_belief_wanted(const struct sy_listing *listing, struct sy_arena *arena,
                                   const char *const **ret_events);
/* The model of one core (or of one socket) of an architecture whose counters need not be here: what
 * `symph counters model --arch` shows. scope: SY_SCOPE_CORE or SY_SCOPE_PACKAGE; or SY_SCOPE_GPU,
 * for which listing may be NULL. variable.counter is the event's index in the listing. */
SY_MUST_CHECK int sy_model_of_listing(const struct sy_listing *listing, enum sy_scope scope,
                                      struct sy_model **ret_model, struct sy_error *error);
/* Traffic of each of the machine's resources, one variable each, in the machine's order. */
SY_MUST_CHECK int sy_model_of_machine(const struct sy_machine *machine, struct sy_model **ret_model,
                                      struct sy_error *error);

#endif
