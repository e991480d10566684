/* SPDX-License-Identifier: Apache-2.0
 *
 * A device's queue of committed tasks: a pairing heap threaded through arrays indexed by task, so
 * that any number of tasks can wait without memory of its own. Highest priority first, then first
 * committed.
 */
#include "world/inside.h"

static bool runs_before(const struct sy_world *w, uint32_t a, uint32_t b) {
    if (w->task_priority[a] != w->task_priority[b]) {
        return w->task_priority[a] > w->task_priority[b];
    }
    return w->task_sequence[a] < w->task_sequence[b];
}

static uint32_t meld(struct sy_world *w, uint32_t a, uint32_t b) {
    if (a == SY_NONE) {
        return b;
    }
    if (b == SY_NONE) {
        return a;
    }
    if (runs_before(w, b, a)) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    w->queue_sibling[b] = w->queue_child[a];
    w->queue_child[a] = b;
    return a;
}

void sy_world_queue_push(struct sy_world *w, uint32_t device, uint32_t task) {
    w->queue_child[task] = w->queue_sibling[task] = SY_NONE;
    w->devices[device].queue = meld(w, w->devices[device].queue, task);
}

/* Two passes: pair the children from the left, then meld the pairs from the right. */
uint32_t sy_world_queue_pop(struct sy_world *w, uint32_t device) {
    uint32_t root = w->devices[device].queue, pairs = SY_NONE;
    if (root == SY_NONE) {
        return SY_NONE;
    }
    for (uint32_t child = w->queue_child[root]; child != SY_NONE;) {
        uint32_t second = w->queue_sibling[child];
        uint32_t rest = second == SY_NONE ? SY_NONE : w->queue_sibling[second];
        w->queue_sibling[child] = SY_NONE;
        if (second != SY_NONE) {
            w->queue_sibling[second] = SY_NONE;
        }
        uint32_t pair = meld(w, child, second);
        w->queue_sibling[pair] = pairs;
        pairs = pair;
        child = rest;
    }
    uint32_t melded = SY_NONE;
    while (pairs != SY_NONE) {
        uint32_t next = w->queue_sibling[pairs];
        w->queue_sibling[pairs] = SY_NONE;
        melded = meld(w, melded, pairs);
        pairs = next;
    }
    w->devices[device].queue = melded;
    return root;
}
