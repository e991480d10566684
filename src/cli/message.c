/* SPDX-License-Identifier: Apache-2.0
 *
 * message: what people read on stderr, and the way data leave on stdout.
 *
 * In: errors, notes, finished buffers. Out: lines that begin with "symph:". Invariant: stdout gets
 * data only, whole or not at all; a full disk is noticed.
 */
#include "cli/cli.h"
#include "cli/threads.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POLICY_SHOWN 80 /* of its name, in the name of a file */

bool sy_message_colour(FILE *stream) {
    const char *no_color = getenv("NO_COLOR");
    return !(no_color && no_color[0]) && isatty(fileno(stream));
}

/* A message quotes files and arguments, and is one line. */
static void print_line(const char *text, bool failure) {
    char shown[4096];
    bool colour = failure && sy_message_colour(stderr);
    fprintf(stderr, "%ssymph:%s %s\n", colour ? "\033[31m" : "", colour ? "\033[0m" : "",
            sy_show(text, shown, sizeof(shown)));
}

void sy_message_error(const struct sy_error *error) {
    char text[2048];
    print_line(sy_error_format(error, text, sizeof(text)), true);
}

int sy_message_code(int code, const struct sy_error *error) {
    if (code) {
        sy_message_error(error);
    }
    return sy_message_exit(code);
}

int sy_message_about(const char *what, const char *text, int code, const struct sy_error *error) {
    char message[2048];
    if (!code || error->file[0]) {
        return sy_message_code(code, error);
    }
    sy_message_fail("%s '%s': %s", what, text, sy_error_format(error, message, sizeof(message)));
    return sy_message_exit(code);
}

void sy_message_fail(const char *format, ...) {
    char text[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    print_line(text, true);
}

void sy_message_note(bool quiet, const char *format, ...) {
    char text[4096];
    if (quiet) {
        return;
    }
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    print_line(text, false);
}

int sy_no_memory(void) {
    sy_message_fail("out of memory");
    return SY_EXIT_FAILED;
}

void *sy_need(void *memory) {
    if (!memory) {
        sy_leave(sy_no_memory());
    }
    return memory;
}

int sy_message_exit(int code) {
    switch (code) {
    case 0:
        return SY_EXIT_OK;
    case -ENOMEM:
    case -EIO:
    case -EDEADLK:
    case -EPROTO:
        return SY_EXIT_FAILED;
    default:
        return SY_EXIT_INPUT;
    }
}

int sy_output_check(const char *path) {
    struct stat status;
    char folder[PATH_MAX] = ".";
    const char *end = strrchr(path, '/');
    int code = 0;
    if (stat(path, &status) == 0) {
        code = S_ISDIR(status.st_mode) ? EISDIR : 0;
    } else {
        if (end) {
            snprintf(folder, sizeof folder, "%.*s", (int)(end - path + (end == path)), path);
        }
        code = access(folder, W_OK) == 0 ? 0 : errno;
    }
    if (code) {
        sy_message_fail("%s: cannot write: %s", path, strerror(code));
    }
    return code ? SY_EXIT_FAILED : SY_EXIT_OK;
}

int sy_output(struct sy_buffer *buffer) {
    int r = sy_output_file("-", buffer);
    sy_buffer_finish(buffer);
    return r;
}

int sy_output_file(const char *path, const struct sy_buffer *buffer) {
    struct sy_error error = {0};
    if (buffer->failed) {
        sy_message_fail("out of memory");
        return SY_EXIT_FAILED;
    }
    if (sy_write_file(path, buffer->text, buffer->length, &error) < 0) {
        sy_message_error(&error);
        return SY_EXIT_FAILED;
    }
    return SY_EXIT_OK;
}

/* As a part of a file's name: a policy's may hold the path of its weights. */
static void put_policy(const char *policy, struct sy_buffer *out) {
    size_t length = strlen(policy), shown = length > POLICY_SHOWN ? POLICY_SHOWN : length;
    for (size_t i = 0; i < shown; i++) {
        bool plain = (unsigned char)policy[i] > ' ' && !strchr("/:=\\\"'*?", policy[i]);
        sy_buffer_append(out, plain ? policy + i : "_", 1);
    }
    if (shown < length) {
        sy_buffer_printf(out, "_%016llx", (unsigned long long)sy_hash(policy, length));
    }
}

void sy_output_path(const char *path, const char *policy, struct sy_buffer *ret_path) {
    struct sy_buffer part = {0};
    if (policy) {
        put_policy(policy, &part);
    }
    sy_buffer_path(ret_path, path, part.text);
    ret_path->failed = ret_path->failed || part.failed;
    sy_buffer_finish(&part);
}
