/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing strings and UTF-8. The same bytes in every locale.
 */
#include "base/base.h"
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The well-formed sequences, by first byte: Unicode Standard, table 3-7. */
static const struct form {
    unsigned char first, last; /* range of the first byte */
    unsigned char low, high;   /* range of the second */
    uint8_t length;
} forms[] = {{0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
             {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
             {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

static bool has_form(const struct form *form, const unsigned char *s, size_t left) {
    if (form->length > left || (form->length > 1 && (s[1] < form->low || s[1] > form->high))) {
        return false;
    }
    for (size_t i = 2; i < form->length; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return false;
        }
    }
    return true;
}

size_t sy_utf8_length(const char *text, size_t left) {
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = 0; left && i < SY_COUNT(forms); i++) {
        if (s[0] >= forms[i].first && s[0] <= forms[i].last) {
            return has_form(&forms[i], s, left) ? forms[i].length : 0;
        }
    }
    return 0;
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

/* Prints into what is left of the buffer. Returns the length needed, which may be more. */
__attribute__((format(printf, 2, 0))) static int print(struct sy_buffer *buffer, const char *format,
                                                       va_list args) {
    size_t left = buffer->capacity - buffer->length;
    va_list copy;
    va_copy(copy, args);
    int need = vsnprintf(left ? buffer->text + buffer->length : NULL, left, format, copy);
    va_end(copy);
    return need;
}

static void print_grown(struct sy_buffer *buffer, const char *format, va_list args) {
    int need = print(buffer, format, args);
    if (need >= 0 && (size_t)need >= buffer->capacity - buffer->length &&
        reserve(buffer, (size_t)need)) {
        need = print(buffer, format, args);
    }
    buffer->failed = buffer->failed || need < 0;
    buffer->length += buffer->failed ? 0 : (size_t)need;
}

void sy_buffer_printf(struct sy_buffer *buffer, const char *format, ...) {
    if (buffer->failed) {
        return;
    }
    /* A program that uses the library may have chosen a locale that writes 1.5 as 1,5. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), old = uselocale(plain);
    va_list args;
    va_start(args, format);
    print_grown(buffer, format, args);
    va_end(args);
    uselocale(old);
    if (plain) {
        freelocale(plain);
    }
}

/* Up to 15 digits survive a double, so %.15g (which drops final zeros) has no more than needed. */
uint32_t sy_index_of(const char *name, const void *things, uint32_t count, size_t size) {
    for (uint32_t i = 0; i < count; i++) {
        const void *thing = (const char *)things + i * size;
        if (strcmp(*(const char *const *)thing, name) == 0) {
            return i;
        }
    }
    return SY_NONE;
}

void sy_buffer_number(struct sy_buffer *buffer, double value) {
    static const int digits[] = {6, 15, 16, 17};
    size_t start = buffer->length;
    double back = NAN;
    for (size_t i = 0; i < SY_COUNT(digits) && back != value && !buffer->failed; i++) {
        buffer->length = start;
        sy_buffer_printf(buffer, "%.*g", digits[i], value);
        if (!buffer->failed) {
            (void)sy_parse_double(buffer->text + start, buffer->length - start, &back);
        }
    }
}

void sy_buffer_path(struct sy_buffer *buffer, const char *path, const char *part) {
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    size_t stem = dot && part ? (size_t)(dot - path) : strlen(path);
    sy_buffer_append(buffer, path, stem);
    if (part) {
        sy_buffer_append(buffer, ".", 1);
        sy_buffer_append(buffer, part, strlen(part));
        sy_buffer_append(buffer, path + stem, strlen(path + stem));
    }
    sy_buffer_append(buffer, "", 1);
}

void sy_buffer_finish(struct sy_buffer *buffer) {
    free(buffer->text);
    *buffer = (struct sy_buffer){0};
}
