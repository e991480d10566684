/* SPDX-License-Identifier: Apache-2.0
 *
 * Life of a policy's state, and the orders between jobs that combine with any placement.
 */
#include "schedulers/policy.h"
#include <errno.h>
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

/* The setup's weights before the named ones, those before the shipped ones. */
static int take_args(struct policy *policy, const struct sy_scheduler *scheduler,
                     const char *args) {
    const struct sy_scheduler_ops *ops = scheduler->ops;
    const struct sy_policy_setup *setup = scheduler->setup;
    struct policy_args read;
    int code = sy_policy_args(ops, args, &read, NULL);
    if (code) {
        return code;
    }
    policy->order = read.order;
    policy->argument = read.number;
    policy->without = read.without | (setup ? setup->without : 0);
    if (!ops->weights_kind) {
        return 0;
    }
    if (setup && setup->weights) {
        policy->weights = setup->weights;
        return sy_policy_fits(ops, setup->weights) ? 0 : -EINVAL;
    }
    if (!read.weights) {
        const struct sy_weights *shipped = sy_weights_shipped(ops->weights_kind);
        policy->weights = shipped && sy_policy_fits(ops, shipped) ? shipped : NULL;
        return 0;
    }
    code = sy_policy_weights(ops, &read, &policy->named, NULL);
    policy->weights = code ? NULL : &policy->named;
    return code;
}

/* Mean over ordered pairs of different devices, as HEFT wants its communication costs. */
static void mean_transfer(struct policy *policy, const struct sy_machine *m) {
    uint32_t per_memory[SY_MEMORY_MAX] = {0};
    double pairs = (double)m->device_count * (m->device_count - 1.0);
    for (uint32_t d = 0; d < m->device_count; d++) {
        per_memory[m->devices[d].memory]++;
    }
    for (uint32_t i = 0; i < m->memory_count * m->memory_count && pairs > 0; i++) {
        uint32_t from = i / m->memory_count, to = i % m->memory_count;
        double share = (double)per_memory[from] * per_memory[to] / pairs;
        if (from != to && share > 0) {
            policy->mean_ns_per_byte += share * 1e9 / m->routes[i].bytes_per_s;
            policy->mean_latency_ns += share * m->routes[i].latency_ns;
        }
    }
}

int sy_policy_init(struct sy_scheduler *scheduler, const struct sy_view *view, const char *args,
                   size_t size) {
    struct sy_arena *arena = sy_arena_create();
    struct policy *policy = arena ? sy_arena_alloc(arena, 1, size) : NULL;
    if (!policy) {
        sy_arena_destroy(arena);
        return -ENOMEM;
    }
    policy->arena = arena;
    scheduler->state = policy;
    policy->rng = sy_rng_make(scheduler->seed, 0x706f6c69, 0);
    policy->rank = sy_arena_alloc(arena, view->task_capacity + 1u, sizeof *policy->rank);
    policy->service_ns = sy_arena_alloc(arena, view->job_capacity + 1u, sizeof *policy->service_ns);
    policy->start_tag_ns =
        sy_arena_alloc(arena, view->task_capacity + 1u, sizeof *policy->start_tag_ns);
    policy->share = sy_arena_alloc(arena, view->job_capacity + 1u, sizeof *policy->share);
    policy->scale = scheduler->priority_scale;
    mean_transfer(policy, view->machine);
    bool taken = policy->rank && policy->service_ns && policy->start_tag_ns && policy->share;
    return taken ? take_args(policy, scheduler, args) : -ENOMEM;
}

void sy_policy_finish(struct sy_scheduler *scheduler) {
    struct policy *policy = scheduler->state;
    if (policy) {
        if (policy->weights == &policy->named) {
            sy_weights_close(&policy->named);
        }
        sy_arena_destroy(policy->arena);
        scheduler->state = NULL;
    }
}

int sy_policy_use_drift(struct policy *policy, const struct sy_view *view) {
    size_t count = (size_t)view->kernel_count * view->machine->class_count;
    policy->drift = sy_arena_alloc(policy->arena, count + 1, sizeof *policy->drift);
    for (size_t i = 0; policy->drift && i < count; i++) {
        sy_drift_init(&policy->drift[i]);
    }
    return policy->drift ? 0 : -ENOMEM;
}

void sy_policy_observe(struct policy *policy, const struct sy_view *view, uint32_t task,
                       uint32_t device, double duration_ns) {
    double predicted = sy_estimate_time_ns(view, task, device);
    if (policy->drift && predicted > 0 && duration_ns > 0) {
        const struct sy_machine *m = view->machine;
        size_t at =
            (size_t)view->task_kernel[task] * m->class_count + m->devices[device].class_index;
        sy_drift_observe(&policy->drift[at], duration_ns / predicted);
    }
}

void sy_policy_task_done(struct sy_scheduler *scheduler, const struct sy_view *view, uint32_t task,
                         uint32_t device, double duration_ns) {
    struct policy *policy = scheduler->state;
    sy_policy_observe(policy, view, task, device, duration_ns);
    policy->served_ns = fmax(policy->served_ns, policy->start_tag_ns[task]);
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
