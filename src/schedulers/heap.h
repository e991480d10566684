/* SPDX-License-Identifier: Apache-2.0
 *
 * Committed tasks of many devices: highest key first, then first committed. Pairing heaps that
 * share arrays as long as the workload; a heap is the index of its root, SY_NONE when it is empty.
 */
#ifndef SY_SCHEDULERS_HEAP_H
#define SY_SCHEDULERS_HEAP_H

#include "schedulers/policy.h"

struct heap {
    const double *key;                    /* per task; the owner's */
    uint32_t *sequence, *child, *sibling; /* per task */
    uint32_t next;                        /* sequence number of the next task */
};
SY_MUST_CHECK int sy_heap_init(struct heap *heap, struct sy_arena *arena, size_t tasks,
                               const double *key);
/* All heaps are empty. */
void sy_heap_clear(struct heap *heap);
/* The root with the task in it, or without the root. */
uint32_t sy_heap_push(struct heap *heap, uint32_t root, uint32_t task);
uint32_t sy_heap_pop(struct heap *heap, uint32_t root);

#endif
