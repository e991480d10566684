/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the store: observing takes none, and every allocation may fail. See
 * tests/starve.h.
 */
#include "../starve.h"
#include "cost/cost.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

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
    starve_taken = 0;
    assert_int_equal(fill(store), 0); /* all cells are there */
    for (uint32_t i = 0; i < 100; i++) {
        sy_cell_observe(young, i);
        (void)sy_store_estimate(store, young);
    }
    assert_int_equal(starve_taken, 0);
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
        starve_left = granted;
        code = use_store(folder);
        starve_left = UINT_MAX;
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
