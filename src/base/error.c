/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors for people: what, where, and how to mend it.
 */
#include "base/base.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *sy_version(void) {
    return SYMPH_VERSION;
}

void sy_assert_failed(const char *condition, const char *file, int line) {
    fprintf(stderr, "symph: internal error: %s does not hold (%s:%d)\n", condition, file, line);
    abort();
}

int sy_fail(struct sy_error *error, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sy_fail_list(error, NULL, 0, 0, format, args);
    va_end(args);
    return code;
}

int sy_out_of_memory(struct sy_error *error) {
    return sy_fail(error, -ENOMEM, "out of memory");
}

/* The text may be of the error that is written to. */
int sy_fail_list(struct sy_error *error, const char *file, uint32_t line, uint32_t column,
                 const char *format, va_list args) {
    if (error) {
        struct sy_error failure = {.line = line, .column = column};
        snprintf(failure.file, sizeof failure.file, "%s", file ? file : "");
        vsnprintf(failure.message, sizeof failure.message, format, args);
        *error = failure;
    }
    return -EINVAL;
}

int sy_fail_in(struct sy_error *error, const char *file, const char *text, const char *at,
               const char *format, va_list args) {
    uint32_t line = 1, column = 1;
    for (; text < at; text++) {
        column = *text == '\n' ? 1 : column + 1;
        line += *text == '\n';
    }
    return sy_fail_list(error, file, line, column, format, args);
}

int sy_fail_at(struct sy_error *error, int code, const char *file, uint32_t line, uint32_t column,
               const char *format, ...) {
    va_list args;
    va_start(args, format);
    sy_fail_list(error, file, line, column, format, args);
    va_end(args);
    return code;
}

int sy_hint(struct sy_error *error, const char *format, ...) {
    if (error) {
        va_list args;
        va_start(args, format);
        vsnprintf(error->hint, sizeof error->hint, format, args);
        va_end(args);
    }
    return -EINVAL;
}

int sy_hint_names(struct sy_error *error, const char *word, const char *const *names,
                  size_t count) {
    const char *near = sy_nearest(word, names, count);
    if (near) {
        return sy_hint(error, "did you mean '%s'?", near);
    }
    char list[sizeof error->hint] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof list; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    return sy_hint(error, "known are %s", list);
}

static void put_place(const struct sy_error *error, char *place, size_t size) {
    if (error->file[0] && error->line && error->column) {
        snprintf(place, size, "%s:%u:%u: ", error->file, error->line, error->column);
    } else if (error->file[0] && error->line) {
        snprintf(place, size, "%s:%u: ", error->file, error->line);
    } else if (error->file[0]) {
        snprintf(place, size, "%s: ", error->file);
    } else if (error->column) {
        snprintf(place, size, "column %u: ", error->column);
    }
}

/* Allocates nothing: the error may be that memory ran out. Shown, as it quotes people's files. */
const char *sy_error_format(const struct sy_error *error, char *buffer, size_t size) {
    char place[sizeof error->file + 32] = "", text[sizeof *error + 40];
    put_place(error, place, sizeof place);
    bool hint = error->hint[0] != '\0';
    snprintf(text, sizeof text, "%s%s%s%s%s", place, error->message, hint ? " (" : "", error->hint,
             hint ? ")" : "");
    return size ? sy_show(text, buffer, size) : buffer;
}
