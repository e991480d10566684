/* SPDX-License-Identifier: Apache-2.0
 *
 * draw: see draw.h.
 */
#include "cli/machine/draw.h"
#include "cli/cli.h"

#include "cli/units.h"
#include <math.h>

/* "12 x cpu, 4 x fpga": the devices that compute from a memory, by class. */
static void put_devices(const struct sy_machine *machine, uint32_t memory,
                        struct sy_buffer *buffer) {
    const char *separator = "";
    for (uint32_t c = 0; c < machine->class_count; c++) {
        uint32_t count = 0;
        for (uint32_t d = 0; d < machine->device_count; d++) {
            const struct sy_device *device = &machine->devices[d];
            count += device->class_index == c && device->memory == memory;
        }
        if (count > 0) {
            sy_print(buffer, "%s%u x %s", separator, count, machine->classes[c].name);
            separator = ", ";
        }
    }
}

static void put_memory(const struct sy_machine *machine, uint32_t memory,
                       struct sy_buffer *buffer) {
    const struct sy_memory *m = &machine->memories[memory];
    sy_print(buffer, "%s [", m->name);
    put_devices(machine, memory, buffer);
    sy_print(buffer, "]");
    if (m->resource != SY_NONE) {
        sy_print(buffer, "  %s", sy_units_rate(machine->resources[m->resource].bytes_per_s).text);
    }
    if (isfinite(m->capacity_bytes)) {
        sy_print(buffer, "  %s", sy_units_bytes(m->capacity_bytes).text);
    }
    sy_print(buffer, "\n");
}

/* The host memory an accelerator's memory hangs on; SY_NONE if no device computes from it. */
static uint32_t host_of(const struct sy_machine *machine, uint32_t memory) {
    for (uint32_t d = 0; d < machine->device_count; d++) {
        if (machine->devices[d].memory == memory) {
            return machine->devices[d].host_memory;
        }
    }
    return SY_NONE;
}

static bool hangs_on(const struct sy_machine *machine, uint32_t memory, uint32_t host) {
    return !machine->memories[memory].host && host_of(machine, memory) == host;
}

static void put_children(const struct sy_machine *machine, uint32_t host,
                         struct sy_buffer *buffer) {
    uint32_t last = SY_NONE;
    for (uint32_t m = 0; m < machine->memory_count; m++) {
        last = hangs_on(machine, m, host) ? m : last;
    }
    for (uint32_t m = 0; m < machine->memory_count; m++) {
        if (hangs_on(machine, m, host)) {
            const struct sy_route *route = &machine->routes[host * machine->memory_count + m];
            sy_print(buffer, "%s %s ── ", m == last ? "└──" : "├──",
                     sy_units_rate(route->bytes_per_s).text);
            put_memory(machine, m, buffer);
        }
    }
}

void sy_machine_draw(const struct sy_machine *machine, struct sy_buffer *buffer) {
    sy_print(buffer, "%s\n", machine->name);
    for (uint32_t m = 0; m < machine->memory_count; m++) {
        if (machine->memories[m].host) {
            put_memory(machine, m, buffer);
            put_children(machine, m, buffer);
        }
    }
}
