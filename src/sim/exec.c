/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices at work: a committed task waits in its device's queue, stalls until its inputs are there,
 * has its image put into an FPGA region if another one is resident, executes, and releases its
 * successors. Invariant: a device does one thing at a time.
 */
#include "sim/state.h"
#include <math.h>

static void span(struct sy_sim *sim, enum sy_span_kind kind, uint32_t subject, uint32_t device,
                 double start_ns) {
    if (sim->options.record) {
        sy_trace_add(&sim->trace, &(struct sy_span){.start_ns = start_ns,
                                                    .end_ns = sim_now(sim),
                                                    .kind = kind,
                                                    .subject = subject,
                                                    .place = device,
                                                    .from = SY_NONE});
    }
}

static double true_time_ns(const struct sy_sim *sim, uint32_t task, uint32_t device) {
    uint32_t class_index = sim->machine->devices[device].class_index;
    uint32_t classes = sim->w->class_count;
    return sim->w->time_ns[(size_t)task * classes + class_index] * sim->task_factor[task] *
           sim->kernel_factor[(size_t)sim->w->task_kernel[task] * classes + class_index];
}

static void execute(struct sy_sim *sim, uint32_t device) {
    struct device *d = &sim->devices[device];
    uint32_t task = sim->view_devices[device].running;
    double work_ns = true_time_ns(sim, task, device);
    d->phase = EXECUTING;
    d->phase_start_ns = sim_now(sim);
    sim->live_events++;
    if (sim->net) {
        sy_sim_flow_start_task(sim, device, task, work_ns);
    } else {
        sy_heap_set(&sim->heap, device, sim_now(sim) + work_ns);
    }
}

static void begin_configuring(struct sy_sim *sim, uint32_t device, uint32_t kernel) {
    const struct sy_machine *m = sim->machine;
    uint32_t board = m->devices[device].board;
    struct device *d = &sim->devices[device];
    sim->boards[board].busy = true;
    d->phase = CONFIGURING;
    d->phase_start_ns = sim_now(sim);
    sim->live_events++;
    sim->reconfigure_count++;
    sy_heap_set(&sim->heap, device,
                sim_now(sim) + sim->w->image_ns[(size_t)kernel * m->board_count + board]);
}

static uint32_t wanted_kernel(const struct sy_sim *sim, uint32_t device) {
    uint32_t pending = sim->devices[device].pending_kernel;
    return pending != SY_NONE ? pending : sim->w->task_kernel[sim->view_devices[device].running];
}

static void want_port(struct sy_sim *sim, uint32_t device) {
    struct board *board = &sim->boards[sim->machine->devices[device].board];
    struct device *d = &sim->devices[device];
    if (!board->busy) {
        begin_configuring(sim, device, wanted_kernel(sim, device));
        return;
    }
    d->phase = PORT_WAIT;
    d->port_next = SY_NONE;
    if (board->last_waiting == SY_NONE) {
        board->first_waiting = device;
    } else {
        sim->devices[board->last_waiting].port_next = device;
    }
    board->last_waiting = device;
}

static void free_port(struct sy_sim *sim, uint32_t board_index) {
    struct board *board = &sim->boards[board_index];
    uint32_t next = board->first_waiting;
    board->busy = false;
    if (next == SY_NONE) {
        return;
    }
    board->first_waiting = sim->devices[next].port_next;
    if (board->first_waiting == SY_NONE) {
        board->last_waiting = SY_NONE;
    }
    begin_configuring(sim, next, wanted_kernel(sim, next));
}

/* Inputs are there: configure if another image is resident, else run. */
static void proceed(struct sy_sim *sim, uint32_t device) {
    struct device *d = &sim->devices[device];
    struct sy_view_device *v = &sim->view_devices[device];
    if (d->phase == STALLED) {
        d->stall_ns = sim_now(sim) - d->phase_start_ns;
        if (d->stall_ns > 0) {
            span(sim, SY_SPAN_STALL, v->running, device, d->phase_start_ns);
        }
        v->running_end_ns = sim_now(sim) + sim->task_expected_ns[v->running];
    }
    if (sim->machine->devices[device].board != SY_NONE &&
        v->image != sim->w->task_kernel[v->running]) {
        want_port(sim, device);
    } else {
        execute(sim, device);
    }
}

void sy_sim_try_start(struct sy_sim *sim, uint32_t device) {
    struct device *d = &sim->devices[device];
    struct sy_view_device *v = &sim->view_devices[device];
    if (d->phase != IDLE || v->lost || d->queue == SY_NONE ||
        sim->task_state[d->queue] != SY_TASK_READY) {
        return;
    }
    uint32_t task = sy_sim_queue_pop(sim, device);
    v->queue_length--;
    v->queued_ns = v->queue_length ? fmax(0, v->queued_ns - sim->task_expected_ns[task]) : 0;
    v->running = task;
    v->running_end_ns = sim_now(sim) + sim->task_expected_ns[task];
    sim->task_state[task] = SY_TASK_RUNNING;
    sim->news = true;
    d->phase_start_ns = sim_now(sim);
    d->stall_ns = 0;
    if (sim->task_missing[task]) {
        d->phase = STALLED;
    } else {
        proceed(sim, device);
    }
}

void sy_sim_inputs_ready(struct sy_sim *sim, uint32_t task) {
    uint32_t device = sim->task_device[task];
    if (sim->view_devices[device].running == task) {
        proceed(sim, device);
    }
}

void sy_sim_commit(struct sy_sim *sim, uint32_t task, uint32_t device, double priority,
                   double expected_ns) {
    struct sy_view_device *v = &sim->view_devices[device];
    sim->task_device[task] = device;
    sim->task_priority[task] = priority;
    sim->task_expected_ns[task] = expected_ns;
    sim->task_sequence[task] = sim->sequence++;
    v->queue_length++;
    v->queued_ns += expected_ns;
    v->last_image = sim->w->task_kernel[task];
    sy_sim_queue_push(sim, device, task);
    sy_sim_request_inputs(sim, task, sim->machine->devices[device].memory);
    sy_sim_try_start(sim, device);
}

static void task_ready(struct sy_sim *sim, uint32_t task) {
    sim->task_state[task] = SY_TASK_READY;
    sim->news = true;
    if (sim->task_device[task] != SY_NONE) {
        sy_sim_try_start(sim, sim->task_device[task]);
    } else if (sim->scheduler.ops->task_ready) {
        sim->scheduler.ops->task_ready(&sim->scheduler, &sim->view, task);
    }
}

/* A committed successor can fetch what has just been written. */
static void fetch_output(struct sy_sim *sim, uint32_t producer, uint32_t consumer) {
    const struct sy_workload *w = sim->w;
    uint32_t memory = sim->machine->devices[sim->task_device[consumer]].memory;
    for (uint32_t a = w->access_start[consumer]; a < w->access_start[consumer + 1]; a++) {
        if (w->access_producer[a] == producer && (w->access[a].mode & SY_READ)) {
            sy_sim_request_access(sim, consumer, a, memory);
        }
    }
}

static void job_progress(struct sy_sim *sim, uint32_t task) {
    uint32_t job = sim->w->task_job[task];
    struct sy_view_job *j = &sim->jobs[job];
    j->work_left_ns = fmax(0, j->work_left_ns - sim->w->best_ns[task]);
    if (--j->tasks_left) {
        return;
    }
    sim->job_results[job].done_ns = sim_now(sim) - j->arrive_ns;
    sim->jobs_left--;
    if (sim->scheduler.ops->job_left) {
        sim->scheduler.ops->job_left(&sim->scheduler, &sim->view, job);
    }
}

static void account_task(struct sy_sim *sim, uint32_t task, uint32_t device, double duration_ns) {
    static const double limits[3] = {1.001, 1.1, 1.2};
    struct device *d = &sim->devices[device];
    uint32_t class_index = sim->machine->devices[device].class_index;
    double alone_ns = true_time_ns(sim, task, device);
    if (sim->loads) {
        sy_sim_sense_end(sim, device, task, duration_ns);
    }
    if (sim->judge) {
        sy_sim_judge_end(sim, device, task, duration_ns, alone_ns);
    }
    for (int i = 0; i < 3; i++) {
        sim->within[i] += d->stall_ns + duration_ns <= alone_ns * limits[i];
    }
    double watts =
        sim->w->watts[(size_t)sim->w->task_kernel[task] * sim->w->class_count + class_index];
    watts = watts > 0 ? watts : sim->machine->devices[device].busy_watts;
    d->joules += watts * duration_ns * 1e-9;
    d->busy_ns += duration_ns;
    sim->tasks_done++;
}

static void task_done(struct sy_sim *sim, uint32_t device) {
    const struct sy_workload *w = sim->w;
    struct device *d = &sim->devices[device];
    struct sy_view_device *v = &sim->view_devices[device];
    uint32_t task = v->running;
    double duration_ns = sim_now(sim) - d->phase_start_ns;
    d->phase = IDLE;
    if (sim->net) {
        sy_sim_flow_end_task(sim, device);
    }
    span(sim, SY_SPAN_TASK, task, device, d->phase_start_ns);
    account_task(sim, task, device, duration_ns);
    v->running = SY_NONE;
    sim->task_state[task] = SY_TASK_DONE;
    sim->news = true;
    sy_sim_write_outputs(sim, task, sim->machine->devices[device].memory);
    if (sim->scheduler.ops->task_done) {
        sim->scheduler.ops->task_done(&sim->scheduler, &sim->view, task, device, duration_ns);
    }
    job_progress(sim, task);
    for (uint32_t e = w->succ_start[task]; e < w->succ_start[task + 1]; e++) {
        uint32_t next = w->succ[e];
        if (sim->task_device[next] != SY_NONE && !sim->task_delayed[next]) {
            fetch_output(sim, task, next);
        }
        if (--sim->task_pending[next] == 0) {
            task_ready(sim, next);
        }
    }
    sy_sim_try_start(sim, device);
    if (v->running == SY_NONE && sim->scheduler.ops->device_idle) {
        sim->scheduler.ops->device_idle(&sim->scheduler, &sim->view, device);
    }
}

static void configured(struct sy_sim *sim, uint32_t device) {
    struct device *d = &sim->devices[device];
    struct sy_view_device *v = &sim->view_devices[device];
    v->image = wanted_kernel(sim, device);
    span(sim, SY_SPAN_RECONFIGURE, v->image, device, d->phase_start_ns);
    sim->news = true;
    if (d->pending_kernel != SY_NONE) {
        d->pending_kernel = SY_NONE;
        d->phase = IDLE;
    } else {
        execute(sim, device);
    }
    free_port(sim, sim->machine->devices[device].board);
    sy_sim_try_start(sim, device);
}

void sy_sim_device_event(struct sy_sim *sim, uint32_t device) {
    sy_heap_remove(&sim->heap, device);
    sim->live_events--;
    if (sim->devices[device].phase == CONFIGURING) {
        configured(sim, device);
    } else {
        task_done(sim, device);
    }
}

void sy_sim_configure(struct sy_sim *sim, uint32_t device, uint32_t kernel) {
    sim->devices[device].pending_kernel = kernel;
    sim->view_devices[device].last_image = kernel;
    want_port(sim, device);
}

/* Takes the task away from its device; a policy that is told "ready" places it anew. */
static void give_back(struct sy_sim *sim, uint32_t task) {
    sy_sim_detach_inputs(sim, task);
    sim->task_device[task] = SY_NONE;
    if (sim->task_state[task] == SY_TASK_RUNNING) {
        sim->task_state[task] = SY_TASK_READY;
    }
    if (sim->task_state[task] == SY_TASK_READY && sim->scheduler.ops->task_ready) {
        sim->scheduler.ops->task_ready(&sim->scheduler, &sim->view, task);
    }
}

static void leave_port(struct sy_sim *sim, uint32_t device) {
    struct board *board = &sim->boards[sim->machine->devices[device].board];
    uint32_t *link = &board->first_waiting, last = SY_NONE;
    while (*link != device) {
        last = *link;
        link = &sim->devices[*link].port_next;
    }
    *link = sim->devices[device].port_next;
    if (board->last_waiting == device) {
        board->last_waiting = last;
    }
}

static uint32_t abort_running(struct sy_sim *sim, uint32_t device) {
    struct device *d = &sim->devices[device];
    uint32_t task = sim->view_devices[device].running;
    enum phase was = d->phase;
    d->phase = IDLE;
    if (was == EXECUTING) {
        span(sim, SY_SPAN_ABORTED, task, device, d->phase_start_ns);
        if (sim->net) {
            sy_sim_flow_end_task(sim, device);
        }
    }
    if (was == EXECUTING || was == CONFIGURING) {
        sy_heap_remove(&sim->heap, device);
        sim->live_events--;
    }
    d->pending_kernel = SY_NONE;
    sim->view_devices[device].running = SY_NONE;
    sim->view_devices[device].image = sim->view_devices[device].last_image = SY_NONE;
    if (was == CONFIGURING) {
        free_port(sim, sim->machine->devices[device].board);
    } else if (was == PORT_WAIT) {
        leave_port(sim, device);
    }
    return task;
}

/* The device computes no more; what its memory holds can still be read (docs/design/003). */
void sy_sim_lose(struct sy_sim *sim, uint32_t device) {
    struct sy_view_device *v = &sim->view_devices[device];
    if (sim->devices[device].losses++ > 0) {
        return;
    }
    v->lost = true;
    sim->news = true;
    sim->devices[device].lost_at_ns = sim_now(sim);
    if (sim->scheduler.ops->device_lost) {
        sim->scheduler.ops->device_lost(&sim->scheduler, &sim->view, device);
    }
    uint32_t task = abort_running(sim, device);
    v->queue_length = 0;
    v->queued_ns = 0;
    if (task != SY_NONE) {
        give_back(sim, task);
    }
    while ((task = sy_sim_queue_pop(sim, device)) != SY_NONE) {
        give_back(sim, task);
    }
}

void sy_sim_end_loss(struct sy_sim *sim, uint32_t device) {
    if (sim->view_devices[device].lost) {
        span(sim, SY_SPAN_LOST, SY_NONE, device, sim->devices[device].lost_at_ns);
    }
}

void sy_sim_return(struct sy_sim *sim, uint32_t device) {
    struct sy_view_device *v = &sim->view_devices[device];
    if (!v->lost || --sim->devices[device].losses > 0) {
        return; /* lost for more than one reason: all must end */
    }
    sy_sim_end_loss(sim, device);
    v->lost = false;
    sim->news = true;
    if (sim->scheduler.ops->device_returned) {
        sim->scheduler.ops->device_returned(&sim->scheduler, &sim->view, device);
    }
}
