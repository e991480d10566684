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
    struct sy_machine *machine;
    struct sy_store *store;
};

struct sy_catalogue {
    struct sy_arena *arena;
    struct sy_catalogue_options options;
    struct family families[FAMILIES_MAX];
    uint32_t family_count;
    struct shape shapes[MACHINES_MAX];
    uint32_t shape_count;
    struct sy_interference *smt; /* NULL: no table */
};

/* The generated ones; NULL past the end. */
const struct family *sy_family_at(uint32_t index);
const struct shape *sy_shape_at(uint32_t index);

double sy_between(struct sy_rng *rng, double low, double high);
double sy_log_between(struct sy_rng *rng, double low, double high);
bool sy_chance(struct sy_rng *rng, double probability);

#endif
