/* SPDX-License-Identifier: Apache-2.0
 *
 * perf's terms: numbers, encodings, scales.
 *
 * In: "event=0x3c,umask=0x1", "64Bytes". Out: numbers and hashes. Invariant: an encoding's meaning
 * does not depend on how its numbers are written.
 */
#include "listing/read.h"
#include <string.h>

const struct sy_short_term sy_short_terms[] = {
    {'a', "any"},         {'c', "cmask"}, {'e', "edge"},     {'f', "fc_mask"}, {'i', "inv"},
    {'o', "offcore_rsp"}, {'l', "ldlat"}, {'r', "frontend"}, {'p', "ch_mask"},
};
const uint32_t sy_short_term_count = SY_COUNT(sy_short_terms);

void sy_put_value(struct sy_buffer *buffer, uint64_t value) {
    char text[20] = "0x";
    uint32_t digits = 1;
    while (digits < 16 && value >> (4 * digits)) {
        digits++;
    }
    for (uint32_t i = 0; i < digits; i++) {
        text[2 + i] = "0123456789abcdef"[value >> (4 * (digits - 1 - i)) & 15];
    }
    sy_buffer_append(buffer, value < 10 ? text + 2 : text, digits + (value < 10 ? 0 : 2));
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool sy_parse_value(const char *text, size_t length, uint64_t *ret_value) {
    if (length < 3 || text[0] != '0' || (text[1] | 0x20) != 'x') {
        return sy_parse_u64(text, length, ret_value);
    }
    uint64_t value = 0;
    for (size_t i = 2; i < length; i++) {
        int digit = hex_digit(text[i]);
        if (digit < 0 || value >> 60) {
            return false;
        }
        value = value << 4 | (uint64_t)digit;
    }
    *ret_value = value;
    return true;
}

double sy_parse_scale(const char *text, const char **ret_unit) {
    size_t length = strspn(text, "0123456789.");
    size_t mantissa = length;
    if (length && (text[length] | 0x20) == 'e') {
        size_t sign = text[length + 1] == '-' || text[length + 1] == '+';
        size_t digits = strspn(text + length + 1 + sign, "0123456789");
        length += digits ? 1 + sign + digits : 0;
    }
    double value;
    if (!sy_parse_double(text, length, &value)) {
        length = mantissa;
        if (!sy_parse_double(text, length, &value)) {
            length = 0;
            value = 1;
        }
    }
    *ret_unit = text + length;
    return value;
}

/* Reads one "key=value" of an encoding; false: none is left. */
static const char *next_term(const char *at, size_t *ret_key, size_t *ret_length) {
    size_t length = strcspn(at, ",");
    const char *equal = memchr(at, '=', length);
    *ret_key = equal ? (size_t)(equal - at) : length;
    *ret_length = length;
    return length ? at : NULL;
}

static bool is_key(const char *term, size_t key, const char *word) {
    return key == strlen(word) && memcmp(term, word, key) == 0;
}

static uint64_t mix(uint64_t hash, const char *text, size_t length) {
    return (hash ^ sy_hash(text, length)) * 0x9e3779b97f4a7c15u;
}

void sy_event_digest(struct sy_event *event) {
    size_t key, length;
    uint64_t value;
    event->code = event->umask = event->modifiers = 0;
    bool first = true;
    for (const char *at = event->encoding, *term; (term = next_term(at, &key, &length));
         at = term[length] ? term + length + 1 : term + length) {
        const char *text = term + key + 1;
        bool number = key < length && sy_parse_value(text, length - key - 1, &value);
        if (number && is_key(term, key, "umask")) {
            event->umask = value;
        } else if (number && first) {
            event->code = value;
            if (!is_key(term, key, "event")) {
                event->modifiers = mix(event->modifiers, term, key);
            }
        } else {
            event->modifiers = mix(event->modifiers, term, length);
        }
        first = false;
    }
    if (event->privilege[0]) {
        event->modifiers = mix(event->modifiers, event->privilege, strlen(event->privilege));
    }
}
