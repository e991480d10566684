/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors for people: what, where, and how to mend it.
 */
#include "base/base.h"
#include <stdlib.h>
#include <string.h>

#ifndef SYMPH_VERSION
#define SYMPH_VERSION "unknown"
#endif

const char *sy_version(void) {
    return SYMPH_VERSION;
}

void sy_assert_failed(const char *condition, const char *file, int line) {
    fprintf(stderr, "symph: internal error: %s does not hold (%s:%d)\n", condition, file, line);
    abort();
}

int sy_fail(struct sy_error *error, int code, const char *format, ...) {
    if (error) {
        *error = (struct sy_error){0};
        va_list args;
        va_start(args, format);
        vsnprintf(error->message, sizeof error->message, format, args);
        va_end(args);
    }
    return code;
}

int sy_fail_at(struct sy_error *error, int code, const char *file, uint32_t line, uint32_t column,
               const char *format, ...) {
    if (error) {
        *error = (struct sy_error){.line = line, .column = column};
        snprintf(error->file, sizeof error->file, "%s", file ? file : "");
        va_list args;
        va_start(args, format);
        vsnprintf(error->message, sizeof error->message, format, args);
        va_end(args);
    }
    return code;
}

void sy_hint(struct sy_error *error, const char *format, ...) {
    if (error) {
        va_list args;
        va_start(args, format);
        vsnprintf(error->hint, sizeof error->hint, format, args);
        va_end(args);
    }
}

const char *sy_error_format(const struct sy_error *error, char *buffer, size_t size) {
    struct sy_buffer text = {0};
    if (error->file[0]) {
        sy_buffer_printf(&text, "%s:", error->file);
        if (error->line) {
            sy_buffer_printf(&text, "%u:", error->line);
        }
        if (error->column) {
            sy_buffer_printf(&text, "%u:", error->column);
        }
        sy_buffer_printf(&text, " ");
    } else if (error->column) {
        sy_buffer_printf(&text, "column %u: ", error->column);
    }
    sy_buffer_printf(&text, "%s", error->message);
    if (error->hint[0]) {
        sy_buffer_printf(&text, " (%s)", error->hint);
    }
    snprintf(buffer, size, "%s", text.text ? text.text : error->message);
    sy_buffer_finish(&text);
    return buffer;
}
