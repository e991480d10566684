/* SPDX-License-Identifier: Apache-2.0
 *
 * The small world of rehearsal.h: devices found by a look at each, copies in a heap, committed
 * tasks in pairing heaps threaded through arrays. What happens together is told before the policy
 * is asked, as in any world.
 */
#include "schedulers/rehearsal.h"
#include <errno.h>
#include <string.h>

#define DATA_PER_TASK 4    /* data that a task brings, at most; jobs with more are not rehearsed */
#define DATA_MORE     1024 /* and so many beside */
#define BATCH         64   /* decisions taken at once */

static int init_tasks(struct rehearsal *r, struct sy_arena *arena, size_t tasks) {
    r->state = sy_arena_alloc(arena, tasks, sizeof *r->state);
    r->device = sy_arena_alloc(arena, tasks, sizeof *r->device);
    r->pending = sy_arena_alloc(arena, tasks, sizeof *r->pending);
    r->priority = sy_arena_alloc(arena, tasks, sizeof *r->priority);
    r->expected_ns = sy_arena_alloc(arena, tasks, sizeof *r->expected_ns);
    r->inputs_ns = sy_arena_alloc(arena, tasks, sizeof *r->inputs_ns);
    r->begin_ns = sy_arena_alloc(arena, tasks, sizeof *r->begin_ns);
    r->end_ns = sy_arena_alloc(arena, tasks, sizeof *r->end_ns);
    bool whole = r->state && r->device && r->pending && r->priority && r->expected_ns &&
                 r->inputs_ns && r->begin_ns && r->end_ns;
    return whole ? sy_heap_init(&r->queues, arena, tasks, r->priority) : -ENOMEM;
}

int sy_rehearsal_init(struct rehearsal *r, struct sy_arena *arena, const struct sy_view *view) {
    const struct sy_machine *m = view->machine;
    size_t tasks = view->task_capacity + 1u;
    r->data_capacity = (uint32_t)(DATA_PER_TASK * tasks + DATA_MORE);
    r->copy_capacity = r->data_capacity;
    r->valid = sy_arena_alloc(arena, r->data_capacity, sizeof *r->valid);
    r->inflight = sy_arena_alloc(arena, r->data_capacity, sizeof *r->inflight);
    r->copies = sy_arena_alloc(arena, r->copy_capacity, sizeof *r->copies);
    r->jobs = sy_arena_alloc(arena, view->job_capacity + 1u, sizeof *r->jobs);
    r->devices = sy_arena_alloc(arena, m->device_count, sizeof *r->devices);
    r->view_devices = sy_arena_alloc(arena, m->device_count, sizeof *r->view_devices);
    r->link_ns = sy_arena_alloc(arena, m->resource_count + 1u, sizeof *r->link_ns);
    r->use_bytes_per_s = sy_arena_alloc(arena, m->resource_count + 1u, sizeof *r->use_bytes_per_s);
    bool data = r->valid && r->inflight && r->copies && r->jobs;
    bool rows = r->devices && r->view_devices && r->link_ns && r->use_bytes_per_s;
    return data && rows ? init_tasks(r, arena, tasks) : -ENOMEM;
}

/* --- copies ------------------------------------------------------------------------------------
 */
static void push_copy(struct rehearsal *r, struct stage_copy copy) {
    uint32_t at = r->copy_count++;
    for (; at && r->copies[(at - 1) / 2].at_ns > copy.at_ns; at = (at - 1) / 2) {
        r->copies[at] = r->copies[(at - 1) / 2];
    }
    r->copies[at] = copy;
}

static struct stage_copy pop_copy(struct rehearsal *r) {
    struct stage_copy first = r->copies[0], last = r->copies[--r->copy_count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= r->copy_count) {
            break;
        }
        child += child + 1 < r->copy_count && r->copies[child + 1].at_ns < r->copies[child].at_ns;
        if (r->copies[child].at_ns >= last.at_ns) {
            break;
        }
        r->copies[at] = r->copies[child];
        at = child;
    }
    r->copies[at] = last;
    return first;
}

static double over_links_ns(struct rehearsal *r, const struct sy_route *route, double bytes) {
    const struct sy_machine *m = r->view.machine;
    double start_ns = r->view.now_ns;
    for (uint32_t k = 0; r->view.shared_links && k < route->resource_count; k++) {
        start_ns = fmax(start_ns, r->link_ns[route->resources[k]]);
    }
    for (uint32_t k = 0; r->view.shared_links && k < route->resource_count; k++) {
        uint32_t resource = route->resources[k];
        r->link_ns[resource] = start_ns + bytes / m->resources[resource].bytes_per_s * 1e9;
    }
    return start_ns + route->latency_ns + bytes / route->bytes_per_s * 1e9;
}

/* When the datum, which exists, is in that memory; a copy sets out if it must. */
static double request(struct rehearsal *r, uint32_t datum, uint32_t memory, bool waits) {
    const struct sy_machine *m = r->view.machine;
    uint64_t bit = UINT64_C(1) << memory;
    if ((r->valid[datum] & bit) || !r->valid[datum]) {
        return r->view.now_ns;
    }
    if (r->inflight[datum] & bit) {
        for (uint32_t i = 0; i < r->copy_count; i++) {
            struct stage_copy *copy = &r->copies[i];
            if (copy->datum == datum && copy->memory == memory && !copy->stale) {
                copy->waited |= waits;
                return copy->at_ns;
            }
        }
    }
    double bytes = r->view.data_bytes[datum], best_ns = INFINITY;
    const struct sy_route *best = NULL;
    for (uint64_t rest = r->valid[datum]; rest; rest &= rest - 1) {
        size_t from = (size_t)__builtin_ctzll(rest);
        const struct sy_route *route = &m->routes[from * m->memory_count + memory];
        double ns = route->latency_ns + bytes / route->bytes_per_s * 1e9;
        if (!best || ns < best_ns) {
            best = route;
            best_ns = ns;
        }
    }
    struct stage_copy copy = {over_links_ns(r, best, bytes), datum, memory, false, waits};
    if (r->copy_count < r->copy_capacity) {
        r->inflight[datum] |= bit;
        push_copy(r, copy);
    }
    return copy.at_ns;
}

static bool exists(const struct rehearsal *r, uint32_t access) {
    uint32_t producer = r->view.access_producer[access];
    return producer == SY_NONE || r->state[producer] == SY_TASK_DONE;
}

/* Of one producer, or (SY_NONE) of all that exists. */
static void request_inputs(struct rehearsal *r, uint32_t task, uint32_t producer, uint32_t memory) {
    const struct sy_view *v = &r->view;
    for (uint32_t a = v->access_start[task]; a < v->access_start[task + 1]; a++) {
        bool wanted = producer == SY_NONE ? exists(r, a) : v->access_producer[a] == producer;
        if ((v->access[a].mode & SY_READ) && wanted) {
            r->inputs_ns[task] = fmax(r->inputs_ns[task], request(r, v->access[a].datum, memory,
                                                                  r->device[task] != SY_NONE));
        }
    }
}

static void write_outputs(struct rehearsal *r, uint32_t task, uint32_t memory) {
    const struct sy_view *v = &r->view;
    for (uint32_t a = v->access_start[task]; a < v->access_start[task + 1]; a++) {
        uint32_t datum = v->access[a].datum;
        if (!(v->access[a].mode & SY_WRITE)) {
            continue;
        }
        for (uint32_t i = 0; r->inflight[datum] && i < r->copy_count; i++) {
            r->copies[i].stale |= r->copies[i].datum == datum;
        }
        r->inflight[datum] = 0;
        r->valid[datum] = UINT64_C(1) << memory;
    }
}

/* --- devices -----------------------------------------------------------------------------------
 */
static void demand_of(const struct rehearsal *r, uint32_t device, struct sy_demand *ret) {
    const struct sy_view *v = &r->view;
    const struct sy_machine *m = v->machine;
    size_t at = (size_t)v->task_kernel[r->view_devices[device].running] * m->class_count +
                m->devices[device].class_index;
    bool told = v->demand_bytes_per_s && v->link_demand_bytes_per_s; /* not in every world */
    ret->count = 0;
    if (told) {
        sy_cost_demand(m, device, v->demand_bytes_per_s[at], v->link_demand_bytes_per_s[at], ret);
    }
}

/* Where bandwidth is shared each task gets the same share of what it wants. */
static void share(struct rehearsal *r) {
    const struct sy_machine *m = r->view.machine;
    double now_ns = r->view.now_ns;
    r->speeds_stale = false;
    memset(r->use_bytes_per_s, 0, m->resource_count * sizeof *r->use_bytes_per_s);
    struct sy_demand demand;
    for (uint32_t d = 0; d < m->device_count; d++) {
        if (r->devices[d].phase == STAGE_EXECUTING) {
            demand_of(r, d, &demand);
            for (uint32_t i = 0; i < demand.count; i++) {
                r->use_bytes_per_s[demand.resources[i]] += demand.bytes_per_s[i];
            }
        }
    }
    for (uint32_t d = 0; d < m->device_count; d++) {
        struct stage_device *s = &r->devices[d];
        if (s->phase != STAGE_EXECUTING) {
            continue;
        }
        demand_of(r, d, &demand);
        double speed = 1;
        for (uint32_t i = 0; i < demand.count; i++) {
            uint32_t resource = demand.resources[i];
            speed = fmin(speed, m->resources[resource].bytes_per_s / r->use_bytes_per_s[resource]);
        }
        s->left_ns = fmax(0, s->left_ns - (now_ns - s->since_ns) * s->speed);
        s->since_ns = now_ns;
        s->speed = fmax(speed, 1e-3);
        s->at_ns = now_ns + s->left_ns / s->speed;
    }
}

static void execute(struct rehearsal *r, uint32_t device, double work_ns) {
    struct stage_device *s = &r->devices[device];
    s->phase = STAGE_EXECUTING;
    s->speed = 1;
    s->left_ns = work_ns;
    s->since_ns = s->began_ns = r->view.now_ns;
    s->at_ns = s->since_ns + work_ns;
    r->speeds_stale = r->view.shared_links;
    r->begin_ns[r->view_devices[device].running] = s->began_ns;
}

static double work_ns(struct rehearsal *r, uint32_t task, uint32_t device) {
    const struct sy_machine *m = r->view.machine;
    struct sy_view_device *v = &r->view_devices[device];
    uint32_t board = m->devices[device].board, kernel = r->view.task_kernel[task];
    double ns = sy_estimate_time_ns(&r->view, task, device) * (r->factor ? r->factor[task] : 1);
    if (board != SY_NONE && v->image != kernel) {
        v->image = kernel;
        ns += r->view.image_ns[(size_t)kernel * m->board_count + board];
    }
    return ns;
}

static void try_start(struct rehearsal *r, uint32_t device) {
    struct stage_device *s = &r->devices[device];
    struct sy_view_device *v = &r->view_devices[device];
    uint32_t task = s->queue;
    if (s->phase != STAGE_IDLE || task == SY_NONE || r->state[task] != SY_TASK_READY) {
        return;
    }
    r->devices[device].queue = sy_heap_pop(&r->queues, r->devices[device].queue);
    r->news = true;
    v->queue_length--;
    v->queued_ns = v->queue_length ? fmax(0, v->queued_ns - r->expected_ns[task]) : 0;
    v->running = task;
    v->running_end_ns = r->view.now_ns + r->expected_ns[task];
    r->state[task] = SY_TASK_RUNNING;
    if (r->inputs_ns[task] > r->view.now_ns) {
        s->phase = STAGE_STALLED;
        s->at_ns = r->inputs_ns[task];
    } else {
        execute(r, device, work_ns(r, task, device));
    }
}

static void commit(struct rehearsal *r, uint32_t task, uint32_t device, double priority,
                   double expected_ns) {
    struct sy_view_device *v = &r->view_devices[device];
    r->device[task] = device;
    r->priority[task] = priority;
    r->expected_ns[task] = expected_ns;
    r->inputs_ns[task] = 0;
    v->queue_length++;
    v->queued_ns += expected_ns;
    v->last_image = r->view.task_kernel[task];
    r->devices[device].queue = sy_heap_push(&r->queues, r->devices[device].queue, task);
    request_inputs(r, task, SY_NONE, r->view.machine->devices[device].memory);
    try_start(r, device);
}

static void task_done(struct rehearsal *r, struct sy_scheduler *policy, uint32_t device) {
    const struct sy_view *view = &r->view;
    struct stage_device *s = &r->devices[device];
    uint32_t task = r->view_devices[device].running;
    s->phase = STAGE_IDLE;
    s->at_ns = INFINITY;
    r->news = true;
    r->speeds_stale = view->shared_links;
    r->view_devices[device].running = SY_NONE;
    r->state[task] = SY_TASK_DONE;
    r->end_ns[task] = view->now_ns;
    write_outputs(r, task, view->machine->devices[device].memory);
    if (policy->ops->task_done) {
        policy->ops->task_done(policy, view, task, device, view->now_ns - s->began_ns);
    }
    r->jobs[r->job].work_left_ns = fmax(0, r->jobs[r->job].work_left_ns - view->best_ns[task]);
    r->jobs[r->job].tasks_left = --r->tasks_left;
    if (!r->tasks_left && policy->ops->job_left) {
        policy->ops->job_left(policy, view, r->job);
    }
    for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
        uint32_t next = view->succ[e], where = r->device[next];
        if (where != SY_NONE) {
            request_inputs(r, next, task, view->machine->devices[where].memory);
        }
        if (--r->pending[next]) {
            continue;
        }
        r->state[next] = SY_TASK_READY;
        if (where != SY_NONE) {
            try_start(r, where);
        } else if (policy->ops->task_ready) {
            policy->ops->task_ready(policy, view, next);
        }
    }
    try_start(r, device);
}

static void device_event(struct rehearsal *r, struct sy_scheduler *policy, uint32_t device) {
    struct sy_view_device *v = &r->view_devices[device];
    if (r->devices[device].phase == STAGE_STALLED) {
        v->running_end_ns = r->view.now_ns + r->expected_ns[v->running];
        execute(r, device, work_ns(r, v->running, device));
    } else {
        task_done(r, policy, device);
    }
}

/* --- beginning ---------------------------------------------------------------------------------
 */
bool sy_rehearsal_fits(const struct rehearsal *r, const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    uint32_t end = view->access_start[j->first_task + j->task_count];
    if (r->failed || !r->state) {
        return false;
    }
    for (uint32_t a = view->access_start[j->first_task]; a < end; a++) {
        if (view->access[a].datum >= r->data_capacity) {
            return false;
        }
    }
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        uint32_t running = view->devices[d].running;
        if (view->devices[d].lost || (running != SY_NONE && view->task_job[running] != job)) {
            return false;
        }
    }
    return true;
}

static void copy_data(struct rehearsal *r, const struct sy_view *view, uint32_t task) {
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        uint32_t datum = view->access[a].datum;
        r->valid[datum] = view->data_valid[datum] | view->data_inflight[datum];
        r->inflight[datum] = 0;
    }
}

/* What runs goes on: as foretold, and longer if it is late already. */
static void go_on(struct rehearsal *r, const struct sy_view *view, uint32_t device) {
    struct stage_device *s = &r->devices[device];
    uint32_t task = view->devices[device].running;
    s->phase = STAGE_IDLE;
    s->queue = SY_NONE;
    s->at_ns = INFINITY;
    if (task == SY_NONE) {
        return;
    }
    double left_ns = sy_estimate_end_ns(view, device) - view->now_ns;
    double begin_ns = r->begin_ns[task];
    r->expected_ns[task] = sy_estimate_time_ns(view, task, device);
    execute(r, device, left_ns * (r->factor ? r->factor[task] : 1));
    r->begin_ns[task] = begin_ns;
}

static void begin(struct rehearsal *r, const struct sy_view *view, uint32_t job) {
    const struct sy_machine *m = view->machine;
    const struct sy_view_job *j = &view->jobs[job];
    r->view = *view;
    r->view.devices = r->view_devices;
    r->view.jobs = r->jobs;
    r->view.task_state = r->state;
    r->view.task_device = r->device;
    r->view.data_valid = r->valid;
    r->view.data_inflight = r->inflight;
    r->jobs[job] = *j;
    r->job = job;
    r->tasks_left = 0;
    r->copy_count = 0;
    sy_heap_clear(&r->queues);
    r->speeds_stale = false;
    for (uint32_t i = 0; i < m->resource_count; i++) {
        r->link_ns[i] = view->now_ns;
    }
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        r->state[t] = view->task_state[t];
        r->device[t] = view->task_device[t];
        r->tasks_left += view->task_state[t] != SY_TASK_DONE;
        r->pending[t] = 0;
        for (uint32_t e = view->pred_start[t]; e < view->pred_start[t + 1]; e++) {
            r->pending[t] += view->task_state[view->pred[e]] != SY_TASK_DONE;
        }
        copy_data(r, view, t);
    }
    for (uint32_t d = 0; d < m->device_count; d++) {
        r->view_devices[d] = view->devices[d];
        r->view_devices[d].queue_length = 0;
        r->view_devices[d].queued_ns = 0;
        go_on(r, view, d);
    }
}

/* The policy is told as if the job came now; what is committed already stays so. */
static void announce(struct rehearsal *r, struct sy_scheduler *policy, uint32_t job) {
    const struct sy_view_job *j = &r->jobs[job];
    if (policy->ops->job_arrived) {
        policy->ops->job_arrived(policy, &r->view, job);
    }
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        if (r->state[t] > SY_TASK_READY) {
            continue;
        }
        uint32_t device = r->device[t];
        r->state[t] = r->pending[t] ? SY_TASK_WAITING : SY_TASK_READY;
        if (device != SY_NONE) {
            commit(r, t, device, r->committed ? r->committed[t] : 0,
                   r->promised_ns ? r->promised_ns[t] : sy_estimate_time_ns(&r->view, t, device));
        } else if (!r->pending[t] && policy->ops->task_ready) {
            policy->ops->task_ready(policy, &r->view, t);
        }
    }
}

/* --- running -----------------------------------------------------------------------------------
 */
static void ask(struct rehearsal *r, struct sy_scheduler *policy) {
    struct sy_decision decisions[BATCH];
    uint32_t count;
    do {
        count = policy->ops->decide(policy, &r->view, decisions, BATCH);
        for (uint32_t i = 0; i < count; i++) {
            const struct sy_decision *d = &decisions[i];
            if (d->kind == SY_RUN) {
                commit(r, d->task, d->device, d->priority, d->expected_ns);
            } else if (d->kind == SY_FETCH) {
                double inputs_ns = r->inputs_ns[d->task];
                request_inputs(r, d->task, SY_NONE, r->view.machine->devices[d->device].memory);
                r->inputs_ns[d->task] = inputs_ns;
            }
        }
    } while (count);
    r->news = false;
}

static uint32_t next_device(const struct rehearsal *r) {
    uint32_t next = 0;
    for (uint32_t d = 1; d < r->view.machine->device_count; d++) {
        next = r->devices[d].at_ns < r->devices[next].at_ns ? d : next;
    }
    return next;
}

/* All that happens at the next moment something does; false: nothing will. */
static bool step(struct rehearsal *r, struct sy_scheduler *policy) {
    if (r->speeds_stale) {
        share(r);
    }
    uint32_t device = next_device(r);
    double copy_ns = r->copy_count ? r->copies[0].at_ns : INFINITY;
    double now_ns = fmin(r->devices[device].at_ns, copy_ns);
    if (!isfinite(now_ns)) {
        return false;
    }
    r->view.now_ns = fmax(r->view.now_ns, now_ns);
    for (; r->devices[device].at_ns <= now_ns && r->tasks_left; device = next_device(r)) {
        device_event(r, policy, device);
    }
    while (r->copy_count && r->copies[0].at_ns <= now_ns) {
        struct stage_copy copy = pop_copy(r);
        uint64_t bit = UINT64_C(1) << copy.memory;
        r->news |= !copy.waited;
        if (!copy.stale) {
            r->valid[copy.datum] |= bit;
            r->inflight[copy.datum] &= ~bit;
        }
    }
    return true;
}

double sy_rehearsal_run(struct rehearsal *r, const struct sy_view *view, uint32_t job,
                        struct sy_scheduler *policy) {
    begin(r, view, job);
    announce(r, policy, job);
    ask(r, policy);
    while (r->tasks_left) {
        if (!step(r, policy)) {
            r->failed = true; /* what the policy still holds would spoil the next time */
            return INFINITY;
        }
        if (r->tasks_left && r->news) {
            ask(r, policy);
        }
    }
    return r->view.now_ns;
}
