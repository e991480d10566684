/* SPDX-License-Identifier: Apache-2.0
 *
 * A device's queue of committed tasks: a pairing heap threaded through arrays indexed by task, so
 * that any number of tasks can wait without memory of its own. Highest priority first, then first
 * committed.
 */
#include "sim/state.h"

static bool runs_before(const struct sy_sim *sim, uint32_t a, uint32_t b) {
    if (sim->task_priority[a] != sim->task_priority[b]) {
        return sim->task_priority[a] > sim->task_priority[b];
    }
    return sim->task_sequence[a] < sim->task_sequence[b];
}

static uint32_t meld(struct sy_sim *sim, uint32_t a, uint32_t b) {
    if (a == SY_NONE) {
        return b;
    }
    if (b == SY_NONE) {
        return a;
    }
    if (runs_before(sim, b, a)) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    sim->queue_sibling[b] = sim->queue_child[a];
    sim->queue_child[a] = b;
    return a;
}

void sy_sim_queue_push(struct sy_sim *sim, uint32_t device, uint32_t task) {
    sim->queue_child[task] = sim->queue_sibling[task] = SY_NONE;
    sim->devices[device].queue = meld(sim, sim->devices[device].queue, task);
}

/* Two passes: pair the children from the left, then meld the pairs from the right. */
uint32_t sy_sim_queue_pop(struct sy_sim *sim, uint32_t device) {
    uint32_t root = sim->devices[device].queue, pairs = SY_NONE;
    if (root == SY_NONE) {
        return SY_NONE;
    }
    for (uint32_t child = sim->queue_child[root]; child != SY_NONE;) {
        uint32_t second = sim->queue_sibling[child];
        uint32_t rest = second == SY_NONE ? SY_NONE : sim->queue_sibling[second];
        sim->queue_sibling[child] = SY_NONE;
        if (second != SY_NONE) {
            sim->queue_sibling[second] = SY_NONE;
        }
        uint32_t pair = meld(sim, child, second);
        sim->queue_sibling[pair] = pairs;
        pairs = pair;
        child = rest;
    }
    uint32_t melded = SY_NONE;
    while (pairs != SY_NONE) {
        uint32_t next = sim->queue_sibling[pairs];
        sim->queue_sibling[pairs] = SY_NONE;
        melded = meld(sim, melded, pairs);
        pairs = next;
    }
    sim->devices[device].queue = melded;
    return root;
}
