/* SPDX-License-Identifier: Apache-2.0
 *
 * text_build: from the parts of a line to a machine.
 *
 * Sockets are numbered in the order of the line; parts inside a socket stay there, parts outside go
 * to the sockets in turn, each kind beginning at the first. Invariant: sizes are checked against
 * the limits before anything is expanded.
 */
#include "topology/text.h"
#include <math.h>
#include <string.h>

#define BUS_MAX SY_HUB_MAX

struct bus {
    const char *name; /* not terminated */
    size_t name_length;
    uint32_t socket; /* where its scope is; SY_NONE: the whole machine */
    uint32_t host, hub;
};

struct expansion {
    struct sy_text *text;
    struct sy_builder *builder;
    uint32_t socket_count;
    uint32_t next_number[SY_KIND_COUNT]; /* gpu0, gpu1 ... */
    uint32_t next_socket[SY_KIND_COUNT]; /* turn of the parts outside */
    uint32_t next_core;
    struct bus buses[BUS_MAX];
    uint32_t bus_count;
};

static uint32_t repeat_of(const struct sy_text *text, const struct sy_text_part *part) {
    return part->socket_group == SY_NONE ? 1 : text->groups[part->socket_group].repeat;
}

static int check_sizes(struct sy_text *text, uint32_t *ret_socket_count) {
    uint64_t sockets = 0, devices = 0;
    for (uint32_t i = 0; i < text->group_count; i++) {
        sockets += text->groups[i].repeat;
    }
    sockets = sockets ? sockets : 1;
    if (sockets > SY_MEMORY_MAX) {
        return sy_text_fail(text, text->text, "%llu sockets are too many, at most %d",
                            (unsigned long long)sockets, SY_MEMORY_MAX);
    }
    uint64_t memories = sockets;
    for (uint32_t i = 0; i < text->part_count; i++) {
        const struct sy_text_part *part = &text->parts[i];
        uint64_t count = (uint64_t)part->count * repeat_of(text, part);
        memories += part->kind == SY_CPU ? 0 : count;
        devices += count * part->split;
        if (devices > SY_DEVICE_MAX) {
            return sy_text_fail(text, part->at, "up to here %llu devices, at most %d",
                                (unsigned long long)devices, SY_DEVICE_MAX);
        }
        if (memories > SY_MEMORY_MAX) {
            return sy_text_fail(text, part->at,
                                "up to here %llu sockets and accelerators, at most %d",
                                (unsigned long long)memories, SY_MEMORY_MAX);
        }
    }
    *ret_socket_count = (uint32_t)sockets;
    return 0;
}

static void add_sockets(struct expansion *expansion) {
    const struct sy_text *text = expansion->text;
    const struct sy_text_group *outside = &text->outside;
    uint32_t number = 0;
    for (uint32_t g = 0; g < (text->group_count ? text->group_count : 1); g++) {
        const struct sy_text_group *group = text->group_count ? &text->groups[g] : outside;
        double dram = group->dram_bytes_per_s > 0     ? group->dram_bytes_per_s
                      : outside->dram_bytes_per_s > 0 ? outside->dram_bytes_per_s
                                                      : SY_DEFAULT_DRAM_BYTES_PER_S;
        double capacity =
            group->dram_bytes_per_s > 0 ? group->capacity_bytes : outside->capacity_bytes;
        for (uint32_t i = 0; i < group->repeat; i++) {
            sy_builder_add_socket(expansion->builder, number++, dram, capacity);
        }
    }
    sy_builder_add_interconnect(
        expansion->builder, expansion->socket_count,
        text->interconnect_bytes_per_s > 0 ? text->interconnect_bytes_per_s
                                           : SY_DEFAULT_INTERCONNECT_BYTES_PER_S,
        text->interconnect_latency_ns > 0 ? text->interconnect_latency_ns
                                          : SY_DEFAULT_INTERCONNECT_LATENCY_NS);
}

static void add_core(struct expansion *expansion, const struct sy_text_part *part, uint32_t host) {
    uint32_t core = expansion->next_core++;
    for (uint32_t i = 0; i < part->split; i++) {
        char name[32];
        snprintf(name, sizeof name, part->split > 1 ? "cpu%u.t%u" : "cpu%u", core, i);
        struct sy_device device = {
            .name = name,
            .kind = SY_CPU,
            .memory = host,
            .host_memory = host,
            .group = part->split > 1 ? core : SY_NONE,
            .board = SY_NONE,
            .speed_ratio = part->speed_ratio,
            .busy_watts = part->busy_watts / part->split,
            .idle_watts = part->idle_watts / part->split,
        };
        sy_builder_add_device(expansion->builder, &device);
    }
}

static bool same_bus(const struct sy_text_part *part, const char *name, size_t length) {
    return part->bus && part->bus_length == length && memcmp(part->bus, name, length) == 0;
}

/* A switch is as wide as the widest link behind it. */
static double bus_bytes_per_s(const struct sy_text *text, const struct sy_text_part *like) {
    double bytes_per_s = 0;
    for (uint32_t i = 0; i < text->part_count; i++) {
        const struct sy_text_part *part = &text->parts[i];
        if (part->socket_group == like->socket_group &&
            same_bus(part, like->bus, like->bus_length)) {
            bytes_per_s = fmax(bytes_per_s, part->link_bytes_per_s);
        }
    }
    return bytes_per_s;
}

/* The switch of a part; added when first met. A switch named outside of any socket is one, and
 * stays at the socket of its first device. */
static int find_bus(struct expansion *expansion, const struct sy_text_part *part, uint32_t host,
                    const struct bus **ret_bus) {
    uint32_t scope = part->socket_group == SY_NONE ? SY_NONE : host;
    for (uint32_t i = 0; i < expansion->bus_count; i++) {
        const struct bus *bus = &expansion->buses[i];
        if (bus->socket == scope && same_bus(part, bus->name, bus->name_length)) {
            *ret_bus = bus;
            return 0;
        }
    }
    if (expansion->bus_count == BUS_MAX) {
        return sy_text_fail(expansion->text, part->at, "more than %d switches", BUS_MAX);
    }
    char name[64];
    int length = (int)part->bus_length;
    if (scope == SY_NONE) {
        snprintf(name, sizeof name, "%.*s", length, part->bus);
    } else {
        snprintf(name, sizeof name, "host%u.%.*s", scope, length, part->bus);
    }
    struct bus *bus = &expansion->buses[expansion->bus_count++];
    *bus = (struct bus){.name = part->bus,
                        .name_length = part->bus_length,
                        .socket = scope,
                        .host = host,
                        .hub = sy_builder_add_bus(expansion->builder, name, host,
                                                  bus_bytes_per_s(expansion->text, part))};
    *ret_bus = bus;
    return 0;
}

static int add_accelerator(struct expansion *expansion, const struct sy_text_part *part,
                           uint32_t host) {
    const struct bus *bus = NULL;
    int code = part->bus ? find_bus(expansion, part, host, &bus) : 0;
    if (code) {
        return code;
    }
    char name[32];
    snprintf(name, sizeof name, "%s%u", sy_device_kind_name(part->kind),
             expansion->next_number[part->kind]++);
    struct sy_accelerator accelerator = {
        .kind = part->kind,
        .name = name,
        .host = bus ? bus->host : host,
        .bus = bus ? bus->hub : SY_NONE,
        .down_bytes_per_s = part->link_bytes_per_s,
        .up_bytes_per_s = part->link_bytes_per_s,
        .latency_ns = part->latency_ns,
        .capacity_bytes = part->memory_bytes,
        .memory_bytes_per_s = part->memory_bytes_per_s,
        .speed_ratio = part->speed_ratio,
        .busy_watts = part->busy_watts,
        .idle_watts = part->idle_watts,
        .part_count = part->split,
        .board = {.port_bytes_per_s = part->port_bytes_per_s,
                  .init_ns = part->init_ns,
                  .image_bytes = part->image_bytes},
    };
    sy_builder_add_accelerator(expansion->builder, &accelerator);
    return 0;
}

static int add_part(struct expansion *expansion, const struct sy_text_part *part, uint32_t socket) {
    for (uint32_t i = 0; i < part->count; i++) {
        uint32_t host = socket;
        if (host == SY_NONE) {
            host = expansion->next_socket[part->kind]++ % expansion->socket_count;
        }
        if (part->kind == SY_CPU) {
            add_core(expansion, part, host);
            continue;
        }
        int code = add_accelerator(expansion, part, host);
        if (code) {
            return code;
        }
    }
    return 0;
}

/* The parts of one (...), or those outside, at one socket or in turn. */
static int add_parts(struct expansion *expansion, uint32_t socket_group, uint32_t socket) {
    for (uint32_t i = 0; i < expansion->text->part_count; i++) {
        const struct sy_text_part *part = &expansion->text->parts[i];
        int code = part->socket_group == socket_group ? add_part(expansion, part, socket) : 0;
        if (code) {
            return code;
        }
    }
    return 0;
}

static int expand(struct expansion *expansion) {
    add_sockets(expansion);
    uint32_t socket = 0;
    for (uint32_t g = 0; g < expansion->text->group_count; g++) {
        for (uint32_t i = 0; i < expansion->text->groups[g].repeat; i++) {
            int code = add_parts(expansion, g, socket++);
            if (code) {
                return code;
            }
        }
    }
    return add_parts(expansion, SY_NONE, SY_NONE);
}

int sy_text_build(struct sy_text *text, const char *name, struct sy_machine **ret_machine) {
    struct expansion expansion = {.text = text};
    int code = check_sizes(text, &expansion.socket_count);
    if (code) {
        return code;
    }
    expansion.builder = sy_builder_create(name);
    if (!expansion.builder) {
        return sy_out_of_memory(text->error);
    }
    code = expand(&expansion);
    if (!code) {
        code = sy_builder_finish(expansion.builder, ret_machine, text->error);
    }
    sy_builder_destroy(expansion.builder);
    return code;
}
