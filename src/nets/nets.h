/* SPDX-License-Identifier: Apache-2.0
 *
 * nets: the weights of learned policies. Their file, the optimiser that moves them, and the parts
 * of a policy that can be left out.
 *
 * In: blocks of floats. Out: the same, from and to files. Never knows: tasks, devices, time.
 * Invariant: all parameters of a policy lie in one block of floats.
 */
#ifndef SY_NETS_NETS_H
#define SY_NETS_NETS_H

#include "base/base.h"

/* --- optimiser: adam.c --------------------------------------------------------------------------
 */
struct sy_adam {
    uint32_t count, steps;
    float *first, *second; /* moments; the caller's, zero at first */
};
/* Clips the slopes to a norm (0: not), then moves the block against them. Returns the norm they
 * had; slopes that are not finite move nothing. */
double sy_adam_step(struct sy_adam *adam, float *block, float *slopes, double rate,
                    double clip_norm);

/* --- weights: weights.c -------------------------------------------------------------------------
 * A file is a few lines of text, zeros up to a multiple of 64 bytes, then the block as
 * little-endian floats: docs/weights-format.md. */
#define SY_WEIGHTS_MAX 262144 /* floats in a block */
struct sy_weights {
    const char *kind; /* which policy understands them: "symphony", "symphony-paper", "black-box",
                         and no other: the list is in weights.c */
    uint32_t shape;   /* version of that policy's layout: a policy refuses another */
    const float *block;
    uint32_t count;
    uint64_t hash;      /* of the block */
    const char *origin; /* how they were made: lines "key value", for people */
    void *memory;       /* what close gives back */
    size_t memory_size;
};
/* Reads a file. -EINVAL with line and reason for a file that is not one, was cut or was changed. */
SY_MUST_CHECK int sy_weights_open(const char *path, struct sy_weights *ret_weights,
                                  struct sy_error *error);
void sy_weights_close(struct sy_weights *weights);
/* The same from memory, which must be aligned to 64 bytes and outlive the weights. */
SY_MUST_CHECK int sy_weights_parse(const void *bytes, size_t size, struct sy_weights *ret_weights,
                                   struct sy_error *error);
/* Through a temporary name: the file is whole or not there. Needs kind, shape, block and count;
 * origin may be NULL or lines "key value" (keys of a-z, 0-9, - and _); computes the hash. */
SY_MUST_CHECK int sy_weights_write(const char *path, const struct sy_weights *weights,
                                   struct sy_error *error);
/* The weights that come with the program, by kind; NULL: none do. */
const struct sy_weights *sy_weights_shipped(const char *kind);

#endif
