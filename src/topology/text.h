/* SPDX-License-Identifier: Apache-2.0
 *
 * text: what a line of the machine language says, between its parser and the builder.
 */
#ifndef SY_TOPOLOGY_TEXT_H
#define SY_TOPOLOGY_TEXT_H

#include "topology/topology.h"

#define SY_TEXT_SPLIT_MAX 256 /* threads of a core, streams of a GPU, regions of a board */

/* "gpu:4@pcie3x16,bus=plx": one kind of device, a number of times. */
struct sy_text_part {
    enum sy_device_kind kind;
    uint32_t count;
    uint32_t socket_group; /* the (...) it stands in; SY_NONE: outside */
    const char *at;        /* where it stands, for errors */
    const char *bus;       /* NULL: none; not terminated */
    size_t bus_length;
    double speed_ratio, memory_bytes, memory_bytes_per_s, link_bytes_per_s, latency_ns;
    double busy_watts, idle_watts;
    double port_bytes_per_s, image_bytes, init_ns;
    uint32_t split; /* smt=, streams= or regions= */
};

/* "2x(...)" */
struct sy_text_group {
    uint32_t repeat;
    double dram_bytes_per_s; /* 0: not said */
    double capacity_bytes;
};

struct sy_text {
    const char *file, *text, *end, *at;
    struct sy_error *error;
    struct sy_text_part *parts;
    struct sy_text_group *groups;
    uint32_t part_count, part_capacity, group_count, group_capacity;
    struct sy_text_group outside; /* what stands outside of any (...) */
    double interconnect_bytes_per_s, interconnect_latency_ns;
};

/* An error at a place in the text. Returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int sy_text_fail(struct sy_text *text, const char *at,
                                                       const char *format, ...);
/* Length of the word at the cursor: letters, digits and what numbers are made of. */
size_t sy_text_word(const struct sy_text *text, const char *at);
/* A whole number in 1..high. */
SY_MUST_CHECK int sy_text_count(struct sy_text *text, const char *at, size_t length,
                                const char *what, uint32_t high, uint32_t *ret_count);
/* The options behind '@', where the cursor stands; fills part. */
SY_MUST_CHECK int sy_text_options(struct sy_text *text, struct sy_text_part *part);
/* A size or a time within the limits of topology.h. */
bool sy_text_size(const char *at, size_t length, double *ret_bytes);
bool sy_text_time(const char *at, size_t length, double *ret_ns);
/* A bandwidth behind a word such as dram:. */
SY_MUST_CHECK int sy_text_bandwidth(struct sy_text *text, const char *at, size_t length,
                                    double *ret_bytes_per_s);
SY_MUST_CHECK int sy_text_build(struct sy_text *text, const char *name,
                                struct sy_machine **ret_machine);

#endif
