/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include <setjmp.h>

#include <cmocka.h>

static void names_the_nearest_word(void **state) {
    (void)state;
    static const char *const words[] = {"simulate", "machine", "graph", "bound", "bench"};
    assert_string_equal(sy_nearest("simulte", words, SY_COUNT(words)), "simulate");
    assert_string_equal(sy_nearest("grpah", words, SY_COUNT(words)), "graph");
    assert_string_equal(sy_nearest("bounds", words, SY_COUNT(words)), "bound");
    assert_string_equal(sy_nearest("benhc", words, SY_COUNT(words)), "bench");
    assert_string_equal(sy_nearest("graph", words, SY_COUNT(words)), "graph");
    static const char *const kinds[] = {"cpu", "gpu"};
    assert_string_equal(sy_nearest("gup", kinds, SY_COUNT(kinds)), "gpu");
    assert_string_equal(sy_nearest("sim", words, SY_COUNT(words)), "simulate");
    /* Another word is no misspelling. */
    static const char *const others[] = {"zzzzzz",      "z",    "x",      "plan",
                                         "round-robin", "bash", "matrix", "gr"};
    for (size_t i = 0; i < SY_COUNT(others); i++) {
        const char *near = sy_nearest(others[i], words, SY_COUNT(words));
        if (near) {
            fail_msg("%s for %s", near, others[i]);
        }
    }
    assert_null(sy_nearest("", words, SY_COUNT(words)));
    assert_null(sy_nearest("graph", words, 0));
    assert_null(
        sy_nearest("a word far longer than any that a person would type", words, SY_COUNT(words)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_the_nearest_word)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
