/* SPDX-License-Identifier: Apache-2.0
 *
 * CSV lines and fields with positions.
 */
#include "base/csv.h"
#include <string.h>

#define IDENTITY_DIGITS 16

void sy_csv_init(struct sy_csv *csv, const char *file, const char *text, size_t length,
                 struct sy_error *error) {
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        length -= 3;
    }
    *csv = (struct sy_csv){.file = file, .end = text + length, .next_line = text, .error = error};
    csv->line_start = csv->line_end = csv->at = csv->field = text;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && is_blank(*at)) {
        at++;
    }
    return at;
}

bool sy_csv_next_line(struct sy_csv *csv) {
    while (csv->next_line < csv->end) {
        const char *start = csv->next_line;
        const char *newline = memchr(start, '\n', (size_t)(csv->end - start));
        const char *end = newline ? newline : csv->end;
        csv->next_line = newline ? newline + 1 : csv->end;
        csv->line++;
        const char *content = skip_blanks(start, end);
        if (content == end || *content == '#') {
            continue;
        }
        csv->line_start = csv->at = csv->field = start;
        csv->line_end = end;
        csv->field_length = 0;
        csv->column = 1;
        csv->more = true;
        return true;
    }
    return false;
}

int sy_csv_fail(struct sy_csv *csv, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int code = sy_fail_list(csv->error, csv->file, csv->line, csv->column, format, args);
    va_end(args);
    return code;
}

static void set_position(struct sy_csv *csv, const char *at) {
    csv->column = (uint32_t)(at - csv->line_start) + 1;
}

static int quoted_field(struct sy_csv *csv, const char *what, const char *open) {
    const char *close = memchr(open + 1, '"', (size_t)(csv->line_end - open - 1));
    if (!close) {
        return sy_csv_fail(csv, "%s: the quote is not closed on this line", what);
    }
    const char *after = skip_blanks(close + 1, csv->line_end);
    if (after < csv->line_end && *after != ',') {
        set_position(csv, after);
        return sy_csv_fail(csv, "%s: expected a comma after the closing quote", what);
    }
    csv->field = open + 1;
    csv->field_length = (size_t)(close - csv->field);
    csv->more = after < csv->line_end;
    csv->at = csv->more ? after + 1 : after;
    return 0;
}

static int check_characters(struct sy_csv *csv, const char *what) {
    for (size_t i = 0; i < csv->field_length; i++) {
        unsigned char c = (unsigned char)csv->field[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            set_position(csv, csv->field + i);
            return sy_csv_fail(csv, "%s contains the control character 0x%02x", what, c);
        }
    }
    return 0;
}

int sy_csv_field(struct sy_csv *csv, const char *what) {
    set_position(csv, csv->at);
    if (!csv->more) {
        return sy_csv_fail(csv, "the line ends where %s is expected", what);
    }
    const char *start = skip_blanks(csv->at, csv->line_end);
    set_position(csv, start);
    if (start < csv->line_end && *start == '"') {
        int code = quoted_field(csv, what, start);
        return code ? code : check_characters(csv, what);
    }
    const char *comma = memchr(start, ',', (size_t)(csv->line_end - start));
    const char *end = comma ? comma : csv->line_end;
    csv->more = comma != NULL;
    csv->at = comma ? comma + 1 : end;
    while (end > start && is_blank(end[-1])) {
        end--;
    }
    csv->field = start;
    csv->field_length = (size_t)(end - start);
    return check_characters(csv, what);
}

int sy_csv_name(struct sy_csv *csv, const char *what, struct sy_arena *arena,
                const char **ret_name) {
    int code = sy_csv_field(csv, what);
    if (code) {
        return code;
    }
    if (csv->field_length == 0) {
        return sy_csv_fail(csv, "%s is empty", what);
    }
    const char *name = sy_arena_strndup(arena, csv->field, csv->field_length);
    if (!name) {
        return sy_out_of_memory(csv->error);
    }
    *ret_name = name;
    return 0;
}

/* What an error may quote of a field that can be of any length. */
static int shown(const struct sy_csv *csv) {
    return csv->field_length < 40 ? (int)csv->field_length : 40;
}

int sy_csv_number(struct sy_csv *csv, const char *what, double low, double high,
                  double *ret_value) {
    int code = sy_csv_field(csv, what);
    if (code) {
        return code;
    }
    double value;
    if (!sy_parse_double(csv->field, csv->field_length, &value)) {
        return sy_csv_fail(csv, "%s must be a finite number, not \"%.*s\"", what, shown(csv),
                           csv->field);
    }
    if (!(value >= low && value <= high)) {
        return sy_csv_fail(csv, "%s is %.*s, outside %g..%g", what, shown(csv), csv->field, low,
                           high);
    }
    *ret_value = value;
    return 0;
}

int sy_csv_u64(struct sy_csv *csv, const char *what, uint64_t *ret_value) {
    int code = sy_csv_field(csv, what);
    if (code) {
        return code;
    }
    uint64_t value;
    if (!sy_parse_u64(csv->field, csv->field_length, &value)) {
        return sy_csv_fail(csv, "%s must be a whole number, not \"%.*s\"", what, shown(csv),
                           csv->field);
    }
    *ret_value = value;
    return 0;
}

static int hex_value(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int sy_csv_identity(struct sy_csv *csv, const char *what, uint64_t *ret_identity) {
    int code = sy_csv_field(csv, what);
    uint64_t identity = 0;
    for (size_t i = 0; !code && i < csv->field_length; i++) {
        int digit = hex_value(csv->field[i]);
        if (digit < 0 || csv->field_length != IDENTITY_DIGITS) {
            return sy_csv_fail(csv, "%s must be %d hexadecimal digits, or empty", what,
                               IDENTITY_DIGITS);
        }
        identity = identity << 4 | (uint64_t)digit;
    }
    if (!code) {
        *ret_identity = identity;
    }
    return code;
}

int sy_csv_end_line(struct sy_csv *csv) {
    if (!csv->more) {
        return 0;
    }
    set_position(csv, csv->at);
    return sy_csv_fail(csv, "unexpected further field");
}

bool sy_csv_is(const struct sy_csv *csv, const char *text) {
    return strlen(text) == csv->field_length && memcmp(text, csv->field, csv->field_length) == 0;
}

static void hint_header(struct sy_csv *csv, const char *const *names, uint32_t count) {
    struct sy_buffer list = {0};
    for (uint32_t i = 0; i < count; i++) {
        sy_buffer_printf(&list, "%s%s", i ? "," : "", names[i]);
    }
    if (!list.failed && list.text) {
        sy_hint(csv->error, "the first line must be %s", list.text);
    }
    sy_buffer_finish(&list);
}

int sy_csv_header(struct sy_csv *csv, const char *const *names, uint32_t count) {
    int code = 0;
    if (!sy_csv_next_line(csv)) {
        csv->line = csv->column = 1;
        code = sy_csv_fail(csv, "the file is empty");
    }
    for (uint32_t i = 0; !code && i < count; i++) {
        code = sy_csv_field(csv, names[i]);
        if (!code && !sy_csv_is(csv, names[i])) {
            code = sy_csv_fail(csv, "expected column \"%s\", not \"%.*s\"", names[i], shown(csv),
                               csv->field);
        }
    }
    code = code ? code : sy_csv_end_line(csv);
    if (code) {
        hint_header(csv, names, count);
    }
    return code;
}
