/* SPDX-License-Identifier: Apache-2.0
 *
 * Priority queues against plain lists.
 */
#include "base/heap.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

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
        struct sy_heap_entry entries[SLOTS];
        struct sy_heap heap = {.key = key, .position = position, .entries = entries};
        for (uint32_t s = 0; s < SLOTS; s++) {
            key[s] = plain[s] = INFINITY;
        }
        for (uint32_t step = 0; step < 2000; step++) {
            uint32_t slot = sy_rng_below(&rng, SLOTS);
            bool was = isfinite(plain[slot]), remove = sy_rng_below(&rng, 5) < 2;
            if (remove) {
                plain[slot] = INFINITY;
                sy_heap_unset(&heap, slot);
            } else {
                plain[slot] = sy_rng_below(&rng, 30); /* few values: many ties */
                sy_heap_set(&heap, slot, plain[slot]);
            }
            present = present + (!was && !remove) - (was && remove);
            assert_int_equal(heap.count, present);
            if (present && heap.entries[0].item != least(plain)) {
                fail_msg("seed %lu, step %u: slot %u first, not %u", seed, step,
                         heap.entries[0].item, least(plain));
            }
        }
    }
}

/* Random pushes, and takings from anywhere: what is first has the least key, then the least tie. */
static void take_anywhere(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 3, 0);
        struct sy_heap_entry entries[SLOTS], plain[SLOTS];
        struct sy_heap heap = {.entries = entries};
        uint32_t count = 0;
        for (uint32_t step = 0; step < 2000; step++) {
            if (count < SLOTS && sy_rng_below(&rng, 2)) {
                plain[count] = (struct sy_heap_entry){sy_rng_below(&rng, 8), step, step * 7};
                sy_heap_push(&heap, plain[count++]);
            } else if (count) {
                uint32_t at = sy_rng_below(&rng, 2) * sy_rng_below(&rng, count), same = 0;
                struct sy_heap_entry taken = sy_heap_take(&heap, at);
                for (uint32_t i = 0; i < count; i++) {
                    same = plain[i].tie == taken.tie ? i : same;
                    assert_true(at || taken.key < plain[i].key ||
                                (taken.key == plain[i].key && taken.tie <= plain[i].tie));
                }
                assert_int_equal(taken.item, plain[same].item);
                assert_int_equal(taken.tie, plain[same].tie);
                plain[same] = plain[--count];
            }
            assert_int_equal(heap.count, count);
        }
    }
}

#define TASKS   60
#define DEVICES 3

static uint32_t first_of(const double *key, const uint32_t *since, const uint32_t *where,
                         uint32_t device) {
    uint32_t best = SY_NONE;
    for (uint32_t t = 0; t < TASKS; t++) {
        if (where[t] == device && (best == SY_NONE || key[t] > key[best] ||
                                   (key[t] == key[best] && since[t] < since[best]))) {
            best = t;
        }
    }
    return best;
}

/* The one that would leave last. */
static uint32_t last_of(const double *key, const uint32_t *since, const uint32_t *where,
                        uint32_t device) {
    uint32_t worst = SY_NONE;
    for (uint32_t t = 0; t < TASKS; t++) {
        if (where[t] == device && (worst == SY_NONE || key[t] < key[worst] ||
                                   (key[t] == key[worst] && since[t] > since[worst]))) {
            worst = t;
        }
    }
    return worst;
}

static void queues_as_lists(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 2, 0);
        struct sy_arena *arena = sy_arena_create();
        struct sy_queues queues;
        double key[TASKS];
        uint32_t where[TASKS], since[TASKS], first[DEVICES] = {SY_NONE, SY_NONE, SY_NONE};
        assert_non_null(arena);
        assert_int_equal(sy_queues_init(&queues, arena, TASKS, key), 0);
        for (uint32_t t = 0; t < TASKS; t++) {
            where[t] = SY_NONE;
        }
        for (uint32_t step = 0; step < 3000; step++) {
            uint32_t device = sy_rng_below(&rng, DEVICES), task = sy_rng_below(&rng, TASKS);
            if (where[task] == SY_NONE && sy_rng_below(&rng, 2)) {
                key[task] = sy_rng_below(&rng, 8);
                since[task] = step;
                where[task] = device;
                first[device] = sy_queues_push(&queues, first[device], task);
            } else if (where[task] != SY_NONE && !sy_rng_below(&rng, 3)) { /* any one of them */
                uint32_t last;
                device = where[task];
                where[task] = SY_NONE;
                first[device] = sy_queues_remove(&queues, first[device], task, &last);
                assert_int_equal(last, last_of(key, since, where, device));
            } else if (first[device] != SY_NONE) {
                task = first[device];
                where[task] = SY_NONE;
                first[device] = sy_queues_pop(&queues, task);
            }
            if (first[device] != first_of(key, since, where, device)) {
                fail_msg("seed %lu, step %u: task %u first, not %u", seed, step, first[device],
                         first_of(key, since, where, device));
            }
        }
        sy_arena_destroy(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heap_as_list),
        cmocka_unit_test(take_anywhere),
        cmocka_unit_test(queues_as_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
