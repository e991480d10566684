/* SPDX-License-Identifier: Apache-2.0
 *
 * A device's queue of committed tasks: a pairing heap threaded through arrays indexed by task, so
 * that any number of tasks can wait without memory of its own. Highest priority first, then first
 * committed.
 */
#include "world/inside.h"

static bool runs_before(const struct sy_world *w, uint32_t a, uint32_t b) {
    double first = w->task_priority[a], second = w->task_priority[b];
    return first > second || (first == second && w->task_sequence[a] < w->task_sequence[b]);
}

static uint32_t meld(struct sy_world *w, uint32_t a, uint32_t b) {
    uint32_t above = runs_before(w, b, a) ? b : a, below = above == a ? b : a;
    w->queue_sibling[below] = w->queue_child[above];
    w->queue_child[above] = below;
    return above;
}

void sy_world_queue_push(struct sy_world *w, uint32_t device, uint32_t task) {
    uint32_t root = w->devices[device].queue;
    w->queue_child[task] = SY_NONE;
    w->devices[device].queue = root == SY_NONE ? task : meld(w, root, task);
}

/* Two passes: pair the children from the left, then meld the pairs from the right. */
uint32_t sy_world_queue_pop(struct sy_world *w, uint32_t device) {
    uint32_t root = w->devices[device].queue, pairs = SY_NONE;
    if (root == SY_NONE) {
        return SY_NONE;
    }
    for (uint32_t child = w->queue_child[root]; child != SY_NONE;) {
        uint32_t second = w->queue_sibling[child], pair = child, rest = SY_NONE;
        if (second != SY_NONE) {
            rest = w->queue_sibling[second];
            pair = meld(w, child, second);
        }
        w->queue_sibling[pair] = pairs;
        pairs = pair;
        child = rest;
    }
    uint32_t melded = pairs;
    for (pairs = pairs == SY_NONE ? SY_NONE : w->queue_sibling[pairs]; pairs != SY_NONE;) {
        uint32_t next = w->queue_sibling[pairs];
        melded = meld(w, melded, pairs);
        pairs = next;
    }
    w->devices[device].queue = melded;
    return root;
}
