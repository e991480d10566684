/* SPDX-License-Identifier: Apache-2.0 */
#include "base/folder.h"
#include "base/lock.h"
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

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
    return sy_temporary_folder(folder, sizeof folder, NULL);
}

static int remove_it(void **state) {
    (void)state;
    sy_remove_folder(folder);
    return access(folder, F_OK) == 0 ? -1 : 0;
}

static void locks_are_not_waited_for_for_ever(void **state) {
    (void)state;
    int fd, again;
    assert_int_equal(sy_lock_file(inside("file"), 0, &fd), 0);
    assert_int_equal(sy_lock_file(inside("file"), 0.05, &again), -ETIMEDOUT);
    close(fd);
    assert_int_equal(sy_lock_file(inside("file"), 0, &again), 0);
    close(again);
    /* Given back while we wait. */
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte = 'l';
        int held = open(inside("file.lock"), O_RDWR | O_CLOEXEC);
        bool told = flock(held, LOCK_EX) == 0 && write(ends[1], &byte, 1) == 1;
        usleep(50000);
        _exit(told ? 0 : 1);
    }
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(sy_lock_file(inside("file"), 600, &fd), 0);
    close(fd);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
    /* A link is not followed, a pipe does not block. */
    assert_int_equal(symlink("elsewhere", inside("link.lock")), 0);
    assert_int_equal(sy_lock_file(inside("link"), 0, &fd), -ELOOP);
    assert_int_not_equal(access(inside("elsewhere"), F_OK), 0);
    assert_int_equal(sy_lock_file("/dev/null/nowhere", 0, &fd), -ENOTDIR);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(locks_are_not_waited_for_for_ever, make_folder, remove_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
