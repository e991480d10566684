/* SPDX-License-Identifier: Apache-2.0
 *
 * Names from other people's files made safe for JSON, XML and Paje; times and units.
 */
#include "trace/writer.h"
#include <math.h>
#include <string.h>

/* Length in bytes of the UTF-8 character at text; 0: not one that belongs into a file. */
static size_t character(const char *text) {
    return sy_shown_length(text, strnlen(text, 4));
}

size_t sy_text_characters(const char *text) {
    size_t count = 0;
    for (; *text; count++) {
        size_t length = character(text);
        text += length ? length : 1;
    }
    return count;
}

static void put(struct sy_buffer *buffer, const char *text) {
    sy_buffer_append(buffer, text, strlen(text));
}

void sy_put_json_text(struct sy_buffer *buffer, const char *text) {
    put(buffer, "\"");
    while (*text) {
        size_t length = character(text);
        if (*text == '"' || *text == '\\') {
            put(buffer, "\\");
        }
        sy_buffer_append(buffer, length ? text : "?", length ? length : 1);
        text += length ? length : 1;
    }
    put(buffer, "\"");
}

static const char *xml_entity(char c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

void sy_put_xml_text(struct sy_buffer *buffer, const char *text, size_t characters_max) {
    size_t left = sy_text_characters(text);
    bool cut = left > characters_max;
    for (left = cut ? characters_max - 1 : left; left > 0; left--) {
        size_t length = character(text);
        const char *entity = xml_entity(*text);
        if (entity) {
            put(buffer, entity);
        } else {
            sy_buffer_append(buffer, length ? text : "?", length ? length : 1);
        }
        text += length ? length : 1;
    }
    if (cut) {
        put(buffer, "\xe2\x80\xa6");
    }
}

void sy_put_paje_text(struct sy_buffer *buffer, const char *text) {
    put(buffer, "\"");
    while (*text) {
        /* Paje has no escapes, and its readers disagree on what is not ASCII. */
        bool plain = *text >= 0x20 && *text < 0x7f && *text != '"';
        sy_buffer_append(buffer, plain ? text : *text == '"' ? "'" : "?", 1);
        text++;
    }
    put(buffer, "\"");
}

uint64_t sy_round_ns(double ns) {
    return (uint64_t)(ns + 0.5);
}

void sy_put_us(struct sy_buffer *buffer, uint64_t ns) {
    char text[32], *at = text + sizeof text;
    uint64_t rest = ns;
    for (uint32_t digit = 0; digit < 4 || rest > 0; digit++) {
        if (digit == 3) {
            *--at = '.';
        }
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    }
    sy_buffer_append(buffer, at, (size_t)(text + sizeof text - at));
}

struct sy_time_unit sy_time_unit_for(double duration_ns) {
    static const struct sy_time_unit units[] = {{"ns", 1},     {"\xc2\xb5s", 1e3}, {"ms", 1e6},
                                                {"s", 1e9},    {"min", 60e9},      {"h", 3600e9},
                                                {"d", 86400e9}};
    /* Up to 1,000 of a decimal unit; minutes from ten on, hours from five, days from five. */
    static const double limits_ns[] = {1e3, 1e6, 1e9, 600e9, 5 * 3600e9, 5 * 86400e9};
    size_t i = 0;
    while (i < SY_COUNT(limits_ns) && duration_ns >= limits_ns[i]) {
        i++;
    }
    return units[i];
}

double sy_nice_step(double length, uint32_t count) {
    double raw = length / count, power = pow(10, floor(log10(raw)));
    double digits = raw / power;
    return (digits <= 1 ? 1 : digits <= 2 ? 2 : digits <= 5 ? 5 : 10) * power;
}
