/* SPDX-License-Identifier: Apache-2.0
 *
 * The data-flow graph: kernels with variants, data, tasks that access data, precedence.
 *
 * Life cycle: create, add kernels, data and tasks, seal, use, destroy. A sealed graph is immutable
 * and may be shared between threads. Task order is program order: unless a graph is explicit, a
 * task depends on the last writer of what it reads and on the readers of what it overwrites.
 */
#ifndef SYMPH_GRAPH_H
#define SYMPH_GRAPH_H

#include <stdbool.h>
#include <symph/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    uint32_t index;
} sy_kernel_id;
typedef struct {
    uint32_t index;
} sy_data_id;
typedef struct {
    uint32_t index;
} sy_task_id;

enum sy_device_kind { SY_CPU, SY_GPU, SY_FPGA, SY_ASIC, SY_KIND_COUNT };

/* "cpu", "gpu", "fpga", "asic". */
SY_API const char *sy_device_kind_name(enum sy_device_kind kind);
/* False if the name is none of them. */
SY_API bool sy_device_kind_parse(const char *name, enum sy_device_kind *ret_kind);

/* How one kind of device runs a kernel. A task of work w takes fixed_ns + w * ns_per_work alone. */
struct sy_variant {
    bool present;
    double fixed_ns;
    double ns_per_work;
    double log_sigma;               /* spread of the logarithm of the time; 0: unknown */
    double demand_bytes_per_s;      /* traffic on the device's own memory at full speed */
    double link_demand_bytes_per_s; /* traffic between the device and host memory while it runs */
    double watts;                   /* drawn while running; 0: the device's own figure */
    double image_bytes;             /* FPGA: configuration image; 0: the board's default */
};

#define SY_PART_MAX 1024 /* of one task */

struct sy_kernel_desc {
    const char *name;
    const char *interference; /* row in a table of co-run slowdowns; NULL: the kernel's name */
    struct sy_variant variants[SY_KIND_COUNT];
    uint32_t part_max; /* a task can be cut into up to this many parts; 0, 1: it cannot */
    double part_ns;    /* that each part beyond the first takes more */
};

enum sy_access_mode { SY_READ = 1, SY_WRITE = 2, SY_READ_WRITE = 3 };

struct sy_access {
    uint32_t datum;
    uint32_t mode; /* enum sy_access_mode */
};

struct sy_task_desc {
    const char *name; /* NULL: unnamed */
    sy_kernel_id kernel;
    double work;           /* what ns_per_work multiplies: flops, cells, items ... */
    const double *time_ns; /* SY_KIND_COUNT times that override the variants; NULL: none.
                            * NAN: no override; INFINITY: cannot run there */
    const struct sy_access *accesses;
    uint32_t access_count;
};

struct sy_graph;

/* explicit: dependencies are only those given by sy_graph_add_edge. NULL when out of memory. */
SY_API struct sy_graph *sy_graph_create(const char *name, bool is_explicit);
SY_API void sy_graph_destroy(struct sy_graph *graph);

SY_API SY_MUST_CHECK int sy_graph_add_kernel(struct sy_graph *graph,
                                             const struct sy_kernel_desc *desc,
                                             sy_kernel_id *ret_kernel);
/* The datum starts in host memory unless some task writes it first. name may be NULL. */
SY_API SY_MUST_CHECK int sy_graph_add_data(struct sy_graph *graph, const char *name, double bytes,
                                           sy_data_id *ret_data);
SY_API SY_MUST_CHECK int sy_graph_add_task(struct sy_graph *graph, const struct sy_task_desc *desc,
                                           sy_task_id *ret_task);
/* Precedence without data. Edges may be added twice; seal drops the copies. */
SY_API SY_MUST_CHECK int sy_graph_add_edge(struct sy_graph *graph, sy_task_id from, sy_task_id to);
/* Checks and freezes. -EINVAL and an error that names the tasks if there is a cycle. */
SY_API SY_MUST_CHECK int sy_graph_seal(struct sy_graph *graph, struct sy_error *error);

SY_API const char *sy_graph_name(const struct sy_graph *graph);
SY_API uint32_t sy_graph_task_count(const struct sy_graph *graph);
SY_API uint32_t sy_graph_data_count(const struct sy_graph *graph);
SY_API uint32_t sy_graph_kernel_count(const struct sy_graph *graph);
SY_API uint32_t sy_graph_edge_count(const struct sy_graph *graph);
/* "task 7" where it has no name; the string lives as long as buffer (at least 32 bytes) or graph.
 */
SY_API const char *sy_graph_task_name(const struct sy_graph *graph, sy_task_id task, char *buffer);

/* A list of sealed graphs, as read from a file that may hold many. */
struct sy_graph_list {
    struct sy_graph **graphs;
    uint32_t count;
};
SY_API void sy_graph_list_finish(struct sy_graph_list *list);

struct sy_graph_read_options {
    uint32_t max_instances; /* a stage of more instances is folded into so many tasks; 0: 32 */
};

/* Reads native JSON, WfFormat JSON, .dag lines or StarPU's tasks.rec; told apart by content.
 * Fills an empty list. options may be NULL. */
SY_API SY_MUST_CHECK int sy_graph_read_file(const char *path,
                                            const struct sy_graph_read_options *options,
                                            struct sy_graph_list *ret_list, struct sy_error *error);
/* The same from memory; name stands for the file in errors. */
SY_API SY_MUST_CHECK int sy_graph_read_text(const char *name, const char *text, size_t length,
                                            const struct sy_graph_read_options *options,
                                            struct sy_graph_list *ret_list, struct sy_error *error);
/* Makes a graph from a line such as "cholesky:20" or "layered:width=8,depth=20,seed=3". */
SY_API SY_MUST_CHECK int sy_graph_generate(const char *spec, struct sy_graph **ret_graph,
                                           struct sy_error *error);

#ifdef __cplusplus
}
#endif
#endif
