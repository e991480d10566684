/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON writer: the same calls give the same bytes on every machine.
 */
#include "base/json.h"
#include <math.h>
#include <string.h>

static bool is_compact(const struct sy_json_writer *writer) {
    return writer->compact_from && writer->depth >= writer->compact_from;
}

static void new_line(struct sy_json_writer *writer) {
    if (is_compact(writer)) {
        return;
    }
    sy_buffer_append(&writer->buffer, "\n", 1);
    for (uint32_t i = 0; i < writer->depth; i++) {
        sy_buffer_append(&writer->buffer, "  ", 2);
    }
}

/* What stands between the previous element and this one. */
static void separate(struct sy_json_writer *writer) {
    if (writer->after_key) {
        writer->after_key = false;
        return;
    }
    if (writer->depth == 0) {
        return;
    }
    if (!writer->first) {
        sy_buffer_append(&writer->buffer, is_compact(writer) ? ", " : ",",
                         is_compact(writer) ? 2 : 1);
    }
    new_line(writer);
    writer->first = false;
}

void sy_json_open(struct sy_json_writer *writer, char bracket) {
    separate(writer);
    sy_buffer_append(&writer->buffer, &bracket, 1);
    writer->depth++;
    writer->first = true;
}

void sy_json_close(struct sy_json_writer *writer, char bracket) {
    char close = bracket == '{' || bracket == '}' ? '}' : ']';
    bool compact = is_compact(writer), empty = writer->first;
    SY_ASSERT(writer->depth > 0);
    writer->depth--;
    if (!compact && !empty) {
        new_line(writer);
    }
    sy_buffer_append(&writer->buffer, &close, 1);
    writer->first = false;
    if (writer->depth == 0) {
        sy_buffer_append(&writer->buffer, "\n", 1);
    }
}

/* One character that cannot stand as it is. Returns its length in bytes. */
static size_t put_escaped(struct sy_buffer *buffer, const char *text, size_t left) {
    size_t length = sy_utf8_length(text, left);
    if (*text == '"' || *text == '\\') {
        sy_buffer_printf(buffer, "\\%c", *text);
    } else if (!length) {
        sy_buffer_append(buffer, "\xef\xbf\xbd", 3);
        length = 1;
    } else {
        uint32_t code = sy_utf8_code(text, length);
        if (code > 0xffff) { /* as two halves */
            sy_buffer_printf(buffer, "\\u%04x", 0xd7c0 + (code >> 10));
            code = 0xdc00 | (code & 0x3ff);
        }
        sy_buffer_printf(buffer, "\\u%04x", code);
    }
    return length;
}

/* The end of what can be copied as it is. JSON would allow more: all but control characters. */
static const char *plain_end(const char *at, const char *end) {
    while (at < end && *at != '"' && *at != '\\') {
        size_t length = sy_shown_length(at, (size_t)(end - at));
        if (!length) {
            break;
        }
        at += length;
    }
    return at;
}

static void quoted(struct sy_json_writer *writer, const char *text, size_t length) {
    struct sy_buffer *buffer = &writer->buffer;
    const char *end = text + length;
    sy_buffer_append(buffer, "\"", 1);
    for (const char *at = text; at < end;) {
        const char *run = at;
        at = plain_end(run, end);
        sy_buffer_append(buffer, run, (size_t)(at - run));
        at += at < end ? put_escaped(buffer, at, (size_t)(end - at)) : 0;
    }
    sy_buffer_append(buffer, "\"", 1);
}

static void put_key(struct sy_json_writer *writer, const char *key, size_t length) {
    separate(writer);
    quoted(writer, key, length);
    sy_buffer_append(&writer->buffer, ": ", 2);
    writer->after_key = true;
}

void sy_json_key(struct sy_json_writer *writer, const char *key) {
    put_key(writer, key, strlen(key));
}

void sy_json_put_string(struct sy_json_writer *writer, const char *text) {
    if (!text) {
        sy_json_put_null(writer);
        return;
    }
    separate(writer);
    quoted(writer, text, strlen(text));
}

void sy_json_put_number(struct sy_json_writer *writer, double value) {
    if (!isfinite(value)) {
        sy_json_put_null(writer);
        return;
    }
    separate(writer);
    sy_buffer_number(&writer->buffer, value);
}

void sy_json_put_u64(struct sy_json_writer *writer, uint64_t value) {
    separate(writer);
    sy_buffer_printf(&writer->buffer, "%llu", (unsigned long long)value);
}

void sy_json_put_bool(struct sy_json_writer *writer, bool value) {
    separate(writer);
    sy_buffer_append(&writer->buffer, value ? "true" : "false", value ? 4 : 5);
}

void sy_json_put_null(struct sy_json_writer *writer) {
    separate(writer);
    sy_buffer_append(&writer->buffer, "null", 4);
}

void sy_json_put_json(struct sy_json_writer *writer, const char *text, size_t length) {
    separate(writer);
    const char *end = text + length;
    while (end > text && end[-1] == '\n') {
        end--;
    }
    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        const char *stop = line_end ? line_end : end;
        sy_buffer_append(&writer->buffer, text, (size_t)(stop - text));
        if (line_end) {
            new_line(writer); /* a line end stands between values only: in strings it is escaped */
        }
        text = line_end ? line_end + 1 : end;
    }
}

void sy_json_open_member(struct sy_json_writer *writer, const char *key, char bracket) {
    sy_json_key(writer, key);
    sy_json_open(writer, bracket);
}

void sy_json_member_string(struct sy_json_writer *writer, const char *key, const char *text) {
    sy_json_key(writer, key);
    sy_json_put_string(writer, text);
}

void sy_json_member_number(struct sy_json_writer *writer, const char *key, double value) {
    sy_json_key(writer, key);
    sy_json_put_number(writer, value);
}

void sy_json_member_u64(struct sy_json_writer *writer, const char *key, uint64_t value) {
    sy_json_key(writer, key);
    sy_json_put_u64(writer, value);
}

/* at: behind the '%'. Returns what follows. */
static const char *put_argument(struct sy_json_writer *writer, const char *at, va_list *args) {
    size_t longs = strspn(at, "lz");
    char letter = at[longs];
    if (letter == 's') {
        const char *text = va_arg(*args, const char *);
        (at[1] == ':' ? sy_json_key : sy_json_put_string)(writer, text);
    } else if (letter == 'g') {
        sy_json_put_number(writer, va_arg(*args, double));
    } else if (letter == 'd') {
        sy_json_put_bool(writer, va_arg(*args, int) != 0);
    } else {
        SY_ASSERT(letter == 'u' && longs <= 2);
        sy_json_put_u64(writer, longs == 2   ? va_arg(*args, unsigned long long)
                                : longs == 1 ? va_arg(*args, size_t)
                                             : va_arg(*args, unsigned));
    }
    return at + longs + 1;
}

void sy_json_print(struct sy_json_writer *writer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    for (const char *at = format; *at;) {
        if (strchr(":, ", *at)) {
            at++;
        } else if (*at == '{' || *at == '[') {
            sy_json_open(writer, *at++);
        } else if (*at == '}' || *at == ']') {
            sy_json_close(writer, *at++);
        } else if (*at == '%') {
            at = put_argument(writer, at + 1, &args);
        } else {
            size_t length = strcspn(at, ":,]} ");
            SY_ASSERT(at[length] == ':');
            put_key(writer, at, length);
            at += length;
        }
    }
    va_end(args);
}
