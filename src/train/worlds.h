/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside train: what worlds are made of.
 */
#ifndef SY_TRAIN_WORLDS_H
#define SY_TRAIN_WORLDS_H

#include "train/train.h"

#define SPEC_SIZE    160
#define FAMILIES_MAX 32
#define MACHINES_MAX 32

/* A family of graphs: generated (write), or read from a file (graphs). */
struct family {
    const char *name;
    /* The generator's line for about so many tasks; recorded: sizes that were measured. */
    void (*write)(char *spec, double tasks, bool recorded, struct sy_rng *rng);
    struct sy_graph_list graphs;
    uint32_t *by_size; /* indices of graphs, small ones first */
};

/* A shape of machine: a line drawn anew each time (write), or a recorded one. */
struct shape {
    const char *name;
    void (*write)(char *spec, struct sy_rng *rng);
    const struct sy_machine *machine;
    struct sy_machine *own_machine; /* NULL: somebody else's */
    struct sy_store *store;
};

/* What worlds have of one half of traces. */
struct half {
    const struct sy_traced_graph **graphs;
    uint32_t graph_count;
    struct sy_traced_stream *streams; /* of two jobs and more */
    uint32_t stream_count;
};

struct sy_catalogue {
    struct sy_arena *arena;
    struct sy_catalogue_options options;
    struct family families[FAMILIES_MAX];
    uint32_t family_count;
    struct shape shapes[MACHINES_MAX];
    uint32_t shape_count;
    struct sy_interference *smt;       /* NULL: no table */
    struct half halves[SY_HALF_COUNT]; /* of traces */
};

/* traces.c: the graph of a job. */
const struct sy_traced_graph *sy_traced_of(const struct sy_traced *traces,
                                           const struct sy_job *job);
/* Fills halves. -ENOMEM. */
SY_MUST_CHECK int sy_halve_traces(struct sy_catalogue *catalogue, struct sy_error *error);

/* left_out.c: whether worlds may have it, by the lists of the options. */
bool sy_wants_family(const struct sy_catalogue_options *options, const char *family);
bool sy_wants_machine(const struct sy_catalogue_options *options, const char *machine);
/* Every word of the lists must be one of the names. 0, or -EINVAL with a hint. */
SY_MUST_CHECK int sy_check_families(const struct sy_catalogue_options *options,
                                    const char *const *names, uint32_t count,
                                    struct sy_error *error);
SY_MUST_CHECK int sy_check_machines(const struct sy_catalogue_options *options,
                                    const char *const *names, uint32_t count,
                                    struct sy_error *error);

/* families.c: the generated ones; NULL past the end. */
const struct family *sy_family_at(uint32_t index);
const struct shape *sy_shape_at(uint32_t index);

double sy_between(struct sy_rng *rng, double low, double high);
double sy_log_between(struct sy_rng *rng, double low, double high);
bool sy_chance(struct sy_rng *rng, double probability);

#endif
