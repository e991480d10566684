/* SPDX-License-Identifier: Apache-2.0
 *
 * Indexed binary heap of events, least (key, slot) first: ties have one order everywhere.
 */
#include "world/world.h"
#include <math.h>

static inline bool before(struct sy_world_event a, struct sy_world_event b) {
    return a.key < b.key || (a.key == b.key && a.slot < b.slot);
}

static inline void put(struct sy_events *events, uint32_t at, struct sy_world_event event) {
    events->heap[at] = event;
    events->position[event.slot] = at;
}

static void rise(struct sy_events *events, uint32_t at, struct sy_world_event event) {
    while (at) {
        uint32_t parent = (at - 1) / 2;
        if (!before(event, events->heap[parent])) {
            break;
        }
        put(events, at, events->heap[parent]);
        at = parent;
    }
    put(events, at, event);
}

static void sink(struct sy_events *events, uint32_t at, struct sy_world_event event) {
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= events->count) {
            break;
        }
        if (child + 1 < events->count && before(events->heap[child + 1], events->heap[child])) {
            child++;
        }
        if (!before(events->heap[child], event)) {
            break;
        }
        put(events, at, events->heap[child]);
        at = child;
    }
    put(events, at, event);
}

void sy_events_set(struct sy_events *events, uint32_t slot, double key) {
    struct sy_world_event event = {key, slot};
    double old = events->key[slot];
    SY_ASSERT(key < (double)INFINITY); /* that means: not in the heap */
    events->key[slot] = key;
    if (old == INFINITY) {
        rise(events, events->count++, event);
    } else if (key < old) {
        rise(events, events->position[slot], event);
    } else {
        sink(events, events->position[slot], event);
    }
}

void sy_events_remove(struct sy_events *events, uint32_t slot) {
    if (events->key[slot] == INFINITY) {
        return;
    }
    uint32_t at = events->position[slot];
    struct sy_world_event last = events->heap[--events->count];
    events->key[slot] = INFINITY;
    if (last.slot == slot) {
        return;
    }
    if (at && before(last, events->heap[(at - 1) / 2])) {
        rise(events, at, last);
    } else {
        sink(events, at, last);
    }
}
