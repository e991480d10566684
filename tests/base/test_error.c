/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include <setjmp.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *formatted(const struct sy_error *error) {
    static char text[1024];
    return sy_error_format(error, text, sizeof text);
}

static void says_what_where_and_how_to_mend_it(void **state) {
    (void)state;
    struct sy_error error;
    assert_int_equal(sy_fail_at(&error, -EINVAL, "a.json", 3, 14, "no task %d", 7), -EINVAL);
    assert_string_equal(formatted(&error), "a.json:3:14: no task 7");
    sy_hint(&error, "there are %s", "six");
    assert_string_equal(formatted(&error), "a.json:3:14: no task 7 (there are six)");
    assert_int_equal(sy_fail_at(&error, -EIO, "a.json", 3, 0, "bad"), -EIO);
    assert_string_equal(formatted(&error), "a.json:3: bad");
    assert_int_equal(sy_fail_at(&error, -ENOENT, "a.json", 0, 0, "bad"), -ENOENT);
    assert_string_equal(formatted(&error), "a.json: bad");
    assert_int_equal(sy_fail_at(&error, -EINVAL, NULL, 1, 9, "bad"), -EINVAL);
    assert_string_equal(formatted(&error), "column 9: bad");
    assert_int_equal(sy_fail(&error, -ENOMEM, "out of %s", "memory"), -ENOMEM);
    assert_string_equal(formatted(&error), "out of memory");
}

static void a_new_error_forgets_the_old(void **state) {
    (void)state;
    struct sy_error error;
    memset(&error, 'x', sizeof error);
    sy_fail_at(&error, -EINVAL, "a.json", 3, 14, "first");
    sy_hint(&error, "mend it");
    sy_fail(&error, -EINVAL, "second");
    assert_string_equal(error.message, "second");
    assert_string_equal(error.file, "");
    assert_string_equal(error.hint, "");
    assert_int_equal(error.line, 0);
    assert_int_equal(error.column, 0);
}

static void nobody_need_listen(void **state) {
    (void)state;
    assert_int_equal(sy_fail(NULL, -EINVAL, "unheard"), -EINVAL);
    assert_int_equal(sy_fail_at(NULL, -EIO, "a", 1, 1, "unheard"), -EIO);
    sy_hint(NULL, "unheard");
}

static void long_texts_are_cut_not_overrun(void **state) {
    (void)state;
    char lengthy[sizeof(struct sy_error)], small[12];
    memset(lengthy, 'a', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = '\0';
    struct sy_error error;
    sy_fail_at(&error, -EINVAL, lengthy, 1, 1, "%s", lengthy);
    sy_hint(&error, "%s", lengthy);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_int_equal(strlen(error.file), sizeof error.file - 1);
    assert_int_equal(strlen(error.hint), sizeof error.hint - 1);
    assert_ptr_equal(sy_error_format(&error, small, sizeof small), small);
    assert_string_equal(small, "aaaaaaaaaaa");
}

static void a_broken_promise_aborts_and_says_which(void **state) {
    (void)state;
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        SY_ASSERT(1 + 1 == 3);
        _exit(0);
    }
    assert_true(child > 0);
    close(ends[1]);
    char text[256];
    ssize_t length = read(ends[0], text, sizeof text - 1);
    assert_true(length > 0);
    text[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, "1 + 1 == 3 does not hold"));
    assert_non_null(strstr(text, "test_error.c:"));
}

static void knows_its_version(void **state) {
    (void)state;
    unsigned major, minor, patch;
    assert_int_equal(sscanf(sy_version(), "%u.%u.%u", &major, &minor, &patch), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_where_and_how_to_mend_it),
        cmocka_unit_test(a_new_error_forgets_the_old),
        cmocka_unit_test(nobody_need_listen),
        cmocka_unit_test(long_texts_are_cut_not_overrun),
        cmocka_unit_test(a_broken_promise_aborts_and_says_which),
        cmocka_unit_test(knows_its_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
