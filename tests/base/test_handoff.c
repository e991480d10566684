/* SPDX-License-Identifier: Apache-2.0
 *
 * Hand-over between threads: nothing is lost, nothing comes twice, and what one thread put in order
 * comes out in order, with what was written before. SYMPH_STRESS says how many operations (default
 * a million; docs/bench/real.md has a run of 10^8).
 */
#include "base/handoff.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PRODUCERS 3u
#define BATCH     64u /* items that a producer has under way: they are used again, as nodes are */

struct item {
    uint32_t producer;
    uint64_t number;
    struct sy_stacked link;
    _Atomic bool free;
};

struct play {
    struct sy_stack stack;
    struct sy_ring ring;
    uint64_t each;
    struct item items[PRODUCERS][BATCH];
};

struct producer {
    struct play *play;
    uint32_t number;
};

static uint64_t operations(void) {
    const char *text = getenv("SYMPH_STRESS");
    return text ? (uint64_t)strtod(text, NULL) : 1000000;
}

static void *produce(void *argument) {
    struct producer *p = argument;
    struct item *items = p->play->items[p->number];
    for (uint64_t i = 0; i < p->play->each; i++) {
        struct item *item = &items[i % BATCH];
        while (!atomic_load_explicit(&item->free, memory_order_acquire)) {
            sched_yield();
        }
        atomic_store_explicit(&item->free, false, memory_order_relaxed);
        item->producer = p->number;
        item->number = i;
        sy_stack_push(&p->play->stack, &item->link);
    }
    return NULL;
}

static struct play *make_play(uint64_t each) {
    struct play *play = aligned_alloc(SY_CACHE_LINE, sizeof *play);
    assert_non_null(play);
    memset(play, 0, sizeof *play);
    play->each = each;
    for (uint32_t p = 0; p < PRODUCERS; p++) {
        for (uint32_t i = 0; i < BATCH; i++) {
            play->items[p][i].free = true;
        }
    }
    return play;
}

static void all_that_is_pushed_is_taken(void **state) {
    (void)state;
    struct play *play = make_play(operations() / PRODUCERS);
    struct producer producers[PRODUCERS];
    pthread_t threads[PRODUCERS];
    uint64_t next[PRODUCERS] = {0}, taken = 0;
    for (uint32_t p = 0; p < PRODUCERS; p++) {
        producers[p] = (struct producer){play, p};
        assert_int_equal(pthread_create(&threads[p], NULL, produce, &producers[p]), 0);
    }
    while (taken < PRODUCERS * play->each) {
        struct sy_stacked *link = sy_stack_take(&play->stack);
        if (!link) {
            sched_yield();
        }
        while (link) {
            struct sy_stacked *after = link->next;
            struct item *item = SY_CONTAINER(link, struct item, link);
            if (item->number != next[item->producer]++) {
                fail_msg("producer %u: %llu came out of turn", item->producer,
                         (unsigned long long)item->number);
            }
            atomic_store_explicit(&item->free, true, memory_order_release);
            link = after;
            taken++;
        }
    }
    for (uint32_t p = 0; p < PRODUCERS; p++) {
        pthread_join(threads[p], NULL);
    }
    assert_true(sy_stack_is_empty(&play->stack));
    free(play);
}

static void *take_from_ring(void *argument) {
    struct play *play = argument;
    for (uint64_t i = 0; i < play->each;) {
        if (sy_ring_is_empty(&play->ring)) {
            sched_yield();
            continue;
        }
        struct item *item = sy_ring_get(&play->ring, (double)i);
        if (item->number != i) {
            return item; /* out of turn */
        }
        i++;
    }
    return NULL;
}

/* The writer uses an item again once it has seen it taken. */
static void ring_keeps_order(void **state) {
    (void)state;
    struct play *play = make_play(operations());
    pthread_t reader;
    void *wrong = NULL;
    uint64_t put = 0, seen = 0;
    assert_int_equal(pthread_create(&reader, NULL, take_from_ring, play), 0);
    while (seen < play->each) {
        bool moved = false;
        double at_ns = -1;
        while (put < play->each && sy_ring_held(&play->ring) < SY_RING_SIZE) {
            play->items[0][put % BATCH].number = put;
            sy_ring_put(&play->ring, &play->items[0][put % BATCH]);
            put++;
            moved = true;
        }
        for (struct item *item; (item = sy_ring_seen(&play->ring, &at_ns)); moved = true) {
            assert_ptr_equal(item, &play->items[0][seen % BATCH]);
            assert_true(at_ns == (double)seen);
            seen++;
        }
        if (!moved) {
            sched_yield();
        }
    }
    pthread_join(reader, &wrong);
    assert_null(wrong);
    free(play);
}

static void ring_gives_back(void **state) {
    (void)state;
    struct play *play = make_play(0);
    struct sy_ring *ring = &play->ring;
    double at_ns = 0;
    for (uint32_t i = 0; i < SY_RING_SIZE; i++) {
        assert_int_equal(sy_ring_held(ring), i);
        sy_ring_put(ring, &play->items[0][i]);
    }
    assert_ptr_equal(sy_ring_get(ring, 5), &play->items[0][0]);
    assert_ptr_equal(sy_ring_take_back(ring), &play->items[0][SY_RING_SIZE - 1]);
    assert_int_equal(sy_ring_held(ring), SY_RING_SIZE - 1); /* the first is not seen to be taken */
    assert_ptr_equal(sy_ring_seen(ring, &at_ns), &play->items[0][0]);
    assert_true(at_ns == 5);
    assert_null(sy_ring_seen(ring, &at_ns));
    for (uint32_t i = SY_RING_SIZE - 2; i > 0; i--) {
        assert_ptr_equal(sy_ring_take_back(ring), &play->items[0][i]);
    }
    assert_null(sy_ring_take_back(ring));
    assert_true(sy_ring_is_empty(ring) && sy_ring_held(ring) == 0);
    free(play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_pushed_is_taken),
        cmocka_unit_test(ring_keeps_order),
        cmocka_unit_test(ring_gives_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
