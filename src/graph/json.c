/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of the native JSON format, docs/graph-format.md: one graph, or an array of graphs.
 *
 * In: text. Out: sealed graphs. Never knows: machines. Invariant: values are pulled one at a time,
 * no tree is kept; what is not understood is refused at its line and column.
 */
#include "base/json.h"
#include "graph/internal.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "symph-graph-1"

/* A task named in "after" before it is described. */
struct pending {
    const char *name; /* NULL: index */
    uint32_t index;
    uint32_t task; /* that waits */
    struct sy_json_place place;
};

struct reader {
    struct sy_json json;
    struct sy_graph_list list;
    /* Of the graph being read. */
    struct sy_graph *graph;
    struct sy_arena *scratch; /* names, while they are read */
    const char *name;
    bool is_explicit, has_tasks;
    struct sy_map data, tasks;
    struct sy_access *accesses;
    struct pending *pending;
    struct sy_json_place *places; /* where each task is described, for cycles */
    uint32_t access_count, access_capacity, pending_count, pending_capacity, place_capacity;
    /* "after" of the task being read: it has no index before it is whole. */
    struct pending *after;
    uint32_t after_count, after_capacity;
};

static int read_list(struct reader *reader, int (*read_one)(struct reader *reader)) {
    int more = sy_json_enter_array(&reader->json);
    while (more >= 0 && (more = sy_json_next(&reader->json)) > 0) {
        more = read_one(reader);
    }
    return more;
}

static int amount(struct reader *reader, const char *what, double *ret_value) {
    return sy_json_number_in(&reader->json, what, 0, SY_GRAPH_NUMBER_MAX, ret_value);
}

/* --- kernels ---------------------------------------------------------------------------------- */

static int read_variant(struct reader *reader, struct sy_variant *variant) {
#define AMOUNT(field)                                                                              \
    { #field, sy_json_read_number, &variant->field, 0, SY_GRAPH_NUMBER_MAX }
    const struct sy_json_member members[] = {
        AMOUNT(fixed_ns),           AMOUNT(ns_per_work), AMOUNT(log_sigma),
        AMOUNT(demand_bytes_per_s), AMOUNT(watts),       AMOUNT(link_demand_bytes_per_s),
        AMOUNT(image_bytes),
    };
    variant->present = true;
    return sy_json_members(reader, "a variant", members, SY_COUNT(members));
}

/* Names of the kinds, in their order, for sy_json_next_of. */
static void list_kinds(const char **names) {
    for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
        names[kind] = sy_device_kind_name((enum sy_device_kind)kind);
    }
}

static int read_each_kind(struct reader *reader, struct sy_variant *variants) {
    const char *names[SY_KIND_COUNT];
    uint32_t seen = 0, kind = 0;
    list_kinds(names);
    int more = sy_json_enter_object(&reader->json);
    while (more >= 0 && (more = sy_json_next_of(&reader->json, "a list of kinds of devices", names,
                                                SY_KIND_COUNT, &seen, &kind)) > 0) {
        more = read_variant(reader, &variants[kind]);
    }
    return more;
}

static int read_name(void *any, const struct sy_json_member *member) {
    struct reader *reader = any;
    const char **name = member->out;
    int code = sy_json_text(&reader->json, reader->scratch, name);
    return !code && !(*name)[0] ? sy_json_fail(&reader->json, "a name may not be empty") : code;
}

static int read_variants(void *reader, const struct sy_json_member *member) {
    return read_each_kind(reader, member->out);
}

static int read_kernel(struct reader *reader) {
    struct sy_kernel_desc desc = {0};
    const struct sy_json_member members[] = {
        {"name", read_name, &desc.name, .required = true},
        {"interference", read_name, &desc.interference},
        {"variants", read_variants, desc.variants},
        {"part_max", sy_json_read_count, &desc.part_max, 0, SY_PART_MAX},
        {"part_ns", sy_json_read_number, &desc.part_ns, 0, SY_GRAPH_NUMBER_MAX},
    };
    sy_kernel_id kernel;
    int code = sy_json_members(reader, "a kernel", members, SY_COUNT(members));
    if (code) {
        return code;
    }
    code = sy_graph_add_kernel(reader->graph, &desc, &kernel);
    if (code == -EEXIST) {
        return sy_json_fail(&reader->json, "kernel \"%.60s\" is described twice", desc.name);
    }
    return code ? sy_out_of_memory(reader->json.error) : 0;
}

/* --- data ------------------------------------------------------------------------------------- */

static int read_datum(struct reader *reader) {
    const char *name = NULL;
    double bytes = 0;
    const struct sy_json_member members[] = {
        {"name", read_name, &name},
        {"bytes", sy_json_read_number, &bytes, 0, SY_GRAPH_NUMBER_MAX, .required = true},
    };
    sy_data_id datum;
    int code = sy_json_members(reader, "a datum", members, SY_COUNT(members));
    if (code) {
        return code;
    }
    if (sy_graph_add_data(reader->graph, name, bytes, &datum) < 0) {
        return sy_out_of_memory(reader->json.error);
    }
    const char *kept = reader->graph->data_names[datum.index];
    code = kept ? sy_map_put(&reader->data, kept, strlen(kept), datum.index) : 0;
    if (code == -EEXIST) {
        return sy_json_fail(&reader->json, "datum \"%.60s\" is described twice", name);
    }
    return code ? sy_out_of_memory(reader->json.error) : 0;
}

/* --- tasks ------------------------------------------------------------------------------------ */

/* A reference by name or by index to something described before. */
static int read_reference(struct reader *reader, const char *what, const struct sy_map *map,
                          uint32_t limit, uint32_t *ret_index) {
    enum sy_json_type type;
    const char *text;
    size_t length;
    int code = sy_json_peek(&reader->json, &type);
    if (code || type != SY_JSON_STRING) {
        return code ? code : sy_json_index(&reader->json, what, limit, ret_index);
    }
    code = sy_json_string(&reader->json, &text, &length);
    if (!code && !sy_map_get(map, text, length, ret_index)) {
        code = sy_json_fail(&reader->json, "there is no %s \"%.60s\"", what, text);
        sy_hint(reader->json.error, "it must be described before the tasks");
    }
    return code;
}

static int push_access(struct reader *reader, uint32_t mode) {
    if (sy_grow(&reader->accesses, &reader->access_capacity, reader->access_count + 1,
                sizeof *reader->accesses) < 0) {
        return sy_out_of_memory(reader->json.error);
    }
    struct sy_access access = {.mode = mode};
    int code =
        read_reference(reader, "datum", &reader->data, reader->graph->data_count, &access.datum);
    if (!code) {
        reader->accesses[reader->access_count++] = access;
    }
    return code;
}

static int read_accesses(struct reader *reader, uint32_t mode) {
    int more = sy_json_enter_array(&reader->json);
    while (more >= 0 && (more = sy_json_next(&reader->json)) > 0) {
        more = push_access(reader, mode);
    }
    return more;
}

/* The next element of [mode, datum] must be there (1) or must not (0). */
static int expect_next(struct reader *reader, int wanted) {
    int more = sy_json_next(&reader->json);
    if (more < 0 || more == wanted) {
        return more < 0 ? more : 0;
    }
    return sy_json_fail(&reader->json,
                        "expected [mode, datum], where mode is \"read\", \"write\" or \"update\"");
}

static int read_mode(struct reader *reader, uint32_t *ret_mode) {
    static const char *const modes[] = {"read", "write", "update"};
    int code = sy_json_word(&reader->json, "a mode", modes, SY_COUNT(modes), ret_mode);
    *ret_mode += 1; /* SY_READ, SY_WRITE, both */
    return code;
}

/* [["read", 0], ["write", "A"]]: for accesses whose order matters to the kernel. */
static int read_ordered_access(struct reader *reader) {
    uint32_t mode = 0;
    int code = sy_json_enter_array(&reader->json);
    code = code ? code : expect_next(reader, 1);
    code = code ? code : read_mode(reader, &mode);
    code = code ? code : expect_next(reader, 1);
    code = code ? code : push_access(reader, mode);
    return code ? code : expect_next(reader, 0);
}

static int read_after(struct reader *reader) {
    int more = sy_json_enter_array(&reader->json);
    while (more >= 0 && (more = sy_json_next(&reader->json)) > 0) {
        struct pending wait = {.index = SY_NONE};
        enum sy_json_type type;
        const char *text;
        size_t length;
        more = sy_json_peek(&reader->json, &type);
        wait.place = sy_json_here(&reader->json);
        if (!more && type == SY_JSON_STRING) {
            more = sy_json_string(&reader->json, &text, &length);
            if (!more && !sy_map_get(&reader->tasks, text, length, &wait.index)) {
                wait.name = sy_arena_strndup(reader->scratch, text, length);
            }
        } else if (!more) {
            more = sy_json_index(&reader->json, "task", SY_GRAPH_TASK_MAX, &wait.index);
        }
        if (!more && (sy_grow(&reader->after, &reader->after_capacity, reader->after_count + 1,
                              sizeof *reader->after) < 0 ||
                      (wait.index == SY_NONE && !wait.name))) {
            more = sy_out_of_memory(reader->json.error);
        }
        if (!more) {
            reader->after[reader->after_count++] = wait;
        }
    }
    return more;
}

/* {"cpu": 1e6, "gpu": null}: null says that it cannot run there. */
static int read_times(struct reader *reader, double *time_ns) {
    const char *names[SY_KIND_COUNT];
    uint32_t seen = 0, kind = 0;
    list_kinds(names);
    int more = sy_json_enter_object(&reader->json);
    while (more >= 0 && (more = sy_json_next_of(&reader->json, "a list of kinds of devices", names,
                                                SY_KIND_COUNT, &seen, &kind)) > 0) {
        enum sy_json_type type;
        more = sy_json_peek(&reader->json, &type);
        if (!more && type == SY_JSON_NULL) {
            time_ns[kind] = INFINITY;
            more = sy_json_skip(&reader->json);
        } else if (!more) {
            more = amount(reader, "time_ns", &time_ns[kind]);
        }
    }
    return more;
}

static int add_task(struct reader *reader, const struct sy_task_desc *desc, uint32_t *ret_task) {
    sy_task_id task;
    int code = sy_graph_add_task(reader->graph, desc, &task);
    if (code) {
        return code == -EOVERFLOW
                   ? sy_json_fail(&reader->json, "more than %u tasks", SY_GRAPH_TASK_MAX)
                   : sy_out_of_memory(reader->json.error);
    }
    const char *kept = reader->graph->tasks[task.index].name;
    code = kept ? sy_map_put(&reader->tasks, kept, strlen(kept), task.index) : 0;
    if (code == -EEXIST) {
        return sy_json_fail(&reader->json, "task \"%.60s\" is described twice", kept);
    }
    *ret_task = task.index;
    return code ? sy_out_of_memory(reader->json.error) : 0;
}

/* Edges to tasks that are known by now; the others wait for the end of the graph. */
static int add_waits(struct reader *reader, uint32_t task) {
    for (uint32_t i = 0; i < reader->after_count; i++) {
        struct pending *wait = &reader->after[i];
        wait->task = task;
        if (wait->index < task) {
            if (sy_graph_builder_edge(reader->graph, wait->index, task, SY_GRAPH_GIVEN) < 0) {
                return sy_out_of_memory(reader->json.error);
            }
            continue;
        }
        if (sy_append(&reader->pending, &reader->pending_capacity, &reader->pending_count, wait,
                      sizeof *reader->pending)) {
            return sy_out_of_memory(reader->json.error);
        }
    }
    return 0;
}

static int finish_task(struct reader *reader, struct sy_task_desc *desc, struct sy_json_place place,
                       bool has_kernel) {
    uint32_t task = reader->graph->task_count;
    sy_json_go(&reader->json, place); /* what follows is about the task as a whole */
    if (!has_kernel) {
        return sy_json_fail(&reader->json, "a task lacks \"kernel\"");
    }
    if (sy_grow(&reader->places, &reader->place_capacity, task + 1, sizeof place) < 0) {
        return sy_out_of_memory(reader->json.error);
    }
    reader->places[task] = place;
    desc->accesses = reader->accesses;
    desc->access_count = reader->access_count;
    int code = add_task(reader, desc, &task);
    return code ? code : add_waits(reader, task);
}

enum { NAME, KERNEL, WORK, READS, WRITES, UPDATES, ACCESSES, AFTER, TIME_NS, TASK_MEMBERS };

static int read_task_member(struct reader *reader, uint32_t member, struct sy_task_desc *desc,
                            double *time_ns) {
    switch (member) {
    case NAME:
        return read_name(reader, &(struct sy_json_member){.out = &desc->name});
    case KERNEL:
        return read_reference(reader, "kernel", &reader->graph->builder->kernels,
                              reader->graph->kernel_count, &desc->kernel.index);
    case WORK:
        return amount(reader, "work", &desc->work);
    case READS:
        return read_accesses(reader, SY_READ);
    case WRITES:
        return read_accesses(reader, SY_WRITE);
    case UPDATES:
        return read_accesses(reader, SY_READ_WRITE);
    case ACCESSES:
        return read_list(reader, read_ordered_access);
    case AFTER:
        return read_after(reader);
    default:
        desc->time_ns = time_ns;
        return read_times(reader, time_ns);
    }
}

static int read_task(struct reader *reader) {
    static const char *const names[TASK_MEMBERS] = {
        "name", "kernel", "work", "reads", "writes", "updates", "accesses", "after", "time_ns"};
    struct sy_task_desc desc = {.work = 1};
    double time_ns[SY_KIND_COUNT] = {NAN, NAN, NAN, NAN};
    uint32_t seen = 0, index = 0;
    reader->access_count = reader->after_count = 0;
    int more = sy_json_enter_object(&reader->json);
    struct sy_json_place place = sy_json_here(&reader->json);
    while (more >= 0 && (more = sy_json_next_of(&reader->json, "a task", names, TASK_MEMBERS, &seen,
                                                &index)) > 0) {
        more = read_task_member(reader, index, &desc, time_ns);
    }
    return more < 0 ? more : finish_task(reader, &desc, place, seen & 1u << KERNEL);
}

/* --- the graph -------------------------------------------------------------------------------- */

static int read_dependencies(struct reader *reader) {
    static const char *const words[] = {"sequential", "explicit"};
    uint32_t word = 0;
    int code = sy_json_word(&reader->json, "a kind of dependencies", words, SY_COUNT(words), &word);
    reader->is_explicit = word == 1;
    return code;
}

/* The graph is made when its first content comes: name and dependencies must be known by then. */
static int open_graph(struct reader *reader) {
    if (!reader->graph) {
        reader->graph = sy_graph_create(reader->name, reader->is_explicit);
    }
    return reader->graph ? 0 : sy_out_of_memory(reader->json.error);
}

enum { SCHEMA_MEMBER, GRAPH_NAME, DEPENDENCIES, KERNELS, DATA, TASKS, GRAPH_MEMBERS };

static int read_graph_member(struct reader *reader, uint32_t member, uint32_t seen) {
    bool is_late = (member == GRAPH_NAME || member == DEPENDENCIES) && reader->graph;
    is_late = is_late || ((member == KERNELS || member == DATA) && reader->has_tasks);
    if (is_late) {
        sy_json_fail(&reader->json, "this member comes too late");
        return sy_hint(reader->json.error,
                       "the order is schema, name, dependencies, kernels, data, tasks");
    }
    if (!(seen & 1u << SCHEMA_MEMBER)) {
        sy_json_fail(&reader->json, "a graph begins with its schema");
        return sy_hint(reader->json.error, "put \"schema\": \"" SCHEMA "\" first");
    }
    int code = member >= KERNELS ? open_graph(reader) : 0;
    if (code) {
        return code;
    }
    switch (member) {
    case SCHEMA_MEMBER:
        return sy_json_schema(&reader->json, SCHEMA, "a graph");
    case GRAPH_NAME:
        return read_name(reader, &(struct sy_json_member){.out = &reader->name});
    case DEPENDENCIES:
        return read_dependencies(reader);
    case KERNELS:
        return read_list(reader, read_kernel);
    case DATA:
        return read_list(reader, read_datum);
    default:
        reader->has_tasks = true;
        return read_list(reader, read_task);
    }
}

static int resolve(struct reader *reader) {
    for (uint32_t i = 0; i < reader->pending_count; i++) {
        struct pending *wait = &reader->pending[i];
        sy_json_go(&reader->json, wait->place);
        if (wait->name &&
            !sy_map_get(&reader->tasks, wait->name, strlen(wait->name), &wait->index)) {
            return sy_json_fail(&reader->json, "there is no task \"%.60s\"", wait->name);
        }
        if (wait->index >= reader->graph->task_count) {
            return sy_json_fail(&reader->json, "there is no task %u: there are %u, numbered from 0",
                                wait->index, reader->graph->task_count);
        }
        if (sy_graph_builder_edge(reader->graph, wait->index, wait->task, SY_GRAPH_GIVEN) < 0) {
            return sy_out_of_memory(reader->json.error);
        }
    }
    return 0;
}

static int seal(struct reader *reader) {
    struct sy_graph_cycle cycle;
    struct sy_error *error = reader->json.error;
    int code = sy_graph_seal_locate(reader->graph, error, &cycle);
    if (code && cycle.to != SY_NONE) {
        snprintf(error->file, sizeof error->file, "%s", reader->json.file);
        error->line = reader->places[cycle.to].line;
        error->column = reader->places[cycle.to].column;
    }
    return code;
}

static int adopt(struct reader *reader) {
    int code = sy_graph_list_adopt(&reader->list, reader->graph);
    if (code) {
        return sy_out_of_memory(reader->json.error);
    }
    reader->graph = NULL;
    return 0;
}

/* Leaves the reader ready for the next graph; arrays are kept. */
static void forget(struct reader *reader) {
    sy_graph_destroy(reader->graph);
    sy_arena_destroy(reader->scratch);
    sy_map_finish(&reader->data);
    sy_map_finish(&reader->tasks);
    reader->graph = NULL;
    reader->scratch = NULL;
    reader->name = NULL;
    reader->is_explicit = reader->has_tasks = false;
    reader->pending_count = 0;
}

static int read_graph(struct reader *reader) {
    static const char *const names[GRAPH_MEMBERS] = {"schema",  "name", "dependencies",
                                                     "kernels", "data", "tasks"};
    uint32_t seen = 0, index = 0;
    reader->scratch = sy_arena_create();
    int more = reader->scratch ? sy_json_enter_object(&reader->json)
                               : sy_out_of_memory(reader->json.error);
    struct sy_json_place place = sy_json_here(&reader->json);
    while (more >= 0 && (more = sy_json_next_of(&reader->json, "a graph", names, GRAPH_MEMBERS,
                                                &seen, &index)) > 0) {
        more = read_graph_member(reader, index, seen);
    }
    if (more == 0 && !reader->has_tasks) {
        sy_json_go(&reader->json, place);
        more = sy_json_fail(&reader->json, "a graph lacks \"tasks\"");
    }
    int code = more < 0 ? more : resolve(reader);
    code = code ? code : seal(reader);
    code = code ? code : adopt(reader);
    forget(reader);
    return code;
}

int sy_graph_read_json(const char *name, const char *text, size_t length,
                       struct sy_graph_list *ret_list, struct sy_error *error) {
    struct sy_error unseen;
    struct reader reader = {0};
    enum sy_json_type type;
    sy_json_init(&reader.json, name, text, length, error ? error : &unseen);
    int code = sy_json_peek(&reader.json, &type);
    if (!code) {
        code = type == SY_JSON_ARRAY ? read_list(&reader, read_graph) : read_graph(&reader);
    }
    code = code ? code : sy_json_end(&reader.json);
    sy_json_finish(&reader.json);
    free(reader.accesses);
    free(reader.pending);
    free(reader.places);
    free(reader.after);
    if (code) {
        sy_graph_list_finish(&reader.list);
        return code;
    }
    *ret_list = reader.list;
    return 0;
}
