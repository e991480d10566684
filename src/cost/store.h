/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside cost: what the parts of the store share.
 */
#ifndef SY_COST_STORE_H
#define SY_COST_STORE_H

#include "cost/curve.h"

#define SY_SAMPLE_MIN_NS    1.0
#define SY_SAMPLE_MAX_NS    1e30
#define SY_SAMPLE_COUNT_MAX 1000000000000000ull /* sums of such counts stay exact */

/* How many samples the ring holds. */
uint32_t sy_cell_held(const struct sy_cell *cell);
void sy_cell_reset(struct sy_cell *cell);
/* The cell becomes: what a file says (count samples, oldest first, the last ones of total), and
 * behind it what is new here. count must be min(total, SY_CELL_SAMPLES). */
void sy_cell_merge(struct sy_cell *cell, const float *samples, uint32_t count, uint64_t total);

/* One kernel on one class: its cells, and the curve through the trusted ones. */
struct sy_store_group {
    struct sy_store_entry **entries;
    uint32_t count, capacity;
    struct sy_curve curve;  /* sizes are malloc'ed when first needed */
    uint32_t curve_trusted; /* trusted cells when it was made; 0: it was not */
    uint64_t curve_samples; /* and their samples */
};

struct sy_store_entry {
    struct sy_cell cell; /* first: a cell of the store is its entry */
    struct sy_store_group *group;
    bool seen; /* in the file that is being merged */
};

struct sy_store {
    struct sy_arena *arena; /* names, entries, groups, keys */
    char *path;             /* NULL: nothing is kept */
    struct sy_map names, groups, keys;
    uint64_t *builds; /* per name: of the kernel that runs now; 0: not known */
    uint32_t build_capacity;
    struct sy_store_entry **entries;
    struct sy_store_group **group_list;
    uint32_t count, capacity, group_count, group_capacity;
    const char **cleared; /* kernels to be forgotten at the next save */
    uint32_t cleared_count, cleared_capacity;
    bool cleared_all;
};

/* Without a file. */
SY_MUST_CHECK int sy_store_create(struct sy_store **ret_store);
/* Merges the cells of a file's text. On failure those before the bad line are merged. */
SY_MUST_CHECK int sy_store_read_text(struct sy_store *store, const char *name, const char *text,
                                     size_t length, struct sy_error *error);
void sy_store_write_text(const struct sy_store *store, struct sy_buffer *buffer);
/* Cells that are no longer in the file keep only what is new here. */
void sy_store_forget_unseen(struct sy_store *store);

#endif
