/* SPDX-License-Identifier: Apache-2.0
 *
 * The times that a job is planned with: those that are known, without what would be a risk.
 */
#include "schedulers/plan_portfolio.h"
#include <string.h>

#define RISKY       20  /* times as long as on the best class, and */
#define RISKY_SHARE 0.5 /* of the time that the best classes take for all: not planned there */

/* The time that the job takes if each task goes where it is fastest, as far as areas tell. */
static double fast_ns(const struct sy_view *view, uint32_t job, double *best_ns) {
    const struct sy_view_job *j = &view->jobs[job];
    const struct sy_machine *m = view->machine;
    double most = 0;
    memset(best_ns, 0, m->class_count * sizeof *best_ns);
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        uint32_t best = 0;
        while (best + 1 < m->class_count &&
               view->time_ns[(size_t)t * m->class_count + best] > view->best_ns[t]) {
            best++;
        }
        best_ns[best] += view->best_ns[t];
    }
    for (uint32_t c = 0; c < m->class_count; c++) {
        most = fmax(most, best_ns[c] / m->classes[c].device_count);
    }
    return fmax(most, j->isolated_ns);
}

/* 0: it is not known, since the task's times were not measured. */
static double spread(const struct sy_view *view, uint32_t task) {
    uint32_t classes = view->machine->class_count;
    const double *sigma = &view->log_sigma[(size_t)view->task_kernel[task] * classes];
    double most = 0;
    for (uint32_t c = 0; c < classes; c++) {
        most = fmax(most, sigma[c]);
    }
    return most;
}

double sy_plan_spread(const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    double most = 0;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        most = fmax(most, spread(view, t));
    }
    return most;
}

/* A core that takes over a GPU's task for half of the job frees the GPU for next to nothing, and
 * holds all up if it is late: where times spread such are not planned. */
const double *sy_plan_times(const struct sy_view *view, uint32_t job, double *best_ns,
                            double *time_ns) {
    const struct sy_view_job *j = &view->jobs[job];
    uint32_t classes = view->machine->class_count;
    double limit_ns = RISKY_SHARE * fast_ns(view, job, best_ns);
    bool risky = false;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        const double *times = &view->time_ns[(size_t)t * classes];
        double most_ns = spread(view, t) > 0 ? fmax(limit_ns, RISKY * view->best_ns[t]) : INFINITY;
        for (uint32_t c = 0; c < classes; c++) {
            bool leave_out = times[c] > most_ns;
            risky = risky || (leave_out && isfinite(times[c]));
            time_ns[(size_t)t * classes + c] = leave_out ? INFINITY : times[c];
        }
    }
    return risky ? time_ns : view->time_ns;
}
