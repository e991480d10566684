/* SPDX-License-Identifier: Apache-2.0
 *
 * Between open and close nothing is allocated: not by reading, selecting or pushing; and when
 * memory is short while opening, that is an error and not a crash.
 */
#include "../base/check.h"
#include "../starve.h"
#include "tree.h"

#include <errno.h>

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
        starve_taken = 0;
        for (int i = 0; i < 50; i++) {
            assert_int_equal(sy_sources_push_duration(sources, "gemm", 1), 0);
            assert_int_equal(sy_sources_select(sources, NULL, 0), 0);
            assert_true(sy_sources_read(sources, i * 1e8, samples, SY_COUNT(samples)) >= 0);
        }
        assert_int_equal(starve_taken, 0);
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
    unsigned failures = 0;
    for (unsigned i = 0; code; i++) {
        struct sy_sources *sources = NULL;
        struct sy_error error = {0};
        starve_left = i;
        code = sy_sources_open(&options, &sources, &error);
        starve_left = UINT_MAX;
        assert_true(code == 0 || code == -ENOMEM);
        failures += code != 0;
        sy_sources_close(sources);
    }
    assert_true(failures > 10); /* each of its allocations in turn */
    tree_remove(&tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reading),
                                       cmocka_unit_test(test_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
