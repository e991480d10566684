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
#include <math.h>
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

/* Costs: a cell is there after its first sample, and a full group needs no more. */
static int learn(struct sy_store *store, uint32_t count) {
    static const char *const names[] = {"flops", "bytes", "rows"};
    int code = 0;
    for (uint32_t i = 0; i < count && !code; i++) {
        const double costs[] = {1e6 * (1 + i % 100), 1e5, 1e3 * (1 + i / 10)};
        const struct sy_cost_sample sample = {.kernel = "p",
                                              .class_name = "cpu",
                                              .features = {3, names, costs, 1, 0},
                                              .time_ns = 1e4 + i,
                                              .watts = NAN};
        code = sy_store_observe(store, &sample);
    }
    return code;
}

static void the_hot_path_allocates_nothing(void **state) {
    (void)state;
    struct sy_store *store = sy_store_create();
    assert_non_null(store);
    assert_int_equal(fill(store), 0);
    struct sy_cell *young = sy_store_cell(store, "k", "cpu", 0, 1000, 0);
    assert_int_equal(sy_cell_estimate(young).source, SY_COST_REGRESSED);
    starve_taken = 0;
    assert_int_equal(fill(store), 0); /* all cells are there */
    for (uint32_t i = 0; i < 100; i++) {
        sy_cell_observe(young, i);
        (void)sy_cell_estimate(young);
    }
    assert_int_equal(starve_taken, 0);
    assert_int_equal(learn(store, 200), 0);
    starve_taken = 0;
    assert_int_equal(learn(store, 400), 0);
    assert_int_equal(starve_taken, 0);
    sy_store_close(store);
}

static int use_store(const char *folder) {
    struct sy_store *store;
    char warning[256];
    struct sy_error error = {0};
    int code =
        sy_store_open(folder, "box", SY_STORE_WHOLE, &store, warning, sizeof warning, &error);
    if (code) {
        return code;
    }
    code = fill(store);
    code = code ? code : learn(store, 20);
    code = code ? code : sy_store_clear(store, "nobody");
    code = code ? code : sy_store_save(store, &error);
    struct sy_store *copy = code ? NULL : sy_store_copy(store);
    code = code || copy ? code : -ENOMEM;
    sy_store_close(copy);
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
    snprintf(path, sizeof path, "%s/box.costs.csv", folder);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/box.costs.csv.lock", folder);
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
