/* SPDX-License-Identifier: Apache-2.0
 *
 * The compiler's records, between JSON and compact text. Private to this room.
 *
 * In: JSON files, first the architecture's shared ones, then those of one micro-architecture. Out:
 * events and metrics as tools/perf/pmu-events/jevents.py (Linux 6.12) understands them. Invariant:
 * everything lives in the compilation's arena.
 */
#ifndef SY_LISTING_COMPILE_H
#define SY_LISTING_COMPILE_H

#include "listing/read.h"

struct sy_raw_event {
    const char *name, *unit;
    bool has_code;
    uint64_t code, umask;
    const char *terms; /* the others, "cmask=1,edge=1" */
    const char *scale; /* NULL: none */
    uint32_t counter_mask;
    bool fixed, per_package, deprecated;
};

struct sy_raw_metric {
    const char *name, *unit, *group, *scale, *expr; /* expr without needless spaces */
};

struct sy_compilation {
    struct sy_arena *arena;
    struct sy_error *error;
    struct sy_raw_event *events;
    uint32_t event_count, event_capacity;
    struct sy_raw_metric *metrics;
    uint32_t metric_count, metric_capacity;
    struct sy_unit *units; /* that say how many counters they have */
    uint32_t unit_count, unit_capacity;
    struct sy_map events_seen, metrics_seen; /* "unit/name" */
    struct sy_json_record **standard;        /* events and metrics to be referred to */
    uint32_t standard_count, standard_capacity;
    struct sy_map standard_names; /* in lower case */
};

SY_MUST_CHECK int sy_compilation_init(struct sy_compilation *c, struct sy_error *error);
void sy_compilation_finish(struct sy_compilation *c);
/* standard: what it lists is only for ArchStdEvent of later files. */
SY_MUST_CHECK int sy_compilation_add(struct sy_compilation *c, const char *file, const char *text,
                                     size_t length, bool standard);
/* The compact text. Sorts the records. */
SY_MUST_CHECK int sy_compilation_write(struct sy_compilation *c, const char *name,
                                       const char *source, struct sy_buffer *ret_text);

/* The folder pmu-events/arch of a tree, in the arena. */
SY_MUST_CHECK int sy_tree_find(const char *tree, struct sy_arena *arena, const char **ret_folder,
                               struct sy_error *error);

#endif
