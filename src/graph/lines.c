/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of words, and where each word stands: for .dag and tasks.rec files.
 */
#include "graph/internal.h"
#include <string.h>

void sy_lines_init(struct sy_lines *lines, const char *file, const char *text, size_t length,
                   struct sy_error *error) {
    *lines = (struct sy_lines){.file = file,
                               .at = text,
                               .end = text + length,
                               .line_start = text,
                               .line_end = text,
                               .word = text,
                               .word_end = text,
                               .error = error};
}

bool sy_lines_next(struct sy_lines *lines) {
    if (lines->at >= lines->end) {
        return false;
    }
    const char *stop = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    lines->line_start = lines->word = lines->word_end = lines->at;
    lines->line_end = stop ? stop : lines->end;
    lines->at = stop ? stop + 1 : lines->end;
    lines->line++;
    return true;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

bool sy_lines_word(struct sy_lines *lines) {
    const char *at = lines->word_end;
    while (at < lines->line_end && is_blank(*at)) {
        at++;
    }
    lines->word = at;
    while (at < lines->line_end && !is_blank(*at)) {
        at++;
    }
    lines->word_end = at;
    return at > lines->word;
}

int sy_lines_fail(struct sy_lines *lines, const char *format, ...) {
    uint32_t column = (uint32_t)(lines->word - lines->line_start) + 1;
    va_list args;
    va_start(args, format);
    int code = sy_fail_list(lines->error, lines->file, lines->line, column, format, args);
    va_end(args);
    return code;
}

static int fail_number(struct sy_lines *lines, const char *what, const char *form) {
    size_t length = (size_t)(lines->word_end - lines->word);
    if (!length) {
        return sy_lines_fail(lines, "the line ends before the %s", what);
    }
    int shown = length < 40 ? (int)length : 40;
    return sy_lines_fail(lines, "the %s is not %s: %.*s", what, form, shown, lines->word);
}

int sy_lines_u64(struct sy_lines *lines, const char *what, uint64_t limit, uint64_t *ret_value) {
    uint64_t value;
    sy_lines_word(lines);
    if (!sy_parse_u64(lines->word, (size_t)(lines->word_end - lines->word), &value)) {
        return fail_number(lines, what, "a whole number that fits");
    }
    if (value > limit) {
        return sy_lines_fail(lines, "the %s is %llu, but at most %llu is allowed", what,
                             (unsigned long long)value, (unsigned long long)limit);
    }
    *ret_value = value;
    return 0;
}

int sy_lines_double(struct sy_lines *lines, const char *what, double *ret_value) {
    double value;
    sy_lines_word(lines);
    if (!sy_parse_double(lines->word, (size_t)(lines->word_end - lines->word), &value)) {
        return fail_number(lines, what, "a finite number");
    }
    if (value < 0 || value > SY_GRAPH_NUMBER_MAX) {
        return sy_lines_fail(lines, "the %s is %g, outside 0 .. %g", what, value,
                             SY_GRAPH_NUMBER_MAX);
    }
    *ret_value = value;
    return 0;
}
