/* SPDX-License-Identifier: Apache-2.0
 *
 * The annealer as a policy: each job is planned by a long search when it arrives, and the plan is
 * committed as it stands. For best-known values on known times, not for use: it plans for
 * milliseconds to minutes and, alone among the policies, allocates while it does. The argument is
 * the number of iterations ("anneal:20000"), 2,000 if none is given.
 */
#include "bounds/bounds.h"
#include "schedulers/policy.h"
#include <errno.h>
#include <string.h>

struct anneal {
    struct policy base;
    uint32_t *device, *emit, *scratch;
    double *start_ns, *end_ns;
    uint32_t emit_count, emit_next;
    struct pool ready; /* what could not be planned, or came back from a lost device */
};

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    int code = sy_policy_init(s, view, args, sizeof(struct anneal));
    if (code) {
        return code;
    }
    struct anneal *a = s->state;
    size_t tasks = view->task_capacity + 1u;
    a->device = sy_arena_alloc(a->base.arena, tasks, sizeof *a->device);
    a->emit = sy_arena_alloc(a->base.arena, tasks, sizeof *a->emit);
    a->scratch = sy_arena_alloc(a->base.arena, tasks, sizeof *a->scratch);
    a->start_ns = sy_arena_alloc(a->base.arena, tasks, sizeof *a->start_ns);
    a->end_ns = sy_arena_alloc(a->base.arena, tasks, sizeof *a->end_ns);
    bool taken = a->device && a->emit && a->scratch && a->start_ns && a->end_ns;
    return taken ? sy_pool_init(&a->ready, &a->base, view) : -ENOMEM;
}

/* Edges of the job's tasks, renumbered from 0. */
static bool slice_edges(struct sy_arena *arena, const uint32_t *start, const uint32_t *end,
                        uint32_t first, uint32_t count, uint32_t **ret_start, uint32_t **ret_end) {
    uint32_t base = start[first], edges = start[first + count] - base;
    *ret_start = sy_arena_alloc(arena, count + 1u, sizeof **ret_start);
    *ret_end = sy_arena_alloc(arena, edges + 1u, sizeof **ret_end);
    if (!*ret_start || !*ret_end) {
        return false;
    }
    for (uint32_t t = 0; t <= count; t++) {
        (*ret_start)[t] = start[first + t] - base;
    }
    for (uint32_t e = 0; e < edges; e++) {
        (*ret_end)[e] = end[base + e] - first;
    }
    return true;
}

static bool slice_accesses(struct sy_arena *arena, const struct sy_view *view, uint32_t first,
                           struct sy_workload *w) {
    uint32_t base = view->access_start[first];
    w->access_count = view->access_start[first + w->task_count] - base;
    w->access_start = sy_arena_alloc(arena, w->task_count + 1u, sizeof *w->access_start);
    w->access_producer = sy_arena_alloc(arena, w->access_count + 1u, sizeof *w->access_producer);
    w->order = sy_arena_alloc(arena, w->task_count + 1u, sizeof *w->order);
    if (!w->access_start || !w->access_producer || !w->order) {
        return false;
    }
    for (uint32_t t = 0; t <= w->task_count; t++) {
        w->access_start[t] = view->access_start[first + t] - base;
    }
    for (uint32_t a = 0; a < w->access_count; a++) {
        uint32_t producer = view->access_producer[base + a];
        w->access_producer[a] = producer == SY_NONE ? SY_NONE : producer - first;
    }
    for (uint32_t t = 0; t < w->task_count; t++) {
        w->order[t] = view->order[first + t] - first;
    }
    return true;
}

/* One job of the view as a workload of its own; large constant arrays are shared, not copied. */
static bool slice(struct sy_arena *arena, const struct sy_view *view, uint32_t job,
                  struct sy_workload *w) {
    uint32_t first = view->jobs[job].first_task, count = view->jobs[job].task_count;
    *w = (struct sy_workload){.machine = view->machine,
                              .job_count = 1,
                              .task_count = count,
                              .class_count = view->machine->class_count,
                              .kernel_count = view->kernel_count};
    w->access = (struct sy_access *)(uintptr_t)(view->access + view->access_start[first]);
    w->time_ns = (double *)(uintptr_t)(view->time_ns + (size_t)first * w->class_count);
    w->best_ns = (double *)(uintptr_t)(view->best_ns + first);
    w->data_bytes = (double *)(uintptr_t)view->data_bytes;
    w->data_home = (uint64_t *)(uintptr_t)view->data_valid;
    w->task_kernel = (uint32_t *)(uintptr_t)(view->task_kernel + first);
    w->jobs = sy_arena_alloc(arena, 1, sizeof *w->jobs);
    w->job_first_task = sy_arena_alloc(arena, 2, sizeof *w->job_first_task);
    w->task_job = sy_arena_alloc(arena, count + 1u, sizeof *w->task_job);
    w->image_ns = (double *)(uintptr_t)view->image_ns;
    if (!w->jobs || !w->job_first_task || !w->task_job) {
        return false;
    }
    w->job_first_task[1] = count;
    return slice_edges(arena, view->succ_start, view->succ, first, count, &w->succ_start,
                       &w->succ) &&
           slice_edges(arena, view->pred_start, view->pred, first, count, &w->pred_start,
                       &w->pred) &&
           slice_accesses(arena, view, first, w);
}

static void adopt_plan(struct anneal *a, const struct sy_view *view, uint32_t job,
                       const struct sy_schedule *plan) {
    uint32_t first = view->jobs[job].first_task;
    for (uint32_t i = 0; i < plan->task_count; i++) {
        uint32_t task = view->order[first + i];
        a->device[task] = plan->device[task - first];
        a->start_ns[task] = view->now_ns + plan->start_ns[task - first];
        a->end_ns[task] = view->now_ns + plan->end_ns[task - first];
        a->emit[a->emit_count++] = task;
    }
    uint32_t *planned = a->emit + a->emit_count - plan->task_count;
    sy_draft_sort(planned, plan->task_count, a->start_ns, a->end_ns, a->scratch);
}

static void job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct anneal *a = s->state;
    struct sy_arena *arena = sy_arena_create();
    struct sy_workload w;
    struct sy_schedule plan = {0};
    uint64_t rounds = a->base.argument ? a->base.argument : 2000;
    if (a->emit_next == a->emit_count) {
        a->emit_next = a->emit_count = 0;
    }
    sy_order_arrived(&a->base, view, job);
    if (arena && slice(arena, view, job, &w) && sy_schedule_init(&plan, w.task_count) == 0 &&
        sy_bound_anneal(&w, s->seed, rounds, NULL, &plan) == 0) {
        adopt_plan(a, view, job, &plan);
    }
    if (a->base.order != ORDER_NONE) {
        a->emit_count = a->emit_next; /* committed one by one, when ready */
    }
    sy_schedule_finish(&plan);
    sy_arena_destroy(arena);
}

static void task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct anneal *a = s->state;
    sy_pool_push(&a->ready, view, task, -a->start_ns[task]);
}

/* To its planned device, or by earliest finish if it has none or that is lost. 0: to none. */
static uint32_t commit_ready(const struct anneal *a, const struct sy_view *view, uint32_t task,
                             struct sy_decision *ret) {
    struct sy_choice choice = {a->device[task], 0, 0};
    choice.exec_ns = sy_estimate_time_ns(view, task, choice.device);
    if (view->devices[choice.device].lost || !isfinite(choice.exec_ns)) {
        choice = sy_estimate_earliest(&a->base, view, task);
    }
    if (choice.device == SY_NONE) {
        return 0;
    }
    *ret =
        (struct sy_decision){.kind = SY_RUN,
                             .task = task,
                             .device = choice.device,
                             .priority = sy_order_planned(&a->base, view, task, a->start_ns[task]),
                             .expected_ns = choice.exec_ns};
    return 1;
}

static uint32_t decide(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                       uint32_t capacity) {
    struct anneal *a = s->state;
    uint32_t count = 0, task;
    while (count < capacity && a->emit_next < a->emit_count) {
        task = a->emit[a->emit_next++];
        if (!view->devices[a->device[task]].lost && sy_task_open(view, task)) {
            ret[count++] = (struct sy_decision){
                .kind = SY_RUN,
                .task = task,
                .device = a->device[task],
                .priority = -a->start_ns[task],
                .expected_ns = sy_estimate_time_ns(view, task, a->device[task])};
        }
    }
    while (!count && (task = sy_pool_peek(&a->ready, &a->base, view)) != SY_NONE) {
        if (view->task_device[task] == SY_NONE && !(count = commit_ready(a, view, task, ret))) {
            return 0;
        }
        sy_pool_pop(&a->ready, &a->base, view);
        if (count) {
            sy_order_charge(&a->base, view, task, ret->expected_ns);
        }
    }
    return count;
}

const struct sy_scheduler_ops sy_policy_anneal = {
    .name = "anneal",
    .summary = "plans each job by simulated annealing (offline)",
    .takes_number = true,
    .init = init,
    .finish = sy_policy_finish,
    .job_arrived = job_arrived,
    .task_ready = task_ready,
    .task_done = sy_policy_task_done,
    .decide = decide,
};
