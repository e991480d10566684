/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions of metrics: from nodes and values to a number, as perf computes it.
 *
 * In: nodes, a scope that gives values. Out: a number; NAN where there is none. Semantics of
 * tools/perf/util/expr.y when it is not collecting names: both branches of an if count as computed,
 * NAN as a condition is true, a modulo by zero and a literal that nobody knows spoil the whole
 * expression. Invariant: never traps, whatever the values.
 */
#include "listing/expr.h"
#include <math.h>
#include <stdlib.h>

#define ON_STACK 256 /* nodes; longer expressions ask for memory */

/* The logical operators know a value only if it is finite. */
static double logical_or(double a, double b) {
    bool known_a = isfinite(a), known_b = isfinite(b);
    if (known_a && known_b) {
        return a != 0 || b != 0 ? 1 : 0;
    }
    if (known_a) {
        return a == 0 ? b : 1;
    }
    if (known_b) {
        return b == 0 ? a : 1;
    }
    return NAN;
}

static double logical_and(double a, double b) {
    bool known_a = isfinite(a), known_b = isfinite(b);
    if (known_a && known_b) {
        return a != 0 && b != 0 ? 1 : 0;
    }
    if (known_a) {
        return a != 0 ? b : 0;
    }
    if (known_b) {
        return b != 0 ? a : 0;
    }
    return NAN;
}

static double logical_xor(double a, double b) {
    return isfinite(a) && isfinite(b) ? (double)((a == 0) != (b == 0)) : NAN;
}

/* Of whole numbers, as C does it. */
static double modulo(double a, double b, bool *spoilt) {
    const double limit = 9223372036854775808.0; /* 2^63 */
    *spoilt = *spoilt || b == 0;
    if (!(fabs(a) < limit) || !(fabs(b) < limit) || (long long)b == 0) {
        return NAN;
    }
    return (double)((long long)a % (long long)b);
}

static double less(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : (double)(a < b);
}

static double binary(enum sy_expr_op op, double a, double b, bool *spoilt) {
    switch (op) {
    case SY_EXPR_ADD:
        return a + b;
    case SY_EXPR_SUBTRACT:
        return a - b;
    case SY_EXPR_MULTIPLY:
        return a * b;
    case SY_EXPR_DIVIDE:
        return b == 0 ? NAN : a / b;
    case SY_EXPR_MODULO:
        return modulo(a, b, spoilt);
    case SY_EXPR_LESS:
        return less(a, b);
    case SY_EXPR_GREATER:
        return less(b, a);
    case SY_EXPR_AND:
        return logical_and(a, b);
    case SY_EXPR_OR:
        return logical_or(a, b);
    case SY_EXPR_XOR:
        return logical_xor(a, b);
    case SY_EXPR_MIN: /* not fmin: with NAN it is the second, as in perf */
        return a < b ? a : b;
    case SY_EXPR_MAX:
        return a > b ? a : b;
    case SY_EXPR_RATIO:
        return b == 0 ? 0 : a / b;
    default:
        return NAN;
    }
}

static double ask(double (*function)(void *, const char *), void *user, const char *name) {
    return function ? function(user, name) : NAN;
}

static double leaf(const struct sy_expr_node *node, const char *const *names,
                   const struct sy_expr_scope *scope, bool *spoilt) {
    const char *name = names[node->a];
    switch (node->op) {
    case SY_EXPR_LITERAL: {
        double value = ask(scope->literal, scope->user, name);
        *spoilt = *spoilt || isnan(value);
        return value;
    }
    case SY_EXPR_SOURCE_COUNT:
        return ask(scope->source_count, scope->user, name);
    case SY_EXPR_HAS_EVENT:
        return scope->has_event && scope->has_event(scope->user, name) ? 1 : 0;
    case SY_EXPR_IS_CPU:
        return scope->is_cpu && scope->is_cpu(scope->user, name) ? 1 : 0;
    default:
        return ask(scope->value, scope->user, name);
    }
}

double sy_expr_eval_in(const struct sy_expr *expr, const char *const *names,
                       const struct sy_expr_scope *scope, sy_expr_lookup lookup, void *user,
                       double *values) {
    bool spoilt = false;
    for (uint32_t i = 0; i < expr->count; i++) {
        const struct sy_expr_node *node = &expr->nodes[i];
        switch (node->op) {
        case SY_EXPR_NUMBER:
            values[i] = node->number;
            break;
        case SY_EXPR_NAME:
            values[i] = lookup ? lookup(user, node->a) : leaf(node, names, scope, &spoilt);
            break;
        case SY_EXPR_LITERAL:
        case SY_EXPR_SOURCE_COUNT:
        case SY_EXPR_HAS_EVENT:
        case SY_EXPR_IS_CPU:
            values[i] = leaf(node, names, scope, &spoilt);
            break;
        case SY_EXPR_NEGATE:
            values[i] = -values[node->a];
            break;
        case SY_EXPR_IF:
            values[i] = values[node->b] == 0 ? values[node->c] : values[node->a];
            break;
        default:
            values[i] = binary(node->op, values[node->a], values[node->b], &spoilt);
        }
    }
    return spoilt || !expr->count ? NAN : values[expr->count - 1];
}

double sy_expr_eval(const struct sy_expr *expr, const char *const *names,
                    const struct sy_expr_scope *scope) {
    double few[ON_STACK];
    double *values = expr->count <= ON_STACK ? few : malloc(expr->count * sizeof *values);
    double result = NAN;
    if (values) {
        result = sy_expr_eval_in(expr, names, scope, NULL, NULL, values);
    }
    if (values != few) {
        free(values);
    }
    return result;
}
