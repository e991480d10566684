/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimum of a tiny graph by looking at everything: every order, every device.
 *
 * In: workload of at most 9 tasks. Out: the makespan. Written from the definition alone, sharing
 * nothing with the branch and bound that it checks: no pruning, no symmetry, no tables.
 */
#include "enumerate.h"

#include <errno.h>
#include <math.h>

#define TASK_MAX 9u

struct everything {
    const struct sy_workload *workload;
    bool placed[TASK_MAX];
    uint32_t device[TASK_MAX];
    double end_ns[TASK_MAX];
    double best_ns;
};

static double copy_ns(const struct sy_machine *machine, uint32_t from, uint32_t to, double bytes) {
    const struct sy_route *route = &machine->routes[from * machine->memory_count + to];
    if (from == to || bytes <= 0) {
        return 0;
    }
    return route->bytes_per_s > 0 ? route->latency_ns + bytes / route->bytes_per_s * 1e9 : INFINITY;
}

static double from_home_ns(const struct sy_workload *workload, uint32_t datum, uint32_t to) {
    double soonest = INFINITY;
    for (uint32_t m = 0; m < workload->machine->memory_count; m++) {
        if (workload->data_home[datum] & (UINT64_C(1) << m)) {
            double copy = copy_ns(workload->machine, m, to, workload->data_bytes[datum]);
            soonest = copy < soonest ? copy : soonest;
        }
    }
    return workload->data_home[datum] == 0 ? 0 : soonest;
}

static double access_arrival_ns(const struct everything *all, uint32_t task, uint32_t access,
                                uint32_t to) {
    const struct sy_workload *workload = all->workload;
    uint32_t datum = workload->access[access].datum;
    uint32_t producer = workload->access_producer[access];
    if (producer == SY_NONE) {
        return workload->jobs[workload->task_job[task]].arrive_ns +
               from_home_ns(workload, datum, to);
    }
    uint32_t from = workload->machine->devices[all->device[producer]].memory;
    return all->end_ns[producer] +
           copy_ns(workload->machine, from, to, workload->data_bytes[datum]);
}

static double earliest_ns(const struct everything *all, uint32_t task, uint32_t device) {
    const struct sy_workload *workload = all->workload;
    uint32_t memory = workload->machine->devices[device].memory;
    double start = workload->jobs[workload->task_job[task]].arrive_ns;
    for (uint32_t t = 0; t < workload->task_count; t++) {
        if (all->placed[t] && all->device[t] == device) {
            start = fmax(start, all->end_ns[t]);
        }
    }
    for (uint32_t e = workload->pred_start[task]; e < workload->pred_start[task + 1]; e++) {
        start = fmax(start, all->end_ns[workload->pred[e]]);
    }
    for (uint32_t a = workload->access_start[task]; a < workload->access_start[task + 1]; a++) {
        if (workload->access[a].mode & SY_READ) {
            start = fmax(start, access_arrival_ns(all, task, a, memory));
        }
    }
    return start;
}

static bool is_ready(const struct everything *all, uint32_t task) {
    const struct sy_workload *workload = all->workload;
    if (all->placed[task]) {
        return false;
    }
    for (uint32_t e = workload->pred_start[task]; e < workload->pred_start[task + 1]; e++) {
        if (!all->placed[workload->pred[e]]) {
            return false;
        }
    }
    return true;
}

static void place_rest(struct everything *all, uint32_t placed_count, double makespan_ns) {
    const struct sy_workload *workload = all->workload;
    if (placed_count == workload->task_count) {
        all->best_ns = fmin(all->best_ns, makespan_ns);
        return;
    }
    for (uint32_t task = 0; task < workload->task_count; task++) {
        if (!is_ready(all, task)) {
            continue;
        }
        for (uint32_t device = 0; device < workload->machine->device_count; device++) {
            uint32_t class_index = workload->machine->devices[device].class_index;
            double time = workload->time_ns[task * workload->class_count + class_index];
            double end = earliest_ns(all, task, device) + time;
            all->placed[task] = true;
            all->device[task] = device;
            all->end_ns[task] = end;
            place_rest(all, placed_count + 1, fmax(makespan_ns, end));
            all->placed[task] = false;
        }
    }
}

int enumerate_optimum(const struct sy_workload *workload, double *ret_makespan_ns) {
    if (workload->task_count > TASK_MAX) {
        return -E2BIG;
    }
    struct everything all = {.workload = workload, .best_ns = INFINITY};
    place_rest(&all, 0, 0);
    *ret_makespan_ns = all.best_ns;
    return 0;
}
