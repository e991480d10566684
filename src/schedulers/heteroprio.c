/* SPDX-License-Identifier: Apache-2.0
 *
 * HeteroPrio (Agullo et al. 2016), without restarting tasks that already run: each class takes what
 * it speeds up most.
 */
#include "schedulers/take_when_idle.h"

/* How much better this class is than the best other one; ties by rank. */
static double affinity(const struct when_idle *w, const struct sy_view *view, uint32_t task,
                       uint32_t class_index) {
    uint32_t classes = view->machine->class_count;
    const double *time = view->time_ns + (size_t)task * classes;
    double other = INFINITY;
    for (uint32_t c = 0; c < classes; c++) {
        if (c != class_index && time[c] < other) {
            other = time[c];
        }
    }
    double gain = isfinite(other) ? log((other + 1) / (time[class_index] + 1)) : 50;
    return gain + 1e-9 * w->base.rank[task] / (w->base.rank[task] + 1e9);
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_when_idle_init(s, view, args, affinity);
}

WHEN_IDLE(sy_policy_heteroprio, "heteroprio",
          "an idle device takes the task its class speeds up most (HeteroPrio, no spoliation)",
          init);
