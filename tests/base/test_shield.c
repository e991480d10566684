/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shield.h"
#include "check.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int answers(void *argument, struct sy_buffer *answer) {
    sy_buffer_printf(answer, "%s", (const char *)argument);
    return 7;
}

static int is_long(void *argument, struct sy_buffer *answer) {
    for (uint32_t i = 0; i < *(const uint32_t *)argument; i++) {
        sy_buffer_append(answer, "0123456789abcdef", 16);
    }
    return 0;
}

static int crashes(void *argument, struct sy_buffer *answer) {
    (void)argument, (void)answer;
    signal(SIGABRT, SIG_DFL);
    abort();
}

static int leaves(void *argument, struct sy_buffer *answer) {
    (void)answer;
    exit(*(const int *)argument);
}

static int hangs(void *argument, struct sy_buffer *answer) {
    (void)argument, (void)answer;
    for (;;) {
        pause();
    }
    return 0;
}

/* A process that it leaves behind holds the pipe, and would print. */
static int litters(void *argument, struct sy_buffer *answer) {
    (void)answer;
    if (fork() == 0) {
        hangs(argument, answer);
    }
    printf("this goes nowhere\n");
    fflush(stdout);
    return 0;
}

static struct sy_shield_end shield(int (*work)(void *, struct sy_buffer *), void *argument,
                                   double limit_s, struct sy_buffer *answer) {
    struct sy_shield_end end;
    assert_int_equal(sy_shield(work, argument, limit_s, answer, &end), 0);
    return end;
}

static void answers_come_back(void **state) {
    (void)state;
    struct sy_buffer answer = {0};
    uint32_t count = 100000;
    struct sy_shield_end end = shield(answers, "hello", 600, &answer);
    assert_true(end.returned && end.value == 7 && !end.late && !end.signal);
    assert_int_equal(answer.length, 5);
    assert_memory_equal(answer.text, "hello", 5);
    answer.length = 0;
    assert_true(shield(is_long, &count, 600, &answer).returned);
    assert_int_equal(answer.length, 16 * count);
    assert_memory_equal(answer.text + 16 * (count - 1), "0123456789abcdef", 16);
    sy_buffer_finish(&answer);
}

static void ends_are_told_apart(void **state) {
    (void)state;
    struct sy_buffer answer = {0};
    struct sy_shield_end end = shield(crashes, NULL, 600, &answer);
    assert_true(!end.returned && end.signal == SIGABRT && !end.late);
    for (int status = 0; status < 4; status += 3) {
        end = shield(leaves, &status, 600, &answer);
        assert_true(!end.returned && end.value == status && !end.signal && !end.late);
    }
    end = shield(hangs, NULL, 0.05, &answer);
    assert_true(!end.returned && end.late);
    assert_true(shield(litters, NULL, 600, &answer).returned);
    assert_int_equal(answer.length, 0);
    sy_buffer_finish(&answer);
}

static void loading_is_told_in_words(void **state) {
    (void)state;
    char why[128];
    int three = 3;
    assert_int_equal(sy_shield_load(answers, "", why, sizeof why), 0);
    assert_int_equal(sy_shield_load(crashes, NULL, why, sizeof why), -EFAULT);
    assert_string_equal(why, "crashes when it is loaded (SIGABRT)");
    assert_int_equal(sy_shield_load(leaves, &three, why, sizeof why), -EFAULT);
    assert_string_equal(why, "ends the program when it is loaded (exit status 3)");
    setenv("SYMPH_START_LIMIT", "0.05", 1);
    assert_int_equal(sy_shield_load(hangs, NULL, why, sizeof why), -EFAULT);
    assert_non_null(strstr(why, "does not load within 0.05 s"));
    unsetenv("SYMPH_START_LIMIT");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_come_back),
        cmocka_unit_test(ends_are_told_apart),
        cmocka_unit_test(loading_is_told_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
