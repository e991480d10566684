/* SPDX-License-Identifier: Apache-2.0
 *
 * What late binding knows of a whole job when it is too short to be planned: what must still follow
 * each of its tasks, and whether its tasks crowd the memory.
 *
 * In: a view, a job that has arrived. Out: a row per task. It takes some 50 ns a task.
 */
#include "schedulers/late_binding.h"
#include <string.h>

/* Of a task's least times: to travel for so long is no reason to go elsewhere. */
#define LITTLE 16.0

/* What must travel for a task's sake from a device of one class to another one, where it runs, and
 * from the host's memory; those of one class can be the same device. */
static double travel_ns(const struct sy_view *view, uint32_t task, uint32_t next, uint32_t from,
                        uint32_t to) {
    const struct sy_machine *m = view->machine;
    uint32_t a_memory = m->devices[m->classes[from].first_device].memory;
    uint32_t b_memory = m->devices[m->classes[to].first_device].memory;
    double sum_ns = 0;
    for (uint32_t a = view->access_start[next]; a < view->access_start[next + 1]; a++) {
        uint32_t producer = view->access_producer[a], datum = view->access[a].datum;
        uint64_t valid = producer == SY_NONE              ? view->data_valid[datum]
                         : producer == task && from != to ? UINT64_C(1) << a_memory
                                                          : 0;
        if ((view->access[a].mode & SY_READ) && valid && !(valid >> b_memory & 1)) {
            size_t at = (size_t)__builtin_ctzll(valid) * m->memory_count + b_memory;
            const struct sy_route *route = &m->routes[at]; /* nothing takes its latency, too */
            sum_ns += route->latency_ns + view->data_bytes[datum] / route->bytes_per_s * 1e9;
        }
    }
    return sum_ns;
}

/* What is little beside the task itself is left to late binding, which knows who is busy. */
static void leave_little(const struct sy_view *view, const struct sy_view_job *j,
                         double *behind_ns) {
    uint32_t classes = view->machine->class_count;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        double *row = &behind_ns[(size_t)t * classes], least_ns = row[0];
        for (uint32_t c = 1; c < classes; c++) {
            least_ns = fmin(least_ns, row[c]);
        }
        for (uint32_t c = 0; c < classes; c++) {
            bool little = row[c] - least_ns <= LITTLE * view->best_ns[t];
            row[c] = little ? least_ns : row[c];
        }
    }
}

/* Some device of that class is beside one of the memories. */
static bool is_beside(const struct sy_machine *m, uint32_t class_index, uint64_t memories) {
    uint32_t d = m->classes[class_index].first_device;
    while (d < m->device_count &&
           (m->devices[d].class_index != class_index || !(memories >> m->devices[d].memory & 1))) {
        d++;
    }
    return d < m->device_count;
}

void sy_late_look_behind(const struct sy_view *view, uint32_t job,
                         const struct late_together *together, double *ret_behind_ns) {
    const struct sy_view_job *j = &view->jobs[job];
    const struct sy_machine *m = view->machine;
    uint32_t classes = m->class_count;
    for (uint32_t i = j->first_task + j->task_count; i-- > j->first_task;) {
        uint32_t task = view->order[i];
        double *row = &ret_behind_ns[(size_t)task * classes];
        memset(row, 0, classes * sizeof *row);
        for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
            size_t next = (size_t)view->succ[e] * classes;
            uint64_t memories = together ? together->memories[view->succ[e]] : UINT64_MAX;
            for (uint32_t c = 0; c < classes; c++) {
                double best_ns = INFINITY;
                for (uint32_t q = 0; q < classes; q++) {
                    double ns = ret_behind_ns[next + q] + view->time_ns[next + q];
                    if (ns < best_ns && is_beside(m, q, memories)) {
                        best_ns = fmin(best_ns, ns + travel_ns(view, task, view->succ[e], c, q));
                    }
                }
                row[c] = fmax(row[c], best_ns);
            }
        }
    }
    leave_little(view, j, ret_behind_ns);
}

bool sy_late_crowds(const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    const struct sy_machine *m = view->machine;
    const struct sy_device *core = &m->devices[0];
    double sum_bytes_per_s = 0;
    uint32_t cores = 0;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        size_t at = (size_t)view->task_kernel[t] * m->class_count + core->class_index;
        sum_bytes_per_s += view->demand_bytes_per_s[at];
    }
    struct sy_demand demand;
    sy_cost_demand(m, 0, sum_bytes_per_s / j->task_count, 0, &demand);
    for (uint32_t d = 0; d < m->device_count; d++) {
        cores += m->devices[d].memory == core->memory;
    }
    for (uint32_t i = 0; view->shared_links && i < demand.count; i++) {
        if (demand.bytes_per_s[i] * cores > m->resources[demand.resources[i]].bytes_per_s) {
            return true;
        }
    }
    return false;
}
