/* SPDX-License-Identifier: Apache-2.0
 *
 * parts_layout: which hardware thread is of which core, and which resource of which socket.
 *
 * In: the machine, and how the counters number things. Out: struct sy_layout. A processor that
 * counters speak of but the machine does not list (this process may not use it) becomes a core of
 * its own, so that its traffic is counted in the sums.
 */
#include "belief/parts.h"
#include "topology/topology.h"
#include <errno.h>
#include <string.h>

/* "cpu12" is processor 12 whatever its place; other names count by their place. */
static bool number_of(const char *name, uint32_t *ret_number) {
    uint64_t number;
    if (strncmp(name, "cpu", 3) != 0 || !sy_parse_u64(name + 3, strlen(name + 3), &number) ||
        number >= SY_NONE) {
        return false;
    }
    *ret_number = (uint32_t)number;
    return true;
}

uint32_t sy_layout_thread(const struct sy_layout *layout, uint32_t os_index) {
    for (uint32_t i = 0; i < layout->thread_count; i++) {
        if (layout->threads[i].os_index == os_index) {
            return i;
        }
    }
    return SY_NONE;
}

uint32_t sy_layout_resource(const struct sy_machine *machine, const char *event) {
    return sy_index_of(event, machine->resources, machine->resource_count,
                       sizeof *machine->resources);
}

uint32_t sy_layout_link(const struct sy_machine *machine, uint32_t memory, bool down) {
    for (uint32_t host = 0; host < machine->memory_count; host++) {
        if (!machine->memories[host].host || host == memory) {
            continue;
        }
        uint32_t from = down ? host : memory, to = down ? memory : host;
        const struct sy_route *route = &machine->routes[from * machine->memory_count + to];
        for (uint32_t i = 0; i < route->resource_count; i++) {
            if (machine->resources[route->resources[i]].kind == SY_RES_LINK) {
                return route->resources[i];
            }
        }
    }
    return SY_NONE;
}

static uint32_t core_of_group(const struct sy_layout *layout, uint32_t group) {
    for (uint32_t i = 0; i < layout->thread_count; i++) {
        const struct sy_thread *thread = &layout->threads[i];
        if (thread->device != SY_NONE && layout->machine->devices[thread->device].group == group) {
            return thread->core;
        }
    }
    return SY_NONE;
}

static void list_threads(struct sy_layout *layout) {
    uint32_t place = 0;
    for (uint32_t i = 0; i < layout->machine->device_count; i++) {
        const struct sy_device *device = &layout->machine->devices[i];
        if (device->kind != SY_CPU) {
            continue;
        }
        uint32_t number = place++;
        (void)number_of(device->name, &number);
        uint32_t core = core_of_group(layout, device->group);
        core = core == SY_NONE ? layout->core_count : core;
        layout->core_count += core == layout->core_count;
        layout->core_package[core] = layout->host_package[device->host_memory];
        layout->threads[layout->thread_count++] = (struct sy_thread){number, i, core, SY_NONE};
    }
    for (uint32_t i = 0; i < layout->counter_count; i++) {
        const struct sy_counter *counter = &layout->counters[i];
        if (counter->scope == SY_SCOPE_CPU && counter->scope_index < SY_DEVICE_MAX &&
            sy_layout_thread(layout, counter->scope_index) == SY_NONE) {
            layout->core_package[layout->core_count] = 0;
            layout->threads[layout->thread_count++] =
                (struct sy_thread){counter->scope_index, SY_NONE, layout->core_count++, SY_NONE};
        }
    }
}

static uint32_t count_of_scope(const struct sy_layout *layout, enum sy_scope scope) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < layout->counter_count; i++) {
        const struct sy_counter *counter = &layout->counters[i];
        if (counter->scope == scope && counter->scope_index >= count &&
            counter->scope_index < SY_DEVICE_MAX) {
            count = counter->scope_index + 1;
        }
    }
    return count;
}

/* As many sockets as counters speak of; else one per host memory. Memories are dealt evenly. */
static void place_hosts(struct sy_layout *layout) {
    const struct sy_machine *machine = layout->machine;
    uint32_t host_count = 0, place = 0;
    for (uint32_t i = 0; i < machine->memory_count; i++) {
        host_count += machine->memories[i].host;
    }
    uint32_t packages = count_of_scope(layout, SY_SCOPE_PACKAGE);
    layout->package_count = packages ? packages : host_count ? host_count : 1;
    packages = layout->package_count;
    for (uint32_t i = 0; i < machine->memory_count; i++) {
        layout->host_package[i] = SY_NONE;
        if (machine->memories[i].host) {
            uint32_t even = host_count % packages == 0 ? place / (host_count / packages) : place;
            layout->host_package[i] = even < packages ? even : packages - 1;
            place++;
        }
    }
}

static void list_accelerators(struct sy_layout *layout, bool gpus, uint32_t *ret_count) {
    const struct sy_machine *machine = layout->machine;
    uint32_t *memories = layout->accelerator_memory + (gpus ? 0 : layout->gpu_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < machine->device_count; i++) {
        const struct sy_device *device = &machine->devices[i];
        bool ours =
            gpus ? device->kind == SY_GPU : device->kind == SY_FPGA || device->kind == SY_ASIC;
        if (ours && (count == 0 || memories[count - 1] != device->memory)) {
            memories[count++] = device->memory;
        }
    }
    uint32_t told = count_of_scope(layout, gpus ? SY_SCOPE_GPU : SY_SCOPE_BOARD);
    while (count < told) {
        memories[count++] = SY_NONE;
    }
    *ret_count = count;
}

static void claim_route(struct sy_layout *layout, uint32_t from, uint32_t to, uint32_t package) {
    const struct sy_machine *machine = layout->machine;
    const struct sy_route *route = &machine->routes[from * machine->memory_count + to];
    for (uint32_t i = 0; i < route->resource_count; i++) {
        uint32_t *owner = &layout->resource_package[route->resources[i]];
        *owner = *owner == SY_NONE ? package : *owner;
    }
}

/* A memory's own bandwidth is its socket's; what leads away from a socket is the sender's; links
 * and switches are of the socket next to the accelerator. */
static void place_resources(struct sy_layout *layout) {
    const struct sy_machine *machine = layout->machine;
    for (uint32_t i = 0; i < machine->resource_count; i++) {
        layout->resource_package[i] = SY_NONE;
    }
    for (uint32_t i = 0; i < machine->memory_count; i++) {
        if (machine->memories[i].host && machine->memories[i].resource != SY_NONE) {
            layout->resource_package[machine->memories[i].resource] = layout->host_package[i];
        }
    }
    for (uint32_t i = 0; i < machine->memory_count; i++) {
        for (uint32_t j = 0; j < machine->memory_count; j++) {
            if (machine->memories[i].host && machine->memories[j].host) {
                claim_route(layout, i, j, layout->host_package[i]);
            }
        }
    }
    for (uint32_t i = 0; i < machine->device_count; i++) {
        const struct sy_device *device = &machine->devices[i];
        if (device->kind != SY_CPU) {
            uint32_t package = layout->host_package[device->host_memory];
            claim_route(layout, device->host_memory, device->memory, package);
            claim_route(layout, device->memory, device->host_memory, package);
        }
    }
    for (uint32_t i = 0; i < machine->resource_count; i++) {
        uint32_t *owner = &layout->resource_package[i];
        *owner = *owner == SY_NONE ? 0 : *owner;
    }
}

int sy_layout_make(struct sy_layout *layout, struct sy_arena *arena) {
    const struct sy_machine *machine = layout->machine;
    uint32_t most = machine->device_count + layout->counter_count + 1;
    uint32_t told = count_of_scope(layout, SY_SCOPE_GPU) + count_of_scope(layout, SY_SCOPE_BOARD);
    layout->threads = sy_arena_alloc(arena, most, sizeof *layout->threads);
    layout->core_package = sy_arena_alloc(arena, most, sizeof(uint32_t));
    layout->host_package = sy_arena_alloc(arena, machine->memory_count + 1u, sizeof(uint32_t));
    layout->accelerator_memory =
        sy_arena_alloc(arena, machine->device_count + told + 1u, sizeof(uint32_t));
    layout->resource_package =
        sy_arena_alloc(arena, machine->resource_count + 1u, sizeof(uint32_t));
    if (!layout->threads || !layout->core_package || !layout->host_package ||
        !layout->accelerator_memory || !layout->resource_package) {
        return -ENOMEM;
    }
    place_hosts(layout);
    list_threads(layout);
    list_accelerators(layout, true, &layout->gpu_count);
    list_accelerators(layout, false, &layout->board_count);
    place_resources(layout);
    return 0;
}
