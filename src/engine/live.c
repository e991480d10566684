/* SPDX-License-Identifier: Apache-2.0
 *
 * What a live world knows: jobs laid flat as they come, where data are, what each device does.
 */
#include "engine/live_world.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void live_fail(struct sy_live *live, const char *what) {
    if (!live->failure[0]) {
        snprintf(live->failure, sizeof live->failure, "policy %s: %s", live->scheduler.ops->name,
                 what);
    }
}

const char *sy_live_failure(const struct sy_live *live) {
    return live->failure[0] ? live->failure : NULL;
}

static const struct sy_scheduler_ops *find_policy(const char *policy, const char **ret_args,
                                                  struct sy_error *error) {
    const struct sy_scheduler_ops *ops = sy_scheduler_find(policy, ret_args, error);
    if (ops && ops->needs_truth) {
        sy_fail(error, -EINVAL, "policy %s knows the hidden state and runs in the simulator only",
                policy);
        return NULL;
    }
    return ops;
}

int sy_live_open_policy(const char *policy, char **ret_name, struct sy_weights *ret_weights,
                        struct sy_error *error) {
    const char *args = NULL;
    struct sy_weights weights = {0};
    if (!find_policy(policy, &args, error)) {
        return -EINVAL;
    }
    char *name = strdup(policy);
    if (!name) {
        return sy_fail(error, -ENOMEM, "out of memory");
    }
    char *from = strchr(name + (args - policy), '@');
    if (from) {
        char *to = from + strcspn(from, "~"), rest = *to;
        *to = '\0';
        int code = sy_weights_open(from + 1, &weights, error);
        *to = rest;
        if (code) {
            free(name);
            return code;
        }
        memmove(from, to, strlen(to) + 1);
    }
    *ret_name = name;
    *ret_weights = weights;
    return 0;
}

bool sy_live_wants_readings(const char *policy) {
    const char *args = NULL;
    const struct sy_scheduler_ops *ops = find_policy(policy, &args, NULL);
    return ops && ops->needs_readings;
}

#define TAKE(field, count)                                                                         \
    ((live->field = sy_arena_alloc(live->arena, (count), sizeof *live->field)) != NULL)

static bool take_tasks(struct sy_live *live, size_t tasks, size_t classes) {
    return TAKE(task_job, tasks) && TAKE(task_kernel, tasks) && TAKE(task_device, tasks) &&
           TAKE(order, tasks) && TAKE(task_state, tasks) && TAKE(succ_start, tasks + 1) &&
           TAKE(pred_start, tasks + 1) && TAKE(access_start, tasks + 1) &&
           TAKE(time_ns, tasks * classes) && TAKE(best_ns, tasks) && TAKE(jobs, tasks);
}

static bool take_arrays(struct sy_live *live, size_t tasks, const struct sy_machine *machine) {
    size_t classes = machine->class_count, devices = machine->device_count;
    return take_tasks(live, tasks, classes) && TAKE(priority, tasks) && TAKE(expected_ns, tasks) &&
           TAKE(committed_at, tasks) && TAKE(cursor, tasks) && TAKE(devices, devices) &&
           TAKE(queues, devices) && TAKE(running_count, devices) && TAKE(asides, devices) &&
           TAKE(log_sigma, SY_LIVE_KERNELS * classes);
}
#undef TAKE

static void point_view(struct sy_live *live) {
    struct sy_view *v = &live->view;
    v->devices = live->devices;
    v->jobs = live->jobs;
    v->task_job = live->task_job;
    v->task_kernel = live->task_kernel;
    v->task_state = live->task_state;
    v->task_device = live->task_device;
    v->succ_start = live->succ_start;
    v->succ = live->succ;
    v->pred_start = live->pred_start;
    v->pred = live->pred;
    v->access_start = live->access_start;
    v->access = live->access;
    v->access_producer = live->access_producer;
    v->order = live->order;
    v->time_ns = live->time_ns;
    v->best_ns = live->best_ns;
    v->log_sigma = live->log_sigma;
    v->data_bytes = live->data_bytes;
    v->data_valid = live->data_valid;
    v->data_inflight = live->data_inflight;
}

/* Demands and images are not known of other people's kernels: zero is what no demand looks like. */
static int fill_unknown(struct sy_live *live, const struct sy_machine *machine) {
    size_t cells = (size_t)SY_LIVE_KERNELS * machine->class_count;
    size_t images = (size_t)SY_LIVE_KERNELS * machine->board_count + 1;
    double *none = sy_arena_alloc(live->arena, cells > images ? cells : images, sizeof *none);
    live->view.demand_bytes_per_s = none;
    live->view.link_demand_bytes_per_s = none;
    live->view.image_ns = none;
    for (uint32_t d = 0; d < machine->device_count; d++) {
        live->devices[d] =
            (struct sy_view_device){.running = SY_NONE, .image = SY_NONE, .last_image = SY_NONE};
        live->asides[d] = (struct live_aside){.pusher = SY_NONE, .task = SY_NONE};
    }
    return none ? 0 : -ENOMEM;
}

int sy_live_create(const struct sy_live_options *options, struct sy_live **ret_live,
                   struct sy_error *error) {
    const char *args = "";
    const struct sy_scheduler_ops *ops = find_policy(options->policy, &args, error);
    if (!ops) {
        return -EINVAL;
    }
    struct sy_live *live = calloc(1, sizeof *live);
    int code = -ENOMEM;
    if (!live || !(live->arena = sy_arena_create()) ||
        !take_arrays(live, options->task_capacity + 1u, options->machine) ||
        fill_unknown(live, options->machine) ||
        sy_grow(&live->succ, &live->succ_capacity, 1, sizeof *live->succ) ||
        sy_grow(&live->pred, &live->pred_capacity, 1, sizeof *live->pred)) {
        goto fail;
    }
    live->explain = options->explain;
    live->preempts = options->preempts;
    live->view.shared_links = true; /* real copies always disturb each other */
    live->view.readings = ops->needs_readings ? options->readings : NULL;
    live->view.posterior = true;
    live->number = options->number;
    live->view.machine = options->machine;
    live->view.task_capacity = options->task_capacity;
    live->view.job_capacity = options->task_capacity;
    live->view.kernel_count = SY_LIVE_KERNELS;
    point_view(live);
    live->scheduler =
        (struct sy_scheduler){.ops = ops, .seed = options->seed, .setup = options->setup};
    code = ops->init(&live->scheduler, &live->view, args);
    if (code) {
        live->scheduler.ops = NULL;
        goto fail;
    }
    *ret_live = live;
    return 0;
fail:
    sy_live_destroy(live);
    return sy_fail(error, code, code == -ENOMEM ? "out of memory" : "policy %s cannot start",
                   options->policy);
}

void sy_live_destroy(struct sy_live *live) {
    if (!live) {
        return;
    }
    if (live->scheduler.ops && live->scheduler.ops->finish) {
        live->scheduler.ops->finish(&live->scheduler);
    }
    for (uint32_t d = 0; live->queues && live->view.machine && d < live->view.machine->device_count;
         d++) {
        free(live->queues[d].heap.entries);
    }
    free(live->succ);
    free(live->pred);
    free(live->access);
    free(live->access_producer);
    free(live->data_bytes);
    free(live->data_valid);
    free(live->data_inflight);
    free(live->fresh);
    sy_arena_destroy(live->arena);
    free(live);
}

const struct sy_view *sy_live_view(const struct sy_live *live) {
    return &live->view;
}

uint64_t sy_live_number(const struct sy_live *live) {
    return live->number;
}

void sy_live_clock(struct sy_live *live, double now_ns) {
    live->view.now_ns = now_ns;
}

uint32_t sy_live_room(const struct sy_live *live) {
    return live->view.task_capacity - live->task_count;
}

/* --- data, kernels, jobs -----------------------------------------------------------------------
 */

uint32_t sy_live_add_datum(struct sy_live *live, double bytes, uint64_t valid) {
    uint32_t need = live->data_count + 1;
    if (sy_grow(&live->data_bytes, &live->bytes_capacity, need, sizeof(double)) ||
        sy_grow(&live->data_valid, &live->valid_capacity, need, sizeof(uint64_t)) ||
        sy_grow(&live->data_inflight, &live->inflight_capacity, need, sizeof(uint64_t))) {
        return SY_NONE;
    }
    point_view(live);
    live->data_bytes[live->data_count] = bytes;
    live->data_valid[live->data_count] = valid;
    live->data_inflight[live->data_count] = 0;
    return live->data_count++;
}

void sy_live_set_valid(struct sy_live *live, uint32_t datum, uint64_t valid) {
    live->data_valid[datum] = valid;
    live->data_inflight[datum] &= ~valid;
}

void sy_live_set_kernel(struct sy_live *live, uint32_t kernel, uint32_t class_index,
                        double log_sigma) {
    live->log_sigma[(size_t)kernel * live->view.machine->class_count + class_index] = log_sigma;
}

void sy_live_begin_job(struct sy_live *live, uint32_t tenant, double weight) {
    SY_ASSERT(!live->open_job);
    live->open_job = true;
    live->jobs[live->laid_count] = (struct sy_view_job){
        .first_task = live->task_count,
        .tenant = tenant,
        .weight = weight,
        .arrive_ns = live->view.now_ns,
    };
}

void sy_live_tell_job(struct sy_live *live, double arrive_ns, double isolated_ns) {
    SY_ASSERT(live->open_job);
    struct sy_view_job *job = &live->jobs[live->laid_count];
    job->arrive_ns = arrive_ns > 0 ? arrive_ns : job->arrive_ns;
    job->isolated_ns = isolated_ns > 0 ? isolated_ns : 0;
}

void sy_live_set_times(struct sy_live *live, uint32_t task, const double *time_ns) {
    uint32_t classes = live->view.machine->class_count;
    double best = INFINITY;
    for (uint32_t c = 0; c < classes; c++) {
        best = fmin(best, time_ns[c]);
    }
    memcpy(live->time_ns + (size_t)task * classes, time_ns, classes * sizeof *time_ns);
    live->best_ns[task] = best;
}

static int make_room(struct sy_live *live, const struct sy_live_task *task) {
    uint32_t accesses = live->access_count + task->access_count;
    if (live->task_count >= live->view.task_capacity ||
        sy_grow(&live->pred, &live->pred_capacity, live->pred_count + task->pred_count,
                sizeof(uint32_t)) ||
        sy_grow(&live->access, &live->access_capacity, accesses, sizeof(struct sy_access)) ||
        sy_grow(&live->access_producer, &live->producer_capacity, accesses, sizeof(uint32_t))) {
        return -ENOMEM;
    }
    point_view(live);
    return 0;
}

uint32_t sy_live_add_task(struct sy_live *live, const struct sy_live_task *task) {
    SY_ASSERT(live->open_job);
    if (make_room(live, task)) {
        return SY_NONE;
    }
    uint32_t t = live->task_count++, job = live->laid_count;
    live->task_job[t] = job;
    live->task_kernel[t] = task->kernel < SY_LIVE_KERNELS ? task->kernel : SY_LIVE_KERNELS - 1;
    live->task_state[t] = SY_TASK_WAITING;
    live->task_device[t] = SY_NONE;
    live->order[t] = t;
    sy_live_set_times(live, t, task->time_ns);
    for (uint32_t i = 0; i < task->access_count; i++) {
        const struct sy_live_access *a = &task->accesses[i];
        live->access[live->access_count] = (struct sy_access){a->datum, a->mode};
        live->access_producer[live->access_count++] = a->producer;
    }
    for (uint32_t i = 0; i < task->pred_count; i++) {
        SY_ASSERT(task->preds[i] >= live->jobs[job].first_task && task->preds[i] < t);
        live->pred[live->pred_count++] = task->preds[i];
    }
    live->access_start[t + 1] = live->access_count;
    live->pred_start[t + 1] = live->pred_count;
    live->jobs[job].task_count++;
    live->jobs[job].work_left_ns += live->best_ns[t];
    return t;
}

/* Successors by counting; the job's tasks come in an order that respects precedence. */
static int lay_successors(struct sy_live *live, uint32_t first) {
    uint32_t end = live->task_count, edges = live->edge_count;
    if (sy_grow(&live->succ, &live->succ_capacity, live->pred_count, sizeof(uint32_t))) {
        return -ENOMEM;
    }
    point_view(live);
    memset(live->cursor + first, 0, (end - first) * sizeof *live->cursor);
    for (uint32_t e = live->pred_start[first]; e < live->pred_start[end]; e++) {
        live->cursor[live->pred[e]]++;
    }
    for (uint32_t t = first; t < end; t++) {
        uint32_t count = live->cursor[t];
        live->succ_start[t] = live->cursor[t] = edges;
        edges += count;
    }
    live->succ_start[end] = live->edge_count = edges;
    for (uint32_t t = first; t < end; t++) {
        for (uint32_t e = live->pred_start[t]; e < live->pred_start[t + 1]; e++) {
            live->succ[live->cursor[live->pred[e]]++] = t;
        }
    }
    return 0;
}

/* A lower bound of its time alone here: longest path, or work over devices. */
static void measure_job(struct sy_live *live, struct sy_view_job *job) {
    double longest = 0;
    for (uint32_t t = job->first_task + job->task_count; t-- > job->first_task;) {
        double below = 0;
        for (uint32_t e = live->succ_start[t]; e < live->succ_start[t + 1]; e++) {
            below = fmax(below, live->expected_ns[live->succ[e]]);
        }
        live->expected_ns[t] = live->best_ns[t] + below; /* until it is committed */
        longest = fmax(longest, live->expected_ns[t]);
    }
    job->tasks_left = job->task_count;
    if (!(job->isolated_ns > 0)) {
        job->isolated_ns = fmax(longest, job->work_left_ns / live->view.machine->device_count);
    }
}

void sy_live_lay_job(struct sy_live *live) {
    SY_ASSERT(live->open_job);
    struct sy_view_job *job = &live->jobs[live->laid_count];
    live->open_job = false;
    if (lay_successors(live, job->first_task)) {
        live_fail(live, "out of memory");
        return;
    }
    measure_job(live, job);
    live->laid_count++;
}

void sy_live_announce(struct sy_live *live) {
    while (live->view.job_count < live->laid_count) {
        uint32_t index = live->view.job_count++;
        if (live->scheduler.ops->job_arrived) {
            live->scheduler.ops->job_arrived(&live->scheduler, &live->view, index);
        }
    }
}

void sy_live_end_job(struct sy_live *live) {
    sy_live_lay_job(live);
    sy_live_announce(live);
}

/* --- events ------------------------------------------------------------------------------------
 */

void sy_live_ready(struct sy_live *live, uint32_t task) {
    live->task_state[task] = SY_TASK_READY;
    if (live->task_device[task] == SY_NONE) {
        live->ready_count++;
        if (live->scheduler.ops->task_ready) {
            live->scheduler.ops->task_ready(&live->scheduler, &live->view, task);
        }
        return;
    }
    live_enqueue(live, task);
    if (sy_grow(&live->fresh, &live->fresh_capacity, live->fresh_count + 1, sizeof(uint32_t))) {
        return; /* it runs all the same, without being fetched ahead */
    }
    live->fresh[live->fresh_count++] = task;
}

/* One at a time: what pushed another aside ends before a third comes. */
void live_see_preemptible(struct sy_live *live, uint32_t device) {
    const struct live_aside *a = &live->asides[device];
    live->devices[device].preemptible =
        live->preempts && live->view.machine->devices[device].kind == SY_CPU &&
        live->running_count[device] == 1 && a->pusher == SY_NONE && a->task == SY_NONE &&
        !a->pushed && !live->devices[device].lost;
}

/* What was late is as late when it goes on, and until then counts for what such a task still needs:
 * if it seemed to end at once, others would be committed behind it. */
static double aside_expected_ns(const struct sy_live *live, const struct live_aside *a) {
    return a->rest_ns >= 0 ? a->rest_ns : sy_cost_still_ns(live->expected_ns[a->task], -a->rest_ns);
}

static void put_aside(struct sy_live *live, uint32_t device, uint32_t task, double rest_ns) {
    struct live_aside *a = &live->asides[device];
    a->task = task;
    a->rest_ns = rest_ns;
    live->devices[device].suspended = 1;
    live->devices[device].queued_ns += aside_expected_ns(live, a);
}

/* Also what ended while it stood aside: its end is told late. */
static void no_longer_aside(struct sy_live *live, uint32_t device) {
    struct live_aside *a = &live->asides[device];
    struct sy_view_device *v = &live->devices[device];
    v->suspended = 0;
    v->queued_ns = v->queue_length ? fmax(0, v->queued_ns - aside_expected_ns(live, a)) : 0;
    a->task = SY_NONE;
}

static void start(struct sy_live *live, uint32_t task, uint32_t device) {
    struct sy_view_device *v = &live->devices[device];
    struct live_aside *a = &live->asides[device];
    double from = live->running_count[device] ? fmax(v->running_end_ns, live->view.now_ns)
                                              : live->view.now_ns;
    if (task == a->pusher) {
        a->pusher = SY_NONE;
        a->pushed = true;
        if (live->running_count[device]) {
            put_aside(live, device, v->running, v->running_end_ns - live->view.now_ns);
        }
        from = live->view.now_ns;
    }
    live->task_state[task] = SY_TASK_RUNNING;
    live->task_device[task] = device;
    live->running_count[device]++;
    v->running = task;
    v->running_end_ns = from + live->expected_ns[task];
    live_see_preemptible(live, device);
}

/* A task of a core has ended: what it pushed aside goes on. */
static void end(struct sy_live *live, uint32_t task, uint32_t device) {
    struct sy_view_device *v = &live->devices[device];
    struct live_aside *a = &live->asides[device];
    double rest_ns = a->rest_ns;
    uint32_t aside = a->task;
    if (--live->running_count[device] == 0) {
        v->running = SY_NONE;
    }
    if (aside != SY_NONE) {
        no_longer_aside(live, device);
    }
    if (task != aside) {
        a->pushed = false;
        if (aside != SY_NONE &&
            v->running == task) { /* else one began whose start was told first */
            v->running = aside;
            v->running_end_ns = live->view.now_ns + rest_ns;
        }
    }
    live_see_preemptible(live, device);
}

uint32_t sy_live_hand(struct sy_live *live, uint32_t device) {
    uint32_t task = sy_live_first(live, device);
    if (task != SY_NONE) {
        live_dequeue(live, task);
        live->committed_at[task] = LIVE_HANDED;
    }
    return task;
}

void sy_live_begin(struct sy_live *live, uint32_t task) {
    uint32_t device = live->task_device[task];
    live_uncommit(live, task);
    start(live, task, device);
}

void sy_live_recall(struct sy_live *live, uint32_t task) {
    live_uncommit(live, task);
    live->task_device[task] = SY_NONE;
    sy_live_ready(live, task);
}

void sy_live_started(struct sy_live *live, uint32_t task, uint32_t device) {
    if (live->task_state[task] != SY_TASK_RUNNING) {
        if (live->task_device[task] != SY_NONE) {
            live_uncommit(live, task);
        }
        live->expected_ns[task] = live->best_ns[task];
        start(live, task, device);
    }
    struct sy_view_device *v = &live->devices[device];
    if (live->running_count[device] == 1 || (v->suspended && v->running == task)) {
        v->running_end_ns = live->view.now_ns + live->expected_ns[task];
    }
    uint64_t bit = UINT64_C(1) << live->view.machine->devices[device].memory;
    for (uint32_t a = live->access_start[task]; a < live->access_start[task + 1]; a++) {
        live->data_inflight[live->access[a].datum] &= ~bit;
        live->data_valid[live->access[a].datum] |= bit;
    }
}

static void finish_task(struct sy_live *live, uint32_t task) {
    uint32_t index = live->task_job[task];
    struct sy_view_job *job = &live->jobs[index];
    live->task_state[task] = SY_TASK_DONE;
    job->work_left_ns = fmax(0, job->work_left_ns - live->best_ns[task]);
    if (--job->tasks_left == 0 && live->scheduler.ops->job_left) {
        live->scheduler.ops->job_left(&live->scheduler, &live->view, index);
    }
}

void sy_live_done(struct sy_live *live, uint32_t task, double duration_ns) {
    uint32_t device = live->task_device[task];
    SY_ASSERT(device != SY_NONE);
    uint64_t bit = UINT64_C(1) << live->view.machine->devices[device].memory;
    end(live, task, device);
    for (uint32_t a = live->access_start[task]; a < live->access_start[task + 1]; a++) {
        if (live->access[a].mode & SY_WRITE) {
            live->data_valid[live->access[a].datum] = bit;
            live->data_inflight[live->access[a].datum] = 0;
        }
    }
    if (live->scheduler.ops->task_done) {
        live->scheduler.ops->task_done(&live->scheduler, &live->view, task, device, duration_ns);
    }
    finish_task(live, task);
}

void sy_live_withdraw(struct sy_live *live, uint32_t task) {
    SY_ASSERT(live->task_state[task] == SY_TASK_WAITING && live->task_device[task] == SY_NONE);
    finish_task(live, task);
}

static void send_back(struct sy_live *live, uint32_t device) {
    for (uint32_t t = 0; t < live->task_count; t++) {
        bool here = live->task_device[t] == device && live->committed_at[t] != LIVE_HANDED;
        if (here &&
            (live->task_state[t] == SY_TASK_READY || live->task_state[t] == SY_TASK_WAITING)) {
            bool ready = live->task_state[t] == SY_TASK_READY;
            if (ready) {
                sy_live_recall(live, t);
            } else {
                live_uncommit(live, t);
                live->task_device[t] = SY_NONE;
            }
        }
    }
}

void sy_live_lost(struct sy_live *live, uint32_t device, bool lost) {
    const struct sy_scheduler_ops *ops = live->scheduler.ops;
    if (live->devices[device].lost == lost) {
        return;
    }
    live->devices[device].lost = lost;
    live_see_preemptible(live, device);
    if (lost && ops->device_lost) {
        ops->device_lost(&live->scheduler, &live->view, device);
    } else if (!lost && ops->device_returned) {
        ops->device_returned(&live->scheduler, &live->view, device);
    }
    if (lost) {
        send_back(live, device);
    }
}

/* --- moving over -------------------------------------------------------------------------------
 */

/* What pushed it aside was restored before. */
static void restore_aside(struct sy_live *live, uint32_t task, uint32_t device,
                          double expected_ns) {
    live->task_state[task] = SY_TASK_RUNNING;
    live->task_device[task] = device;
    live->running_count[device]++;
    put_aside(live, device, task, expected_ns);
    live_see_preemptible(live, device);
}

void sy_live_restore(struct sy_live *live, uint32_t task, enum sy_restore state, uint32_t device,
                     double priority, double expected_ns) {
    switch (state) {
    case SY_RESTORE_READY:
        sy_live_ready(live, task);
        break;
    case SY_RESTORE_COMMITTED:
    case SY_RESTORE_HANDED:
        live->task_state[task] = SY_TASK_READY;
        live_commit(live, task, device, priority, expected_ns);
        if (state == SY_RESTORE_HANDED) {
            live_dequeue(live, task);
            live->committed_at[task] = LIVE_HANDED;
        }
        break;
    case SY_RESTORE_PUSHING:
        live->task_state[task] = SY_TASK_READY;
        live_commit(live, task, device, priority, expected_ns);
        live_dequeue(live, task);
        live->committed_at[task] = LIVE_HANDED;
        live->asides[device].pusher = task;
        live_see_preemptible(live, device);
        break;
    case SY_RESTORE_PUSHED:
        live->asides[device].pusher = task;
        live->expected_ns[task] = expected_ns;
        start(live, task, device);
        break;
    case SY_RESTORE_RUNNING:
        live->expected_ns[task] = expected_ns;
        if (live->asides[device].pushed) {
            restore_aside(live, task, device, expected_ns);
        } else {
            start(live, task, device);
        }
        break;
    case SY_RESTORE_DONE:
        finish_task(live, task);
        break;
    }
}

void sy_live_restore_load(struct sy_live *live, const struct sy_live *old) {
    live->view.now_ns = old->view.now_ns;
    for (uint32_t d = 0; d < live->view.machine->device_count; d++) {
        if (live->running_count[d] && old->running_count[d]) {
            live->devices[d].running_end_ns = old->devices[d].running_end_ns;
        }
        if (live->asides[d].task != SY_NONE && old->asides[d].task != SY_NONE) {
            double before_ns = aside_expected_ns(live, &live->asides[d]);
            live->asides[d].rest_ns = old->asides[d].rest_ns;
            live->devices[d].queued_ns += aside_expected_ns(live, &live->asides[d]) - before_ns;
        }
    }
}
