/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking things up in a machine by name, for the tests of this room.
 */
#ifndef TESTS_TOPOLOGY_HELPERS_H
#define TESTS_TOPOLOGY_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "topology/topology.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE(name) MACHINES "/" name

static inline struct sy_machine *parse(const char *text) {
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    if (sy_machine_parse(text, &machine, &error)) {
        fail_msg("\"%s\": %s (%s)", text, error.message, error.hint);
    }
    return machine;
}

static inline struct sy_machine *open_machine(const char *spec) {
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    if (sy_machine_open(spec, &machine, &error)) {
        fail_msg("\"%s\": %s (%s)", spec, error.message, error.hint);
    }
    return machine;
}

static inline uint32_t memory_named(const struct sy_machine *machine, const char *name) {
    for (uint32_t i = 0; i < machine->memory_count; i++) {
        if (strcmp(machine->memories[i].name, name) == 0) {
            return i;
        }
    }
    fail_msg("no memory %s", name);
    return SY_NONE;
}

static inline const struct sy_device *device_named(const struct sy_machine *machine,
                                                   const char *name) {
    for (uint32_t i = 0; i < machine->device_count; i++) {
        if (strcmp(machine->devices[i].name, name) == 0) {
            return &machine->devices[i];
        }
    }
    fail_msg("no device %s", name);
    return NULL;
}

static inline const struct sy_route *route(const struct sy_machine *machine, const char *from,
                                           const char *to) {
    return &machine->routes[memory_named(machine, from) * machine->memory_count +
                            memory_named(machine, to)];
}

/* resources: names separated by blanks, in the order a copy crosses them. */
static inline void assert_route(const struct sy_machine *machine, const char *from, const char *to,
                                double bytes_per_s, double latency_ns, const char *resources) {
    const struct sy_route *found = route(machine, from, to);
    char crossed[256] = "";
    for (uint32_t i = 0; i < found->resource_count; i++) {
        size_t used = strlen(crossed);
        snprintf(crossed + used, sizeof crossed - used, "%s%s", i ? " " : "",
                 machine->resources[found->resources[i]].name);
    }
    assert_string_equal(crossed, resources);
    if (fabs(found->bytes_per_s - bytes_per_s) > 1e-9 * bytes_per_s ||
        fabs(found->latency_ns - latency_ns) > 1e-9 * latency_ns) {
        fail_msg("%s to %s: %g B/s, %g ns; expected %g, %g", from, to, found->bytes_per_s,
                 found->latency_ns, bytes_per_s, latency_ns);
    }
}

static inline double resource_bytes_per_s(const struct sy_machine *machine, const char *name) {
    for (uint32_t i = 0; i < machine->resource_count; i++) {
        if (strcmp(machine->resources[i].name, name) == 0) {
            return machine->resources[i].bytes_per_s;
        }
    }
    fail_msg("no resource %s", name);
    return NAN;
}

/* What every machine promises, whoever described it. */
static inline void assert_sound(const struct sy_machine *machine) {
    assert_true(machine->device_count >= 1 && machine->device_count <= 4096);
    assert_true(machine->memory_count >= 1 && machine->memory_count <= SY_MEMORY_MAX);
    assert_true(machine->memories[0].host);
    uint32_t in_classes = 0;
    for (uint32_t i = 0; i < machine->class_count; i++) {
        const struct sy_device_class *class = &machine->classes[i];
        in_classes += class->device_count;
        assert_int_equal(machine->devices[class->first_device].class_index, i);
        if (class->speed_ratio == 1) {
            assert_string_equal(class->name, sy_device_kind_name(class->kind));
        }
    }
    assert_int_equal(in_classes, machine->device_count);
    for (uint32_t i = 0; i < machine->device_count; i++) {
        const struct sy_device *device = &machine->devices[i];
        assert_true(device->group < machine->group_count);
        assert_true(machine->memories[device->host_memory].host);
        assert_int_equal(device->kind, machine->classes[device->class_index].kind);
        assert_int_equal(device->board != SY_NONE, device->kind == SY_FPGA);
    }
    for (uint32_t i = 0; i < machine->memory_count * machine->memory_count; i++) {
        const struct sy_route *at = &machine->routes[i];
        bool self = i / machine->memory_count == i % machine->memory_count;
        assert_true(at->bytes_per_s > 0 && at->latency_ns >= 0);
        assert_int_equal(isinf(at->bytes_per_s) != 0, self);
        assert_true(self ? at->resource_count == 0 : at->resource_count <= SY_ROUTE_MAX);
        for (uint32_t k = 0; k < at->resource_count; k++) {
            assert_true(at->bytes_per_s <=
                        machine->resources[at->resources[k]].bytes_per_s * (1 + 1e-12));
        }
    }
}

#endif
