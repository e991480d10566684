/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_is_fnv_1a),    cmocka_unit_test(an_empty_map_has_nothing),
        cmocka_unit_test(a_key_is_put_once), cmocka_unit_test(keys_are_bytes_and_lengths),
        cmocka_unit_test(holds_many_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
