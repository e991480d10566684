/* SPDX-License-Identifier: Apache-2.0
 *
 * What there is to plan on, from a machine.
 *
 * In: a machine. Out: its classes with assumed speeds and prices, links from its routes. Never
 * knows: what runs there now. Invariant: whatever is not in the machine is in one table (prices: in
 * topology's), and an assumption until measurements replace it.
 */
#include "planner/pipeline.h"
#include "topology/topology.h"
#include <errno.h>
#include <math.h>

/* ASSUMED, of one core, GPU, board or ASIC of a middling model; threads, streams and regions share
 * it, and a class's speed_ratio multiplies it. They only matter for kernels that were never
 * measured. */
static const struct assumption {
    double flops_per_s, bytes_per_s, launch_ns;
} assumptions[SY_KIND_COUNT] = {
    [SY_CPU] = {50e9, 10e9, 1e3},
    [SY_GPU] = {30e12, 2e12, 10e3},
    [SY_FPGA] = {0.6e12, 400e9, 20e3},
    [SY_ASIC] = {10e12, 400e9, 10e3},
};
/* Of copies between memories: about 25 pJ a bit for both memories and the way between. */
#define JOULES_PER_BYTE 2e-10

static const struct sy_plan_link same_memory = {.bytes_per_s = INFINITY};

/* Devices that share what the assumptions speak of. */
static uint32_t part_count(const struct sy_machine *machine, const struct sy_device *device) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < machine->device_count; i++) {
        const struct sy_device *other = &machine->devices[i];
        bool together = other->board == device->board &&
                        (device->board != SY_NONE || other->group == device->group);
        count += together ? 1 : 0;
    }
    return count;
}

static struct sy_system_class make_class(const struct sy_machine *machine, uint32_t index) {
    const struct sy_device_class *class = &machine->classes[index];
    const struct sy_device *device = &machine->devices[class->first_device];
    const struct assumption *assumed = &assumptions[class->kind];
    double speed = class->speed_ratio / part_count(machine, device);
    uint32_t count =
        class->device_count < SY_PLAN_DEVICE_MAX ? class->device_count : SY_PLAN_DEVICE_MAX;
    return (struct sy_system_class){
        .name = class->name,
        .kind = class->kind,
        .device_count = count,
        .width_max = class->kind == SY_CPU ? count : 1,
        .slowdown = 1,
        .idle_watts = device->idle_watts,
        .busy_watts = device->busy_watts,
        .price_per_hour = sy_default_price_per_hour(class->kind) / part_count(machine, device),
        .memory_bytes = machine->memories[device->memory].capacity_bytes,
        .roofline = {.class_name = class->name,
                     .flops_per_s = assumed->flops_per_s * speed,
                     .bytes_per_s = assumed->bytes_per_s * speed,
                     .launch_ns = assumed->launch_ns,
                     .busy_watts = device->busy_watts - device->idle_watts},
    };
}

static struct sy_plan_link from_route(const struct sy_machine *machine, uint32_t from,
                                      uint32_t to) {
    const struct sy_route *route = &machine->routes[from * machine->memory_count + to];
    return from == to ? same_memory
                      : (struct sy_plan_link){.latency_ns = route->latency_ns,
                                              .bytes_per_s = route->bytes_per_s,
                                              .joules_per_byte = JOULES_PER_BYTE};
}

/* The first device of a class; CPUs compute from host memory, wherever they sit: NULL as the host,
 * whose memory is the one next to the other end. */
static const struct sy_device *end_of(const struct sy_machine *machine, uint32_t index) {
    bool host = index == machine->class_count || machine->classes[index].kind == SY_CPU;
    return host ? NULL : &machine->devices[machine->classes[index].first_device];
}

/* A memory of the class other than the first device's, or that one if there is no other. */
static uint32_t other_memory(const struct sy_machine *machine, uint32_t index) {
    uint32_t first = machine->devices[machine->classes[index].first_device].memory;
    for (uint32_t i = 0; i < machine->device_count; i++) {
        if (machine->devices[i].class_index == index && machine->devices[i].memory != first) {
            return machine->devices[i].memory;
        }
    }
    return first;
}

static struct sy_plan_link make_link(const struct sy_machine *machine, uint32_t from, uint32_t to) {
    const struct sy_device *a = end_of(machine, from), *b = end_of(machine, to);
    if (!a && !b) {
        return same_memory;
    }
    if (!a || !b) {
        return from_route(machine, a ? a->memory : b->host_memory, b ? b->memory : a->host_memory);
    }
    return from_route(machine, a->memory, from == to ? other_memory(machine, to) : b->memory);
}

int sy_system_from_machine(const struct sy_machine *machine, struct sy_system *ret_system,
                           struct sy_error *error) {
    uint32_t count = machine->class_count;
    if (count > SY_PLAN_CLASS_MAX) {
        sy_fail(error, -E2BIG, "the machine has %u classes of devices, plans use at most %d", count,
                SY_PLAN_CLASS_MAX);
        sy_hint(error, "plan for a machine without some of them");
        return -E2BIG;
    }
    struct sy_system system = {.class_count = count, .overlap = true};
    for (uint32_t i = 0; i < count; i++) {
        system.classes[i] = make_class(machine, i);
    }
    for (uint32_t from = 0; from <= count; from++) {
        for (uint32_t to = 0; to <= count; to++) {
            system.links[from * (count + 1) + to] = make_link(machine, from, to);
        }
    }
    *ret_system = system;
    return 0;
}
