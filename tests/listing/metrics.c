/* SPDX-License-Identifier: Apache-2.0
 *
 * What a metric comes to, metrics that it uses included; and the events it comes down to.
 */
#include "metrics.h"

#include "listing/expr.h"
#include <math.h>
#include <stdlib.h>

enum state { UNKNOWN, RUNNING, KNOWN };

struct evaluation {
    const struct sy_listing *listing;
    const struct sy_expr_scope *scope;
    uint8_t *states; /* per metric */
    double *results;
    double *scratch; /* the values of all expressions that are being evaluated, one after another */
    uint32_t depth;
    bool looped; /* some metric uses itself: there is no answer */
};

static double eval_metric(struct evaluation *e, uint32_t metric);

static double eval_name(void *user, uint32_t name) {
    struct evaluation *e = user;
    uint32_t metric = e->listing->name_metric[name];
    if (metric != SY_NONE) {
        return eval_metric(e, metric);
    }
    return e->scope->value ? e->scope->value(e->scope->user, e->listing->names[name]) : NAN;
}

static double eval_metric(struct evaluation *e, uint32_t metric) {
    const struct sy_expr *expr = &e->listing->metrics[metric].expr;
    if (e->states[metric] == KNOWN) {
        return e->results[metric];
    }
    if (e->states[metric] == RUNNING || e->depth == SY_METRIC_DEPTH_MAX) {
        e->looped = true;
        return NAN;
    }
    double *values = e->scratch;
    e->scratch += expr->count;
    e->depth++;
    e->states[metric] = RUNNING;
    e->results[metric] = sy_expr_eval_in(expr, e->listing->names, e->scope, eval_name, e, values);
    e->states[metric] = KNOWN;
    e->depth--;
    e->scratch -= expr->count;
    return e->results[metric];
}

double metric_value(const struct sy_listing *listing, uint32_t metric,
                    const struct sy_expr_scope *scope) {
    size_t nodes = 0;
    for (uint32_t i = 0; i < listing->metric_count; i++) {
        nodes += listing->metrics[i].expr.count;
    }
    double *results = calloc(listing->metric_count, sizeof *results);
    uint8_t *states = calloc(listing->metric_count, sizeof *states);
    double *scratch = malloc(nodes * sizeof *scratch); /* not cleared: it is the larger part */
    double result = NAN;
    if (results && states && scratch) {
        struct evaluation e = {.listing = listing,
                               .scope = scope,
                               .states = states,
                               .results = results,
                               .scratch = scratch};
        result = eval_metric(&e, metric);
        result = e.looped ? NAN : result;
    }
    free(scratch);
    free(states);
    free(results);
    return result;
}

struct walk {
    const struct sy_listing *listing;
    uint32_t *queue; /* metrics to look at */
    uint32_t queued;
    bool *seen_metric, *seen_event;
    uint32_t *ret_events;
    uint32_t capacity, found;
};

static void visit_name(struct walk *walk, uint32_t name) {
    uint32_t metric = walk->listing->name_metric[name], event = walk->listing->name_event[name];
    if (metric != SY_NONE && !walk->seen_metric[metric]) {
        walk->seen_metric[metric] = true;
        walk->queue[walk->queued++] = metric;
    } else if (metric == SY_NONE && event != SY_NONE && !walk->seen_event[event]) {
        walk->seen_event[event] = true;
        if (walk->found < walk->capacity) {
            walk->ret_events[walk->found] = event;
        }
        walk->found++;
    }
}

static void walk_metric(struct walk *walk, uint32_t metric) {
    walk->seen_metric[metric] = true;
    walk->queue[walk->queued++] = metric;
    for (uint32_t i = 0; i < walk->queued; i++) {
        const struct sy_expr *expr = &walk->listing->metrics[walk->queue[i]].expr;
        for (uint32_t j = 0; j < expr->count; j++) {
            const struct sy_expr_node *node = &expr->nodes[j];
            if (node->op == SY_EXPR_NAME || node->op == SY_EXPR_SOURCE_COUNT) {
                visit_name(walk, node->a);
            }
        }
    }
}

uint32_t metric_events(const struct sy_listing *listing, uint32_t metric, uint32_t *ret_events,
                       uint32_t capacity) {
    struct walk walk = {.listing = listing, .ret_events = ret_events, .capacity = capacity};
    walk.queue = calloc(listing->metric_count, sizeof *walk.queue);
    walk.seen_metric = calloc(listing->metric_count, sizeof *walk.seen_metric);
    walk.seen_event = calloc((size_t)listing->event_count + 1, sizeof *walk.seen_event);
    if (walk.queue && walk.seen_metric && walk.seen_event) {
        walk_metric(&walk, metric);
    }
    free(walk.queue);
    free(walk.seen_metric);
    free(walk.seen_event);
    return walk.found;
}
