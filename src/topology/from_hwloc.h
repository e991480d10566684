/* SPDX-License-Identifier: Apache-2.0
 *
 * from_hwloc: the steps from a loaded topology to a machine, shared by the files that take them.
 */
#ifndef SY_TOPOLOGY_FROM_HWLOC_H
#define SY_TOPOLOGY_FROM_HWLOC_H

#include "topology/topology.h"
#include <hwloc.h>

struct sy_hwloc {
    hwloc_topology_t topology;
    struct sy_builder *builder;
    hwloc_obj_t hosts[SY_MEMORY_MAX]; /* NUMA node of each host memory */
    uint32_t host_count;
};

/* binding: the processors to take; NULL: all. name becomes the machine's. */
SY_MUST_CHECK int sy_hwloc_build(hwloc_topology_t topology, hwloc_const_cpuset_t binding,
                                 const char *name, struct sy_machine **ret_machine,
                                 struct sy_error *error);
/* GPUs and FPGAs on PCIe, their switches, and direct links between GPUs. */
void sy_hwloc_add_accelerators(struct sy_hwloc *hwloc);

#endif
