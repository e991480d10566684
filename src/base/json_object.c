/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects whose members are known, and the values that most formats have.
 *
 * In: a reader, and tables of what may come. Out: values, or one error that says what is wrong,
 * where, and what was likely meant.
 */
#include "base/json.h"
#include <math.h>
#include <string.h>

#define MEMBERS_MAX 32u /* bits of seen */

struct sy_json_place sy_json_here(const struct sy_json *json) {
    return (struct sy_json_place){json->value_line, json->value_column};
}

void sy_json_go(struct sy_json *json, struct sy_json_place place) {
    json->value_line = place.line;
    json->value_column = place.column;
}

int sy_json_next_of(struct sy_json *json, const char *what, const char *const *names,
                    uint32_t count, uint32_t *seen, uint32_t *ret_index) {
    const char *name;
    int more = sy_json_next_member(json, &name);
    if (more <= 0) {
        return more;
    }
    SY_ASSERT(count <= MEMBERS_MAX);
    uint32_t i = sy_index_of(name, names, count, sizeof *names);
    if (i != SY_NONE && *seen & 1u << i) {
        return sy_json_fail(json, "\"%s\" appears twice", name);
    }
    if (i != SY_NONE) {
        *seen |= 1u << i;
        *ret_index = i;
        return 1;
    }
    sy_json_fail(json, "%s has no member \"%.60s\"", what, name);
    return sy_hint_names(json->error, name, names, count);
}

int sy_json_members(void *reader, const char *what, const struct sy_json_member *members,
                    uint32_t count) {
    struct sy_json *json = reader;
    const char *names[MEMBERS_MAX];
    uint32_t seen = 0, index = 0;
    SY_ASSERT(count <= MEMBERS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = members[i].name;
    }
    int code = sy_json_enter_object(json);
    struct sy_json_place place = sy_json_here(json);
    while (code >= 0 && (code = sy_json_next_of(json, what, names, count, &seen, &index)) > 0) {
        const struct sy_json_member *member = &members[index];
        code = member->read ? member->read(reader, member) : sy_json_skip(json);
    }
    if (!code) {
        sy_json_go(json, place);
    }
    for (uint32_t i = 0; !code && i < count; i++) {
        if (members[i].required && !(seen & 1u << i)) {
            code = sy_json_fail(json, "%s lacks \"%s\"", what, names[i]);
        }
    }
    return code;
}

int sy_json_read_number(void *reader, const struct sy_json_member *member) {
    return sy_json_number_in(reader, member->name, member->low, member->high, member->out);
}

int sy_json_read_count(void *reader, const struct sy_json_member *member) {
    double value;
    int code = sy_json_number_in(reader, member->name, member->low, member->high, &value);
    if (!code && value != floor(value)) {
        code = sy_json_fail(reader, "%s must be a whole number", member->name);
    }
    if (!code) {
        *(uint32_t *)member->out = (uint32_t)value;
    }
    return code;
}

int sy_json_read_bool(void *reader, const struct sy_json_member *member) {
    return sy_json_bool(reader, member->out);
}

int sy_json_schema(struct sy_json *json, const char *schema, const char *what) {
    const char *text;
    int code = sy_json_string(json, &text, NULL);
    if (!code && strcmp(text, schema) != 0) {
        code = sy_json_fail(json, "\"%.60s\" is not %s", text, what);
        sy_hint(json->error, "this version reads \"%s\"", schema);
    }
    return code;
}

int sy_json_index(struct sy_json *json, const char *what, uint32_t limit, uint32_t *ret_index) {
    double value;
    int code = sy_json_number(json, &value);
    if (code) {
        return code;
    }
    if (!(value >= 0 && value < limit) || value != floor(value)) {
        return sy_json_fail(json, "there is no %s %g: there are %u, numbered from 0", what, value,
                            limit);
    }
    *ret_index = (uint32_t)value;
    return 0;
}

int sy_json_word(struct sy_json *json, const char *what, const char *const *words, uint32_t count,
                 uint32_t *ret_index) {
    const char *text;
    int code = sy_json_string(json, &text, NULL);
    uint32_t i = code ? SY_NONE : sy_index_of(text, words, count, sizeof *words);
    if (!code && i == SY_NONE) {
        sy_json_fail(json, "\"%.40s\" is not %s", text, what);
        return sy_hint_names(json->error, text, words, count);
    }
    *ret_index = code ? *ret_index : i;
    return code;
}

int sy_json_text(struct sy_json *json, struct sy_arena *arena, const char **ret_text) {
    const char *text;
    size_t length;
    int code = sy_json_string(json, &text, &length);
    const char *copy = code ? NULL : sy_arena_strndup(arena, text, length);
    if (!code && !copy) {
        code = sy_out_of_memory(json->error);
    }
    *ret_text = code ? *ret_text : copy;
    return code;
}
