/* SPDX-License-Identifier: Apache-2.0
 *
 * Flattens a workload into the schedule model: transfers per pair of memories, bytes per edge.
 *
 * In: workload, machine. Out: tables that the searches read without a branch too many. Never
 * knows: how schedules are found. Invariant: of several data along one edge only the largest
 * counts, since isolated copies run side by side.
 */
#include "bounds/model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int alloc_tables(struct sy_bound_model *model) {
    size_t memories = model->memory_count, devices = model->device_count;
    uint32_t edges = model->workload->pred_start[model->task_count];
    struct sy_arena *arena = model->arena;
    model->latency_ns = sy_arena_alloc(arena, memories * memories, sizeof(double));
    model->ns_per_byte = sy_arena_alloc(arena, memories * memories, sizeof(double));
    model->edge_bytes = sy_arena_alloc(arena, (size_t)edges + 1, sizeof(double));
    model->release_ns = sy_arena_alloc(arena, model->task_count * memories + 1, sizeof(double));
    model->device_group = sy_arena_alloc(arena, devices, sizeof(uint32_t));
    model->group_class = sy_arena_alloc(arena, devices, sizeof(uint32_t));
    model->group_memory = sy_arena_alloc(arena, devices, sizeof(uint32_t));
    model->group_size = sy_arena_alloc(arena, devices, sizeof(uint32_t));
    if (model->latency_ns == NULL || model->ns_per_byte == NULL || model->edge_bytes == NULL ||
        model->release_ns == NULL || model->device_group == NULL || model->group_class == NULL ||
        model->group_memory == NULL || model->group_size == NULL) {
        return -ENOMEM;
    }
    return 0;
}

static void fill_hops(struct sy_bound_model *model) {
    for (uint32_t from = 0; from < model->memory_count; from++) {
        for (uint32_t to = 0; to < model->memory_count; to++) {
            size_t pair = (size_t)from * model->memory_count + to;
            const struct sy_route *route = &model->machine->routes[pair];
            bool open = route->bytes_per_s > 0; /* else no copy ever arrives */
            model->latency_ns[pair] = from == to ? 0 : route->latency_ns;
            model->ns_per_byte[pair] = from == to ? 0 : open ? 1e9 / route->bytes_per_s : INFINITY;
        }
    }
}

static void fill_groups(struct sy_bound_model *model) {
    for (uint32_t d = 0; d < model->device_count; d++) {
        const struct sy_device *device = &model->machine->devices[d];
        uint32_t g = 0;
        while (g < model->group_count && (model->group_class[g] != device->class_index ||
                                          model->group_memory[g] != device->memory)) {
            g++;
        }
        if (g == model->group_count) {
            model->group_class[g] = device->class_index;
            model->group_memory[g] = device->memory;
            model->group_count++;
        }
        model->device_group[d] = g;
        model->group_size[g]++;
    }
}

static double home_hop_ns(const struct sy_bound_model *model, uint32_t datum, uint32_t to) {
    uint64_t homes = model->workload->data_home[datum];
    double best = homes == 0 ? 0 : INFINITY;
    for (uint32_t from = 0; from < model->memory_count; from++) {
        if (homes >> from & 1) {
            best = fmin(best, sy_bound_hop_ns(model, from, to, model->workload->data_bytes[datum]));
        }
    }
    return best;
}

static void add_initial_input(struct sy_bound_model *model, uint32_t task, uint32_t datum) {
    const struct sy_workload *workload = model->workload;
    double arrive = workload->jobs[workload->task_job[task]].arrive_ns;
    for (uint32_t m = 0; m < model->memory_count; m++) {
        double *release = &model->release_ns[(size_t)task * model->memory_count + m];
        *release = fmax(*release, arrive + home_hop_ns(model, datum, m));
    }
}

/* slot[p] is where p last stood among predecessors: joins of many inputs stay linear. */
static void add_edge_bytes(struct sy_bound_model *model, const uint32_t *slot, uint32_t task,
                           uint32_t producer, double bytes) {
    const struct sy_workload *workload = model->workload;
    uint32_t e = slot[producer];
    if (e >= workload->pred_start[task] && e < workload->pred_start[task + 1] &&
        workload->pred[e] == producer) {
        model->edge_bytes[e] = fmax(model->edge_bytes[e], bytes);
    }
}

static void fill_task(struct sy_bound_model *model, uint32_t *slot, uint32_t task) {
    const struct sy_workload *workload = model->workload;
    double arrive = workload->jobs[workload->task_job[task]].arrive_ns;
    for (uint32_t m = 0; m < model->memory_count; m++) {
        model->release_ns[(size_t)task * model->memory_count + m] = arrive;
    }
    for (uint32_t e = workload->pred_start[task]; e < workload->pred_start[task + 1]; e++) {
        slot[workload->pred[e]] = e;
    }
    for (uint32_t a = workload->access_start[task]; a < workload->access_start[task + 1]; a++) {
        const struct sy_access *access = &workload->access[a];
        if ((access->mode & SY_READ) == 0) {
            continue;
        }
        if (workload->access_producer[a] == SY_NONE) {
            add_initial_input(model, task, access->datum);
        } else {
            add_edge_bytes(model, slot, task, workload->access_producer[a],
                           workload->data_bytes[access->datum]);
        }
    }
}

int sy_bound_model_init(struct sy_bound_model *model, const struct sy_workload *workload) {
    *model = (struct sy_bound_model){
        .workload = workload,
        .machine = workload->machine,
        .arena = sy_arena_create(),
        .task_count = workload->task_count,
        .device_count = workload->machine->device_count,
        .class_count = workload->class_count,
        .memory_count = workload->machine->memory_count,
    };
    uint32_t *slot = calloc((size_t)model->task_count + 1, sizeof(*slot));
    if (slot == NULL || model->arena == NULL || alloc_tables(model) < 0) {
        free(slot);
        sy_bound_model_finish(model);
        return -ENOMEM;
    }
    fill_hops(model);
    fill_groups(model);
    for (uint32_t t = 0; t < model->task_count; t++) {
        fill_task(model, slot, t);
    }
    free(slot);
    return 0;
}

void sy_bound_model_finish(struct sy_bound_model *model) {
    sy_arena_destroy(model->arena);
    model->arena = NULL;
}

/* Mean over pairs of distinct devices of a table of memory pairs, as in the HEFT paper. */
static double mean_pair(const struct sy_bound_model *model, const double *table) {
    double sum = 0;
    for (uint32_t a = 0; a < model->group_count; a++) {
        for (uint32_t b = 0; b < model->group_count; b++) {
            size_t pair =
                (size_t)model->group_memory[a] * model->memory_count + model->group_memory[b];
            sum += table[pair] * model->group_size[a] * model->group_size[b];
        }
    }
    double pairs = (double)model->device_count * (model->device_count - 1);
    return pairs > 0 ? sum / pairs : 0;
}

static double mean_time_ns(const struct sy_bound_model *model, uint32_t task) {
    double sum = 0, devices = 0;
    for (uint32_t c = 0; c < model->class_count; c++) {
        double time = sy_bound_time_ns(model, task, c);
        if (isfinite(time)) {
            sum += time * model->machine->classes[c].device_count;
            devices += model->machine->classes[c].device_count;
        }
    }
    return devices > 0 ? sum / devices : 0;
}

void sy_bound_rank(const struct sy_bound_model *model, enum sy_rank_kind kind,
                   double *ret_rank_ns) {
    const struct sy_workload *workload = model->workload;
    double latency = mean_pair(model, model->latency_ns);
    double per_byte = mean_pair(model, model->ns_per_byte);
    for (uint32_t t = 0; t < model->task_count; t++) {
        ret_rank_ns[t] = 0;
    }
    for (uint32_t i = model->task_count; i-- > 0;) {
        uint32_t task = workload->order[i];
        ret_rank_ns[task] +=
            kind == SY_RANK_MEAN ? mean_time_ns(model, task) : workload->best_ns[task];
        for (uint32_t e = workload->pred_start[task]; e < workload->pred_start[task + 1]; e++) {
            double bytes = model->edge_bytes[e];
            double hop = bytes > 0 ? latency + bytes * per_byte : 0;
            double *rank = &ret_rank_ns[workload->pred[e]];
            *rank = fmax(*rank, ret_rank_ns[task] + hop);
        }
    }
}
