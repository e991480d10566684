/* SPDX-License-Identifier: Apache-2.0
 *
 * graph: the inside of a data-flow graph, for the rooms above.
 *
 * In: calls or text. Out: a sealed graph as flat arrays. Never knows: machines, time, schedulers.
 * Invariant: after seal every index is in range, the edges are unique and acyclic, and order is
 * topological.
 */
#ifndef SY_GRAPH_GRAPH_H
#define SY_GRAPH_GRAPH_H

#include "base/base.h"
#include <symph/graph.h>

#define SY_GRAPH_TASK_MAX   50000000u /* larger inputs are refused before memory is */
#define SY_GRAPH_NUMBER_MAX 1e30      /* of sizes, works and times: their products stay finite */

struct sy_kernel {
    const char *name;
    const char *interference;
    struct sy_variant variants[SY_KIND_COUNT];
    uint32_t part_max;
    double part_ns;
};

struct sy_task {
    uint32_t kernel;
    uint32_t access_start; /* its accesses end where the next task's start */
    const char *name;      /* NULL: unnamed */
    double work;
    uint16_t part, part_count; /* of a task that was cut; 0 of 0: a whole one */
};

struct sy_graph_builder; /* internal.h: edges in the order given, and who touched each datum last */

struct sy_graph {
    struct sy_arena *arena; /* names, and after seal the adjacency */
    const char *name;
    bool is_explicit;
    bool sealed;
    uint32_t kernel_count, data_count, task_count, access_count, edge_count;
    struct sy_kernel *kernels;
    struct sy_task *tasks; /* task_count + 1: the last one only closes access_start */
    double *time_ns; /* [task * SY_KIND_COUNT + kind] overrides, NAN: none; NULL: no overrides */
    double *data_bytes;
    const char **data_names; /* entries may be NULL */
    struct sy_access *accesses;
    uint32_t *access_producer; /* the task whose output this access reads, or SY_NONE: what the
                                * datum held at the start. Where the graph is explicit: the
                                * predecessor that writes the datum, the latest of them in order */
    struct sy_graph_builder *builder; /* NULL after seal */
    /* After seal. */
    uint32_t *succ_start, *succ, *pred_start, *pred; /* neighbours by increasing index */
    uint8_t *pred_given; /* [as pred] by sy_graph_add_edge, and not by an access */
    uint32_t *order;     /* topological; program order where that is */
};

/* The override, else the variant's formula, else INFINITY: isolated time of a task on a kind. */
double sy_graph_time_ns(const struct sy_graph *graph, uint32_t task, enum sy_device_kind kind);

/* How tasks are cut. */
struct sy_graph_cut {
    uint32_t part_max; /* tasks of every kernel into so many parts, which take together */
    double more_ratio; /* so much longer; part_max 0: as the graph's kernels say */
};
/* The graph with a chain of tasks in place of each that is worth cutting: parts follow each other,
 * each accesses what the whole does, and what comes after the whole waits for the last. work is
 * still the whole's; their times are stated. Sealed. -ENOMEM, -EOVERFLOW. */
SY_MUST_CHECK int sy_graph_cut(const struct sy_graph *graph, const struct sy_graph_cut *cut,
                               struct sy_graph **ret_graph);

/* Importers; each fills the (empty) list. */
SY_MUST_CHECK int sy_graph_read_json(const char *name, const char *text, size_t length,
                                     struct sy_graph_list *ret_list, struct sy_error *error);
SY_MUST_CHECK int sy_graph_read_wfformat(const char *name, const char *text, size_t length,
                                         struct sy_graph_list *ret_list, struct sy_error *error);
SY_MUST_CHECK int sy_graph_read_dag(const char *name, const char *text, size_t length,
                                    const struct sy_graph_read_options *options,
                                    struct sy_graph_list *ret_list, struct sy_error *error);
SY_MUST_CHECK int sy_graph_read_starpu(const char *name, const char *text, size_t length,
                                       struct sy_graph_list *ret_list, struct sy_error *error);
/* Takes over graph on success. */
SY_MUST_CHECK int sy_graph_list_adopt(struct sy_graph_list *list, struct sy_graph *graph);

/* The tasks from first on as a sealed graph of their own. -EINVAL: some depend on others. */
SY_MUST_CHECK int sy_graph_part(const struct sy_graph *graph, const char *name, uint32_t first,
                                uint32_t count, struct sy_graph **ret_part, struct sy_error *error);

/* Exporters. A JSON file can be read back; of several tasks, or data, with one name only the first
 * keeps it. */
void sy_graph_write_json(const struct sy_graph *graph, struct sy_buffer *buffer);
void sy_graph_write_dot(const struct sy_graph *graph, struct sy_buffer *buffer);

/* Names and one-line help of the generators, NULL past the end. */
const char *sy_graph_generator_at(uint32_t index, const char **ret_help);

#endif
