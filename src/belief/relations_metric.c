/* SPDX-License-Identifier: Apache-2.0
 *
 * relations_metric: a metric that is a share says that what it divides is no more than what it
 * divides by.
 *
 * In: a listing's metrics. Out: inequalities between events. An expression is expanded, through the
 * metrics it uses, into a ratio of two sums of events; what cannot be brought to that form
 * (products of rates, clamps inside, unknown machine constants) says nothing here. Invariant: an
 * inequality holds for rates as for counts: no constant stands beside an event.
 */
#include "belief/build.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FORM_TERMS_MAX 48
#define DEPTH_MAX      24

/* Sum of events, by index, or a constant alone. */
struct form {
    const struct sy_term *terms;
    uint32_t count;
    double constant;
};
struct ratio {
    struct form num, den;
    bool good;
    bool low, high; /* clamped there: it says nothing about that side */
};

struct expansion {
    const struct sy_listing *listing;
    struct sy_arena *arena;
    struct ratio *metrics; /* known ones */
    uint8_t *state;        /* 0: not asked, 1: being asked, 2: known */
    uint32_t depth;
    bool failed;
};

static const struct ratio bad = {.good = false};

static struct ratio constant(double value) {
    return (struct ratio){.num = {.constant = value}, .den = {.constant = 1}, .good = true};
}

static bool is_constant(const struct ratio *ratio) {
    return ratio->good && ratio->num.count == 0 && ratio->den.count == 0;
}

static double value_of(const struct ratio *ratio) {
    return ratio->num.constant / ratio->den.constant;
}

/* a * x + b * y; false where a constant would stand beside an event, or it grows too long. */
static bool add_forms(struct expansion *expansion, double a, const struct form *x, double b,
                      const struct form *y, struct form *ret_form) {
    struct sy_term *terms =
        sy_arena_alloc(expansion->arena, x->count + y->count + 1u, sizeof *terms);
    if (!terms) {
        expansion->failed = true;
        return false;
    }
    uint32_t count = 0;
    for (uint32_t i = 0, j = 0; i < x->count || j < y->count;) {
        uint32_t left = i < x->count ? x->terms[i].variable : SY_NONE;
        uint32_t right = j < y->count ? y->terms[j].variable : SY_NONE;
        struct sy_term term = {left < right ? left : right, 0};
        term.coefficient += left <= right && i < x->count ? a * x->terms[i++].coefficient : 0;
        term.coefficient += right <= left && j < y->count ? b * y->terms[j++].coefficient : 0;
        if (fabs(term.coefficient) > 1e-12) {
            terms[count++] = term;
        }
    }
    double rest = a * x->constant + b * y->constant;
    *ret_form = (struct form){terms, count, rest};
    return count <= FORM_TERMS_MAX && (count == 0 || rest == 0);
}

static bool scale_form(struct expansion *expansion, double factor, const struct form *form,
                       struct form *ret_form) {
    struct form zero = {0};
    return add_forms(expansion, factor, form, 0, &zero, ret_form);
}

/* y = factor * x for some factor? */
static bool proportional(const struct form *x, const struct form *y, double *ret_factor) {
    if (x->count != y->count) {
        return false;
    }
    double factor =
        x->count ? y->terms[0].coefficient / x->terms[0].coefficient : y->constant / x->constant;
    for (uint32_t i = 0; i < x->count; i++) {
        if (x->terms[i].variable != y->terms[i].variable ||
            fabs(y->terms[i].coefficient - factor * x->terms[i].coefficient) >
                1e-9 * fabs(y->terms[i].coefficient)) {
            return false;
        }
    }
    *ret_factor = factor;
    return isfinite(factor) && factor != 0;
}

static struct ratio scaled(struct expansion *expansion, const struct ratio *ratio, double factor) {
    struct ratio result = *ratio;
    result.good = isfinite(factor) && scale_form(expansion, factor, &ratio->num, &result.num);
    if (factor < 0) {
        result.low = ratio->high;
        result.high = ratio->low;
    }
    return result;
}

static bool is_clamped(const struct ratio *a, const struct ratio *b) {
    return a->low || a->high || b->low || b->high;
}

/* a + sign * b */
static struct ratio add(struct expansion *expansion, const struct ratio *a, const struct ratio *b,
                        double sign) {
    struct ratio result = {.den = a->den};
    double factor;
    if (is_clamped(a, b)) {
        return bad;
    }
    if (proportional(&a->den, &b->den, &factor)) {
        result.good = add_forms(expansion, 1, &a->num, sign / factor, &b->num, &result.num);
    } else if (is_constant(a)) {
        result.den = b->den;
        result.good = add_forms(expansion, value_of(a), &b->den, sign, &b->num, &result.num);
    } else if (is_constant(b)) {
        result.good = add_forms(expansion, 1, &a->num, sign * value_of(b), &a->den, &result.num);
    }
    return result;
}

static struct ratio multiply(struct expansion *expansion, const struct ratio *a,
                             const struct ratio *b) {
    double factor;
    if (is_constant(a)) {
        return scaled(expansion, b, value_of(a));
    }
    if (is_constant(b)) {
        return scaled(expansion, a, value_of(b));
    }
    if (is_clamped(a, b)) {
        return bad;
    }
    struct ratio result = {.good = true};
    if (proportional(&b->den, &a->num, &factor)) {
        result.num = b->num;
        result.den = a->den;
    } else if (proportional(&a->den, &b->num, &factor)) {
        result.num = a->num;
        result.den = b->den;
    } else {
        return bad;
    }
    return scaled(expansion, &result, factor);
}

static struct ratio divide(struct expansion *expansion, const struct ratio *a,
                           const struct ratio *b) {
    if (is_constant(b)) {
        return scaled(expansion, a, 1 / value_of(b));
    }
    if (is_clamped(a, b)) {
        return bad;
    }
    struct ratio turned = {.num = b->den, .den = b->num, .good = true};
    double factor;
    if (proportional(&b->den, &a->den, &factor)) {
        struct ratio result = {.num = a->num, .den = b->num, .good = true};
        return scaled(expansion, &result, 1 / factor);
    }
    return multiply(expansion, a, &turned);
}

static struct ratio compare(enum sy_expr_op op, const struct ratio *a, const struct ratio *b) {
    if (!is_constant(a) || !is_constant(b)) {
        return bad;
    }
    double x = value_of(a), y = value_of(b);
    switch (op) {
    case SY_EXPR_LESS:
        return constant(x < y);
    case SY_EXPR_GREATER:
        return constant(x > y);
    case SY_EXPR_AND:
        return constant(x != 0 && y != 0);
    case SY_EXPR_OR:
        return constant(x != 0 || y != 0);
    default:
        return bad;
    }
}

/* A clamp to a constant; between two rates nobody knows which one holds. */
static struct ratio clamp(enum sy_expr_op op, const struct ratio *a, const struct ratio *b) {
    const struct ratio *inner = is_constant(a) ? b : a;
    if (!is_constant(a) && !is_constant(b)) {
        return bad;
    }
    struct ratio result = *inner;
    result.low = result.low || op == SY_EXPR_MAX;
    result.high = result.high || op == SY_EXPR_MIN;
    return result;
}

/* What is known of any machine: siblings share a core, there is no persistent memory. */
static struct ratio literal(const char *name) {
    if (strcasecmp(name, "smt_on") == 0 || strcasecmp(name, "core_wide") == 0) {
        return constant(1);
    }
    return strcasecmp(name, "has_pmem") == 0 || strcasecmp(name, "ebs_mode") == 0 ? constant(0)
                                                                                  : bad;
}

static struct ratio expand_metric(struct expansion *expansion, uint32_t metric);

static struct ratio expand_name(struct expansion *expansion, uint32_t name) {
    const struct sy_listing *listing = expansion->listing;
    if (listing->name_metric[name] != SY_NONE) {
        return expand_metric(expansion, listing->name_metric[name]);
    }
    if (listing->name_event[name] == SY_NONE) {
        return bad;
    }
    struct sy_term *term = sy_arena_alloc(expansion->arena, 1, sizeof *term);
    if (!term) {
        expansion->failed = true;
        return bad;
    }
    *term = (struct sy_term){listing->name_event[name], 1};
    return (struct ratio){.num = {term, 1, 0}, .den = {.constant = 1}, .good = true};
}

static struct ratio expand_if(const struct ratio *yes, const struct ratio *condition,
                              const struct ratio *no) {
    if (is_constant(condition)) {
        return value_of(condition) != 0 ? *yes : *no;
    }
    return *yes; /* a guard such as "if x > 0 else 0": the share is what stands before it */
}

static struct ratio expand_node(struct expansion *expansion, const struct sy_expr_node *node,
                                const struct ratio *values) {
    switch (node->op) {
    case SY_EXPR_NUMBER:
        return isfinite(node->number) ? constant(node->number) : bad;
    case SY_EXPR_NAME:
        return expand_name(expansion, node->a);
    case SY_EXPR_LITERAL:
        return literal(expansion->listing->names[node->a]);
    case SY_EXPR_HAS_EVENT:
        return constant(1);
    case SY_EXPR_IF:
        return expand_if(&values[node->a], &values[node->b], &values[node->c]);
    case SY_EXPR_NEGATE:
        return values[node->a].good ? scaled(expansion, &values[node->a], -1) : bad;
    default:
        break;
    }
    if (node->op == SY_EXPR_SOURCE_COUNT || node->op == SY_EXPR_IS_CPU) {
        return bad;
    }
    const struct ratio *a = &values[node->a], *b = &values[node->b];
    if (!a->good || !b->good) {
        return bad;
    }
    switch (node->op) {
    case SY_EXPR_ADD:
        return add(expansion, a, b, 1);
    case SY_EXPR_SUBTRACT:
        return add(expansion, a, b, -1);
    case SY_EXPR_MULTIPLY:
        return multiply(expansion, a, b);
    case SY_EXPR_DIVIDE:
    case SY_EXPR_RATIO:
        return divide(expansion, a, b);
    case SY_EXPR_MIN:
    case SY_EXPR_MAX:
        return clamp(node->op, a, b);
    default:
        return compare(node->op, a, b);
    }
}

static struct ratio expand_metric(struct expansion *expansion, uint32_t metric) {
    if (expansion->state[metric] == 2) {
        return expansion->metrics[metric];
    }
    const struct sy_expr *expr = &expansion->listing->metrics[metric].expr;
    struct ratio result = bad;
    struct ratio *values =
        expansion->state[metric] == 0 && expansion->depth < DEPTH_MAX && expr->count > 0
            ? calloc(expr->count, sizeof *values)
            : NULL;
    if (!values) {
        return bad;
    }
    expansion->state[metric] = 1;
    expansion->depth++;
    for (uint32_t i = 0; i < expr->count; i++) {
        values[i] = expand_node(expansion, &expr->nodes[i], values);
    }
    result = values[expr->count - 1];
    free(values);
    expansion->depth--;
    expansion->state[metric] = 2;
    expansion->metrics[metric] = result;
    return result;
}

static bool is_same(const struct sy_found_list *list, const struct sy_found *item, uint32_t out,
                    const struct sy_term *terms, uint32_t count) {
    if (item->origin != SY_FROM_METRIC || item->out != out || item->count != count) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sy_term *term = &list->terms[item->first + i];
        if (term->variable != terms[i].variable ||
            fabs(term->coefficient - terms[i].coefficient) > 1e-9) {
            return false;
        }
    }
    return true;
}

/* form >= 0: what is taken away is at most the rest. */
static int emit(const struct expansion *expansion, const struct form *form, uint32_t metric,
                const char *unit, struct sy_found_list *list) {
    struct sy_term terms[FORM_TERMS_MAX], out = {SY_NONE, 0};
    uint32_t count = 0, less = 0;
    for (uint32_t i = 0; i < form->count; i++) {
        const struct sy_event *event = &expansion->listing->events[form->terms[i].variable];
        if (!sy_event_is_of(event, unit)) {
            return 0;
        }
        less += form->terms[i].coefficient < 0;
        if (form->terms[i].coefficient > 0 && out.variable == SY_NONE) {
            out = form->terms[i];
        } else {
            terms[count++] = form->terms[i];
        }
    }
    if (out.variable == SY_NONE || less == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        terms[i].coefficient /= -out.coefficient;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        if (is_same(list, &list->items[i], out.variable, terms, count)) {
            return 0;
        }
    }
    struct sy_found found = {
        .kind = SY_FACTOR_AT_MOST, .origin = SY_FROM_METRIC, .out = out.variable, .metric = metric};
    return sy_found_add(list, &found, terms, count);
}

static int relate(struct expansion *expansion, uint32_t metric, const char *unit,
                  struct sy_found_list *list) {
    struct ratio ratio = expand_metric(expansion, metric);
    if (!ratio.good || ratio.den.count == 0) {
        return 0;
    }
    double full = expansion->listing->metrics[metric].full;
    struct form room;
    int code = ratio.low ? 0 : emit(expansion, &ratio.num, metric, unit, list);
    if (!code && !ratio.high && full > 0 &&
        add_forms(expansion, full, &ratio.den, -1, &ratio.num, &room)) {
        code = emit(expansion, &room, metric, unit, list);
    }
    return code;
}

static int open_expansion(const struct sy_listing *listing, struct expansion *expansion) {
    *expansion = (struct expansion){.listing = listing, .arena = sy_arena_create()};
    if (!expansion->arena) {
        return -ENOMEM;
    }
    expansion->metrics =
        sy_arena_alloc(expansion->arena, listing->metric_count + 1u, sizeof(struct ratio));
    expansion->state = sy_arena_alloc(expansion->arena, listing->metric_count + 1u, 1);
    return expansion->metrics && expansion->state ? 0 : -ENOMEM;
}

bool sy_find_slots(const struct sy_listing *listing, struct sy_term *ret_term,
                   const char **ret_metric) {
    static const char *const names[] = {"total_dispatch_slots", "tma_info_thread_slots"};
    struct expansion expansion;
    bool found = false;
    int code = open_expansion(listing, &expansion);
    for (uint32_t i = 0; i < SY_COUNT(names) && !code && !found; i++) {
        uint32_t metric = sy_listing_metric(listing, names[i]);
        struct ratio ratio = metric == SY_NONE ? bad : expand_metric(&expansion, metric);
        found = ratio.good && !ratio.low && !ratio.high && ratio.num.count == 1 &&
                ratio.den.count == 0 && ratio.num.terms[0].coefficient > 0;
        if (found) {
            *ret_term = ratio.num.terms[0];
            ret_term->coefficient /= ratio.den.constant;
            *ret_metric = listing->metrics[metric].name;
        }
    }
    sy_arena_destroy(expansion.arena);
    return found;
}

int sy_find_metrics(const struct sy_listing *listing, const char *unit,
                    struct sy_found_list *list) {
    struct expansion expansion;
    int code = open_expansion(listing, &expansion);
    for (uint32_t i = 0; i < listing->metric_count && !code; i++) {
        if (listing->metrics[i].bounded) {
            code = relate(&expansion, i, unit, list);
            code = expansion.failed ? -ENOMEM : code;
        }
    }
    sy_arena_destroy(expansion.arena);
    return code;
}
