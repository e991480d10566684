/* SPDX-License-Identifier: Apache-2.0
 *
 * The two bounds that need no search, for a whole workload: critical path and area.
 *
 * In: workload. Out: lower bounds of the time of the last completion. Never knows: how cost/
 * computes them for a job.
 */
#include "bounds/bounds.h"

#include <math.h>

double sy_bound_critical_path_ns(const struct sy_workload *workload) {
    double last = 0;
    for (uint32_t j = 0; j < workload->job_count; j++) {
        double path = sy_cost_critical_path_ns(workload, j);
        last = fmax(last, workload->jobs[j].arrive_ns + path);
    }
    return last;
}

double sy_bound_area_ns(const struct sy_workload *workload) {
    return sy_cost_area_ns(workload, 0, workload->task_count);
}
