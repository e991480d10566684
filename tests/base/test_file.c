/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "check.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/symph-test-XXXXXX";

static const char *inside(const char *name) {
    static char path[4][512]; /* a case uses no more than this many at a time */
    static unsigned turn;
    char *next = path[turn++ % 4];
    snprintf(next, sizeof path[0], "%s/%s", folder, name);
    return next;
}

static unsigned entries(bool remove) {
    unsigned count = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing));) {
        if (entry->d_name[0] != '.') {
            count++;
            if (remove) {
                assert_int_equal(unlink(inside(entry->d_name)), 0);
            }
        }
    }
    closedir(listing);
    return count;
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static int remove_files(void **state) {
    (void)state;
    entries(true);
    return 0;
}

static void assert_holds(const char *path, const char *text, size_t length) {
    char *found;
    size_t found_length;
    assert_int_equal(sy_read_file(path, &found, &found_length, NULL), 0);
    assert_int_equal(found_length, length);
    assert_memory_equal(found, text, length);
    assert_int_equal(found[length], '\0');
    free(found);
}

static void put(const char *path, const char *text) {
    assert_int_equal(sy_write_file(path, text, strlen(text), NULL), 0);
}

static unsigned mode_of(const char *path) {
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode;
}

static void reads_what_was_written(void **state) {
    (void)state;
    const char *path = inside("a");
    static char text[300000];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = (char)(i * 7 / 3);
    }
    static const size_t lengths[] = {0, 1, 4095, 4096, 4097, sizeof text};
    for (size_t i = 0; i < SY_COUNT(lengths); i++) {
        assert_int_equal(sy_write_file(path, text, lengths[i], NULL), 0);
        assert_holds(path, text, lengths[i]);
    }
    assert_int_equal(entries(false), 1);
}

/* A pipe has no size to go by. */
static void reads_what_has_no_size(void **state) {
    (void)state;
    static char text[20000], path[64];
    int ends[2];
    memset(text, 'p', sizeof text);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, sizeof text), (ssize_t)sizeof text);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_holds(path, text, sizeof text);
    close(ends[0]);
}

static void says_why_it_cannot_read(void **state) {
    (void)state;
    struct sy_error error;
    char *text = (char *)&error;
    size_t length = 42;
    assert_int_equal(sy_read_file(inside("none"), &text, &length, &error), -ENOENT);
    assert_string_equal(error.file, inside("none"));
    assert_string_equal(error.message, "cannot read: No such file or directory");
    assert_int_equal(sy_read_file(folder, &text, &length, &error), -EISDIR);
    assert_ptr_equal(text, &error);
    assert_int_equal(length, 42);
}

static void says_why_it_cannot_write(void **state) {
    (void)state;
    struct sy_error error;
    put(inside("plain"), "x");
    assert_int_equal(sy_write_file(folder, "x", 1, &error), -EISDIR);
    assert_string_equal(error.file, folder);
    assert_string_equal(error.message, "cannot write: Is a directory");
    assert_int_equal(sy_write_file(inside("none/a"), "x", 1, &error), -ENOENT);
    assert_int_equal(sy_write_file(inside("plain/a"), "x", 1, &error), -ENOTDIR);
    assert_int_equal(sy_write_file(inside("plain/a"), "x", 1, NULL), -ENOTDIR);
    assert_int_equal(entries(false), 1);
}

/* The disk is made to fill in the middle of the write. */
static void a_failed_write_leaves_the_old_file(void **state) {
    (void)state;
    static char text[100000];
    struct sy_error error;
    struct rlimit old, small;
    put(inside("a"), "old");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 5000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int code = sy_write_file(inside("a"), text, sizeof text, &error);
    int fresh = sy_write_file(inside("b"), text, sizeof text, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(code, -EFBIG);
    assert_int_equal(fresh, -EFBIG);
    assert_string_equal(error.message, "cannot write: File too large");
    assert_holds(inside("a"), "old", 3);
    assert_int_equal(entries(false), 1);
}

static void a_protected_file_is_refused(void **state) {
    (void)state;
    put(inside("a"), "old");
    assert_int_equal(chmod(inside("a"), 0444), 0);
    if (geteuid() == 0) {
        print_message("# root may write everywhere\n");
        return;
    }
    assert_int_equal(sy_write_file(inside("a"), "new", 3, NULL), -EACCES);
    assert_holds(inside("a"), "old", 3);
}

static void permissions_stay(void **state) {
    (void)state;
    mode_t mask = umask(027);
    put(inside("a"), "old");
    umask(mask);
    assert_int_equal(mode_of(inside("a")) & 07777, 0640);
    assert_int_equal(chmod(inside("a"), 0604), 0);
    put(inside("a"), "new");
    assert_int_equal(mode_of(inside("a")) & 07777, 0604);
    assert_holds(inside("a"), "new", 3);
}

static void links_are_followed(void **state) {
    (void)state;
    put(inside("target"), "old");
    assert_int_equal(symlink("target", inside("link")), 0);
    put(inside("link"), "new");
    assert_true(S_ISLNK(mode_of(inside("link"))));
    assert_holds(inside("target"), "new", 3);
}

static void pipes_and_devices_are_written_to(void **state) {
    (void)state;
    char text[8] = "";
    assert_int_equal(mkfifo(inside("pipe"), 0600), 0);
    int reader = open(inside("pipe"), O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    put(inside("pipe"), "new");
    assert_true(S_ISFIFO(mode_of(inside("pipe"))));
    assert_int_equal(read(reader, text, sizeof text), 3);
    assert_string_equal(text, "new");
    close(reader);
    /* By way of a link, so that a mistake here could not harm the real device. */
    assert_int_equal(symlink("/dev/full", inside("full")), 0);
    assert_int_equal(sy_write_file(inside("full"), "new", 3, NULL), -ENOSPC);
    assert_true(S_ISLNK(mode_of(inside("full"))));
}

static void a_taken_name_is_left_alone(void **state) {
    (void)state;
    char taken[600];
    snprintf(taken, sizeof taken, "%s.%ld-0", inside("a"), (long)getpid());
    put(taken, "other");
    put(inside("a"), "new");
    assert_holds(taken, "other", 5);
    assert_holds(inside("a"), "new", 3);
    assert_int_equal(entries(false), 2);
}

static void folders_are_made(void **state) {
    (void)state;
    char deep[700], name[720];
    snprintf(deep, sizeof deep, "%s/x/y", inside("made"));
    snprintf(name, sizeof name, "%s/file", deep);
    assert_int_equal(sy_make_folders(name), 0);
    assert_int_equal(sy_make_folders(name), 0); /* they are there already */
    assert_true(S_ISDIR(mode_of(deep)));
    assert_int_equal(access(name, F_OK), -1);
    assert_int_equal(sy_make_folders("/dev/null/x/y"), -ENOTDIR);
    assert_int_equal(sy_make_folders("alone"), 0);
    assert_int_equal(sy_make_folders(""), 0);
    assert_int_equal(rmdir(deep), 0);
    snprintf(deep, sizeof deep, "%s/x", inside("made"));
    assert_int_equal(rmdir(deep), 0);
    assert_int_equal(rmdir(inside("made")), 0);
}

#define CASE(function) cmocka_unit_test_teardown(function, remove_files)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(reads_what_was_written),
        CASE(reads_what_has_no_size),
        CASE(says_why_it_cannot_read),
        CASE(says_why_it_cannot_write),
        CASE(a_failed_write_leaves_the_old_file),
        CASE(a_protected_file_is_refused),
        CASE(permissions_stay),
        CASE(links_are_followed),
        CASE(pipes_and_devices_are_written_to),
        CASE(a_taken_name_is_left_alone),
        CASE(folders_are_made),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
