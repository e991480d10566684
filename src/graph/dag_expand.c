/* SPDX-License-Identifier: Apache-2.0
 *
 * From stages to tasks: a stage of k instances becomes k tasks, an edge between stages k1 * k2
 * edges or, beyond SY_DAG_ALL_TO_ALL, k1 + k2 edges through one sync task that takes no time
 * anywhere.
 *
 * In: the lines of one graph. Out: a sealed explicit graph. Invariant: the bytes of an edge are
 * split evenly over what it becomes; without instances, tasks keep the indices of the file.
 */
#include "graph/dag.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct expander {
    struct sy_dag *dag;
    struct sy_graph *graph;
    struct sy_map kernels; /* type -> kernel */
    uint32_t sync_kernel;
    bool is_expanded; /* some stage has several instances: tasks then carry names */
    /* Edges by the stage they leave and enter. */
    uint32_t *out_start, *out, *in_start, *in;
    struct sy_access *accesses;
    uint32_t access_count, access_capacity;
    struct sy_buffer name;
};

/* Numbers tasks, syncs and data. -EOVERFLOW if there would be too many. */
static int lay_out(struct expander *expander) {
    struct sy_dag *dag = expander->dag;
    uint64_t tasks = 0, data = 0, edges = 0;
    for (uint32_t s = 0; s < dag->stage_count; s++) {
        dag->stages[s].first_task = (uint32_t)tasks;
        tasks += dag->stages[s].task_count;
        expander->is_expanded = expander->is_expanded || dag->stages[s].task_count > 1;
        if (tasks > SY_GRAPH_TASK_MAX) {
            return -EOVERFLOW;
        }
    }
    for (uint32_t e = 0; e < dag->edge_count; e++) {
        struct sy_dag_edge *edge = &dag->edges[e];
        uint64_t k1 = dag->stages[edge->from].task_count, k2 = dag->stages[edge->to].task_count;
        bool is_direct = k1 * k2 <= SY_DAG_ALL_TO_ALL;
        uint64_t links = is_direct ? k1 * k2 : k1 + k2;
        edge->sync = is_direct ? SY_NONE : (uint32_t)tasks++;
        edge->first_datum = (uint32_t)data;
        data += edge->bytes > 0 ? links : 0;
        edges += links;
        if (edges > SY_GRAPH_EDGE_MAX / 2 || tasks > SY_GRAPH_TASK_MAX) {
            return -EOVERFLOW;
        }
    }
    return 0;
}

static int index_edges(struct expander *expander) {
    const struct sy_dag *dag = expander->dag;
    size_t stages = (size_t)dag->stage_count + 2, edges = (size_t)dag->edge_count + 1;
    expander->out_start = calloc(stages, sizeof(uint32_t));
    expander->in_start = calloc(stages, sizeof(uint32_t));
    expander->out = malloc(edges * sizeof(uint32_t));
    expander->in = malloc(edges * sizeof(uint32_t));
    if (!expander->out_start || !expander->in_start || !expander->out || !expander->in) {
        return -ENOMEM;
    }
    for (uint32_t e = 0; e < dag->edge_count; e++) {
        expander->out_start[dag->edges[e].from + 2]++;
        expander->in_start[dag->edges[e].to + 2]++;
    }
    for (uint32_t s = 0; s < dag->stage_count; s++) {
        expander->out_start[s + 2] += expander->out_start[s + 1];
        expander->in_start[s + 2] += expander->in_start[s + 1];
    }
    for (uint32_t e = 0; e < dag->edge_count; e++) {
        expander->out[expander->out_start[dag->edges[e].from + 1]++] = e;
        expander->in[expander->in_start[dag->edges[e].to + 1]++] = e;
    }
    return 0;
}

static int add_edge_data(struct expander *expander, const struct sy_dag_edge *edge) {
    uint32_t k1 = expander->dag->stages[edge->from].task_count;
    uint32_t k2 = expander->dag->stages[edge->to].task_count;
    sy_data_id datum;
    int code = 0;
    if (edge->sync == SY_NONE) {
        double bytes = edge->bytes / ((double)k1 * k2);
        for (uint32_t i = 0; !code && i < k1 * k2; i++) {
            code = sy_graph_add_data(expander->graph, NULL, bytes, &datum);
        }
        return code;
    }
    for (uint32_t i = 0; !code && i < k1 + k2; i++) {
        code = sy_graph_add_data(expander->graph, NULL, edge->bytes / (i < k1 ? k1 : k2), &datum);
    }
    return code;
}

static int add_data(struct expander *expander) {
    int code = 0;
    for (uint32_t e = 0; !code && e < expander->dag->edge_count; e++) {
        if (expander->dag->edges[e].bytes > 0) {
            code = add_edge_data(expander, &expander->dag->edges[e]);
        }
    }
    return code;
}

static int push(struct expander *expander, uint32_t first, uint32_t count, uint32_t step,
                uint32_t mode) {
    if (sy_grow(&expander->accesses, &expander->access_capacity, expander->access_count + count,
                sizeof *expander->accesses) < 0) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        expander->accesses[expander->access_count++] = (struct sy_access){first + i * step, mode};
    }
    return 0;
}

/* What one instance reads or writes on one edge. */
static int push_edge(struct expander *expander, const struct sy_dag_edge *edge, uint32_t instance,
                     uint32_t mode) {
    uint32_t k1 = expander->dag->stages[edge->from].task_count;
    uint32_t k2 = expander->dag->stages[edge->to].task_count;
    if (!(edge->bytes > 0)) {
        return 0;
    }
    if (edge->sync != SY_NONE) {
        uint32_t datum = edge->first_datum + instance + (mode == SY_READ ? k1 : 0);
        return push(expander, datum, 1, 1, mode);
    }
    return mode == SY_READ ? push(expander, edge->first_datum + instance, k1, k2, mode)
                           : push(expander, edge->first_datum + instance * k2, k2, 1, mode);
}

static int kernel_of(struct expander *expander, const struct sy_dag_stage *stage,
                     uint32_t *ret_kernel) {
    if (sy_map_get(&expander->kernels, stage->type, stage->type_length, ret_kernel)) {
        return 0;
    }
    expander->name.length = 0;
    sy_buffer_append(&expander->name, stage->type, stage->type_length);
    struct sy_kernel_desc desc = {.name = expander->name.text};
    desc.variants[SY_CPU] = (struct sy_variant){.present = true, .ns_per_work = 1};
    sy_kernel_id kernel;
    int code =
        expander->name.failed ? -ENOMEM : sy_graph_add_kernel(expander->graph, &desc, &kernel);
    if (code) {
        return code;
    }
    *ret_kernel = kernel.index;
    return sy_map_put(&expander->kernels, stage->type, stage->type_length, kernel.index);
}

static const char *name_of(struct expander *expander, uint32_t s, uint32_t instance) {
    const struct sy_dag_stage *stage = &expander->dag->stages[s];
    if (!expander->is_expanded) {
        return NULL;
    }
    expander->name.length = 0;
    sy_buffer_printf(&expander->name, "%.*s#%u", (int)stage->type_length, stage->type, s);
    if (stage->task_count > 1) {
        sy_buffer_printf(&expander->name, "[%u]", instance);
    }
    return expander->name.failed ? NULL : expander->name.text;
}

static int add_instance(struct expander *expander, uint32_t s, uint32_t instance, uint32_t kernel) {
    const struct sy_dag *dag = expander->dag;
    int code = 0;
    expander->access_count = 0;
    for (uint32_t i = expander->in_start[s]; !code && i < expander->in_start[s + 1]; i++) {
        code = push_edge(expander, &dag->edges[expander->in[i]], instance, SY_READ);
    }
    for (uint32_t i = expander->out_start[s]; !code && i < expander->out_start[s + 1]; i++) {
        code = push_edge(expander, &dag->edges[expander->out[i]], instance, SY_WRITE);
    }
    struct sy_task_desc desc = {.name = name_of(expander, s, instance),
                                .kernel = {kernel},
                                .work = dag->stages[s].seconds * 1e9,
                                .accesses = expander->accesses,
                                .access_count = expander->access_count};
    sy_task_id task;
    return code ? code : sy_graph_add_task(expander->graph, &desc, &task);
}

static int add_tasks(struct expander *expander) {
    int code = 0;
    for (uint32_t s = 0; !code && s < expander->dag->stage_count; s++) {
        const struct sy_dag_stage *stage = &expander->dag->stages[s];
        uint32_t kernel = 0;
        code = kernel_of(expander, stage, &kernel);
        for (uint32_t i = 0; !code && i < stage->task_count; i++) {
            code = add_instance(expander, s, i, kernel);
        }
    }
    return code;
}

static int add_sync_kernel(struct expander *expander) {
    struct sy_kernel_desc desc = {.name = "(sync)"};
    for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
        desc.variants[kind].present = true;
    }
    sy_kernel_id kernel = {0};
    int code = sy_graph_add_kernel(expander->graph, &desc, &kernel);
    expander->sync_kernel = kernel.index;
    return code;
}

static int add_sync(struct expander *expander, const struct sy_dag_edge *edge) {
    const struct sy_dag *dag = expander->dag;
    uint32_t k1 = dag->stages[edge->from].task_count, k2 = dag->stages[edge->to].task_count;
    int code = 0;
    expander->access_count = 0;
    if (edge->bytes > 0) {
        code = push(expander, edge->first_datum, k1, 1, SY_READ);
        code = code ? code : push(expander, edge->first_datum + k1, k2, 1, SY_WRITE);
    }
    expander->name.length = 0;
    sy_buffer_printf(&expander->name, "(sync)#%u-%u@%u", edge->from, edge->to, edge->line);
    struct sy_task_desc desc = {.name = expander->name.text,
                                .kernel = {expander->sync_kernel},
                                .accesses = expander->accesses,
                                .access_count = expander->access_count};
    sy_task_id task;
    return code ? code : sy_graph_add_task(expander->graph, &desc, &task);
}

static int add_syncs(struct expander *expander) {
    int code = 0;
    bool has_kernel = false;
    for (uint32_t e = 0; !code && e < expander->dag->edge_count; e++) {
        if (expander->dag->edges[e].sync == SY_NONE) {
            continue;
        }
        if (!has_kernel) {
            code = add_sync_kernel(expander);
            has_kernel = true;
        }
        code = code ? code : add_sync(expander, &expander->dag->edges[e]);
    }
    return code;
}

static int connect_edge(struct expander *expander, const struct sy_dag_edge *edge) {
    const struct sy_dag_stage *from = &expander->dag->stages[edge->from];
    const struct sy_dag_stage *to = &expander->dag->stages[edge->to];
    int code = 0;
    if (edge->sync == SY_NONE) {
        for (uint32_t i = 0; !code && i < from->task_count * to->task_count; i++) {
            code = sy_graph_add_edge(expander->graph,
                                     (sy_task_id){from->first_task + i / to->task_count},
                                     (sy_task_id){to->first_task + i % to->task_count});
        }
        return code;
    }
    sy_task_id sync = {edge->sync};
    for (uint32_t i = 0; !code && i < from->task_count; i++) {
        code = sy_graph_add_edge(expander->graph, (sy_task_id){from->first_task + i}, sync);
    }
    for (uint32_t i = 0; !code && i < to->task_count; i++) {
        code = sy_graph_add_edge(expander->graph, sync, (sy_task_id){to->first_task + i});
    }
    return code;
}

static bool is_of(const struct sy_dag_stage *stage, uint32_t task) {
    return task >= stage->first_task && task - stage->first_task < stage->task_count;
}

/* Gives a cycle the line of an edge on it. */
static void locate(const struct sy_dag *dag, const char *file, struct sy_graph_cycle cycle,
                   struct sy_error *error) {
    if (!error) {
        return;
    }
    for (uint32_t e = 0; e < dag->edge_count; e++) {
        const struct sy_dag_edge *edge = &dag->edges[e];
        bool is_sync =
            edge->sync != SY_NONE && (edge->sync == cycle.from || edge->sync == cycle.to);
        if (is_sync || (is_of(&dag->stages[edge->from], cycle.from) &&
                        is_of(&dag->stages[edge->to], cycle.to))) {
            snprintf(error->file, sizeof error->file, "%s", file);
            error->line = edge->line;
            error->column = 1;
            return;
        }
    }
}

static int seal(struct expander *expander, const char *file, struct sy_error *error) {
    struct sy_graph_cycle cycle;
    int code = sy_graph_seal_locate(expander->graph, error, &cycle);
    if (code && cycle.from != SY_NONE) {
        locate(expander->dag, file, cycle, error);
    }
    return code;
}

static int build(struct expander *expander) {
    struct sy_dag *dag = expander->dag;
    sy_buffer_append(&expander->name, dag->name, dag->name_length);
    expander->graph = expander->name.failed ? NULL : sy_graph_create(expander->name.text, true);
    int code = expander->graph ? index_edges(expander) : -ENOMEM;
    code = code ? code : add_data(expander);
    code = code ? code : add_tasks(expander);
    code = code ? code : add_syncs(expander);
    for (uint32_t e = 0; !code && e < dag->edge_count; e++) {
        code = connect_edge(expander, &dag->edges[e]);
    }
    return code;
}

static int fail(const struct sy_dag *dag, int code, const char *file, struct sy_error *error) {
    if (code == -ENOMEM) {
        return sy_fail(error, code, "out of memory");
    }
    code = sy_fail_at(error, -EINVAL, file, dag->line, dag->column,
                      "graph '%.*s' becomes too many tasks or edges", (int)dag->name_length,
                      dag->name);
    sy_hint(error, "reduce the number of instances of a stage (--max-instances)");
    return code;
}

int sy_dag_expand(struct sy_dag *dag, const char *file, struct sy_graph **ret_graph,
                  struct sy_error *error) {
    struct expander expander = {.dag = dag};
    int code = lay_out(&expander);
    code = code ? code : build(&expander);
    if (code) {
        code = fail(dag, code, file, error);
    } else {
        code = seal(&expander, file, error);
    }
    sy_map_finish(&expander.kernels);
    free(expander.out_start);
    free(expander.out);
    free(expander.in_start);
    free(expander.in);
    free(expander.accesses);
    sy_buffer_finish(&expander.name);
    if (code) {
        sy_graph_destroy(expander.graph);
        return code;
    }
    *ret_graph = expander.graph;
    return 0;
}
