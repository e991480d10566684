/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks cut into parts, so that others may have the device between two of them.
 *
 * In: a sealed graph, how many parts a task can have and what they cost. Out: a sealed graph in
 * which a chain stands in place of each task that is worth cutting. Never knows: who runs it.
 * Invariant: no part begins before the one before it has ended; a reader of what a task wrote reads
 * what its last part wrote.
 */
#include "graph/internal.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define NAME_BYTES 512
/* A device that turns to another task and back stands still for about so long in a real run. */
#define HAND_OVER_NS 100e3
#define WORTH_RATIO  .02 /* parts may cost that share of the task's time */

struct cutter {
    const struct sy_graph *from;
    const struct sy_graph_cut *cut;
    struct sy_graph *to;
    uint32_t *last; /* per task: its last part there */
    struct sy_access *accesses;
    uint32_t access_capacity;
};

static double least_ns(const struct sy_graph *graph, uint32_t task) {
    double least = INFINITY;
    for (int kind = 0; kind < SY_KIND_COUNT; kind++) {
        least = fmin(least, sy_graph_time_ns(graph, task, (enum sy_device_kind)kind));
    }
    return least;
}

/* What nobody says the time of stays whole. */
static uint32_t count_parts(const struct cutter *c, uint32_t task) {
    const struct sy_kernel *kernel = &c->from->kernels[c->from->tasks[task].kernel];
    uint32_t most = c->cut->part_max ? c->cut->part_max : kernel->part_max;
    double cost_ns = HAND_OVER_NS + (c->cut->part_max ? 0 : kernel->part_ns);
    double worth = 1 + WORTH_RATIO * least_ns(c->from, task) / cost_ns;
    if (most < 2 || !isfinite(worth)) {
        return 1;
    }
    return worth < most ? (uint32_t)worth : most;
}

/* Of one of count parts. */
static double part_ns(const struct cutter *c, uint32_t task, enum sy_device_kind kind,
                      uint32_t count) {
    const struct sy_kernel *kernel = &c->from->kernels[c->from->tasks[task].kernel];
    double whole_ns = sy_graph_time_ns(c->from, task, kind), more_ns = kernel->part_ns;
    if (c->cut->part_max > 1) {
        more_ns = whole_ns * c->cut->more_ratio / (c->cut->part_max - 1);
    }
    return (whole_ns + (count - 1) * more_ns) / count;
}

static int copy_kernels(struct cutter *c) {
    int code = 0;
    for (uint32_t k = 0; k < c->from->kernel_count && !code; k++) {
        const struct sy_kernel *kernel = &c->from->kernels[k];
        struct sy_kernel_desc desc = {.name = kernel->name,
                                      .interference = kernel->interference,
                                      .part_max = kernel->part_max,
                                      .part_ns = kernel->part_ns};
        sy_kernel_id id;
        for (int kind = 0; kind < SY_KIND_COUNT; kind++) {
            desc.variants[kind] = kernel->variants[kind];
        }
        code = sy_graph_add_kernel(c->to, &desc, &id);
    }
    for (uint32_t d = 0; d < c->from->data_count && !code; d++) {
        sy_data_id id;
        code = sy_graph_add_data(c->to, c->from->data_names[d], c->from->data_bytes[d], &id);
    }
    return code;
}

/* Later parts go on with what the first ones wrote. */
static int copy_accesses(struct cutter *c, uint32_t task, uint32_t part,
                         struct sy_task_desc *desc) {
    uint32_t start = c->from->tasks[task].access_start;
    desc->access_count = c->from->tasks[task + 1].access_start - start;
    if (sy_grow(&c->accesses, &c->access_capacity, desc->access_count + 1, sizeof *c->accesses)) {
        return -ENOMEM;
    }
    for (uint32_t a = 0; a < desc->access_count; a++) {
        c->accesses[a] = c->from->accesses[start + a];
        if (part && c->accesses[a].mode == SY_WRITE) {
            c->accesses[a].mode = SY_READ_WRITE;
        }
    }
    desc->accesses = c->accesses;
    return 0;
}

static int add_part(struct cutter *c, uint32_t task, uint32_t part, uint32_t count) {
    const struct sy_task *whole = &c->from->tasks[task];
    double time_ns[SY_KIND_COUNT];
    char name[NAME_BYTES];
    struct sy_task_desc desc = {
        .name = whole->name, .kernel = {whole->kernel}, .work = whole->work, .time_ns = time_ns};
    sy_task_id id;
    for (int kind = 0; kind < SY_KIND_COUNT; kind++) {
        time_ns[kind] = part_ns(c, task, (enum sy_device_kind)kind, count);
    }
    if (count > 1 && whole->name) {
        snprintf(name, sizeof name, "%s (%u of %u)", whole->name, part + 1, count);
        desc.name = name;
    }
    int code = copy_accesses(c, task, part, &desc);
    code = code ? code : sy_graph_add_task(c->to, &desc, &id);
    if (!code && count > 1) {
        c->to->tasks[id.index].part = (uint16_t)part;
        c->to->tasks[id.index].part_count = (uint16_t)count;
    }
    if (!code && part) {
        code = sy_graph_add_edge(c->to, (sy_task_id){id.index - 1}, id);
    }
    c->last[task] = code ? SY_NONE : id.index;
    return code;
}

static int add_tasks(struct cutter *c) {
    int code = 0;
    for (uint32_t t = 0; t < c->from->task_count && !code; t++) {
        uint32_t count = count_parts(c, t);
        for (uint32_t part = 0; part < count && !code; part++) {
            code = add_part(c, t, part, count);
        }
    }
    return code;
}

static uint32_t first_part(const struct cutter *c, uint32_t task) {
    uint32_t last = c->last[task];
    return last - c->to->tasks[last].part;
}

/* Where edges alone say who wrote what is read, each part has one from the writer. */
static int add_producers(struct cutter *c, uint32_t task) {
    const struct sy_graph *from = c->from;
    int code = 0;
    for (uint32_t a = from->tasks[task].access_start; a < from->tasks[task + 1].access_start; a++) {
        bool only_read = from->accesses[a].mode == SY_READ;
        uint32_t producer = only_read ? from->access_producer[a] : SY_NONE;
        for (uint32_t part = first_part(c, task) + 1;
             producer != SY_NONE && part <= c->last[task] && !code; part++) {
            code = sy_graph_add_edge(c->to, (sy_task_id){c->last[producer]}, (sy_task_id){part});
        }
    }
    return code;
}

static int add_edges(struct cutter *c) {
    const struct sy_graph *from = c->from;
    int code = 0;
    for (uint32_t t = 0; t < from->task_count && !code; t++) {
        sy_task_id first = {first_part(c, t)};
        for (uint32_t e = from->pred_start[t]; e < from->pred_start[t + 1] && !code; e++) {
            if (from->is_explicit || from->pred_given[e]) {
                code = sy_graph_add_edge(c->to, (sy_task_id){c->last[from->pred[e]]}, first);
            }
        }
        code = code || !from->is_explicit ? code : add_producers(c, t);
    }
    return code;
}

int sy_graph_cut(const struct sy_graph *graph, const struct sy_graph_cut *cut,
                 struct sy_graph **ret_graph) {
    struct cutter c = {.from = graph,
                       .cut = cut,
                       .to = sy_graph_create(graph->name, graph->is_explicit),
                       .last = calloc(graph->task_count + 1u, sizeof *c.last)};
    int code = c.to && c.last ? copy_kernels(&c) : -ENOMEM;
    code = code ? code : add_tasks(&c);
    code = code ? code : add_edges(&c);
    code = code ? code : sy_graph_seal(c.to, NULL);
    free(c.last);
    free(c.accesses);
    if (code) {
        sy_graph_destroy(c.to);
        return code;
    }
    *ret_graph = c.to;
    return 0;
}
