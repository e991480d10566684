/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairing heaps of tasks; see heap.h.
 */
#include "schedulers/heap.h"
#include <errno.h>

int sy_heap_init(struct heap *h, struct sy_arena *arena, size_t tasks, const double *key) {
    h->key = key;
    h->sequence = sy_arena_alloc(arena, tasks, sizeof *h->sequence);
    h->child = sy_arena_alloc(arena, tasks, sizeof *h->child);
    h->sibling = sy_arena_alloc(arena, tasks, sizeof *h->sibling);
    return h->sequence && h->child && h->sibling ? 0 : -ENOMEM;
}

void sy_heap_clear(struct heap *h) {
    h->next = 0;
}

static bool runs_before(const struct heap *h, uint32_t a, uint32_t b) {
    return h->key[a] > h->key[b] || (h->key[a] == h->key[b] && h->sequence[a] < h->sequence[b]);
}

static uint32_t meld(struct heap *h, uint32_t a, uint32_t b) {
    if (a == SY_NONE || b == SY_NONE) {
        return a == SY_NONE ? b : a;
    }
    uint32_t above = runs_before(h, b, a) ? b : a, below = above == a ? b : a;
    h->sibling[below] = h->child[above];
    h->child[above] = below;
    return above;
}

uint32_t sy_heap_push(struct heap *h, uint32_t root, uint32_t task) {
    h->sequence[task] = h->next++;
    h->child[task] = h->sibling[task] = SY_NONE;
    return meld(h, root, task);
}

uint32_t sy_heap_pop(struct heap *h, uint32_t root) {
    uint32_t pairs = SY_NONE, melded = SY_NONE;
    for (uint32_t at = h->child[root]; at != SY_NONE;) {
        uint32_t second = h->sibling[at];
        uint32_t rest = second == SY_NONE ? SY_NONE : h->sibling[second];
        uint32_t pair = meld(h, at, second);
        h->sibling[pair] = pairs;
        pairs = pair;
        at = rest;
    }
    while (pairs != SY_NONE) {
        uint32_t next = h->sibling[pairs];
        melded = meld(h, melded, pairs);
        pairs = next;
    }
    return melded;
}
