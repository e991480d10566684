/* SPDX-License-Identifier: Apache-2.0
 *
 * From a solver's dual values to a bound that is true whatever they are.
 *
 * In: a price per class, a flow per edge, a flow out of each sink. Out: the bound they prove.
 * Never knows: who made them. For prices p >= 0 and a flow y from sources to sinks with
 *   sum_c p_c devices_c + (flow into the end) = 1
 * every schedule satisfies
 *   makespan >= sum_t min_c (p_c + y_t) t_tc + sum_t (flow that starts at t) release_t,
 * since the end is at least each path's length and each class at least its load per device.
 * Repair: negative values become 0; from the sinks upwards, what flows into a task is scaled to
 * what leaves it, or starts at the task if nothing comes in; in the end all is divided by the sum.
 */
#include "bounds/lp.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define ROUNDING 1e-12 /* relative; far above what the sums can lose */

static void clip(struct sy_lp *lp) {
    for (uint32_t i = 0; i < lp->slot_count; i++) {
        lp->dual[i] = lp->dual[i] > 0 && isfinite(lp->dual[i]) ? lp->dual[i] : 0;
    }
}

/* Scales the flows into task to sum to through; returns what must start here instead. */
static double balance(const struct sy_workload *workload, double *edge_flow, uint32_t task,
                      double through) {
    uint32_t first = workload->pred_start[task], end = workload->pred_start[task + 1];
    double into = 0;
    for (uint32_t e = first; e < end; e++) {
        into += edge_flow[e];
    }
    if (!(into > 0)) {
        return through;
    }
    for (uint32_t e = first; e < end; e++) {
        edge_flow[e] *= through / into;
    }
    return 0;
}

static double cheapest(const struct sy_workload *workload, const double *price, double flow,
                       uint32_t task) {
    double least = INFINITY;
    for (uint32_t c = 0; c < workload->class_count; c++) {
        double time = workload->time_ns[(size_t)task * workload->class_count + c];
        if (isfinite(time)) {
            least = fmin(least, (price[c] + flow) * time);
        }
    }
    return least;
}

int sy_lp_prove(struct sy_lp *lp, double *ret_bound_ns) {
    const struct sy_workload *workload = lp->workload;
    double *through = calloc((size_t)workload->task_count + 1, sizeof(*through));
    if (through == NULL) {
        return -ENOMEM;
    }
    clip(lp);
    const double *price = lp->dual;
    double *edge_flow = &lp->dual[workload->class_count];
    const double *sink_flow = &edge_flow[workload->pred_start[workload->task_count]];
    double worth = 0, scale = 0;
    for (uint32_t c = 0; c < workload->class_count; c++) {
        scale += price[c] * workload->machine->classes[c].device_count;
    }
    for (uint32_t i = workload->task_count; i-- > 0;) {
        uint32_t task = workload->order[i];
        through[task] += sink_flow[task];
        scale += sink_flow[task];
        double starts = balance(workload, edge_flow, task, through[task]);
        worth += starts * workload->jobs[workload->task_job[task]].arrive_ns;
        worth += cheapest(workload, price, through[task], task);
        for (uint32_t e = workload->pred_start[task]; e < workload->pred_start[task + 1]; e++) {
            through[workload->pred[e]] += edge_flow[e];
        }
    }
    free(through);
    *ret_bound_ns = scale > 0 && isfinite(worth) ? worth / scale * (1 - ROUNDING) : 0;
    return 0;
}
