/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders between jobs, which combine with any placement: first come, shortest first, fair shares.
 */
#include "schedulers/policy.h"
#include <string.h>

#define WITHIN_JOB 1e-3 /* of the logarithm of a job's key: what a task's own key may add */

static const char *const order_names[] = {"none", "fifo",   "srpt",   "wspt",
                                          "fair", "share0", "share1", "share2"};

const char *sy_order_at(uint32_t index) {
    return index < SY_COUNT(order_names) ? order_names[index] : NULL;
}

bool sy_order_parse(const char *text, size_t length, enum order *ret_order) {
    for (uint32_t i = 0; i < SY_COUNT(order_names); i++) {
        if (strlen(order_names[i]) == length && memcmp(order_names[i], text, length) == 0) {
            *ret_order = (enum order)i;
            return true;
        }
    }
    return false;
}

double sy_order_job_key(const struct policy *policy, const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    double scale = policy->scale ? policy->scale[j->first_task] : 1;
    switch (policy->order) {
    case ORDER_FIFO:
        return -(double)job;
    case ORDER_SRPT:
        return -log((j->work_left_ns + 1) / scale);
    case ORDER_WSPT:
        return -log((j->work_left_ns + 1) * (j->isolated_ns + 1) /
                    (j->weight > 0 ? j->weight * scale : scale));
    case ORDER_FAIR:
    case ORDER_SHARE0:
    case ORDER_SHARE1:
    case ORDER_SHARE2:
        return -policy->service_ns[job];
    default:
        return 0;
    }
}

double sy_order_within_job(const struct sy_view *view, uint32_t job, double key_ns) {
    double ratio = key_ns / fmax(view->jobs[job].isolated_ns, 1);
    return WITHIN_JOB * ratio / (1 + fabs(ratio));
}

double sy_order_priority(const struct policy *policy, const struct sy_view *view, uint32_t task,
                         double key_ns) {
    uint32_t job = view->task_job[task];
    return policy->order == ORDER_NONE
               ? key_ns
               : sy_order_job_key(policy, view, job) + sy_order_within_job(view, job, key_ns);
}

double sy_order_planned(const struct policy *policy, const struct sy_view *view, uint32_t task,
                        double start_ns) {
    double from_ns = policy->order == ORDER_NONE ? 0 : view->jobs[view->task_job[task]].arrive_ns;
    return sy_order_priority(policy, view, task, from_ns - start_ns);
}

/* Whether two jobs are served as one. */
static bool together(const struct policy *policy, const struct sy_view *view, uint32_t a,
                     uint32_t b) {
    return policy->order == ORDER_FAIR ? view->jobs[a].tenant == view->jobs[b].tenant : a == b;
}

static void set_service(struct policy *policy, const struct sy_view *view, uint32_t job,
                        double service_ns) {
    for (uint32_t k = 0; k < view->job_count; k++) {
        if (together(policy, view, k, job)) {
            policy->service_ns[k] = service_ns;
        }
    }
}

void sy_order_arrived(struct policy *policy, const struct sy_view *view, uint32_t job) {
    if (policy->order < ORDER_FAIR) {
        return;
    }
    const struct sy_view_job *j = &view->jobs[job];
    double weight = j->weight > 0 ? j->weight : 1, work_ms = 1e-6 * (j->work_left_ns + 1);
    double service_ns = policy->served_ns;
    policy->share[job] = policy->order == ORDER_SHARE1   ? weight / work_ms
                         : policy->order == ORDER_SHARE2 ? weight / (work_ms * work_ms)
                                                         : weight;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        uint32_t running = view->devices[d].running;
        if (running != SY_NONE) {
            service_ns = fmax(service_ns, policy->start_tag_ns[running]);
        }
    }
    for (uint32_t k = 0; k < job; k++) {
        if (together(policy, view, k, job)) {
            service_ns = fmax(service_ns, policy->service_ns[k]);
        }
    }
    set_service(policy, view, job, service_ns);
}

void sy_order_charge(struct policy *policy, const struct sy_view *view, uint32_t task,
                     double expected_ns) {
    if (policy->order < ORDER_FAIR) {
        return;
    }
    uint32_t job = view->task_job[task];
    policy->start_tag_ns[task] = policy->service_ns[job];
    set_service(policy, view, job, policy->service_ns[job] + expected_ns / policy->share[job]);
}
