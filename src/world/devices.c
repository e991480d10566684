/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices at work: a committed task waits in its device's queue, stalls until its inputs are there,
 * has its image put into an FPGA region if another one is resident, executes, and releases its
 * successors. A core that is told to puts aside what executes for another task, and goes on with it
 * afterwards. Invariant: a device does one thing at a time.
 */
#include "world/inside.h"

/* What a task that was pushed aside needs more: what it had in caches is gone. A model. */
#define ASIDE_NS 20e3

static void span(struct sy_world *w, enum sy_span_kind kind, uint32_t subject, uint32_t device,
                 double start_ns) {
    if (w->hooks.span) {
        w->hooks.span(w->driver, &(struct sy_span){.start_ns = start_ns,
                                                   .end_ns = world_now(w),
                                                   .kind = kind,
                                                   .subject = subject,
                                                   .place = device,
                                                   .from = SY_NONE});
    }
}

double sy_world_work_ns(const struct sy_world *w, uint32_t task, uint32_t device) {
    uint32_t class_index = w->machine->devices[device].class_index;
    uint32_t classes = w->machine->class_count;
    double ns = w->view.time_ns[(size_t)task * classes + class_index];
    if (w->task_factor) {
        ns *= w->task_factor[task];
    }
    if (w->kernel_factor) {
        ns *= w->kernel_factor[(size_t)w->view.task_kernel[task] * classes + class_index];
    }
    if (w->view.slowdown) {
        size_t kernel = w->view.task_kernel[task];
        ns *= w->view.slowdown[kernel * w->machine->device_count + device];
    }
    return ns;
}

/* One at a time: what pushed another aside ends before a third comes. */
static void see_preemptible(struct sy_world *w, uint32_t device) {
    const struct sy_world_device *d = &w->devices[device];
    w->view_devices[device].preemptible =
        w->preempts && w->machine->devices[device].kind == SY_CPU &&
        d->phase == SY_PHASE_EXECUTING && d->aside == SY_NONE && d->pusher == SY_NONE;
}

static void execute(struct sy_world *w, uint32_t device, double work_ns) {
    struct sy_world_device *d = &w->devices[device];
    d->phase = SY_PHASE_EXECUTING;
    d->phase_start_ns = world_now(w);
    w->live_events++;
    see_preemptible(w, device);
    sy_world_start_task(w, device, work_ns);
}

static void execute_running(struct sy_world *w, uint32_t device) {
    w->devices[device].ran_ns = 0;
    execute(w, device, sy_world_work_ns(w, w->view_devices[device].running, device));
}

void sy_world_resume(struct sy_world *w, uint32_t device, double work_left_ns) {
    w->begin_ns[w->view_devices[device].running] = world_now(w);
    w->devices[device].ran_ns = 0;
    execute(w, device, work_left_ns);
}

static void begin_configuring(struct sy_world *w, uint32_t device, uint32_t kernel) {
    const struct sy_machine *m = w->machine;
    uint32_t board = m->devices[device].board;
    struct sy_world_device *d = &w->devices[device];
    w->boards[board].busy = true;
    d->phase = SY_PHASE_CONFIGURING;
    d->phase_start_ns = world_now(w);
    w->live_events++;
    w->reconfigure_count++;
    sy_heap_set(&w->events, device,
                world_now(w) + w->view.image_ns[(size_t)kernel * m->board_count + board]);
}

static uint32_t wanted_kernel(const struct sy_world *w, uint32_t device) {
    uint32_t pending = w->devices[device].pending_kernel;
    return pending != SY_NONE ? pending : w->view.task_kernel[w->view_devices[device].running];
}

static void want_port(struct sy_world *w, uint32_t device) {
    struct sy_world_board *board = &w->boards[w->machine->devices[device].board];
    struct sy_world_device *d = &w->devices[device];
    if (!board->busy) {
        begin_configuring(w, device, wanted_kernel(w, device));
        return;
    }
    d->phase = SY_PHASE_PORT_WAIT;
    d->port_next = SY_NONE;
    if (board->last_waiting == SY_NONE) {
        board->first_waiting = device;
    } else {
        w->devices[board->last_waiting].port_next = device;
    }
    board->last_waiting = device;
}

static void free_port(struct sy_world *w, uint32_t board_index) {
    struct sy_world_board *board = &w->boards[board_index];
    uint32_t next = board->first_waiting;
    board->busy = false;
    if (next == SY_NONE) {
        return;
    }
    board->first_waiting = w->devices[next].port_next;
    if (board->first_waiting == SY_NONE) {
        board->last_waiting = SY_NONE;
    }
    begin_configuring(w, next, wanted_kernel(w, next));
}

/* Inputs are there: configure if another image is resident, else run. */
static void proceed(struct sy_world *w, uint32_t device) {
    struct sy_world_device *d = &w->devices[device];
    struct sy_view_device *v = &w->view_devices[device];
    if (d->phase == SY_PHASE_STALLED) {
        d->stall_ns = world_now(w) - d->phase_start_ns;
        if (d->stall_ns > 0) {
            span(w, SY_SPAN_STALL, v->running, device, d->phase_start_ns);
        }
        v->running_end_ns = world_now(w) + w->task_expected_ns[v->running];
    }
    w->begin_ns[v->running] = world_now(w);
    if (w->machine->devices[device].board != SY_NONE &&
        v->image != w->view.task_kernel[v->running]) {
        want_port(w, device);
    } else {
        execute_running(w, device);
    }
}

static void try_start(struct sy_world *w, uint32_t device) {
    struct sy_world_device *d = &w->devices[device];
    struct sy_view_device *v = &w->view_devices[device];
    bool holds_aside = d->aside != SY_NONE && d->pusher == SY_NONE; /* that goes on first */
    if (d->phase != SY_PHASE_IDLE || v->lost || d->queue == SY_NONE || holds_aside ||
        w->task_state[d->queue] != SY_TASK_READY) {
        return;
    }
    uint32_t task = d->queue;
    d->queue = sy_queues_pop(&w->queues, task);
    v->queue_length--;
    d->pusher = task == d->pusher ? SY_NONE : d->pusher;
    double queued_ns = v->queued_ns - w->task_expected_ns[task];
    bool more = v->queue_length || v->suspended;
    v->queued_ns = more && queued_ns > 0 ? queued_ns : 0;
    v->running = task;
    v->running_end_ns = world_now(w) + w->task_expected_ns[task];
    w->task_state[task] = SY_TASK_RUNNING;
    w->news = true;
    d->phase_start_ns = world_now(w);
    d->stall_ns = 0;
    if (w->task_missing[task]) {
        d->phase = SY_PHASE_STALLED;
    } else {
        proceed(w, device);
    }
}

/* --- pushing aside ------------------------------------------------------------------------------
 */
static bool can_push(const struct sy_world *w, uint32_t device) {
    const struct sy_world_device *d = &w->devices[device];
    return d->pusher != SY_NONE && d->phase == SY_PHASE_EXECUTING && d->aside == SY_NONE &&
           w->task_state[d->pusher] == SY_TASK_READY && !w->task_missing[d->pusher];
}

/* What was late is as late when it goes on, and until then counts for what such a task still needs:
 * if it seemed to end at once, others would be committed behind it. */
static double aside_expected_ns(const struct sy_world *w, const struct sy_world_device *d) {
    double rest_ns = d->aside_rest_ns - ASIDE_NS;
    return ASIDE_NS +
           (rest_ns >= 0 ? rest_ns : sy_cost_still_ns(w->task_expected_ns[d->aside], -rest_ns));
}

/* What executes waits; the pusher is the first of the queue. */
static void put_aside(struct sy_world *w, uint32_t device) {
    struct sy_world_device *d = &w->devices[device];
    struct sy_view_device *v = &w->view_devices[device];
    d->aside = v->running;
    d->aside_work_ns = sy_world_pause_task(w, device) + ASIDE_NS;
    d->aside_ran_ns = d->ran_ns + world_now(w) - d->phase_start_ns;
    d->aside_rest_ns = v->running_end_ns - world_now(w) + ASIDE_NS;
    w->live_events--;
    if (world_now(w) > d->phase_start_ns) {
        span(w, SY_SPAN_PART, d->aside, device, d->phase_start_ns);
    }
    d->phase = SY_PHASE_IDLE;
    v->running = SY_NONE;
    v->suspended = 1;
    v->queued_ns += aside_expected_ns(w, d);
    try_start(w, device);
}

static void go_on(struct sy_world *w, uint32_t device) {
    struct sy_world_device *d = &w->devices[device];
    struct sy_view_device *v = &w->view_devices[device];
    double queued_ns = v->queued_ns - aside_expected_ns(w, d);
    v->queued_ns = v->queue_length && queued_ns > 0 ? queued_ns : 0;
    v->suspended = 0;
    v->running = d->aside;
    v->running_end_ns = world_now(w) + d->aside_rest_ns;
    d->aside = SY_NONE;
    d->ran_ns = d->aside_ran_ns;
    execute(w, device, d->aside_work_ns);
}

void sy_world_push_aside(struct sy_world *w, uint32_t task, uint32_t device) {
    struct sy_world_device *d = &w->devices[device];
    if (w->view_devices[device].preemptible) { /* it may have ended since that was decided */
        d->pusher = task;
        see_preemptible(w, device);
    }
    sy_world_commit(w, task, device);
    if (can_push(w, device)) {
        put_aside(w, device);
    }
}

void sy_world_inputs_ready(struct sy_world *w, uint32_t task) {
    uint32_t device = w->task_device[task];
    if (w->view_devices[device].running == task) {
        proceed(w, device);
    } else if (w->devices[device].pusher == task && can_push(w, device)) {
        put_aside(w, device);
    }
}

void sy_world_commit(struct sy_world *w, uint32_t task, uint32_t device) {
    struct sy_view_device *v = &w->view_devices[device];
    w->task_device[task] = device;
    v->queue_length++;
    v->queued_ns += w->task_expected_ns[task];
    v->last_image = w->view.task_kernel[task];
    w->devices[device].queue = sy_queues_push(&w->queues, w->devices[device].queue, task);
    sy_world_request_inputs(w, task, w->machine->devices[device].memory);
    try_start(w, device);
}

static void tell_ready(struct sy_world *w, uint32_t task) {
    if (w->policy->ops->task_ready) {
        w->policy->ops->task_ready(w->policy, &w->view, task);
    }
}

void sy_world_arrive(struct sy_world *w, uint32_t job) {
    const struct sy_view_job *j = &w->jobs[job];
    w->news = true;
    if (w->policy->ops->job_arrived) {
        w->policy->ops->job_arrived(w->policy, &w->view, job);
    }
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        if (w->task_state[t] > SY_TASK_READY) {
            continue;
        }
        w->task_state[t] = w->task_pending[t] ? SY_TASK_WAITING : SY_TASK_READY;
        if (w->task_device[t] != SY_NONE) {
            sy_world_commit(w, t, w->task_device[t]);
        } else if (!w->task_pending[t]) {
            tell_ready(w, t);
        }
    }
}

static void task_ready(struct sy_world *w, uint32_t task) {
    w->task_state[task] = SY_TASK_READY;
    w->news = true;
    if (w->task_device[task] != SY_NONE) {
        try_start(w, w->task_device[task]);
    } else {
        tell_ready(w, task);
    }
}

/* A committed successor can fetch what has just been written. */
static void fetch_output(struct sy_world *w, uint32_t producer, uint32_t consumer) {
    const struct sy_view *v = &w->view;
    uint32_t memory = w->machine->devices[w->task_device[consumer]].memory;
    for (uint32_t a = v->access_start[consumer]; a < v->access_start[consumer + 1]; a++) {
        if (v->access_producer[a] == producer && (v->access[a].mode & SY_READ)) {
            sy_world_request_access(w, consumer, a, memory);
        }
    }
}

static void job_progress(struct sy_world *w, uint32_t task) {
    uint32_t job = w->view.task_job[task];
    struct sy_view_job *j = &w->jobs[job];
    double work_left_ns = j->work_left_ns - w->view.best_ns[task];
    j->work_left_ns = work_left_ns > 0 ? work_left_ns : 0;
    if (--j->tasks_left) {
        return;
    }
    w->jobs_left--;
    if (w->hooks.job_ended) {
        w->hooks.job_ended(w->driver, job);
    }
    if (w->policy->ops->job_left) {
        w->policy->ops->job_left(w->policy, &w->view, job);
    }
}

static void task_done(struct sy_world *w, uint32_t device) {
    const struct sy_view *view = &w->view;
    struct sy_world_device *d = &w->devices[device];
    struct sy_view_device *v = &w->view_devices[device];
    uint32_t task = v->running;
    double duration_ns = d->ran_ns + world_now(w) - d->phase_start_ns;
    d->phase = SY_PHASE_IDLE;
    see_preemptible(w, device);
    w->end_ns[task] = world_now(w);
    sy_world_end_task(w, device);
    span(w, SY_SPAN_TASK, task, device, d->phase_start_ns);
    if (w->hooks.task_ended) {
        w->hooks.task_ended(w->driver, task, device, duration_ns);
    }
    v->running = SY_NONE;
    w->task_state[task] = SY_TASK_DONE;
    w->news = true;
    sy_world_write_outputs(w, task, w->machine->devices[device].memory);
    if (w->policy->ops->task_done) {
        w->policy->ops->task_done(w->policy, view, task, device, duration_ns);
    }
    job_progress(w, task);
    for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
        uint32_t next = view->succ[e];
        if (w->task_device[next] != SY_NONE && !w->task_delayed[next]) {
            fetch_output(w, task, next);
        }
        if (--w->task_pending[next] == 0) {
            task_ready(w, next);
        }
    }
    if (d->aside != SY_NONE) {
        go_on(w, device);
    } else {
        try_start(w, device);
    }
}

static void configured(struct sy_world *w, uint32_t device) {
    struct sy_world_device *d = &w->devices[device];
    struct sy_view_device *v = &w->view_devices[device];
    v->image = wanted_kernel(w, device);
    span(w, SY_SPAN_RECONFIGURE, v->image, device, d->phase_start_ns);
    w->news = true;
    if (d->pending_kernel != SY_NONE) {
        d->pending_kernel = SY_NONE;
        d->phase = SY_PHASE_IDLE;
    } else {
        execute_running(w, device);
    }
    free_port(w, w->machine->devices[device].board);
    try_start(w, device);
}

/* Its event stays where it is if the next one can take its place. */
void sy_world_device_event(struct sy_world *w, uint32_t device) {
    const struct sy_world_device *d = &w->devices[device];
    bool kept = !w->shared;
    if (!kept) {
        sy_heap_unset(&w->events, device);
    }
    w->live_events--;
    if (d->phase == SY_PHASE_CONFIGURING) {
        configured(w, device);
    } else {
        task_done(w, device);
    }
    if (kept && d->phase != SY_PHASE_EXECUTING && d->phase != SY_PHASE_CONFIGURING) {
        sy_heap_unset(&w->events, device);
    }
}

void sy_world_configure(struct sy_world *w, uint32_t device, uint32_t kernel) {
    w->devices[device].pending_kernel = kernel;
    w->view_devices[device].last_image = kernel;
    want_port(w, device);
}

/* Takes the task away from its device; a policy that is told "ready" places it anew. */
static void give_back(struct sy_world *w, uint32_t task) {
    sy_world_detach_inputs(w, task);
    w->task_device[task] = SY_NONE;
    if (w->task_state[task] == SY_TASK_RUNNING) {
        w->task_state[task] = SY_TASK_READY;
    }
    if (w->task_state[task] == SY_TASK_READY) {
        tell_ready(w, task);
    }
}

/* last: the task that will have run there last; SY_NONE: none that is known. */
static uint32_t last_image(const struct sy_world *w, uint32_t device, uint32_t last) {
    uint32_t pending = w->devices[device].pending_kernel;
    uint32_t now = pending == SY_NONE ? w->view_devices[device].image : pending;
    return last == SY_NONE ? now : w->view.task_kernel[last];
}

/* It may have begun since that was decided. */
void sy_world_recall(struct sy_world *w, uint32_t task, uint32_t device) {
    struct sy_world_device *d = &w->devices[device];
    struct sy_view_device *v = &w->view_devices[device];
    if (!sy_world_holds(w, task, device) || !sy_world_release_inputs(w, task)) {
        return;
    }
    uint32_t last;
    double queued_ns = v->queued_ns - w->task_expected_ns[task];
    d->queue = sy_queues_remove(&w->queues, d->queue, task, &last);
    bool more = --v->queue_length || v->suspended;
    v->queued_ns = more && queued_ns > 0 ? queued_ns : 0;
    v->last_image = last_image(w, device, last == SY_NONE ? v->running : last);
    if (d->pusher == task) {
        d->pusher = SY_NONE;
        see_preemptible(w, device);
    }
    give_back(w, task);
    try_start(w, device);
}

static void leave_port(struct sy_world *w, uint32_t device) {
    struct sy_world_board *board = &w->boards[w->machine->devices[device].board];
    uint32_t *link = &board->first_waiting, last = SY_NONE;
    while (*link != device) {
        last = *link;
        link = &w->devices[*link].port_next;
    }
    *link = w->devices[device].port_next;
    if (board->last_waiting == device) {
        board->last_waiting = last;
    }
}

static uint32_t abort_running(struct sy_world *w, uint32_t device) {
    struct sy_world_device *d = &w->devices[device];
    uint32_t task = w->view_devices[device].running;
    enum sy_world_phase was = d->phase;
    d->phase = SY_PHASE_IDLE;
    if (was == SY_PHASE_EXECUTING) {
        span(w, SY_SPAN_ABORTED, task, device, d->phase_start_ns);
        sy_world_end_task(w, device);
    }
    if (was == SY_PHASE_EXECUTING || was == SY_PHASE_CONFIGURING) {
        sy_heap_unset(&w->events, device);
        w->live_events--;
    }
    d->pending_kernel = d->pusher = SY_NONE;
    see_preemptible(w, device);
    w->view_devices[device].running = SY_NONE;
    w->view_devices[device].image = w->view_devices[device].last_image = SY_NONE;
    if (was == SY_PHASE_CONFIGURING) {
        free_port(w, w->machine->devices[device].board);
    } else if (was == SY_PHASE_PORT_WAIT) {
        leave_port(w, device);
    }
    return task;
}

/* The device computes no more; what its memory holds can still be read (docs/design/003). */
void sy_world_lose(struct sy_world *w, uint32_t device) {
    struct sy_view_device *v = &w->view_devices[device];
    if (w->devices[device].losses++ > 0) {
        return;
    }
    v->lost = true;
    w->news = true;
    w->devices[device].lost_at_ns = world_now(w);
    if (w->policy->ops->device_lost) {
        w->policy->ops->device_lost(w->policy, &w->view, device);
    }
    uint32_t task = abort_running(w, device), aside = w->devices[device].aside;
    v->queue_length = v->suspended = 0;
    v->queued_ns = 0;
    if (task != SY_NONE) {
        give_back(w, task);
    }
    if (aside != SY_NONE) {
        w->devices[device].aside = SY_NONE;
        span(w, SY_SPAN_ABORTED, aside, device, world_now(w));
        give_back(w, aside);
    }
    while ((task = w->devices[device].queue) != SY_NONE) {
        w->devices[device].queue = sy_queues_pop(&w->queues, task);
        give_back(w, task);
    }
}

void sy_world_end_loss(struct sy_world *w, uint32_t device) {
    if (w->view_devices[device].lost) {
        span(w, SY_SPAN_LOST, SY_NONE, device, w->devices[device].lost_at_ns);
    }
}

void sy_world_return(struct sy_world *w, uint32_t device) {
    struct sy_view_device *v = &w->view_devices[device];
    if (!v->lost || --w->devices[device].losses > 0) {
        return; /* lost for more than one reason: all must end */
    }
    sy_world_end_loss(w, device);
    v->lost = false;
    w->news = true;
    if (w->policy->ops->device_returned) {
        w->policy->ops->device_returned(w->policy, &w->view, device);
    }
}
