/* SPDX-License-Identifier: Apache-2.0
 *
 * A world that begins where the real one stands, as far as a view tells; see rehearsal.h.
 */
#include "schedulers/rehearsal.h"
#include <errno.h>

#define DATA_PER_TASK   4  /* data that a task brings, at most; jobs with more are not rehearsed */
#define ACCESS_PER_TASK 24 /* likewise accesses, on average */
#define MORE            1024 /* of both, whatever the number of tasks */
#define FETCHES         1024 /* copies under way ahead of any commitment */

int sy_rehearsal_init(struct rehearsal *r, struct sy_arena *arena, const struct sy_view *view) {
    r->data_capacity = DATA_PER_TASK * view->task_capacity + MORE;
    r->access_capacity = ACCESS_PER_TASK * view->task_capacity + MORE;
    struct sy_world_options options = {.shared = view->shared_links,
                                       .task_capacity = view->task_capacity,
                                       .data_capacity = r->data_capacity,
                                       .access_capacity = r->access_capacity,
                                       .job_capacity = view->job_capacity,
                                       .copy_capacity = r->access_capacity + FETCHES,
                                       .fetched_limit = FETCHES};
    return sy_world_init(&r->world, arena, view->machine, &options);
}

void sy_rehearsal_finish(struct rehearsal *r) {
    sy_world_finish(&r->world);
}

/* A job of this one task: it ends some time, and nothing follows. */
static bool may_stay(const struct rehearsal *r, const struct sy_view *view, uint32_t task) {
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        if (view->access[a].datum >= r->data_capacity) {
            return false;
        }
    }
    return view->jobs[view->task_job[task]].task_count == 1;
}

bool sy_rehearsal_fits(const struct rehearsal *r, const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    uint32_t first = view->access_start[j->first_task];
    uint32_t end = view->access_start[j->first_task + j->task_count];
    if (r->failed || !r->world.machine || end - first > r->access_capacity) {
        return false;
    }
    for (uint32_t a = first; a < end; a++) {
        if (view->access[a].datum >= r->data_capacity) {
            return false;
        }
    }
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        uint32_t running = view->devices[d].running;
        if (view->devices[d].suspended ||
            (running != SY_NONE && view->task_job[running] != job && !may_stay(r, view, running))) {
            return false;
        }
    }
    return true;
}

/* What is on its way counts as there: a view does not say when it will be. */
static void begin_data(struct sy_world *w, const struct sy_view *view, uint32_t task) {
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        uint32_t datum = view->access[a].datum;
        w->data_valid[datum] = view->data_valid[datum] | view->data_inflight[datum];
        w->data_inflight[datum] = 0;
        w->data_copies[datum] = SY_NONE;
    }
}

static void begin_task(struct rehearsal *r, const struct sy_view *view, uint32_t task) {
    struct sy_world *w = &r->world;
    uint32_t device = view->task_device[task], pending = 0;
    for (uint32_t e = view->pred_start[task]; e < view->pred_start[task + 1]; e++) {
        pending += view->task_state[view->pred[e]] != SY_TASK_DONE;
    }
    w->task_state[task] = view->task_state[task];
    w->task_device[task] = device;
    w->task_pending[task] = pending;
    if (device != SY_NONE) {
        w->task_priority[task] = r->committed ? r->committed[task] : 0;
        w->task_expected_ns[task] =
            r->promised_ns ? r->promised_ns[task] : sy_estimate_time_ns(view, task, device);
    }
    begin_data(w, view, task);
}

/* What runs goes on: as predicted, and longer if it is late already. The view does not say whether
 * its inputs or its image are still on their way. */
static void begin_device(struct rehearsal *r, const struct sy_view *view, uint32_t device) {
    struct sy_view_device *v = &r->world.view_devices[device];
    *v = view->devices[device];
    v->queue_length = 0;
    v->queued_ns = 0;
    if (v->running == SY_NONE) {
        return;
    }
    if (view->machine->devices[device].board != SY_NONE) {
        v->image = view->task_kernel[v->running];
    }
    double left_ns = sy_estimate_end_ns(view, device) - view->now_ns;
    r->world.task_expected_ns[v->running] = sy_estimate_time_ns(view, v->running, device);
    sy_world_resume(&r->world, device, left_ns * (r->factor ? r->factor[v->running] : 1));
}

static void begin(struct rehearsal *r, const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    struct sy_world *w = &r->world;
    sy_world_see(w, view);
    w->task_factor = r->factor;
    sy_world_clear(w);
    w->access_first = view->access_start[j->first_task];
    w->jobs[job] = *j;
    w->jobs[job].tasks_left = 0;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        begin_task(r, view, t);
        w->jobs[job].tasks_left += view->task_state[t] != SY_TASK_DONE;
    }
    w->jobs_left = w->jobs[job].tasks_left > 0;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        uint32_t running = view->devices[d].running, other;
        if (running != SY_NONE && (other = view->task_job[running]) != job) {
            begin_task(r, view, running);
            w->jobs[other] = view->jobs[other];
            w->jobs[other].tasks_left = 2; /* it does not end here: nobody is told that it leaves */
        }
        begin_device(r, view, d);
    }
}

double sy_rehearsal_run(struct rehearsal *r, const struct sy_view *view, uint32_t job,
                        struct sy_scheduler *policy) {
    struct sy_world *w = &r->world;
    w->policy = policy;
    begin(r, view, job);
    sy_world_arrive(w, job); /* it is told as if the job came now */
    sy_world_ask(w);
    uint32_t tasks = w->jobs[job].tasks_left;
    uint32_t stop = r->task_limit && r->task_limit < tasks ? tasks - r->task_limit : 0;
    while (w->jobs_left && w->jobs[job].tasks_left > stop) {
        if (w->failure || !sy_world_step(w)) {
            r->failed = true; /* what the policy still holds would spoil the next time */
            return INFINITY;
        }
    }
    if (w->jobs_left && policy->ops->job_left) {
        policy->ops->job_left(policy, &w->view, job);
    }
    return w->view.now_ns;
}

double sy_rehearsal_whole_over_ended(const struct rehearsal *r, const struct sy_view *view,
                                     uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    double ended_ns = 0, whole_ns = 0;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        ended_ns += r->world.task_state[t] == SY_TASK_DONE ? view->best_ns[t] : 0;
        whole_ns += view->best_ns[t];
    }
    return whole_ns / fmax(ended_ns, 1);
}

double sy_rehearsal_as_late_ns(const struct rehearsal *r, const struct sy_view *view, uint32_t job,
                               const double *planned_end_ns) {
    const struct sy_view_job *j = &view->jobs[job];
    double ended_ns = 0, planned_ns = 0, last_ns = 0;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        if (sy_draft_settled(view, t)) {
            continue;
        }
        last_ns = fmax(last_ns, planned_end_ns[t] - view->now_ns);
        if (r->world.task_state[t] == SY_TASK_DONE) {
            ended_ns += r->world.end_ns[t] - view->now_ns;
            planned_ns += planned_end_ns[t] - view->now_ns;
        }
    }
    return view->now_ns + last_ns * ended_ns / fmax(planned_ns, 1);
}
