/* SPDX-License-Identifier: Apache-2.0
 *
 * The event heap and the devices' queues against plain lists.
 */
#include "base/base.h"
#include "world/inside.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define SLOTS 40

static uint32_t least(const double *key) {
    uint32_t best = SY_NONE;
    for (uint32_t s = 0; s < SLOTS; s++) {
        if (isfinite(key[s]) && (best == SY_NONE || key[s] < key[best])) {
            best = s;
        }
    }
    return best;
}

/* Random insertions, moves and removals; the first is always the least, ties by slot. */
static void heap_as_list(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 1, 0);
        double key[SLOTS], plain[SLOTS];
        uint32_t position[SLOTS], present = 0;
        struct sy_world_event events[SLOTS];
        struct sy_events heap = {.key = key, .position = position, .heap = events};
        for (uint32_t s = 0; s < SLOTS; s++) {
            key[s] = plain[s] = INFINITY;
        }
        for (uint32_t step = 0; step < 2000; step++) {
            uint32_t slot = sy_rng_below(&rng, SLOTS);
            bool was = isfinite(plain[slot]), remove = sy_rng_below(&rng, 5) < 2;
            if (remove) {
                plain[slot] = INFINITY;
                sy_events_remove(&heap, slot);
            } else {
                plain[slot] = sy_rng_below(&rng, 30); /* few values: many ties */
                sy_events_set(&heap, slot, plain[slot]);
            }
            present = present + (!was && !remove) - (was && remove);
            assert_int_equal(heap.count, present);
            if (present && heap.heap[0].slot != least(plain)) {
                fail_msg("seed %lu, step %u: slot %u first, not %u", seed, step, heap.heap[0].slot,
                         least(plain));
            }
        }
    }
}

#define TASKS   60
#define DEVICES 3

struct queues {
    struct sy_world world;
    struct sy_world_device devices[DEVICES];
    double priority[TASKS];
    uint64_t sequence[TASKS];
    uint32_t child[TASKS], sibling[TASKS];
};

static struct queues *make_queues(void) {
    struct queues *q = calloc(1, sizeof *q);
    assert_non_null(q);
    q->world.devices = q->devices;
    q->world.task_priority = q->priority;
    q->world.task_sequence = q->sequence;
    q->world.queue_child = q->child;
    q->world.queue_sibling = q->sibling;
    for (uint32_t d = 0; d < DEVICES; d++) {
        q->devices[d].queue = SY_NONE;
    }
    return q;
}

static uint32_t first_of(const struct queues *q, const uint32_t *where, uint32_t device) {
    uint32_t best = SY_NONE;
    for (uint32_t t = 0; t < TASKS; t++) {
        if (where[t] != device) {
            continue;
        }
        bool better = best == SY_NONE || q->priority[t] > q->priority[best] ||
                      (q->priority[t] == q->priority[best] && q->sequence[t] < q->sequence[best]);
        best = better ? t : best;
    }
    return best;
}

static void queue_as_list(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 2, 0);
        struct queues *q = make_queues();
        uint32_t where[TASKS];
        for (uint32_t t = 0; t < TASKS; t++) {
            where[t] = SY_NONE;
        }
        for (uint32_t step = 0; step < 3000; step++) {
            uint32_t device = sy_rng_below(&rng, DEVICES), task = sy_rng_below(&rng, TASKS);
            if (where[task] == SY_NONE && sy_rng_below(&rng, 2)) {
                q->priority[task] = sy_rng_below(&rng, 8);
                q->sequence[task] = step;
                where[task] = device;
                sy_world_queue_push(&q->world, device, task);
                continue;
            }
            uint32_t expected = first_of(q, where, device);
            uint32_t found = sy_world_queue_pop(&q->world, device);
            if (found != expected) {
                fail_msg("seed %lu, step %u: task %u, not %u", seed, step, found, expected);
            }
            if (found != SY_NONE) {
                where[found] = SY_NONE;
            }
        }
        free(q);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heap_as_list),
        cmocka_unit_test(queue_as_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
