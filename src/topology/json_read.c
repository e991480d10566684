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

enum type { NAME, REFERENCE, REFERENCES, NUMBER, COUNT, BOOL, KIND, RESOURCE_KIND };

/* One member of an object: where its value goes and what it may be. */
struct member {
    const char *name;
    enum type type;
    void *out;
    double low, high;         /* NUMBER, COUNT */
    const struct sy_map *map; /* REFERENCE: names that may be meant */
    bool required, seen;
};

struct reader {
    struct sy_json json;
    struct sy_arena *scratch; /* names while reading */
    struct sy_builder *builder;
    const char *file, *text;
    size_t length;
    struct sy_map resources, memories, boards, devices;
    struct sy_map nodes; /* memories and hubs */
    uint32_t hub_count;
    bool has_schema;
};

/* The list of resources of a route. */
struct references {
    uint32_t count;
    uint32_t indices[SY_ROUTE_MAX];
};

static int no_memory(struct reader *reader) {
    return sy_fail(reader->json.error, -ENOMEM, "out of memory");
}

static int read_name(struct reader *reader, size_t bytes_max, const char **ret_name) {
    const char *text;
    size_t length;
    int code = sy_json_string(&reader->json, &text, &length);
    if (code) {
        return code;
    }
    if (length == 0 || length > bytes_max) {
        return sy_json_fail(&reader->json, "a name has 1 to %zu bytes", bytes_max);
    }
    const char *copy = sy_arena_strndup(reader->scratch, text, length);
    if (!copy) {
        return no_memory(reader);
    }
    *ret_name = copy;
    return 0;
}

static int read_reference(struct reader *reader, const struct sy_map *map, const char *what,
                          uint32_t *ret_index) {
    const char *text;
    size_t length;
    int code = sy_json_string(&reader->json, &text, &length);
    if (code) {
        return code;
    }
    if (!sy_map_get(map, text, length, ret_index)) {
        return sy_json_fail(&reader->json, "%s: there is no \"%.64s\"", what, text);
    }
    return 0;
}

static int read_references(struct reader *reader, const struct member *member) {
    struct references *list = member->out;
    int code = sy_json_enter_array(&reader->json);
    if (code) {
        return code;
    }
    while ((code = sy_json_next(&reader->json)) == 1) {
        uint32_t index = 0;
        code = read_reference(reader, member->map, member->name, &index);
        if (!code && list->count == SY_ROUTE_MAX) {
            code =
                sy_json_fail(&reader->json, "a route crosses at most %d resources", SY_ROUTE_MAX);
        }
        if (code) {
            return code;
        }
        list->indices[list->count++] = index;
    }
    return code;
}

static int read_kind(struct reader *reader, enum sy_device_kind *ret_kind) {
    const char *text;
    int code = sy_json_string(&reader->json, &text, NULL);
    if (!code && !sy_device_kind_parse(text, ret_kind)) {
        code = sy_json_fail(&reader->json, "\"%.32s\" is not a kind of device", text);
        sy_hint(reader->json.error, "cpu, gpu, fpga or asic");
    }
    return code;
}

static int read_resource_kind(struct reader *reader, enum sy_resource_kind *ret_kind) {
    const char *text;
    int code = sy_json_string(&reader->json, &text, NULL);
    if (code) {
        return code;
    }
    for (int kind = SY_RES_DRAM; kind <= SY_RES_INTERCONNECT; kind++) {
        if (strcmp(text, sy_resource_kind_name((enum sy_resource_kind)kind)) == 0) {
            *ret_kind = (enum sy_resource_kind)kind;
            return 0;
        }
    }
    sy_json_fail(&reader->json, "\"%.32s\" is not a kind of resource", text);
    sy_hint(reader->json.error, "dram, link, switch or interconnect");
    return -EINVAL;
}

static int read_count(struct reader *reader, const struct member *member) {
    double value;
    int code = sy_json_number_in(&reader->json, member->name, member->low, member->high, &value);
    if (!code && value != floor(value)) {
        code = sy_json_fail(&reader->json, "%s must be a whole number", member->name);
    }
    if (!code) {
        *(uint32_t *)member->out = (uint32_t)value;
    }
    return code;
}

static int read_value(struct reader *reader, const struct member *member) {
    switch (member->type) {
    case NAME:
        return read_name(reader, NAME_BYTES_MAX, member->out);
    case REFERENCE:
        return read_reference(reader, member->map, member->name, member->out);
    case REFERENCES:
        return read_references(reader, member);
    case NUMBER:
        return sy_json_number_in(&reader->json, member->name, member->low, member->high,
                                 member->out);
    case COUNT:
        return read_count(reader, member);
    case BOOL:
        return sy_json_bool(&reader->json, member->out);
    case KIND:
        return read_kind(reader, member->out);
    default:
        return read_resource_kind(reader, member->out);
    }
}

static int fail_member(struct reader *reader, const char *what, const char *name,
                       const struct member *members, size_t count) {
    const char *known[16];
    SY_ASSERT(count <= SY_COUNT(known));
    for (size_t i = 0; i < count; i++) {
        known[i] = members[i].name;
    }
    const char *near = sy_nearest(name, known, count);
    sy_json_fail(&reader->json, "%s has no member \"%.32s\"", what, name);
    if (near) {
        sy_hint(reader->json.error, "did you mean \"%s\"?", near);
    }
    return -EINVAL;
}

/* Reads an object whose members are exactly those listed. */
static int read_object(struct reader *reader, const char *what, struct member *members,
                       size_t count) {
    struct sy_json *json = &reader->json;
    const char *name;
    int code = sy_json_enter_object(json);
    uint32_t line = json->value_line, column = json->value_column;
    while (!code && (code = sy_json_next_member(json, &name)) == 1) {
        size_t i = 0;
        while (i < count && strcmp(members[i].name, name) != 0) {
            i++;
        }
        if (i == count) {
            return fail_member(reader, what, name, members, count);
        }
        if (members[i].seen) {
            return sy_json_fail(json, "%s appears twice", members[i].name);
        }
        members[i].seen = true;
        code = read_value(reader, &members[i]);
    }
    for (size_t i = 0; !code && i < count; i++) {
        if (members[i].required && !members[i].seen) {
            json->value_line = line;
            json->value_column = column;
            code = sy_json_fail(json, "%s lacks \"%s\"", what, members[i].name);
        }
    }
    return code;
}

/* A name that must be new. */
static int put_name(struct reader *reader, struct sy_map *map, const char *what, const char *name,
                    uint32_t index) {
    int code = sy_map_put(map, name, strlen(name), index);
    if (code == -EEXIST) {
        return sy_json_fail(&reader->json, "two %s are called \"%.64s\"", what, name);
    }
    return code ? no_memory(reader) : 0;
}

static int too_many(struct reader *reader, const char *what) {
    return sy_json_fail(&reader->json, "too many %s", what);
}

static int read_resource(struct reader *reader) {
    struct sy_resource resource = {0};
    struct member members[] = {
        {.name = "name", .type = NAME, .out = &resource.name, .required = true},
        {.name = "kind", .type = RESOURCE_KIND, .out = &resource.kind, .required = true},
        {.name = "bytes_per_s",
         .type = NUMBER,
         .out = &resource.bytes_per_s,
         .low = 1e-3,
         .high = SY_BYTES_PER_S_MAX,
         .required = true},
    };
    int code = read_object(reader, "resource", members, SY_COUNT(members));
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
    struct member members[] = {
        {.name = "name", .type = NAME, .out = &board.name, .required = true},
        {.name = "port_bytes_per_s",
         .type = NUMBER,
         .out = &board.port_bytes_per_s,
         .low = 1e-3,
         .high = SY_BYTES_PER_S_MAX},
        {.name = "init_ns", .type = NUMBER, .out = &board.init_ns, .high = SY_NS_MAX},
        {.name = "image_bytes",
         .type = NUMBER,
         .out = &board.image_bytes,
         .low = 1e-3,
         .high = SY_BYTES_MAX},
    };
    int code = read_object(reader, "board", members, SY_COUNT(members));
    if (code) {
        return code;
    }
    uint32_t index = sy_builder_add_board(reader->builder, &board);
    return index == SY_NONE ? too_many(reader, "boards")
                            : put_name(reader, &reader->boards, "boards", board.name, index);
}

static int read_memory(struct reader *reader) {
    struct sy_memory memory = {.capacity_bytes = INFINITY, .resource = SY_NONE, .dma_count = 2};
    struct member members[] = {
        {.name = "name", .type = NAME, .out = &memory.name, .required = true},
        {.name = "host", .type = BOOL, .out = &memory.host},
        {.name = "capacity_bytes",
         .type = NUMBER,
         .out = &memory.capacity_bytes,
         .low = 1e-3,
         .high = SY_BYTES_MAX},
        {.name = "resource", .type = REFERENCE, .out = &memory.resource, .map = &reader->resources},
        {.name = "dma_count", .type = COUNT, .out = &memory.dma_count, .low = 1, .high = 256},
    };
    int code = read_object(reader, "memory", members, SY_COUNT(members));
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
    int code = read_name(reader, NAME_BYTES_MAX, &name);
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
    struct member members[] = {
        {.name = "name", .type = NAME, .out = &device.name, .required = true},
        {.name = "kind", .type = KIND, .out = &device.kind, .required = true},
        {.name = "model", .type = NAME, .out = &device.model},
        {.name = "memory",
         .type = REFERENCE,
         .out = &device.memory,
         .map = &reader->memories,
         .required = true},
        {.name = "host_memory",
         .type = REFERENCE,
         .out = &device.host_memory,
         .map = &reader->memories},
        {.name = "group", .type = COUNT, .out = &device.group, .high = UINT32_MAX - 1.0},
        {.name = "board", .type = REFERENCE, .out = &device.board, .map = &reader->boards},
        {.name = "speed_ratio",
         .type = NUMBER,
         .out = &device.speed_ratio,
         .low = 1e-6,
         .high = 1e6},
        {.name = "busy_watts", .type = NUMBER, .out = &device.busy_watts, .high = SY_WATTS_MAX},
        {.name = "idle_watts", .type = NUMBER, .out = &device.idle_watts, .high = SY_WATTS_MAX},
    };
    int code = read_object(reader, "device", members, SY_COUNT(members));
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
    struct member members[] = {
        {.name = "from",
         .type = REFERENCE,
         .out = &link.from,
         .map = &reader->nodes,
         .required = true},
        {.name = "to", .type = REFERENCE, .out = &link.to, .map = &reader->nodes, .required = true},
        {.name = "bytes_per_s",
         .type = NUMBER,
         .out = &link.bytes_per_s,
         .low = 1e-3,
         .high = SY_BYTES_PER_S_MAX,
         .required = true},
        {.name = "latency_ns", .type = NUMBER, .out = &link.latency_ns, .high = SY_NS_MAX},
        {.name = "resource", .type = REFERENCE, .out = &link.resource, .map = &reader->resources},
    };
    int code = read_object(reader, "link", members, SY_COUNT(members));
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
    struct member members[] = {
        {.name = "from",
         .type = REFERENCE,
         .out = &from,
         .map = &reader->memories,
         .required = true},
        {.name = "to", .type = REFERENCE, .out = &to, .map = &reader->memories, .required = true},
        {.name = "bytes_per_s",
         .type = NUMBER,
         .out = &route.bytes_per_s,
         .low = 1e-3,
         .high = SY_BYTES_PER_S_MAX,
         .required = true},
        {.name = "latency_ns", .type = NUMBER, .out = &route.latency_ns, .high = ROUTE_NS_MAX},
        {.name = "resources", .type = REFERENCES, .out = &list, .map = &reader->resources},
    };
    int code = read_object(reader, "route", members, SY_COUNT(members));
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

static int read_schema(struct reader *reader) {
    const char *text;
    int code = sy_json_string(&reader->json, &text, NULL);
    if (!code && strcmp(text, SCHEMA) != 0) {
        code = sy_json_fail(&reader->json, "schema \"%.40s\" is not a machine", text);
        sy_hint(reader->json.error, "expected \"" SCHEMA "\"");
    }
    reader->has_schema = !code;
    return code;
}

/* The machine's own name is wanted before the builder is made, by find_name. */
static int skip_name(struct reader *reader) {
    const char *name;
    return read_name(reader, OWN_NAME_BYTES_MAX, &name);
}

static const struct section {
    const char *name;
    int pass;
    bool array;
    int (*read)(struct reader *reader);
} sections[] = {
    {"schema", 0, false, read_schema},     {"name", 0, false, skip_name},
    {"resources", 0, true, read_resource}, {"boards", 0, true, read_board},
    {"memories", 1, true, read_memory},    {"hubs", 1, true, read_hub},
    {"devices", 2, true, read_device},     {"links", 2, true, read_link},
    {"routes", 2, true, read_route},
};

static int read_section(struct reader *reader, const struct section *section) {
    if (!section->array) {
        return section->read(reader);
    }
    int code = sy_json_enter_array(&reader->json);
    while (!code && (code = sy_json_next(&reader->json)) == 1) {
        code = section->read(reader);
    }
    return code;
}

static int fail_section(struct reader *reader, const char *name) {
    const char *known[SY_COUNT(sections)];
    for (size_t i = 0; i < SY_COUNT(sections); i++) {
        known[i] = sections[i].name;
    }
    const char *near = sy_nearest(name, known, SY_COUNT(known));
    sy_json_fail(&reader->json, "a machine has no member \"%.32s\"", name);
    if (near) {
        sy_hint(reader->json.error, "did you mean \"%s\"?", near);
    }
    return -EINVAL;
}

static int read_members(struct reader *reader, int pass) {
    struct sy_json *json = &reader->json;
    unsigned seen = 0;
    const char *name;
    int code = sy_json_enter_object(json);
    while (!code && (code = sy_json_next_member(json, &name)) == 1) {
        size_t i = 0;
        while (i < SY_COUNT(sections) && strcmp(sections[i].name, name) != 0) {
            i++;
        }
        if (i == SY_COUNT(sections)) {
            return fail_section(reader, name);
        }
        if (seen & 1u << i) {
            return sy_json_fail(json, "%s appears twice", sections[i].name);
        }
        seen |= 1u << i;
        code = sections[i].pass == pass ? read_section(reader, &sections[i]) : sy_json_skip(json);
    }
    return code ? code : sy_json_end(json);
}

static int read_pass(struct reader *reader, int pass) {
    struct sy_error *error = reader->json.error;
    sy_json_init(&reader->json, reader->file, reader->text, reader->length, error);
    int code = read_members(reader, pass);
    sy_json_finish(&reader->json);
    if (!code && !reader->has_schema) {
        code = sy_fail_at(error, -EINVAL, reader->file, 1, 1, "the machine has no \"schema\"");
        sy_hint(error, "begin with {\"schema\": \"" SCHEMA "\", ...");
    }
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
        code = found ? read_name(reader, OWN_NAME_BYTES_MAX, &name) : sy_json_skip(json);
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
        return sy_fail(error, -ENOMEM, "out of memory");
    }
    const char *slash = strrchr(file, '/');
    reader.builder = sy_builder_create(find_name(&reader, slash ? slash + 1 : file));
    reader.json.error = error;
    int code = reader.builder ? 0 : sy_fail(error, -ENOMEM, "out of memory");
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
