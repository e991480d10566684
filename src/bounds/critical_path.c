/* SPDX-License-Identifier: Apache-2.0
 *
 * Longest path with every task on its fastest class, transfers free, jobs released on arrival.
 *
 * In: workload. Out: a lower bound of the time of the last completion. Never knows: devices.
 */
#include "bounds/bounds.h"

#include <math.h>
#include <stdlib.h>

/* Needs no memory, and is still a bound. */
static double longest_task_ns(const struct sy_workload *workload) {
    double longest = 0;
    for (uint32_t t = 0; t < workload->task_count; t++) {
        double arrive = workload->jobs[workload->task_job[t]].arrive_ns;
        longest = fmax(longest, arrive + workload->best_ns[t]);
    }
    return longest;
}

double sy_bound_critical_path_ns(const struct sy_workload *workload) {
    double *end = malloc(((size_t)workload->task_count + 1) * sizeof(*end));
    if (end == NULL) {
        return longest_task_ns(workload);
    }
    double last = 0;
    for (uint32_t i = 0; i < workload->task_count; i++) {
        uint32_t task = workload->order[i];
        double start = workload->jobs[workload->task_job[task]].arrive_ns;
        for (uint32_t e = workload->pred_start[task]; e < workload->pred_start[task + 1]; e++) {
            start = fmax(start, end[workload->pred[e]]);
        }
        end[task] = start + workload->best_ns[task];
        last = fmax(last, end[task]);
    }
    free(end);
    return last;
}
