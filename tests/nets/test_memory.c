/* SPDX-License-Identifier: Apache-2.0 */
#include "../starve.h"
#include "nets/nets.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without memory a write fails and leaves the old file; some number of allocations suffices. */
static void write_starves(void **state) {
    (void)state;
    char folder[] = "/tmp/symph-test-policy-XXXXXX", path[64];
    float block[3] = {1, 2, 3}, other[3] = {4, 5, 6};
    struct sy_weights old = {.kind = "symphony", .block = block, .count = 3}, got;
    struct sy_weights fresh = {.kind = "symphony", .block = other, .count = 3};
    struct sy_error error = {0};
    int code = -ENOMEM;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x.weights", folder);
    assert_int_equal(sy_weights_write(path, &old, &error), 0);
    for (unsigned left = 0; code; left++) {
        assert_true(left < 100);
        starve_left = left;
        code = sy_weights_write(path, &fresh, &error);
        starve_left = UINT_MAX;
        assert_true(code == 0 || code == -ENOMEM);
        assert_int_equal(sy_weights_open(path, &got, &error), 0);
        assert_true(got.block[0] == (code ? 1 : 4));
        sy_weights_close(&got);
    }
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* no half-written file stayed */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_starves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
