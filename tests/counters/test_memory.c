/* SPDX-License-Identifier: Apache-2.0
 *
 * Between open and close nothing is allocated: not by reading, selecting or pushing; and when
 * memory is short while opening, that is an error and not a crash.
 */
#include "../base/check.h"
#include "tree.h"

#include <errno.h>

static uint32_t call_count;
static uint32_t fail_at; /* 0: never */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool may(void) {
    call_count++;
    return fail_at == 0 || call_count < fail_at;
}

void *__wrap_malloc(size_t size) {
    return may() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size) {
    return may() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *old, size_t size) {
    return may() ? __real_realloc(old, size) : NULL;
}

static const char *const kernels[] = {"gemm", NULL};

static void test_reading(void **state) {
    (void)state;
    static struct sy_sample samples[4096];
    struct tree tree;
    tree_copy(&tree, "xeon");
    for (int real = 0; real < 2; real++) { /* the tree, and this machine */
        const struct sy_sources_options options = {.root = real ? NULL : tree.root,
                                                   .kernels = kernels};
        struct sy_sources *sources = NULL;
        struct sy_error error = {0};
        assert_int_equal(sy_sources_open(&options, &sources, &error), 0);
        call_count = 0;
        for (int i = 0; i < 50; i++) {
            assert_int_equal(sy_sources_push_duration(sources, "gemm", 1), 0);
            assert_int_equal(sy_sources_select(sources, NULL, 0), 0);
            assert_true(sy_sources_read(sources, i * 1e8, samples, SY_COUNT(samples)) >= 0);
        }
        assert_int_equal(call_count, 0);
        sy_sources_close(sources);
    }
    tree_remove(&tree);
}

static void test_short(void **state) {
    (void)state;
    struct tree tree;
    tree_copy(&tree, "xeon");
    const struct sy_sources_options options = {.root = tree.root, .kernels = kernels};
    int code = -ENOMEM;
    for (uint32_t i = 1; code; i++) {
        struct sy_sources *sources = NULL;
        struct sy_error error = {0};
        call_count = 0;
        fail_at = i;
        code = sy_sources_open(&options, &sources, &error);
        fail_at = 0;
        assert_true(code == 0 || code == -ENOMEM);
        sy_sources_close(sources);
    }
    tree_remove(&tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reading),
                                       cmocka_unit_test(test_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
