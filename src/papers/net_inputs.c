/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of the papers' network, made from a view (a frame): the machine as a graph labelled
 * with what is believed of it, the tasks ahead, and the actions that are legal now.
 *
 * The papers give no features (supplement, tables 1 and 2 have sizes only): these are ours. Times
 * are relative to the mean of what can be chosen, bytes to capacities, so that nothing depends on
 * units; everything lies in [-1,1].
 */
#include "papers/symphony_paper.h"
#include <errno.h>
#include <string.h>

/* [0,inf) -> [0,1). */
static float squash(double x) {
    return x > 0 ? (float)(isfinite(x) ? x / (1 + x) : 1) : 0;
}

static float clip(double x) {
    return isfinite(x) ? (float)fmin(fmax(x, -1), 1) : 0;
}

/* --- the machine as a graph: edges never change --------------------------------------------------
 */
enum { EDGE_OWN, EDGE_BESIDE, EDGE_MEMORY, EDGE_ROUTE, EDGE_SPEED };

static uint32_t resource_vertex(const struct sy_machine *m, uint32_t resource) {
    return m->device_count + m->memory_count + resource;
}

static uint32_t most_edges(const struct sy_machine *m) {
    uint32_t routes = m->memory_count * m->memory_count * (SY_ROUTE_MAX + 1);
    return 2 * (2 * m->device_count + m->memory_count + routes);
}

static double fastest(const struct sy_machine *m) {
    double most = 1;
    for (uint32_t r = 0; r < m->resource_count; r++) {
        double rate = m->resources[r].bytes_per_s;
        most = isfinite(rate) && rate > most ? rate : most;
    }
    return most;
}

/* Both ways, once. */
static void join(struct paper *p, uint32_t a, uint32_t b, uint32_t kind, double speed_ratio) {
    uint32_t *count = &p->frame.edge_count;
    for (uint32_t e = 0; e < *count; e++) {
        if (p->edge_from[e] == a && p->edge_to[e] == b) {
            return;
        }
    }
    for (uint32_t way = 0; way < 2; way++) {
        float *label = p->edges + (size_t)*count * SY_PAPER_EDGE;
        p->edge_from[*count] = way ? b : a;
        p->edge_to[*count] = way ? a : b;
        memset(label, 0, SY_PAPER_EDGE * sizeof *label);
        label[kind] = 1;
        label[EDGE_SPEED] = clip(1 + log10(fmax(speed_ratio, 1e-3)) / 3);
        ++*count;
    }
}

static void join_route(struct paper *p, const struct sy_machine *m, uint32_t from, uint32_t to,
                       double most) {
    const struct sy_route *route = &m->routes[from * m->memory_count + to];
    double speed = route->bytes_per_s / most;
    uint32_t before = m->device_count + from, end = m->device_count + to;
    for (uint32_t i = 0; i < route->resource_count; i++) {
        uint32_t next = resource_vertex(m, route->resources[i]);
        if (next != before) {
            join(p, before, next, EDGE_ROUTE, speed);
        }
        before = next;
    }
    if (before != end && route->resource_count) {
        join(p, before, end, EDGE_ROUTE, speed);
    }
}

static void join_machine(struct paper *p, const struct sy_machine *m) {
    double most = fastest(m);
    for (uint32_t i = 0; i < m->memory_count; i++) {
        uint32_t r = m->memories[i].resource;
        if (r != SY_NONE) {
            join(p, m->device_count + i, resource_vertex(m, r), EDGE_MEMORY,
                 m->resources[r].bytes_per_s / most);
        }
    }
    for (uint32_t d = 0; d < m->device_count; d++) {
        join(p, d, m->device_count + m->devices[d].memory, EDGE_OWN, 1);
        for (uint32_t e = d + 1; e < m->device_count; e++) { /* each with the next of its group */
            if (m->devices[e].group == m->devices[d].group) {
                join(p, d, e, EDGE_BESIDE, 1);
                break;
            }
        }
    }
    for (uint32_t i = 0; i < m->memory_count * m->memory_count; i++) {
        if (i / m->memory_count != i % m->memory_count) {
            join_route(p, m, i / m->memory_count, i % m->memory_count, most);
        }
    }
}

#define TAKE(field, count)                                                                         \
    ((int)((p->field = sy_arena_alloc(p->base.arena, (size_t)(count), sizeof *p->field)) != NULL))

int sy_paper_frame_init(struct paper *p, const struct sy_view *view) {
    const struct sy_machine *m = view->machine;
    uint32_t edges = most_edges(m), devices = m->device_count;
    uint32_t vertices = devices + m->memory_count + m->resource_count;
    size_t tasks = view->task_capacity + 1u;
    int taken = TAKE(ready, tasks) & TAKE(inside, tasks) & TAKE(window_of, tasks) &
                TAKE(held, devices) & TAKE(last_task, devices) & TAKE(configuring, devices) &
                TAKE(like, devices) & TAKE(prepared, devices) & TAKE(edge_from, edges) &
                TAKE(edge_to, edges) & TAKE(edges, (size_t)edges * SY_PAPER_EDGE) &
                TAKE(link_from, PAPER_LINKS) & TAKE(link_to, PAPER_LINKS) &
                TAKE(links, PAPER_LINKS * SY_PAPER_LINK) &
                TAKE(vertices, (size_t)vertices * SY_PAPER_VERTEX) & TAKE(global, SY_PAPER_GLOBAL) &
                TAKE(tasks, PAPER_TASKS * SY_PAPER_TASK) & TAKE(actions, PAPER_ACTIONS) &
                TAKE(candidates, PAPER_ACTIONS * SY_PAPER_CANDIDATE) & TAKE(taken, PAPER_ACTIONS) &
                TAKE(window, PAPER_TASKS);
    if (!taken) {
        return -ENOMEM;
    }
    memset(p->window_of, 0xff, tasks * sizeof *p->window_of);
    memset(p->last_task, 0xff, devices * sizeof *p->last_task);
    memset(p->configuring, 0xff, devices * sizeof *p->configuring);
    p->frame = (struct sy_paper_frame){.device_count = devices,
                                       .memory_count = m->memory_count,
                                       .resource_count = m->resource_count,
                                       .edge_from = p->edge_from,
                                       .edge_to = p->edge_to,
                                       .link_from = p->link_from,
                                       .link_to = p->link_to,
                                       .edges = p->edges,
                                       .vertices = p->vertices,
                                       .global = p->global,
                                       .tasks = p->tasks,
                                       .links = p->links,
                                       .candidates = p->candidates,
                                       .actions = p->actions};
    join_machine(p, m);
    return 0;
}

/* --- what can be decided -------------------------------------------------------------------------
 */
static void look_at_device(struct paper *p, const struct sy_view *view, uint32_t d) {
    const struct sy_view_device *v = &view->devices[d];
    uint32_t last = p->last_task[d];
    bool decided =
        last != SY_NONE && view->task_device[last] == d && view->task_state[last] <= SY_TASK_READY;
    uint32_t held = v->queue_length + (v->running != SY_NONE);
    if (v->lost || v->running != SY_NONE || v->image == p->configuring[d]) {
        p->configuring[d] = SY_NONE;
    }
    /* A world that takes time to carry a decision out shows it in the queue only later. */
    p->held[d] = decided && !v->queue_length ? held + 1 : held;
}

/* The first device that differs from this one in nothing that an action shows. */
static uint32_t first_like(const struct paper *p, const struct sy_view *view, uint32_t d) {
    const struct sy_machine *m = view->machine;
    for (uint32_t e = 0; e < d; e++) {
        if (p->like[e] == e && m->devices[e].class_index == m->devices[d].class_index &&
            m->devices[e].memory == m->devices[d].memory && p->held[e] == p->held[d] &&
            p->held[d] == 0 && !view->devices[e].lost && !view->devices[d].lost &&
            p->configuring[e] == p->configuring[d] &&
            view->devices[e].image == view->devices[d].image) {
            bool shared = m->group_count < m->device_count && m->devices[d].kind == SY_CPU;
            if (!shared) {
                return e;
            }
        }
    }
    return d;
}

static void count_kind(struct paper *p, const struct sy_view *view, uint32_t task) {
    uint32_t job = view->task_job[task], kernel = view->task_kernel[task];
    for (uint32_t k = 0; k < p->kind_count; k++) {
        struct paper_kind *kind = &p->kinds[k];
        if (kind->job == job && kind->kernel == kernel) {
            kind->count++;
            kind->task = p->base.rank[task] > p->base.rank[kind->task] ? task : kind->task;
            return;
        }
    }
    if (p->kind_count < PAPER_KINDS) {
        p->kinds[p->kind_count++] = (struct paper_kind){job, kernel, task, 1};
    }
}

static bool any_variant(const struct paper *p, const struct sy_view *view, uint32_t task) {
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        if (paper_open(p, view, d) && isfinite(sy_estimate_time_ns(view, task, d))) {
            return true;
        }
    }
    return false;
}

bool sy_paper_look(struct paper *p, const struct sy_view *view) {
    uint32_t kept = 0;
    bool open = false, could = false;
    p->kind_count = 0;
    for (uint32_t i = 0; i < p->ready_count; i++) {
        uint32_t task = p->ready[i];
        if (view->task_device[task] != SY_NONE || view->task_state[task] != SY_TASK_READY) {
            p->inside[task] = false;
        } else {
            p->ready[kept++] = task;
            count_kind(p, view, task);
        }
    }
    p->ready_count = kept;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        look_at_device(p, view, d);
        p->like[d] = first_like(p, view, d);
        open |= paper_open(p, view, d);
    }
    for (uint32_t k = 0; open && !could && k < p->kind_count; k++) {
        could = any_variant(p, view, p->kinds[k].task);
    }
    return could;
}

/* --- labels --------------------------------------------------------------------------------------
 */
static void label_resource(const struct paper *p, const struct sy_view *view, uint32_t r,
                           float *label) {
    const struct sy_reading *reading = view->readings ? &view->readings[r] : NULL;
    double capacity = view->machine->resources[r].bytes_per_s;
    bool without = p->base.without & SY_PART_BELIEF;
    if (!reading || !(capacity > 0) || !isfinite(capacity) || (without && view->posterior)) {
        label[SY_PAPER_STALE] = 1;
        return;
    }
    label[SY_PAPER_USE] = clip(reading->bytes_per_s / capacity);
    if (!p->black_box && !without) {
        label[SY_PAPER_USE_SD] = clip(reading->sd_bytes_per_s / capacity);
        label[SY_PAPER_OTHERS] = clip(reading->others_bytes_per_s / capacity);
    }
    label[SY_PAPER_STALE] =
        reading->at_ns < 0 ? 1 : squash((view->now_ns - reading->at_ns) / p->scale_ns);
}

enum { BUSY = 4, HELD, LEFT, LOST, CPU, GPU, FPGA, MEMORY, DRAM, WAY, INPUTS, SPEED };

static void label_device(const struct paper *p, const struct sy_view *view, uint32_t d,
                         float *label) {
    const struct sy_device *device = &view->machine->devices[d];
    double left_ns = sy_estimate_free_ns(view, d) - view->now_ns;
    label[BUSY] = p->held[d] > 0;
    label[HELD] = clip(p->held[d] / 2.0);
    label[LEFT] = view->devices[d].lost ? 0 : squash(left_ns / p->scale_ns);
    label[LOST] = view->devices[d].lost || p->configuring[d] != SY_NONE;
    label[device->kind == SY_CPU ? CPU : device->kind == SY_GPU ? GPU : FPGA] = 1;
    label[SPEED] = squash(device->speed_ratio);
}

/* The papers mark in the topology where inputs lie. */
static void label_inputs(const struct paper *p, const struct sy_view *view, float *vertices) {
    const struct sy_machine *m = view->machine;
    double bytes[SY_MEMORY_MAX] = {0}, all = 0;
    for (uint32_t k = 0; k < p->kind_count; k++) {
        uint32_t task = p->kinds[k].task;
        for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
            uint32_t datum = view->access[a].datum;
            if (!(view->access[a].mode & SY_READ) || !isfinite(view->data_bytes[datum])) {
                continue;
            }
            all += view->data_bytes[datum];
            for (uint64_t rest = view->data_valid[datum]; rest; rest &= rest - 1) {
                bytes[__builtin_ctzll(rest)] += view->data_bytes[datum];
            }
        }
    }
    for (uint32_t i = 0; i < m->memory_count && all > 0; i++) {
        vertices[(size_t)(m->device_count + i) * SY_PAPER_VERTEX + INPUTS] = clip(bytes[i] / all);
    }
}

static void label_machine(struct paper *p, const struct sy_view *view) {
    const struct sy_machine *m = view->machine;
    double most = fastest(m);
    memset(p->vertices, 0,
           (size_t)sy_paper_vertices(&p->frame) * SY_PAPER_VERTEX * sizeof *p->vertices);
    for (uint32_t d = 0; d < m->device_count; d++) {
        label_device(p, view, d, p->vertices + (size_t)d * SY_PAPER_VERTEX);
    }
    for (uint32_t i = 0; i < m->memory_count; i++) {
        p->vertices[(size_t)(m->device_count + i) * SY_PAPER_VERTEX + MEMORY] = 1;
    }
    for (uint32_t r = 0; r < m->resource_count; r++) {
        float *label = p->vertices + (size_t)resource_vertex(m, r) * SY_PAPER_VERTEX;
        label_resource(p, view, r, label);
        label[m->resources[r].kind == SY_RES_DRAM ? DRAM : WAY] = 1;
        label[SPEED] = clip(1 + log10(fmax(m->resources[r].bytes_per_s / most, 1e-3)) / 3);
    }
    label_inputs(p, view, p->vertices);
}

/* --- the tasks ahead -----------------------------------------------------------------------------
 */
static double kind_time_ns(const struct sy_view *view, uint32_t task, enum sy_device_kind kind) {
    const struct sy_machine *m = view->machine;
    double best = INFINITY;
    for (uint32_t c = 0; c < m->class_count; c++) {
        if (m->classes[c].kind == kind) {
            best = fmin(best, view->time_ns[(size_t)task * m->class_count + c]);
        }
    }
    return best;
}

/* 0: as fast as anywhere; 1: 256 times slower, or not at all. */
static float slower(double ns, double best_ns) {
    double ratio = best_ns > 0 ? ns / best_ns : 1;
    return isfinite(ns) ? clip(log2(fmax(ratio, 1)) / 8) : 1;
}

static void label_task(const struct paper *p, const struct sy_view *view, uint32_t task,
                       float *label) {
    const struct sy_view_job *job = &view->jobs[view->task_job[task]];
    double best_ns = view->best_ns[task], alone_ns = fmax(job->isolated_ns, 1e-9);
    uint32_t state = view->task_state[task];
    label[0] = state == SY_TASK_RUNNING;
    label[1] = state == SY_TASK_READY;
    label[2] = state == SY_TASK_WAITING;
    label[3] = squash(best_ns / p->scale_ns);
    label[4] = squash(p->base.rank[task] / alone_ns);
    label[5] = slower(kind_time_ns(view, task, SY_CPU), best_ns);
    label[6] = slower(kind_time_ns(view, task, SY_GPU), best_ns);
    label[7] = slower(kind_time_ns(view, task, SY_FPGA), best_ns);
    label[8] = squash(job->work_left_ns / alone_ns);
    label[9] = squash((view->now_ns - job->arrive_ns) / alone_ns);
    label[10] = clip((double)job->tasks_left / fmax(job->task_count, 1));
    label[11] = squash(view->succ_start[task + 1] - view->succ_start[task]);
}

static bool enter(struct paper *p, const struct sy_view *view, uint32_t task) {
    uint32_t *count = &p->frame.task_count;
    if (p->window_of[task] != SY_NONE || *count == PAPER_TASKS) {
        return p->window_of[task] != SY_NONE;
    }
    float *label = p->tasks + (size_t)*count * SY_PAPER_TASK;
    memset(label, 0, SY_PAPER_TASK * sizeof *label);
    label_task(p, view, task, label);
    p->window_of[task] = *count;
    p->window[(*count)++] = task;
    return true;
}

static void link_tasks(struct paper *p, uint32_t from, uint32_t to) {
    uint32_t *count = &p->frame.link_count;
    if (*count < PAPER_LINKS) {
        p->link_from[*count] = from;
        p->link_to[*count] = to;
        p->links[(size_t)*count * SY_PAPER_LINK] = from == to;
        p->links[(size_t)*count * SY_PAPER_LINK + 1] = from != to;
        ++*count;
    }
}

/* What runs, what could, and what comes after. GN2 sees edges alone, so that what runs or could
 * is joined with itself. */
static void look_ahead(struct paper *p, const struct sy_view *view) {
    uint32_t begin = 0;
    p->frame.task_count = p->frame.link_count = 0;
    for (uint32_t k = 0; k < p->kind_count; k++) {
        enter(p, view, p->kinds[k].task);
    }
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        if (view->devices[d].running != SY_NONE) {
            enter(p, view, view->devices[d].running);
        }
    }
    for (uint32_t i = 0; i < p->frame.task_count; i++) {
        link_tasks(p, i, i);
    }
    for (uint32_t depth = 0; depth < PAPER_DEPTH; depth++) {
        uint32_t end = p->frame.task_count;
        for (uint32_t i = begin; i < end; i++) {
            uint32_t task = p->window[i];
            for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
                if (enter(p, view, view->succ[e])) {
                    link_tasks(p, i, p->window_of[view->succ[e]]);
                }
            }
        }
        begin = end;
    }
    for (uint32_t i = 0; i < p->frame.task_count; i++) {
        p->window_of[p->window[i]] = SY_NONE;
    }
}

/* --- actions -------------------------------------------------------------------------------------
 */
static float *add_action(struct paper *p, enum sy_decision_kind kind, uint32_t task,
                         uint32_t device) {
    uint32_t at = p->frame.action_count++;
    float *label = p->candidates + (size_t)at * SY_PAPER_CANDIDATE;
    memset(label, 0, SY_PAPER_CANDIDATE * sizeof *label);
    p->actions[at] = (struct sy_paper_action){kind, task, device};
    return label;
}

/* Share of the jobs present that weighted shortest-first would serve before this one. */
static float job_place(const struct paper *p, const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *self = &view->jobs[job];
    double mine = self->work_left_ns * self->isolated_ns;
    uint32_t before = 0, seen = 0;
    for (uint32_t k = 0; k < p->kind_count; k++) {
        const struct sy_view_job *other = &view->jobs[p->kinds[k].job];
        before += other->work_left_ns * other->isolated_ns < mine;
        seen++;
    }
    return seen ? (float)before / (float)seen : 0;
}

static bool beside_busy(const struct paper *p, const struct sy_view *view, uint32_t device) {
    const struct sy_machine *m = view->machine;
    for (uint32_t d = 0; d < m->device_count; d++) {
        if (d != device && m->devices[d].group == m->devices[device].group && p->held[d]) {
            return true;
        }
    }
    return false;
}

static double demand_ratio(const struct sy_view *view, uint32_t task, uint32_t device) {
    const struct sy_machine *m = view->machine;
    uint32_t r = m->memories[m->devices[device].memory].resource;
    size_t at = (size_t)view->task_kernel[task] * m->class_count + m->devices[device].class_index;
    return r == SY_NONE ? 0 : view->demand_bytes_per_s[at] / m->resources[r].bytes_per_s;
}

static double finish_ns(const struct paper *p, const struct sy_view *view, uint32_t task,
                        uint32_t device, double *ret_exec_ns, double *ret_travel_ns) {
    double wait_ns = sy_estimate_free_ns(view, device) - view->now_ns;
    *ret_exec_ns = sy_estimate_exec_ns(&p->base, view, task, device);
    *ret_travel_ns = sy_estimate_inputs_ns(view, task, view->machine->devices[device].memory, NULL);
    return fmax(wait_ns, *ret_travel_ns) + *ret_exec_ns;
}

static void add_run(struct paper *p, const struct sy_view *view, const struct paper_kind *kind,
                    uint32_t device, double least_ns) {
    const struct sy_view_job *job = &view->jobs[kind->job];
    const struct sy_machine *m = view->machine;
    double exec_ns, travel_ns, alone_ns = fmax(job->isolated_ns, 1e-9);
    double until_ns = finish_ns(p, view, kind->task, device, &exec_ns, &travel_ns);
    float *label = add_action(p, SY_RUN, kind->task, device);
    bool region = m->devices[device].board != SY_NONE;
    label[0] = 1;
    label[3] = slower(exec_ns, view->best_ns[kind->task]);
    label[4] = squash(exec_ns / p->scale_ns);
    label[5] = squash(travel_ns / p->scale_ns);
    label[6] = squash((sy_estimate_free_ns(view, device) - view->now_ns) / p->scale_ns);
    label[7] = squash((until_ns - least_ns) / p->scale_ns);
    label[8] = job_place(p, view, kind->job);
    label[9] = squash(p->base.rank[kind->task] / alone_ns);
    label[10] = squash((view->now_ns - job->arrive_ns) / alone_ns);
    label[11] = squash(job->work_left_ns / alone_ns);
    label[12] = clip(demand_ratio(view, kind->task, device));
    label[13] = beside_busy(p, view, device);
    label[14] = region && view->devices[device].image != kind->kernel;
    label[15] = squash(kind->count / 4.0);
}

static void add_configure(struct paper *p, const struct sy_view *view,
                          const struct paper_kind *kind, uint32_t device) {
    const struct sy_machine *m = view->machine;
    uint32_t board = m->devices[device].board;
    double image_ns = view->image_ns[(size_t)kind->kernel * m->board_count + board];
    float *label = add_action(p, SY_RECONFIGURE, kind->kernel, device);
    label[1] = 1;
    label[3] = slower(sy_estimate_time_ns(view, kind->task, device), view->best_ns[kind->task]);
    label[4] = squash(image_ns / p->scale_ns);
    label[8] = job_place(p, view, kind->job);
    label[14] = view->devices[device].image != SY_NONE;
    label[15] = squash(kind->count / 4.0);
}

/* A region that holds nothing and does nothing takes an image ahead of its tasks; once for each
 * kernel, however many jobs have it. */
static bool may_configure(const struct paper *p, const struct sy_view *view, uint32_t k,
                          uint32_t device) {
    const struct paper_kind *kind = &p->kinds[k];
    if (view->machine->devices[device].board == SY_NONE || p->held[device] || p->prepared[device] ||
        view->devices[device].image == kind->kernel) {
        return false;
    }
    for (uint32_t i = 0; i < k; i++) {
        if (p->kinds[i].kernel == kind->kernel) {
            return false;
        }
    }
    return true;
}

static double least_finish_ns(const struct paper *p, const struct sy_view *view, uint32_t task) {
    double least = INFINITY, exec_ns, travel_ns;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        if (!view->devices[d].lost && p->like[d] == d &&
            isfinite(sy_estimate_time_ns(view, task, d))) {
            least = fmin(least, finish_ns(p, view, task, d, &exec_ns, &travel_ns));
        }
    }
    return least;
}

static void add_actions(struct paper *p, const struct sy_view *view) {
    uint32_t devices = view->machine->device_count;
    bool busy = false;
    p->frame.action_count = 0;
    for (uint32_t k = 0; k < p->kind_count; k++) {
        const struct paper_kind *kind = &p->kinds[k];
        double least_ns = least_finish_ns(p, view, kind->task);
        for (uint32_t d = devices; d-- > 0;) { /* accelerators come last there */
            if (!paper_open(p, view, d) || p->like[d] != d ||
                !isfinite(sy_estimate_time_ns(view, kind->task, d))) {
                continue;
            }
            if (p->frame.action_count + 3 <= PAPER_ACTIONS) {
                add_run(p, view, kind, d, least_ns);
            }
            if (p->frame.action_count + 2 <= PAPER_ACTIONS && may_configure(p, view, k, d)) {
                add_configure(p, view, kind, d);
            }
        }
    }
    for (uint32_t d = 0; d < devices; d++) {
        bool coming = p->held[d] || p->configuring[d] != SY_NONE;
        busy |= coming && !view->devices[d].lost;
    }
    if (busy) { /* otherwise nobody would ask again */
        float *label = add_action(p, SY_RUN, SY_NONE, SY_NONE);
        label[2] = 1;
    }
}

void sy_paper_frame(struct paper *p, const struct sy_view *view) {
    const struct sy_machine *m = view->machine;
    double sum_ns = 0, work_ns = 0;
    uint32_t busy = 0;
    for (uint32_t k = 0; k < p->kind_count; k++) {
        double best_ns = view->best_ns[p->kinds[k].task];
        sum_ns += isfinite(best_ns) ? best_ns : 0;
        work_ns += view->jobs[p->kinds[k].job].work_left_ns;
    }
    p->scale_ns = fmax(sum_ns / fmax(p->kind_count, 1), 1);
    for (uint32_t d = 0; d < m->device_count; d++) {
        busy += p->held[d] > 0;
    }
    label_machine(p, view);
    look_ahead(p, view);
    add_actions(p, view);
    p->global[0] = squash(p->ready_count / 8.0);
    p->global[1] = (float)busy / (float)m->device_count;
    p->global[2] = squash(p->jobs / 4.0);
    p->global[3] = squash(work_ns / p->scale_ns / (16.0 * m->device_count));
}
