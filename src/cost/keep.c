/* SPDX-License-Identifier: Apache-2.0
 *
 * Which cells of a group are kept. The blocks of a sparse solver differ from run to run, so that
 * each run leaves tens of thousands of cells that nobody asks for again.
 *
 * In: a group. Out: its cells that are worth a line, at most SY_KEPT_CELLS of sizes. Rule: those
 * with more samples go before those with fewer, newer before older; but half of the room is for a
 * spread over sizes, the best one of each range, so that a line through them still has its ends.
 * Costs are few anyway. Invariant: the time is that of going through the cells and sorting them.
 */
#include "cost/store.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define RANGES (SY_KEPT_CELLS / 2)

struct candidate {
    const struct sy_cell *cell;
    bool chosen;
};

/* More samples, as far as they are held; of as many the newer. */
static bool is_better(const struct sy_cell *a, const struct sy_cell *b) {
    return a->held != b->held ? a->held > b->held : a->stamp > b->stamp;
}

static int best_first(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    return is_better(a->cell, b->cell) ? -1 : is_better(b->cell, a->cell);
}

static int oldest_first(const void *left, const void *right) {
    const struct sy_cell *a = *(const struct sy_cell *const *)left,
                         *b = *(const struct sy_cell *const *)right;
    return (a->stamp > b->stamp) - (a->stamp < b->stamp);
}

/* NAN: it states none. */
static double log_size(const struct sy_cell *cell) {
    double size = cell->values[cell->values[SY_FLOPS] > 0 ? SY_FLOPS : SY_BYTES];
    return size > 0 ? log(size) : NAN;
}

/* The best of each range of sizes. Candidates come best first. */
static uint32_t choose_spread(struct candidate *candidates, uint32_t count) {
    bool taken[RANGES] = {false};
    double low = INFINITY, high = -INFINITY;
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < count; i++) {
        low = fmin(low, log_size(candidates[i].cell));
        high = fmax(high, log_size(candidates[i].cell));
    }
    for (uint32_t i = 0; i < count && low < high; i++) {
        double size = log_size(candidates[i].cell);
        uint32_t range = isnan(size) ? RANGES : (uint32_t)((size - low) / (high - low) * RANGES);
        range = size == high ? RANGES - 1 : range;
        if (range < RANGES && !taken[range]) {
            taken[range] = candidates[i].chosen = true;
            chosen++;
        }
    }
    return chosen;
}

static uint32_t choose(struct candidate *candidates, uint32_t count, const struct sy_cell **cells) {
    qsort(candidates, count, sizeof *candidates, best_first);
    uint32_t chosen = choose_spread(candidates, count), kept = 0;
    for (uint32_t i = 0; i < count && chosen < SY_KEPT_CELLS; i++) {
        chosen += !candidates[i].chosen;
        candidates[i].chosen = true;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (candidates[i].chosen) {
            cells[kept++] = candidates[i].cell;
        }
    }
    return kept;
}

int sy_group_select(const struct sy_group *group, const struct sy_cell ***ret_cells,
                    uint32_t *ret_count) {
    const struct sy_cell **cells = calloc(group->made + 1u, sizeof(const struct sy_cell *));
    struct candidate *candidates = calloc(group->made + 1u, sizeof *candidates);
    uint32_t count = 0;
    if (!cells || !candidates) {
        free(cells);
        free(candidates);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < group->made; i++) {
        if (group->cells[i]->held > 0) {
            candidates[count].cell = cells[count] = group->cells[i];
            count++;
        }
    }
    if (!group->name_count) {
        count = count > SY_KEPT_CELLS ? choose(candidates, count, cells) : count;
        qsort(cells, count, sizeof(const struct sy_cell *), oldest_first);
    }
    free(candidates);
    *ret_cells = cells;
    *ret_count = count;
    return 0;
}
