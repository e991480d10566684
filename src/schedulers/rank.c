/* SPDX-License-Identifier: Apache-2.0
 *
 * Upward and downward ranks of HEFT and CPOP (Topcuoglu, Hariri, Wu, TPDS 2002).
 */
#include "schedulers/policy.h"

double sy_rank_mean_time_ns(const struct sy_view *view, uint32_t task) {
    const struct sy_machine *m = view->machine;
    double sum = 0, count = 0;
    for (uint32_t c = 0; c < m->class_count; c++) {
        double time = view->time_ns[(size_t)task * m->class_count + c];
        if (isfinite(time)) {
            sum += time * m->classes[c].device_count;
            count += m->classes[c].device_count;
        }
    }
    return sum / count;
}

double sy_rank_edge_bytes(const struct sy_view *view, uint32_t producer, uint32_t consumer) {
    double bytes = 0;
    for (uint32_t a = view->access_start[consumer]; a < view->access_start[consumer + 1]; a++) {
        if (view->access_producer[a] == producer && (view->access[a].mode & SY_READ)) {
            bytes += view->data_bytes[view->access[a].datum];
        }
    }
    return bytes;
}

double sy_rank_edge_ns(const struct policy *policy, const struct sy_view *view, uint32_t producer,
                       uint32_t consumer) {
    double bytes = sy_rank_edge_bytes(view, producer, consumer);
    return bytes > 0 ? policy->mean_latency_ns + bytes * policy->mean_ns_per_byte : 0;
}

void sy_rank_upward(const struct policy *policy, const struct sy_view *view, uint32_t job,
                    double *ret_rank) {
    const struct sy_view_job *j = &view->jobs[job];
    for (uint32_t i = j->first_task + j->task_count; i-- > j->first_task;) {
        uint32_t task = view->order[i];
        double below = 0;
        for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
            uint32_t next = view->succ[e];
            below = fmax(below, ret_rank[next] + sy_rank_edge_ns(policy, view, task, next));
        }
        ret_rank[task] = sy_rank_mean_time_ns(view, task) + below;
    }
}

void sy_rank_downward(const struct policy *policy, const struct sy_view *view, uint32_t job,
                      double *ret_rank) {
    const struct sy_view_job *j = &view->jobs[job];
    for (uint32_t i = j->first_task; i < j->first_task + j->task_count; i++) {
        uint32_t task = view->order[i];
        ret_rank[task] = 0;
        for (uint32_t e = view->pred_start[task]; e < view->pred_start[task + 1]; e++) {
            uint32_t before = view->pred[e];
            ret_rank[task] =
                fmax(ret_rank[task], ret_rank[before] + sy_rank_mean_time_ns(view, before) +
                                         sy_rank_edge_ns(policy, view, before, task));
        }
    }
}
