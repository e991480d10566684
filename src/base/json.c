/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON reader: pulls one value at a time from text in memory, and knows where each began.
 */
#include "base/json.h"
#include <errno.h>
#include <string.h>

void sy_json_init(struct sy_json *json, const char *file, const char *text, size_t length,
                  struct sy_error *error) {
    *json = (struct sy_json){.file = file,
                             .end = text + length,
                             .at = text,
                             .line_start = text,
                             .line = 1,
                             .error = error,
                             .value_line = 1,
                             .value_column = 1};
}

void sy_json_finish(struct sy_json *json) {
    sy_buffer_finish(&json->string);
}

int sy_json_fail(struct sy_json *json, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int code =
        sy_fail_list(json->error, json->file, json->value_line, json->value_column, format, args);
    va_end(args);
    return code;
}

/* Marks where we stand as the place an error would speak of. */
static void mark(struct sy_json *json) {
    json->value_line = json->line;
    json->value_column = (uint32_t)(json->at - json->line_start) + 1;
}

static int fail_here(struct sy_json *json, const char *what) {
    mark(json);
    if (json->at >= json->end) {
        return sy_json_fail(json, "%s, but the text ends here", what);
    }
    unsigned char c = (unsigned char)*json->at;
    return c >= 0x20 && c < 0x7f ? sy_json_fail(json, "%s, not '%c'", what, c)
                                 : sy_json_fail(json, "%s, not byte 0x%02x", what, c);
}

static void skip_space(struct sy_json *json) {
    for (; json->at < json->end; json->at++) {
        char c = *json->at;
        if (c == '\n') {
            json->line++;
            json->line_start = json->at + 1;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
    }
}

int sy_json_peek(struct sy_json *json, enum sy_json_type *ret_type) {
    skip_space(json);
    mark(json);
    char c = json->at < json->end ? *json->at : '\0';
    switch (c) {
    case '{':
        *ret_type = SY_JSON_OBJECT;
        return 0;
    case '[':
        *ret_type = SY_JSON_ARRAY;
        return 0;
    case '"':
        *ret_type = SY_JSON_STRING;
        return 0;
    case 't':
    case 'f':
        *ret_type = SY_JSON_BOOL;
        return 0;
    case 'n':
        *ret_type = SY_JSON_NULL;
        return 0;
    default:
        if (c == '-' || (c >= '0' && c <= '9')) {
            *ret_type = SY_JSON_NUMBER;
            return 0;
        }
        /* In the first place the file is likely to be of another kind. */
        return fail_here(json, json->depth ? "expected a value" : "not JSON: expected a value");
    }
}

static int expect(struct sy_json *json, enum sy_json_type type, const char *what) {
    enum sy_json_type found;
    int code = sy_json_peek(json, &found);
    if (code) {
        return code;
    }
    return found == type ? 0 : fail_here(json, what);
}

static bool in_number(char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* What JSON forbids and we allow elsewhere: 01 and -.5. */
static bool starts_badly(const char *at, const char *end) {
    at += *at == '-';
    bool zero = end - at > 1 && at[0] == '0' && at[1] >= '0' && at[1] <= '9';
    return zero || (end > at && *at == '.');
}

int sy_json_number(struct sy_json *json, double *ret_value) {
    int code = expect(json, SY_JSON_NUMBER, "expected a number");
    if (code) {
        return code;
    }
    const char *start = json->at, *at = start;
    while (at < json->end && in_number(*at)) {
        at++;
    }
    if (starts_badly(start, at) || !sy_parse_double(start, (size_t)(at - start), ret_value)) {
        return sy_json_fail(json, "not a number that fits: %.*s",
                            (int)(at - start < 40 ? at - start : 40), start);
    }
    json->at = at;
    return 0;
}

int sy_json_number_in(struct sy_json *json, const char *what, double low, double high,
                      double *ret_value) {
    double value;
    int code = sy_json_number(json, &value);
    if (code) {
        return code;
    }
    if (!(value >= low && value <= high)) {
        sy_json_fail(json, "%s is %g, outside %g .. %g", what, value, low, high);
        return -EINVAL;
    }
    *ret_value = value;
    return 0;
}

static int word(struct sy_json *json, const char *text) {
    size_t length = strlen(text);
    if ((size_t)(json->end - json->at) < length || memcmp(json->at, text, length) != 0) {
        return fail_here(json, "expected true, false or null");
    }
    json->at += length;
    return 0;
}

int sy_json_bool(struct sy_json *json, bool *ret_value) {
    int code = expect(json, SY_JSON_BOOL, "expected true or false");
    if (code) {
        return code;
    }
    bool value = *json->at == 't';
    code = word(json, value ? "true" : "false");
    if (!code) {
        *ret_value = value;
    }
    return code;
}

static int hex4(struct sy_json *json, uint32_t *ret_value) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++, json->at++) {
        const char *digits = "0123456789abcdef0123456789ABCDEF";
        const char *found = json->at < json->end && *json->at ? strchr(digits, *json->at) : NULL;
        if (!found) {
            return fail_here(json, "expected four hexadecimal digits");
        }
        value = value * 16 + (uint32_t)((found - digits) & 15);
    }
    *ret_value = value;
    return 0;
}

static void put_utf8(struct sy_buffer *out, uint32_t c) {
    char bytes[4];
    size_t count = 0;
    if (c < 0x80) {
        bytes[count++] = (char)c;
    } else if (c < 0x800) {
        bytes[count++] = (char)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        bytes[count++] = (char)(0xe0 | c >> 12);
        bytes[count++] = (char)(0x80 | (c >> 6 & 63));
    } else {
        bytes[count++] = (char)(0xf0 | c >> 18);
        bytes[count++] = (char)(0x80 | (c >> 12 & 63));
        bytes[count++] = (char)(0x80 | (c >> 6 & 63));
    }
    if (c >= 0x80) {
        bytes[count++] = (char)(0x80 | (c & 63));
    }
    sy_buffer_append(out, bytes, count);
}

static bool is_first_half(uint32_t c) {
    return c >= 0xd800 && c < 0xdc00;
}

static bool is_second_half(uint32_t c) {
    return c >= 0xdc00 && c < 0xe000;
}

static int second_half(struct sy_json *json, uint32_t *ret_low) {
    const char *start = json->at;
    uint32_t low = 0;
    if (json->end - json->at >= 2 && json->at[0] == '\\' && json->at[1] == 'u') {
        json->at += 2;
        int code = hex4(json, &low);
        if (code) {
            return code;
        }
    }
    if (!is_second_half(low)) {
        json->at = start;
        return fail_here(json, "expected the second half of a surrogate pair");
    }
    *ret_low = low;
    return 0;
}

/* escape_at: the backslash. A NUL is refused because the string could not hold what follows it. */
static int unicode_escape(struct sy_json *json, const char *escape_at) {
    uint32_t c = 0, low = 0;
    int code = hex4(json, &c);
    if (!code && (c == 0 || is_second_half(c))) {
        json->at = escape_at;
        mark(json);
        return sy_json_fail(json, "\\u%04x is not allowed in a string", c);
    }
    if (!code && is_first_half(c)) {
        code = second_half(json, &low);
        c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
    }
    if (!code) {
        put_utf8(&json->string, c);
    }
    return code;
}

static int escape(struct sy_json *json) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *start = json->at++;
    char c = json->at < json->end ? *json->at : '\0';
    const char *found = c ? strchr(from, c) : NULL;
    if (found) {
        sy_buffer_append(&json->string, &to[found - from], 1);
        json->at++;
        return 0;
    }
    if (c == 'u') {
        json->at++;
        return unicode_escape(json, start);
    }
    return fail_here(json, "expected an escape character");
}

static bool is_plain(char c) {
    return c >= 0x20 && (unsigned char)c < 0x80 && c != '"' && c != '\\';
}

/* What is neither plain nor the end: an escape, or a character of several bytes. */
static int special(struct sy_json *json) {
    if (*json->at == '\\') {
        return escape(json);
    }
    size_t length = sy_utf8_length(json->at, (size_t)(json->end - json->at));
    if (!length) {
        return fail_here(json, "expected UTF-8");
    }
    sy_buffer_append(&json->string, json->at, length);
    json->at += length;
    return 0;
}

static int string_body(struct sy_json *json) {
    for (;;) {
        const char *run = json->at;
        while (json->at < json->end && is_plain(*json->at)) {
            json->at++;
        }
        sy_buffer_append(&json->string, run, (size_t)(json->at - run));
        if (json->at >= json->end || (unsigned char)*json->at < 0x20) {
            return fail_here(json, "expected the end of the string");
        }
        if (*json->at == '"') {
            json->at++;
            return 0;
        }
        int code = special(json);
        if (code) {
            return code;
        }
    }
}

int sy_json_string(struct sy_json *json, const char **ret_text, size_t *ret_length) {
    int code = expect(json, SY_JSON_STRING, "expected a string");
    if (code) {
        return code;
    }
    json->at++;
    json->string.length = 0;
    sy_buffer_append(&json->string, "", 0);
    code = string_body(json);
    if (code || json->string.failed) {
        return code ? code : sy_out_of_memory(json->error);
    }
    *ret_text = json->string.text;
    if (ret_length) {
        *ret_length = json->string.length;
    }
    return 0;
}

static int enter(struct sy_json *json, enum sy_json_type type, const char *what) {
    int code = expect(json, type, what);
    if (code) {
        return code;
    }
    if (json->depth == SY_JSON_DEPTH_MAX) {
        return sy_json_fail(json, "nested deeper than %d", SY_JSON_DEPTH_MAX);
    }
    json->at++;
    json->depth++;
    json->first = true;
    return 0;
}

int sy_json_enter_array(struct sy_json *json) {
    return enter(json, SY_JSON_ARRAY, "expected an array");
}

int sy_json_enter_object(struct sy_json *json) {
    return enter(json, SY_JSON_OBJECT, "expected an object");
}

/* 1: an element follows; 0: the container closed. */
static int advance(struct sy_json *json, char close, const char *what) {
    skip_space(json);
    bool first = json->first;
    json->first = false;
    if (json->at < json->end && *json->at == close) {
        json->at++;
        SY_ASSERT(json->depth > 0);
        json->depth--;
        return 0;
    }
    if (!first) {
        if (json->at >= json->end || *json->at != ',') {
            return fail_here(json, what);
        }
        json->at++;
        skip_space(json);
        if (json->at < json->end && *json->at == close) {
            return fail_here(json, "expected a value after the comma");
        }
    }
    return 1;
}

int sy_json_next(struct sy_json *json) {
    return advance(json, ']', "expected ',' or ']'");
}

int sy_json_next_member(struct sy_json *json, const char **ret_name) {
    int code = advance(json, '}', "expected ',' or '}'");
    if (code <= 0) {
        return code;
    }
    const char *name;
    code = sy_json_string(json, &name, NULL);
    if (code) {
        return code;
    }
    skip_space(json);
    if (json->at >= json->end || *json->at != ':') {
        return fail_here(json, "expected ':'");
    }
    json->at++;
    *ret_name = name;
    return 1;
}

static int skip_scalar(struct sy_json *json, enum sy_json_type type) {
    double number;
    bool boolean;
    const char *text;
    switch (type) {
    case SY_JSON_NUMBER:
        return sy_json_number(json, &number);
    case SY_JSON_BOOL:
        return sy_json_bool(json, &boolean);
    case SY_JSON_STRING:
        return sy_json_string(json, &text, NULL);
    default:
        return word(json, "null");
    }
}

int sy_json_skip(struct sy_json *json) {
    enum sy_json_type type;
    const char *name;
    bool object[SY_JSON_DEPTH_MAX + 1]; /* kind of each container entered here */
    uint32_t base = json->depth;
    do {
        int more = 1;
        if (json->depth > base) {
            more = object[json->depth] ? sy_json_next_member(json, &name) : sy_json_next(json);
        }
        if (more < 0) {
            return more;
        }
        if (!more) {
            continue;
        }
        int code = sy_json_peek(json, &type);
        if (!code && (type == SY_JSON_ARRAY || type == SY_JSON_OBJECT)) {
            code = type == SY_JSON_ARRAY ? sy_json_enter_array(json) : sy_json_enter_object(json);
            object[json->depth] = type == SY_JSON_OBJECT;
        } else if (!code) {
            code = skip_scalar(json, type);
        }
        if (code) {
            return code;
        }
    } while (json->depth > base);
    return 0;
}

int sy_json_cut(struct sy_json *json, const char **ret_text, size_t *ret_length) {
    enum sy_json_type type;
    int code = sy_json_peek(json, &type);
    uint32_t line = json->value_line, column = json->value_column;
    const char *start = json->at;
    code = code ? code : sy_json_skip(json);
    if (!code) {
        json->value_line = line;
        json->value_column = column;
        *ret_text = start;
        *ret_length = (size_t)(json->at - start);
    }
    return code;
}

void sy_json_relocate(struct sy_json *json) {
    struct sy_error *error = json->error;
    if (error->line == 1) {
        error->column += json->value_column - 1;
    }
    error->line += error->line ? json->value_line - 1 : json->value_line;
    error->column = error->column ? error->column : json->value_column;
    snprintf(error->file, sizeof error->file, "%s", json->file);
}

int sy_json_end(struct sy_json *json) {
    skip_space(json);
    return json->at == json->end ? 0 : fail_here(json, "expected the end of the text");
}
