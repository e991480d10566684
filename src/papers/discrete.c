/* SPDX-License-Identifier: Apache-2.0
 *
 * Discrete Bayesian networks, small enough to count out all their joint states: exact inference,
 * ancestral samples, and which nodes are independent of which.
 */
#include "papers/discrete.h"
#include <math.h>
#include <string.h>

#define BIT(node) (1u << (node))

struct sy_discrete_event sy_discrete_any(void) {
    struct sy_discrete_event event;
    memset(&event, 0xff, sizeof event);
    return event;
}

uint32_t sy_discrete_add(struct sy_discrete *net, uint32_t states, const uint32_t *parents,
                         uint32_t parent_count, const double *table) {
    uint32_t stride = net->count ? net->joint_count : 1;
    if (net->count == SY_DISCRETE_NODES || parent_count > SY_DISCRETE_PARENTS || !states ||
        states > SY_DISCRETE_JOINT / stride) {
        return SY_NONE;
    }
    struct sy_discrete_node node = {
        .states = states, .parent_count = parent_count, .table = table, .stride = stride};
    for (uint32_t i = 0; i < parent_count; i++) {
        if (parents[i] >= net->count) {
            return SY_NONE;
        }
        node.parents[i] = parents[i];
    }
    net->joint_count = stride * states;
    net->nodes[net->count] = node;
    return net->count++;
}

static double normal_below(double z) {
    return 0.5 * erfc(-z * M_SQRT1_2);
}

static double normal_density(double z) {
    return exp(-0.5 * z * z) / sqrt(2 * M_PI);
}

void sy_discrete_normal_row(double mean, double sd, const double *edges, uint32_t bins,
                            double *ret_row, double *ret_slope) {
    double below = 0, density = 0; /* at the lower edge */
    for (uint32_t i = 0; i < bins; i++) {
        bool last = i + 1 == bins;
        double z = last ? INFINITY : (edges[i] - mean) / sd;
        double next_below = last ? 1 : normal_below(z);
        double next_density = last ? 0 : normal_density(z) / sd;
        ret_row[i] = next_below - below;
        ret_slope[i] = density - next_density;
        below = next_below;
        density = next_density;
    }
}

static uint32_t state_of(const struct sy_discrete *net, uint32_t joint, uint32_t node) {
    return joint / net->nodes[node].stride % net->nodes[node].states;
}

/* Where a node's entry stands in its table, given a joint state. */
static uint32_t entry_of(const struct sy_discrete *net, uint32_t joint, uint32_t node) {
    const struct sy_discrete_node *n = &net->nodes[node];
    uint32_t row = 0, scale = 1;
    for (uint32_t i = 0; i < n->parent_count; i++) {
        row += scale * state_of(net, joint, n->parents[i]);
        scale *= net->nodes[n->parents[i]].states;
    }
    return row * n->states + state_of(net, joint, node);
}

/* The product of all tables' entries but one node's (SY_NONE: all). */
static double product_without(const struct sy_discrete *net, uint32_t joint, uint32_t without) {
    double product = 1;
    for (uint32_t i = 0; i < net->count; i++) {
        product *= i == without ? 1 : net->nodes[i].table[entry_of(net, joint, i)];
    }
    return product;
}

void sy_discrete_exact(const struct sy_discrete *net, double *ret_weights) {
    for (uint32_t j = 0; j < net->joint_count; j++) {
        ret_weights[j] = product_without(net, j, SY_NONE);
    }
}

static uint32_t draw_one(const struct sy_discrete *net, struct sy_rng *rng) {
    uint32_t joint = 0;
    for (uint32_t i = 0; i < net->count; i++) {
        const struct sy_discrete_node *node = &net->nodes[i];
        const double *row = &node->table[entry_of(net, joint, i)]; /* its own state is still 0 */
        double left = sy_rng_uniform(rng);
        uint32_t state = 0;
        while (state + 1 < node->states && left >= row[state]) {
            left -= row[state++];
        }
        joint += state * node->stride;
    }
    return joint;
}

void sy_discrete_sample(const struct sy_discrete *net, struct sy_rng *rng, uint32_t count,
                        double *ret_weights) {
    memset(ret_weights, 0, net->joint_count * sizeof *ret_weights);
    for (uint32_t i = 0; i < count; i++) {
        ret_weights[draw_one(net, rng)] += 1.0 / count;
    }
}

static bool agrees(const struct sy_discrete *net, uint32_t joint,
                   const struct sy_discrete_event *event) {
    for (uint32_t i = 0; i < net->count; i++) {
        if (event->value[i] != SY_NONE && event->value[i] != state_of(net, joint, i)) {
            return false;
        }
    }
    return true;
}

double sy_discrete_weight(const struct sy_discrete *net, const double *weights,
                          const struct sy_discrete_event *event) {
    double sum = 0;
    for (uint32_t j = 0; j < net->joint_count; j++) {
        sum += weights[j] != 0 && agrees(net, j, event) ? weights[j] : 0;
    }
    return sum;
}

/* Pr(event) and its slope: the entry of the parameter's node is replaced by its slope. */
static void exact_event(const struct sy_discrete *net, const struct sy_discrete_event *event,
                        const struct sy_discrete_parameter *parameter, double *ret_probability,
                        double *ret_slope) {
    double probability = 0, slope = 0;
    for (uint32_t j = 0; j < net->joint_count; j++) {
        if (agrees(net, j, event)) {
            uint32_t entry = entry_of(net, j, parameter->node);
            double rest = product_without(net, j, parameter->node);
            probability += rest * net->nodes[parameter->node].table[entry];
            slope += rest * parameter->slope[entry];
        }
    }
    *ret_probability = probability;
    *ret_slope = slope;
}

double sy_discrete_exact_gradient(const struct sy_discrete *net,
                                  const struct sy_discrete_query *query,
                                  const struct sy_discrete_parameter *parameter) {
    struct sy_discrete_event both = query->given;
    both.value[query->node] = query->value;
    double given, given_slope, joint, joint_slope;
    exact_event(net, &query->given, parameter, &given, &given_slope);
    exact_event(net, &both, parameter, &joint, &joint_slope);
    return (joint_slope - joint / given * given_slope) / given;
}

double sy_score_gradient(const struct sy_discrete *net, const double *weights,
                         const struct sy_discrete_query *query,
                         const struct sy_discrete_parameter *parameter) {
    double total = 0, hit = 0, score = 0, hit_score = 0;
    const double *table = net->nodes[parameter->node].table;
    for (uint32_t j = 0; j < net->joint_count; j++) {
        if (weights[j] != 0 && agrees(net, j, &query->given)) {
            uint32_t entry = entry_of(net, j, parameter->node);
            double slope = weights[j] * parameter->slope[entry] / table[entry];
            bool is_hit = state_of(net, j, query->node) == query->value;
            total += weights[j];
            score += slope;
            hit += is_hit ? weights[j] : 0;
            hit_score += is_hit ? slope : 0;
        }
    }
    return total > 0 ? (hit_score - hit / total * score) / total : NAN;
}

/* --- what the graph says -----------------------------------------------------------------------
 */
static uint32_t parents_of(const struct sy_discrete *net, uint32_t node) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < net->nodes[node].parent_count; i++) {
        mask |= BIT(net->nodes[node].parents[i]);
    }
    return mask;
}

/* The nodes themselves and all above them. */
static uint32_t closure(const struct sy_discrete *net, uint32_t nodes) {
    for (uint32_t i = net->count; i-- > 0;) {
        nodes |= nodes & BIT(i) ? parents_of(net, i) : 0;
    }
    return nodes;
}

uint32_t sy_discrete_ancestors(const struct sy_discrete *net, uint32_t node) {
    return closure(net, BIT(node)) & ~BIT(node);
}

/* Lauritzen's test, equivalent to the Bayes ball: in the graph of all ancestors, with parents of a
 * common child married, what is given must cut a from b. */
bool sy_discrete_separated(const struct sy_discrete *net, uint32_t a, uint32_t b, uint32_t given) {
    if ((BIT(a) | BIT(b)) & given) {
        return true;
    }
    uint32_t alive = closure(net, BIT(a) | BIT(b) | given), reached = BIT(a), before = 0;
    while (reached != before) {
        before = reached;
        for (uint32_t i = 0; i < net->count; i++) {
            uint32_t family = parents_of(net, i) | BIT(i);
            reached |= alive & BIT(i) && family & before ? family & ~given : 0;
        }
    }
    return !(reached & BIT(b));
}

static uint32_t latest(uint32_t nodes) {
    return nodes ? 31u - (uint32_t)__builtin_clz(nodes) : SY_NONE;
}

/* What to add to N for two nodes that still depend: the upper one if one is above the other; else
 * the lowest common cause; else (evidence ties their causes) any cause; else (evidence lies below
 * both) one of them. */
static uint32_t next_of_separator(const struct sy_discrete *net, uint32_t a, uint32_t b,
                                  uint32_t known) {
    uint32_t above_a = sy_discrete_ancestors(net, a), above_b = sy_discrete_ancestors(net, b);
    uint32_t common = above_a & above_b & ~known, any = (above_a | above_b) & ~known;
    if (above_b & BIT(a) || !any) {
        return a;
    }
    return latest(common ? common : any);
}

uint32_t sy_discrete_separator(const struct sy_discrete *net, uint32_t nodes, uint32_t given) {
    uint32_t found = 0, before = SY_NONE;
    while (found != before) { /* what is added may tie a pair that was apart */
        before = found;
        for (uint32_t a = 0; a < net->count; a++) {
            for (uint32_t b = a + 1; b < net->count; b++) {
                while (nodes & BIT(a) && nodes & BIT(b) &&
                       !sy_discrete_separated(net, a, b, given | found)) {
                    found |= BIT(next_of_separator(net, a, b, given | found));
                }
            }
        }
    }
    return found;
}
