/* SPDX-License-Identifier: Apache-2.0
 *
 * When would it be done there? Queue, data, execution and reconfiguration terms of a finish time.
 */
#include "schedulers/policy.h"

double sy_estimate_free_ns(const struct sy_view *view, uint32_t device) {
    const struct sy_view_device *d = &view->devices[device];
    if (d->lost) {
        return INFINITY;
    }
    double free_ns = view->now_ns;
    if (d->running != SY_NONE && d->running_end_ns > free_ns) {
        free_ns = d->running_end_ns;
    }
    return free_ns + d->queued_ns;
}

double sy_estimate_end_ns(const struct sy_view *view, uint32_t device) {
    const struct sy_view_device *d = &view->devices[device];
    if (d->running == SY_NONE) {
        return view->now_ns;
    }
    double late_ns = view->now_ns - d->running_end_ns;
    if (late_ns <= 0) {
        return d->running_end_ns;
    }
    double own_ns = sy_estimate_time_ns(view, d->running, device);
    return view->now_ns + sy_cost_still_ns(own_ns, late_ns);
}

static double route_bytes_per_s(const struct sy_route *route, const double *open_bytes_per_s) {
    double least = route->bytes_per_s;
    for (uint32_t k = 0; open_bytes_per_s && k < route->resource_count; k++) {
        double open = open_bytes_per_s[route->resources[k]];
        least = open < least ? open : least;
    }
    return least;
}

static double copy_ns(const struct sy_view *view, uint32_t datum, uint32_t memory,
                      const double *open_bytes_per_s) {
    const struct sy_machine *m = view->machine;
    double best = INFINITY;
    for (uint64_t rest = view->data_valid[datum]; rest; rest &= rest - 1) {
        size_t from = (size_t)__builtin_ctzll(rest);
        const struct sy_route *route = &m->routes[from * m->memory_count + memory];
        double bytes_per_s = route_bytes_per_s(route, open_bytes_per_s);
        double ns = route->latency_ns + view->data_bytes[datum] / bytes_per_s * 1e9;
        best = ns < best ? ns : best;
    }
    /* On its way already: half of it is, on average, behind us. */
    return view->data_inflight[datum] >> memory & 1 ? best / 2 : best;
}

double sy_estimate_inputs_ns(const struct sy_view *view, uint32_t task, uint32_t memory,
                             const double *open_bytes_per_s) {
    double sum = 0, longest = 0;
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        uint32_t datum = view->access[a].datum;
        if ((view->access[a].mode & SY_READ) && !(view->data_valid[datum] >> memory & 1) &&
            view->data_valid[datum]) {
            double ns = copy_ns(view, datum, memory, open_bytes_per_s);
            sum += ns;
            longest = ns > longest ? ns : longest;
        }
    }
    return view->shared_links ? sum : longest;
}

double sy_estimate_unsent_input_ns(const struct sy_view *view, uint32_t access, uint32_t memory) {
    uint32_t datum = view->access[access].datum, producer = view->access_producer[access];
    uint64_t there = view->data_valid[datum] | view->data_inflight[datum];
    bool exists = producer == SY_NONE || view->task_state[producer] == SY_TASK_DONE;
    bool unsent = (view->access[access].mode & SY_READ) && exists && view->data_valid[datum] &&
                  !(there >> memory & 1);
    return unsent ? copy_ns(view, datum, memory, NULL) : 0;
}

double sy_estimate_unsent_ns(const struct sy_view *view, uint32_t task, uint32_t memory) {
    double sum = 0;
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        sum += sy_estimate_unsent_input_ns(view, a, memory);
    }
    return sum;
}

double sy_estimate_exec_ns(const struct policy *policy, const struct sy_view *view, uint32_t task,
                           uint32_t device) {
    const struct sy_machine *m = view->machine;
    const struct sy_device *self = &m->devices[device];
    uint32_t kernel = view->task_kernel[task];
    double ns = sy_estimate_time_ns(view, task, device);
    if (policy->drift) {
        size_t at = (size_t)kernel * m->class_count + self->class_index;
        ns *= sy_drift_ratio(&policy->drift[at]);
    }
    if (self->board != SY_NONE) {
        const struct sy_view_device *d = &view->devices[device];
        bool busy = d->queue_length || d->running != SY_NONE;
        if ((busy ? d->last_image : d->image) != kernel) {
            ns += view->image_ns[(size_t)kernel * m->board_count + self->board];
        }
    }
    return ns;
}

struct sy_choice sy_estimate_earliest(const struct policy *policy, const struct sy_view *view,
                                      uint32_t task) {
    const struct sy_machine *m = view->machine;
    struct sy_choice best = {SY_NONE, INFINITY, 0};
    uint32_t memory = SY_NONE;
    double inputs_ns = 0;
    for (uint32_t d = 0; d < m->device_count; d++) {
        if (!isfinite(sy_estimate_time_ns(view, task, d))) {
            continue;
        }
        if (m->devices[d].memory != memory) { /* neighbours mostly share theirs */
            memory = m->devices[d].memory;
            inputs_ns = view->now_ns + sy_estimate_inputs_ns(view, task, memory, NULL);
        }
        double exec_ns = sy_estimate_exec_ns(policy, view, task, d);
        double free_ns = sy_estimate_free_ns(view, d);
        double finish_ns = (free_ns > inputs_ns ? free_ns : inputs_ns) + exec_ns;
        if (finish_ns < best.finish_ns) {
            best = (struct sy_choice){d, finish_ns, exec_ns};
        }
    }
    return best;
}
