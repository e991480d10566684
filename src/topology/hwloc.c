/* SPDX-License-Identifier: Apache-2.0
 *
 * hwloc: this machine, and machines recorded as hwloc XML.
 *
 * In: a loaded topology. Out: one host memory per NUMA node that has processors of ours, one CPU
 * device per hardware thread, threads of a core in one group, and the accelerators on PCIe.
 * hwloc knows DRAM bandwidth on some machines and that of sockets on none: the defaults are
 * assumed. Invariant: processors the
 * process may not use (affinity, cgroup) are no devices.
 */
#include "topology/from_hwloc.h"
#include <errno.h>
#include <math.h>
#include <string.h>

/* The NUMA node a processor computes from: the first that is local to it. */
static hwloc_obj_t local_node(hwloc_topology_t topology, hwloc_obj_t pu) {
    hwloc_obj_t node = NULL;
    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))) {
        if (node->cpuset && hwloc_bitmap_isset(node->cpuset, pu->os_index)) {
            return node;
        }
    }
    return NULL;
}

static bool is_ours(hwloc_topology_t topology, hwloc_const_cpuset_t binding, hwloc_obj_t pu) {
    hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(topology);
    return (!binding || hwloc_bitmap_isset(binding, pu->os_index)) &&
           (!allowed || hwloc_bitmap_isset(allowed, pu->os_index));
}

static uint32_t host_of(const struct sy_hwloc *hwloc, hwloc_obj_t node) {
    for (uint32_t i = 0; i < hwloc->host_count; i++) {
        if (hwloc->hosts[i] == node) {
            return i;
        }
    }
    return SY_NONE;
}

/* Where the firmware says it (HMAT): hwloc has it in MiB/s. */
static double dram_bytes_per_s(hwloc_topology_t topology, hwloc_obj_t node) {
    hwloc_uint64_t mib_per_s = 0;
    struct hwloc_location from = {.type = HWLOC_LOCATION_TYPE_CPUSET};
    if (!node || !node->cpuset) {
        return SY_DEFAULT_DRAM_BYTES_PER_S;
    }
    from.location.cpuset = node->cpuset;
    int code =
        hwloc_memattr_get_value(topology, HWLOC_MEMATTR_ID_BANDWIDTH, node, &from, 0, &mib_per_s);
    return code == 0 && mib_per_s > 0 ? (double)mib_per_s * 1048576 : SY_DEFAULT_DRAM_BYTES_PER_S;
}

static void add_host(struct sy_hwloc *hwloc, hwloc_obj_t node) {
    double bytes = node && node->attr ? (double)node->attr->numanode.local_memory : 0;
    sy_builder_add_socket(hwloc->builder, hwloc->host_count,
                          dram_bytes_per_s(hwloc->topology, node), bytes > 0 ? bytes : INFINITY);
    if (hwloc->host_count < SY_MEMORY_MAX) {
        hwloc->hosts[hwloc->host_count++] = node;
    }
}

/* Memories first: they are numbered before any device refers to them. */
static void add_hosts(struct sy_hwloc *hwloc, hwloc_const_cpuset_t binding) {
    hwloc_obj_t pu = NULL;
    while ((pu = hwloc_get_next_obj_by_type(hwloc->topology, HWLOC_OBJ_PU, pu))) {
        if (!is_ours(hwloc->topology, binding, pu)) {
            continue;
        }
        hwloc_obj_t node = local_node(hwloc->topology, pu);
        if (host_of(hwloc, node) == SY_NONE) {
            add_host(hwloc, node);
        }
    }
    sy_builder_add_interconnect(hwloc->builder, hwloc->host_count,
                                SY_DEFAULT_INTERCONNECT_BYTES_PER_S,
                                SY_DEFAULT_INTERCONNECT_LATENCY_NS);
}

static uint32_t sibling_count(struct sy_hwloc *hwloc, hwloc_const_cpuset_t binding,
                              hwloc_obj_t core) {
    uint32_t count = 0;
    hwloc_obj_t pu = NULL;
    while (core && (pu = hwloc_get_next_obj_inside_cpuset_by_type(hwloc->topology, core->cpuset,
                                                                  HWLOC_OBJ_PU, pu))) {
        count += is_ours(hwloc->topology, binding, pu);
    }
    return count ? count : 1;
}

/* Named by the operating system's number, which is what people bind by. */
static void add_cores(struct sy_hwloc *hwloc, hwloc_const_cpuset_t binding) {
    hwloc_obj_t pu = NULL;
    while ((pu = hwloc_get_next_obj_by_type(hwloc->topology, HWLOC_OBJ_PU, pu))) {
        if (!is_ours(hwloc->topology, binding, pu)) {
            continue;
        }
        hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(hwloc->topology, HWLOC_OBJ_CORE, pu);
        uint32_t siblings = sibling_count(hwloc, binding, core);
        uint32_t host = host_of(hwloc, local_node(hwloc->topology, pu));
        char name[32];
        snprintf(name, sizeof name, "cpu%u", pu->os_index);
        struct sy_device device = {.name = name,
                                   .kind = SY_CPU,
                                   .memory = host,
                                   .host_memory = host,
                                   .group = core ? core->logical_index : SY_NONE,
                                   .board = SY_NONE,
                                   .speed_ratio = 1,
                                   .busy_watts = sy_default_busy_watts(SY_CPU) / siblings,
                                   .idle_watts = sy_default_idle_watts(SY_CPU) / siblings};
        if (sy_builder_add_device(hwloc->builder, &device) == SY_NONE) {
            return;
        }
    }
}

int sy_hwloc_build(hwloc_topology_t topology, hwloc_const_cpuset_t binding, const char *name,
                   struct sy_machine **ret_machine, struct sy_error *error) {
    struct sy_hwloc hwloc = {.topology = topology, .builder = sy_builder_create(name)};
    if (!hwloc.builder) {
        return sy_out_of_memory(error);
    }
    add_hosts(&hwloc, binding);
    add_cores(&hwloc, binding);
    if (hwloc.host_count > 0) {
        sy_hwloc_add_accelerators(&hwloc);
    }
    int code = sy_builder_finish(hwloc.builder, ret_machine, error);
    sy_builder_destroy(hwloc.builder);
    return code;
}

/* Without hwloc's OpenCL part: it starts whole run times, with threads and leaks, to name devices
 * that PCI shows as well. Not being able to leave it out is no failure. */
static int load(hwloc_topology_t topology) {
    (void)hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                        "opencl");
    int failed = hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    return failed || hwloc_topology_load(topology) ? -EINVAL : 0;
}

int sy_machine_detect(struct sy_machine **ret_machine, struct sy_error *error) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) < 0) {
        return sy_out_of_memory(error);
    }
    hwloc_cpuset_t binding = hwloc_bitmap_alloc();
    int code = binding ? load(topology) : -ENOMEM;
    if (code) {
        sy_fail(error, code, "hwloc cannot see this machine");
    } else {
        /* Not the process's: hwloc's own OpenCL part may have started threads, bound elsewhere. */
        bool bound = hwloc_get_cpubind(topology, binding, HWLOC_CPUBIND_THREAD) == 0;
        code = sy_hwloc_build(topology, bound ? binding : NULL, "here", ret_machine, error);
    }
    hwloc_bitmap_free(binding);
    hwloc_topology_destroy(topology);
    return code;
}
