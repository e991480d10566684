/* SPDX-License-Identifier: Apache-2.0
 *
 * The one writer of files.
 *
 * In: a path a person gave, and bytes. Out: a file with all of them, safe on the disk, or the old
 * file and an error. Invariants: a plain file is replaced at once or not at all, also when the
 * process is killed or the power fails. Until then the new one has no name, where the file system
 * can do that, so that nothing is left behind; where it cannot, the name is removed on errors and
 * signals wait. A pipe, a device, and what is our output already ("-", /dev/stdout) are written to
 * and never replaced.
 */
#include "base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ATTEMPTS   1000
#define NAME_SHOWN 200 /* bytes of the file's name that its temporary name begins with */

struct sy_writer {
    int fd;
    bool plain;      /* a file of ours, not a pipe or a device */
    char *target;    /* the file to replace; NULL: none, or it has been */
    char *temporary; /* the name of the new file, if named */
    bool named;
    sigset_t before; /* the signals that were blocked before it was named */
    off_t length;
};

int sy_write_all(int fd, const char *text, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t put = write(fd, text + done, length - done);
        if (put < 0 && errno != EINTR) {
            return -errno;
        }
        done += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

/* --- names ------------------------------------------------------------------------------------ */
/* Where the last part of a path begins. */
static size_t name_start(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Calls make with one name after the other until one is free, which then is the writer's.
 * Signals that would end the process wait while it is. 0 or more as make returns, or a negative
 * errno. */
static int make_name(struct sy_writer *writer, int (*make)(struct sy_writer *writer)) {
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    size_t start = name_start(writer->target), size = start + NAME_SHOWN + 40;
    int made = -EEXIST;
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < SY_COUNT(ending); i++) {
        sigaddset(&set, ending[i]);
    }
    writer->temporary = malloc(size);
    if (!writer->temporary) {
        return -ENOMEM;
    }
    pthread_sigmask(SIG_BLOCK, &set, &writer->before);
    for (unsigned attempt = 0; made == -EEXIST && attempt < ATTEMPTS; attempt++) {
        snprintf(writer->temporary, size, "%.*s.%ld-%u", (int)start + NAME_SHOWN, writer->target,
                 (long)getpid(), attempt);
        made = make(writer);
        made = made < 0 ? -errno : made;
    }
    writer->named = made >= 0;
    if (!writer->named) {
        pthread_sigmask(SIG_SETMASK, &writer->before, NULL);
    }
    return made;
}

/* The name is gone: replaced the target, or removed. */
static void lose_name(struct sy_writer *writer) {
    writer->named = false;
    pthread_sigmask(SIG_SETMASK, &writer->before, NULL);
}

/* --- opening ---------------------------------------------------------------------------------- */
static int open_named(struct sy_writer *writer) {
    return open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* The folder of the target; -1: it cannot be opened. */
static int open_folder(const struct sy_writer *writer, int flags) {
    size_t start = name_start(writer->target);
    char *folder = start ? strndup(writer->target, start) : strdup(".");
    int fd = folder ? open(folder, flags | O_CLOEXEC, 0666) : -1;
    free(folder);
    return fd;
}

/* A new file, which gets its target's place when all is written. */
static int open_new(struct sy_writer *writer) {
    /* A file without a name is given one by way of /proc. */
    writer->fd =
        access("/proc/self/fd", X_OK) == 0 ? open_folder(writer, O_WRONLY | O_TMPFILE) : -1;
    if (writer->fd < 0) {
        writer->fd = make_name(writer, open_named);
    }
    writer->plain = true;
    return writer->fd < 0 ? writer->fd : 0;
}

/* Who may read and write the old file may do so with the new one, and nobody else. */
static int copy_access(int fd, const struct stat *old) {
    struct stat now;
    if (fstat(fd, &now) < 0) {
        return -errno;
    }
    mode_t mode = old->st_mode & 07777;
    if (now.st_uid != old->st_uid) {
        (void)!fchown(fd, old->st_uid, (gid_t)-1); /* only root can */
    }
    if (now.st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid) < 0) {
        mode &= ~(mode_t)S_IRWXG;
    }
    return fchmod(fd, mode) < 0 ? -errno : 0;
}

/* One of our own outputs if path leads to it, else -1. */
static int find_output(const struct stat *info) {
    struct stat ours;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fstat(fd, &ours) == 0 && ours.st_dev == info->st_dev && ours.st_ino == info->st_ino) {
            return fd;
        }
    }
    return -1;
}

/* fd: the file that is there, opened for writing, so that a protected one is refused. */
static int open_old(struct sy_writer *writer, int fd, const char *path) {
    struct stat old;
    if (fstat(fd, &old) < 0) {
        int code = -errno;
        close(fd);
        return code;
    }
    int output = S_ISREG(old.st_mode) ? find_output(&old) : fd;
    if (output == fd) {
        writer->fd = fd;
        return 0;
    }
    close(fd);
    if (output >= 0) {
        writer->fd = fcntl(output, F_DUPFD_CLOEXEC, 0);
        return writer->fd < 0 ? -errno : 0;
    }
    writer->target = realpath(path, NULL); /* a link stays, what it points to is replaced */
    int code = writer->target ? open_new(writer) : -errno;
    return code ? code : copy_access(writer->fd, &old);
}

static int open_path(struct sy_writer *writer, const char *path) {
    if (strcmp(path, "-") == 0) {
        writer->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
        return writer->fd < 0 ? -errno : 0;
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        return open_old(writer, fd, path);
    }
    if (errno != ENOENT) {
        return -errno;
    }
    writer->target = strdup(path);
    return writer->target ? open_new(writer) : -ENOMEM;
}

/* --- the writer ------------------------------------------------------------------------------- */
int sy_writer_open(const char *path, struct sy_writer **ret_writer) {
    struct sy_writer *writer = malloc(sizeof *writer);
    if (!writer) {
        return -ENOMEM;
    }
    *writer = (struct sy_writer){.fd = -1};
    int code = open_path(writer, path);
    if (code) {
        sy_writer_close(writer);
        return code;
    }
    *ret_writer = writer;
    return 0;
}

int sy_writer_put(struct sy_writer *writer, const char *text, size_t length) {
    int code = sy_write_all(writer->fd, text, length);
    if (!code) {
        writer->length += (off_t)length;
    } else if (writer->plain) {
        (void)!ftruncate(writer->fd, writer->length);
    }
    return code;
}

/* Some file systems cannot, which is no reason to fail. */
static int sync_fd(int fd) {
    return fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS ? -errno : 0;
}

static int link_named(struct sy_writer *writer) {
    char from[40];
    snprintf(from, sizeof from, "/proc/self/fd/%d", writer->fd);
    return linkat(AT_FDCWD, from, AT_FDCWD, writer->temporary, AT_SYMLINK_FOLLOW);
}

/* Takes the target's place. */
static int replace(struct sy_writer *writer) {
    int code = writer->named ? 0 : make_name(writer, link_named);
    if (!code && rename(writer->temporary, writer->target) < 0) {
        code = -errno;
        unlink(writer->temporary);
    }
    if (writer->named) {
        lose_name(writer);
    }
    return code;
}

int sy_writer_sync(struct sy_writer *writer) {
    int code = writer->plain ? sync_fd(writer->fd) : 0;
    if (code || !writer->target) {
        return code;
    }
    code = replace(writer);
    /* A folder that may be written but not read cannot be opened: then the system sees to it. */
    int folder = code ? -1 : open_folder(writer, O_RDONLY | O_DIRECTORY);
    if (folder >= 0) {
        code = sync_fd(folder);
        close(folder);
    }
    free(writer->target);
    writer->target = NULL;
    return code;
}

void sy_writer_close(struct sy_writer *writer) {
    if (!writer) {
        return;
    }
    if (writer->named) {
        unlink(writer->temporary);
        lose_name(writer);
    }
    if (writer->fd >= 0) {
        close(writer->fd);
    }
    free(writer->temporary);
    free(writer->target);
    free(writer);
}

int sy_write_file(const char *path, const char *text, size_t length, struct sy_error *error) {
    struct sy_writer *writer = NULL;
    int code = sy_writer_open(path, &writer);
    code = code ? code : sy_writer_put(writer, text, length);
    code = code ? code : sy_writer_sync(writer);
    sy_writer_close(writer);
    if (code) {
        sy_fail_at(error, code, strcmp(path, "-") == 0 ? "standard output" : path, 0, 0,
                   "cannot write: %s", strerror(-code));
    }
    if (code == -EACCES && access(path, W_OK) == 0) {
        sy_hint(error, "a file is replaced as a whole, so its folder must be writable too");
    }
    return code;
}
