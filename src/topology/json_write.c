/* SPDX-License-Identifier: Apache-2.0
 *
 * json_write: a machine in its native form. What is written reads back as the same machine, down to
 * the last bit of every number: routes are stated, not left to be found again.
 */
#include "base/json.h"
#include "topology/topology.h"
#include <math.h>

static void open_section(struct sy_json_writer *writer, const char *name) {
    sy_json_open_member(writer, name, '[');
}

static void write_resources(struct sy_json_writer *writer, const struct sy_machine *machine) {
    open_section(writer, "resources");
    for (uint32_t i = 0; i < machine->resource_count; i++) {
        const struct sy_resource *resource = &machine->resources[i];
        sy_json_print(writer, "{name: %s, kind: %s, bytes_per_s: %g}", resource->name,
                      sy_resource_kind_name(resource->kind), resource->bytes_per_s);
    }
    sy_json_close(writer, ']');
}

static void write_memories(struct sy_json_writer *writer, const struct sy_machine *machine) {
    open_section(writer, "memories");
    for (uint32_t i = 0; i < machine->memory_count; i++) {
        const struct sy_memory *memory = &machine->memories[i];
        sy_json_print(writer, "{name: %s, host: %d", memory->name, memory->host);
        if (isfinite(memory->capacity_bytes)) {
            sy_json_member_number(writer, "capacity_bytes", memory->capacity_bytes);
        }
        if (memory->resource != SY_NONE) {
            sy_json_member_string(writer, "resource", machine->resources[memory->resource].name);
        }
        sy_json_print(writer, "dma_count: %u}", memory->dma_count);
    }
    sy_json_close(writer, ']');
}

static void write_boards(struct sy_json_writer *writer, const struct sy_machine *machine) {
    open_section(writer, "boards");
    for (uint32_t i = 0; i < machine->board_count; i++) {
        const struct sy_board *board = &machine->boards[i];
        sy_json_print(writer, "{name: %s, port_bytes_per_s: %g, init_ns: %g, image_bytes: %g}",
                      board->name, board->port_bytes_per_s, board->init_ns, board->image_bytes);
    }
    sy_json_close(writer, ']');
}

static void write_devices(struct sy_json_writer *writer, const struct sy_machine *machine) {
    open_section(writer, "devices");
    for (uint32_t i = 0; i < machine->device_count; i++) {
        const struct sy_device *device = &machine->devices[i];
        sy_json_print(writer, "{name: %s, kind: %s", device->name,
                      sy_device_kind_name(device->kind));
        if (device->model) {
            sy_json_member_string(writer, "model", device->model);
        }
        sy_json_member_string(writer, "memory", machine->memories[device->memory].name);
        sy_json_member_string(writer, "host_memory", machine->memories[device->host_memory].name);
        sy_json_member_u64(writer, "group", device->group);
        if (device->board != SY_NONE) {
            sy_json_member_string(writer, "board", machine->boards[device->board].name);
        }
        sy_json_print(writer, "speed_ratio: %g, busy_watts: %g, idle_watts: %g}",
                      device->speed_ratio, device->busy_watts, device->idle_watts);
    }
    sy_json_close(writer, ']');
}

static void write_route(struct sy_json_writer *writer, const struct sy_machine *machine,
                        uint32_t from, uint32_t to) {
    const struct sy_route *route = &machine->routes[from * machine->memory_count + to];
    sy_json_print(writer, "{from: %s, to: %s, bytes_per_s: %g, latency_ns: %g",
                  machine->memories[from].name, machine->memories[to].name, route->bytes_per_s,
                  route->latency_ns);
    open_section(writer, "resources");
    for (uint32_t i = 0; i < route->resource_count; i++) {
        sy_json_put_string(writer, machine->resources[route->resources[i]].name);
    }
    sy_json_print(writer, "]}");
}

static void write_routes(struct sy_json_writer *writer, const struct sy_machine *machine) {
    open_section(writer, "routes");
    for (uint32_t from = 0; from < machine->memory_count; from++) {
        for (uint32_t to = 0; to < machine->memory_count; to++) {
            if (from != to) {
                write_route(writer, machine, from, to);
            }
        }
    }
    sy_json_close(writer, ']');
}

void sy_machine_write_json(const struct sy_machine *machine, struct sy_buffer *buffer) {
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_print(&writer, "{schema: %s, name: %s", "symph-machine-1", machine->name);
    write_resources(&writer, machine);
    write_memories(&writer, machine);
    write_boards(&writer, machine);
    write_devices(&writer, machine);
    write_routes(&writer, machine);
    sy_json_close(&writer, '}');
    if (writer.buffer.failed) {
        buffer->failed = true;
    } else {
        sy_buffer_append(buffer, writer.buffer.text, writer.buffer.length);
    }
    sy_buffer_finish(&writer.buffer);
}
