/* SPDX-License-Identifier: Apache-2.0
 *
 * Every allocation in turn is made to fail: each must be told as -ENOMEM (or NULL), and leak
 * nothing. See tests/starve.h.
 */
#include "../starve.h"
#include "base/json.h"
#include "check.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Runs the action with 0, 1, 2 ... allocations until it succeeds; it must have failed before. */
static void starve(int (*action)(void)) {
    int code = -ENOMEM;
    for (unsigned granted = 0; code && granted < 100; granted++) {
        starve_left = granted;
        code = action();
        starve_left = UINT_MAX;
        assert_true(code == -ENOMEM || (code == 0 && granted > 0));
    }
    assert_int_equal(code, 0);
}

static int use_arena(void) {
    struct sy_arena *arena = sy_arena_create();
    int code = arena ? 0 : -ENOMEM;
    for (size_t i = 0; i < 5 && !code; i++) {
        code = sy_arena_alloc(arena, 4000, 1) && sy_arena_strdup(arena, "abc") ? 0 : -ENOMEM;
    }
    sy_arena_destroy(arena);
    return code;
}

static int use_map(void) {
    static const char keys[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
    struct sy_map map = {0};
    int code = 0;
    for (uint32_t i = 0; i < 40 && !code; i++) {
        uint32_t value = SY_NONE;
        code = sy_map_put(&map, keys, i, i);
        assert_int_equal(sy_map_get(&map, keys, i, &value), !code);
        assert_int_equal(map.count, i + !code);
    }
    sy_map_finish(&map);
    return code;
}

static int use_grow(void) {
    uint64_t *array = NULL;
    uint32_t capacity = 0;
    int code = sy_grow(&array, &capacity, 10, sizeof *array);
    code = code ? code : sy_grow(&array, &capacity, 1000, sizeof *array);
    assert_true(!code || capacity < 1000);
    free(array);
    return code;
}

static int use_json(void) {
    static const char text[] = "[\"a\", \"a string longer than the first was\"]";
    struct sy_error error = {0};
    struct sy_json json;
    sy_json_init(&json, "t", text, sizeof text - 1, &error);
    int code = sy_json_skip(&json);
    assert_true(!code || strcmp(error.message, "out of memory") == 0);
    sy_json_finish(&json);
    return code;
}

static int use_writer(void) {
    struct sy_json_writer writer = {0};
    sy_json_open(&writer, '[');
    for (int i = 0; i < 20; i++) {
        sy_json_put_number(&writer, i / 7.0);
        sy_json_put_string(&writer, "\x01text");
    }
    sy_json_close(&writer, ']');
    int code = writer.buffer.failed ? -ENOMEM : 0;
    sy_buffer_finish(&writer.buffer);
    return code;
}

static int use_files(void) {
    char path[64], *text;
    size_t length;
    snprintf(path, sizeof path, "/tmp/symph-test-memory-%ld", (long)getpid());
    int code = sy_write_file(path, "abc", 3, NULL);
    code = code ? code : sy_read_file(path, &text, &length, NULL);
    if (!code) {
        assert_int_equal(length, 3);
        free(text);
    }
    unlink(path);
    return code;
}

static int use_bootstrap(void) {
    const double values[] = {1, 2, 3};
    struct sy_interval found = sy_bootstrap_geomean(values, 3, (struct sy_clusters){0}, 1);
    assert_int_equal(isnan(found.low), isnan(found.high));
    return isnan(found.low) ? -ENOMEM : 0;
}

static void errors_need_no_memory(void **state) {
    (void)state;
    struct sy_error error;
    char text[100];
    sy_fail_at(&error, -ENOMEM, "a", 1, 2, "out of memory");
    starve_left = 0;
    sy_error_format(&error, text, sizeof text);
    starve_left = UINT_MAX;
    assert_string_equal(text, "a:1:2: out of memory");
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    starve(use_arena);
    starve(use_map);
    starve(use_grow);
    starve(use_json);
    starve(use_writer);
    starve(use_files);
    starve(use_bootstrap);
}

int main(void) {
    starve_left = UINT_MAX;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(errors_need_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
