/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a text may reach a terminal.
 *
 * In: names and messages, which may come from hostile files. Out: the same where all of it can be
 * seen; what a terminal would obey, what reorders or hides other text, and what is no UTF-8 is
 * spelled out: \n \t \r \x1b \u009b. Invariant: showing twice is showing once.
 */
#include "base/base.h"
#include <string.h>

#define SPELLED_SIZE 12 /* "\U000e0001" and a NUL */

uint32_t sy_utf8_code(const char *text, size_t length) {
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)text[0] & first[length];
    for (size_t i = 1; i < length; i++) {
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    }
    return code;
}

/* Controls; marks that set the direction of text; separators of lines; tags, which are invisible;
 * and what is no character at all. */
static bool is_hidden(uint32_t code) {
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},    {0x200b, 0x200b},
                  {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},  {0xfeff, 0xfeff},
                  {0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe007f}};
    for (size_t i = 0; i < SY_COUNT(ranges) && code >= ranges[i].first; i++) {
        if (code <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

size_t sy_shown_length(const char *text, size_t left) {
    if (left && *text >= ' ' && *text < 0x7f) { /* nearly always */
        return 1;
    }
    size_t length = sy_utf8_length(text, left);
    return length && !is_hidden(sy_utf8_code(text, length)) ? length : 0;
}

/* Of the character at text[0..left), which cannot be shown. Returns how many bytes it has. */
static size_t spell(const char *text, size_t left, char spelled[SPELLED_SIZE]) {
    static const char letters[] = "\nn\tt\rr";
    size_t length = sy_utf8_length(text, left);
    const char *letter = *text ? strchr(letters, *text) : NULL;
    if (letter && (letter - letters) % 2 == 0) {
        snprintf(spelled, SPELLED_SIZE, "\\%c", letter[1]);
    } else if (length < 2) {
        snprintf(spelled, SPELLED_SIZE, "\\x%02x", (unsigned char)*text);
    } else {
        unsigned code = sy_utf8_code(text, length);
        snprintf(spelled, SPELLED_SIZE, code > 0xffff ? "\\U%08x" : "\\u%04x", code);
    }
    return length ? length : 1;
}

void sy_buffer_show(struct sy_buffer *buffer, const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        char spelled[SPELLED_SIZE];
        size_t start = at, step;
        while (at < length && (step = sy_shown_length(text + at, length - at)) > 0) {
            at += step;
        }
        sy_buffer_append(buffer, text + start, at - start);
        if (at < length) {
            at += spell(text + at, length - at, spelled);
            sy_buffer_append(buffer, spelled, strlen(spelled));
        }
    }
}

/* Allocates nothing: what is shown may be that memory ran out. */
char *sy_show(const char *text, char *buffer, size_t size) {
    size_t length = strlen(text), used = 0;
    for (size_t at = 0; at < length;) {
        char spelled[SPELLED_SIZE];
        size_t step = sy_shown_length(text + at, length - at), need = step;
        const char *from = text + at;
        if (!step) {
            step = spell(text + at, length - at, spelled);
            need = strlen(spelled);
            from = spelled;
        }
        if (used + need >= size) {
            break;
        }
        memcpy(buffer + used, from, need);
        used += need;
        at += step;
    }
    buffer[used] = '\0';
    return buffer;
}
