/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole files in and out.
 *
 * In: a path a person gave. Out: its text, or the text in it. A file is replaced at once or not at
 * all; what is not a plain file (a pipe, /dev/null) is written to and never replaced.
 */
#include "base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ATTEMPTS 1000

static int read_all(int fd, size_t guess, char **ret_text, size_t *ret_length) {
    size_t capacity = guess + 1, length = 0;
    char *text = malloc(capacity);
    for (;;) {
        if (text && length + 1 >= capacity) {
            capacity *= 2;
            char *grown = realloc(text, capacity);
            if (!grown) {
                free(text);
            }
            text = grown;
        }
        if (!text) {
            return -ENOMEM;
        }
        ssize_t got = read(fd, text + length, capacity - 1 - length);
        if (got < 0 && errno != EINTR) {
            int code = -errno;
            free(text);
            return code;
        }
        if (got == 0) {
            break;
        }
        length += got > 0 ? (size_t)got : 0;
    }
    text[length] = '\0';
    *ret_text = text;
    *ret_length = length;
    return 0;
}

int sy_read_file(const char *path, char **ret_text, size_t *ret_length, struct sy_error *error) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    int code = fd < 0 || fstat(fd, &info) < 0 ? -errno : 0;
    if (!code && S_ISDIR(info.st_mode)) {
        code = -EISDIR;
    }
    if (!code) {
        size_t guess = info.st_size > 0 ? (size_t)info.st_size + 1 : 4096;
        code = read_all(fd, guess, ret_text, ret_length);
    }
    if (fd >= 0) {
        close(fd);
    }
    return code ? sy_fail_at(error, code, path, 0, 0, "cannot read: %s", strerror(-code)) : 0;
}

static int write_all(int fd, const char *text, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t put = write(fd, text + done, length - done);
        if (put < 0 && errno != EINTR) {
            return -errno;
        }
        done += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

/* Not mkstemp: its files are private whatever the umask, and the umask cannot be read without
 * setting it for every thread. */
static int create_beside(const char *path, char *name, size_t size) {
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        snprintf(name, size, "%s.%ld-%u", path, (long)getpid(), attempt);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) {
            return fd >= 0 ? fd : -errno;
        }
    }
    return -EEXIST;
}

/* old: what the file replaced is, whose permissions stay; NULL if there is none. */
static int fill(int fd, const char *text, size_t length, const struct stat *old) {
    int code = write_all(fd, text, length);
    if (!code && old && fchmod(fd, old->st_mode & 07777) < 0) {
        code = -errno;
    }
    if (close(fd) < 0 && !code) {
        code = -errno;
    }
    return code;
}

static int replace(const char *path, const char *text, size_t length, const struct stat *old) {
    size_t size = strlen(path) + 40;
    char *name = malloc(size);
    if (!name) {
        return -ENOMEM;
    }
    int fd = create_beside(path, name, size);
    int code = fd < 0 ? fd : fill(fd, text, length, old);
    if (!code && rename(name, path) < 0) {
        code = -errno;
    }
    if (fd >= 0 && code) {
        unlink(name);
    }
    free(name);
    return code;
}

/* fd: the file that is there, opened for writing, so that a protected one is refused. */
static int overwrite(int fd, const char *path, const char *text, size_t length) {
    struct stat old;
    if (fstat(fd, &old) < 0) {
        return -errno;
    }
    if (!S_ISREG(old.st_mode)) {
        return write_all(fd, text, length);
    }
    char *target = realpath(path, NULL); /* a link stays, what it points to is replaced */
    int code = target ? replace(target, text, length, &old) : -errno;
    free(target);
    return code;
}

int sy_write_file(const char *path, const char *text, size_t length, struct sy_error *error) {
    int code, fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        code = overwrite(fd, path, text, length);
        close(fd);
    } else {
        code = errno == ENOENT ? replace(path, text, length, NULL) : -errno;
    }
    return code ? sy_fail_at(error, code, path, 0, 0, "cannot write: %s", strerror(-code)) : 0;
}

int sy_make_folders(const char *path) {
    char *copy = strdup(path);
    int code = copy ? 0 : -ENOMEM;
    for (char *slash = copy; !code && *slash && (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (mkdir(copy, 0777) < 0 && errno != EEXIST) {
            code = -errno;
            /* A read-only parent refuses before it looks whether the folder is there. */
            code = access(copy, F_OK) == 0 ? 0 : code;
        }
        *slash = '/';
    }
    free(copy);
    return code;
}
