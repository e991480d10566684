/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "check.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/symph-test-XXXXXX";

/* --- what the writer asks of the system (linked with --wrap) -----------------------------------
 */
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);

static char steps[8]; /* f: a file was synced, d: a folder, r: a file was renamed */
static int (*on_fsync)(void);
static bool no_proc; /* then a file has a name from the start */

static void add_step(char step) {
    size_t count = strlen(steps);
    if (count + 1 < sizeof steps) {
        steps[count] = step;
        steps[count + 1] = '\0';
    }
}

int __wrap_fsync(int fd) {
    struct stat info;
    assert_int_equal(fstat(fd, &info), 0);
    add_step(S_ISDIR(info.st_mode) ? 'd' : 'f');
    return on_fsync ? on_fsync() : __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to) {
    add_step('r');
    return __real_rename(from, to);
}

int __wrap_access(const char *path, int mode) {
    if (no_proc && strncmp(path, "/proc/", 6) == 0) {
        errno = ENOENT;
        return -1;
    }
    return __real_access(path, mode);
}

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
    on_fsync = NULL;
    no_proc = false;
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

static void refuses_what_has_no_end(void **state) {
    (void)state;
    struct sy_error error;
    char *text = NULL;
    size_t length = 42;
    put(inside("large"), "");
    assert_int_equal(truncate(inside("large"), (off_t)SY_TEXT_MAX + 1), 0);
    static const char why[] = "cannot read: more than 1024 MiB of text";
    assert_int_equal(sy_read_file(inside("large"), &text, &length, &error), -EFBIG);
    assert_string_equal(error.message, why);
    assert_int_equal(sy_read_file("/dev/zero", &text, &length, &error), -EFBIG);
    assert_string_equal(error.message, why);
    assert_null(text);
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

/* A power cut keeps what was synced, in any order that was not enforced. */
static void all_is_on_the_disk_before_the_old_file_goes(void **state) {
    (void)state;
    for (int old = 0; old < 2; old++) {
        for (int named = 0; named < 2; named++) {
            no_proc = named;
            steps[0] = '\0';
            put(inside("a"), "new");
            assert_string_equal(steps, "frd");
        }
    }
    steps[0] = '\0';
    put("/dev/null", "new");
    assert_string_equal(steps, "");
}

static int fail_to_sync(void) {
    errno = EIO;
    return -1;
}

static void a_failed_sync_leaves_the_old_file(void **state) {
    (void)state;
    struct sy_error error;
    put(inside("a"), "old");
    on_fsync = fail_to_sync;
    for (int named = 0; named < 2; named++) {
        no_proc = named;
        assert_int_equal(sy_write_file(inside("a"), "new", 3, &error), -EIO);
        assert_string_equal(error.message, "cannot write: Input/output error");
        assert_holds(inside("a"), "old", 3);
        assert_int_equal(entries(false), 1);
    }
}

/* Runs the action in a process of its own. How that ended, as waitpid says. */
static int in_child(void (*action)(void)) {
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        action();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void write_new(void) {
    (void)!sy_write_file(inside("a"), "new", 3, NULL);
}

static int kill_self(void) {
    return kill(getpid(), SIGKILL);
}

static void a_killed_writer_leaves_the_old_file(void **state) {
    (void)state;
    put(inside("a"), "old");
    on_fsync = kill_self;
    assert_true(WIFSIGNALED(in_child(write_new)));
    assert_holds(inside("a"), "old", 3);
    int fd = open(folder, O_WRONLY | O_TMPFILE, 0600);
    if (fd < 0) {
        print_message("# files must have names in %s: one is left behind\n", folder);
        return;
    }
    close(fd);
    assert_int_equal(entries(false), 1);
}

static int end_and_go_on(void) {
    return kill(getpid(), SIGTERM);
}

static int end_and_fail(void) {
    return kill(getpid(), SIGTERM) == 0 ? fail_to_sync() : -1;
}

static void a_signal_waits_while_there_is_a_temporary_name(void **state) {
    (void)state;
    put(inside("a"), "old");
    no_proc = true;
    on_fsync = end_and_fail;
    int status = in_child(write_new);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_holds(inside("a"), "old", 3);
    assert_int_equal(entries(false), 1);
    on_fsync = end_and_go_on;
    status = in_child(write_new);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_holds(inside("a"), "new", 3);
    assert_int_equal(entries(false), 1);
}

/* Root may write everywhere, so somebody else tries. */
static void write_as_somebody_else(void) {
    struct sy_error error = {0};
    if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0)) {
        _exit(77);
    }
    bool refused = sy_write_file(inside("new"), "x", 1, &error) == -EACCES && !error.hint[0] &&
                   sy_write_file(inside("a"), "x", 1, &error) == -EACCES &&
                   strstr(error.hint, "its folder must be writable");
    _exit(refused ? 0 : 1);
}

static void a_protected_folder_is_refused(void **state) {
    (void)state;
    put(inside("a"), "old");
    assert_int_equal(chmod(inside("a"), 0666), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    int status = in_child(write_as_somebody_else);
    assert_int_equal(chmod(folder, 0700), 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("# cannot be somebody else here\n");
        return;
    }
    assert_int_equal(status, 0);
    assert_holds(inside("a"), "old", 3);
    assert_int_equal(entries(false), 1);
}

static void write_to_full_disk(void) {
    static char text[1 << 20];
    struct sy_error error = {0};
    if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) {
        _exit(77);
    }
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("symph", folder, "tmpfs", 0, "size=64k") < 0) {
        _exit(77);
    }
    bool right = sy_write_file(inside("a"), "old", 3, NULL) == 0 &&
                 sy_write_file(inside("a"), text, sizeof text, &error) == -ENOSPC &&
                 strcmp(error.message, "cannot write: No space left on device") == 0 &&
                 entries(false) == 1;
    assert_holds(inside("a"), "old", 3);
    _exit(right ? 0 : 1);
}

static void a_full_disk_leaves_the_old_file(void **state) {
    (void)state;
    int status = in_child(write_to_full_disk);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("# a disk cannot be mounted here: %s\n", strerror(EPERM));
        return;
    }
    assert_int_equal(status, 0);
}

static void write_to_stdout(void) {
    int fd = open(inside("out"), O_WRONLY | O_CREAT, 0600);
    bool right =
        fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0 && sy_write_all(STDOUT_FILENO, "a", 1) == 0 &&
        sy_write_file("-", "b", 1, NULL) == 0 && sy_write_file("/dev/stdout", "c", 1, NULL) == 0 &&
        sy_write_file(inside("out"), "d", 1, NULL) == 0 && sy_write_all(STDOUT_FILENO, "e", 1) == 0;
    _exit(right ? 0 : 1);
}

/* A file that stdout goes to is not replaced: what is printed later would be lost. */
static void what_is_stdout_is_written_to(void **state) {
    (void)state;
    assert_int_equal(in_child(write_to_stdout), 0);
    assert_holds(inside("out"), "abcde", 5);
    assert_int_equal(entries(false), 1);
}

static void the_owner_stays(void **state) {
    (void)state;
    struct stat info;
    put(inside("a"), "old");
    if (geteuid() != 0) {
        print_message("# only root can give a file away\n");
        return;
    }
    assert_int_equal(chown(inside("a"), 65534, 65533), 0);
    put(inside("a"), "new");
    assert_int_equal(stat(inside("a"), &info), 0);
    assert_int_equal(info.st_uid, 65534);
    assert_int_equal(info.st_gid, 65533);
}

static void long_names_are_no_trouble(void **state) {
    (void)state;
    char name[256] = "";
    memset(name, 'n', 255);
    put(inside(name), "old");
    put(inside(name), "new");
    assert_holds(inside(name), "new", 3);
    assert_int_equal(entries(false), 1);
}

/* From its first sync on a growing file is there; what does not fit is taken back whole. */
static void a_file_can_grow(void **state) {
    (void)state;
    static char text[100000];
    struct sy_writer *writer = NULL;
    struct rlimit old, small;
    put(inside("a"), "old");
    assert_int_equal(sy_writer_open(inside("a"), &writer), 0);
    assert_int_equal(sy_writer_put(writer, "head", 4), 0);
    assert_holds(inside("a"), "old", 3);
    assert_int_equal(sy_writer_sync(writer), 0);
    assert_holds(inside("a"), "head", 4);
    assert_int_equal(sy_writer_put(writer, "more", 4), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 5000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int code = sy_writer_put(writer, text, sizeof text);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(code, -EFBIG);
    assert_int_equal(sy_writer_sync(writer), 0);
    sy_writer_close(writer);
    assert_holds(inside("a"), "headmore", 8);
    assert_int_equal(entries(false), 1);
}

static void what_was_not_synced_never_was(void **state) {
    (void)state;
    struct sy_writer *writer = NULL;
    for (int named = 0; named < 2; named++) {
        no_proc = named;
        assert_int_equal(sy_writer_open(inside("a"), &writer), 0);
        assert_int_equal(sy_writer_put(writer, "new", 3), 0);
        sy_writer_close(writer);
        assert_int_equal(entries(false), 0);
    }
    sy_writer_close(NULL);
}

#define CASE(function) cmocka_unit_test_teardown(function, remove_files)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(reads_what_was_written),
        CASE(reads_what_has_no_size),
        CASE(says_why_it_cannot_read),
        CASE(refuses_what_has_no_end),
        CASE(says_why_it_cannot_write),
        CASE(a_failed_write_leaves_the_old_file),
        CASE(a_protected_file_is_refused),
        CASE(permissions_stay),
        CASE(links_are_followed),
        CASE(pipes_and_devices_are_written_to),
        CASE(a_taken_name_is_left_alone),
        CASE(folders_are_made),
        CASE(all_is_on_the_disk_before_the_old_file_goes),
        CASE(a_failed_sync_leaves_the_old_file),
        CASE(a_killed_writer_leaves_the_old_file),
        CASE(a_signal_waits_while_there_is_a_temporary_name),
        CASE(a_protected_folder_is_refused),
        CASE(a_full_disk_leaves_the_old_file),
        CASE(what_is_stdout_is_written_to),
        CASE(the_owner_stays),
        CASE(long_names_are_no_trouble),
        CASE(a_file_can_grow),
        CASE(what_was_not_synced_never_was),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
