/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of graph/ share among themselves; no other room includes it.
 */
#ifndef SY_GRAPH_INTERNAL_H
#define SY_GRAPH_INTERNAL_H

#include "graph/graph.h"

#define SY_GRAPH_GIVEN     0x80000000u /* in edge_to: by sy_graph_add_edge, not by an access */
#define SY_GRAPH_EDGE_MAX  1000000000u
#define SY_GRAPH_NAME_SIZE 32 /* of the buffer sy_graph_task_name wants */

struct sy_graph_builder {
    int failure; /* of a generator: the first error */
    uint32_t kernel_capacity, data_capacity, name_capacity, task_capacity, time_capacity;
    uint32_t access_capacity, producer_capacity;
    struct sy_map kernels; /* by name */
    uint32_t edge_count, from_capacity, to_capacity;
    uint32_t *edge_from, *edge_to; /* in the order given; edge_to with SY_GRAPH_GIVEN */
    /* By datum: its last writer, and the first of the list of readers since. */
    uint32_t writer_capacity, head_capacity;
    uint32_t *last_writer, *reader_head;
    /* By access: the task, and the next reader of the same datum. */
    uint32_t reader_capacity, next_capacity;
    uint32_t *reader_task, *reader_next;
};

void sy_graph_builder_destroy(struct sy_graph_builder *builder);
SY_MUST_CHECK int sy_graph_builder_edge(struct sy_graph *graph, uint32_t from, uint32_t to,
                                        uint32_t given);
/* Edges and producers that the accesses of the newest task imply. */
SY_MUST_CHECK int sy_graph_infer(struct sy_graph *graph);

/* An edge on the cycle that keeps a graph from being sealed; SY_NONE if that was not the reason. */
struct sy_graph_cycle {
    uint32_t from, to;
};
/* As sy_graph_seal. ret_cycle is written on failure. */
SY_MUST_CHECK int sy_graph_seal_locate(struct sy_graph *graph, struct sy_error *error,
                                       struct sy_graph_cycle *ret_cycle);

/* Fills the access_producer of an explicit graph that has its order. */
SY_MUST_CHECK int sy_graph_find_producers(struct sy_graph *graph);

/* --- lines of words, for the formats that are not JSON --------------------------------------- */
struct sy_lines {
    const char *file, *at, *end; /* at: behind the current line */
    const char *line_start, *line_end;
    uint32_t line;               /* of the current line, from 1 */
    const char *word, *word_end; /* last word taken */
    struct sy_error *error;
};
void sy_lines_init(struct sy_lines *lines, const char *file, const char *text, size_t length,
                   struct sy_error *error);
/* Goes to the next line; false at the end of the text. */
bool sy_lines_next(struct sy_lines *lines);
/* Takes the next word of the line; false at its end. */
bool sy_lines_word(struct sy_lines *lines);
/* The next word as a number; the error names what. */
SY_MUST_CHECK int sy_lines_u64(struct sy_lines *lines, const char *what, uint64_t limit,
                               uint64_t *ret_value);
SY_MUST_CHECK int sy_lines_double(struct sy_lines *lines, const char *what, double *ret_value);
/* An error at the last word taken, or at the end of the line when there was none. -EINVAL. */
__attribute__((format(printf, 2, 3))) int sy_lines_fail(struct sy_lines *lines, const char *format,
                                                        ...);

/* --- generators ------------------------------------------------------------------------------ */
#define SY_GENERATOR_PARAMETERS 8
#define SY_GENERATOR_SIZE_MAX   4e7 /* tasks and accesses together */

enum sy_generator_number {
    SY_REAL,
    SY_WHOLE,
    SY_TIME, /* written with a unit; the values are ms */
};

struct sy_generator_parameter {
    const char *key;
    double fallback, low, high;
    enum sy_generator_number number;
};

struct sy_generator {
    const char *name;
    const char *help;
    struct sy_generator_parameter parameters[SY_GENERATOR_PARAMETERS]; /* the first is the size */
    /* Tasks and accesses it will make: judged before anything is allocated. */
    double (*size)(const double *values);
    void (*build)(struct sy_graph *graph, const double *values);
};
#define WHOLE(key, fallback, low, high)                                                            \
    { key, fallback, low, high, SY_WHOLE }
#define REAL(key, fallback, low, high)                                                             \
    { key, fallback, low, high, SY_REAL }
#define TIME(key, fallback, low, high)                                                             \
    { key, fallback, low, high, SY_TIME }
/* build is a function with the generator's name; what follows help are its parameters. */
#define GENERATOR(build, size, help, ...)                                                          \
    { #build, help, {__VA_ARGS__ }, size, build }

/* Families, each closed by an entry without name. */
extern const struct sy_generator sy_generators_linalg[];
extern const struct sy_generator sy_generators_shapes[];
extern const struct sy_generator sy_generators_pipelines[];
extern const struct sy_generator sy_generators_inference[];

/* A kernel from its times per unit of work, 0 where it has no such variant, and its traffic. */
struct sy_generator_kernel {
    const char *name, *interference;
    double cpu_ns, gpu_ns, fpga_ns; /* per unit of work */
    double log_sigma;
    double cpu_bytes_per_s;                             /* to the memory of the host */
    double gpu_link_bytes_per_s, fpga_link_bytes_per_s; /* over the link while it runs */
};
/* These do nothing once one of them has failed; the graph's builder keeps why. */
void sy_generator_kernels(struct sy_graph *graph, const struct sy_generator_kernel *kernels,
                          uint32_t count);
/* accesses end with one of mode 0. */
__attribute__((format(printf, 5, 6))) void sy_generator_task(struct sy_graph *graph,
                                                             uint32_t kernel, double work,
                                                             const struct sy_access *accesses,
                                                             const char *format, ...);
__attribute__((format(printf, 3, 4))) void sy_generator_data(struct sy_graph *graph, double bytes,
                                                             const char *format, ...);
/* Room for accesses, as long as the graph; NULL is such a failure. */
struct sy_access *sy_generator_accesses(struct sy_graph *graph, size_t count);
#define READ(datum)                                                                                \
    { datum, SY_READ }
#define WRITE(datum)                                                                               \
    { datum, SY_WRITE }
#define UPDATE(datum)                                                                              \
    { datum, SY_READ_WRITE }
#define ACCESSES(...)                                                                              \
    (const struct sy_access[]) {                                                                   \
        __VA_ARGS__, {                                                                             \
            0, 0                                                                                   \
        }                                                                                          \
    }

#endif
