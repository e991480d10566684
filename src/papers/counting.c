/* SPDX-License-Identifier: Apache-2.0
 *
 * The papers' counting estimator of d Pr(X=x|a) / d theta: Symphony (ICML'20), equations 2 to 5.
 *
 * In: frequencies of joint states. Out: the estimate, as printed or corrected. With y the values of
 * X's parents P, and N nodes that make the parents independent:
 *   (2), (3)  grad Pr(x|a) = sum over y of  Pr(y|a) grad f(x,y) + f(x,y) grad Pr(P=y|a)
 *   (5)       grad Pr(P=y|a) = sum over n of  Pr(n|a) sum over l of prod_{h != l} Pr(y_h|n,a)
 *                              grad Pr(y_l|n,a)   +   grad Pr(n|a) prod_h Pr(y_h|n,a)
 * As printed, the sums run over samples (so values that occur often count squared), (3) carries a
 * factor n_S(y)/S although the sum is the integral already, and (5) lacks its last term. Also, (2)
 * holds only where the evidence tells nothing about X beyond its parents; where evidence lies below
 * X, the corrected form takes the quotient Pr(x,a) / Pr(a) instead.
 * Invariant: the corrected form, fed with exact probabilities, gives the exact gradient.
 */
#include "papers/discrete.h"

#define BIT(node) (1u << (node))

struct counting {
    const struct sy_discrete *net;
    const double *weights;
    double sample_count;
    const struct sy_discrete_parameter *parameter;
    enum sy_counting_form form;
};

static double slope_given(const struct counting *c, uint32_t node, uint32_t value,
                          const struct sy_discrete_event *given);

static double weight(const struct counting *c, const struct sy_discrete_event *event) {
    return sy_discrete_weight(c->net, c->weights, event);
}

/* Pr(node = value | given) = n_S(value, given) / n_S(given); 0 where nothing was seen. */
static double share(const struct counting *c, uint32_t node, uint32_t value,
                    const struct sy_discrete_event *given) {
    if (given->value[node] != SY_NONE) {
        return given->value[node] == value;
    }
    struct sy_discrete_event both = *given;
    both.value[node] = value;
    double all = weight(c, given);
    return all > 0 ? weight(c, &both) / all : 0;
}

static uint32_t members(const struct sy_discrete *net, const struct sy_discrete_event *event) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < net->count; i++) {
        mask |= event->value[i] != SY_NONE ? BIT(i) : 0;
    }
    return mask;
}

/* Adds the values of one event to another; false where they contradict each other. */
static bool join(const struct sy_discrete *net, struct sy_discrete_event *event,
                 const struct sy_discrete_event *more) {
    for (uint32_t i = 0; i < net->count; i++) {
        if (more->value[i] != SY_NONE) {
            if (event->value[i] != SY_NONE && event->value[i] != more->value[i]) {
                return false;
            }
            event->value[i] = more->value[i];
        }
    }
    return true;
}

/* Slope of Pr(event | given): the product rule over the chain of its nodes, in the net's order.
 * Every factor is conditioned on what stands before it, so that only given can lie below. */
static double slope_of_chain(const struct counting *c, const struct sy_discrete_event *event,
                             const struct sy_discrete_event *given) {
    struct sy_discrete_event known = *given;
    double product = 1, slope = 0;
    for (uint32_t i = 0; i < c->net->count; i++) {
        if (event->value[i] != SY_NONE && known.value[i] == SY_NONE) {
            double factor = share(c, i, event->value[i], &known);
            slope = slope * factor + product * slope_given(c, i, event->value[i], &known);
            product *= factor;
            known.value[i] = event->value[i];
        }
    }
    return slope;
}

/* Evidence below the node: grad (Pr(x,a) / Pr(a)). */
static double slope_of_quotient(const struct counting *c, uint32_t node, uint32_t value,
                                const struct sy_discrete_event *given) {
    struct sy_discrete_event both = *given, nothing = sy_discrete_any();
    both.value[node] = value;
    double all = weight(c, given);
    double numerator = slope_of_chain(c, &both, &nothing);
    double denominator = slope_of_chain(c, given, &nothing);
    return all > 0 ? (numerator - share(c, node, value, given) * denominator) / all : 0;
}

/* One n of (5): its two terms. parents holds the values y. */
static double slope_at(const struct counting *c, const struct sy_discrete_event *parents,
                       const struct sy_discrete_event *n, const struct sy_discrete_event *given) {
    struct sy_discrete_event known = *given;
    double n_weight = weight(c, given);
    if (!join(c->net, &known, n) || !(n_weight > 0) || !(weight(c, &known) > 0)) {
        return 0;
    }
    n_weight = weight(c, &known) / n_weight;
    double product = 1, slope = 0;
    for (uint32_t i = 0; i < c->net->count; i++) {
        if (parents->value[i] != SY_NONE) {
            double factor = share(c, i, parents->value[i], &known);
            slope = slope * factor + product * slope_given(c, i, parents->value[i], &known);
            product *= factor;
        }
    }
    slope *= n_weight;
    if (c->form & SY_COUNTING_COMPLETE && product != 0) {
        slope += product * slope_of_chain(c, n, given);
    }
    return slope;
}

/* The next combination of values of these nodes; false after the last. */
static bool next_values(const struct sy_discrete *net, uint32_t nodes,
                        struct sy_discrete_event *event) {
    for (uint32_t i = 0; i < net->count; i++) {
        if (nodes & BIT(i)) {
            event->value[i] = (event->value[i] + 1) % net->nodes[i].states;
            if (event->value[i]) {
                return true;
            }
        }
    }
    return false;
}

static struct sy_discrete_event first_values(uint32_t nodes) {
    struct sy_discrete_event event = sy_discrete_any();
    for (uint32_t i = 0; i < SY_DISCRETE_NODES; i++) {
        event.value[i] = nodes & BIT(i) ? 0 : SY_NONE;
    }
    return event;
}

/* (5): slope of Pr(P = y | given). */
static double slope_of_parents(const struct counting *c, const struct sy_discrete_event *parents,
                               const struct sy_discrete_event *given) {
    uint32_t known = members(c->net, given);
    uint32_t separator = sy_discrete_separator(c->net, members(c->net, parents) & ~known, known);
    struct sy_discrete_event n = first_values(separator);
    double slope = 0;
    do {
        slope += slope_at(c, parents, &n, given);
    } while (next_values(c->net, separator, &n));
    return slope;
}

static uint32_t row_of(const struct sy_discrete *net, const struct sy_discrete_node *node,
                       const struct sy_discrete_event *parents) {
    uint32_t row = 0, scale = 1;
    for (uint32_t i = 0; i < node->parent_count; i++) {
        row += scale * parents->value[node->parents[i]];
        scale *= net->nodes[node->parents[i]].states;
    }
    return row;
}

/* The term of one y in (2) and (3). */
static double slope_of_row(const struct counting *c, uint32_t node, uint32_t value,
                           const struct sy_discrete_event *y,
                           const struct sy_discrete_event *given) {
    const struct sy_discrete_node *n = &c->net->nodes[node];
    struct sy_discrete_event both = *given;
    double all = weight(c, given);
    if (!join(c->net, &both, y) || !(all > 0)) {
        return 0;
    }
    uint32_t entry = row_of(c->net, n, y) * n->states + value;
    double own = c->parameter->node == node ? c->parameter->slope[entry] : 0;
    double y_share = weight(c, y); /* n_S(y) / S */
    double times = c->form & SY_COUNTING_DISTINCT ? 1 : y_share * c->sample_count;
    double factor = c->form & SY_COUNTING_UNWEIGHTED ? 1 : y_share;
    return times * (weight(c, &both) / all * own +
                    factor * n->table[entry] * slope_of_parents(c, y, given));
}

static double slope_of_family(const struct counting *c, uint32_t node, uint32_t value,
                              const struct sy_discrete_event *given) {
    uint32_t parents = 0;
    for (uint32_t i = 0; i < c->net->nodes[node].parent_count; i++) {
        parents |= BIT(c->net->nodes[node].parents[i]);
    }
    struct sy_discrete_event y = first_values(parents);
    double slope = 0;
    do {
        slope += slope_of_row(c, node, value, &y, given);
    } while (next_values(c->net, parents, &y));
    return slope;
}

/* Whether the parameter has a say: it sits at or above the node, or the evidence that is counted.
 */
static bool matters(const struct counting *c, uint32_t node,
                    const struct sy_discrete_event *given) {
    uint32_t mine = BIT(c->parameter->node);
    bool found = (sy_discrete_ancestors(c->net, node) | BIT(node)) & mine;
    for (uint32_t i = 0; c->form & SY_COUNTING_COMPLETE && i < c->net->count; i++) {
        found |= given->value[i] != SY_NONE && (sy_discrete_ancestors(c->net, i) | BIT(i)) & mine;
    }
    return found;
}

static double slope_given(const struct counting *c, uint32_t node, uint32_t value,
                          const struct sy_discrete_event *given) {
    if (given->value[node] != SY_NONE || !matters(c, node, given)) {
        return 0;
    }
    for (uint32_t i = 0; c->form & SY_COUNTING_COMPLETE && i < c->net->count; i++) {
        if (given->value[i] != SY_NONE && sy_discrete_ancestors(c->net, i) & BIT(node)) {
            return slope_of_quotient(c, node, value, given);
        }
    }
    return slope_of_family(c, node, value, given);
}

double sy_counting_gradient(const struct sy_discrete *net, const double *weights,
                            uint32_t sample_count, const struct sy_discrete_query *query,
                            const struct sy_discrete_parameter *parameter,
                            enum sy_counting_form form) {
    struct counting counting = {net, weights, sample_count, parameter, form};
    return slope_given(&counting, query->node, query->value, &query->given);
}
