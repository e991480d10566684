/* SPDX-License-Identifier: Apache-2.0
 *
 * StarPU's workers, memory nodes and measured buses, as a machine. Device i is worker i; memory m
 * is memory node m.
 */
#include "engine/starpu/hooks.h"
#include "topology/topology.h"
#include <errno.h>
#include <math.h>
#include <string.h>

struct naming {
    uint32_t cpus, opencls, cudas, others;
    bool same_cuda; /* all CUDA devices have the same name */
};

/* "CUDA 0.0 (NVIDIA H200 139.8 GiB 1b:00.0)": what stands between the bracket and the bus. */
static void hardware_name(unsigned worker, char *ret_name, size_t size) {
    char name[128] = "";
    starpu_worker_get_name((int)worker, name, sizeof name);
    const char *open = strchr(name, '('), *end = open ? strstr(open, " GiB") : NULL;
    snprintf(ret_name, size, "%.*s", open ? (int)(end ? end - open : 64) : 0, open ? open : "");
}

static bool cuda_alike(void) {
    char first[128] = "", name[128];
    unsigned count = starpu_worker_get_count();
    for (unsigned w = 0; w < count; w++) {
        if (starpu_worker_get_type((int)w) != STARPU_CUDA_WORKER) {
            continue;
        }
        hardware_name(w, name, sizeof name);
        if (first[0] && strcmp(first, name) != 0) {
            return false;
        }
        memcpy(first, name, sizeof first);
    }
    return true;
}

static void add_worker(struct sy_builder *builder, unsigned worker, struct naming *naming) {
    char name[32], model[32] = "";
    struct sy_device device = {
        .kind = SY_GPU, .group = SY_NONE, .board = SY_NONE, .speed_ratio = 1};
    int id = starpu_worker_get_devid((int)worker);
    switch (starpu_worker_get_type((int)worker)) {
    case STARPU_CPU_WORKER:
        device.kind = SY_CPU;
        snprintf(name, sizeof name, "cpu%u", naming->cpus++);
        break;
    case STARPU_CUDA_WORKER:
        snprintf(name, sizeof name, "cuda%u", naming->cudas++);
        snprintf(model, sizeof model, naming->same_cuda ? "cuda" : "cuda%d", id);
        break;
    case STARPU_OPENCL_WORKER:
        snprintf(name, sizeof name, "opencl%u", naming->opencls++);
        snprintf(model, sizeof model, "opencl");
        break;
    default:
        device.kind = SY_ASIC;
        snprintf(name, sizeof name, "other%u", naming->others++);
        break;
    }
    device.name = name;
    device.model = model[0] ? model : NULL;
    device.memory = starpu_worker_get_memory_node(worker);
    device.host_memory = device.kind == SY_CPU ? device.memory : 0;
    device.busy_watts = sy_default_busy_watts(device.kind);
    device.idle_watts = sy_default_idle_watts(device.kind);
    sy_builder_add_device(builder, &device);
}

/* The links of each memory that is not the host's; SY_NONE for the host's. */
static void add_memory(struct sy_builder *builder, unsigned node, uint32_t links[2]) {
    char name[32], link[48];
    bool host = starpu_node_get_kind(node) == STARPU_CPU_RAM;
    starpu_ssize_t total = starpu_memory_get_total(node);
    snprintf(name, sizeof name, host ? "host%u" : "memory%u", node);
    sy_builder_add_memory(
        builder, &(struct sy_memory){.name = name,
                                     .host = host,
                                     .capacity_bytes = total > 0 ? (double)total : INFINITY,
                                     .resource = SY_NONE,
                                     .dma_count = 1});
    links[0] = links[1] = SY_NONE;
    for (int up = 0; !host && up < 2; up++) {
        double mb = up ? starpu_transfer_bandwidth(node, 0) : starpu_transfer_bandwidth(0, node);
        snprintf(link, sizeof link, "%s.%s", name, up ? "up" : "down");
        links[up] = sy_builder_add_resource(
            builder,
            &(struct sy_resource){.name = link,
                                  .kind = SY_RES_LINK,
                                  .bytes_per_s = mb > 0 && isfinite(mb) ? mb * 1e6 : 1e10});
    }
}

/* What accelerators share on their way is not measured. As StarPU's own models do, they are taken
 * to hang on one bus, as wide as the fastest of their links. */
static void add_bus(struct sy_builder *builder, unsigned memories, uint32_t ret_bus[2]) {
    double mb = 0;
    for (unsigned m = 1; m < memories; m++) {
        mb = fmax(mb, fmax(starpu_transfer_bandwidth(m, 0), starpu_transfer_bandwidth(0, m)));
    }
    for (int up = 0; up < 2; up++) {
        ret_bus[up] = sy_builder_add_resource(
            builder,
            &(struct sy_resource){.name = up ? "bus.up" : "bus.down",
                                  .kind = SY_RES_LINK,
                                  .bytes_per_s = mb > 0 && isfinite(mb) ? mb * 1e6 : 1e10});
    }
}

static void add_route(struct sy_builder *builder, unsigned from, unsigned to, uint32_t links[][2],
                      const uint32_t bus[2]) {
    double mb = starpu_transfer_bandwidth(from, to), us = starpu_transfer_latency(from, to);
    struct sy_route route = {.bytes_per_s = mb > 0 && isfinite(mb) ? mb * 1e6 : 1e10,
                             .latency_ns = us > 0 && isfinite(us) ? us * 1e3 : 0};
    if (links[from][1] != SY_NONE) {
        route.resources[route.resource_count++] = links[from][1];
        route.resources[route.resource_count++] = bus[1];
    }
    if (links[to][0] != SY_NONE) {
        route.resources[route.resource_count++] = links[to][0];
        route.resources[route.resource_count++] = bus[0];
    }
    sy_builder_set_route(builder, from, to, &route);
}

int sy_starpu_machine(uint32_t urgent_count, struct sy_machine **ret_machine,
                      struct sy_error *error) {
    uint32_t links[SY_MEMORY_MAX][2], bus[2];
    unsigned memories = starpu_memory_nodes_get_count();
    unsigned workers = starpu_worker_get_count() - urgent_count;
    if (memories > SY_MEMORY_MAX) {
        return sy_fail(error, -E2BIG, "StarPU has %u memory nodes, and at most %d are supported",
                       memories, SY_MEMORY_MAX);
    }
    struct sy_builder *builder = sy_builder_create("starpu");
    if (!builder) {
        return sy_fail(error, -ENOMEM, "out of memory");
    }
    struct naming naming = {.same_cuda = cuda_alike()};
    for (unsigned m = 0; m < memories; m++) {
        add_memory(builder, m, links[m]);
    }
    add_bus(builder, memories, bus);
    for (unsigned w = 0; w < workers; w++) {
        add_worker(builder, w, &naming);
    }
    for (unsigned from = 0; from < memories; from++) {
        for (unsigned to = 0; to < memories; to++) {
            if (from != to) {
                add_route(builder, from, to, links, bus);
            }
        }
    }
    int code = sy_builder_finish(builder, ret_machine, error);
    sy_builder_destroy(builder);
    return code;
}
