/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.c"
#include <setjmp.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

static void hash_is_fnv_1a(void **state) {
    (void)state;
    /* Vectors of the authors of FNV. */
    assert_true(sy_hash("", 0) == 0xcbf29ce484222325u);
    assert_true(sy_hash("a", 1) == 0xaf63dc4c8601ec8cu);
    assert_true(sy_hash("foobar", 6) == 0x85944171f73967e8u);
}

/* By another implementation, CPython 3.11's hash of bytes, with PYTHONHASHSEED=0: key 0. */
static void hash_of_tables_is_siphash_1_3(void **state) {
    (void)state;
    static const uint64_t zero[2] = {0};
    static const char text[] = "a longer text, of 31 bytes, so.";
    assert_true(sy_siphash(zero, "a", 1) == 0x407448d2b89b1813u);
    assert_true(sy_siphash(zero, "12345678", 8) == 0x3489982430560a87u);
    assert_true(sy_siphash(zero, text, sizeof text - 1) == 0x6e2ca2a92fd44f10u);
}

static void an_empty_map_has_nothing(void **state) {
    (void)state;
    struct sy_map map = {0};
    uint32_t value = 7;
    assert_false(sy_map_get(&map, "a", 1, &value));
    assert_int_equal(value, 7);
    sy_map_finish(&map);
}

static void a_key_is_put_once(void **state) {
    (void)state;
    struct sy_map map = {0};
    uint32_t value = 0;
    char copy[] = "gemm";
    assert_int_equal(sy_map_put(&map, "gemm", 4, 1), 0);
    assert_int_equal(sy_map_put(&map, copy, 4, 2), -EEXIST);
    assert_true(sy_map_get(&map, copy, 4, &value));
    assert_int_equal(value, 1);
    assert_int_equal(map.count, 1);
    sy_map_finish(&map);
    assert_false(sy_map_get(&map, "gemm", 4, &value));
}

static void keys_are_bytes_and_lengths(void **state) {
    (void)state;
    static const struct {
        const char *key;
        size_t length;
    } keys[] = {{"abc", 3}, {"abc", 2}, {"abc", 0}, {"a\0c", 3}, {"a\0", 2}, {"\0", 1}};
    struct sy_map map = {0};
    for (uint32_t i = 0; i < SY_COUNT(keys); i++) {
        assert_int_equal(sy_map_put(&map, keys[i].key, keys[i].length, i), 0);
    }
    for (uint32_t i = 0; i < SY_COUNT(keys); i++) {
        uint32_t value = SY_NONE;
        assert_true(sy_map_get(&map, keys[i].key, keys[i].length, &value));
        assert_int_equal(value, i);
    }
    sy_map_finish(&map);
}

#define KEYS 100000

static void holds_many_keys(void **state) {
    (void)state;
    static char keys[KEYS][16];
    struct sy_map map = {0};
    for (uint32_t i = 0; i < KEYS; i++) {
        int length = snprintf(keys[i], sizeof keys[i], "task-%u", i);
        assert_int_equal(sy_map_put(&map, keys[i], (size_t)length, i), 0);
        uint32_t none;
        assert_false(sy_map_get(&map, "none", 4, &none)); /* a full table would search for ever */
    }
    assert_int_equal(map.count, KEYS);
    for (uint32_t i = 0; i < KEYS; i++) {
        char key[16];
        uint32_t value = SY_NONE;
        int length = snprintf(key, sizeof key, "task-%u", i);
        assert_true(sy_map_get(&map, key, (size_t)length, &value));
        assert_int_equal(value, i);
        key[0] = 'T';
        assert_false(sy_map_get(&map, key, (size_t)length, &value));
    }
    assert_int_equal(sy_map_put(&map, keys[0], strlen(keys[0]), 1), -EEXIST);
    sy_map_finish(&map);
}

#define CRAFTED 4096

/* Where a table for CRAFTED keys would put one: by the plain hash, as the map did before it was
 * seeded, and with a key that is known. */
static uint32_t plain_slot(const char *key, size_t length) {
    return (uint32_t)sy_hash(key, length) & (4 * CRAFTED - 1);
}

static uint32_t unseeded_slot(const char *key, size_t length) {
    uint64_t hash = sy_hash(key, length);
    return (uint32_t)((hash ^ hash >> 29) * 0x9e3779b97f4a7c15u >> 32) & (4 * CRAFTED - 1);
}

static uint32_t known_slot(const char *key, size_t length) {
    static const uint64_t zero[2] = {0};
    return (uint32_t)sy_siphash(zero, key, length) & (4 * CRAFTED - 1);
}

/* How many entries the longest search for a key passes in vain. */
static uint32_t reach(const struct sy_map *map) {
    uint32_t most = 0, mask = map->capacity - 1;
    for (uint32_t i = 0; i < map->capacity; i++) {
        uint32_t steps = (i - (uint32_t)map->entries[i].hash) & mask;
        most = map->entries[i].key && steps > most ? steps : most;
    }
    return most;
}

/* Names that all want the same few entries: searching for the last one would pass all others. */
static void crafted_names_do_not_collide(void **state) {
    (void)state;
    static char keys[CRAFTED][16];
    uint32_t (*const slots[])(const char *, size_t) = {plain_slot, unseeded_slot, known_slot};
    for (size_t s = 0; s < SY_COUNT(slots); s++) {
        struct sy_map map = {0};
        for (uint32_t i = 0, next = 0; i < CRAFTED; next++) {
            int length = snprintf(keys[i], sizeof keys[i], "t%u", next);
            if (slots[s](keys[i], (size_t)length) < 32) {
                assert_int_equal(sy_map_put(&map, keys[i], (size_t)length, i), 0);
                i++;
            }
        }
        assert_in_range(reach(&map), 0, 500); /* by chance it is below 100 */
        sy_map_finish(&map);
    }
}

struct held {
    struct sy_chained link;
    bool inside;
};

/* Random additions and removals, against flags. */
static void chained_come_and_go(void **state) {
    (void)state;
    static struct held all[3000];
    struct sy_chains links = {0};
    struct sy_rng rng = sy_rng_make(1, 1, 0);
    uint32_t count = 0;
    assert_null(sy_chains_find(&links, 8));
    for (uint32_t step = 0; step < 30000; step++) {
        uint32_t i = sy_rng_below(&rng, SY_COUNT(all));
        uint64_t key = (uint64_t)i << (i % 2 ? 4 : 34);
        assert_ptr_equal(sy_chains_find(&links, key), all[i].inside ? &all[i] : NULL);
        if (all[i].inside) {
            sy_chains_remove(&links, &all[i].link);
        } else {
            assert_int_equal(sy_chains_add(&links, &all[i].link, key), 0);
        }
        all[i].inside = !all[i].inside;
        count += all[i].inside ? 1 : UINT32_MAX;
        assert_int_equal(links.count, count);
    }
    sy_chains_finish(&links);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_is_fnv_1a),
        cmocka_unit_test(an_empty_map_has_nothing),
        cmocka_unit_test(a_key_is_put_once),
        cmocka_unit_test(keys_are_bytes_and_lengths),
        cmocka_unit_test(holds_many_keys),
        cmocka_unit_test(hash_of_tables_is_siphash_1_3),
        cmocka_unit_test(crafted_names_do_not_collide),
        cmocka_unit_test(chained_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
