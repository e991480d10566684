/* SPDX-License-Identifier: Apache-2.0
 *
 * Small Bayesian networks over discrete variables, and the papers' counting estimator on them.
 *
 * Offline: for tests, benches and ablations. What training uses is the pathwise gradient of
 * belief.h. A continuous variable takes part once it is cut into bins. Everything is computed from
 * one table of weights over all joint states, be they exact probabilities or frequencies of
 * samples; so an estimator's formula and its sampling noise can be told apart.
 * Papers: Symphony (ICML'20) section 5, equations 2 to 5; docs/belief.md says what was changed.
 */
#ifndef SY_PAPERS_DISCRETE_H
#define SY_PAPERS_DISCRETE_H

#include "base/base.h"

#define SY_DISCRETE_NODES   16
#define SY_DISCRETE_PARENTS 4
#define SY_DISCRETE_JOINT   65536 /* joint states at most */

struct sy_discrete_node {
    uint32_t states;
    uint32_t parent_count, parents[SY_DISCRETE_PARENTS];
    const double *table; /* f[row * states + state]; the row counts the first parent fastest */
    uint32_t stride;     /* of its state in the number of a joint state */
};

/* Nodes stand after their parents. */
struct sy_discrete {
    struct sy_discrete_node nodes[SY_DISCRETE_NODES];
    uint32_t count;
    uint32_t joint_count;
};

/* Values of some of the nodes; SY_NONE: any. */
struct sy_discrete_event {
    uint32_t value[SY_DISCRETE_NODES];
};
struct sy_discrete_event sy_discrete_any(void);

/* A parameter is known by what it does to the table of one node. */
struct sy_discrete_parameter {
    uint32_t node;
    const double *slope; /* d f / d parameter, laid out as the table */
};

/* Pr(node = value | given), a number that depends on the parameters. */
struct sy_discrete_query {
    uint32_t node, value;
    struct sy_discrete_event given;
};

/* table is borrowed. Index; SY_NONE: too many nodes, parents or joint states, or a parent that does
 * not stand before. */
uint32_t sy_discrete_add(struct sy_discrete *net, uint32_t states, const uint32_t *parents,
                         uint32_t parent_count, const double *table);
/* The masses of a normal variable between bin edges (the outer bins reach to infinity), and their
 * slopes with respect to the mean: one row of a table. edges: bins - 1 of them. */
void sy_discrete_normal_row(double mean, double sd, const double *edges, uint32_t bins,
                            double *ret_row, double *ret_slope);

/* Weights of all joint states: exact, or frequencies of count ancestral samples. */
void sy_discrete_exact(const struct sy_discrete *net, double *ret_weights);
void sy_discrete_sample(const struct sy_discrete *net, struct sy_rng *rng, uint32_t count,
                        double *ret_weights);
/* Weight of all joint states that agree with the event. */
double sy_discrete_weight(const struct sy_discrete *net, const double *weights,
                          const struct sy_discrete_event *event);
double sy_discrete_exact_gradient(const struct sy_discrete *net,
                                  const struct sy_discrete_query *query,
                                  const struct sy_discrete_parameter *parameter);

/* Nodes are bits. */
uint32_t sy_discrete_ancestors(const struct sy_discrete *net, uint32_t node);
/* Whether a and b are independent given the others, by the graph alone. */
bool sy_discrete_separated(const struct sy_discrete *net, uint32_t a, uint32_t b, uint32_t given);
/* N of the paper: nodes that make these (parents of one node) independent, given the others. */
uint32_t sy_discrete_separator(const struct sy_discrete *net, uint32_t nodes, uint32_t given);

/* --- estimators from the frequencies of sample_count samples -----------------------------------
 */
enum sy_counting_form {
    SY_COUNTING_PRINTED = 0,    /* equations 2, 3 and 5 to the letter */
    SY_COUNTING_DISTINCT = 1,   /* sums over distinct values, not over samples */
    SY_COUNTING_UNWEIGHTED = 2, /* (3) without its factor n_S(y)/S */
    SY_COUNTING_COMPLETE =
        4, /* (5) with the slope of Pr(N=n|a), and evidence below a node counted */
    SY_COUNTING_CORRECTED = 7,
};
double sy_counting_gradient(const struct sy_discrete *net, const double *weights,
                            uint32_t sample_count, const struct sy_discrete_query *query,
                            const struct sy_discrete_parameter *parameter,
                            enum sy_counting_form form);
/* Score function: the covariance of [node = value] with d ln Pr / d parameter, given the evidence.
 */
double sy_score_gradient(const struct sy_discrete *net, const double *weights,
                         const struct sy_discrete_query *query,
                         const struct sy_discrete_parameter *parameter);

#endif
