/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer of all files: names appear when files are complete, nothing is left of what is not,
 * and what others still write stays.
 */
#include "output.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* --- what the writer asks of the system (linked with --wrap) -----------------------------------
 */
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

static char steps[16]; /* f: a file was synced, d: a folder, r: a file was renamed */

int __wrap_fsync(int fd) {
    struct stat info;
    assert_int_equal(fstat(fd, &info), 0);
    strncat(steps, S_ISDIR(info.st_mode) ? "d" : "f", sizeof steps - strlen(steps) - 1);
    return __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to) {
    strncat(steps, "r", sizeof steps - strlen(steps) - 1);
    return __real_rename(from, to);
}

static char folder[] = "/tmp/symph-output-XXXXXX";

static const char *path_of(const char *name) {
    static char paths[4][200];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static uint32_t count_files(void) {
    DIR *list = opendir(folder);
    uint32_t count = 0;
    for (struct dirent *entry; (entry = readdir(list));) {
        count += entry->d_name[0] != '.';
    }
    closedir(list);
    return count;
}

static void begin(struct guest_output *output, const char *name, const char *suffix) {
    struct sy_error error = {0};
    int descriptor;
    assert_int_equal(guest_output_open(output, path_of(name), suffix, &descriptor, &error), 0);
    assert_int_equal(write(descriptor, name, strlen(name)), (ssize_t)strlen(name));
    assert_int_equal(close(descriptor), 0);
    if (suffix) {
        int index = open(output->index, O_WRONLY | O_CREAT, 0666);
        assert_int_equal(write(index, "i", 1), 1);
        close(index);
    }
}

static void several(void **state) {
    (void)state;
    struct guest_output outputs[3];
    struct sy_error error = {0};
    begin(&outputs[0], "a", NULL);
    begin(&outputs[1], "b", ".idx");
    begin(&outputs[2], "c", NULL);
    assert_int_not_equal(access(path_of("a"), F_OK), 0);
    steps[0] = '\0';
    assert_int_equal(guest_output_keep(outputs, 3, &error), 0);
    assert_string_equal(steps, "ffffrrrrddd"); /* on the disk before any has its name */
    for (uint32_t i = 0; i < 3; i++) {
        guest_output_finish(&outputs[i]);
    }
    static const char *const names[] = {"a", "b", "b.idx", "c"};
    assert_int_equal(count_files(), 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(unlink(path_of(names[i])), 0);
    }
}

/* One of them cannot get its name: what has none is removed. */
static void not_kept(void **state) {
    (void)state;
    struct guest_output outputs[2];
    struct sy_error error = {0};
    begin(&outputs[0], "a", NULL);
    begin(&outputs[1], "b", NULL);
    assert_int_equal(mkdir(path_of("a"), 0777), 0); /* meanwhile */
    assert_true(guest_output_keep(outputs, 2, &error) < 0);
    assert_non_null(strstr(error.message, "/a: "));
    guest_output_finish(&outputs[0]);
    guest_output_finish(&outputs[1]);
    guest_output_finish(&outputs[1]);
    assert_int_equal(rmdir(path_of("a")), 0);
    assert_int_equal(count_files(), 0);
    struct guest_output none = {0};
    guest_output_finish(&none);
    assert_int_equal(fcntl(0, F_GETFD) >= 0, 1); /* and standard input is still open */
}

/* A process that was killed leaves its file, which the next one removes; not that of a living one,
 * nor anything that is only called alike. */
static void left(void **state) {
    (void)state;
    struct guest_output mine, next;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct guest_output output;
        begin(&output, "a", ".idx");
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(count_files(), 2);
    close(open(path_of("a.1-2.partials"), O_CREAT | O_WRONLY, 0666));
    begin(&mine, "a", NULL);
    assert_int_equal(count_files(), 2);
    begin(&next, "a", NULL);
    assert_int_equal(count_files(), 3);
    guest_output_finish(&mine);
    guest_output_finish(&next);
    assert_int_equal(count_files(), 1);
    assert_int_equal(unlink(path_of("a.1-2.partials")), 0);
}

/* A private file stays private, and a link a link; readers find the index beside the link. */
static void replaced(void **state) {
    (void)state;
    struct guest_output output;
    struct sy_error error = {0};
    struct stat info;
    close(open(path_of("real"), O_CREAT | O_WRONLY, 0600));
    assert_int_equal(symlink("real", path_of("a")), 0);
    begin(&output, "a", ".idx");
    assert_int_equal(guest_output_keep(&output, 1, &error), 0);
    guest_output_finish(&output);
    assert_int_equal(lstat(path_of("a"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(path_of("real"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(info.st_size, 1);
    assert_int_equal(count_files(), 3);
    assert_int_equal(unlink(path_of("a")) + unlink(path_of("real")) + unlink(path_of("a.idx")), 0);
}

static void refused(void **state) {
    (void)state;
    struct guest_output output;
    struct sy_error error = {0};
    int descriptor;
    assert_int_equal(guest_output_open(&output, folder, NULL, &descriptor, &error), -EISDIR);
    assert_int_equal(guest_output_open(&output, "/dev/null", NULL, &descriptor, &error), -EINVAL);
    assert_int_equal(guest_output_open(&output, path_of("no/a"), NULL, &descriptor, &error),
                     -ENOENT);
    assert_true(error.hint[0] != '\0');
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several),  cmocka_unit_test(not_kept), cmocka_unit_test(left),
        cmocka_unit_test(replaced), cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
