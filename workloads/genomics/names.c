/* SPDX-License-Identifier: Apache-2.0
 *
 * Names for headers: see names.h.
 */
#include "genomics/names.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool gn_name_allows(char byte, bool first) {
    static const char not [] = "\\,\"'`()[]{}<>";
    return byte > ' ' && byte < 0x7F && !strchr(not, byte) &&
           !(first && (byte == '*' || byte == '='));
}

/* Bytes of the character that begins here; 0: it is no UTF-8. */
static size_t character(const unsigned char *text) {
    static const struct {
        unsigned char mask, head;
        uint32_t least;
    } kinds[] = {{0x80, 0, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
    for (size_t more = 0; more < sizeof kinds / sizeof kinds[0]; more++) {
        if ((text[0] & kinds[more].mask) != kinds[more].head) {
            continue;
        }
        uint32_t code = text[0] & (unsigned char)~kinds[more].mask;
        for (size_t i = 1; i <= more; i++) {
            if ((text[i] & 0xC0) != 0x80) { /* also where the text ends */
                return 0;
            }
            code = code << 6 | (text[i] & 0x3F);
        }
        bool surrogate = code >= 0xD800 && code < 0xE000;
        return code >= kinds[more].least && code < 0x110000 && !surrogate ? more + 1 : 0;
    }
    return 0;
}

/* The same, but 0 for control characters, too. */
static size_t visible(const unsigned char *text) {
    size_t length = character(text);
    bool control =
        text[0] < ' ' || text[0] == 0x7F || (length == 2 && text[0] == 0xC2 && text[1] < 0xA0);
    return control ? 0 : length;
}

const char *gn_sample_wrong(const char *name, bool sam) {
    const unsigned char *at = (const unsigned char *)name;
    if (!*at) {
        return "is empty";
    }
    for (size_t length; *at; at += length) {
        length = visible(at);
        if (length == 0) {
            return *at < 0x80 || character(at) ? "has a control character in it" : "is not UTF-8";
        }
        if (length > 1 && sam) {
            return "is not ASCII, as names in BAM and CRAM files must be";
        }
    }
    return NULL;
}

char *gn_header_text(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    char *copy = malloc(3 * strlen(text) + 1), *to = copy;
    while (copy && *at) {
        size_t length = visible(at);
        if (length == 0) {
            to += sprintf(to, "%%%02X", *at++);
        } else {
            memcpy(to, at, length);
            to += length;
            at += length;
        }
    }
    if (copy) {
        *to = '\0';
    }
    return copy;
}

bool gn_ends_with(const char *text, const char *end) {
    size_t length = strlen(text), size = strlen(end);
    return length >= size && strcasecmp(text + length - size, end) == 0;
}

const char *gn_byte_text(char byte, char text[GN_BYTE_TEXT]) {
    snprintf(text, GN_BYTE_TEXT, byte > ' ' && byte < 0x7F ? "'%c'" : "byte 0x%02X",
             (unsigned char)byte);
    return text;
}
