/* SPDX-License-Identifier: Apache-2.0
 *
 * The papers' network: utilisations as expressions of true counter values, which are Student-t
 * around what was measured (Symphony, ICML'20, section 4), and the slopes of any loss of them.
 *
 * Reverse mode over the nodes of each expression, for every draw. What has no slope (comparisons,
 * logic, remainders) passes none, unless softness makes comparisons smooth. A knob such as theta_MB
 * that stands only in comparisons is given a spread and the score function does the rest:
 *   d E[f] / d theta = E[(f - mean of the other draws) (theta_drawn - theta)] / spread^2.
 */
#include "network.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define PURPOSE 0x6e6f6465u /* "node" */

struct work {
    const struct sy_network *network;
    struct sy_arena *arena;
    double *leaf, *leaf_slope; /* per name */
    uint32_t *leaf_root, *leaf_knob;
    double *student, *normal; /* this draw's, per root and knob */
    double *value, *slope;    /* per node of the longest expression */
    double *output, *output_slope;
    double *loss;  /* per draw */
    double *drawn; /* [draw * knobs + knob], in standard deviations from the value */
};

static uint32_t find_root(const struct sy_network *network, const char *name) {
    uint32_t i = 0;
    while (i < network->root_count && strcmp(network->roots[i].name, name) != 0) {
        i++;
    }
    return i < network->root_count ? i : SY_NONE;
}

static uint32_t find_knob(const struct sy_network *network, const char *name) {
    uint32_t i = 0;
    while (i < network->knob_count && strcmp(network->knobs[i].name, name) != 0) {
        i++;
    }
    return i < network->knob_count ? i : SY_NONE;
}

static bool is_leaf(enum sy_expr_op op) {
    return op == SY_EXPR_NAME || op == SY_EXPR_LITERAL;
}

static int check(const struct sy_network *network) {
    for (uint32_t k = 0; k < network->output_count; k++) {
        const struct sy_expr *expr = &network->outputs[k];
        if (!expr->count) {
            return -EINVAL;
        }
        for (uint32_t i = 0; i < expr->count; i++) {
            enum sy_expr_op op = expr->nodes[i].op;
            if (op == SY_EXPR_SOURCE_COUNT || op == SY_EXPR_HAS_EVENT || op == SY_EXPR_IS_CPU) {
                return -EINVAL; /* they ask about a machine; there is none here */
            }
        }
    }
    for (uint32_t i = 0; i < network->root_count; i++) {
        const struct sy_root *root = &network->roots[i];
        if (root->readings < 4 || !isfinite(root->mean) || !(root->deviation >= 0)) {
            return -EINVAL;
        }
    }
    return 0;
}

static int prepare(struct work *w, uint32_t draw_count) {
    const struct sy_network *network = w->network;
    uint32_t longest = 0;
    for (uint32_t k = 0; k < network->output_count; k++) {
        longest = network->outputs[k].count > longest ? network->outputs[k].count : longest;
    }
    double **const arrays[] = {&w->leaf,  &w->leaf_slope, &w->student,      &w->normal, &w->value,
                               &w->slope, &w->output,     &w->output_slope, &w->loss,   &w->drawn};
    const size_t counts[] = {network->name_count,
                             network->name_count,
                             network->root_count,
                             network->knob_count,
                             longest,
                             longest,
                             network->output_count,
                             network->output_count,
                             draw_count,
                             (size_t)draw_count * network->knob_count};
    bool have = true;
    for (uint32_t i = 0; i < SY_COUNT(arrays); i++) {
        have = have && (*arrays[i] = sy_arena_alloc(w->arena, counts[i] + 1, sizeof(double)));
    }
    w->leaf_root = sy_arena_alloc(w->arena, network->name_count + 1, sizeof(uint32_t));
    w->leaf_knob = sy_arena_alloc(w->arena, network->name_count + 1, sizeof(uint32_t));
    if (!have || !w->leaf_root || !w->leaf_knob) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < network->name_count; i++) {
        w->leaf_root[i] = find_root(network, network->names[i]);
        w->leaf_knob[i] = find_knob(network, network->names[i]);
        if (w->leaf_root[i] == SY_NONE && w->leaf_knob[i] == SY_NONE) {
            return -ENOENT;
        }
    }
    return 0;
}

/* --- one expression -----------------------------------------------------------------------------
 */
static double truth(const struct sy_network *network, double x) {
    return network->softness > 0 ? fmin(fmax(x, 0), 1) : x != 0;
}

static double less(const struct sy_network *network, double a, double b) {
    return network->softness > 0 ? 1 / (1 + exp((a - b) / network->softness)) : a < b;
}

static double logic(enum sy_expr_op op, double a, double b) {
    return op == SY_EXPR_AND ? a * b : a + b - (op == SY_EXPR_OR ? 1 : 2) * a * b;
}

/* As the listing's evaluator, but for softness; what divides by 0 is NAN. */
static double apply(const struct work *w, const struct sy_expr_node *node, const double *v) {
    double a = v[node->a], b = v[node->b], if_true;
    switch (node->op) {
    case SY_EXPR_ADD:
        return a + b;
    case SY_EXPR_SUBTRACT:
        return a - b;
    case SY_EXPR_MULTIPLY:
        return a * b;
    case SY_EXPR_DIVIDE:
        return b == 0 ? NAN : a / b;
    case SY_EXPR_RATIO:
        return b == 0 ? 0 : a / b;
    case SY_EXPR_MODULO:
        return fabs(trunc(b)) > 0 ? fmod(trunc(a), trunc(b)) : NAN;
    case SY_EXPR_LESS:
        return less(w->network, a, b);
    case SY_EXPR_GREATER:
        return less(w->network, b, a);
    case SY_EXPR_MIN:
        return a < b ? a : b;
    case SY_EXPR_MAX:
        return a > b ? a : b;
    case SY_EXPR_IF: /* a if b else c */
        if_true = truth(w->network, b);
        return if_true == 1   ? a
               : if_true == 0 ? v[node->c]
                              : v[node->c] + if_true * (a - v[node->c]);
    default:
        return logic(node->op, truth(w->network, a), truth(w->network, b));
    }
}

static void forward(struct work *w, const struct sy_expr *expr) {
    for (uint32_t i = 0; i < expr->count; i++) {
        const struct sy_expr_node *node = &expr->nodes[i];
        if (node->op == SY_EXPR_NUMBER) {
            w->value[i] = node->number;
        } else if (is_leaf(node->op)) {
            w->value[i] = w->leaf[node->a];
        } else if (node->op == SY_EXPR_NEGATE) {
            w->value[i] = -w->value[node->a];
        } else {
            w->value[i] = apply(w, node, w->value);
        }
    }
}

/* Slopes of what is smooth only by softness: comparisons, and the logic that joins them. */
static void reverse_comparison(struct work *w, const struct sy_expr_node *node, double value,
                               double slope) {
    double steep = slope * value * (1 - value) / w->network->softness;
    steep = node->op == SY_EXPR_LESS ? -steep : steep;
    w->slope[node->a] += steep;
    w->slope[node->b] -= steep;
}

static double passes(double x) {
    return x > 0 && x < 1; /* truth() is flat beyond */
}

static void reverse_logic(struct work *w, const struct sy_expr_node *node, double slope) {
    double a = w->value[node->a], b = w->value[node->b];
    double alone = node->op == SY_EXPR_AND ? 0 : 1; /* of a + b - both * a b */
    double both = node->op == SY_EXPR_AND ? -1 : node->op == SY_EXPR_OR ? 1 : 2;
    w->slope[node->a] += passes(a) * slope * (alone - both * truth(w->network, b));
    w->slope[node->b] += passes(b) * slope * (alone - both * truth(w->network, a));
}

static void reverse_soft(struct work *w, const struct sy_expr_node *node, double value,
                         double slope) {
    if (!(w->network->softness > 0) || node->op == SY_EXPR_MODULO) {
        return;
    }
    if (node->op == SY_EXPR_LESS || node->op == SY_EXPR_GREATER) {
        reverse_comparison(w, node, value, slope);
    } else {
        reverse_logic(w, node, slope);
    }
}

static void reverse_node(struct work *w, const struct sy_expr_node *node, double value,
                         double slope) {
    double *s = w->slope, a = w->value[node->a], b = w->value[node->b], if_true;
    switch (node->op) {
    case SY_EXPR_ADD:
        s[node->a] += slope;
        s[node->b] += slope;
        break;
    case SY_EXPR_SUBTRACT:
        s[node->a] += slope;
        s[node->b] -= slope;
        break;
    case SY_EXPR_MULTIPLY:
        s[node->a] += slope * b;
        s[node->b] += slope * a;
        break;
    case SY_EXPR_DIVIDE:
    case SY_EXPR_RATIO:
        s[node->a] += b == 0 ? 0 : slope / b;
        s[node->b] -= b == 0 ? 0 : slope * value / b;
        break;
    case SY_EXPR_NEGATE:
        s[node->a] -= slope;
        break;
    case SY_EXPR_MIN:
        s[a < b ? node->a : node->b] += slope;
        break;
    case SY_EXPR_MAX:
        s[a > b ? node->a : node->b] += slope;
        break;
    case SY_EXPR_IF:
        if_true = truth(w->network, b);
        s[node->a] += slope * if_true;
        s[node->c] += slope * (1 - if_true);
        s[node->b] += if_true > 0 && if_true < 1 ? slope * (a - w->value[node->c]) : 0;
        break;
    default:
        reverse_soft(w, node, value, slope);
    }
}

static void backward(struct work *w, const struct sy_expr *expr, double slope) {
    memset(w->slope, 0, sizeof *w->slope * expr->count);
    w->slope[expr->count - 1] = slope;
    for (uint32_t i = expr->count; i-- > 0;) {
        const struct sy_expr_node *node = &expr->nodes[i];
        if (is_leaf(node->op)) {
            w->leaf_slope[node->a] += w->slope[i];
        } else if (w->slope[i] != 0 && node->op != SY_EXPR_NUMBER) {
            reverse_node(w, node, w->value[i], w->slope[i]);
        }
    }
}

/* --- draws --------------------------------------------------------------------------------------
 */
static double scale_of(const struct sy_root *root) {
    return 1 / sqrt(root->readings);
}

static void set_leaves(struct work *w, struct sy_rng *rng, double *drawn) {
    const struct sy_network *network = w->network;
    for (uint32_t i = 0; i < network->root_count; i++) {
        w->student[i] = sy_rng_student(rng, network->roots[i].readings - 1);
    }
    for (uint32_t i = 0; i < network->knob_count; i++) {
        drawn[i] = network->knobs[i].spread > 0 ? sy_rng_normal(rng) : 0;
    }
    for (uint32_t i = 0; i < network->name_count; i++) {
        uint32_t r = w->leaf_root[i], k = w->leaf_knob[i];
        w->leaf_slope[i] = 0;
        if (r != SY_NONE) {
            const struct sy_root *root = &network->roots[r];
            w->leaf[i] = root->mean + root->deviation * scale_of(root) * w->student[r];
        } else {
            w->leaf[i] = network->knobs[k].value + network->knobs[k].spread * drawn[k];
        }
    }
}

static void collect(struct work *w, double share, struct sy_network_slopes *slopes) {
    for (uint32_t i = 0; i < w->network->name_count; i++) {
        uint32_t r = w->leaf_root[i], k = w->leaf_knob[i];
        double slope = share * w->leaf_slope[i];
        if (r != SY_NONE) {
            slopes->mean[r] += slope;
            slopes->deviation[r] += slope * scale_of(&w->network->roots[r]) * w->student[r];
        } else if (!(w->network->knobs[k].spread > 0)) {
            slopes->knob[k] += slope;
        }
    }
}

/* The score function, with the mean of the other draws as its baseline. */
static void collect_scores(const struct work *w, uint32_t draw_count, double total,
                           struct sy_network_slopes *slopes) {
    for (uint32_t s = 0; s < draw_count && draw_count > 1; s++) {
        double others = (total - w->loss[s]) / (draw_count - 1);
        for (uint32_t k = 0; k < w->network->knob_count; k++) {
            double spread = w->network->knobs[k].spread;
            double drawn = w->drawn[(size_t)s * w->network->knob_count + k];
            slopes->knob[k] += spread > 0 ? (w->loss[s] - others) * drawn / spread / draw_count : 0;
        }
    }
}

static void run(struct work *w, uint32_t draw_count, uint64_t seed,
                const struct sy_network_loss *loss, struct sy_network_slopes *slopes) {
    const struct sy_network *network = w->network;
    double total = 0;
    for (uint32_t s = 0; s < draw_count; s++) {
        struct sy_rng rng = sy_rng_make(seed, PURPOSE, s);
        set_leaves(w, &rng, &w->drawn[(size_t)s * network->knob_count]);
        for (uint32_t k = 0; k < network->output_count; k++) {
            forward(w, &network->outputs[k]);
            w->output[k] = w->value[network->outputs[k].count - 1];
            w->output_slope[k] = 0;
        }
        total += w->loss[s] = loss->of(loss->user, w->output, w->output_slope);
        for (uint32_t k = 0; k < network->output_count; k++) {
            forward(w, &network->outputs[k]); /* its nodes' values again: outputs share scratch */
            backward(w, &network->outputs[k], w->output_slope[k]);
        }
        collect(w, 1.0 / draw_count, slopes);
    }
    collect_scores(w, draw_count, total, slopes);
    slopes->value = total / draw_count;
}

int sy_network_gradient(const struct sy_network *network, uint32_t draw_count, uint64_t seed,
                        const struct sy_network_loss *loss, struct sy_network_slopes *ret_slopes) {
    struct work w = {.network = network};
    int code = check(network);
    if (code || !draw_count) {
        return -EINVAL;
    }
    w.arena = sy_arena_create();
    code = w.arena ? prepare(&w, draw_count) : -ENOMEM;
    if (!code) {
        memset(ret_slopes->mean, 0, sizeof(double) * network->root_count);
        memset(ret_slopes->deviation, 0, sizeof(double) * network->root_count);
        memset(ret_slopes->knob, 0, sizeof(double) * network->knob_count);
        run(&w, draw_count, seed, loss, ret_slopes);
    }
    sy_arena_destroy(w.arena);
    return code;
}
