/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy learned: late binding, corrected by a small network; its features, and their sums; see
 * learned.h. Work per event is a few dozen
 * multiplications: what belongs to a task alone is summed once when it becomes ready, what belongs
 * to a job once a round, and only pairs of task and device are looked at anew.
 */
#include "schedulers/late_binding.h"
#include <errno.h>
#include <string.h>

/* How much the most critical task of a job comes before its least, as a logarithm of jobs' keys: so
 * that the steps of training do not scramble the order of ranks within jobs. */
#define CRITICAL 0.5F

/* The least time in any ratio: tasks and jobs may take no time at all. */
static double at_least_ns(double ns) {
    return fmax(ns, 1);
}

static float clip(double x) {
    return (float)(x < LEARNED_FAR ? x : LEARNED_FAR);
}

/* 0 at 0, 1/2 at 1, 1 far away. */
static float squash(double x) {
    return (float)(x / (1 + x));
}

/* -1: far less than the other, 0: as much, 1: far more. */
static float against(double x, double other) {
    return x + other > 0 ? (float)((x - other) / (x + other)) : 0;
}

static float dot(const float *weights, const float *x, uint32_t count) {
    float sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += weights[i] * x[i];
    }
    return sum;
}

static bool take_tasks_and_jobs(struct learned *n, struct sy_arena *arena,
                                const struct sy_view *view) {
    size_t tasks = view->task_capacity + 1u, jobs = view->job_capacity + 1u;
    n->task_sum = sy_arena_alloc(arena, tasks, sizeof *n->task_sum);
    n->task_loaded = sy_arena_alloc(arena, tasks, sizeof *n->task_loaded);
    n->task_alone = sy_arena_alloc(arena, tasks, sizeof *n->task_alone);
    n->out_ns = sy_arena_alloc(arena, tasks, sizeof *n->out_ns);
    n->wanted_kind = sy_arena_alloc(arena, tasks, sizeof *n->wanted_kind);
    n->jobs = sy_arena_alloc(arena, jobs, sizeof *n->jobs);
    n->job_rank = sy_arena_alloc(arena, jobs, sizeof *n->job_rank);
    n->job_work = sy_arena_alloc(arena, jobs, sizeof *n->job_work);
    n->job_size = sy_arena_alloc(arena, jobs, sizeof *n->job_size);
    n->job_term = sy_arena_alloc(arena, jobs, sizeof *n->job_term);
    n->job_short = sy_arena_alloc(arena, jobs, sizeof *n->job_short);
    n->job_round = sy_arena_alloc(arena, jobs, sizeof *n->job_round);
    bool of_tasks = n->task_sum && n->task_loaded && n->task_alone && n->out_ns && n->wanted_kind;
    return of_tasks && n->jobs && n->job_rank && n->job_work && n->job_size && n->job_term &&
           n->job_short && n->job_round;
}

int sy_learned_init(struct learned *n, const struct policy *policy, const struct sy_view *view) {
    struct sy_arena *arena = policy->arena;
    const struct sy_machine *m = view->machine;
    size_t devices = m->device_count;
    n->kernel_ready = sy_arena_alloc(arena, view->kernel_count + 1u, sizeof *n->kernel_ready);
    n->efficiency_sum = sy_arena_alloc(arena, m->class_count, sizeof *n->efficiency_sum);
    n->class_ready = sy_arena_alloc(arena, m->class_count, sizeof *n->class_ready);
    n->memory_use = sy_arena_alloc(arena, devices, sizeof *n->memory_use);
    n->link_use = sy_arena_alloc(arena, devices, sizeof *n->link_use);
    n->use_sd = sy_arena_alloc(arena, devices, sizeof *n->use_sd);
    bool of_devices = n->kernel_ready && n->efficiency_sum && n->class_ready && n->memory_use &&
                      n->link_use && n->use_sd;
    n->block = policy->weights->block;
    n->blind = (policy->without & SY_PART_BELIEF) != 0;
    return of_devices && take_tasks_and_jobs(n, arena, view) ? 0 : -ENOMEM;
}

/* --- jobs and tasks come and go ----------------------------------------------------------------
 */
void sy_learned_job_arrived(struct learned *n, const struct policy *policy,
                            const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    double longest = 0;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        longest = fmax(longest, policy->rank[t]);
    }
    n->jobs[n->present++] = job;
    n->job_rank[job] = (float)at_least_ns(longest);
    n->job_work[job] = (float)at_least_ns(j->work_left_ns);
    n->job_size[job] = (float)(j->work_left_ns / (j->task_count ? j->task_count : 1));
}

void sy_learned_job_left(struct learned *n, uint32_t job) {
    for (uint32_t i = 0; i < n->present; i++) {
        if (n->jobs[i] == job) {
            n->jobs[i] = n->jobs[--n->present];
            return;
        }
    }
}

/* Ready tasks, counted by kernel and by how well each class suits them. */
static void count_ready(struct learned *n, const struct sy_view *view, uint32_t task, int sign) {
    uint32_t classes = view->machine->class_count;
    const double *time_ns = &view->time_ns[(size_t)task * classes];
    n->ready_count += (uint32_t)sign;
    n->kernel_ready[view->task_kernel[task]] += (uint32_t)sign;
    for (uint32_t c = 0; c < classes; c++) {
        if (isfinite(time_ns[c])) {
            n->class_ready[c] += (uint32_t)sign;
            n->efficiency_sum[c] +=
                sign * at_least_ns(view->best_ns[task]) / at_least_ns(time_ns[c]);
        }
    }
}

static uint32_t best_class(const struct sy_view *view, uint32_t task) {
    uint32_t classes = view->machine->class_count, best = 0;
    const double *time_ns = &view->time_ns[(size_t)task * classes];
    for (uint32_t c = 1; c < classes; c++) {
        best = time_ns[c] < time_ns[best] ? c : best;
    }
    return best;
}

/* What waits for it: tasks that its end makes ready, and where its results will be wanted. */
static float look_ahead(struct learned *n, const struct policy *policy, const struct sy_view *view,
                        uint32_t task) {
    uint32_t freed = 0, first = SY_NONE;
    double out_ns = 0;
    for (uint32_t e = view->succ_start[task]; e < view->succ_start[task + 1]; e++) {
        uint32_t next = view->succ[e], open = 0;
        for (uint32_t i = view->pred_start[next]; i < view->pred_start[next + 1] && open < 2; i++) {
            open += view->task_state[view->pred[i]] != SY_TASK_DONE;
        }
        freed += open < 2;
        out_ns += sy_rank_edge_ns(policy, view, task, next);
        first = first == SY_NONE || policy->rank[next] > policy->rank[first] ? next : first;
    }
    n->out_ns[task] = (float)out_ns;
    uint32_t of = first == SY_NONE ? task : first;
    n->wanted_kind[task] = (uint8_t)view->machine->classes[best_class(view, of)].kind;
    return squash(freed / 2.0);
}

static void task_features(struct learned *n, const struct policy *policy,
                          const struct sy_view *view, uint32_t task, float *ret_x) {
    const struct sy_machine *m = view->machine;
    const double *time_ns = &view->time_ns[(size_t)task * m->class_count];
    uint32_t job = view->task_job[task], best = best_class(view, task);
    double second_ns = INFINITY, best_ns = at_least_ns(view->best_ns[task]);
    for (uint32_t c = 0; c < m->class_count; c++) {
        second_ns = c != best && time_ns[c] < second_ns ? time_ns[c] : second_ns;
    }
    size_t at = (size_t)view->task_kernel[task] * m->class_count + best;
    ret_x[0] = (float)policy->rank[task] / n->job_rank[job];
    ret_x[1] = squash((view->succ_start[task + 1] - view->succ_start[task]) / 4.0);
    ret_x[2] = against(best_ns, n->job_size[job]);
    ret_x[3] = 1 - (float)(best_ns / at_least_ns(second_ns));
    ret_x[4] = (float)fmin(view->log_sigma[at], 1);
    ret_x[5] = m->classes[best].kind != SY_CPU;
    ret_x[6] = look_ahead(n, policy, view, task);
}

void sy_learned_task_ready(struct learned *n, const struct policy *policy,
                           const struct sy_view *view, uint32_t task) {
    float x[LEARNED_TASK];
    count_ready(n, view, task, 1);
    task_features(n, policy, view, task, x);
    n->task_sum[task] = CRITICAL * x[0] + dot(n->block, x, LEARNED_TASK);
    n->task_loaded[task] = dot(n->block + LEARNED_FEATURES, x, LEARNED_TASK);
    n->task_alone[task] = dot(n->block + 2 * LEARNED_FEATURES, x, LEARNED_TASK);
}

void sy_learned_task_taken(struct learned *n, const struct sy_view *view, uint32_t task) {
    count_ready(n, view, task, -1);
}

/* --- once a round ------------------------------------------------------------------------------
 */
static void look_at_jobs(struct learned *n, const struct sy_view *view) {
    double left = 0, alone = 0;
    for (uint32_t i = 0; i < n->present; i++) {
        const struct sy_view_job *job = &view->jobs[n->jobs[i]];
        left += job->work_left_ns;
        alone += job->isolated_ns;
    }
    n->mean_left_ns = n->present ? left / n->present : 0;
    n->mean_alone_ns = n->present ? alone / n->present : 0;
}

static float use_of(const struct sy_view *view, uint32_t resource, float *sd) {
    if (resource == SY_NONE || view->readings[resource].at_ns < 0) {
        return 0;
    }
    const struct sy_reading *reading = &view->readings[resource];
    double capacity = view->machine->resources[resource].bytes_per_s;
    if (isfinite(reading->sd_bytes_per_s)) {
        *sd = fmaxf(*sd, (float)fmin(reading->sd_bytes_per_s / capacity, 1));
    }
    return (float)fmin(reading->bytes_per_s / capacity, 1);
}

static void look_at_belief(struct learned *n, const struct sy_view *view) {
    const struct sy_machine *m = view->machine;
    for (uint32_t d = 0; d < m->device_count; d++) {
        const struct sy_device *self = &m->devices[d];
        if (d && self->memory == m->devices[d - 1].memory &&
            self->host_memory == m->devices[d - 1].host_memory) {
            n->memory_use[d] = n->memory_use[d - 1];
            n->link_use[d] = n->link_use[d - 1];
            n->use_sd[d] = n->use_sd[d - 1];
            continue;
        }
        const struct sy_route *route =
            &m->routes[(size_t)self->host_memory * m->memory_count + self->memory];
        float sd = 0, link = 0;
        n->memory_use[d] = use_of(view, m->memories[self->memory].resource, &sd);
        for (uint32_t k = 0; k < route->resource_count; k++) {
            link = fmaxf(link, use_of(view, route->resources[k], &sd));
        }
        n->link_use[d] = link;
        n->use_sd[d] = sd;
    }
}

void sy_learned_look(struct learned *n, const struct sy_view *view, bool belief) {
    double devices = view->machine->device_count;
    n->round++;
    n->load = n->ready_count / (n->ready_count + devices);
    n->alone = n->present ? 1.0 / n->present : 1;
    const float *loaded = n->block + LEARNED_FEATURES, *alone = loaded + LEARNED_FEATURES;
    for (uint32_t i = 0; i < LEARNED_FEATURES; i++) {
        n->weights[i] = n->block[i] + (float)n->load * loaded[i] + (float)n->alone * alone[i];
    }
    look_at_jobs(n, view);
    if (view->readings && !n->blind && belief) {
        look_at_belief(n, view);
    }
}

static void look_at_job(struct learned *n, const struct policy *policy, const struct sy_view *view,
                        uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    float x[LEARNED_JOB];
    double alone = at_least_ns(j->isolated_ns);
    x[0] = against(j->work_left_ns, n->mean_left_ns);
    x[1] = against(j->isolated_ns, n->mean_alone_ns);
    x[2] = squash((view->now_ns - j->arrive_ns) / alone);
    x[3] = (float)j->work_left_ns / n->job_work[job];
    x[4] = squash(j->tasks_left / (double)view->machine->device_count);
    x[5] = squash(fmax(policy->service_ns[job] - policy->served_ns, 0) / alone);
    n->job_short[job] = x[0];
    n->job_term[job] = dot(n->weights + LEARNED_TASK, x, LEARNED_JOB);
    n->job_round[job] = n->round;
}

double sy_learned_priority(struct learned *n, const struct policy *policy,
                           const struct sy_view *view, uint32_t task) {
    uint32_t job = view->task_job[task];
    if (n->job_round[job] != n->round) {
        look_at_job(n, policy, view, job);
    }
    return n->job_term[job] + n->task_sum[task] + (float)n->load * n->task_loaded[task] +
           (float)n->alone * n->task_alone[task];
}

/* --- a task on a device ------------------------------------------------------------------------
 */
/* How well a class suits what is ready, on average. */
static float usual_of(const struct learned *n, uint32_t class_index) {
    double ready = n->class_ready[class_index];
    return ready > 0 ? (float)(n->efficiency_sum[class_index] / ready) : 0;
}

/* Places of those features of a pair that change while a task waits. */
enum {
    WAIT = 4,
    SLOWED,
    HARM,
    MEMORY_USE = 7,
    LINK_USE,
    USE_SD,
    SUITED = 16,
    CROWD,
    JOB_SHORT = 19,
    HELD,
    CRITICAL_WAIT
};

static void pair_features(const struct learned *n, const struct policy *policy,
                          const struct sy_view *view, uint32_t task, uint32_t device,
                          const struct learned_terms *t, float *ret_x) {
    const struct sy_machine *m = view->machine;
    const struct sy_device *self = &m->devices[device];
    uint32_t c = self->class_index, kernel = view->task_kernel[task], job = view->task_job[task];
    double least = 1 / at_least_ns(view->best_ns[task]);
    double excess = at_least_ns(t->alone_ns) * least - 1, ready = n->class_ready[c];
    double image_ns = t->exec_ns - t->alone_ns * t->slowdown;
    float slow = clip(excess), travel = clip(t->travel_ns * least);
    float crit = (float)policy->rank[task] / n->job_rank[job];
    float usual = usual_of(n, c);
    bool fpga = self->board != SY_NONE;
    const float x[LEARNED_PAIR] = {
        slow,
        squash(excess),
        travel,
        squash(travel),
        clip(t->wait_ns * least),
        clip((t->slowdown - 1) * t->alone_ns * least),
        clip(t->harm_ns * least),
        n->memory_use[device],
        n->link_use[device],
        n->use_sd[device],
        self->kind == SY_CPU,
        self->kind == SY_GPU,
        fpga,
        fpga ? clip(fmax(image_ns, 0) * least) : 0,
        fpga ? squash(n->kernel_ready[kernel]) : 0,
        crit * slow,
        (float)(1 / (1 + excess)) - usual,
        squash(ready / m->classes[c].device_count) * slow,
        (float)fmin(view->log_sigma[(size_t)kernel * m->class_count + c], 1),
        n->job_short[job] * slow,
        (float)t->held / 4,
        crit * clip(t->wait_ns * least),
        self->kind != n->wanted_kind[task] ? clip(n->out_ns[task] * least) : 0,
    };
    memcpy(ret_x, x, sizeof x);
}

double sy_learned_score(const struct learned *n, const struct policy *policy,
                        const struct sy_view *view, uint32_t task, uint32_t device,
                        const struct learned_terms *t) {
    float x[LEARNED_PAIR];
    pair_features(n, policy, view, task, device, t, x);
    return dot(n->weights + LEARNED_TASK + LEARNED_JOB, x, LEARNED_PAIR);
}

void sy_learned_parts(const struct learned *n, const struct policy *policy,
                      const struct sy_view *view, uint32_t task, uint32_t device,
                      const struct learned_terms *t, struct learned_parts *ret) {
    const float *block = n->block + LEARNED_TASK + LEARNED_JOB;
    float x[LEARNED_PAIR];
    pair_features(n, policy, view, task, device, t, x);
    x[SUITED] += usual_of(n, view->machine->devices[device].class_index);
    x[WAIT] = x[SLOWED] = x[HARM] = 0;
    x[MEMORY_USE] = x[LINK_USE] = x[USE_SD] = 0;
    x[CROWD] = x[JOB_SHORT] = x[HELD] = x[CRITICAL_WAIT] = 0;
    *ret = (struct learned_parts){.slow = x[0]};
    for (uint32_t i = 0; i < LEARNED_PAIR; i++) {
        ret->sum += block[i] * x[i];
        ret->loaded += block[LEARNED_FEATURES + i] * x[i];
        ret->lonely += block[2 * LEARNED_FEATURES + i] * x[i];
    }
}

struct learned_group sy_learned_group(const struct learned *n, const struct sy_view *view,
                                      uint32_t device) {
    const float *weights = n->weights + LEARNED_TASK + LEARNED_JOB;
    uint32_t c = view->machine->devices[device].class_index;
    double ready = n->class_ready[c];
    return (struct learned_group){
        .slow = weights[CROWD] * squash(ready / view->machine->classes[c].device_count),
        .more = weights[MEMORY_USE] * n->memory_use[device] +
                weights[LINK_USE] * n->link_use[device] + weights[USE_SD] * n->use_sd[device] -
                weights[SUITED] * usual_of(n, c)};
}

struct learned_slopes sy_learned_slopes(const struct learned *n, uint32_t job, float critical) {
    const float *weights = n->weights + LEARNED_TASK + LEARNED_JOB;
    return (struct learned_slopes){.slow = weights[JOB_SHORT] * n->job_short[job],
                                   .wait = weights[WAIT] + critical * weights[CRITICAL_WAIT],
                                   .held = weights[HELD] / 4,
                                   .slowed = weights[SLOWED],
                                   .harm = weights[HARM]};
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
                                         SY_PART_BELIEF | SY_PART_GUARD | SY_PART_NET},
    .init = init_learned,
    .finish = sy_policy_finish,
    .job_arrived = sy_late_job_arrived,
    .job_left = sy_late_job_left,
    .task_ready = sy_late_task_ready,
    .task_done = sy_late_task_done,
    .decide = sy_late_decide};
