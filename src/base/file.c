/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole files in, and the folders of files. write.c has the way out.
 */
#include "base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One byte more than is allowed has room, so that it is noticed. */
static int read_all(int fd, size_t guess, char **ret_text, size_t *ret_length) {
    size_t capacity = guess + 1, length = 0;
    char *text = malloc(capacity);
    for (;;) {
        if (text && length + 1 >= capacity) {
            capacity = capacity * 2 < SY_TEXT_MAX + 2 ? capacity * 2 : SY_TEXT_MAX + 2;
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
        if (length > SY_TEXT_MAX) {
            free(text);
            return -EFBIG;
        }
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
    } else if (!code && info.st_size > (off_t)SY_TEXT_MAX) {
        code = -EFBIG;
    }
    if (!code) {
        size_t guess = info.st_size > 0 ? (size_t)info.st_size + 1 : 4096;
        code = read_all(fd, guess, ret_text, ret_length);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (code == -EFBIG) {
        return sy_fail_at(error, code, path, 0, 0, "cannot read: more than %zu MiB of text",
                          SY_TEXT_MAX >> 20);
    }
    return code ? sy_fail_at(error, code, path, 0, 0, "cannot read: %s", strerror(-code)) : 0;
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
