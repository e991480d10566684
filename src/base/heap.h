/* SPDX-License-Identifier: Apache-2.0
 *
 * Priority queues of indices: tasks, devices, events. Ties have one order everywhere, so that equal
 * inputs give equal answers. Nothing is allocated here: the arrays are the owner's.
 */
#ifndef SY_BASE_HEAP_H
#define SY_BASE_HEAP_H

#include "base/base.h"

/* --- one queue in an array: a binary heap, least (key, tie) first --------------------------- */
struct sy_heap_entry {
    double key;
    uint32_t tie, item;
};
struct sy_heap {
    struct sy_heap_entry *entries; /* the least first */
    uint32_t count;
    /* Only for items that are moved or removed by their index; otherwise NULL. */
    double *key;        /* per item; INFINITY: not in the heap */
    uint32_t *position; /* per item */
};
void sy_heap_push(struct sy_heap *heap, struct sy_heap_entry entry);
/* What stands at entries[at]; 0: the least. There is one. */
struct sy_heap_entry sy_heap_take(struct sy_heap *heap, uint32_t at);
/* By index, with the index as the tie. Inserts or moves; removes if it is there. */
void sy_heap_set(struct sy_heap *heap, uint32_t item, double key);
void sy_heap_unset(struct sy_heap *heap, uint32_t item);

/* --- many queues that share arrays: greatest key first, then first pushed ------------------- */
/* An item is in one queue at the most, so arrays as long as there are items hold any number of
 * queues. A queue is the index of its first item, SY_NONE when it is empty (a pairing heap). */
struct sy_queues {
    const double *key; /* per item; the owner's, constant while it waits */
    uint32_t *turn, *child, *sibling;
    uint32_t next_turn; /* 0: all queues are empty */
};
SY_MUST_CHECK int sy_queues_init(struct sy_queues *queues, struct sy_arena *arena, size_t items,
                                 const double *key);
/* The queue with the item in it, or without its first one. */
uint32_t sy_queues_push(struct sy_queues *queues, uint32_t queue, uint32_t item);
uint32_t sy_queues_pop(struct sy_queues *queues, uint32_t queue);
/* The queue without an item of it; *ret_last: the last of those that stay, SY_NONE: none. */
uint32_t sy_queues_remove(struct sy_queues *queues, uint32_t queue, uint32_t item,
                          uint32_t *ret_last);

#endif
