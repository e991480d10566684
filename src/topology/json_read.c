/* SPDX-License-Identifier: Apache-2.0
 *
 * json_read: a machine in its native form, "symph-machine-1".
 *
 * In: text. Out: a machine. Sections may come in any order: the text is read three times, names
 * before those who use them. Invariant: whatever is wrong with a value is said at that value's line
 * and column.
 */
#include "base/json.h"
#include "topology/topology.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define SCHEMA             "symph-machine-1"
#define NAME_BYTES_MAX     200
#define OWN_NAME_BYTES_MAX 65536             /* a machine may be called by the line that made it */
#define ROUTE_NS_MAX       (SY_NS_MAX * 1e3) /* a sum over links */

struct reader {
    struct sy_json json;
    struct sy_arena *scratch; /* names while reading */
    struct sy_builder *builder;
    const char *file, *text;
    size_t length;
    struct sy_map resources, memories, boards, devices;
    struct sy_map nodes; /* memories and hubs */
    uint32_t hub_count;
};

/* The list of resources of a route. */
struct references {
    uint32_t count;
    uint32_t indices[SY_ROUTE_MAX];
};

static int read_own_name(struct reader *reader, size_t bytes_max, const char **ret_name) {
    const char *name = NULL;
    int code = sy_json_text(&reader->json, reader->scratch, &name);
    if (!code && (name[0] == '\0' || strlen(name) > bytes_max)) {
        return sy_json_fail(&reader->json, "a name has 1 to %zu bytes", bytes_max);
    }
    *ret_name = code ? *ret_name : name;
    return code;
}

static int read_name(void *reader, const struct sy_json_member *member) {
    return read_own_name(reader, NAME_BYTES_MAX, member->out);
}

static int find_reference(struct reader *reader, const struct sy_json_member *member,
                          uint32_t *ret_index) {
    const char *text;
    size_t length;
    int code = sy_json_string(&reader->json, &text, &length);
    if (!code && !sy_map_get(member->extra, text, length, ret_index)) {
        code = sy_json_fail(&reader->json, "%s: there is no \"%.64s\"", member->name, text);
    }
    return code;
}

static int read_reference(void *reader, const struct sy_json_member *member) {
    return find_reference(reader, member, member->out);
}

static int read_references(void *reader, const struct sy_json_member *member) {
    struct references *list = member->out;
    int code = sy_json_enter_array(reader);
    while (!code && (code = sy_json_next(reader)) == 1) {
        uint32_t index = 0;
        code = find_reference(reader, member, &index);
        if (!code && list->count == SY_ROUTE_MAX) {
            code = sy_json_fail(reader, "a route crosses at most %d resources", SY_ROUTE_MAX);
        }
        if (!code) {
            list->indices[list->count++] = index;
        }
    }
    return code;
}

static int read_kind(void *reader, const struct sy_json_member *member) {
    const char *names[SY_KIND_COUNT];
    uint32_t kind = 0;
    for (uint32_t i = 0; i < SY_KIND_COUNT; i++) {
        names[i] = sy_device_kind_name((enum sy_device_kind)i);
    }
    int code = sy_json_word(reader, "a kind of device", names, SY_KIND_COUNT, &kind);
    *(enum sy_device_kind *)member->out = (enum sy_device_kind)kind;
    return code;
}

static int read_resource_kind(void *reader, const struct sy_json_member *member) {
    const char *names[SY_RES_INTERCONNECT + 1];
    uint32_t kind = 0;
    for (uint32_t i = 0; i < SY_COUNT(names); i++) {
        names[i] = sy_resource_kind_name((enum sy_resource_kind)i);
    }
    int code = sy_json_word(reader, "a kind of resource", names, SY_COUNT(names), &kind);
    *(enum sy_resource_kind *)member->out = (enum sy_resource_kind)kind;
    return code;
}

/* A name that must be new. */
static int put_name(struct reader *reader, struct sy_map *map, const char *what, const char *name,
                    uint32_t index) {
    int code = sy_map_put(map, name, strlen(name), index);
    if (code == -EEXIST) {
        return sy_json_fail(&reader->json, "two %s are called \"%.64s\"", what, name);
    }
    return code ? sy_out_of_memory(reader->json.error) : 0;
}

static int too_many(struct reader *reader, const char *what) {
    return sy_json_fail(&reader->json, "too many %s", what);
}

static int read_resource(struct reader *reader) {
    struct sy_resource resource = {0};
    const struct sy_json_member members[] = {
        {"name", read_name, &resource.name, .required = true},
        {"kind", read_resource_kind, &resource.kind, .required = true},
        {"bytes_per_s", sy_json_read_number, &resource.bytes_per_s, 1e-3, SY_BYTES_PER_S_MAX,
         .required = true},
    };
    int code = sy_json_members(reader, "a resource", members, SY_COUNT(members));
    if (code) {
        return code;
    }
    uint32_t index = sy_builder_add_resource(reader->builder, &resource);
    return index == SY_NONE
               ? too_many(reader, "resources")
               : put_name(reader, &reader->resources, "resources", resource.name, index);
}

static int read_board(struct reader *reader) {
    struct sy_board board = {.port_bytes_per_s = SY_DEFAULT_PORT_BYTES_PER_S,
                             .init_ns = SY_DEFAULT_PORT_INIT_NS,
                             .image_bytes = SY_DEFAULT_IMAGE_BYTES};
    const struct sy_json_member members[] = {
        {"name", read_name, &board.name, .required = true},
        {"port_bytes_per_s", sy_json_read_number, &board.port_bytes_per_s, 1e-3,
         SY_BYTES_PER_S_MAX},
        {"init_ns", sy_json_read_number, &board.init_ns, 0, SY_NS_MAX},
        {"image_bytes", sy_json_read_number, &board.image_bytes, 1e-3, SY_BYTES_MAX},
    };
    int code = sy_json_members(reader, "a board", members, SY_COUNT(members));
    if (code) {
        return code;
    }
    uint32_t index = sy_builder_add_board(reader->builder, &board);
    return index == SY_NONE ? too_many(reader, "boards")
                            : put_name(reader, &reader->boards, "boards", board.name, index);
}

static int read_memory(struct reader *reader) {
    struct sy_memory memory = {.capacity_bytes = INFINITY, .resource = SY_NONE, .dma_count = 2};
    const struct sy_json_member members[] = {
        {"name", read_name, &memory.name, .required = true},
        {"host", sy_json_read_bool, &memory.host},
        {"capacity_bytes", sy_json_read_number, &memory.capacity_bytes, 1e-3, SY_BYTES_MAX},
        {"resource", read_reference, &memory.resource, .extra = &reader->resources},
        {"dma_count", sy_json_read_count, &memory.dma_count, 1, 256},
    };
    int code = sy_json_members(reader, "a memory", members, SY_COUNT(members));
    if (code) {
        return code;
    }
    uint32_t index = sy_builder_add_memory(reader->builder, &memory);
    if (index == SY_NONE) {
        return too_many(reader, "memories");
    }
    code = put_name(reader, &reader->memories, "memories", memory.name, index);
    return code ? code : put_name(reader, &reader->nodes, "memories or hubs", memory.name, index);
}

static int read_hub(struct reader *reader) {
    const char *name = NULL;
    int code = read_own_name(reader, NAME_BYTES_MAX, &name);
    if (code) {
        return code;
    }
    uint32_t node = sy_builder_add_hub(reader->builder);
    return node == SY_NONE ? too_many(reader, "hubs")
                           : put_name(reader, &reader->nodes, "memories or hubs", name, node);
}

static int read_device(struct reader *reader) {
    struct sy_device device = {.memory = SY_NONE,
                               .host_memory = SY_NONE,
                               .group = SY_NONE,
                               .board = SY_NONE,
                               .speed_ratio = 1,
                               .busy_watts = NAN,
                               .idle_watts = NAN};
    const struct sy_json_member members[] = {
        {"name", read_name, &device.name, .required = true},
        {"kind", read_kind, &device.kind, .required = true},
        {"model", read_name, &device.model},
        {"memory", read_reference, &device.memory, .extra = &reader->memories, .required = true},
        {"host_memory", read_reference, &device.host_memory, .extra = &reader->memories},
        {"group", sy_json_read_count, &device.group, 0, UINT32_MAX - 1.0},
        {"board", read_reference, &device.board, .extra = &reader->boards},
        {"speed_ratio", sy_json_read_number, &device.speed_ratio, 1e-6, 1e6},
        {"busy_watts", sy_json_read_number, &device.busy_watts, 0, SY_WATTS_MAX},
        {"idle_watts", sy_json_read_number, &device.idle_watts, 0, SY_WATTS_MAX},
    };
    int code = sy_json_members(reader, "a device", members, SY_COUNT(members));
    if (code) {
        return code;
    }
    if (device.host_memory == SY_NONE) {
        device.host_memory = device.kind == SY_CPU ? device.memory : 0;
    }
    if (isnan(device.busy_watts)) {
        device.busy_watts = fmax(sy_default_busy_watts(device.kind), device.idle_watts);
    }
    if (isnan(device.idle_watts)) {
        device.idle_watts = fmin(sy_default_idle_watts(device.kind), device.busy_watts);
    }
    uint32_t index = sy_builder_add_device(reader->builder, &device);
    return index == SY_NONE ? too_many(reader, "devices")
                            : put_name(reader, &reader->devices, "devices", device.name, index);
}

static int read_link(struct reader *reader) {
    struct sy_link link = {.resource = SY_NONE};
    const struct sy_json_member members[] = {
        {"from", read_reference, &link.from, .extra = &reader->nodes, .required = true},
        {"to", read_reference, &link.to, .extra = &reader->nodes, .required = true},
        {"bytes_per_s", sy_json_read_number, &link.bytes_per_s, 1e-3, SY_BYTES_PER_S_MAX,
         .required = true},
        {"latency_ns", sy_json_read_number, &link.latency_ns, 0, SY_NS_MAX},
        {"resource", read_reference, &link.resource, .extra = &reader->resources},
    };
    int code = sy_json_members(reader, "a link", members, SY_COUNT(members));
    if (!code && link.from == link.to) {
        code = sy_json_fail(&reader->json, "a link joins two different ends");
    }
    if (!code) {
        sy_builder_add_link(reader->builder, &link);
    }
    return code;
}

static int read_route(struct reader *reader) {
    struct sy_route route = {0};
    struct references list = {0};
    uint32_t from = 0, to = 0;
    const struct sy_json_member members[] = {
        {"from", read_reference, &from, .extra = &reader->memories, .required = true},
        {"to", read_reference, &to, .extra = &reader->memories, .required = true},
        {"bytes_per_s", sy_json_read_number, &route.bytes_per_s, 1e-3, SY_BYTES_PER_S_MAX,
         .required = true},
        {"latency_ns", sy_json_read_number, &route.latency_ns, 0, ROUTE_NS_MAX},
        {"resources", read_references, &list, .extra = &reader->resources},
    };
    int code = sy_json_members(reader, "a route", members, SY_COUNT(members));
    if (!code && from == to) {
        code = sy_json_fail(&reader->json, "a route joins two different memories");
    }
    if (!code) {
        route.resource_count = list.count;
        memcpy(route.resources, list.indices, sizeof route.resources);
        sy_builder_set_route(reader->builder, from, to, &route);
    }
    return code;
}

static int read_schema(void *reader, const struct sy_json_member *member) {
    (void)member;
    return sy_json_schema(reader, SCHEMA, "a machine");
}

/* The machine's own name is wanted before the builder is made, by find_name. */
static int skip_name(void *reader, const struct sy_json_member *member) {
    (void)member;
    const char *name;
    return read_own_name(reader, OWN_NAME_BYTES_MAX, &name);
}

struct list {
    int (*read_one)(struct reader *reader);
};

static int read_list(void *reader, const struct sy_json_member *member) {
    const struct list *list = member->extra;
    int code = sy_json_enter_array(reader);
    while (!code && (code = sy_json_next(reader)) == 1) {
        code = list->read_one(reader);
    }
    return code;
}

/* Everything is looked at in each pass, the members of one are read. */
static int read_pass(struct reader *reader, int pass) {
#define LIST(at, read_one)                                                                         \
    at == pass ? read_list : NULL, .extra = &(const struct list) {                                 \
        read_one                                                                                   \
    }
    const struct sy_json_member members[] = {
        {"schema", pass == 0 ? read_schema : NULL, .required = true},
        {"name", pass == 0 ? skip_name : NULL},
        {"resources", LIST(0, read_resource)},
        {"boards", LIST(0, read_board)},
        {"memories", LIST(1, read_memory)},
        {"hubs", LIST(1, read_hub)},
        {"devices", LIST(2, read_device)},
        {"links", LIST(2, read_link)},
        {"routes", LIST(2, read_route)},
    };
    sy_json_init(&reader->json, reader->file, reader->text, reader->length, reader->json.error);
    int code = sy_json_members(reader, "a machine", members, SY_COUNT(members));
    code = code ? code : sy_json_end(&reader->json);
    sy_json_finish(&reader->json);
    return code;
}

/* Errors of finish know no position, but at least the file. */
static int finish(struct reader *reader, struct sy_machine **ret_machine, struct sy_error *error) {
    int code = sy_builder_finish(reader->builder, ret_machine, error);
    if (code) {
        snprintf(error->file, sizeof error->file, "%s", reader->file);
    }
    return code;
}

/* The value of a top-level "name", else fallback. Mistakes are left to the real passes. */
static const char *find_name(struct reader *reader, const char *fallback) {
    struct sy_error ignored;
    struct sy_json *json = &reader->json;
    const char *member, *name = fallback;
    sy_json_init(json, reader->file, reader->text, reader->length, &ignored);
    int code = sy_json_enter_object(json);
    while (!code && sy_json_next_member(json, &member) == 1) {
        bool found = strcmp(member, "name") == 0;
        code = found ? read_own_name(reader, OWN_NAME_BYTES_MAX, &name) : sy_json_skip(json);
        code = found ? 1 : code;
    }
    sy_json_finish(json);
    return name;
}

int sy_machine_read_json(const char *file, const char *text, size_t length,
                         struct sy_machine **ret_machine, struct sy_error *error) {
    struct sy_error local;
    struct reader reader = {.file = file, .text = text, .length = length};
    error = error ? error : &local;
    reader.scratch = sy_arena_create();
    if (!reader.scratch) {
        return sy_out_of_memory(error);
    }
    const char *slash = strrchr(file, '/');
    reader.builder = sy_builder_create(find_name(&reader, slash ? slash + 1 : file));
    reader.json.error = error;
    int code = reader.builder ? 0 : sy_out_of_memory(error);
    for (int pass = 0; !code && pass < 3; pass++) {
        code = read_pass(&reader, pass);
        reader.json.error = error;
    }
    code = code ? code : finish(&reader, ret_machine, error);
    sy_map_finish(&reader.resources);
    sy_map_finish(&reader.memories);
    sy_map_finish(&reader.boards);
    sy_map_finish(&reader.devices);
    sy_map_finish(&reader.nodes);
    sy_builder_destroy(reader.builder);
    sy_arena_destroy(reader.scratch);
    return code;
}
