/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the store: observing takes none, and every allocation may fail. The linker's --wrap
 * puts these allocators in front of libc's.
 */
#include "cost/cost.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned left = UINT32_MAX; /* allocations that still succeed */
static unsigned taken;

static bool runs_out(void) {
    taken++;
    return left == 0 || left-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

void *__wrap_malloc(size_t size) {
    return runs_out() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return runs_out() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
    return runs_out() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size) {
    return runs_out() ? NULL : __real_reallocarray(old, count, size);
}

static int fill(struct sy_store *store) {
    for (uint32_t i = 0; i < 200; i++) {
        struct sy_cell *cell = sy_store_cell(store, "k", "cpu", 0, 8 + i % 40, 0);
        if (!cell) {
            return -ENOMEM;
        }
        sy_cell_observe(cell, 100 + i);
    }
    return 0;
}

static void the_hot_path_allocates_nothing(void **state) {
    (void)state;
    struct sy_store *store;
    char warning[64];
    assert_int_equal(sy_store_open("", "box", &store, warning, sizeof warning, NULL), 0);
    assert_int_equal(fill(store), 0);
    struct sy_cell *young = sy_store_cell(store, "k", "cpu", 0, 1000, 0);
    assert_int_equal(sy_store_estimate(store, young).source, SY_COST_REGRESSED);
    taken = 0;
    assert_int_equal(fill(store), 0); /* all cells are there */
    for (uint32_t i = 0; i < 100; i++) {
        sy_cell_observe(young, i);
        (void)sy_store_estimate(store, young);
    }
    assert_int_equal(taken, 0);
    sy_store_close(store);
}

static int use_store(const char *folder) {
    struct sy_store *store;
    char warning[256];
    struct sy_error error = {0};
    int code = sy_store_open(folder, "box", &store, warning, sizeof warning, &error);
    if (code) {
        return code;
    }
    code = fill(store);
    code = code ? code : sy_store_clear(store, "nobody");
    code = code ? code : sy_store_save(store, &error);
    sy_store_close(store);
    return code;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    char folder[] = "/tmp/symph-test-memory-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    int code = -ENOMEM;
    unsigned granted = 0;
    for (; code && granted < 2000; granted++) {
        left = granted;
        code = use_store(folder);
        left = UINT32_MAX;
        assert_true(code == -ENOMEM || code == 0);
    }
    assert_int_equal(code, 0);
    assert_true(granted > 20);
    snprintf(path, sizeof path, "%s/box.models.csv", folder);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/box.models.csv.lock", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* no half-written file was left */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hot_path_allocates_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
