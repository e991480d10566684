/* SPDX-License-Identifier: Apache-2.0
 *
 * Priority queues; see heap.h.
 */
#include "base/heap.h"
#include <errno.h>
#include <math.h>

static inline bool before(struct sy_heap_entry a, struct sy_heap_entry b) {
    return a.key < b.key || (a.key == b.key && a.tie < b.tie);
}

static inline void put(struct sy_heap *heap, uint32_t at, struct sy_heap_entry entry) {
    heap->entries[at] = entry;
    if (heap->position) {
        heap->position[entry.item] = at;
    }
}

static void rise(struct sy_heap *heap, uint32_t at, struct sy_heap_entry entry) {
    while (at && before(entry, heap->entries[(at - 1) / 2])) {
        put(heap, at, heap->entries[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(heap, at, entry);
}

static void sink(struct sy_heap *heap, uint32_t at, struct sy_heap_entry entry) {
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count && before(heap->entries[child + 1], heap->entries[child])) {
            child++;
        }
        if (!before(heap->entries[child], entry)) {
            break;
        }
        put(heap, at, heap->entries[child]);
        at = child;
    }
    put(heap, at, entry);
}

void sy_heap_push(struct sy_heap *heap, struct sy_heap_entry entry) {
    rise(heap, heap->count++, entry);
}

struct sy_heap_entry sy_heap_take(struct sy_heap *heap, uint32_t at) {
    struct sy_heap_entry taken = heap->entries[at], last = heap->entries[--heap->count];
    if (at == heap->count) {
        return taken;
    }
    if (at && before(last, heap->entries[(at - 1) / 2])) {
        rise(heap, at, last);
    } else {
        sink(heap, at, last);
    }
    return taken;
}

void sy_heap_set(struct sy_heap *heap, uint32_t item, double key) {
    struct sy_heap_entry entry = {key, item, item};
    double old = heap->key[item];
    SY_ASSERT(key < (double)INFINITY); /* that means: not in the heap */
    heap->key[item] = key;
    if (old == INFINITY) {
        sy_heap_push(heap, entry);
    } else if (key < old) {
        rise(heap, heap->position[item], entry);
    } else {
        sink(heap, heap->position[item], entry);
    }
}

void sy_heap_unset(struct sy_heap *heap, uint32_t item) {
    if (heap->key[item] < (double)INFINITY) {
        heap->key[item] = INFINITY;
        sy_heap_take(heap, heap->position[item]);
    }
}

/* --- many queues --------------------------------------------------------------------------------
 */
int sy_queues_init(struct sy_queues *q, struct sy_arena *arena, size_t items, const double *key) {
    *q = (struct sy_queues){.key = key,
                            .turn = sy_arena_alloc(arena, items, sizeof *q->turn),
                            .child = sy_arena_alloc(arena, items, sizeof *q->child),
                            .sibling = sy_arena_alloc(arena, items, sizeof *q->sibling)};
    return q->turn && q->child && q->sibling ? 0 : -ENOMEM;
}

static bool goes_first(const struct sy_queues *q, uint32_t a, uint32_t b) {
    return q->key[a] > q->key[b] || (q->key[a] == q->key[b] && q->turn[a] < q->turn[b]);
}

static uint32_t meld(struct sy_queues *q, uint32_t a, uint32_t b) {
    if (a == SY_NONE || b == SY_NONE) {
        return a == SY_NONE ? b : a;
    }
    uint32_t above = goes_first(q, b, a) ? b : a, below = above == a ? b : a;
    q->sibling[below] = q->child[above];
    q->child[above] = below;
    return above;
}

uint32_t sy_queues_push(struct sy_queues *q, uint32_t queue, uint32_t item) {
    q->turn[item] = q->next_turn++;
    q->child[item] = SY_NONE;
    return meld(q, queue, item);
}

/* Two passes: pair the children from the left, then meld the pairs from the right. */
uint32_t sy_queues_pop(struct sy_queues *q, uint32_t queue) {
    uint32_t pairs = SY_NONE, melded = SY_NONE;
    for (uint32_t at = q->child[queue]; at != SY_NONE;) {
        uint32_t second = q->sibling[at];
        uint32_t rest = second == SY_NONE ? SY_NONE : q->sibling[second];
        uint32_t pair = meld(q, at, second);
        q->sibling[pair] = pairs;
        pairs = pair;
        at = rest;
    }
    while (pairs != SY_NONE) {
        uint32_t next = q->sibling[pairs];
        melded = meld(q, melded, pairs);
        pairs = next;
    }
    return melded;
}

/* All leave in order, and all but that one come back with the turns that they had. */
uint32_t sy_queues_remove(struct sy_queues *q, uint32_t queue, uint32_t item, uint32_t *ret_last) {
    uint32_t out = SY_NONE, kept = SY_NONE;
    while (queue != SY_NONE) {
        uint32_t first = queue;
        queue = sy_queues_pop(q, first);
        if (first != item) {
            q->sibling[first] = out;
            out = first;
        }
    }
    *ret_last = out;
    while (out != SY_NONE) {
        uint32_t next = q->sibling[out];
        q->child[out] = SY_NONE;
        kept = meld(q, kept, out);
        out = next;
    }
    return kept;
}
