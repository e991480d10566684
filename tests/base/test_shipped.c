/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shipped.h"
#include "check.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define ASK "--ask" /* prints where data/thing is, as seen from where this program lies */

static char folder[] = "/tmp/symph-shipped-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...) {
    char command[4 * PATH_MAX];
    va_list list;
    va_start(list, format);
    int need = vsnprintf(command, sizeof command, format, list);
    va_end(list);
    assert_in_range(need, 1, (int)sizeof command - 1);
    return system(command);
}

static int remove_folder(void **state) {
    (void)state;
    return shell("rm -rf %s", folder);
}

static void in_a_build_tree(void **state) {
    (void)state;
    char path[PATH_MAX], small[4];
    assert_true(sy_shipped_find(SY_SHIPPED_DATA, "no", "symph-build-tree", path, sizeof path));
    assert_int_equal(access(path, F_OK), 0);
    /* What is not in this tree is not taken from another. */
    assert_false(sy_shipped_find(SY_SHIPPED_DATA, "", "no/such", path, sizeof path));
    assert_non_null(strstr(path, "/no/such"));
    assert_false(sy_shipped_find(SY_SHIPPED_DATA, "no", "symph-build-tree", small, sizeof small));
}

/* A copy of this program in a tree elsewhere, in a path that a shell or a pattern could mistake. */
static void in_a_tree_that_moved(void **state) {
    (void)state;
    static const char *const homes[] = {SYMPH_BINDIR, SYMPH_LIBEXECDIR "/symph", SYMPH_LIBDIR,
                                        SYMPH_LIBDIR "/symph/starpu-1.3.10"};
    char self[PATH_MAX], data[PATH_MAX];
    assert_non_null(realpath("/proc/self/exe", self));
    for (size_t i = 0; i < SY_COUNT(homes); i++) {
        snprintf(data, sizeof data, "%s/a [tree] %zu/" SYMPH_DATADIR "/symph", folder, i);
        assert_int_equal(shell("h='%s/a [tree] %zu/%s' && mkdir -p \"$h\" '%s' && touch '%s/thing'"
                               " && cp '%s' \"$h/program\"",
                               folder, i, homes[i], data, data, self),
                         0);
        /* Also by way of a link, as package managers make them. */
        assert_int_equal(shell("ln -sf 'a [tree] %zu/%s/program' %s/link", i, homes[i], folder), 0);
        assert_int_equal(shell("test \"$(%s/link " ASK ")\" = '%s/thing'", folder, data), 0);
    }
}

/* Neither in a build tree nor in an installed one: the prefix that was configured. */
static void alone(void **state) {
    (void)state;
    assert_int_equal(shell("cp /proc/%d/exe %s/alone && test \"$(%s/alone " ASK
                           ")\" = '" SYMPH_PREFIX "/" SYMPH_DATADIR "/symph/thing'",
                           (int)getpid(), folder, folder),
                     0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_a_build_tree),
        cmocka_unit_test(in_a_tree_that_moved),
        cmocka_unit_test(alone),
    };
    if (argc == 2 && strcmp(argv[1], ASK) == 0) {
        char path[PATH_MAX] = "";
        sy_shipped_find(SY_SHIPPED_DATA, "thing", "no", path, sizeof path);
        return puts(path) < 0;
    }
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
