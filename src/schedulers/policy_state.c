/* SPDX-License-Identifier: Apache-2.0
 *
 * The state that every policy begins with: made from the view and from what stands behind the name,
 * told of tasks that end, and freed.
 */
#include "schedulers/policy.h"
#include <errno.h>

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
    if (!ops->net) {
        return 0;
    }
    if (setup && setup->weights) {
        policy->weights = setup->weights;
        return sy_policy_fits(ops, setup->weights) ? 0 : -EINVAL;
    }
    if (!read.weights) {
        const struct sy_weights *shipped = sy_weights_shipped(ops->net->kind);
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
    policy->scale = scheduler->setup ? scheduler->setup->scale : NULL;
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
