/* SPDX-License-Identifier: Apache-2.0
 *
 * Handing things over between threads without a lock: a stack that anybody pushes to and whoever is
 * in charge empties as a whole, and a short ring from the one in charge to one reader.
 *
 * Nothing is allocated: links are the items' own. Emptying the stack as a whole is what makes it
 * safe: a single item is never taken off, so an address that comes back does no harm (ABA).
 */
#ifndef SY_BASE_HANDOFF_H
#define SY_BASE_HANDOFF_H

#include "base/base.h"
#include <stdatomic.h>
#include <stddef.h>

#define SY_CACHE_LINE 64

/* What a link is a member of. */
#define SY_CONTAINER(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* --- stack: many push, one empties -------------------------------------------------------------
 */
struct sy_stacked {
    struct sy_stacked *next;
};

struct sy_stack {
    _Alignas(SY_CACHE_LINE) _Atomic(struct sy_stacked *) top;
};

/* What was written before is seen by who takes the item. Sequentially consistent: who pushes, and
 * then finds the one in charge busy, knows that it will be seen when that one looks again. */
static inline void sy_stack_push(struct sy_stack *stack, struct sy_stacked *item) {
    struct sy_stacked *top = atomic_load_explicit(&stack->top, memory_order_relaxed);
    do {
        item->next = top;
    } while (!atomic_compare_exchange_weak(&stack->top, &top, item));
}

static inline bool sy_stack_is_empty(struct sy_stack *stack) {
    return !atomic_load(&stack->top);
}

/* All of it, what was pushed first first; NULL: nothing. */
static inline struct sy_stacked *sy_stack_take(struct sy_stack *stack) {
    struct sy_stacked *top = NULL, *first = NULL;
    if (atomic_load_explicit(&stack->top, memory_order_relaxed)) {
        top = atomic_exchange(&stack->top, NULL);
    }
    while (top) {
        struct sy_stacked *next = top->next;
        top->next = first;
        first = top;
        top = next;
    }
    return first;
}

/* --- ring: one puts, one gets ------------------------------------------------------------------
 */
#define SY_RING_SIZE 16u

/* The reader leaves a time with each item that it takes; the writer learns of both by sy_ring_seen
 * and only then uses the place again. */
struct sy_ring {
    _Alignas(SY_CACHE_LINE) _Atomic uint32_t put; /* the writer's: items put */
    uint32_t seen;                                /* and of those, known to be taken */
    void *items[SY_RING_SIZE];
    _Alignas(SY_CACHE_LINE) _Atomic uint32_t got; /* the reader's: items taken */
    double taken_ns[SY_RING_SIZE];
};

/* The writer's: items that were put and are not known to be taken. */
static inline uint32_t sy_ring_held(const struct sy_ring *ring) {
    return atomic_load_explicit(&ring->put, memory_order_relaxed) - ring->seen;
}

/* The writer's; there is room: sy_ring_held is less than SY_RING_SIZE. */
static inline void sy_ring_put(struct sy_ring *ring, void *item) {
    uint32_t put = atomic_load_explicit(&ring->put, memory_order_relaxed);
    ring->items[put % SY_RING_SIZE] = item;
    atomic_store_explicit(&ring->put, put + 1, memory_order_release);
}

/* The writer's: the next item that was taken, and when; NULL: no other was. */
static inline void *sy_ring_seen(struct sy_ring *ring, double *ret_taken_ns) {
    if (atomic_load_explicit(&ring->got, memory_order_acquire) == ring->seen) {
        return NULL;
    }
    uint32_t at = ring->seen++ % SY_RING_SIZE;
    *ret_taken_ns = ring->taken_ns[at];
    return ring->items[at];
}

/* The reader's. */
static inline bool sy_ring_is_empty(const struct sy_ring *ring) {
    return atomic_load_explicit(&ring->put, memory_order_acquire) ==
           atomic_load_explicit(&ring->got, memory_order_relaxed);
}

/* The reader's, if it is not empty. */
static inline void *sy_ring_get(struct sy_ring *ring, double now_ns) {
    uint32_t got = atomic_load_explicit(&ring->got, memory_order_relaxed);
    void *item = ring->items[got % SY_RING_SIZE];
    ring->taken_ns[got % SY_RING_SIZE] = now_ns;
    atomic_store_explicit(&ring->got, got + 1, memory_order_release);
    return item;
}

/* By whoever knows that the reader is elsewhere: takes the last item back; NULL: none is left. */
static inline void *sy_ring_take_back(struct sy_ring *ring) {
    uint32_t put = atomic_load_explicit(&ring->put, memory_order_relaxed);
    if (put == atomic_load_explicit(&ring->got, memory_order_acquire)) {
        return NULL;
    }
    atomic_store_explicit(&ring->put, put - 1, memory_order_relaxed);
    return ring->items[(put - 1) % SY_RING_SIZE];
}

#endif
