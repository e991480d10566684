/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of weights that were trained on traces: better, worse, or not to be told apart.
 */
#include "../base/check.h"
#include "cli/train/held_out.h"
#include <math.h>
#include <string.h>

static struct sy_held_out with(double low, double ratio, double high) {
    return (struct sy_held_out){.change = {.count = 400, .ratio = ratio, .interval = {low, high}},
                                .graph_count = 16,
                                .by_graph = true};
}

static void assert_said(const struct sy_held_out *held_out, enum sy_train_verdict verdict,
                        const char *sentence) {
    struct sy_buffer text = {0};
    assert_int_equal(sy_held_out_verdict(held_out), verdict);
    sy_held_out_tell(held_out, &text);
    assert_string_equal(text.text, sentence);
    sy_buffer_finish(&text);
}

static void sentences(void **state) {
    (void)state;
    struct sy_held_out better = with(0.97, 0.98, 0.99), worse = with(1.01, 1.02, 1.03);
    struct sy_held_out same = with(0.99, 0.995, 1.001);
    assert_said(&better, SY_TRAIN_BETTER,
                "On the held-out half of the graphs the new weights are better than the shipped "
                "ones. Cost over that of the shipped ones: 0.9800 [0.9700, 0.9900], in 400 worlds "
                "of 16 graphs.");
    assert_said(&worse, SY_TRAIN_WORSE,
                "On the held-out half of the graphs the new weights are worse than the shipped "
                "ones. Cost over that of the shipped ones: 1.0200 [1.0100, 1.0300], in 400 worlds "
                "of 16 graphs.");
    same.by_graph = false;
    same.graph_count = 1;
    assert_said(&same, SY_TRAIN_SAME,
                "On the held-out worlds of the same graph the new weights are not better than the "
                "shipped ones: the difference may be chance. Cost over that of the shipped ones: "
                "0.9950 [0.9900, 1.0010], in 400 worlds of 1 graph.");
    struct sy_held_out unchanged = with(1, 1, 1);
    unchanged.unchanged = true;
    assert_said(&unchanged, SY_TRAIN_SAME,
                "Training found nothing better than the shipped weights in its own validation "
                "worlds: the new weights are the shipped ones.");
}

/* Nobody knows: it is not better. */
static void no_interval(void **state) {
    (void)state;
    struct sy_held_out unknown = with(NAN, 0.5, NAN);
    assert_int_equal(sy_held_out_verdict(&unknown), SY_TRAIN_SAME);
    assert_string_equal(sy_train_verdict_name(SY_TRAIN_SAME), "same");
}

/* Worlds of one graph say less than as many of several. */
static void figures(void **state) {
    (void)state;
    const double score[] = {-0.3, -0.3, -0.3, -0.3, 0.1, 0.1, 0.1, 0.1};
    const uint32_t alone[] = {0, 1, 2, 3, 4, 5, 6, 7}, two[] = {0, 0, 0, 0, 4, 4, 4, 4};
    struct sy_train_figures a = sy_train_measure(score, alone, 8),
                            b = sy_train_measure(score, two, 8);
    assert_true(fabs(a.ratio - exp(-0.1)) < 1e-12 && a.ratio == b.ratio);
    assert_true(a.better == 0.5 && fabs(a.worst - exp(0.1)) < 1e-12);
    assert_true(b.interval.high > a.interval.high && b.interval.low < a.interval.low);
    assert_true(isnan(sy_train_measure(score, alone, 0).ratio));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences),
        cmocka_unit_test(no_interval),
        cmocka_unit_test(figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
