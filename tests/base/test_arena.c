/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "check.h"
#include <errno.h>
#include <string.h>

static void gives_zeroed_aligned_memory(void **state) {
    (void)state;
    struct sy_arena *arena = sy_arena_create();
    assert_non_null(arena);
    for (size_t size = 1; size < 3000000; size = size * 3 + 1) {
        unsigned char *block = sy_arena_alloc(arena, size, 1);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % (size >= 1024 ? 64 : 16), 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(block[i], 0);
        }
        memset(block, 0xff, size);
    }
    sy_arena_destroy(arena);
}

#define BLOCKS 5000

/* Every block is filled with its own number; a later one that overlaps would change it. */
static void blocks_never_overlap(void **state) {
    (void)state;
    static unsigned char *blocks[BLOCKS];
    static uint32_t sizes[BLOCKS];
    struct sy_rng rng = seeded_rng(1);
    struct sy_arena *arena = sy_arena_create();
    size_t sum = 0;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        sizes[i] = sy_rng_below(&rng, 10) ? sy_rng_below(&rng, 100) : sy_rng_below(&rng, 10000);
        blocks[i] = sy_arena_alloc(arena, sizes[i], 1);
        assert_non_null(blocks[i]);
        memset(blocks[i], (int)(i % 251), sizes[i]);
        sum += sizes[i];
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        for (uint32_t j = 0; j < sizes[i]; j++) {
            assert_int_equal(blocks[i][j], i % 251);
        }
    }
    assert_true(sy_arena_bytes(arena) >= sum);
    assert_true(sy_arena_bytes(arena) < 4 * sum);
    sy_arena_destroy(arena);
}

static void refuses_what_cannot_be_counted(void **state) {
    (void)state;
    struct sy_arena *arena = sy_arena_create();
    assert_null(sy_arena_alloc(arena, SIZE_MAX / 2, 3));
    assert_null(sy_arena_alloc(arena, SIZE_MAX, 1));
    assert_null(sy_arena_alloc(arena, (size_t)1 << 32, (size_t)1 << 32));
    assert_int_equal(sy_arena_bytes(arena), 0);
    assert_non_null(sy_arena_alloc(arena, 0, 8));
    sy_arena_destroy(arena);
    sy_arena_destroy(NULL);
}

static void copies_strings(void **state) {
    (void)state;
    struct sy_arena *arena = sy_arena_create();
    char text[] = "symphony";
    char *whole = sy_arena_strdup(arena, text), *part = sy_arena_strndup(arena, text, 4);
    char *none = sy_arena_strndup(arena, text, 0);
    memset(text, 'x', sizeof text - 1);
    assert_string_equal(whole, "symphony");
    assert_string_equal(part, "symp");
    assert_string_equal(none, "");
    sy_arena_destroy(arena);
}

static void arrays_grow_and_keep_their_contents(void **state) {
    (void)state;
    uint32_t *array = NULL, capacity = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t before = capacity;
        assert_int_equal(sy_grow(&array, &capacity, i + 1, sizeof *array), 0);
        assert_true(capacity > i && (capacity == before || capacity >= 2 * before));
        array[i] = i * 7;
    }
    for (uint32_t i = 0; i < 100000; i++) {
        assert_int_equal(array[i], i * 7);
    }
    uint32_t *same = array, old = capacity;
    assert_int_equal(sy_grow(&array, &capacity, 1, sizeof *array), 0);
    assert_int_equal(sy_grow(&array, &capacity, UINT32_MAX, sizeof *array), -ENOMEM);
    assert_ptr_equal(array, same);
    assert_int_equal(capacity, old);
    free(array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_zeroed_aligned_memory),
        cmocka_unit_test(blocks_never_overlap),
        cmocka_unit_test(refuses_what_cannot_be_counted),
        cmocka_unit_test(copies_strings),
        cmocka_unit_test(arrays_grow_and_keep_their_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
