/* SPDX-License-Identifier: Apache-2.0
 *
 * hwloc_io: accelerators as hwloc sees them.
 *
 * A GPU is a PCI device with a CUDA, ROCm, Level Zero or OpenCL-GPU face, or an NVIDIA or AMD
 * display controller that no monitor is meant for; an FPGA is a PCI device of Xilinx or Altera, or
 * an Intel programmable card. Functions of one slot are one device. The link is as fast as PCI says
 * it is trained, times SY_PCIE_EFFICIENCY. Two accelerators below one PCI bridge share a switch.
 */
#include "topology/from_hwloc.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VENDOR_NVIDIA 0x10de
#define VENDOR_AMD    0x1002
#define VENDOR_XILINX 0x10ee
#define VENDOR_ALTERA 0x1172
#define VENDOR_INTEL  0x8086
#define CLASS_VGA     0x0300
#define CLASS_3D      0x0302
#define CLASS_DISPLAY 0x0380
#define CLASS_COMPUTE 0x1200
#define NVLINK_NS     2e3
#define LINK_MIN_GB   0.1 /* slower is not a link that was measured */

struct found {
    hwloc_obj_t pci;
    enum sy_device_kind kind;
    hwloc_obj_t bridge; /* shared with others; NULL: none */
    uint32_t host, hub, memory;
    char name[16];
};

struct accelerators {
    struct sy_hwloc *hwloc;
    struct found found[SY_MEMORY_MAX];
    uint32_t count;
};

static bool is_intel_fpga(uint16_t device) {
    /* PAC A10 and D5005, N3000, N6000 */
    return device == 0x09c4 || device == 0x0b2b || device == 0x0b30 || device == 0xbcce;
}

/* An operating-system device below the PCI one says what it can be used for. */
static bool has_gpu_face(hwloc_obj_t pci) {
    for (hwloc_obj_t io = pci->io_first_child; io; io = io->next_sibling) {
        const char *face = io->type == HWLOC_OBJ_OS_DEVICE ? io->subtype : NULL;
        const char *type = hwloc_obj_get_info_by_name(io, "OpenCLDeviceType");
        if (face && (strcmp(face, "CUDA") == 0 || strcmp(face, "NVML") == 0 ||
                     strcmp(face, "RSMI") == 0 || strcmp(face, "LevelZero") == 0 ||
                     (strcmp(face, "OpenCL") == 0 && type && strcmp(type, "GPU") == 0))) {
            return true;
        }
    }
    return false;
}

static bool classify(hwloc_obj_t pci, enum sy_device_kind *ret_kind) {
    const struct hwloc_pcidev_attr_s *attr = &pci->attr->pcidev;
    bool display = attr->class_id == CLASS_3D || attr->class_id == CLASS_DISPLAY;
    bool gpu = has_gpu_face(pci) ||
               (attr->vendor_id == VENDOR_NVIDIA && (display || attr->class_id == CLASS_VGA)) ||
               (attr->vendor_id == VENDOR_AMD && (display || attr->class_id == CLASS_COMPUTE));
    bool fpga = attr->vendor_id == VENDOR_XILINX || attr->vendor_id == VENDOR_ALTERA ||
                (attr->vendor_id == VENDOR_INTEL && is_intel_fpga(attr->device_id));
    *ret_kind = gpu ? SY_GPU : SY_FPGA;
    return gpu || fpga;
}

static bool same_slot(hwloc_obj_t a, hwloc_obj_t b) {
    const struct hwloc_pcidev_attr_s *x = &a->attr->pcidev, *y = &b->attr->pcidev;
    return x->domain == y->domain && x->bus == y->bus && x->dev == y->dev;
}

/* The host memory nearest to a PCI device. */
static uint32_t nearest_host(const struct sy_hwloc *hwloc, hwloc_obj_t pci) {
    hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(hwloc->topology, pci);
    for (uint32_t i = 0; place && place->nodeset && i < hwloc->host_count; i++) {
        if (hwloc->hosts[i] && hwloc_bitmap_isset(place->nodeset, hwloc->hosts[i]->os_index)) {
            return i;
        }
    }
    return 0;
}

static bool is_pci_bridge(hwloc_obj_t obj) {
    return obj->type == HWLOC_OBJ_BRIDGE && obj->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
}

static bool is_below(hwloc_obj_t obj, hwloc_obj_t bridge) {
    while (obj && obj != bridge) {
        obj = obj->parent;
    }
    return obj != NULL;
}

static void collect(struct accelerators *all) {
    hwloc_obj_t pci = NULL;
    while ((pci = hwloc_get_next_pcidev(all->hwloc->topology, pci))) {
        enum sy_device_kind kind;
        if (!classify(pci, &kind)) {
            continue;
        }
        bool known = false;
        for (uint32_t i = 0; i < all->count; i++) {
            known = known || same_slot(all->found[i].pci, pci);
        }
        if (!known && all->count < SY_MEMORY_MAX) {
            all->found[all->count++] = (struct found){
                .pci = pci, .kind = kind, .hub = SY_NONE, .host = nearest_host(all->hwloc, pci)};
        }
    }
}

/* The lowest PCI bridge that another accelerator is below, too. */
static hwloc_obj_t shared_bridge(const struct accelerators *all, uint32_t index) {
    for (hwloc_obj_t up = all->found[index].pci->parent; up; up = up->parent) {
        for (uint32_t i = 0; is_pci_bridge(up) && i < all->count; i++) {
            if (i != index && is_below(all->found[i].pci, up)) {
                return up;
            }
        }
    }
    return NULL;
}

/* linkspeed is gigabytes per second before headers; 0: unknown. */
static double link_bytes_per_s(float linkspeed) {
    return linkspeed >= (float)LINK_MIN_GB ? (double)linkspeed * 1e9 * SY_PCIE_EFFICIENCY
                                           : sy_pcie_bytes_per_s(3, 16);
}

static void add_switches(struct accelerators *all) {
    uint32_t number = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        struct found *found = &all->found[i];
        found->bridge = shared_bridge(all, i);
        for (uint32_t j = 0; found->bridge && j < i && found->hub == SY_NONE; j++) {
            if (all->found[j].bridge == found->bridge) {
                found->hub = all->found[j].hub;
            }
        }
        if (found->bridge && found->hub == SY_NONE) {
            char name[32];
            snprintf(name, sizeof name, "pcie%u", number++);
            float linkspeed = found->bridge->attr->bridge.upstream.pci.linkspeed;
            found->hub = sy_builder_add_bus(all->hwloc->builder, name, found->host,
                                            link_bytes_per_s(linkspeed));
        }
    }
}

/* hwloc states it in KiB where the vendor's library was there when the machine was recorded. */
static double memory_bytes(hwloc_obj_t pci) {
    static const char *const names[] = {"CUDAGlobalMemorySize", "OpenCLGlobalMemorySize",
                                        "RSMIVRAMSize", "LevelZeroHBMSize"};
    for (hwloc_obj_t io = pci->io_first_child; io; io = io->next_sibling) {
        for (size_t i = 0; i < SY_COUNT(names); i++) {
            const char *value = hwloc_obj_get_info_by_name(io, names[i]);
            double kib = value ? strtod(value, NULL) : 0;
            if (kib >= 1 && kib < 1e12) {
                return kib * 1024;
            }
        }
    }
    return INFINITY;
}

static void add_all(struct accelerators *all) {
    uint32_t number[SY_KIND_COUNT] = {0};
    for (uint32_t i = 0; i < all->count; i++) {
        struct found *found = &all->found[i];
        snprintf(found->name, sizeof found->name, "%s%u", sy_device_kind_name(found->kind),
                 number[found->kind]++);
        double bytes_per_s = link_bytes_per_s(found->pci->attr->pcidev.linkspeed);
        struct sy_accelerator accelerator = {
            .kind = found->kind,
            .name = found->name,
            .host = found->host,
            .bus = found->hub,
            .down_bytes_per_s = bytes_per_s,
            .up_bytes_per_s = bytes_per_s,
            .latency_ns = SY_DEFAULT_PCIE_LATENCY_NS,
            .capacity_bytes = memory_bytes(found->pci),
            .speed_ratio = 1,
            .busy_watts = sy_default_busy_watts(found->kind),
            .idle_watts = sy_default_idle_watts(found->kind),
            .part_count = 1,
            .board = {.port_bytes_per_s = SY_DEFAULT_PORT_BYTES_PER_S,
                      .init_ns = SY_DEFAULT_PORT_INIT_NS,
                      .image_bytes = SY_DEFAULT_IMAGE_BYTES},
        };
        found->memory = sy_builder_add_accelerator(all->hwloc->builder, &accelerator);
    }
}

static const struct found *find_owner(const struct accelerators *all, hwloc_obj_t obj) {
    for (uint32_t i = 0; obj && i < all->count; i++) {
        if (is_below(obj, all->found[i].pci)) {
            return &all->found[i];
        }
    }
    return NULL;
}

static void add_direct_link(struct sy_builder *builder, const struct found *from,
                            const struct found *to, double bytes_per_s) {
    char name[48];
    snprintf(name, sizeof name, "%s-%s", from->name, to->name);
    struct sy_resource resource = {.name = name, .kind = SY_RES_LINK, .bytes_per_s = bytes_per_s};
    struct sy_link link = {.from = from->memory,
                           .to = to->memory,
                           .latency_ns = NVLINK_NS,
                           .bytes_per_s = bytes_per_s,
                           .resource = sy_builder_add_resource(builder, &resource)};
    sy_builder_add_link(builder, &link);
}

/* hwloc keeps NVLink bandwidths (MB/s) as a matrix of distances. */
static void add_direct_links(struct accelerators *all) {
    struct hwloc_distances_s *matrix = NULL;
    unsigned count = 1;
    if (hwloc_distances_get_by_name(all->hwloc->topology, "NVLinkBandwidth", &count, &matrix, 0) <
            0 ||
        count < 1 || !matrix) {
        return;
    }
    for (unsigned i = 0; i < matrix->nbobjs; i++) {
        for (unsigned j = 0; j < matrix->nbobjs; j++) {
            const struct found *from = find_owner(all, matrix->objs[i]);
            const struct found *to = find_owner(all, matrix->objs[j]);
            double bytes_per_s = (double)matrix->values[i * matrix->nbobjs + j] * 1e6;
            if (from && to && from != to && bytes_per_s > 0) {
                add_direct_link(all->hwloc->builder, from, to, bytes_per_s);
            }
        }
    }
    hwloc_distances_release(all->hwloc->topology, matrix);
}

void sy_hwloc_add_accelerators(struct sy_hwloc *hwloc) {
    struct accelerators all = {.hwloc = hwloc};
    collect(&all);
    add_switches(&all);
    add_all(&all);
    add_direct_links(&all);
}
