/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands behind a policy's name: read right, or refused with a reason.
 */
#include "schedulers/policy.h"
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct sy_policy_net net = {"symphony", 7, 3, SY_PART_BELIEF | SY_PART_GUARD};
static const struct sy_scheduler_ops learned = {
    .name = "learned", .takes_number = true, .net = &net};
static const struct sy_scheduler_ops plain = {.name = "plain"};

static struct policy_args good(const char *text) {
    struct sy_error error = {0};
    struct policy_args args = {0};
    int code = sy_policy_args(&learned, text, &args, &error);
    if (code) {
        fail_msg("'%s': %s", text, error.message);
    }
    return args;
}

static void everything_in_its_place(void **state) {
    (void)state;
    struct policy_args args = good("+srpt:12@a/b+c:d.weights~guard~belief");
    assert_int_equal(args.order, ORDER_SRPT);
    assert_int_equal(args.number, 12);
    assert_int_equal(args.weights_length, strlen("a/b+c:d.weights"));
    assert_memory_equal(args.weights, "a/b+c:d.weights", args.weights_length);
    assert_int_equal(args.without, SY_PART_BELIEF | SY_PART_GUARD);
    args = good("");
    assert_true(args.order == ORDER_NONE && !args.number && !args.weights && !args.without);
    args = good("~guard~guard");
    assert_int_equal(args.without, SY_PART_GUARD);
    assert_int_equal(good("+fair~belief").order, ORDER_FAIR);
    assert_int_equal(good("+wspt@x").weights_length, 1);
    assert_int_equal(good(":5@x").number, 5);
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    static const struct {
        const char *text, *message, *hint;
    } wrong[] = {
        {"+lifo~guard", "no job order 'lifo'", "wspt"},
        {":0", "not a number", ""},
        {":x@w", "'x' after learned", ""},
        {":3+fair", "'3+fair'", ""},
        {"@", "no path after '@'", "learned@FILE"},
        {"@~/my.weights", "no path after '@'", "in full"},
        {"@a,b", "commas separate policies", "rename"},
        {"~gard", "no part 'gard'", "'guard'"},
        {"~lstm", "no part 'lstm'", "it has belief, guard"},
        {"~", "no part ''", "belief"},
        {"~guard~", "no part ''", "belief"},
        {"~guard:3", "no part 'guard:3'", "guard"},
        {"x", "not allowed", "NAME+ORDER"},
    };
    for (uint32_t i = 0; i < SY_COUNT(wrong); i++) {
        struct sy_error error = {0};
        struct policy_args args = {.number = 99};
        assert_int_equal(sy_policy_args(&learned, wrong[i].text, &args, &error), -EINVAL);
        if (!strstr(error.message, wrong[i].message) || !strstr(error.hint, wrong[i].hint)) {
            fail_msg("'%s' says: %s (%s)", wrong[i].text, error.message, error.hint);
        }
        assert_int_equal(args.number, 99);
    }
}

static void others_take_none_of_it(void **state) {
    (void)state;
    struct sy_error error = {0};
    struct policy_args args;
    assert_int_equal(sy_policy_args(&plain, "@x", &args, &error), -EINVAL);
    assert_non_null(strstr(error.message, "policy plain has no weights"));
    assert_int_equal(sy_policy_args(&plain, "~guard", &args, &error), -EINVAL);
    assert_non_null(strstr(error.message, "policy plain has no parts"));
    assert_null(sy_scheduler_find("dmdas@x", &(const char *){NULL}, &error));
    assert_non_null(strstr(error.message, "dmdas has no weights"));
    assert_null(sy_scheduler_find("dmdas@x.so", &(const char *){NULL}, &error));
    assert_non_null(strstr(error.message, "dmdas has no weights"));
}

static int open_named(const char *path, struct sy_weights *ret_weights, struct sy_error *error) {
    struct policy_args args = {.weights = path, .weights_length = strlen(path)};
    return sy_policy_weights(&learned, &args, ret_weights, error);
}

static void weights_are_the_right_ones(void **state) {
    (void)state;
    char path[] = "/tmp/symph-names-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    const float block[4] = {1, 2, 3, 4};
    struct sy_weights weights = {.kind = "symphony", .shape = 7, .block = block, .count = 3};
    struct sy_weights others[] = {weights, weights, weights}, back = {0};
    others[0].kind = "black-box";
    others[1].shape = 8;
    others[2].count = 4;
    struct sy_error error = {0};
    for (uint32_t i = 0; i < SY_COUNT(others); i++) {
        assert_int_equal(sy_weights_write(path, &others[i], &error), 0);
        assert_int_equal(open_named(path, &back, &error), -EINVAL);
        assert_string_equal(error.file, path);
        assert_non_null(strstr(error.message, "policy learned needs kind symphony, shape 7"));
    }
    assert_int_equal(sy_weights_write(path, &weights, &error), 0);
    assert_int_equal(open_named(path, &back, &error), 0);
    assert_memory_equal(back.block, block, 3 * sizeof *block);
    sy_weights_close(&back);
    unlink(path);
    assert_int_equal(open_named(path, &back, &error), -ENOENT);
    assert_string_equal(error.file, path);
}

static void parts_have_names(void **state) {
    (void)state;
    for (uint32_t i = 0; sy_policy_part_at(i); i++) {
        const char *name = sy_policy_part_at(i);
        assert_int_equal(sy_policy_part(name, strlen(name)), 1u << i);
        assert_int_equal(sy_policy_part(name, strlen(name) - 1), 0);
    }
    assert_int_equal(sy_policy_part("", 0), 0);
    assert_int_equal(sy_policy_part("net", 3), SY_PART_NET);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_in_its_place), cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(others_take_none_of_it),  cmocka_unit_test(weights_are_the_right_ones),
        cmocka_unit_test(parts_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
