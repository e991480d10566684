/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of a request: each is written and read by the same row, limits hold, and what is wrong
 * is named.
 */
#include "engine/engine.h"
#include "engine/request.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *const needed[] = {"spec=s", "record=r"};

/* Of one more text. */
static int read_with(const char *text, bool wired, struct sy_request *ret_request,
                     struct sy_error *error) {
    char *texts[] = {(char *)(uintptr_t)needed[1], (char *)(uintptr_t)needed[0],
                     (char *)(uintptr_t)text};
    *error = (struct sy_error){0};
    return sy_request_read(wired ? 3 : 2, wired ? texts : texts + 1, wired, ret_request, error);
}

static void every_key_comes_back(void **state) {
    (void)state;
    struct sy_arena *arena = sy_arena_create();
    struct sy_request request, again;
    struct sy_error error;
    const struct sy_key *key;
    for (uint32_t i = 0; (key = sy_request_key_at(i)); i++) {
        char text[64];
        double high = key->high < 1e6 ? key->high : 123456.5;
        bool real = key->type == SY_KEY_SECONDS || key->type == SY_KEY_AMOUNT;
        bool words = key->type == SY_KEY_TEXT || key->type == SY_KEY_ANY;
        snprintf(text, sizeof text, "%s=", key->name);
        snprintf(text + strlen(text), 32,
                 words  ? "a=b, c"
                 : real ? "%.1f"
                        : "%.0f",
                 real ? high : (double)(uint64_t)high);
        assert_ptr_equal(sy_request_key(key->name, strlen(key->name)), key);
        assert_int_equal(read_with(text, true, &request, &error), 0);
        char **written = sy_request_write(&request, "first", arena);
        assert_string_equal(written[0], "first");
        uint32_t count = 0;
        bool found = false;
        for (; written[count + 1]; count++) {
            found |= strcmp(written[count + 1], text) == 0;
        }
        assert_true(found || real); /* 123456.5 may be spelt in another way */
        assert_int_equal(sy_request_read(count, written + 1, true, &again, &error), 0);
        size_t size = words ? 0 : key->type == SY_KEY_FLAG ? 1 : key->type == SY_KEY_COUNT ? 4 : 8;
        assert_memory_equal((char *)&request + key->offset, (char *)&again + key->offset, size);
        assert_int_equal(read_with(text, false, &request, &error), key->wired ? -EINVAL : 0);
    }
    sy_arena_destroy(arena);
}

static void limits_hold(void **state) {
    (void)state;
    static const char *const wrong[] = {"seed=x",    "seed=-1",    "seed=9007199254740994",
                                        "cpus=4097", "cpus=1.5",   "check=2",
                                        "limit=0",   "limit=1e10", "latency-ns=-1",
                                        "window=0",  "samples=",   "window=65537",
                                        "spec=",     "power=nan",  "limit=inf",
                                        "page=-1",   "policy="};
    struct sy_request request;
    struct sy_error error;
    for (size_t i = 0; i < SY_COUNT(wrong); i++) {
        assert_int_equal(read_with(wrong[i], true, &request, &error), -EINVAL);
        assert_non_null(strstr(error.message, wrong[i]));
    }
    assert_int_equal(read_with("models=", true, &request, &error), 0);
    assert_string_equal(request.models, "");
}

static void strangers_are_named(void **state) {
    (void)state;
    struct sy_request request;
    struct sy_error error;
    static const char *const strangers[] = {"spam=1", "seeds=1", "see=1", "seed", "", "=", "=1"};
    for (size_t i = 0; i < SY_COUNT(strangers); i++) {
        assert_int_equal(read_with(strangers[i], true, &request, &error), -EINVAL);
        assert_non_null(strstr(error.message, strangers[i]));
        assert_non_null(strstr(error.hint, "one version"));
        assert_string_equal(request.record, "r"); /* what is right is read all the same */
    }
    assert_int_equal(sy_request_read(0, NULL, false, &request, &error), -EINVAL);
    assert_string_equal(error.message, "spec= is missing");
    char *spec = (char *)(uintptr_t)needed[0];
    assert_int_equal(sy_request_read(1, &spec, true, &request, &error), -EINVAL);
    assert_string_equal(error.message, "record= is missing");
    assert_int_equal(sy_request_read(1, &spec, false, &request, &error), 0);
}

static void nothing_said_nothing_written(void **state) {
    (void)state;
    struct sy_arena *arena = sy_arena_create();
    char **texts = sy_request_write(&sy_request_default, NULL, arena);
    assert_null(texts[0]);
    sy_arena_destroy(arena);
    struct sy_request request = sy_request_default;
    assert_true(sy_request_start_limit_s(&request) == sy_limit_start_s(60));
    request.start_limit_s = 3;
    assert_true(sy_request_start_limit_s(&request) == 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_comes_back),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(strangers_are_named),
        cmocka_unit_test(nothing_said_nothing_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
