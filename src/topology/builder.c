/* SPDX-License-Identifier: Apache-2.0
 *
 * builder: collects the parts of a machine, then freezes them.
 *
 * In: memories, resources, boards, devices, links in any reader's order. Out: struct sy_machine,
 * with classes, groups and routes computed. Invariant: after a failed add every further add is a
 * no-op, and finish reports the first failure.
 */
#include "topology/builder.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The public struct comes first, so that the pointer people hold is also ours. */
struct owner {
    struct sy_machine machine;
    struct sy_arena *arena;
};

struct sy_builder *sy_builder_create(const char *name) {
    struct sy_builder *builder = calloc(1, sizeof *builder);
    if (!builder) {
        return NULL;
    }
    builder->arena = sy_arena_create();
    builder->name = builder->arena ? sy_arena_strdup(builder->arena, name) : NULL;
    if (!builder->name) {
        sy_builder_destroy(builder);
        return NULL;
    }
    return builder;
}

void sy_builder_destroy(struct sy_builder *builder) {
    if (!builder) {
        return;
    }
    if (builder->arena) {
        sy_arena_destroy(builder->arena);
    }
    free(builder->resources);
    free(builder->memories);
    free(builder->boards);
    free(builder->devices);
    free(builder->links);
    free(builder->given);
    free(builder);
}

static void set_failure(struct sy_builder *builder, int code, const char *text) {
    if (!builder->failure) {
        builder->failure = code;
        builder->failure_text = text;
    }
}

/* Room for one more of count elements; remembers why not. */
static bool make_room(struct sy_builder *builder, void *array_pointer, uint32_t *capacity,
                      uint32_t count, uint32_t limit, size_t size, const char *limit_text) {
    if (builder->failure) {
        return false;
    }
    if (count >= limit) {
        set_failure(builder, -E2BIG, limit_text);
        return false;
    }
    if (sy_grow(array_pointer, capacity, count + 1, size) < 0) {
        set_failure(builder, -ENOMEM, "out of memory");
        return false;
    }
    return true;
}

static const char *keep_name(struct sy_builder *builder, const char *name) {
    const char *copy = sy_arena_strdup(builder->arena, name);
    if (!copy) {
        set_failure(builder, -ENOMEM, "out of memory");
    }
    return copy;
}

uint32_t sy_builder_add_resource(struct sy_builder *builder, const struct sy_resource *resource) {
    if (!make_room(builder, &builder->resources, &builder->resource_capacity,
                   builder->resource_count, SY_RESOURCE_MAX, sizeof *resource,
                   "more than 16384 shared resources")) {
        return SY_NONE;
    }
    struct sy_resource *added = &builder->resources[builder->resource_count];
    *added = *resource;
    added->name = keep_name(builder, resource->name);
    return added->name ? builder->resource_count++ : SY_NONE;
}

uint32_t sy_builder_add_memory(struct sy_builder *builder, const struct sy_memory *memory) {
    if (!make_room(builder, &builder->memories, &builder->memory_capacity, builder->memory_count,
                   SY_MEMORY_MAX, sizeof *memory,
                   "more than 64 memories (sockets and accelerators together)")) {
        return SY_NONE;
    }
    struct sy_memory *added = &builder->memories[builder->memory_count];
    *added = *memory;
    added->name = keep_name(builder, memory->name);
    return added->name ? builder->memory_count++ : SY_NONE;
}

uint32_t sy_builder_add_board(struct sy_builder *builder, const struct sy_board *board) {
    if (!make_room(builder, &builder->boards, &builder->board_capacity, builder->board_count,
                   SY_DEVICE_MAX, sizeof *board, "more than 4096 boards")) {
        return SY_NONE;
    }
    struct sy_board *added = &builder->boards[builder->board_count];
    *added = *board;
    added->name = keep_name(builder, board->name);
    return added->name ? builder->board_count++ : SY_NONE;
}

uint32_t sy_builder_add_device(struct sy_builder *builder, const struct sy_device *device) {
    if (!make_room(builder, &builder->devices, &builder->device_capacity, builder->device_count,
                   SY_DEVICE_MAX, sizeof *device, "more than 4096 devices")) {
        return SY_NONE;
    }
    struct sy_device *added = &builder->devices[builder->device_count];
    *added = *device;
    added->name = keep_name(builder, device->name);
    added->model = device->model ? keep_name(builder, device->model) : NULL;
    return builder->failure ? SY_NONE : builder->device_count++;
}

uint32_t sy_builder_add_hub(struct sy_builder *builder) {
    if (builder->hub_count == SY_HUB_MAX) {
        set_failure(builder, -E2BIG, "more than 64 switches");
        return SY_NONE;
    }
    return SY_MEMORY_MAX + builder->hub_count++;
}

void sy_builder_add_link(struct sy_builder *builder, const struct sy_link *link) {
    if (make_room(builder, &builder->links, &builder->link_capacity, builder->link_count,
                  SY_LINK_MAX, sizeof *link, "more than 16384 links")) {
        builder->links[builder->link_count++] = *link;
    }
}

/* Only readers that state routes pay for the table. */
static struct sy_given_route *given_at(struct sy_builder *builder, uint32_t from, uint32_t to) {
    if (builder->failure) {
        return NULL;
    }
    SY_ASSERT(from < SY_MEMORY_MAX && to < SY_MEMORY_MAX);
    if (!builder->given) {
        builder->given = calloc((size_t)SY_MEMORY_MAX * SY_MEMORY_MAX, sizeof *builder->given);
    }
    if (!builder->given) {
        set_failure(builder, -ENOMEM, "out of memory");
        return NULL;
    }
    return &builder->given[from * SY_MEMORY_MAX + to];
}

void sy_builder_set_speed(struct sy_builder *builder, uint32_t from, uint32_t to, double latency_ns,
                          double bytes_per_s) {
    struct sy_given_route *given = given_at(builder, from, to);
    if (given) {
        given->given = SY_GIVEN_SPEED;
        given->route = (struct sy_route){.latency_ns = latency_ns, .bytes_per_s = bytes_per_s};
    }
}

void sy_builder_set_route(struct sy_builder *builder, uint32_t from, uint32_t to,
                          const struct sy_route *route) {
    struct sy_given_route *given = given_at(builder, from, to);
    if (given) {
        *given = (struct sy_given_route){.given = SY_GIVEN_ROUTE, .route = *route};
    }
}

/* Labels become 0, 1, 2 ... in order of appearance. Returns their count. */
static uint32_t number_groups(const struct sy_device *labelled, struct sy_device *devices,
                              uint32_t count) {
    uint32_t group_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = labelled[i].group == SY_NONE ? i : 0;
        while (labelled[j].group != labelled[i].group) {
            j++;
        }
        devices[i].group = j < i ? devices[j].group : group_count++;
    }
    return group_count;
}

/* The model, or the kind; "gpu" at the reference speed, else "gpu-1.5": the shortest number that is
 * exactly the ratio, so that names are unique and say what they mean. */
static char *name_class(struct sy_arena *arena, const struct sy_device *device) {
    char ratio[32];
    const char *kind = device->model ? device->model : sy_device_kind_name(device->kind);
    if (device->speed_ratio == 1) {
        return sy_arena_strdup(arena, kind);
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(ratio, sizeof ratio, "%.*g", digits, device->speed_ratio);
        if (strtod(ratio, NULL) == device->speed_ratio) {
            break;
        }
    }
    char *name = sy_arena_alloc(arena, strlen(kind) + 1 + sizeof ratio, 1);
    if (name) {
        stpcpy(stpcpy(stpcpy(name, kind), "-"), ratio);
    }
    return name;
}

static bool same_class(const struct sy_device *a, const struct sy_device *b) {
    const char *a_model = a->model ? a->model : "", *b_model = b->model ? b->model : "";
    return a->kind == b->kind && a->speed_ratio == b->speed_ratio && strcmp(a_model, b_model) == 0;
}

static int number_classes(struct sy_arena *arena, struct sy_device *devices, uint32_t count,
                          struct sy_machine *machine) {
    struct sy_device_class *classes = sy_arena_alloc(arena, count, sizeof *classes);
    if (!classes) {
        return -ENOMEM;
    }
    uint32_t class_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t c = 0;
        while (c < class_count && !same_class(&devices[classes[c].first_device], &devices[i])) {
            c++;
        }
        if (c == class_count) {
            classes[class_count++] =
                (struct sy_device_class){.name = name_class(arena, &devices[i]),
                                         .kind = devices[i].kind,
                                         .speed_ratio = devices[i].speed_ratio,
                                         .first_device = i};
            if (!classes[c].name) {
                return -ENOMEM;
            }
        }
        classes[c].device_count++;
        devices[i].class_index = c;
    }
    machine->classes = classes;
    machine->class_count = class_count;
    return 0;
}

static const void *copy(struct sy_arena *arena, const void *from, uint32_t count, size_t size) {
    void *to = sy_arena_alloc(arena, count ? count : 1, size);
    if (to && count) {
        memcpy(to, from, count * size);
    }
    return to;
}

static int freeze(struct sy_builder *builder, struct owner *owner, struct sy_error *error) {
    struct sy_machine *machine = &owner->machine;
    struct sy_arena *arena = builder->arena;
    size_t pairs = (size_t)builder->memory_count * builder->memory_count;
    struct sy_device *devices = sy_arena_alloc(arena, builder->device_count, sizeof *devices);
    struct sy_route *routes = sy_arena_alloc(arena, pairs, sizeof *routes);
    *machine = (struct sy_machine){
        .name = builder->name,
        .device_count = builder->device_count,
        .memory_count = builder->memory_count,
        .resource_count = builder->resource_count,
        .board_count = builder->board_count,
        .devices = devices,
        .routes = routes,
        .memories =
            copy(arena, builder->memories, builder->memory_count, sizeof *machine->memories),
        .resources =
            copy(arena, builder->resources, builder->resource_count, sizeof *machine->resources),
        .boards = copy(arena, builder->boards, builder->board_count, sizeof *machine->boards),
    };
    if (!devices || !routes || !machine->memories || !machine->resources || !machine->boards) {
        return sy_out_of_memory(error);
    }
    memcpy(devices, builder->devices, builder->device_count * sizeof *devices);
    machine->group_count = number_groups(builder->devices, devices, builder->device_count);
    if (number_classes(arena, devices, builder->device_count, machine) < 0) {
        return sy_out_of_memory(error);
    }
    return sy_builder_route(builder, routes, error);
}

int sy_builder_finish(struct sy_builder *builder, struct sy_machine **ret_machine,
                      struct sy_error *error) {
    if (builder->failure) {
        return sy_fail(error, builder->failure, "%s", builder->failure_text);
    }
    int code = sy_builder_validate(builder, error);
    if (code) {
        return code;
    }
    struct owner *owner = sy_arena_alloc(builder->arena, 1, sizeof *owner);
    code = owner ? freeze(builder, owner, error) : sy_out_of_memory(error);
    if (code) {
        return code;
    }
    owner->arena = builder->arena;
    builder->arena = NULL;
    *ret_machine = &owner->machine;
    return 0;
}

void sy_machine_destroy(struct sy_machine *machine) {
    if (machine) {
        sy_arena_destroy(((struct owner *)machine)->arena);
    }
}
