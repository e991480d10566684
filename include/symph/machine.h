/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine: devices, the memories they compute from, the shared resources between them.
 *
 * A machine is read once, checked, and immutable. Devices that are alike for the clock share a
 * class; execution times are kept per class. Every pair of memories has a route: the shared
 * resources a copy crosses. An FPGA region is a device of its own, on a board with one
 * configuration port.
 */
#ifndef SYMPH_MACHINE_H
#define SYMPH_MACHINE_H

#include <symph/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SY_MEMORY_MAX 64 /* validity of a datum is one bit per memory */
#define SY_ROUTE_MAX  6  /* resources on one route */

typedef struct {
    uint32_t index;
} sy_device_id;

enum sy_resource_kind { SY_RES_DRAM, SY_RES_LINK, SY_RES_SWITCH, SY_RES_INTERCONNECT };

struct sy_resource {
    const char *name;
    enum sy_resource_kind kind;
    double bytes_per_s;
};

struct sy_memory {
    const char *name;
    bool host;             /* tasks' initial data may live here */
    double capacity_bytes; /* INFINITY: unknown */
    uint32_t resource;     /* its bandwidth, as a resource; SY_NONE: not modelled */
    uint32_t dma_count;    /* copies into it at a time when contention is simulated */
};

struct sy_device {
    const char *name;
    enum sy_device_kind kind;
    const char *model; /* devices of different models are of different classes; NULL: unnamed */
    uint32_t class_index;
    uint32_t memory;
    uint32_t host_memory; /* nearest host memory; == memory for a CPU */
    uint32_t group;       /* devices that slow each other (SMT siblings, streams of one GPU) */
    uint32_t board;       /* FPGA regions: the board; SY_NONE otherwise */
    double speed_ratio;   /* times are divided by it; 1 for the reference device of its kind */
    double busy_watts;
    double idle_watts;
};

struct sy_device_class {
    const char *name; /* "cpu", "gpu", "gpu-1.5" ... unique */
    enum sy_device_kind kind;
    double speed_ratio;
    uint32_t device_count;
    uint32_t first_device;
};

struct sy_board {
    const char *name;
    double port_bytes_per_s; /* configuration port, one image at a time */
    double init_ns;          /* after the bytes are in */
    double image_bytes;      /* of a kernel that states none */
};

struct sy_route {
    double latency_ns;
    double bytes_per_s;      /* of one copy alone */
    uint32_t resource_count; /* 0 between a memory and itself */
    uint32_t resources[SY_ROUTE_MAX];
};

struct sy_machine {
    const char *name;
    uint32_t device_count;
    uint32_t memory_count;
    uint32_t resource_count;
    uint32_t class_count;
    uint32_t board_count;
    uint32_t group_count;
    const struct sy_device *devices;
    const struct sy_memory *memories;
    const struct sy_resource *resources;
    const struct sy_device_class *classes;
    const struct sy_board *boards;
    const struct sy_route *routes; /* [from * memory_count + to] */
};

SY_API void sy_machine_destroy(struct sy_machine *machine);

/* From one line of text: "2x(cpu:12 dram:80GB/s) gpu:4@pcie3x16 fpga:1@regions=4". */
SY_API SY_MUST_CHECK int sy_machine_parse(const char *text, struct sy_machine **ret_machine,
                                          struct sy_error *error);
/* From a file: native JSON, hwloc XML, or X.bus.csv / X.kernels.csv of a recorded machine. */
SY_API SY_MUST_CHECK int sy_machine_read_file(const char *path, struct sy_machine **ret_machine,
                                              struct sy_error *error);
/* The machine this program runs on, from hwloc. */
SY_API SY_MUST_CHECK int sy_machine_detect(struct sy_machine **ret_machine, struct sy_error *error);
/* "here": detect; an existing file: read it; otherwise: parse the text. */
SY_API SY_MUST_CHECK int sy_machine_open(const char *spec, struct sy_machine **ret_machine,
                                         struct sy_error *error);

#ifdef __cplusplus
}
#endif
#endif
