/* SPDX-License-Identifier: Apache-2.0
 *
 * What shall run: plug-ins, the graph, and which kernel of which plug-in each task calls.
 *
 * In: spec= and kernels=. Out: a graph, an entry per kernel, a slot per task. Kernels that no
 * plug-in has may be emulated: a core is kept busy for the CPU time that the graph states.
 */
#include "engine/starpu/process.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EMULATOR "synthetic:emulate" /* its work is the time to spend, ns */

static int load_file(struct sy_engine *engine, struct sy_error *error) {
    struct sy_graph_list list = {0};
    const char *colon = strchr(engine->request.spec, ':');
    int code = sy_graph_read_file(engine->request.spec, NULL, &list, error);
    if (code == -ENOENT && colon) {
        sy_fail(error, code, "there is no plug-in '%.*s', and no file %s",
                (int)(colon - engine->request.spec), engine->request.spec, engine->request.spec);
        sy_hint(error, "symph kernels lists the plug-ins; --kernels PATH adds one");
    } else if (code == -ENOENT) {
        sy_hint(error, "a workload of a plug-in is PLUGIN:NAME; symph kernels lists them");
    }
    if (code < 0) {
        return code;
    }
    if (list.count == 1) {
        engine->graph = list.graphs[0];
        list.count = 0;
    } else {
        code = sy_fail(error, -EINVAL, "%s contains %u graphs, but a run takes only one",
                       engine->request.spec, list.count);
        sy_hint(error, "split the file, or try them all with symph simulate");
    }
    sy_graph_list_finish(&list);
    return code;
}

static int load_graph(struct sy_engine *engine, struct sy_error *error) {
    const char *spec = engine->request.spec, *arguments = NULL;
    struct sy_error nothing = {0};
    if (engine->request.pipeline) {
        return sy_engine_load_pipeline(engine, error);
    }
    if (strncmp(spec, "gen:", 4) == 0) {
        return sy_graph_generate(spec + 4, &engine->graph, error);
    }
    *error = nothing;
    engine->workload = sy_kernel_set_workload(engine->kernels, spec, &arguments, error);
    if (!engine->workload) {
        return error->message[0] ? -EINVAL : load_file(engine, error);
    }
    if (engine->workload->drive) {
        return sy_session_create(engine, arguments, error);
    }
    sy_engine_doing(" while it built ", spec);
    int code = engine->workload->build(arguments, &engine->graph, &engine->state, error);
    sy_engine_leave();
    if (code < 0 && !error->message[0]) {
        sy_fail(error, code, "workload %s: %s", spec, strerror(-code));
    }
    return code;
}

/* --- emulation ----------------------------------------------------------------------------------
 */
static bool fits(const struct sy_graph *graph, uint32_t kernel,
                 const struct sy_kernel_entry *entry) {
    for (uint32_t t = 0; entry->argument_count && t < graph->task_count; t++) {
        const struct sy_task *task = &graph->tasks[t];
        if (task->kernel == kernel &&
            task[1].access_start - task->access_start != entry->argument_count) {
            return false;
        }
    }
    return true;
}

static int bind_or_emulate(struct sy_engine *engine, struct sy_error *error) {
    struct sy_error ignored;
    if (sy_kernel_set_bind(engine->kernels, engine->graph, engine->entries, &ignored) == 0) {
        return 0;
    }
    const struct sy_kernel_entry *emulator = sy_kernel_set_find(engine->kernels, EMULATOR, error);
    if (!emulator) {
        return -ENOENT;
    }
    for (uint32_t k = 0; k < engine->graph->kernel_count; k++) {
        const char *name = engine->graph->kernels[k].name;
        const struct sy_kernel_entry *entry = sy_kernel_set_find(engine->kernels, name, &ignored);
        engine->emulated[k] = !entry || !fits(engine->graph, k, entry);
        engine->emulated_count += engine->emulated[k];
        engine->entries[k] = engine->emulated[k] ? emulator : entry;
    }
    return 0;
}

/* The graph's CPU time; a task that no CPU runs takes what its fastest device would. */
static double emulated_ns(const struct sy_graph *graph, uint32_t task) {
    double time_ns = sy_graph_time_ns(graph, task, SY_CPU);
    for (int kind = 0; !isfinite(time_ns) && kind < SY_KIND_COUNT; kind++) {
        time_ns = sy_graph_time_ns(graph, task, (enum sy_device_kind)kind);
    }
    return isfinite(time_ns) ? time_ns : 0;
}

/* --- slots --------------------------------------------------------------------------------------
 */
static int make_slots(struct sy_engine *engine, struct sy_error *error) {
    const struct sy_graph *graph = engine->graph;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint32_t width = graph->tasks[t + 1].access_start - graph->tasks[t].access_start;
        engine->widest = width > engine->widest ? width : engine->widest;
    }
    engine->slots = sy_arena_alloc(engine->arena, graph->task_count + 1, sizeof *engine->slots);
    struct sy_argument *arguments =
        sy_arena_alloc(engine->arena, engine->widest + 1, sizeof *arguments);
    if (!engine->slots || !arguments) {
        return sy_fail(error, -ENOMEM, "no memory for %u tasks", graph->task_count);
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        const struct sy_task *task = &graph->tasks[t];
        const struct sy_access *access = &graph->accesses[task->access_start];
        uint32_t width = task[1].access_start - task->access_start;
        for (uint32_t a = 0; a < width; a++) {
            arguments[a] = (struct sy_argument){
                .bytes = (uint64_t)ceil(graph->data_bytes[access[a].datum]),
                .mode = access[a].mode,
            };
        }
        struct sy_engine_slot *slot = &engine->slots[t];
        slot->engine = engine;
        slot->task = t;
        slot->kernel = task->kernel;
        slot->name = task->name;
        slot->accesses = access;
        slot->access_count = width;
        slot->job.weight = 1;
        slot->work = engine->emulated[task->kernel] ? emulated_ns(graph, t) : task->work;
        struct sy_call call = {
            .arguments = arguments, .argument_count = width, .work = slot->work, .part_count = 1};
        slot->features = sy_kernel_features(engine->entries[task->kernel], &call);
    }
    return 0;
}

/* Tasks of one kernel and one size are alike for the clock. */
static int compare_slots(const void *left, const void *right, void *argument) {
    const struct sy_engine *engine = argument;
    const struct sy_engine_slot *a = &engine->slots[*(const uint32_t *)left];
    const struct sy_engine_slot *b = &engine->slots[*(const uint32_t *)right];
    if (a->kernel != b->kernel) {
        return a->kernel < b->kernel ? -1 : 1;
    }
    if (a->features.bytes != b->features.bytes) {
        return a->features.bytes < b->features.bytes ? -1 : 1;
    }
    return (a->features.flops > b->features.flops) - (a->features.flops < b->features.flops);
}

int sy_engine_number_likes(struct sy_engine *engine, uint32_t count, struct sy_error *error) {
    uint32_t *order = sy_arena_alloc(engine->arena, count, sizeof *order);
    if (!order) {
        return sy_fail(error, -ENOMEM, "no memory for %u tasks", count);
    }
    for (uint32_t t = 0; t < count; t++) {
        order[t] = t;
    }
    qsort_r(order, count, sizeof *order, compare_slots, engine);
    for (uint32_t i = 0; i < count; i++) {
        engine->like_count += i == 0 || compare_slots(&order[i - 1], &order[i], engine) != 0;
        engine->slots[order[i]].like = engine->like_count - 1;
    }
    return 0;
}

int sy_engine_make_kernels(struct sy_engine *engine, uint32_t capacity) {
    engine->entries = sy_arena_alloc(engine->arena, capacity + 1, sizeof(void *));
    engine->kernel_names = sy_arena_alloc(engine->arena, capacity + 1, sizeof(void *));
    engine->builds = sy_arena_alloc(engine->arena, capacity + 1, sizeof(uint64_t));
    engine->emulated = sy_arena_alloc(engine->arena, capacity + 1, sizeof(bool));
    engine->kernel_capacity = capacity;
    return engine->entries && engine->kernel_names && engine->builds && engine->emulated ? 0
                                                                                         : -ENOMEM;
}

int sy_engine_load(struct sy_engine *engine, struct sy_error *error) {
    int code = load_graph(engine, error);
    if (code < 0 || engine->session) {
        return code;
    }
    if (engine->graph->task_count == 0) {
        return sy_fail(error, -EINVAL, "%s has no task", engine->request.spec);
    }
    uint32_t kernel_count = engine->graph->kernel_count;
    if (sy_engine_make_kernels(engine, kernel_count) < 0) {
        return sy_fail(error, -ENOMEM, "no memory for %u kernels", kernel_count);
    }
    engine->kernel_count = kernel_count;
    for (uint32_t k = 0; k < kernel_count; k++) {
        engine->kernel_names[k] = engine->graph->kernels[k].name;
    }
    if (engine->request.emulate) {
        code = bind_or_emulate(engine, error);
    } else {
        code = sy_kernel_set_bind(engine->kernels, engine->graph, engine->entries, error);
        if (code < 0 && !error->hint[0] && !engine->workload) {
            sy_hint(error,
                    "--emulate waits for the CPU time stated in the graph instead of computing");
        }
    }
    for (uint32_t k = 0; k < kernel_count && !code; k++) {
        engine->builds[k] = sy_kernel_set_build(engine->kernels, engine->entries[k]);
    }
    if (!code) {
        code = make_slots(engine, error);
    }
    return code < 0 ? code : sy_engine_number_likes(engine, engine->graph->task_count, error);
}
