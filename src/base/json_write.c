/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON writer: the same calls give the same bytes on every machine.
 */
#include "base/json.h"
#include <math.h>
#include <stdlib.h>
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

static void quoted(struct sy_json_writer *writer, const char *text) {
    sy_buffer_append(&writer->buffer, "\"", 1);
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\') {
            sy_buffer_printf(&writer->buffer, "\\%c", c);
        } else if (c < 0x20) {
            sy_buffer_printf(&writer->buffer, "\\u%04x", c);
        } else {
            sy_buffer_append(&writer->buffer, at, 1);
        }
    }
    sy_buffer_append(&writer->buffer, "\"", 1);
}

void sy_json_key(struct sy_json_writer *writer, const char *key) {
    separate(writer);
    quoted(writer, key);
    sy_buffer_append(&writer->buffer, ": ", 2);
    writer->after_key = true;
}

void sy_json_put_string(struct sy_json_writer *writer, const char *text) {
    separate(writer);
    quoted(writer, text);
}

void sy_json_put_number(struct sy_json_writer *writer, double value) {
    if (!isfinite(value)) {
        sy_json_put_null(writer);
        return;
    }
    char text[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    separate(writer);
    sy_buffer_append(&writer->buffer, text, strlen(text));
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
