/* SPDX-License-Identifier: Apache-2.0
 *
 * topology: what machine is this.
 *
 * In: a line of text, JSON, hwloc, recorded CSV. Out: struct sy_machine, checked and immutable.
 * Never knows: graphs, durations, time. Invariant: every reader goes through the builder, so every
 * machine obeys the same rules, and every ordered pair of memories has a route.
 */
#ifndef SY_TOPOLOGY_TOPOLOGY_H
#define SY_TOPOLOGY_TOPOLOGY_H

#include "base/base.h"
#include <symph/machine.h>

#define SY_DEVICE_MAX 4096
#define SY_HUB_MAX    64 /* PCIe switches */

/* What any reader accepts; beyond that it is a mistake, and sums would lose their meaning. */
#define SY_BYTES_PER_S_MIN 1e-3
#define SY_BYTES_PER_S_MAX 1e18
#define SY_BYTES_MIN       1e-3
#define SY_BYTES_MAX       1e20
#define SY_NS_MIN          1e-6
#define SY_NS_MAX          1e15
#define SY_WATTS_MAX       1e9

/* --- assumed where nothing is said: assumed.c; docs/machine-format.md lists them -------------- */
#define SY_DEFAULT_DRAM_BYTES_PER_S         40e9
#define SY_DEFAULT_INTERCONNECT_BYTES_PER_S 20e9
#define SY_DEFAULT_INTERCONNECT_LATENCY_NS  500.0
#define SY_DEFAULT_PCIE_LATENCY_NS          10e3
#define SY_DEFAULT_PORT_BYTES_PER_S         800e6
#define SY_DEFAULT_PORT_INIT_NS             1e6
#define SY_DEFAULT_IMAGE_BYTES              16e6
#define SY_PCIE_EFFICIENCY                  0.85 /* of the line rate, after packet headers */

/* Usable bytes per second in one direction. generation 1..6; 0 outside. */
double sy_pcie_bytes_per_s(uint32_t generation, uint32_t lanes);
/* Of one core, GPU, board or ASIC. */
double sy_default_busy_watts(enum sy_device_kind kind);
double sy_default_idle_watts(enum sy_device_kind kind);
/* Assumed, of a whole core, GPU, board or ASIC: of the order of what clouds ask, in no particular
 * currency. */
double sy_default_price_per_hour(enum sy_device_kind kind);

/* --- builder: add, then finish -----------------------------------------------------------------
 * The add functions copy what they are given and return its index, or SY_NONE once something
 * failed; finish then tells what. Memories must be added host memories first. */
struct sy_builder;
struct sy_builder *sy_builder_create(const char *name);
void sy_builder_destroy(struct sy_builder *builder);

uint32_t sy_builder_add_resource(struct sy_builder *builder, const struct sy_resource *resource);
uint32_t sy_builder_add_memory(struct sy_builder *builder, const struct sy_memory *memory);
uint32_t sy_builder_add_board(struct sy_builder *builder, const struct sy_board *board);
/* class_index is computed; equal groups slow each other, group SY_NONE: a group of its own. */
uint32_t sy_builder_add_device(struct sy_builder *builder, const struct sy_device *device);

/* A node of the network is a memory (its index) or a hub: a point that copies pass through. */
uint32_t sy_builder_add_hub(struct sy_builder *builder);
struct sy_link {
    uint32_t from, to; /* nodes; one direction */
    uint32_t resource; /* crossed; SY_NONE: not shared */
    double latency_ns;
    double bytes_per_s; /* of one copy alone */
};
void sy_builder_add_link(struct sy_builder *builder, const struct sy_link *link);
/* Keeps the path but states what was measured on it. */
void sy_builder_set_speed(struct sy_builder *builder, uint32_t from, uint32_t to, double latency_ns,
                          double bytes_per_s);
/* States the whole route; no path is looked for. */
void sy_builder_set_route(struct sy_builder *builder, uint32_t from, uint32_t to,
                          const struct sy_route *route);
/* Checks, computes classes, groups and routes. The builder must still be destroyed. */
SY_MUST_CHECK int sy_builder_finish(struct sy_builder *builder, struct sy_machine **ret_machine,
                                    struct sy_error *error);

/* --- parts: what machines are made of; all return the index of the memory or hub ----------------
 */
/* Host memory "hostN" with its bandwidth "dramN"; 0: it is not known, and nobody shares it. */
uint32_t sy_builder_add_socket(struct sy_builder *builder, uint32_t number, double dram_bytes_per_s,
                               double capacity_bytes);
/* A link each way between all pairs of the first host_count memories: "upi0-1", "upi1-0" ... */
void sy_builder_add_interconnect(struct sy_builder *builder, uint32_t host_count,
                                 double bytes_per_s, double latency_ns);
/* A PCIe switch below host: a hub behind "NAME.up" and "NAME.down". */
uint32_t sy_builder_add_bus(struct sy_builder *builder, const char *name, uint32_t host,
                            double bytes_per_s);

struct sy_accelerator {
    enum sy_device_kind kind;
    const char *name;
    uint32_t host;
    uint32_t bus;                            /* hub it is behind; SY_NONE: directly at host */
    double down_bytes_per_s, up_bytes_per_s; /* from and to the host */
    double latency_ns;
    double capacity_bytes;
    double memory_bytes_per_s; /* that tasks share; 0: not modelled */
    double speed_ratio;
    double busy_watts, idle_watts; /* of the whole; divided among its devices */
    uint32_t part_count;           /* streams, or regions of an FPGA */
    struct sy_board board;         /* FPGA only; its name is the accelerator's */
};
/* Memory, link both ways ("NAME.down", "NAME.up"), and one device per stream or region. */
uint32_t sy_builder_add_accelerator(struct sy_builder *builder,
                                    const struct sy_accelerator *accelerator);

/* --- readers from memory; file stands for the text in errors, "" if it is no file ---------------
 */
SY_MUST_CHECK int sy_machine_read_line(const char *file, const char *name, const char *text,
                                       size_t length, struct sy_machine **ret_machine,
                                       struct sy_error *error);
/* text must be followed by a NUL. */
SY_MUST_CHECK int sy_machine_read_json(const char *file, const char *text, size_t length,
                                       struct sy_machine **ret_machine, struct sy_error *error);
/* dram_bytes_per_s: of the host memory; 0: as the text says, and not known where it does not. */
SY_MUST_CHECK int sy_machine_read_bus_csv(const char *file, const char *name, const char *text,
                                          size_t length, double dram_bytes_per_s,
                                          struct sy_machine **ret_machine, struct sy_error *error);
/* Well-formed, and a <topology> of a version hwloc knows; says nothing about what is in it. */
SY_MUST_CHECK int sy_xml_check(const char *file, const char *text, size_t length,
                               struct sy_error *error);
SY_MUST_CHECK int sy_machine_read_xml(const char *file, const char *name, const char *text,
                                      size_t length, struct sy_machine **ret_machine,
                                      struct sy_error *error);

/* The other file of a recorded pair, X.bus.csv and X.kernels.csv. False if path is neither. */
bool sy_machine_csv_pair(const char *path, struct sy_buffer *ret_bus_path,
                         struct sy_buffer *ret_kernels_path);

/* Native JSON; reads back as the same machine. A failed allocation shows in buffer->failed. */
void sy_machine_write_json(const struct sy_machine *machine, struct sy_buffer *buffer);

/* "dram", "link", "switch", "interconnect". */
const char *sy_resource_kind_name(enum sy_resource_kind kind);

#endif
