/* SPDX-License-Identifier: Apache-2.0
 *
 * Files, numbers and growing strings. Number parsing is strict and independent of the locale.
 */
#include "base/base.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
        code =
            read_all(fd, info.st_size > 0 ? (size_t)info.st_size + 1 : 4096, ret_text, ret_length);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (code) {
        sy_fail_at(error, code, path, 0, 0, "cannot read: %s", strerror(-code));
    }
    return code;
}

int sy_write_file(const char *path, const char *text, size_t length, struct sy_error *error) {
    size_t size = strlen(path) + 8;
    char *temporary = malloc(size);
    if (!temporary) {
        return sy_fail_at(error, -ENOMEM, path, 0, 0, "out of memory");
    }
    snprintf(temporary, size, "%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    int code = fd < 0 ? -errno : 0;
    for (size_t done = 0; !code && done < length;) {
        ssize_t put = write(fd, text + done, length - done);
        if (put < 0 && errno != EINTR) {
            code = -errno;
        }
        done += put > 0 ? (size_t)put : 0;
    }
    if (fd >= 0) {
        mode_t mask = umask(0);
        umask(mask);
        if (fchmod(fd, 0666 & ~mask) < 0 && !code) {
            code = -errno;
        }
        if (close(fd) < 0 && !code) {
            code = -errno;
        }
        if ((code || rename(temporary, path) < 0) && !code) {
            code = -errno;
        }
        if (code) {
            unlink(temporary);
        }
    }
    free(temporary);
    return code ? sy_fail_at(error, code, path, 0, 0, "cannot write: %s", strerror(-code)) : 0;
}

bool sy_parse_double(const char *text, size_t length, double *ret_value) {
    /* Eisel-Lemire-like fast path: up to 15 digits and a small exponent are exact in a double. */
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *at = text, *end = text + length;
    bool negative = at < end && *at == '-';
    at += negative;
    uint64_t digits = 0;
    uint32_t count = 0, fraction = 0;
    for (; at < end && isdigit((unsigned char)*at) && count < 16; at++, count++) {
        digits = digits * 10 + (uint64_t)(*at - '0');
    }
    if (at < end && *at == '.' && count) {
        for (at++; at < end && isdigit((unsigned char)*at) && count < 16; at++, count++) {
            digits = digits * 10 + (uint64_t)(*at - '0');
            fraction++;
        }
        if (!fraction) {
            return false;
        }
    }
    if (at == end && count && count <= 15) {
        double value = (double)digits / powers[fraction];
        *ret_value = negative ? -value : value;
        return true;
    }
    if (length == 0 || length > 63 || !(isdigit((unsigned char)text[0]) || text[0] == '-') ||
        memchr(text, 'x', length) || memchr(text, 'X', length)) {
        return false;
    }
    char copy[64], *stop;
    memcpy(copy, text, length);
    copy[length] = '\0';
    double value = strtod(copy, &stop);
    if (stop != copy + length || !isfinite(value)) {
        return false;
    }
    *ret_value = value;
    return true;
}

bool sy_parse_u64(const char *text, size_t length, uint64_t *ret_value) {
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)text[i]) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value)) {
            return false;
        }
    }
    if (length == 0) {
        return false;
    }
    *ret_value = value;
    return true;
}

#define NEAR_MAX 32

static uint32_t edit_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > NEAR_MAX || m > NEAR_MAX) {
        return UINT32_MAX;
    }
    uint32_t row[NEAR_MAX + 1];
    for (uint32_t j = 0; j <= m; j++) {
        row[j] = j;
    }
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t diagonal = row[0];
        row[0] = i;
        for (uint32_t j = 1; j <= m; j++) {
            uint32_t replace = diagonal + (a[i - 1] != b[j - 1]);
            uint32_t gap = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replace < gap ? replace : gap;
        }
    }
    return row[m];
}

const char *sy_nearest(const char *word, const char *const *candidates, size_t count) {
    uint32_t best = (uint32_t)strlen(word) / 2 + 1;
    const char *found = NULL;
    for (size_t i = 0; i < count; i++) {
        uint32_t distance = edit_distance(word, candidates[i]);
        if (distance < best) {
            best = distance;
            found = candidates[i];
        }
    }
    return found;
}

static bool reserve(struct sy_buffer *buffer, size_t more) {
    if (buffer->failed) {
        return false;
    }
    if (buffer->length + more + 1 > buffer->capacity) {
        size_t capacity = (buffer->length + more + 1) * 2;
        char *grown = realloc(buffer->text, capacity);
        if (!grown) {
            buffer->failed = true;
            return false;
        }
        buffer->text = grown;
        buffer->capacity = capacity;
    }
    return true;
}

void sy_buffer_append(struct sy_buffer *buffer, const char *text, size_t length) {
    if (reserve(buffer, length)) {
        memcpy(buffer->text + buffer->length, text, length);
        buffer->length += length;
        buffer->text[buffer->length] = '\0';
    }
}

void sy_buffer_printf(struct sy_buffer *buffer, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int need = vsnprintf(NULL, 0, format, args);
    if (need >= 0 && reserve(buffer, (size_t)need)) {
        vsnprintf(buffer->text + buffer->length, (size_t)need + 1, format, again);
        buffer->length += (size_t)need;
    }
    va_end(again);
    va_end(args);
}

void sy_buffer_finish(struct sy_buffer *buffer) {
    free(buffer->text);
    *buffer = (struct sy_buffer){0};
}
