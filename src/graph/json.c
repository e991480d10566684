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
    uint32_t line, column;
};

struct place {
    uint32_t line, column;
};

struct reader {
    struct sy_json json;
    struct sy_graph_list list;
    /* Of the graph being read. */
    struct sy_graph *graph;
    struct sy_arena *scratch; /* names of pending tasks */
    char *name;
    bool is_explicit, has_tasks;
    struct sy_map data, tasks;
    struct sy_access *accesses;
    struct pending *pending;
    struct place *places; /* where each task is described, for cycles */
    uint32_t access_count, access_capacity, pending_count, pending_capacity, place_capacity;
    /* "after" of the task being read: it has no index before it is whole. */
    struct pending *after;
    uint32_t after_count, after_capacity;
};

static int fail_memory(struct reader *reader) {
    return sy_fail(reader->json.error, -ENOMEM, "out of memory");
}

/* Next member of an object, as an index into names. 1, 0 at the end, or an error: an unknown
 * member with the nearest known one, or one that comes twice. */
static int next_member(struct reader *reader, const char *const *names, uint32_t count,
                       uint32_t *seen, uint32_t *ret_index) {
    const char *name;
    int more = sy_json_next_member(&reader->json, &name);
    if (more <= 0) {
        return more;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            if (*seen & 1u << i) {
                return sy_json_fail(&reader->json, "\"%s\" comes twice", name);
            }
            *seen |= 1u << i;
            *ret_index = i;
            return 1;
        }
    }
    sy_json_fail(&reader->json, "unknown member \"%.60s\"", name);
    const char *nearest = sy_nearest(name, names, count);
    if (nearest) {
        sy_hint(reader->json.error, "did you mean \"%s\"?", nearest);
    } else {
        sy_hint(reader->json.error, "docs/graph-format.md lists the members");
    }
    return -EINVAL;
}

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
    static const char *const names[] = {"fixed_ns",   "ns_per_work",
                                        "log_sigma",  "demand_bytes_per_s",
                                        "watts",      "link_demand_bytes_per_s",
                                        "image_bytes"};
    double *const fields[] = {&variant->fixed_ns,   &variant->ns_per_work,
                              &variant->log_sigma,  &variant->demand_bytes_per_s,
                              &variant->watts,      &variant->link_demand_bytes_per_s,
                              &variant->image_bytes};
    uint32_t seen = 0, index = 0;
    int more = sy_json_enter_object(&reader->json);
    while (more >= 0 && (more = next_member(reader, names, SY_COUNT(names), &seen, &index)) > 0) {
        more = amount(reader, names[index], fields[index]);
    }
    variant->present = true;
    return more;
}

/* Names of the kinds, in their order, for next_member. */
static void list_kinds(const char **names) {
    for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
        names[kind] = sy_device_kind_name((enum sy_device_kind)kind);
    }
}

static int read_variants(struct reader *reader, struct sy_variant *variants) {
    const char *names[SY_KIND_COUNT];
    uint32_t seen = 0, kind = 0;
    list_kinds(names);
    int more = sy_json_enter_object(&reader->json);
    while (more >= 0 && (more = next_member(reader, names, SY_KIND_COUNT, &seen, &kind)) > 0) {
        more = read_variant(reader, &variants[kind]);
    }
    return more;
}

/* A string into malloc'ed memory. */
static int read_name(struct reader *reader, char **ret_name) {
    const char *text;
    int code = sy_json_string(&reader->json, &text, NULL);
    if (code) {
        return code;
    }
    if (!text[0]) {
        return sy_json_fail(&reader->json, "a name may not be empty");
    }
    char *copy = strdup(text);
    if (!copy) {
        return fail_memory(reader);
    }
    *ret_name = copy;
    return 0;
}

static int finish_kernel(struct reader *reader, const struct sy_kernel_desc *desc,
                         struct place place) {
    sy_kernel_id kernel;
    if (!desc->name) {
        return sy_fail_at(reader->json.error, -EINVAL, reader->json.file, place.line, place.column,
                          "this kernel has no \"name\"");
    }
    int code = sy_graph_add_kernel(reader->graph, desc, &kernel);
    if (code == -EEXIST) {
        return sy_fail_at(reader->json.error, -EINVAL, reader->json.file, place.line, place.column,
                          "kernel \"%.60s\" is described twice", desc->name);
    }
    return code ? fail_memory(reader) : 0;
}

static struct place here(const struct reader *reader) {
    return (struct place){reader->json.value_line, reader->json.value_column};
}

static int read_kernel(struct reader *reader) {
    static const char *const names[] = {"name", "interference", "variants"};
    struct sy_kernel_desc desc = {0};
    char *strings[2] = {NULL, NULL};
    uint32_t seen = 0, index = 0;
    int more = sy_json_enter_object(&reader->json);
    struct place place = here(reader);
    while (more >= 0 && (more = next_member(reader, names, SY_COUNT(names), &seen, &index)) > 0) {
        more =
            index < 2 ? read_name(reader, &strings[index]) : read_variants(reader, desc.variants);
    }
    desc.name = strings[0];
    desc.interference = strings[1];
    int code = more < 0 ? more : finish_kernel(reader, &desc, place);
    free(strings[0]);
    free(strings[1]);
    return code;
}

/* --- data ------------------------------------------------------------------------------------- */

static int finish_datum(struct reader *reader, const char *name, double bytes, struct place place) {
    sy_data_id datum;
    if (bytes < 0) {
        return sy_fail_at(reader->json.error, -EINVAL, reader->json.file, place.line, place.column,
                          "this datum has no \"bytes\"");
    }
    if (sy_graph_add_data(reader->graph, name, bytes, &datum) < 0) {
        return fail_memory(reader);
    }
    const char *kept = reader->graph->data_names[datum.index];
    int code = kept ? sy_map_put(&reader->data, kept, strlen(kept), datum.index) : 0;
    if (code == -EEXIST) {
        return sy_fail_at(reader->json.error, -EINVAL, reader->json.file, place.line, place.column,
                          "datum \"%.60s\" is described twice", name);
    }
    return code ? fail_memory(reader) : 0;
}

static int read_datum(struct reader *reader) {
    static const char *const names[] = {"name", "bytes"};
    char *name = NULL;
    double bytes = -1;
    uint32_t seen = 0, index = 0;
    int more = sy_json_enter_object(&reader->json);
    struct place place = here(reader);
    while (more >= 0 && (more = next_member(reader, names, SY_COUNT(names), &seen, &index)) > 0) {
        more = index ? amount(reader, "bytes", &bytes) : read_name(reader, &name);
    }
    int code = more < 0 ? more : finish_datum(reader, name, bytes, place);
    free(name);
    return code;
}

/* --- tasks ------------------------------------------------------------------------------------ */

/* A whole number below limit. */
static int read_index(struct reader *reader, const char *what, uint32_t limit,
                      uint32_t *ret_index) {
    double value;
    int code = sy_json_number(&reader->json, &value);
    if (code) {
        return code;
    }
    if (!(value >= 0 && value < limit) || value != floor(value)) {
        return sy_json_fail(&reader->json, "there is no %s %g: there are %u, numbered from 0", what,
                            value, limit);
    }
    *ret_index = (uint32_t)value;
    return 0;
}

/* A reference by name or by index to something described before. */
static int read_reference(struct reader *reader, const char *what, const struct sy_map *map,
                          uint32_t limit, uint32_t *ret_index) {
    enum sy_json_type type;
    const char *text;
    size_t length;
    int code = sy_json_peek(&reader->json, &type);
    if (code || type != SY_JSON_STRING) {
        return code ? code : read_index(reader, what, limit, ret_index);
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
        return fail_memory(reader);
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
    const char *text;
    int code = sy_json_string(&reader->json, &text, NULL);
    for (uint32_t i = 0; !code && i < SY_COUNT(modes); i++) {
        if (strcmp(text, modes[i]) == 0) {
            *ret_mode = i + 1;
            return 0;
        }
    }
    return code
               ? code
               : sy_json_fail(&reader->json,
                              "the mode is \"read\", \"write\" or \"update\", not \"%.20s\"", text);
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
        wait.line = reader->json.value_line;
        wait.column = reader->json.value_column;
        if (!more && type == SY_JSON_STRING) {
            more = sy_json_string(&reader->json, &text, &length);
            if (!more && !sy_map_get(&reader->tasks, text, length, &wait.index)) {
                wait.name = sy_arena_strndup(reader->scratch, text, length);
            }
        } else if (!more) {
            more = read_index(reader, "task", SY_GRAPH_TASK_MAX, &wait.index);
        }
        if (!more && (sy_grow(&reader->after, &reader->after_capacity, reader->after_count + 1,
                              sizeof *reader->after) < 0 ||
                      (wait.index == SY_NONE && !wait.name))) {
            more = fail_memory(reader);
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
    while (more >= 0 && (more = next_member(reader, names, SY_KIND_COUNT, &seen, &kind)) > 0) {
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
                   : fail_memory(reader);
    }
    const char *kept = reader->graph->tasks[task.index].name;
    code = kept ? sy_map_put(&reader->tasks, kept, strlen(kept), task.index) : 0;
    if (code == -EEXIST) {
        return sy_json_fail(&reader->json, "task \"%.60s\" is described twice", kept);
    }
    *ret_task = task.index;
    return code ? fail_memory(reader) : 0;
}

/* Edges to tasks that are known by now; the others wait for the end of the graph. */
static int add_waits(struct reader *reader, uint32_t task) {
    for (uint32_t i = 0; i < reader->after_count; i++) {
        struct pending *wait = &reader->after[i];
        wait->task = task;
        if (wait->index < task) {
            if (sy_graph_builder_edge(reader->graph, wait->index, task, SY_GRAPH_GIVEN) < 0) {
                return fail_memory(reader);
            }
            continue;
        }
        if (sy_grow(&reader->pending, &reader->pending_capacity, reader->pending_count + 1,
                    sizeof *reader->pending) < 0) {
            return fail_memory(reader);
        }
        reader->pending[reader->pending_count++] = *wait;
    }
    return 0;
}

static int finish_task(struct reader *reader, struct sy_task_desc *desc, struct place place,
                       bool has_kernel) {
    uint32_t task = reader->graph->task_count;
    reader->json.value_line = place.line; /* what follows is about the task as a whole */
    reader->json.value_column = place.column;
    if (!has_kernel) {
        return sy_json_fail(&reader->json, "this task has no \"kernel\"");
    }
    if (sy_grow(&reader->places, &reader->place_capacity, task + 1, sizeof place) < 0) {
        return fail_memory(reader);
    }
    reader->places[task] = place;
    desc->accesses = reader->accesses;
    desc->access_count = reader->access_count;
    int code = add_task(reader, desc, &task);
    return code ? code : add_waits(reader, task);
}

struct task_text {
    char *name;
    double time_ns[SY_KIND_COUNT];
};

enum { NAME, KERNEL, WORK, READS, WRITES, UPDATES, ACCESSES, AFTER, TIME_NS, TASK_MEMBERS };

static int read_task_member(struct reader *reader, uint32_t member, struct sy_task_desc *desc,
                            struct task_text *text) {
    switch (member) {
    case NAME:
        return read_name(reader, &text->name);
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
        desc->time_ns = text->time_ns;
        return read_times(reader, text->time_ns);
    }
}

static int read_task(struct reader *reader) {
    static const char *const names[TASK_MEMBERS] = {
        "name", "kernel", "work", "reads", "writes", "updates", "accesses", "after", "time_ns"};
    struct sy_task_desc desc = {.work = 1};
    struct task_text text = {.time_ns = {NAN, NAN, NAN, NAN}};
    uint32_t seen = 0, index = 0;
    reader->access_count = reader->after_count = 0;
    int more = sy_json_enter_object(&reader->json);
    struct place place = here(reader);
    while (more >= 0 && (more = next_member(reader, names, TASK_MEMBERS, &seen, &index)) > 0) {
        more = read_task_member(reader, index, &desc, &text);
    }
    desc.name = text.name;
    int code = more < 0 ? more : finish_task(reader, &desc, place, seen & 1u << KERNEL);
    free(text.name);
    return code;
}

/* --- the graph -------------------------------------------------------------------------------- */

static int read_schema(struct reader *reader) {
    const char *text;
    int code = sy_json_string(&reader->json, &text, NULL);
    if (!code && strcmp(text, SCHEMA) != 0) {
        code = sy_json_fail(&reader->json, "unknown schema \"%.60s\"", text);
        sy_hint(reader->json.error, "this version reads \"" SCHEMA "\"");
    }
    return code;
}

static int read_dependencies(struct reader *reader) {
    const char *text;
    int code = sy_json_string(&reader->json, &text, NULL);
    if (code) {
        return code;
    }
    reader->is_explicit = strcmp(text, "explicit") == 0;
    if (!reader->is_explicit && strcmp(text, "sequential") != 0) {
        return sy_json_fail(&reader->json, "dependencies are \"sequential\" or \"explicit\"");
    }
    return 0;
}

/* The graph is made when its first content comes: name and dependencies must be known by then. */
static int open_graph(struct reader *reader) {
    if (!reader->graph) {
        reader->graph = sy_graph_create(reader->name, reader->is_explicit);
        reader->scratch = sy_arena_create();
    }
    return reader->graph && reader->scratch ? 0 : fail_memory(reader);
}

enum { SCHEMA_MEMBER, GRAPH_NAME, DEPENDENCIES, KERNELS, DATA, TASKS, GRAPH_MEMBERS };

static int read_graph_member(struct reader *reader, uint32_t member, uint32_t seen) {
    bool is_late = (member == GRAPH_NAME || member == DEPENDENCIES) && reader->graph;
    is_late = is_late || ((member == KERNELS || member == DATA) && reader->has_tasks);
    if (is_late) {
        sy_json_fail(&reader->json, "this member comes too late");
        sy_hint(reader->json.error,
                "the order is schema, name, dependencies, kernels, data, tasks");
        return -EINVAL;
    }
    if (!(seen & 1u << SCHEMA_MEMBER)) {
        sy_json_fail(&reader->json, "a graph begins with its schema");
        sy_hint(reader->json.error, "put \"schema\": \"" SCHEMA "\" first");
        return -EINVAL;
    }
    int code = member >= KERNELS ? open_graph(reader) : 0;
    if (code) {
        return code;
    }
    switch (member) {
    case SCHEMA_MEMBER:
        return read_schema(reader);
    case GRAPH_NAME:
        return read_name(reader, &reader->name);
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
        reader->json.value_line = wait->line;
        reader->json.value_column = wait->column;
        if (wait->name &&
            !sy_map_get(&reader->tasks, wait->name, strlen(wait->name), &wait->index)) {
            return sy_json_fail(&reader->json, "there is no task \"%.60s\"", wait->name);
        }
        if (wait->index >= reader->graph->task_count) {
            return sy_json_fail(&reader->json, "there is no task %u: there are %u, numbered from 0",
                                wait->index, reader->graph->task_count);
        }
        if (sy_graph_builder_edge(reader->graph, wait->index, wait->task, SY_GRAPH_GIVEN) < 0) {
            return fail_memory(reader);
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
        return fail_memory(reader);
    }
    reader->graph = NULL;
    return 0;
}

/* Leaves the reader ready for the next graph; arrays are kept. */
static void forget(struct reader *reader) {
    sy_graph_destroy(reader->graph);
    if (reader->scratch) {
        sy_arena_destroy(reader->scratch);
    }
    free(reader->name);
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
    int more = sy_json_enter_object(&reader->json);
    struct place place = here(reader);
    while (more >= 0 && (more = next_member(reader, names, GRAPH_MEMBERS, &seen, &index)) > 0) {
        more = read_graph_member(reader, index, seen);
    }
    if (more == 0 && !reader->has_tasks) {
        more = sy_fail_at(reader->json.error, -EINVAL, reader->json.file, place.line, place.column,
                          "this graph has no \"tasks\"");
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
