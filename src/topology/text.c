/* SPDX-License-Identifier: Apache-2.0
 *
 * text: the one-line language, "2x(cpu:12 dram:80GB/s) gpu:4@pcie3x16 fpga:1@regions=4".
 *
 * In: text. Out: parts and socket groups, still unexpanded, so that no repetition costs memory
 * before it is checked. Invariant: every error has line and column. docs/machine-format.md has the
 * grammar.
 */
#include "topology/text.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const item_words[] = {"cpu", "gpu", "fpga", "asic", "dram", "upi"};

int sy_text_fail(struct sy_text *text, const char *at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int code = sy_fail_in(text->error, text->file, text->text, at, format, args);
    va_end(args);
    return code;
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '.' || c == '/' || c == '_' || c == '-' || c == '+';
}

size_t sy_text_word(const struct sy_text *text, const char *at) {
    const char *start = at;
    while (at < text->end && is_word(*at)) {
        at++;
    }
    return (size_t)(at - start);
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct sy_text *text) {
    while (text->at < text->end && is_space(*text->at)) {
        text->at++;
    }
}

int sy_text_count(struct sy_text *text, const char *at, size_t length, const char *what,
                  uint32_t high, uint32_t *ret_count) {
    uint64_t count;
    if (length == 0) {
        return sy_text_fail(text, at, "expected the number of %s", what);
    }
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)at[i])) {
            return sy_text_fail(text, at, "the number of %s must be a whole number, not \"%.*s\"",
                                what, (int)(length < 40 ? length : 40), at);
        }
    }
    if (!sy_parse_u64(at, length, &count) || count > high) {
        return sy_text_fail(text, at, "%.*s %s is too many, at most %u",
                            (int)(length < 40 ? length : 40), at, what, high);
    }
    if (count == 0) {
        sy_text_fail(text, at, "the number of %s must not be zero", what);
        return sy_hint(text->error, "leave it out instead");
    }
    *ret_count = (uint32_t)count;
    return 0;
}

bool sy_text_size(const char *at, size_t length, double *ret_bytes) {
    double bytes;
    bool ok = sy_parse_size(at, length, &bytes) && bytes >= SY_BYTES_MIN && bytes <= SY_BYTES_MAX;
    *ret_bytes = ok ? bytes : *ret_bytes;
    return ok;
}

bool sy_text_time(const char *at, size_t length, double *ret_ns) {
    double ns;
    bool ok = sy_parse_time(at, length, &ns) && ns >= SY_NS_MIN && ns <= SY_NS_MAX;
    *ret_ns = ok ? ns : *ret_ns;
    return ok;
}

int sy_text_bandwidth(struct sy_text *text, const char *at, size_t length,
                      double *ret_bytes_per_s) {
    double bytes_per_s;
    if (!sy_parse_bandwidth(at, length, &bytes_per_s) || !(bytes_per_s >= SY_BYTES_PER_S_MIN) ||
        bytes_per_s > SY_BYTES_PER_S_MAX) {
        sy_text_fail(text, at, "expected a bandwidth, not \"%.*s\"",
                     (int)(length < 40 ? length : 40), at);
        return sy_hint(text->error,
                       "for example 40GB/s; units are B, kB, MB, GB, TB, KiB ... TiB per s");
    }
    *ret_bytes_per_s = bytes_per_s;
    return 0;
}

/* An option of dram or upi: "@memory=64GB", "@latency=300ns". */
static int parse_one_option(struct sy_text *text, const char *name,
                            bool (*parse)(const char *, size_t, double *), double *ret_value) {
    if (text->at == text->end || *text->at != '@') {
        return 0;
    }
    const char *at = text->at + 1;
    size_t length = strlen(name);
    if ((size_t)(text->end - at) <= length || memcmp(at, name, length) != 0 || at[length] != '=') {
        sy_text_fail(text, at, "expected \"%s=\" here", name);
        return sy_hint(text->error, "it is the only option there");
    }
    at += length + 1;
    length = sy_text_word(text, at);
    if (!parse(at, length, ret_value)) {
        sy_text_fail(text, at, "\"%.*s\" is not a value for %s", (int)(length < 40 ? length : 40),
                     at, name);
        return sy_hint(text->error, "a positive number and a unit, such as 64GB or 500ns");
    }
    text->at = at + length;
    return 0;
}

static int parse_dram(struct sy_text *text, struct sy_text_group *group, const char *start) {
    if (group->dram_bytes_per_s > 0) {
        return sy_text_fail(text, start, "dram appears twice for one socket");
    }
    size_t length = sy_text_word(text, text->at);
    int code = sy_text_bandwidth(text, text->at, length, &group->dram_bytes_per_s);
    text->at += code ? 0 : length;
    return code ? code : parse_one_option(text, "memory", sy_text_size, &group->capacity_bytes);
}

static int parse_interconnect(struct sy_text *text, const struct sy_text_group *group,
                              const char *start) {
    if (group != &text->outside) {
        sy_text_fail(text, start, "upi connects sockets and cannot be inside one");
        return sy_hint(text->error, "write it after the closing parenthesis");
    }
    if (text->interconnect_bytes_per_s > 0) {
        return sy_text_fail(text, start, "upi appears twice");
    }
    size_t length = sy_text_word(text, text->at);
    int code = sy_text_bandwidth(text, text->at, length, &text->interconnect_bytes_per_s);
    text->at += code ? 0 : length;
    return code ? code
                : parse_one_option(text, "latency", sy_text_time, &text->interconnect_latency_ns);
}

static int parse_part(struct sy_text *text, enum sy_device_kind kind, uint32_t socket_group,
                      const char *start) {
    struct sy_text_part part = {.kind = kind, .socket_group = socket_group, .at = start};
    char what[32];
    snprintf(what, sizeof what, "%s devices", sy_device_kind_name(kind));
    size_t length = sy_text_word(text, text->at);
    int code = sy_text_count(text, text->at, length, what, SY_DEVICE_MAX, &part.count);
    if (code) {
        return code;
    }
    text->at += length;
    code = sy_text_options(text, &part);
    if (code) {
        return code;
    }
    return sy_append(&text->parts, &text->part_capacity, &text->part_count, &part, sizeof part)
               ? sy_out_of_memory(text->error)
               : 0;
}

static int fail_word(struct sy_text *text, const char *start, size_t length) {
    char word[33];
    snprintf(word, sizeof word, "%.*s", (int)(length < 32 ? length : 32), start);
    if (length == 0) {
        unsigned char c = (unsigned char)*start;
        sy_text_fail(text, start, isprint(c) ? "unexpected '%c'" : "unexpected byte 0x%02x", c);
    } else {
        sy_text_fail(text, start, "\"%s\" is not a part of a machine", word);
    }
    const char *near = sy_nearest(word, item_words, SY_COUNT(item_words));
    if (near) {
        sy_hint(text->error, "did you mean \"%s\"?", near);
    } else {
        sy_hint(text->error, "known are cpu, gpu, fpga, asic, dram, upi and 2x(...)");
    }
    return -EINVAL;
}

/* Items are kept apart by space; only a closing parenthesis may follow one directly. */
static int check_separated(struct sy_text *text) {
    if (text->at == text->end || is_space(*text->at) || *text->at == ')') {
        return 0;
    }
    sy_text_fail(text, text->at, "expected a space, not '%c'",
                 isprint((unsigned char)*text->at) ? *text->at : '?');
    return sy_hint(text->error, "options begin with one @ and are separated by commas");
}

/* One item; the cursor stands at its first letter. group is text->outside or a member of groups. */
static int parse_item(struct sy_text *text, uint32_t socket_group) {
    const char *start = text->at;
    size_t length = 0;
    while (start + length < text->end && isalnum((unsigned char)start[length])) {
        length++;
    }
    size_t kind = 0;
    while (kind < SY_COUNT(item_words) &&
           (strlen(item_words[kind]) != length || memcmp(item_words[kind], start, length) != 0)) {
        kind++;
    }
    if (kind == SY_COUNT(item_words)) {
        return fail_word(text, start, length);
    }
    text->at += length;
    if (text->at == text->end || *text->at != ':') {
        sy_text_fail(text, text->at, "expected ':' after \"%s\"", item_words[kind]);
        return sy_hint(text->error, kind < 4 ? "write %s:1 for one" : "write %s:40GB/s",
                       item_words[kind]);
    }
    text->at++;
    struct sy_text_group *group =
        socket_group == SY_NONE ? &text->outside : &text->groups[socket_group];
    int code = kind == 4   ? parse_dram(text, group, start)
               : kind == 5 ? parse_interconnect(text, group, start)
                           : parse_part(text, (enum sy_device_kind)kind, socket_group, start);
    return code ? code : check_separated(text);
}

/* Behind "2x(": items up to the closing parenthesis. */
static int parse_group_items(struct sy_text *text, const char *open, uint32_t index) {
    for (;;) {
        skip_space(text);
        if (text->at == text->end) {
            sy_text_fail(text, open, "the parenthesis is not closed");
            return sy_hint(text->error, "add ')' after the last part of the socket");
        }
        char c = *text->at;
        if (c == ')') {
            text->at++;
            return 0;
        }
        if (c == '(' || isdigit((unsigned char)c)) {
            sy_text_fail(text, text->at, "a socket cannot contain another socket");
            return sy_hint(text->error, "repetition such as 2x(...) does not nest");
        }
        int code = parse_item(text, index);
        if (code) {
            return code;
        }
    }
}

/* "2x(...)" or "(...)"; the cursor stands at the number or the parenthesis. */
static int parse_group(struct sy_text *text) {
    struct sy_text_group group = {.repeat = 1, .capacity_bytes = INFINITY};
    const char *start = text->at;
    if (*start != '(') {
        size_t length = 0;
        while (start + length < text->end && isdigit((unsigned char)start[length])) {
            length++;
        }
        if (text->end - start - (ptrdiff_t)length < 2 || memcmp(start + length, "x(", 2) != 0) {
            sy_text_fail(text, start + length, "expected \"x(\" after the number of sockets");
            return sy_hint(text->error, "for example 2x(cpu:12 dram:80GB/s)");
        }
        int code = sy_text_count(text, start, length, "sockets", SY_MEMORY_MAX, &group.repeat);
        if (code) {
            return code;
        }
        text->at = start + length + 1;
    }
    if (sy_grow(&text->groups, &text->group_capacity, text->group_count + 1, sizeof group) < 0) {
        return sy_out_of_memory(text->error);
    }
    uint32_t index = text->group_count++;
    text->groups[index] = group;
    const char *open = text->at++;
    int code = parse_group_items(text, open, index);
    return code ? code : check_separated(text);
}

static int parse_items(struct sy_text *text) {
    for (skip_space(text); text->at < text->end; skip_space(text)) {
        char c = *text->at;
        int code =
            c == '(' || isdigit((unsigned char)c) ? parse_group(text) : parse_item(text, SY_NONE);
        if (code) {
            return code;
        }
        if (text->at < text->end && *text->at == ')') {
            return sy_text_fail(text, text->at, "')' closes nothing");
        }
    }
    if (text->part_count == 0) {
        sy_text_fail(text, text->text, "the machine has no device");
        return sy_hint(text->error, "for example \"cpu:8 gpu:1@pcie4x16\"");
    }
    return 0;
}

int sy_machine_read_line(const char *file, const char *name, const char *text, size_t length,
                         struct sy_machine **ret_machine, struct sy_error *error) {
    struct sy_text parser = {.file = file,
                             .text = text,
                             .end = text + length,
                             .at = text,
                             .error = error,
                             .outside = {.repeat = 1, .capacity_bytes = INFINITY}};
    int code = parse_items(&parser);
    code = code ? code : sy_text_build(&parser, name, ret_machine);
    free(parser.parts);
    free(parser.groups);
    return code;
}

int sy_machine_parse(const char *text, struct sy_machine **ret_machine, struct sy_error *error) {
    return sy_machine_read_line("", text, text, strlen(text), ret_machine, error);
}
