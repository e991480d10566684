/* SPDX-License-Identifier: Apache-2.0
 *
 * The mixed bound: critical path and area in one LP, neither free to ignore the other.
 *
 * In: workload, time limit. Out: a lower bound, at least as large as both. Never knows: which
 * solver answered. Invariant: what is returned is proved, not believed; see lp_prove.c.
 */
#include "bounds/lp.h"

#include <errno.h>
#include <math.h>

#define ROW_MAX 1000000u /* beyond it writing alone takes seconds, solving hours */

static int solve(const struct sy_workload *workload, double unit_ns, double time_limit_s,
                 bool (*stop)(void), double *ret_bound_ns, struct sy_error *error) {
    struct sy_lp lp;
    struct sy_buffer text = {0};
    uint64_t rows = (uint64_t)workload->task_count + workload->pred_start[workload->task_count];
    if (rows > ROW_MAX) {
        return sy_fail(error, -ETIME, "an LP of %llu rows is not solved in any reasonable time",
                       (unsigned long long)rows);
    }
    int r = sy_lp_init(&lp, workload, unit_ns, &text);
    if (r < 0) {
        return sy_fail(error, r, "out of memory for the LP of %u tasks", workload->task_count);
    }
    r = sy_lp_solve(&lp, &text, time_limit_s, stop, error);
    if (r == 0) {
        r = sy_lp_prove(&lp, ret_bound_ns);
    }
    sy_buffer_finish(&text);
    sy_lp_finish(&lp);
    return r;
}

int sy_bound_mixed_ns(const struct sy_workload *workload, double time_limit_s, bool (*stop)(void),
                      double *ret_bound_ns, struct sy_error *error) {
    double area = sy_bound_area_ns(workload);
    double simple = fmax(sy_bound_critical_path_ns(workload), area), mixed = 0;
    /* With one class there is nothing to trade between the two. */
    if (workload->class_count > 1 && area > 0) {
        int r = solve(workload, area, time_limit_s, stop, &mixed, error);
        if (r < 0) {
            return r;
        }
    }
    *ret_bound_ns = fmax(simple, mixed);
    return 0;
}
