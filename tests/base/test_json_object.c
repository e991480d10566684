/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects by a table: what is read, and what is said of what is wrong, where.
 */
#include "base/json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct thing {
    double size;
    uint32_t count, kind, index;
    bool flat;
};

static int read_kind(void *reader, const struct sy_json_member *member) {
    return sy_json_word(reader, "a kind", (const char *const[]){"round", "square"}, 2, member->out);
}

static int read_index(void *reader, const struct sy_json_member *member) {
    return sy_json_index(reader, "thing", 3, member->out);
}

static int read_schema(void *reader, const struct sy_json_member *member) {
    (void)member;
    return sy_json_schema(reader, "thing-1", "a thing");
}

static int read_thing(const char *text, struct thing *thing, struct sy_error *error) {
    const struct sy_json_member members[] = {
        {"schema", read_schema},
        {"size", sy_json_read_number, &thing->size, 0, 10, .required = true},
        {"count", sy_json_read_count, &thing->count, 1, 5},
        {"kind", read_kind, &thing->kind},
        {"index", read_index, &thing->index},
        {"flat", sy_json_read_bool, &thing->flat},
        {"note"},
    };
    struct sy_json json;
    sy_json_init(&json, "f", text, strlen(text), error);
    int code = sy_json_members(&json, "a thing", members, SY_COUNT(members));
    code = code ? code : sy_json_end(&json);
    sy_json_finish(&json);
    return code;
}

static void reads_what_it_knows(void **state) {
    (void)state;
    struct thing thing = {0};
    struct sy_error error = {0};
    assert_int_equal(
        read_thing("{\"note\": [1, {}], \"kind\": \"square\", \"size\": 2.5, \"count\": "
                   "5, \"index\": 2, \"flat\": true, \"schema\": \"thing-1\"}",
                   &thing, &error),
        0);
    assert_true(thing.size == 2.5 && thing.flat);
    assert_int_equal(thing.count, 5);
    assert_int_equal(thing.kind, 1);
    assert_int_equal(thing.index, 2);
}

static void says_what_is_wrong(void **state) {
    (void)state;
    static const struct {
        const char *text, *message, *hint;
        uint32_t column;
    } cases[] = {
        {"{\"size\": 1, \"siez\": 1}", "a thing has no member \"siez\"", "did you mean 'size'?",
         13},
        {"{\"size\": 1, \"qqqqq\": 1}", "has no member \"qqqqq\"", "known are schema, size", 13},
        {"{\"size\": 1, \"size\": 2}", "\"size\" appears twice", "", 13},
        {" {\"count\": 1}", "a thing lacks \"size\"", "", 2},
        {"{\"size\": 11}", "size is 11, outside", "", 10},
        {"{\"size\": 1, \"count\": 1.5}", "count must be a whole number", "", 22},
        {"{\"kind\": \"oval\"}", "\"oval\" is not a kind", "known are round, square", 10},
        {"{\"index\": 3}", "there is no thing 3: there are 3, numbered from 0", "", 11},
        {"{\"schema\": \"thing-2\"}", "\"thing-2\" is not a thing", "reads \"thing-1\"", 12},
        {"[]", "expected an object", "", 1},
    };
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct thing thing = {0};
        struct sy_error error = {0};
        assert_true(read_thing(cases[i].text, &thing, &error) < 0);
        if (!strstr(error.message, cases[i].message) || !strstr(error.hint, cases[i].hint) ||
            error.column != cases[i].column) {
            fail_msg("%s: column %u: %s (%s)", cases[i].text, error.column, error.message,
                     error.hint);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_knows),
        cmocka_unit_test(says_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
