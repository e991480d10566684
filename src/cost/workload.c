/* SPDX-License-Identifier: Apache-2.0
 *
 * Workload: graphs of many jobs laid flat on one machine, with the time of every task on every
 * class of device. In: sealed graphs, a machine, cost sources. Out: constant arrays that the
 * simulator, the schedulers and the bounds share. Never knows: noise, contention, who decides.
 * Invariant: every task can run on at least one class.
 */
#include "cost/cost.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct build {
    struct sy_workload *w;
    const struct sy_workload_options *options;
    struct sy_error *error;
    struct sy_map kernels;              /* name -> first global kernel of that name */
    uint32_t *kernel_next;              /* next kernel of the same name */
    const struct sy_kernel **kernel_of; /* global kernel -> one graph's definition */
    uint32_t *local_kernel;             /* of the graph at hand -> global */
};

static int by_arrival(const void *a, const void *b) {
    const struct sy_job *x = a, *y = b;
    return SY_ORDER(x->arrive_ns, y->arrive_ns);
}

struct totals {
    uint64_t tasks, data, accesses, edges, kernels;
};

/* Sums over all jobs; false if they are more than a workload may hold. */
static bool count_all(struct sy_workload *w, struct totals *ret) {
    struct totals sum = {0};
    for (uint32_t j = 0; j < w->job_count; j++) {
        const struct sy_graph *graph = w->jobs[j].graph;
        sum.tasks += graph->task_count;
        sum.data += graph->data_count;
        sum.accesses += graph->access_count;
        sum.edges += graph->edge_count;
        sum.kernels += graph->kernel_count;
    }
    *ret = sum;
    w->task_count = (uint32_t)sum.tasks;
    w->data_count = (uint32_t)sum.data;
    w->access_count = (uint32_t)sum.accesses;
    const uint64_t many = 20 * (uint64_t)SY_GRAPH_TASK_MAX;
    return sum.tasks <= SY_GRAPH_TASK_MAX && sum.data <= many && sum.accesses <= many &&
           sum.edges <= many && sum.kernels <= SY_GRAPH_TASK_MAX;
}

/* Joined by & rather than &&: nothing depends on the order, and all failures are alike. */
#define TAKE(field, count)                                                                         \
    ((int)((w->field = sy_arena_alloc(w->arena, (count), sizeof *w->field)) != NULL))

static bool allocate(struct sy_workload *w, uint32_t kernels, uint64_t edges) {
    size_t tasks = w->task_count, pairs = (size_t)kernels * w->class_count;
    return TAKE(job_first_task, w->job_count + 1u) & TAKE(job_isolated_ns, w->job_count) &
           TAKE(task_job, tasks) & TAKE(task_kernel, tasks) & TAKE(succ_start, tasks + 1) &
           TAKE(succ, edges + 1) & TAKE(pred_start, tasks + 1) & TAKE(pred, edges + 1) &
           TAKE(access_start, tasks + 1) & TAKE(access_producer, w->access_count + 1u) &
           TAKE(access, w->access_count + 1u) & TAKE(order, tasks + 1) &
           TAKE(time_ns, tasks * w->class_count + 1) & TAKE(best_ns, tasks + 1) &
           TAKE(kernel_names, kernels + 1u) & TAKE(kernel_interference, kernels + 1u) &
           TAKE(log_sigma, pairs + 1) & TAKE(demand_bytes_per_s, pairs + 1) &
           TAKE(link_demand_bytes_per_s, pairs + 1) & TAKE(watts, pairs + 1) &
           TAKE(image_ns, (size_t)kernels * w->machine->board_count + 1) &
           TAKE(data_bytes, w->data_count + 1u) & TAKE(data_home, w->data_count + 1u);
}

static void fill_kernel(struct sy_workload *w, uint32_t index, const struct sy_kernel *kernel) {
    const struct sy_machine *m = w->machine;
    w->kernel_names[index] = kernel->name;
    w->kernel_interference[index] = kernel->interference ? kernel->interference : kernel->name;
    for (uint32_t c = 0; c < w->class_count; c++) {
        const struct sy_variant *variant = &kernel->variants[m->classes[c].kind];
        size_t at = (size_t)index * w->class_count + c;
        w->log_sigma[at] = variant->log_sigma;
        w->demand_bytes_per_s[at] = variant->demand_bytes_per_s * m->classes[c].speed_ratio;
        w->link_demand_bytes_per_s[at] =
            variant->link_demand_bytes_per_s * m->classes[c].speed_ratio;
        w->watts[at] = variant->watts;
    }
    for (uint32_t b = 0; b < m->board_count; b++) {
        double bytes = kernel->variants[SY_FPGA].image_bytes;
        bytes = bytes > 0 ? bytes : m->boards[b].image_bytes;
        w->image_ns[(size_t)index * m->board_count + b] =
            bytes / m->boards[b].port_bytes_per_s * 1e9 + m->boards[b].init_ns;
    }
}

static bool same_kernel(const struct sy_kernel *a, const struct sy_kernel *b) {
    const char *x = a->interference ? a->interference : a->name;
    const char *y = b->interference ? b->interference : b->name;
    for (uint32_t k = 0; k < SY_KIND_COUNT; k++) {
        const struct sy_variant *v = &a->variants[k], *u = &b->variants[k];
        if (v->present != u->present || v->log_sigma != u->log_sigma ||
            v->demand_bytes_per_s != u->demand_bytes_per_s ||
            v->link_demand_bytes_per_s != u->link_demand_bytes_per_s || v->watts != u->watts ||
            v->image_bytes != u->image_bytes) {
            return false;
        }
    }
    return strcmp(x, y) == 0;
}

/* Kernels of one name and one nature are one kernel, whichever graph they come from. */
static int global_kernel(struct build *b, const struct sy_kernel *kernel, uint32_t *ret_index) {
    uint32_t first = SY_NONE, index;
    size_t length = strlen(kernel->name);
    if (sy_map_get(&b->kernels, kernel->name, length, &first)) {
        for (index = first; index != SY_NONE; index = b->kernel_next[index]) {
            if (same_kernel(b->kernel_of[index], kernel)) {
                *ret_index = index;
                return 0;
            }
        }
    }
    index = b->w->kernel_count++;
    b->kernel_of[index] = kernel;
    b->kernel_next[index] = SY_NONE;
    fill_kernel(b->w, index, kernel);
    *ret_index = index;
    if (first == SY_NONE) {
        return sy_map_put(&b->kernels, kernel->name, length, index);
    }
    b->kernel_next[index] = b->kernel_next[first];
    b->kernel_next[first] = index;
    return 0;
}

static double class_time(const struct build *b, const struct sy_job *job, uint32_t task,
                         uint32_t class_index, bool cpu_only) {
    const struct sy_device_class *class = &b->w->machine->classes[class_index];
    const struct sy_graph *graph = job->graph;
    const char *kernel = graph->kernels[graph->tasks[task].kernel].name;
    const double *given = job->time_ns;
    if (given && !isnan(given[(size_t)task * b->w->class_count + class_index])) {
        return given[(size_t)task * b->w->class_count + class_index];
    }
    if (b->options->store) {
        uint32_t parts = graph->tasks[task].part_count > 1 ? graph->tasks[task].part_count : 1;
        const double sizes[SY_SIZES] = {[SY_FLOPS] = graph->tasks[task].work};
        const struct sy_features features = {.values = sizes};
        struct sy_estimate estimate =
            sy_estimate(b->options->store, kernel, class->name, &features);
        if (estimate.source == SY_COST_UNKNOWN) {
            estimate =
                sy_estimate(b->options->store, kernel, sy_device_kind_name(class->kind), &features);
            estimate.median_ns /= class->speed_ratio;
        }
        if (estimate.source != SY_COST_UNKNOWN) {
            double more_ns = (parts - 1) * graph->kernels[graph->tasks[task].kernel].part_ns;
            return (estimate.median_ns + more_ns) / parts; /* the whole is what was measured */
        }
    }
    if (cpu_only && b->options->accelerate && class->kind != SY_CPU) {
        return sy_graph_time_ns(graph, task, SY_CPU) /
               sy_cost_accelerate(b->options->accelerate_seed, kernel, class->kind) /
               class->speed_ratio;
    }
    return sy_graph_time_ns(graph, task, class->kind) / class->speed_ratio;
}

static int fill_times(struct build *b, const struct sy_job *job, uint32_t task, uint32_t global) {
    struct sy_workload *w = b->w;
    const struct sy_graph *graph = job->graph;
    bool cpu_only = isfinite(sy_graph_time_ns(graph, task, SY_CPU));
    for (uint32_t k = SY_CPU + 1; k < SY_KIND_COUNT; k++) {
        cpu_only &= !isfinite(sy_graph_time_ns(graph, task, (enum sy_device_kind)k));
    }
    w->best_ns[global] = INFINITY;
    for (uint32_t c = 0; c < w->class_count; c++) {
        double time = class_time(b, job, task, c, cpu_only);
        w->time_ns[(size_t)global * w->class_count + c] = time;
        w->best_ns[global] = time < w->best_ns[global] ? time : w->best_ns[global];
    }
    if (isfinite(w->best_ns[global])) {
        return 0;
    }
    char name[64];
    const struct sy_kernel *kernel = &graph->kernels[graph->tasks[task].kernel];
    sy_fail(b->error, -EINVAL, "%s of graph %s (kernel %s) can run on no device of machine %s",
            sy_graph_task_name(graph, (sy_task_id){task}, name), graph->name, kernel->name,
            w->machine->name);
    return sy_hint(b->error,
                   "add a device of a kind that the kernel has a variant for, or a variant");
}

static void copy_edges(struct sy_workload *w, const struct sy_graph *graph, uint32_t first,
                       uint32_t edge) {
    for (uint32_t t = 0; t < graph->task_count; t++) {
        w->succ_start[first + t + 1] = edge + graph->succ_start[t + 1];
        w->pred_start[first + t + 1] = edge + graph->pred_start[t + 1];
    }
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        w->succ[edge + e] = first + graph->succ[e];
        w->pred[edge + e] = first + graph->pred[e];
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        w->order[first + t] = first + graph->order[t];
    }
}

static void copy_data(struct sy_workload *w, const struct sy_graph *graph, uint32_t first,
                      uint32_t datum, uint32_t access) {
    uint32_t hosts[SY_MEMORY_MAX], host_count = 0;
    for (uint32_t m = 0; m < w->machine->memory_count; m++) {
        if (w->machine->memories[m].host) {
            hosts[host_count++] = m;
        }
    }
    for (uint32_t d = 0; d < graph->data_count; d++) {
        w->data_bytes[datum + d] = graph->data_bytes[d];
    }
    for (uint32_t a = 0; a < graph->access_count; a++) {
        struct sy_access from = graph->accesses[a];
        uint32_t producer = graph->access_producer[a], d = datum + from.datum;
        w->access[access + a] = (struct sy_access){d, from.mode};
        w->access_producer[access + a] = producer == SY_NONE ? SY_NONE : first + producer;
        if (producer == SY_NONE && (from.mode & SY_READ)) {
            w->data_home[d] = UINT64_C(1) << hosts[from.datum % host_count];
        }
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        w->access_start[first + t + 1] = access + graph->tasks[t + 1].access_start;
    }
}

static int add_job(struct build *b, uint32_t job, uint32_t *first, uint32_t *datum,
                   uint32_t *access, uint32_t *edge) {
    struct sy_workload *w = b->w;
    const struct sy_graph *graph = w->jobs[job].graph;
    for (uint32_t k = 0; k < graph->kernel_count; k++) {
        int code = global_kernel(b, &graph->kernels[k], &b->local_kernel[k]);
        if (code) {
            return code;
        }
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        w->task_job[*first + t] = job;
        w->task_kernel[*first + t] = b->local_kernel[graph->tasks[t].kernel];
        int code = fill_times(b, &w->jobs[job], t, *first + t);
        if (code) {
            return code;
        }
    }
    copy_edges(w, graph, *first, *edge);
    copy_data(w, graph, *first, *datum, *access);
    *first += graph->task_count;
    *datum += graph->data_count;
    *access += graph->access_count;
    *edge += graph->edge_count;
    w->job_first_task[job + 1] = *first;
    return 0;
}

/* A stream repeats few graphs in many jobs: each graph is measured once. The map is keyed by the
 * bytes of the graph's address. */
static int fill_isolated(struct sy_workload *w) {
    struct sy_map jobs = {0};
    int code = 0;
    for (uint32_t j = 0; !code && j < w->job_count; j++) {
        const char *key = (const char *)&w->jobs[j].graph;
        uint32_t like = SY_NONE;
        if (sy_map_get(&jobs, key, sizeof w->jobs[j].graph, &like)) {
            w->job_isolated_ns[j] = w->job_isolated_ns[like];
        } else {
            w->job_isolated_ns[j] = sy_cost_isolated_ns(w, j);
            code = sy_map_put(&jobs, key, sizeof w->jobs[j].graph, j);
        }
    }
    sy_map_finish(&jobs);
    return code;
}

static int fill(struct build *b, uint32_t kernels) {
    struct sy_workload *w = b->w;
    b->kernel_next = calloc(kernels + 1u, sizeof *b->kernel_next);
    b->kernel_of = calloc(kernels + 1u, sizeof *b->kernel_of);
    b->local_kernel = calloc(kernels + 1u, sizeof *b->local_kernel);
    int code = b->kernel_next && b->kernel_of && b->local_kernel ? 0 : -ENOMEM;
    uint32_t first = 0, datum = 0, access = 0, edge = 0;
    for (uint32_t j = 0; !code && j < w->job_count; j++) {
        code = add_job(b, j, &first, &datum, &access, &edge);
    }
    code = code ? code : fill_isolated(w);
    sy_map_finish(&b->kernels);
    free(b->kernel_next);
    free(b->kernel_of);
    free(b->local_kernel);
    return code == -ENOMEM ? sy_fail(b->error, code, "out of memory") : code;
}

int sy_workload_create(const struct sy_machine *machine, const struct sy_job *jobs,
                       uint32_t job_count, const struct sy_workload_options *options,
                       struct sy_workload **ret_workload, struct sy_error *error) {
    static const struct sy_workload_options none = {0};
    struct sy_arena *arena = sy_arena_create();
    struct sy_workload *w = arena ? sy_arena_alloc(arena, 1, sizeof *w) : NULL;
    if (!w || !(w->jobs = sy_arena_alloc(arena, job_count + 1u, sizeof *w->jobs))) {
        sy_arena_destroy(arena);
        return sy_out_of_memory(error);
    }
    w->arena = arena;
    w->machine = machine;
    w->job_count = job_count;
    w->class_count = machine->class_count;
    memcpy(w->jobs, jobs, job_count * sizeof *jobs);
    qsort(w->jobs, job_count, sizeof *jobs, by_arrival);
    struct totals sum;
    if (!count_all(w, &sum)) {
        sy_arena_destroy(arena);
        sy_fail(error, -E2BIG, "%llu tasks in %u jobs are more than a workload can have",
                (unsigned long long)sum.tasks, job_count);
        sy_hint(error, "at most %u tasks: use fewer jobs or smaller graphs", SY_GRAPH_TASK_MAX);
        return -E2BIG;
    }
    struct build b = {.w = w, .options = options ? options : &none, .error = error};
    int code = allocate(w, (uint32_t)sum.kernels, sum.edges)
                   ? fill(&b, (uint32_t)sum.kernels)
                   : sy_fail(error, -ENOMEM, "out of memory for %u tasks", w->task_count);
    if (code) {
        sy_arena_destroy(arena);
        return code;
    }
    *ret_workload = w;
    return 0;
}

void sy_workload_destroy(struct sy_workload *workload) {
    if (workload) {
        sy_arena_destroy(workload->arena);
    }
}

const struct sy_task *sy_workload_task(const struct sy_workload *w, uint32_t task) {
    uint32_t job = w->task_job[task];
    return &w->jobs[job].graph->tasks[task - w->job_first_task[job]];
}

const char *sy_workload_task_name(const struct sy_workload *w, uint32_t task, char *buffer,
                                  size_t size) {
    char name[64];
    uint32_t job = w->task_job[task];
    sy_task_id local = {task - w->job_first_task[job]};
    const char *text = sy_graph_task_name(w->jobs[job].graph, local, name);
    if (w->job_count > 1) {
        snprintf(buffer, size, "job %u/%s", job, text);
    } else {
        snprintf(buffer, size, "%s", text);
    }
    return buffer;
}
