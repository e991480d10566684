/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy learned: late binding, corrected by a small network; its features, and their sum; see
 * learned.h. A pair of task and device costs a few multiplications.
 */
#include "schedulers/late_binding.h"
#include <errno.h>

int sy_learned_init(struct learned *n, const struct policy *policy, const struct sy_view *view) {
    n->block = policy->weights->block;
    n->out_ns = sy_arena_alloc(policy->arena, view->task_capacity + 1u, sizeof *n->out_ns);
    return n->out_ns ? 0 : -ENOMEM;
}

void sy_learned_task_ready(struct learned *n, const struct policy *policy,
                           const struct sy_view *view, uint32_t task) {
    double out_ns = 0;
    for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
        out_ns += sy_rank_edge_ns(policy, view, task, view->succ[e]);
    }
    n->out_ns[task] = (float)out_ns;
}

void sy_learned_look(struct learned *n, const struct sy_view *view, uint32_t ready_tasks,
                     uint32_t jobs) {
    bool meet = jobs > 1;
    n->load = meet ? ready_tasks / (ready_tasks + (double)view->machine->device_count) : 0;
    for (uint32_t i = 0; i < LEARNED_FEATURES; i++) {
        const float *weight = n->block + i;
        n->weights[i] = meet ? weight[0] + (float)n->load * weight[LEARNED_FEATURES] : 0;
    }
}

/* Tasks may take no time at all: 1 ns is the least in any ratio. */
float sy_learned_slower(const struct sy_view *view, uint32_t task, double alone_ns) {
    return (float)(1 - fmax(view->best_ns[task], 1) / fmax(alone_ns, 1));
}

float sy_learned_device(const struct learned *n, enum sy_device_kind kind, uint32_t held) {
    float more = n->weights[LEARNED_HELD] * (float)held / 4;
    switch (kind) {
    case SY_CPU:
        return more + n->weights[LEARNED_CPU];
    case SY_GPU:
        return more + n->weights[LEARNED_GPU];
    case SY_FPGA:
        return more + n->weights[LEARNED_FPGA];
    default:
        return more;
    }
}

double sy_learned_score(const struct learned *n, const struct sy_view *view, uint32_t task,
                        uint32_t device, uint32_t held) {
    float slower = sy_learned_slower(view, task, sy_estimate_time_ns(view, task, device));
    return n->weights[LEARNED_SLOWER] * slower +
           sy_learned_device(n, view->machine->devices[device].kind, held);
}

static int init_learned(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    struct late_mode mode = {.locality = true, .contention = true, .learned = true};
    return sy_late_init(s, view, args, sizeof(struct late), mode);
}

const struct sy_scheduler_ops sy_policy_learned = {
    .name = "learned",
    .summary = "lb-cont+wspt, corrected by a small trained network",
    .needs_readings = true,
    .net = &(const struct sy_policy_net){LEARNED_KIND, LEARNED_SHAPE, LEARNED_COUNT,
                                         SY_PART_GUARD | SY_PART_NET},
    .init = init_learned,
    .finish = sy_policy_finish,
    .job_arrived = sy_late_job_arrived,
    .job_left = sy_late_job_left,
    .task_ready = sy_late_task_ready,
    .task_done = sy_late_task_done,
    .decide = sy_late_decide};
