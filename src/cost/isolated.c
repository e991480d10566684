/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a job needs alone, at least: the larger of its critical path and its area. In: a job of
 * a workload. Out: a lower bound of its makespan, the yardstick of slowdowns and job orders; and
 * slowdowns by it.
 */
#include "cost/cost.h"
#include <math.h>
#include <stdlib.h>

/* The larger of these shares of how late it is and of its own time. */
#define STILL_LATE 0.5
#define STILL_OWN  0.3

double sy_cost_still_ns(double own_ns, double late_ns) {
    return fmax(STILL_LATE * late_ns, STILL_OWN * own_ns);
}

double sy_cost_slowdown(double taken_ns, double alone_ns) {
    double short_by_ns = fmax(SY_ALONE_LEAST_NS - alone_ns, 0);
    return (taken_ns + short_by_ns) / (alone_ns + short_by_ns);
}

/* Needs no memory, and is still a bound. */
static double longest_task_ns(const struct sy_workload *w, uint32_t first, uint32_t end) {
    double longest = 0;
    for (uint32_t t = first; t < end; t++) {
        longest = fmax(longest, w->best_ns[t]);
    }
    return longest;
}

/* Summed from the sources on, as a schedule does: rounding cannot lift it above the schedule. */
double sy_cost_critical_path_ns(const struct sy_workload *w, uint32_t job) {
    uint32_t first = w->job_first_task[job], end = w->job_first_task[job + 1];
    double *done = malloc((end - first + 1u) * sizeof *done);
    if (!done) {
        return longest_task_ns(w, first, end);
    }
    double longest = 0;
    for (uint32_t i = first; i < end; i++) {
        uint32_t task = w->order[i];
        double start = 0;
        for (uint32_t e = w->pred_start[task]; e < w->pred_start[task + 1]; e++) {
            start = fmax(start, done[w->pred[e] - first]);
        }
        done[task - first] = start + w->best_ns[task];
        longest = fmax(longest, done[task - first]);
    }
    free(done);
    return longest;
}

double sy_cost_isolated_ns(const struct sy_workload *w, uint32_t job) {
    double area = sy_cost_area_ns(w, w->job_first_task[job], w->job_first_task[job + 1]);
    return fmax(sy_cost_critical_path_ns(w, job), area);
}
