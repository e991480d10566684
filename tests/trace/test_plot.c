/* SPDX-License-Identifier: Apache-2.0
 *
 * Plots of lines with bands: what is drawn, what is left out, and that names cannot break the file.
 */
#include "sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct sy_buffer draw(const struct sy_plot *plot) {
    struct sy_buffer buffer = {0};
    sy_plot_write_svg(plot, &buffer);
    sy_buffer_append(&buffer, "", 1);
    assert_false(buffer.failed);
    assert_non_null(strstr(buffer.text, "</svg>\n"));
    assert_true(has_both_schemes(buffer.text));
    assert_null(strstr(buffer.text, "nan"));
    assert_null(strstr(buffer.text, "inf"));
    return buffer;
}

static void bands_and_gaps(void **state) {
    (void)state;
    const double x[] = {0, 1e9, 2e9, 3e9, 4e9}, y[] = {0.1, 0.2, NAN, 0.4, 0.5};
    const double low[] = {0, 0.1, 0.2, 0.3, 0.4}, high[] = {0.2, 0.3, 0.4, 0.5, 2};
    const struct sy_plot_line line = {"a", x, y, low, high, 5};
    const struct sy_plot_panel panel = {"cpu0", "%", 100, 0, 1, &line, 1};
    const struct sy_plot plot = {"load", "here", "time", true, &panel, 1};
    struct sy_buffer buffer = draw(&plot);
    assert_int_equal(count_of(buffer.text, "<path class=\"f s"),
                     2); /* one band on each side of the gap */
    assert_int_equal(count_of(buffer.text, "<path class=\"l t"), 1);
    assert_non_null(strstr(buffer.text, "time (s)"));
    assert_non_null(strstr(buffer.text, ">100%<"));
    sy_buffer_finish(&buffer);
}

static void several_lines_have_a_legend(void **state) {
    (void)state;
    const double x[] = {10, 20, 30}, y[] = {3, 2, 1};
    const struct sy_plot_line lines[] = {{"ours", x, y, NULL, NULL, 3},
                                         {"theirs", x, y, NULL, NULL, 3}};
    const struct sy_plot_panel panel = {"error", NULL, 0, NAN, NAN, lines, 2};
    const struct sy_plot plot = {"Error", NULL, "events", false, &panel, 1};
    struct sy_buffer buffer = draw(&plot);
    assert_non_null(strstr(buffer.text, ">ours<"));
    assert_non_null(strstr(buffer.text, ">theirs<"));
    assert_int_equal(count_of(buffer.text, "<path class=\"f s"), 0);
    sy_buffer_finish(&buffer);
}

static void nothing_to_draw(void **state) {
    (void)state;
    const struct sy_plot none = {.title = "a"};
    struct sy_buffer buffer = draw(&none);
    sy_buffer_finish(&buffer);
    const double x[] = {NAN, INFINITY}, y[] = {NAN, 1};
    const struct sy_plot_line line = {"a", x, y, y, y, 2};
    const struct sy_plot_panel panel = {NULL, NULL, 0, NAN, NAN, &line, 1};
    const struct sy_plot plot = {NULL, NULL, NULL, true, &panel, 1};
    buffer = draw(&plot);
    sy_buffer_finish(&buffer);
}

static void names_are_escaped(void **state) {
    (void)state;
    const double x[] = {0, 1}, y[] = {0, 1};
    const struct sy_plot_line line = {"<b>", x, y, NULL, NULL, 2};
    const struct sy_plot_line lines[] = {line, line};
    const struct sy_plot_panel panel = {"<&\">", "<", 0, NAN, NAN, lines, 2};
    const struct sy_plot plot = {"<script>", "&", "<", false, &panel, 1};
    struct sy_buffer buffer = draw(&plot);
    assert_null(strstr(buffer.text, "<script"));
    assert_null(strstr(buffer.text, "<b>"));
    assert_null(strstr(buffer.text, "<&"));
    sy_buffer_finish(&buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bands_and_gaps),
        cmocka_unit_test(several_lines_have_a_legend),
        cmocka_unit_test(nothing_to_draw),
        cmocka_unit_test(names_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
