/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells of costs: samples at nearly the same features become one. Of a cell's last times the median
 * counts, so that one wild time says nothing; two new ones that agree with each other and not with
 * those before are a device that changed its speed, and replace them. A full group gives up the
 * older of its two nearest cells.
 */
#include "cost/store.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME_POINT     0.02  /* features that differ by less, in logs, are the same */
#define USUAL_NOISE    0.03  /* of a sample, before any was repeated ... */
#define USUAL_WEIGHT   4.0   /* ... which counts like so many repetitions */
#define DEVIATION_MOST 0.3   /* a wilder time is not noise */
#define AGREE_LEAST    0.05  /* times that differ by less, in logs, agree */
#define AGREE_SIGMA    3.5   /* or by less than so much noise */
#define MOVED_LEAST    0.002 /* a cell that moves less leaves the fit as it is */
#define WATTS_REACH    0.1   /* square of a distance in logs that is near */

static double median(const double *values, uint32_t count) {
    double sorted[RECENTS];
    memcpy(sorted, values, count * sizeof(*values));
    return sy_quantile(sorted, count, 0.5);
}

double sy_estimate_noise(const struct model *model) {
    double sum = USUAL_WEIGHT * USUAL_NOISE * USUAL_NOISE, weight = USUAL_WEIGHT;
    for (uint32_t i = 0; i < model->cell_count; i++) {
        const struct cell *cell = &model->cells[i];
        for (uint32_t k = 0; k < cell->recent_count; k++) {
            double off = sy_least(fabs(cell->recent[k] - cell->log_time), DEVIATION_MOST);
            sum += off * off;
        }
        weight += cell->recent_count ? cell->recent_count - 1 : 0;
    }
    return sum / weight;
}

/* The newest two agree, and not with what was before. */
static void drop_outdated(struct cell *cell, double tolerance) {
    uint32_t n = cell->recent_count;
    if (n < 3) {
        return;
    }
    const double *last = &cell->recent[n - 2];
    double before = median(cell->recent, n - 2);
    bool agree = fabs(last[0] - last[1]) <= tolerance;
    if (agree && fabs(last[0] - before) > tolerance && fabs(last[1] - before) > tolerance) {
        memmove(cell->recent, last, 2 * sizeof(*last));
        cell->recent_count = 2;
    }
}

void sy_estimate_learn(struct model *model, uint32_t index, double log_time) {
    struct cell *cell = &model->cells[index];
    double tolerance = sy_most(AGREE_LEAST, AGREE_SIGMA * sqrt(sy_estimate_noise(model)));
    double old_time = cell->log_time, old_scatter = cell->scatter;
    uint32_t old_count = cell->recent_count;
    if (cell->recent_count == RECENTS) {
        memmove(cell->recent, cell->recent + 1, (RECENTS - 1) * sizeof(*cell->recent));
        cell->recent_count--;
    }
    cell->recent[cell->recent_count++] = log_time;
    drop_outdated(cell, tolerance);
    cell->log_time = median(cell->recent, cell->recent_count);
    /* Of two that disagree nobody knows which is wild. */
    double gap = cell->recent_count == 2 ? fabs(cell->recent[0] - cell->recent[1]) / 2 : 0;
    cell->scatter = 2 * gap > tolerance ? gap * gap : 0;
    model->stale |= cell->recent_count != old_count || cell->scatter != old_scatter ||
                    fabs(cell->log_time - old_time) > MOVED_LEAST;
}

static double distance(const double *a, const double *b, uint32_t axis_count) {
    double most = 0;
    for (uint32_t i = 0; i < axis_count; i++) {
        most = sy_most(most, fabs(a[i] - b[i]));
    }
    return most;
}

uint32_t sy_estimate_find(const struct sy_group *group, const double *point) {
    uint32_t found = SY_NONE, costs = group->name_count;
    double least = SAME_POINT;
    for (uint32_t i = 0; i < group->count; i++) {
        const double *there = group->model->cells[i].point;
        double far = distance(there, point, costs);
        if (there[costs] == point[costs] && far <= least) {
            found = i;
            least = far;
        }
    }
    return found;
}

struct reading {
    double watts, weight;
};

static int by_watts(const void *a, const void *b) {
    const struct reading *x = a, *y = b;
    return (x->watts > y->watts) - (x->watts < y->watts);
}

/* The middle of all readings, near ones counting more: a wild one does not move it. */
double sy_estimate_watts(const struct sy_group *group, const double *point, double *ret_far) {
    uint32_t here = sy_estimate_find(group, point), count = 0;
    *ret_far = 0;
    if (here != SY_NONE && isfinite(group->cells[here]->watts)) {
        return group->cells[here]->watts / group->cells[here]->features.width;
    }
    *ret_far = INFINITY;
    struct reading readings[CELLS];
    double half = 0, sum = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct sy_cell *cell = group->cells[i];
        double far = distance(group->model->cells[i].point, point, group->name_count + 1);
        if (isfinite(cell->watts)) {
            readings[count] =
                (struct reading){cell->watts / cell->features.width, 1 / (WATTS_REACH + far * far)};
            half += readings[count++].weight / 2;
            *ret_far = sy_least(*ret_far, far);
        }
    }
    qsort(readings, count, sizeof *readings, by_watts);
    for (uint32_t i = 0; i < count; i++) {
        sum += readings[i].weight;
        if (sum >= half) {
            return readings[i].watts;
        }
    }
    return NAN;
}

/* The older of the two that are nearest to each other. */
uint32_t sy_estimate_least_useful(const struct sy_group *group) {
    uint32_t found = 0;
    double least = INFINITY;
    for (uint32_t i = 1; i < group->count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            double far = distance(group->model->cells[i].point, group->model->cells[j].point,
                                  group->name_count + 1);
            if (far < least) {
                least = far;
                found = group->cells[i]->stamp < group->cells[j]->stamp ? i : j;
            }
        }
    }
    return found;
}
