/* SPDX-License-Identifier: Apache-2.0
 *
 * Indexed binary heap of event slots, least (key, slot) first: ties have one order everywhere.
 */
#include "world/world.h"
#include <math.h>

static inline bool before(const struct sy_events *heap, uint32_t a, uint32_t b) {
    return heap->key[a] < heap->key[b] || (heap->key[a] == heap->key[b] && a < b);
}

static inline void put(struct sy_events *heap, uint32_t at, uint32_t slot) {
    heap->slots[at] = slot;
    heap->position[slot] = at;
}

static void rise(struct sy_events *heap, uint32_t at, uint32_t slot) {
    while (at) {
        uint32_t parent = (at - 1) / 2;
        if (!before(heap, slot, heap->slots[parent])) {
            break;
        }
        put(heap, at, heap->slots[parent]);
        at = parent;
    }
    put(heap, at, slot);
}

static void sink(struct sy_events *heap, uint32_t at, uint32_t slot) {
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count && before(heap, heap->slots[child + 1], heap->slots[child])) {
            child++;
        }
        if (!before(heap, heap->slots[child], slot)) {
            break;
        }
        put(heap, at, heap->slots[child]);
        at = child;
    }
    put(heap, at, slot);
}

void sy_events_set(struct sy_events *heap, uint32_t slot, double key) {
    double old = heap->key[slot];
    SY_ASSERT(key < (double)INFINITY); /* that means: not in the heap */
    heap->key[slot] = key;
    if (old == INFINITY) {
        rise(heap, heap->count++, slot);
    } else if (key < old) {
        rise(heap, heap->position[slot], slot);
    } else {
        sink(heap, heap->position[slot], slot);
    }
}

void sy_events_remove(struct sy_events *heap, uint32_t slot) {
    if (heap->key[slot] == INFINITY) {
        return;
    }
    uint32_t at = heap->position[slot], last = heap->slots[--heap->count];
    heap->key[slot] = INFINITY;
    if (last == slot) {
        return;
    }
    if (at && before(heap, last, heap->slots[(at - 1) / 2])) {
        rise(heap, at, last);
    } else {
        sink(heap, at, last);
    }
}
