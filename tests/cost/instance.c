/* SPDX-License-Identifier: Apache-2.0
 *
 * Workloads by hand. Times are set per class, data per edge; everything lives in one arena.
 */
#include "instance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define NEW(count, type) ((type *)checked(sy_arena_alloc(arena, (size_t)(count) + 1, sizeof(type))))

static void *checked(void *memory) {
    assert_non_null(memory);
    return memory;
}

static void make_machine(struct instance *instance, const struct instance_device *devices,
                         uint32_t device_count, double bytes_per_ns, double latency_ns) {
    struct sy_arena *arena = instance->arena;
    uint32_t class_count = 0, memory_count = 0;
    for (uint32_t d = 0; d < device_count; d++) {
        class_count =
            devices[d].class_index >= class_count ? devices[d].class_index + 1 : class_count;
        memory_count = devices[d].memory >= memory_count ? devices[d].memory + 1 : memory_count;
    }
    struct sy_device *device = NEW(device_count, struct sy_device);
    struct sy_device_class *classes = NEW(class_count, struct sy_device_class);
    struct sy_memory *memories = NEW(memory_count, struct sy_memory);
    struct sy_route *routes = NEW(memory_count * memory_count, struct sy_route);
    for (uint32_t d = 0; d < device_count; d++) {
        device[d] = (struct sy_device){.name = "device",
                                       .class_index = devices[d].class_index,
                                       .memory = devices[d].memory,
                                       .board = SY_NONE,
                                       .speed_ratio = 1};
        classes[devices[d].class_index].device_count++;
    }
    for (uint32_t m = 0; m < memory_count; m++) {
        memories[m] = (struct sy_memory){"memory", true, INFINITY, SY_NONE, 1};
        for (uint32_t to = 0; to < memory_count; to++) {
            routes[m * memory_count + to] =
                (struct sy_route){.latency_ns = latency_ns, .bytes_per_s = bytes_per_ns * 1e9};
        }
    }
    *instance->machine = (struct sy_machine){.name = "by hand",
                                             .device_count = device_count,
                                             .memory_count = memory_count,
                                             .class_count = class_count,
                                             .devices = device,
                                             .memories = memories,
                                             .classes = classes,
                                             .routes = routes};
}

void instance_init(struct instance *instance, const struct instance_device *devices,
                   uint32_t device_count, double bytes_per_ns, double latency_ns,
                   uint32_t task_count) {
    struct sy_arena *arena = checked(sy_arena_create());
    *instance = (struct instance){.arena = arena,
                                  .machine = NEW(1, struct sy_machine),
                                  .workload = NEW(1, struct sy_workload)};
    make_machine(instance, devices, device_count, bytes_per_ns, latency_ns);
    struct sy_workload *workload = instance->workload;
    workload->machine = instance->machine;
    workload->class_count = instance->machine->class_count;
    workload->task_count = task_count;
    workload->job_count = 1;
    workload->jobs = NEW(1, struct sy_job);
    workload->job_first_task = NEW(2, uint32_t);
    workload->job_first_task[1] = task_count;
    workload->task_job = NEW(task_count, uint32_t);
    workload->time_ns = NEW(task_count * workload->class_count, double);
    workload->best_ns = NEW(task_count, double);
    for (uint32_t i = 0; i < task_count * workload->class_count; i++) {
        workload->time_ns[i] = INFINITY;
    }
}

void instance_finish(struct instance *instance) {
    sy_arena_destroy(instance->arena);
    free(instance->edges);
    *instance = (struct instance){0};
}

void instance_time(struct instance *instance, uint32_t task, uint32_t class_index, double time_ns) {
    instance->workload->time_ns[task * instance->workload->class_count + class_index] = time_ns;
}

static void add(struct instance *instance, uint32_t from, uint32_t to, double bytes,
                uint32_t home) {
    assert_int_equal(sy_grow(&instance->edges, &instance->edge_capacity, instance->edge_count + 1,
                             sizeof(*instance->edges)),
                     0);
    instance->edges[instance->edge_count++] = (struct instance_edge){from, to, bytes, home};
}

void instance_edge(struct instance *instance, uint32_t from, uint32_t to, double bytes) {
    assert_true(from < to);
    add(instance, from, to, bytes, 0);
}

void instance_input(struct instance *instance, uint32_t task, double bytes, uint32_t home) {
    add(instance, SY_NONE, task, bytes, home);
}

/* Counting sort of the edges by one end. */
static void fill_adjacency(struct instance *instance, bool by_from, uint32_t *start,
                           uint32_t *other) {
    uint32_t tasks = instance->workload->task_count;
    for (uint32_t task = 0, at = 0; task < tasks; task++) {
        for (uint32_t e = 0; e < instance->edge_count; e++) {
            const struct instance_edge *edge = &instance->edges[e];
            if (edge->from != SY_NONE && (by_from ? edge->from : edge->to) == task) {
                other[at++] = by_from ? edge->to : edge->from;
            }
        }
        start[task + 1] = at;
    }
}

/* Reads first, then writes, of each task; datum e belongs to edge e. */
static void fill_accesses(struct instance *instance) {
    struct sy_workload *workload = instance->workload;
    uint32_t at = 0;
    for (uint32_t task = 0; task < workload->task_count; task++) {
        for (uint32_t e = 0; e < instance->edge_count; e++) {
            const struct instance_edge *edge = &instance->edges[e];
            if (edge->bytes > 0 && (edge->to == task || edge->from == task)) {
                workload->access[at] = (struct sy_access){e, edge->to == task ? SY_READ : SY_WRITE};
                workload->access_producer[at++] = edge->to == task ? edge->from : SY_NONE;
            }
        }
        workload->access_start[task + 1] = at;
    }
    workload->access_count = at;
}

void instance_seal(struct instance *instance) {
    struct sy_arena *arena = instance->arena;
    struct sy_workload *workload = instance->workload;
    uint32_t tasks = workload->task_count, edges = instance->edge_count;
    workload->succ_start = NEW(tasks + 1, uint32_t);
    workload->pred_start = NEW(tasks + 1, uint32_t);
    workload->succ = NEW(edges, uint32_t);
    workload->pred = NEW(edges, uint32_t);
    workload->access_start = NEW(tasks + 1, uint32_t);
    workload->access_producer = NEW(2 * edges, uint32_t);
    workload->access = NEW(2 * edges, struct sy_access);
    workload->order = NEW(tasks, uint32_t);
    workload->data_bytes = NEW(edges, double);
    workload->data_home = NEW(edges, uint64_t);
    workload->data_count = edges;
    fill_adjacency(instance, true, workload->succ_start, workload->succ);
    fill_adjacency(instance, false, workload->pred_start, workload->pred);
    fill_accesses(instance);
    for (uint32_t e = 0; e < edges; e++) {
        const struct instance_edge *edge = &instance->edges[e];
        workload->data_bytes[e] = edge->bytes;
        workload->data_home[e] = edge->from == SY_NONE ? UINT64_C(1) << edge->home : 0;
    }
    for (uint32_t t = 0; t < tasks; t++) {
        workload->order[t] = t;
        workload->best_ns[t] = INFINITY;
        for (uint32_t c = 0; c < workload->class_count; c++) {
            workload->best_ns[t] =
                fmin(workload->best_ns[t], workload->time_ns[t * workload->class_count + c]);
        }
        assert_true(isfinite(workload->best_ns[t]));
    }
}

static uint32_t between(struct sy_rng *rng, uint32_t low, uint32_t high) {
    return low + sy_rng_below(rng, high - low + 1);
}

static void random_times(struct instance *instance, const struct random_shape *shape,
                         struct sy_rng *rng) {
    uint32_t classes = instance->workload->class_count;
    for (uint32_t t = 0; t < instance->workload->task_count; t++) {
        uint32_t sure = sy_rng_below(rng, classes);
        /* Whole numbers now and then: ties are where symmetry rules go wrong. */
        bool whole = sy_rng_uniform(rng) < 0.5;
        for (uint32_t c = 0; c < classes; c++) {
            double time = 100 * exp(sy_rng_normal(rng));
            bool possible = c == sure || sy_rng_uniform(rng) >= shape->impossible_probability;
            instance_time(instance, t, c,
                          !possible ? INFINITY : (whole ? floor(time / 50) * 50 : time));
        }
    }
}

void instance_random(struct instance *instance, const struct random_shape *shape, uint64_t seed) {
    struct sy_rng rng = sy_rng_make(seed, 0x696e7374u, 0);
    struct instance_device devices[16];
    uint32_t device_count = between(&rng, shape->device_min, shape->device_max);
    uint32_t classes =
        between(&rng, 1, shape->class_max < device_count ? shape->class_max : device_count);
    uint32_t memories =
        between(&rng, 1, shape->memory_max < device_count ? shape->memory_max : device_count);
    for (uint32_t d = 0; d < device_count; d++) {
        devices[d].class_index = d < classes ? d : sy_rng_below(&rng, classes);
        devices[d].memory = d < memories ? d : sy_rng_below(&rng, memories);
    }
    uint32_t tasks = between(&rng, shape->task_min, shape->task_max);
    double latency = sy_rng_uniform(&rng) < 0.5 ? 0 : 20;
    instance_init(instance, devices, device_count, 1, latency, tasks);
    random_times(instance, shape, &rng);
    for (uint32_t to = 0; to < tasks; to++) {
        for (uint32_t from = 0; from < to; from++) {
            if (sy_rng_uniform(&rng) < shape->edge_probability) {
                bool data = sy_rng_uniform(&rng) < 0.8;
                double bytes = 100 * shape->transfer_ratio * sy_rng_exponential(&rng);
                instance_edge(instance, from, to, data ? bytes : 0);
            }
        }
        if (sy_rng_uniform(&rng) < 0.3) {
            instance_input(instance, to, 50 * shape->transfer_ratio, sy_rng_below(&rng, memories));
        }
    }
    if (sy_rng_uniform(&rng) < 0.2) {
        instance->workload->jobs[0].arrive_ns = 75;
    }
    instance_seal(instance);
}

void instance_layered(struct instance *instance, uint32_t task_count, uint32_t width,
                      uint64_t seed) {
    struct sy_rng rng = sy_rng_make(seed, 0x6c617965u, 0);
    struct instance_device devices[10];
    for (uint32_t d = 0; d < 10; d++) {
        devices[d] = (struct instance_device){d >= 8, d >= 8 ? d - 7 : 0};
    }
    instance_init(instance, devices, 10, 10, 1000, task_count);
    for (uint32_t t = 0; t < task_count; t++) {
        double time = 1e6 * exp(0.7 * sy_rng_normal(&rng));
        double speedup = 0.3 * pow(100, sy_rng_uniform(&rng));
        instance_time(instance, t, 0, time);
        instance_time(instance, t, 1, time / speedup);
        uint32_t layer = t / width;
        uint32_t edges = layer == 0 ? 0 : 1 + sy_rng_below(&rng, 3);
        for (uint32_t e = 0; e < edges; e++) {
            uint32_t from = (layer - 1) * width + (t + e * 7) % width;
            instance_edge(instance, from, t, 1e6);
        }
    }
    instance_seal(instance);
}

void instance_heft_paper(struct instance *instance) {
    static const double time[10][3] = {{14, 16, 9},  {13, 19, 18}, {11, 13, 19}, {13, 8, 17},
                                       {12, 13, 10}, {13, 16, 9},  {7, 15, 11},  {5, 11, 14},
                                       {18, 12, 20}, {21, 7, 16}};
    static const uint32_t edge[][3] = {{1, 2, 18},  {1, 3, 12},  {1, 4, 9},  {1, 5, 11},
                                       {1, 6, 14},  {2, 8, 19},  {2, 9, 16}, {3, 7, 23},
                                       {4, 8, 27},  {4, 9, 23},  {5, 9, 13}, {6, 8, 15},
                                       {7, 10, 17}, {8, 10, 11}, {9, 10, 13}};
    static const struct instance_device devices[] = {{0, 0}, {1, 1}, {2, 2}};
    instance_init(instance, devices, 3, 1, 0, 10);
    for (uint32_t t = 0; t < 10; t++) {
        for (uint32_t c = 0; c < 3; c++) {
            instance_time(instance, t, c, time[t][c]);
        }
    }
    for (size_t e = 0; e < SY_COUNT(edge); e++) {
        instance_edge(instance, edge[e][0] - 1, edge[e][1] - 1, edge[e][2]);
    }
    instance_seal(instance);
}

void assert_near(double value, double expected, double tolerance) {
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.17g is not %.17g", value, expected);
    }
}
