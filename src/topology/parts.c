/* SPDX-License-Identifier: Apache-2.0
 *
 * parts: sockets, switches, accelerators; what a reader adds in one go. What is assumed of them
 * where the reader knows nothing better is in assumed.c.
 */
#include "topology/topology.h"

/* A host takes copies from all its accelerators at once, an accelerator has two copy engines. */
#define HOST_DMA_COUNT        16
#define ACCELERATOR_DMA_COUNT 2
#define NAME_SIZE             160

const char *sy_resource_kind_name(enum sy_resource_kind kind) {
    static const char *const names[] = {[SY_RES_DRAM] = "dram",
                                        [SY_RES_LINK] = "link",
                                        [SY_RES_SWITCH] = "switch",
                                        [SY_RES_INTERCONNECT] = "interconnect"};
    return names[kind];
}

__attribute__((format(printf, 4, 5))) static uint32_t add_resource(struct sy_builder *builder,
                                                                   enum sy_resource_kind kind,
                                                                   double bytes_per_s,
                                                                   const char *format, ...) {
    char name[NAME_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return sy_builder_add_resource(
        builder, &(struct sy_resource){.name = name, .kind = kind, .bytes_per_s = bytes_per_s});
}

uint32_t sy_builder_add_socket(struct sy_builder *builder, uint32_t number, double dram_bytes_per_s,
                               double capacity_bytes) {
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "host%u", number);
    struct sy_memory memory = {
        .name = name,
        .host = true,
        .capacity_bytes = capacity_bytes,
        .resource = dram_bytes_per_s > 0
                        ? add_resource(builder, SY_RES_DRAM, dram_bytes_per_s, "dram%u", number)
                        : SY_NONE,
        .dma_count = HOST_DMA_COUNT,
    };
    return sy_builder_add_memory(builder, &memory);
}

void sy_builder_add_interconnect(struct sy_builder *builder, uint32_t host_count,
                                 double bytes_per_s, double latency_ns) {
    for (uint32_t from = 0; from < host_count; from++) {
        for (uint32_t to = 0; to < host_count; to++) {
            if (from == to) {
                continue;
            }
            struct sy_link link = {
                .from = from, .to = to, .latency_ns = latency_ns, .bytes_per_s = bytes_per_s};
            link.resource =
                add_resource(builder, SY_RES_INTERCONNECT, bytes_per_s, "upi%u-%u", from, to);
            sy_builder_add_link(builder, &link);
        }
    }
}

/* One link each way between an outer node and the inner one nearer to the host. */
static void add_pair(struct sy_builder *builder, const struct sy_link *down,
                     const struct sy_link *up) {
    sy_builder_add_link(builder, down);
    sy_builder_add_link(builder, up);
}

uint32_t sy_builder_add_bus(struct sy_builder *builder, const char *name, uint32_t host,
                            double bytes_per_s) {
    uint32_t hub = sy_builder_add_hub(builder);
    uint32_t down = add_resource(builder, SY_RES_SWITCH, bytes_per_s, "%s.down", name);
    uint32_t up = add_resource(builder, SY_RES_SWITCH, bytes_per_s, "%s.up", name);
    add_pair(
        builder,
        &(struct sy_link){.from = host, .to = hub, .resource = down, .bytes_per_s = bytes_per_s},
        &(struct sy_link){.from = hub, .to = host, .resource = up, .bytes_per_s = bytes_per_s});
    return hub;
}

static void add_devices(struct sy_builder *builder, const struct sy_accelerator *accelerator,
                        uint32_t memory, uint32_t board) {
    uint32_t count = accelerator->part_count;
    bool is_fpga = accelerator->kind == SY_FPGA;
    for (uint32_t i = 0; i < count; i++) {
        char name[NAME_SIZE];
        if (is_fpga || count > 1) {
            snprintf(name, sizeof name, "%s.%c%u", accelerator->name, is_fpga ? 'r' : 's', i);
        } else {
            snprintf(name, sizeof name, "%s", accelerator->name);
        }
        struct sy_device device = {
            .name = name,
            .kind = accelerator->kind,
            .memory = memory,
            .host_memory = accelerator->host,
            /* Streams slow each other, regions have gates of their own. */
            .group = is_fpga || count == 1 ? SY_NONE : SY_DEVICE_MAX + memory,
            .board = board,
            .speed_ratio = accelerator->speed_ratio,
            .busy_watts = accelerator->busy_watts / count,
            .idle_watts = accelerator->idle_watts / count,
        };
        sy_builder_add_device(builder, &device);
    }
}

uint32_t sy_builder_add_accelerator(struct sy_builder *builder,
                                    const struct sy_accelerator *accelerator) {
    struct sy_memory memory = {.name = accelerator->name,
                               .capacity_bytes = accelerator->capacity_bytes,
                               .resource = SY_NONE,
                               .dma_count = ACCELERATOR_DMA_COUNT};
    if (accelerator->memory_bytes_per_s > 0) {
        memory.resource = add_resource(builder, SY_RES_DRAM, accelerator->memory_bytes_per_s,
                                       "%s.dram", accelerator->name);
    }
    uint32_t index = sy_builder_add_memory(builder, &memory);
    uint32_t near = accelerator->bus == SY_NONE ? accelerator->host : accelerator->bus;
    struct sy_link down = {.from = near,
                           .to = index,
                           .latency_ns = accelerator->latency_ns,
                           .bytes_per_s = accelerator->down_bytes_per_s};
    struct sy_link up = {.from = index,
                         .to = near,
                         .latency_ns = accelerator->latency_ns,
                         .bytes_per_s = accelerator->up_bytes_per_s};
    down.resource =
        add_resource(builder, SY_RES_LINK, down.bytes_per_s, "%s.down", accelerator->name);
    up.resource = add_resource(builder, SY_RES_LINK, up.bytes_per_s, "%s.up", accelerator->name);
    add_pair(builder, &down, &up);
    uint32_t board = SY_NONE;
    if (accelerator->kind == SY_FPGA) {
        struct sy_board copy = accelerator->board;
        copy.name = accelerator->name;
        board = sy_builder_add_board(builder, &copy);
    }
    add_devices(builder, accelerator, index, board);
    return index;
}
