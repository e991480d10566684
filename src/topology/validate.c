/* SPDX-License-Identifier: Apache-2.0
 *
 * validate: the rules every machine obeys, whoever described it.
 *
 * In: the builder's parts. Out: 0, or an error that names the part and the rule. Never knows: where
 * in a file the part stood; readers check what they can point at before they add it.
 */
#include "topology/builder.h"
#include <errno.h>
#include <math.h>
#include <string.h>

static bool is_positive(double value) {
    return isfinite(value) && value > 0;
}

static bool is_bandwidth(double value) {
    return value >= SY_BYTES_PER_S_MIN && value <= SY_BYTES_PER_S_MAX;
}

static bool is_size(double value) {
    return value >= SY_BYTES_MIN && value <= SY_BYTES_MAX;
}

static int put_name(struct sy_map *names, const char *what, const char *name, uint32_t index,
                    struct sy_error *error) {
    if (!name[0]) {
        return sy_fail(error, -EINVAL, "%s %u has an empty name", what, index);
    }
    int code = sy_map_put(names, name, strlen(name), index);
    if (code == -EEXIST) {
        return sy_fail(error, -EINVAL, "%s name \"%.64s\" is used twice", what, name);
    }
    return code ? sy_fail(error, code, "out of memory") : 0;
}

static int check_resources(const struct sy_builder *builder, struct sy_error *error) {
    struct sy_map names = {0};
    int code = 0;
    for (uint32_t i = 0; !code && i < builder->resource_count; i++) {
        const struct sy_resource *resource = &builder->resources[i];
        code = put_name(&names, "resource", resource->name, i, error);
        if (!code && !is_bandwidth(resource->bytes_per_s)) {
            code = sy_fail(error, -EINVAL, "resource \"%.64s\": bandwidth must be positive, not %g",
                           resource->name, resource->bytes_per_s);
        }
    }
    sy_map_finish(&names);
    return code;
}

static int check_memory(const struct sy_builder *builder, const struct sy_memory *memory,
                        struct sy_error *error) {
    if (!is_size(memory->capacity_bytes) && memory->capacity_bytes != (double)INFINITY) {
        return sy_fail(error, -EINVAL, "memory \"%.64s\": capacity must be positive, not %g",
                       memory->name, memory->capacity_bytes);
    }
    if (memory->resource != SY_NONE && memory->resource >= builder->resource_count) {
        return sy_fail(error, -EINVAL, "memory \"%.64s\": no such resource", memory->name);
    }
    if (memory->dma_count == 0) {
        return sy_fail(error, -EINVAL, "memory \"%.64s\": at least one copy at a time",
                       memory->name);
    }
    return 0;
}

static int check_memories(const struct sy_builder *builder, struct sy_error *error) {
    if (builder->memory_count == 0) {
        return sy_fail(error, -EINVAL, "the machine has no memory");
    }
    if (!builder->memories[0].host) {
        sy_fail(error, -EINVAL, "memory \"%.64s\" comes first but is not host memory",
                builder->memories[0].name);
        return sy_hint(error, "data start in the first memory: list host memories first");
    }
    struct sy_map names = {0};
    int code = 0;
    for (uint32_t i = 0; !code && i < builder->memory_count; i++) {
        code = put_name(&names, "memory", builder->memories[i].name, i, error);
        code = code ? code : check_memory(builder, &builder->memories[i], error);
    }
    sy_map_finish(&names);
    return code;
}

static int check_boards(const struct sy_builder *builder, struct sy_error *error) {
    struct sy_map names = {0};
    int code = 0;
    for (uint32_t i = 0; !code && i < builder->board_count; i++) {
        const struct sy_board *board = &builder->boards[i];
        code = put_name(&names, "board", board->name, i, error);
        bool sound = is_bandwidth(board->port_bytes_per_s) && is_size(board->image_bytes) &&
                     isfinite(board->init_ns) && board->init_ns >= 0;
        if (!code && !sound) {
            code = sy_fail(error, -EINVAL,
                           "board \"%.64s\": port bandwidth and image size must be positive",
                           board->name);
        }
    }
    sy_map_finish(&names);
    return code;
}

static int check_placement(const struct sy_builder *builder, const struct sy_device *device,
                           struct sy_error *error) {
    const char *name = device->name;
    if (device->memory >= builder->memory_count || device->host_memory >= builder->memory_count) {
        return sy_fail(error, -EINVAL, "device \"%.64s\" has no memory", name);
    }
    if (!builder->memories[device->host_memory].host) {
        return sy_fail(error, -EINVAL, "device \"%.64s\": memory \"%.64s\" is not host memory",
                       name, builder->memories[device->host_memory].name);
    }
    if (device->kind == SY_CPU && device->memory != device->host_memory) {
        return sy_fail(error, -EINVAL, "device \"%.64s\": a CPU computes from host memory", name);
    }
    if (device->kind == SY_FPGA && device->board >= builder->board_count) {
        return sy_fail(error, -EINVAL, "device \"%.64s\": an FPGA region needs a board", name);
    }
    if (device->kind != SY_FPGA && device->board != SY_NONE) {
        return sy_fail(error, -EINVAL, "device \"%.64s\": only FPGA regions are on a board", name);
    }
    return 0;
}

static int check_device(const struct sy_builder *builder, const struct sy_device *device,
                        struct sy_error *error) {
    if (!is_positive(device->speed_ratio)) {
        return sy_fail(error, -EINVAL, "device \"%.64s\": speed must be positive, not %g",
                       device->name, device->speed_ratio);
    }
    bool sound = isfinite(device->busy_watts) && isfinite(device->idle_watts) &&
                 device->idle_watts >= 0 && device->busy_watts >= device->idle_watts;
    if (!sound) {
        return sy_fail(error, -EINVAL,
                       "device \"%.64s\": watts busy %g and idle %g do not satisfy 0 <= idle <= "
                       "busy",
                       device->name, device->busy_watts, device->idle_watts);
    }
    return check_placement(builder, device, error);
}

static int check_devices(const struct sy_builder *builder, struct sy_error *error) {
    if (builder->device_count == 0) {
        return sy_fail(error, -EINVAL, "the machine has no device");
    }
    struct sy_map names = {0};
    int code = 0;
    for (uint32_t i = 0; !code && i < builder->device_count; i++) {
        code = put_name(&names, "device", builder->devices[i].name, i, error);
        code = code ? code : check_device(builder, &builder->devices[i], error);
    }
    sy_map_finish(&names);
    return code;
}

static bool is_node(const struct sy_builder *builder, uint32_t node) {
    return node < SY_MEMORY_MAX ? node < builder->memory_count
                                : node - SY_MEMORY_MAX < builder->hub_count;
}

static int check_links(const struct sy_builder *builder, struct sy_error *error) {
    for (uint32_t i = 0; i < builder->link_count; i++) {
        const struct sy_link *link = &builder->links[i];
        if (!is_node(builder, link->from) || !is_node(builder, link->to) ||
            link->from == link->to) {
            return sy_fail(error, -EINVAL, "link %u does not join two memories or hubs", i);
        }
        if (link->resource != SY_NONE && link->resource >= builder->resource_count) {
            return sy_fail(error, -EINVAL, "link %u: no such resource", i);
        }
        if (!is_bandwidth(link->bytes_per_s) || !isfinite(link->latency_ns) ||
            link->latency_ns < 0) {
            return sy_fail(error, -EINVAL, "link %u: bandwidth %g or latency %g is not possible", i,
                           link->bytes_per_s, link->latency_ns);
        }
    }
    return 0;
}

static bool is_possible(const struct sy_builder *builder, const struct sy_route *route) {
    if (!is_bandwidth(route->bytes_per_s) || !isfinite(route->latency_ns) ||
        route->latency_ns < 0 || route->resource_count > SY_ROUTE_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < route->resource_count; i++) {
        if (route->resources[i] >= builder->resource_count) {
            return false;
        }
    }
    return true;
}

static int check_given(const struct sy_builder *builder, struct sy_error *error) {
    for (uint32_t i = 0; builder->given && i < SY_MEMORY_MAX * SY_MEMORY_MAX; i++) {
        uint32_t from = i / SY_MEMORY_MAX, to = i % SY_MEMORY_MAX;
        const struct sy_given_route *given = &builder->given[i];
        if (given->given == SY_GIVEN_NOTHING) {
            continue;
        }
        if (from >= builder->memory_count || to >= builder->memory_count || from == to) {
            return sy_fail(error, -EINVAL, "route %u to %u does not join two memories", from, to);
        }
        if (!is_possible(builder, &given->route)) {
            return sy_fail(error, -EINVAL,
                           "route from \"%.64s\" to \"%.64s\": bandwidth %g or latency %g is not "
                           "possible",
                           builder->memories[from].name, builder->memories[to].name,
                           given->route.bytes_per_s, given->route.latency_ns);
        }
    }
    return 0;
}

int sy_builder_validate(const struct sy_builder *builder, struct sy_error *error) {
    static int (*const checks[])(const struct sy_builder *, struct sy_error *) = {
        check_resources, check_memories, check_boards, check_devices, check_links, check_given};
    for (size_t i = 0; i < SY_COUNT(checks); i++) {
        int code = checks[i](builder, error);
        if (code) {
            return code;
        }
    }
    return 0;
}
