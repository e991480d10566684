/* SPDX-License-Identifier: Apache-2.0
 *
 * kinds: counters that differ only in where they count, as one.
 *
 * In: the counters of a session, their last readings. Out: a name and a text for each kind, so that
 * a machine of a hundred processors has as many lines as one of two. Invariant: every counter is of
 * one kind.
 */
#include "cli/counters/show.h"

#include <math.h>
#include <string.h>

static bool is_watched(const struct sy_counter *counter, bool watched) {
    return watched && counter->scope == SY_SCOPE_GROUP;
}

bool sy_counters_same(const struct sy_counter *a, const struct sy_counter *b) {
    return a->scope == b->scope && strcmp(a->source, b->source) == 0 &&
           strcmp(a->event, b->event) == 0 && (a->pmu == SY_PMU_NONE) == (b->pmu == SY_PMU_NONE);
}

/* The kind of a counter among those that were found; else a new one. */
static uint32_t find(const struct sy_counter *counters, uint32_t counter,
                     struct sy_counters_kind *kinds, uint32_t *kind_count) {
    for (uint32_t kind = 0; kind < *kind_count; kind++) {
        if (sy_counters_same(&counters[kinds[kind].first], &counters[counter])) {
            snprintf(kinds[kind].name, sizeof kinds[kind].name, "%s.%s*.%s",
                     counters[counter].source, sy_scope_name(counters[counter].scope),
                     counters[counter].event);
            return kind;
        }
    }
    struct sy_counters_kind *kind = &kinds[*kind_count];
    kind->first = counter;
    snprintf(kind->name, sizeof kind->name, "%s", counters[counter].name);
    return (*kind_count)++;
}

bool sy_counters_sort(const struct sy_counter *counters, uint32_t count, bool watched,
                      struct sy_arena *arena, struct sy_counters_view *view) {
    struct sy_counters_kind *kinds = sy_arena_alloc(arena, count + 1u, sizeof *kinds);
    uint32_t *kind_of = sy_arena_alloc(arena, count + 1u, sizeof *kind_of), kind_count = 0;
    if (!kinds || !kind_of) {
        return false;
    }
    for (int others = 0; others < 2; others++) {
        for (uint32_t i = 0; i < count; i++) {
            if (is_watched(&counters[i], watched) == !others) {
                kind_of[i] = find(counters, i, kinds, &kind_count);
            }
        }
        view->watched_count = others ? view->watched_count : kind_count;
    }
    view->kinds = kinds;
    view->kind_of = kind_of;
    view->kind_count = kind_count;
    return true;
}

struct sy_units sy_counters_kind_text(const struct sy_counters_view *view, uint32_t kind) {
    const struct sy_counter *first = &view->counters[view->kinds[kind].first];
    double sum = 0;
    uint32_t seen = 0;
    for (uint32_t i = view->kinds[kind].first; i < view->counter_count; i++) {
        if (view->kind_of[i] == kind && isfinite(view->last[i])) {
            sum += view->last[i];
            seen++;
        }
    }
    double value = first->kind == SY_COUNTER_SHARE ? sum / seen : sum;
    return sy_draw_reading(seen ? value : NAN, first);
}
