/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a job needs alone, at least: the larger of its critical path and its area. In: a job of
 * a workload. Out: a lower bound of its makespan, the yardstick of slowdowns and job orders.
 */
#include "cost/cost.h"
#include <math.h>
#include <stdlib.h>

double sy_cost_critical_path_ns(const struct sy_workload *w, uint32_t first, uint32_t end,
                                double *scratch) {
    double longest = 0;
    for (uint32_t i = end; i-- > first;) {
        uint32_t task = w->order[i];
        double below = 0;
        for (uint32_t e = w->succ_start[task]; e < w->succ_start[task + 1]; e++) {
            double length = scratch[w->succ[e] - first];
            below = length > below ? length : below;
        }
        scratch[task - first] = below + w->best_ns[task];
        longest = scratch[task - first] > longest ? scratch[task - first] : longest;
    }
    return longest;
}

/* Any prices p >= 0 with sum over classes of p * device_count = 1 make
 * sum over tasks of min over classes of p * time a lower bound (LP duality). Prices are raised
 * where the cheapest assignment overloads a class. */
static double area_ns(const struct sy_workload *w, uint32_t first, uint32_t end) {
    const struct sy_machine *m = w->machine;
    uint32_t classes = w->class_count;
    double price[64], load[64], best = 0;
    if (classes > 64) {
        return 0;
    }
    for (uint32_t c = 0; c < classes; c++) {
        price[c] = 1.0 / m->device_count;
    }
    for (int round = 0; round < 24; round++) {
        double bound = 0, total = 0;
        for (uint32_t c = 0; c < classes; c++) {
            load[c] = 0;
        }
        for (uint32_t t = first; t < end; t++) {
            const double *time = w->time_ns + (size_t)t * classes;
            uint32_t cheapest = 0;
            for (uint32_t c = 1; c < classes; c++) {
                cheapest = price[c] * time[c] < price[cheapest] * time[cheapest] ? c : cheapest;
            }
            bound += price[cheapest] * time[cheapest];
            load[cheapest] += time[cheapest];
        }
        best = bound > best ? bound : best;
        double mean = 0;
        for (uint32_t c = 0; c < classes; c++) {
            load[c] /= m->classes[c].device_count;
            mean += load[c] / classes;
        }
        for (uint32_t c = 0; c < classes && mean > 0; c++) {
            price[c] *= pow((load[c] + 0.01 * mean) / mean, 0.5 / (1 + 0.3 * round));
            total += price[c] * m->classes[c].device_count;
        }
        for (uint32_t c = 0; c < classes && mean > 0; c++) {
            price[c] /= total;
        }
    }
    return best;
}

double sy_cost_isolated_ns(const struct sy_workload *w, uint32_t job) {
    uint32_t first = w->job_first_task[job], end = w->job_first_task[job + 1];
    double *scratch = calloc(end - first + 1u, sizeof *scratch);
    double path = scratch ? sy_cost_critical_path_ns(w, first, end, scratch) : 0;
    free(scratch);
    double area = area_ns(w, first, end);
    return path > area ? path : area;
}
