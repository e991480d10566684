/* SPDX-License-Identifier: Apache-2.0
 *
 * Points in two scales: all that can be drawn is, the edge joins only what nothing beats, and names
 * cannot break the file.
 */
#include "sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct sy_buffer draw(const struct sy_scatter_point *points, uint32_t count) {
    static const char *const groups[] = {"cpu", "cpu + <gpu>"};
    const struct sy_scatter scatter = {"A & B", "here", "energy (J)", "items per s",
                                       groups,  2,      points,       count};
    struct sy_buffer buffer = {0};
    sy_scatter_write_svg(&scatter, &buffer);
    sy_buffer_append(&buffer, "", 1);
    assert_false(buffer.failed);
    assert_non_null(strstr(buffer.text, "</svg>\n"));
    assert_true(has_both_schemes(buffer.text));
    assert_null(strstr(buffer.text, "nan"));
    assert_null(strstr(buffer.text, "inf"));
    assert_non_null(strstr(buffer.text, "A &amp; B"));
    assert_non_null(strstr(buffer.text, "cpu + &lt;gpu&gt;"));
    assert_non_null(strstr(buffer.text, "prefers-color-scheme:dark"));
    return buffer;
}

static void edge_and_points(void **state) {
    (void)state;
    const struct sy_scatter_point points[] = {
        {1, 10, 0, "first", "least energy", false},  {2, 30, 1, "second", "chosen", true},
        {3, 20, 1, "beaten", NULL, false},           {4, 40, 1, "third", NULL, false},
        {NAN, 5, 0, "not there", "no label", false}, {2, 0, 0, "not there", NULL, false},
    };
    struct sy_buffer buffer = draw(points, SY_COUNT(points));
    assert_int_equal(count_of(buffer.text, "<circle class=\"p s"),
                     4 + 2); /* and two in the legend */
    assert_int_equal(count_of(buffer.text, "<circle class=\"r\""), 1);
    assert_non_null(strstr(buffer.text, ">chosen<"));
    assert_non_null(strstr(buffer.text, ">least energy<"));
    assert_null(strstr(buffer.text, "no label"));
    const char *edge = strstr(buffer.text, "<path class=\"f\"");
    assert_non_null(edge);
    uint32_t steps = 0;
    for (; *edge != '\n'; edge++) {
        steps += *edge == 'H';
    }
    assert_int_equal(steps, 2); /* from the first to the second to the third */
    sy_buffer_finish(&buffer);
}

static void few_points(void **state) {
    (void)state;
    const struct sy_scatter_point one = {5, 5, 0, NULL, "alone", true};
    struct sy_buffer buffer = draw(&one, 1);
    assert_non_null(strstr(buffer.text, ">alone<"));
    sy_buffer_finish(&buffer);
    buffer = draw(NULL, 0);
    sy_buffer_finish(&buffer);
}

static void powers(void **state) {
    (void)state;
    const struct sy_scatter_point points[] = {{1e-3, 2, 0, "", NULL, false},
                                              {1e3, 900, 0, "", NULL, false}};
    struct sy_buffer buffer = draw(points, 2), again = draw(points, 2);
    assert_non_null(strstr(buffer.text, ">0.001<"));
    assert_non_null(strstr(buffer.text, ">100<"));
    assert_string_equal(buffer.text, again.text);
    sy_buffer_finish(&buffer);
    sy_buffer_finish(&again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edge_and_points),
        cmocka_unit_test(few_points),
        cmocka_unit_test(powers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
