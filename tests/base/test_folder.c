/* SPDX-License-Identifier: Apache-2.0 */
#include "base/folder.h"
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STRANGER 4242 /* a user that is not us */

static char folder[PATH_MAX];

static const char *inside(const char *name) {
    static char paths[4][PATH_MAX + 64]; /* a case uses no more than this many at a time */
    static unsigned turn;
    char *next = paths[turn++ % 4];
    snprintf(next, sizeof paths[0], "%s/%s", folder, name);
    return next;
}

static int make_folder(void **state) {
    (void)state;
    unsetenv("XDG_CACHE_HOME");
    unsetenv("XDG_STATE_HOME");
    int code = sy_temporary_folder(folder, sizeof folder, NULL);
    setenv("HOME", folder, 1);
    return code;
}

static int remove_it(void **state) {
    (void)state;
    sy_remove_folder(folder);
    return access(folder, F_OK) == 0 ? -1 : 0;
}

static void make(const char *name, mode_t mode) {
    assert_int_equal(mkdir(inside(name), 0700), 0);
    assert_int_equal(chmod(inside(name), mode), 0);
}

static mode_t mode_of(const char *path) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 07777;
}

/* Nothing is made where it would be refused. */
static void assert_refused(int code, const char *words) {
    char path[PATH_MAX] = "untouched";
    struct sy_error error = {0};
    assert_int_equal(sy_user_folder(SY_FOLDER_CACHE, "models", true, path, sizeof path, &error),
                     code);
    char text[1024];
    sy_error_format(&error, text, sizeof text);
    if (!strstr(text, words)) {
        fail_msg("'%s' is not in '%s'", words, text);
    }
    assert_string_equal(path, "untouched");
}

static void assert_found(enum sy_folder kind, const char *want) {
    char path[PATH_MAX];
    struct sy_error error = {0};
    int code = sy_user_folder(kind, "models", false, path, sizeof path, &error);
    if (code) {
        fail_msg("%s: %s", error.file, error.message);
    }
    assert_string_equal(path, want);
}

static void variables_follow_the_xdg_rules(void **state) {
    (void)state;
    assert_found(SY_FOLDER_CACHE, inside(".cache/symph/models"));
    assert_found(SY_FOLDER_STATE, inside(".local/state/symph/models"));
    static const char *const ignored[] = {"", "relative", "./here", "~"};
    for (size_t i = 0; i < SY_COUNT(ignored); i++) {
        setenv("XDG_CACHE_HOME", ignored[i], 1);
        setenv("XDG_STATE_HOME", ignored[i], 1);
        assert_found(SY_FOLDER_CACHE, inside(".cache/symph/models"));
        assert_found(SY_FOLDER_STATE, inside(".local/state/symph/models"));
    }
    setenv("XDG_CACHE_HOME", inside("c"), 1);
    setenv("XDG_STATE_HOME", inside("s"), 1);
    assert_found(SY_FOLDER_CACHE, inside("c/symph/models"));
    assert_found(SY_FOLDER_STATE, inside("s/symph/models"));
    assert_int_not_equal(access(inside("c"), F_OK), 0); /* asking makes nothing */
}

static void there_may_be_no_home(void **state) {
    (void)state;
    static const char *const homes[] = {"", "relative"};
    for (size_t i = 0; i < SY_COUNT(homes); i++) {
        setenv("HOME", homes[i], 1);
        assert_refused(-ENOENT, "HOME is not set");
    }
    unsetenv("HOME");
    assert_refused(-ENOENT, "HOME is not set");
    setenv("HOME", inside("nobody"), 1); /* not even root makes a home */
    assert_refused(-ENOENT, "does not exist");
    assert_int_not_equal(access(inside("nobody"), F_OK), 0);
    setenv("XDG_CACHE_HOME", inside("c"), 1);
    assert_found(SY_FOLDER_CACHE, inside("c/symph/models"));
}

static void what_is_missing_is_made_private(void **state) {
    (void)state;
    char path[PATH_MAX];
    mode_t before = umask(0);
    setenv("XDG_CACHE_HOME", inside("a/b"), 1);
    int code = sy_user_folder(SY_FOLDER_CACHE, "models", true, path, sizeof path, NULL);
    umask(before);
    assert_int_equal(code, 0);
    static const char *const made[] = {"a", "a/b", "a/b/symph", "a/b/symph/models"};
    for (size_t i = 0; i < SY_COUNT(made); i++) {
        assert_int_equal(mode_of(inside(made[i])), 0700);
    }
    assert_int_equal(sy_user_folder(SY_FOLDER_CACHE, "models", true, path, sizeof path, NULL), 0);
    char small[8];
    assert_int_equal(sy_user_folder(SY_FOLDER_CACHE, "models", true, small, sizeof small, NULL),
                     -ENAMETOOLONG);
}

static void others_must_not_write(void **state) {
    (void)state;
    make(".cache", 0777);
    assert_refused(-EPERM, "/.cache: can be written by other users");
    assert_int_not_equal(access(inside(".cache/symph"), F_OK), 0);
    chmod(inside(".cache"), 01777); /* like /tmp: ours cannot be replaced there */
    make(".cache/symph", 0755);
    make(".cache/symph/models", 0700);
    assert_found(SY_FOLDER_CACHE, inside(".cache/symph/models"));
    chmod(inside(".cache/symph/models"), 01777); /* but nobody else's files may be in ours */
    assert_refused(-EPERM, "/models: can be written by other users");
    chmod(inside(".cache/symph/models"), 0700);
    chmod(inside(".cache/symph"), 0757);
    assert_refused(-EPERM, "/symph: can be written by other users");
}

static void links_are_followed_if_they_are_ours(void **state) {
    (void)state;
    make("real", 0700);
    make("open", 0777);
    assert_int_equal(symlink("real/../real", inside(".cache")), 0);
    assert_found(SY_FOLDER_CACHE, inside(".cache/symph/models"));
    char path[PATH_MAX];
    assert_int_equal(sy_user_folder(SY_FOLDER_CACHE, "models", true, path, sizeof path, NULL), 0);
    assert_int_equal(access(inside("real/symph/models"), W_OK), 0);
    /* What lies behind a link counts as well. */
    assert_int_equal(unlink(inside(".cache")), 0);
    assert_int_equal(symlink(inside("open"), inside(".cache")), 0);
    assert_refused(-EPERM, "/open: can be written by other users");
    assert_int_equal(unlink(inside(".cache")), 0);
    assert_int_equal(symlink(".cache", inside(".cache")), 0);
    assert_refused(-ELOOP, ".cache");
}

static void what_is_no_folder_is_told(void **state) {
    (void)state;
    int fd = open(inside(".cache"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_refused(-ENOTDIR, "/.cache: is not a folder");
    setenv("XDG_CACHE_HOME", "/dev/null/nowhere", 1);
    assert_refused(-ENOTDIR, "/dev/null: is not a folder");
}

static void others_must_not_own(void **state) {
    (void)state;
    if (geteuid() != 0) {
        print_message("# skipped: only root can give files to somebody else\n");
        skip();
    }
    make(".cache", 0700);
    assert_int_equal(lchown(inside(".cache"), STRANGER, STRANGER), 0);
    assert_refused(-EPERM, "/.cache: belongs to another user (4242)");
    assert_int_equal(rmdir(inside(".cache")), 0);
    make("real", 0700);
    assert_int_equal(symlink("real", inside(".cache")), 0);
    assert_int_equal(lchown(inside(".cache"), STRANGER, STRANGER), 0);
    assert_refused(-EPERM, "/.cache: belongs to another user (4242)");
}

/* As somebody who is not root: what root owns is trusted. */
static void a_read_only_home(void **state) {
    (void)state;
    chmod(folder, 0555);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (chmod(folder, 0755) || setgid(STRANGER) || setuid(STRANGER))) {
            _exit(9);
        }
        char path[PATH_MAX];
        int code = sy_user_folder(SY_FOLDER_CACHE, "models", true, path, sizeof path, NULL);
        _exit(code == -EACCES ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    chmod(folder, 0700);
    assert_int_equal(status, 0);
}

static void temporary_folders_are_private(void **state) {
    (void)state;
    char first[PATH_MAX], second[PATH_MAX], small[4];
    setenv("TMPDIR", folder, 1);
    assert_int_equal(sy_temporary_folder(first, sizeof first, NULL), 0);
    assert_int_equal(sy_temporary_folder(second, sizeof second, NULL), 0);
    assert_string_not_equal(first, second);
    assert_int_equal(strncmp(first, folder, strlen(folder)), 0);
    assert_int_equal(mode_of(first), 0700);
    /* A link in it goes, what it leads to stays. */
    make("kept", 0700);
    make("kept/below", 0700);
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/link", first);
    assert_int_equal(symlink(inside("kept"), path), 0);
    sy_remove_folder(first);
    assert_int_not_equal(access(first, F_OK), 0);
    assert_int_equal(access(inside("kept/below"), F_OK), 0);
    sy_remove_folder(second);
    assert_int_equal(sy_temporary_folder(small, sizeof small, NULL), -ENAMETOOLONG);
    setenv("TMPDIR", "/dev/null", 1);
    struct sy_error error = {0};
    assert_int_equal(sy_temporary_folder(first, sizeof first, &error), -ENOTDIR);
    assert_non_null(strstr(error.hint, "TMPDIR"));
    setenv("TMPDIR", "relative", 1);
    assert_int_equal(sy_temporary_folder(first, sizeof first, NULL), 0);
    assert_int_equal(strncmp(first, "/tmp/", 5), 0);
    sy_remove_folder(first);
    unsetenv("TMPDIR");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(variables_follow_the_xdg_rules, make_folder, remove_it),
        cmocka_unit_test_setup_teardown(there_may_be_no_home, make_folder, remove_it),
        cmocka_unit_test_setup_teardown(what_is_missing_is_made_private, make_folder, remove_it),
        cmocka_unit_test_setup_teardown(others_must_not_write, make_folder, remove_it),
        cmocka_unit_test_setup_teardown(links_are_followed_if_they_are_ours, make_folder,
                                        remove_it),
        cmocka_unit_test_setup_teardown(what_is_no_folder_is_told, make_folder, remove_it),
        cmocka_unit_test_setup_teardown(others_must_not_own, make_folder, remove_it),
        cmocka_unit_test_setup_teardown(a_read_only_home, make_folder, remove_it),
        cmocka_unit_test_setup_teardown(temporary_folders_are_private, make_folder, remove_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
