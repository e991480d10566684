/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the JSON reader with any bytes, twice: skipped as one value, and walked value by value.
 *
 * Both must agree, to the column of the error. What is accepted is written, read and written again,
 * and must not change.
 */
#include "base/json.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int copy_value(struct sy_json *json, struct sy_json_writer *writer);

static int copy_number(struct sy_json *json, struct sy_json_writer *writer) {
    double number;
    int code = sy_json_number(json, &number);
    if (!code) {
        sy_json_put_number(writer, number);
    }
    return code;
}

static int copy_string(struct sy_json *json, struct sy_json_writer *writer) {
    const char *text;
    size_t length;
    int code = sy_json_string(json, &text, &length);
    if (!code) {
        SY_ASSERT(strlen(text) == length);
        sy_json_put_string(writer, text);
    }
    return code;
}

static int copy_bool(struct sy_json *json, struct sy_json_writer *writer) {
    bool truth;
    int code = sy_json_bool(json, &truth);
    if (!code) {
        sy_json_put_bool(writer, truth);
    }
    return code;
}

static int copy_null(struct sy_json *json, struct sy_json_writer *writer) {
    int code = sy_json_skip(json);
    if (!code) {
        sy_json_put_null(writer);
    }
    return code;
}

static int copy_array(struct sy_json *json, struct sy_json_writer *writer) {
    int code = sy_json_enter_array(json);
    if (code) {
        return code;
    }
    sy_json_open(writer, '[');
    while ((code = sy_json_next(json)) == 1) {
        code = copy_value(json, writer);
        if (code) {
            return code;
        }
    }
    sy_json_close(writer, ']');
    return code;
}

static int copy_object(struct sy_json *json, struct sy_json_writer *writer) {
    const char *name;
    int code = sy_json_enter_object(json);
    if (code) {
        return code;
    }
    sy_json_open(writer, '{');
    while ((code = sy_json_next_member(json, &name)) == 1) {
        sy_json_key(writer, name);
        code = copy_value(json, writer);
        if (code) {
            return code;
        }
    }
    sy_json_close(writer, '}');
    return code;
}

static int copy_value(struct sy_json *json, struct sy_json_writer *writer) {
    static int (*const copies[])(struct sy_json *, struct sy_json_writer *) = {
        [SY_JSON_NULL] = copy_null,     [SY_JSON_BOOL] = copy_bool,
        [SY_JSON_NUMBER] = copy_number, [SY_JSON_STRING] = copy_string,
        [SY_JSON_ARRAY] = copy_array,   [SY_JSON_OBJECT] = copy_object,
    };
    enum sy_json_type type;
    int code = sy_json_peek(json, &type);
    return code ? code : copies[type](json, writer);
}

static int copy_text(const char *text, size_t length, struct sy_buffer *ret_copy,
                     struct sy_error *error) {
    struct sy_json json;
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_init(&json, "fuzz", text, length, error);
    int code = copy_value(&json, &writer);
    code = code ? code : sy_json_end(&json);
    sy_json_finish(&json);
    *ret_copy = writer.buffer;
    return code;
}

static int skip_text(const char *text, size_t length, struct sy_error *error) {
    struct sy_json json;
    sy_json_init(&json, "fuzz", text, length, error);
    int code = sy_json_skip(&json);
    code = code ? code : sy_json_end(&json);
    sy_json_finish(&json);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    struct sy_error error = {0}, other = {0};
    struct sy_buffer once = {0}, twice = {0};
    int code = copy_text(text, size, &once, &error);
    SY_ASSERT(code == skip_text(text, size, &other));
    SY_ASSERT(memcmp(&error, &other, sizeof error) == 0);
    SY_ASSERT((code == 0) == (error.message[0] == '\0'));
    if (code) {
        SY_ASSERT(error.line >= 1 && error.column >= 1 && error.column <= size + 1);
    } else {
        code = copy_text(once.text, once.length, &twice, &error);
        SY_ASSERT(code == 0 && once.length == twice.length);
        SY_ASSERT(memcmp(once.text, twice.text, once.length) == 0);
    }
    sy_buffer_finish(&once);
    sy_buffer_finish(&twice);
    return 0;
}
