/* SPDX-License-Identifier: Apache-2.0
 *
 * Quotas of control groups, from folders made for the purpose.
 */
#include "engine/starpu/process.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[256];

static void write_text(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void make_folder(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static double quota(void) {
    char membership[512];
    snprintf(membership, sizeof membership, "%s/membership", root);
    return sy_engine_quota(membership, root);
}

static int set_up(void **state) {
    (void)state;
    snprintf(root, sizeof root, "%s/symph-cores-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(root));
    make_folder("/a");
    make_folder("/a/b");
    write_text("/membership", "3:cpu:/x\n0::/a/b\n");
    return 0;
}

static int tear_down(void **state) {
    static const char *const names[] = {"/a/b/cpu.max", "/a/cpu.max", "/cpu.max", "/membership"};
    char path[512];
    (void)state;
    for (size_t i = 0; i < SY_COUNT(names); i++) {
        snprintf(path, sizeof path, "%s%s", root, names[i]);
        unlink(path);
    }
    for (size_t length = strlen(root), i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%.*s%s", (int)length, root,
                 i == 0   ? "/a/b"
                 : i == 1 ? "/a"
                          : "");
        rmdir(path);
    }
    return 0;
}

static void test_none(void **state) {
    (void)state;
    assert_true(isinf(quota()));
    write_text("/a/b/cpu.max", "max 100000\n");
    assert_true(isinf(quota()));
    write_text("/membership", "3:cpu:/x\n");
    assert_true(isinf(quota()));
}

static void test_least_of_all_levels(void **state) {
    (void)state;
    write_text("/a/b/cpu.max", "300000 100000\n");
    assert_true(quota() == 3);
    write_text("/a/cpu.max", "150000 100000\n");
    assert_true(quota() == 1.5);
    write_text("/cpu.max", "50000 100000\n");
    assert_true(quota() == 0.5);
}

static void test_root_group(void **state) {
    (void)state;
    write_text("/membership", "0::/\n");
    write_text("/a/cpu.max", "100000 100000\n");
    write_text("/cpu.max", "200000 100000\n");
    assert_true(quota() == 2);
}

static void test_here(void **state) {
    (void)state;
    struct sy_cores cores = sy_engine_cores();
    assert_in_range(cores.count, 1, sysconf(_SC_NPROCESSORS_ONLN));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_least_of_all_levels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_root_group, set_up, tear_down),
        cmocka_unit_test(test_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
