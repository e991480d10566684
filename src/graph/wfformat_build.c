/* SPDX-License-Identifier: Apache-2.0
 *
 * From a WfFormat workflow to a graph.
 *
 * In: tables. Out: a sealed explicit graph. Parents and children become edges, files become data;
 * who reads a file comes after its writer. A file that several tasks say they write has the first
 * of them as its writer: real logs name such files, and one datum has one origin. The kernel is the
 * category, else the program, else the name without its number.
 */
#include "graph/wfformat.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct builder {
    struct sy_wf *wf;
    struct sy_graph *graph;
    struct sy_map ids, names, runs, files;
    uint32_t *writer;      /* by datum */
    uint32_t *last_task;   /* by datum: the task that accessed it last ... */
    uint32_t *last_access; /* ... and where in accesses */
    struct sy_access *accesses;
    uint32_t access_count, access_capacity;
    uint32_t writer_capacity, last_task_capacity, last_access_capacity;
};

static int index_tasks(struct builder *builder) {
    const struct sy_wf *wf = builder->wf;
    for (uint32_t i = 0; i < wf->task_count; i++) {
        const struct sy_wf_task *task = &wf->tasks[i];
        int code = sy_map_put(&builder->ids, task->id, strlen(task->id), i);
        if (code == -EEXIST) {
            return sy_fail_at(wf->error, -EINVAL, wf->file, task->line, task->column,
                              "task \"%.60s\" is described twice", task->id);
        }
        if (!code && task->name) {
            code = sy_map_put(&builder->names, task->name, strlen(task->name), i);
        }
        if (code && code != -EEXIST) {
            return sy_out_of_memory(builder->wf->error);
        }
    }
    for (uint32_t i = 0; i < wf->run_count; i++) {
        const char *id = wf->runs[i].id;
        if (sy_map_put(&builder->runs, id, strlen(id), i) == -ENOMEM) {
            return sy_out_of_memory(builder->wf->error);
        }
    }
    return 0;
}

static int add_file(struct builder *builder, const char *id, double bytes, uint32_t *ret_datum) {
    size_t length = strlen(id);
    if (sy_map_get(&builder->files, id, length, ret_datum)) {
        return 0;
    }
    sy_data_id datum;
    if (sy_graph_add_data(builder->graph, id, bytes < 0 ? 0 : bytes, &datum) < 0 ||
        sy_map_put(&builder->files, id, length, datum.index) < 0) {
        return sy_out_of_memory(builder->wf->error);
    }
    uint32_t need = datum.index + 1;
    if (sy_grow(&builder->writer, &builder->writer_capacity, need, sizeof(uint32_t)) < 0 ||
        sy_grow(&builder->last_task, &builder->last_task_capacity, need, sizeof(uint32_t)) < 0 ||
        sy_grow(&builder->last_access, &builder->last_access_capacity, need, sizeof(uint32_t)) <
            0) {
        return sy_out_of_memory(builder->wf->error);
    }
    builder->writer[datum.index] = builder->last_task[datum.index] = SY_NONE;
    *ret_datum = datum.index;
    return 0;
}

/* All files, with their first writers. */
static int add_files(struct builder *builder) {
    const struct sy_wf *wf = builder->wf;
    uint32_t datum = 0;
    int code = 0;
    for (uint32_t i = 0; !code && i < wf->file_count; i++) {
        code = add_file(builder, wf->files[i].id, wf->files[i].bytes, &datum);
    }
    for (uint32_t t = 0; !code && t < wf->task_count; t++) {
        for (uint32_t r = wf->tasks[t].ref_start; !code && r < wf->tasks[t].ref_end; r++) {
            const struct sy_wf_ref *ref = &wf->refs[r];
            if (ref->kind != SY_WF_INPUT && ref->kind != SY_WF_OUTPUT) {
                continue;
            }
            code = add_file(builder, ref->text, ref->bytes, &datum);
            if (!code && ref->kind == SY_WF_OUTPUT && builder->writer[datum] == SY_NONE) {
                builder->writer[datum] = t;
            }
        }
    }
    return code;
}

/* "individuals_ID0000001" -> "individuals"; the whole name if nothing would be left. */
static size_t stem_length(const char *name) {
    size_t length = strlen(name);
    while (length && isdigit((unsigned char)name[length - 1])) {
        length--;
    }
    if (length >= 2 && memcmp(name + length - 2, "ID", 2) == 0) {
        length -= 2;
    }
    while (length && strchr("_-.:#", name[length - 1])) {
        length--;
    }
    return length ? length : strlen(name);
}

static int add_kernel(struct builder *builder, const char *text, size_t length,
                      uint32_t *ret_kernel) {
    if (sy_map_get(&builder->graph->builder->kernels, text, length, ret_kernel)) {
        return 0;
    }
    struct sy_kernel_desc desc = {.name = sy_arena_strndup(builder->wf->arena, text, length)};
    desc.variants[SY_CPU] = (struct sy_variant){.present = true, .ns_per_work = 1};
    sy_kernel_id kernel;
    if (!desc.name || sy_graph_add_kernel(builder->graph, &desc, &kernel) < 0) {
        return sy_out_of_memory(builder->wf->error);
    }
    *ret_kernel = kernel.index;
    return 0;
}

static int kernel_of(struct builder *builder, const struct sy_wf_task *task,
                     const struct sy_wf_task *run, uint32_t *ret_kernel) {
    const char *text = task->category && task->category[0] ? task->category : NULL;
    const char *program = run && run->program ? run->program : task->program;
    if (!text && program) {
        const char *slash = strrchr(program, '/');
        text = slash ? slash + 1 : program;
    }
    if (text && text[0]) {
        return add_kernel(builder, text, strlen(text), ret_kernel);
    }
    text = task->name && task->name[0] ? task->name : task->id;
    return text[0] ? add_kernel(builder, text, stem_length(text), ret_kernel)
                   : add_kernel(builder, "task", 4, ret_kernel);
}

static int push_access(struct builder *builder, uint32_t task, uint32_t datum, uint32_t mode) {
    if (builder->last_task[datum] == task) {
        builder->accesses[builder->last_access[datum]].mode |= mode;
        return 0;
    }
    if (sy_grow(&builder->accesses, &builder->access_capacity, builder->access_count + 1,
                sizeof *builder->accesses) < 0) {
        return sy_out_of_memory(builder->wf->error);
    }
    builder->last_task[datum] = task;
    builder->last_access[datum] = builder->access_count;
    builder->accesses[builder->access_count++] = (struct sy_access){datum, mode};
    return 0;
}

static int collect_accesses(struct builder *builder, uint32_t task) {
    const struct sy_wf_task *entry = &builder->wf->tasks[task];
    int code = 0;
    builder->access_count = 0;
    for (uint32_t r = entry->ref_start; !code && r < entry->ref_end; r++) {
        const struct sy_wf_ref *ref = &builder->wf->refs[r];
        uint32_t datum = 0;
        if ((ref->kind == SY_WF_INPUT || ref->kind == SY_WF_OUTPUT) &&
            sy_map_get(&builder->files, ref->text, strlen(ref->text), &datum) &&
            (ref->kind == SY_WF_INPUT || builder->writer[datum] == task)) {
            code = push_access(builder, task, datum, ref->kind == SY_WF_INPUT ? SY_READ : SY_WRITE);
        }
    }
    return code;
}

static int add_task(struct builder *builder, uint32_t index) {
    const struct sy_wf *wf = builder->wf;
    const struct sy_wf_task *task = &wf->tasks[index], *run = NULL;
    uint32_t found, kernel = 0;
    if (sy_map_get(&builder->runs, task->id, strlen(task->id), &found)) {
        run = &wf->runs[found];
    }
    double seconds = run && run->seconds >= 0 ? run->seconds : task->seconds;
    if (seconds < 0) {
        sy_fail_at(wf->error, -EINVAL, wf->file, task->line, task->column,
                   "task \"%.60s\" has no runtimeInSeconds", task->id);
        return sy_hint(wf->error, "only workflows that were run have times");
    }
    int code = kernel_of(builder, task, run, &kernel);
    code = code ? code : collect_accesses(builder, index);
    if (code) {
        return code;
    }
    bool is_unique = task->name &&
                     sy_map_get(&builder->names, task->name, strlen(task->name), &found) &&
                     found == index;
    struct sy_task_desc desc = {.name = is_unique ? task->name : task->id,
                                .kernel = {kernel},
                                .work = seconds * 1e9,
                                .accesses = builder->accesses,
                                .access_count = builder->access_count};
    sy_task_id id;
    return sy_graph_add_task(builder->graph, &desc, &id) < 0 ? sy_out_of_memory(builder->wf->error)
                                                             : 0;
}

/* Up to 1.4 tasks speak of each other by name, later by id; files in the wild mix them. */
static bool find_task(const struct builder *builder, const char *text, uint32_t *ret_task) {
    const struct sy_map *first = builder->wf->is_split ? &builder->ids : &builder->names;
    const struct sy_map *second = builder->wf->is_split ? &builder->names : &builder->ids;
    size_t length = strlen(text);
    return sy_map_get(first, text, length, ret_task) || sy_map_get(second, text, length, ret_task);
}

static int add_ref_edge(struct builder *builder, uint32_t task, const struct sy_wf_ref *ref) {
    const struct sy_wf *wf = builder->wf;
    uint32_t other = task, datum = 0;
    if (ref->kind == SY_WF_INPUT &&
        sy_map_get(&builder->files, ref->text, strlen(ref->text), &datum) &&
        builder->writer[datum] != SY_NONE) {
        other = builder->writer[datum];
        if (other == task) {
            return 0;
        }
    } else if (ref->kind == SY_WF_PARENT || ref->kind == SY_WF_CHILD) {
        if (!find_task(builder, ref->text, &other)) {
            return sy_fail_at(wf->error, -EINVAL, wf->file, ref->line, ref->column,
                              "there is no task \"%.60s\"", ref->text);
        }
    } else {
        return 0;
    }
    sy_task_id from = {ref->kind == SY_WF_CHILD ? task : other};
    sy_task_id to = {ref->kind == SY_WF_CHILD ? other : task};
    return sy_graph_add_edge(builder->graph, from, to) < 0 ? sy_out_of_memory(builder->wf->error)
                                                           : 0;
}

static int add_edges(struct builder *builder) {
    const struct sy_wf *wf = builder->wf;
    int code = 0;
    for (uint32_t t = 0; !code && t < wf->task_count; t++) {
        for (uint32_t r = wf->tasks[t].ref_start; !code && r < wf->tasks[t].ref_end; r++) {
            code = add_ref_edge(builder, t, &wf->refs[r]);
        }
    }
    return code;
}

static int seal(struct builder *builder) {
    const struct sy_wf *wf = builder->wf;
    struct sy_graph_cycle cycle;
    int code = sy_graph_seal_locate(builder->graph, wf->error, &cycle);
    if (code && cycle.to != SY_NONE) {
        snprintf(wf->error->file, sizeof wf->error->file, "%s", wf->file);
        wf->error->line = wf->tasks[cycle.to].line;
        wf->error->column = wf->tasks[cycle.to].column;
    }
    return code;
}

int sy_wf_build(struct sy_wf *wf, struct sy_graph **ret_graph) {
    struct builder builder = {.wf = wf, .graph = sy_graph_create(wf->name, true)};
    int code = builder.graph ? index_tasks(&builder) : sy_out_of_memory(builder.wf->error);
    code = code ? code : add_files(&builder);
    for (uint32_t i = 0; !code && i < wf->task_count; i++) {
        code = add_task(&builder, i);
    }
    code = code ? code : add_edges(&builder);
    code = code ? code : seal(&builder);
    sy_map_finish(&builder.ids);
    sy_map_finish(&builder.names);
    sy_map_finish(&builder.runs);
    sy_map_finish(&builder.files);
    free(builder.writer);
    free(builder.last_task);
    free(builder.last_access);
    free(builder.accesses);
    if (code) {
        sy_graph_destroy(builder.graph);
        return code;
    }
    *ret_graph = builder.graph;
    return 0;
}
