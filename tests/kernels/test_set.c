/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static void refuse(const char *path, const char *why) {
    struct sy_kernel_set *set = NULL;
    struct sy_error error = {0};
    int code = sy_kernel_set_open(path, &set, &error);
    if (code >= 0 || !strstr(error.message, why)) {
        fail_msg("%s: %d, \"%s\", not \"%s\"", path, code, error.message, why);
    }
    assert_null(set);
    assert_non_null(strstr(error.file, path));
}

static void good_one_is_loaded(void **state) {
    (void)state;
    char path[PLUGIN_PATH_MAX];
    struct sy_kernel_set *set = open_set(plugin_path("good", path));
    assert_int_equal(sy_kernel_set_count(set), 1);
    assert_string_equal(sy_kernel_set_table(set, 0)->name, "good");
    assert_string_equal(sy_kernel_set_path(set, 0), path);
    assert_null(sy_kernel_set_skipped(set, 0));
    sy_kernel_set_close(set);
    sy_kernel_set_close(NULL);
}

static void each_contradiction_is_named(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"abi", "version 77"},
        {"stranger", "not a kernel plug-in"},
        {"bad3", "appears twice"},
        {"bad4", "has no function"},
        {"bad5", "more arguments"},
        {"bad6", "access mode"},
        {"bad7", "more arguments"},
        {"bad8", "needs a name"},
        {"bad9", "needs a name"},
        {"bad10", "cannot build"},
        {"bad11", "both a graph"},
        {"bad12", "drives a session"},
        {"bad13", "no description"},
        {"bad14", "lacks one of"},
        {"bad15", "pipeline 'stream' appears twice"},
        {"bad16", "pipeline 'a stream' needs a name"},
        {"bad17", "more parts than are allowed"},
        {"bad18", "an invalid cost"},
    };
    char path[PLUGIN_PATH_MAX];
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        refuse(plugin_path(cases[i][0], path), cases[i][1]);
    }
}

static void missing_and_foreign_files_are_named(void **state) {
    (void)state;
    struct sy_kernel_set *set;
    struct sy_error error = {0};
    assert_int_equal(sy_kernel_set_open("/nowhere/x.so", &set, &error), -ENOENT);
    assert_string_equal(error.file, "/nowhere/x.so");
    assert_true(error.hint[0] != '\0');
    char path[] = "/tmp/symph-test-text-XXXXXX.so";
    int fd = mkstemps(path, 3);
    assert_true(fd >= 0 && write(fd, "text\n", 5) == 5 && close(fd) == 0);
    refuse(path, "cannot be loaded");
    unlink(path);
}

/* A folder with a plug-in, a stranger, a text, and a second plug-in of the same name. */
static void folders_pass_over_strangers(void **state) {
    (void)state;
    static const char *const links[] = {"good", "same", "stranger"};
    char folder[] = "/tmp/symph-test-folder-XXXXXX", path[PLUGIN_PATH_MAX], name[256];
    assert_non_null(mkdtemp(folder));
    refuse(folder, "no kernel plug-in in this folder");
    for (size_t i = 0; i < SY_COUNT(links); i++) {
        snprintf(name, sizeof name, "%s/%zu.so", folder, i);
        assert_int_equal(symlink(plugin_path(links[i], path), name), 0);
    }
    snprintf(name, sizeof name, "%s/text.so", folder);
    assert_int_equal(sy_write_file(name, "text\n", 5, NULL), 0);
    char twice[600];
    snprintf(twice, sizeof twice, "%s::%s", folder, folder);
    struct sy_kernel_set *set = open_set(twice);
    assert_int_equal(sy_kernel_set_count(set), 1);
    assert_non_null(strstr(sy_kernel_set_skipped(set, 0), "/1.so: it has the same name as"));
    assert_non_null(strstr(sy_kernel_set_skipped(set, 1), "/text.so: "));
    sy_kernel_set_close(set);
    unlink(name);
    for (size_t i = 0; i < SY_COUNT(links); i++) {
        snprintf(name, sizeof name, "%s/%zu.so", folder, i);
        unlink(name);
    }
    rmdir(folder);
}

static void bare_names_are_here(void **state) {
    (void)state;
    char path[PLUGIN_PATH_MAX], old[PLUGIN_PATH_MAX];
    plugin_path("good", path);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(path), 0);
    struct sy_kernel_set *set = open_set(slash + 1);
    assert_int_equal(sy_kernel_set_count(set), 1);
    sy_kernel_set_close(set);
    assert_int_equal(chdir(old), 0);
}

static bool has(const struct sy_kernel_set *set, const char *name) {
    for (uint32_t i = 0; i < sy_kernel_set_count(set); i++) {
        if (strcmp(sy_kernel_set_table(set, i)->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void environment_adds_to_the_usual_places_only(void **state) {
    (void)state;
    char path[PLUGIN_PATH_MAX];
    setenv("SYMPH_KERNELS", plugin_path("other", path), 1);
    struct sy_kernel_set *set = open_set(NULL);
    assert_string_equal(sy_kernel_set_table(set, 0)->name, "other");
    sy_kernel_set_close(set);
    set = open_plugins("good", NULL);
    assert_true(has(set, "good") && !has(set, "other"));
    sy_kernel_set_close(set);
    setenv("SYMPH_KERNELS", "/nowhere", 1);
    struct sy_error error = {0};
    assert_int_equal(sy_kernel_set_open("", &set, &error), -ENOENT);
    unsetenv("SYMPH_KERNELS");
    set = open_set("");
    assert_false(has(set, "other"));
    sy_kernel_set_close(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_one_is_loaded),
        cmocka_unit_test(each_contradiction_is_named),
        cmocka_unit_test(missing_and_foreign_files_are_named),
        cmocka_unit_test(folders_pass_over_strangers),
        cmocka_unit_test(bare_names_are_here),
        cmocka_unit_test(environment_adds_to_the_usual_places_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
