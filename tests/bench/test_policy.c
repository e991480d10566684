/* SPDX-License-Identifier: Apache-2.0
 *
 * The statistics of symph-bench policy on hand-made outcomes: pairs, the best of a list, tails.
 */
#include "symph-bench/policy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define WORLDS 4

struct made {
    struct sy_suite_outcome outcome;
    const char *policies[3];
    double bound_ns[2];
    struct sy_run runs[3 * WORLDS];
    double slowdown[3 * 4], isolated_ns[4];
};

/* Two graphs, two seeds; the second policy takes half as long, the third met only first seeds. */
static void make(struct made *m) {
    *m = (struct made){.policies = {"slow", "fast", "seldom"}, .bound_ns = {10, 20}};
    m->outcome = (struct sy_suite_outcome){.policies = m->policies,
                                           .policy_count = 3,
                                           .graph_count = 2,
                                           .seed_count = 2,
                                           .world_count = WORLDS,
                                           .bound_ns = m->bound_ns,
                                           .runs = m->runs,
                                           .job_count = 4,
                                           .slowdown = m->slowdown,
                                           .isolated_ns = m->isolated_ns};
    for (int world = 0; world < WORLDS; world++) {
        double each = 100.0 * (world + 1);
        m->isolated_ns[world] = 10 * (world + 1);
        m->runs[world] =
            (struct sy_run){.makespan_ns = each, .slowdown_mean = each, .within_10 = 1};
        m->runs[WORLDS + world] =
            (struct sy_run){.makespan_ns = each / 2, .slowdown_mean = each / 2, .fairness = 0.5};
        m->runs[2 * WORLDS + world] =
            (struct sy_run){.makespan_ns = world % 2 ? NAN : each / 4, .slowdown_mean = each / 4};
        m->slowdown[world] = world + 1;
        m->slowdown[4 + world] = 1;
        m->slowdown[8 + world] = world % 2 ? NAN : 3;
    }
}

static void ratios_are_paired(void **state) {
    (void)state;
    struct made m;
    make(&m);
    struct sy_spread half = sy_outcome_ratio(&m.outcome, 1, 0, SY_BY_SLOWDOWN);
    assert_true(fabs(half.value - 0.5) < 1e-12 && fabs(half.high - half.low) < 1e-12);
    struct sy_spread seldom = sy_outcome_ratio(&m.outcome, 2, 1, SY_BY_MAKESPAN);
    assert_true(fabs(seldom.value - 0.5) < 1e-12);
    assert_true(isnan(sy_outcome_ratio(&m.outcome, 0, SY_NONE, SY_BY_SLOWDOWN).value));
    assert_true(isnan(sy_outcome_ratio(&m.outcome, SY_NONE, 0, SY_BY_SLOWDOWN).value));
    /* makespans over their graph's bound: 100/10, 200/10, 300/20, 400/20 */
    double mean = pow(10 * 20 * 15 * 20, 0.25);
    assert_true(fabs(sy_outcome_mean(&m.outcome, 0, SY_BY_MAKESPAN).value - mean) < 1e-9);
    assert_true(fabs(sy_outcome_graph(&m.outcome, 0, 1) - sqrt(15 * 20)) < 1e-9);
}

static void best_of_a_list(void **state) {
    (void)state;
    struct made m;
    make(&m);
    const char *names[] = {"slow", "gone", "fast"};
    struct sy_text_list list = {names, 3, 3}, none = {names + 1, 1, 1};
    assert_int_equal(sy_outcome_best(&m.outcome, &list, SY_BY_SLOWDOWN), 1);
    assert_int_equal(sy_outcome_best(&m.outcome, &none, SY_BY_SLOWDOWN), SY_NONE);
    assert_int_equal(sy_outcome_find(&m.outcome, "gone"), SY_NONE);
}

static void tails_and_shares(void **state) {
    (void)state;
    struct made m;
    make(&m);
    assert_true(fabs(sy_outcome_p99(&m.outcome, 0, SY_BY_SLOWDOWN) - 3.97) < 1e-9);
    assert_true(fabs(sy_outcome_p99(&m.outcome, 1, SY_BY_COMPLETION) - 39.7) < 1e-9);
    assert_true(fabs(sy_outcome_p99(&m.outcome, 2, SY_BY_SLOWDOWN) - 3) < 1e-12);
    assert_true(sy_outcome_shares(&m.outcome, 0).within_10 == 1);
    assert_true(sy_outcome_shares(&m.outcome, 1).fairness == 0.5);
}

/* Suites count alike, however many worlds they have; one that lacks a policy does not count. */
static void suites_together(void **state) {
    (void)state;
    struct made m[3];
    struct sy_suite_outcome outcomes[3];
    for (int i = 0; i < 3; i++) {
        make(&m[i]);
        outcomes[i] = m[i].outcome;
    }
    outcomes[1].world_count = 1; /* now the second run is the second policy's */
    m[1].runs[1].slowdown_mean = m[1].runs[0].slowdown_mean / 2;
    const struct sy_pair pairs[] = {{1, 0}, {0, 1}, {SY_NONE, 0}};
    struct sy_spread all = sy_outcomes_ratio(outcomes, pairs, 3, SY_BY_SLOWDOWN);
    assert_true(fabs(all.value - 1) < 1e-12);
    assert_true(fabs(all.low - 0.5) < 1e-12 && fabs(all.high - 2) < 1e-12); /* one suite twice */
    const struct sy_pair none[] = {{SY_NONE, 0}, {0, SY_NONE}, {SY_NONE, SY_NONE}};
    assert_true(isnan(sy_outcomes_ratio(outcomes, none, 3, SY_BY_SLOWDOWN).value));
    for (uint32_t i = 0; i < WORLDS; i++) {
        m[0].runs[WORLDS + i].slowdown_mean *= 3;
    }
    struct sy_spread thrice = sy_outcomes_paired(&m[0].outcome, &m[2].outcome, 1, SY_BY_SLOWDOWN);
    assert_true(fabs(thrice.value - 3) < 1e-12);
}

static void tracks(void **state) {
    (void)state;
    struct sy_bench_policy bench = {.suite = "C,speed"};
    const char *word = NULL;
    assert_true(sy_track_wanted(&bench, SY_TRACK_CONTENTION));
    assert_true(sy_track_wanted(&bench, SY_TRACK_SPEED));
    assert_false(sy_track_wanted(&bench, SY_TRACK_STATIC));
    assert_true(sy_tracks_known("S,all", &word));
    assert_false(sy_tracks_known("S,X", &word));
    assert_string_equal(word, "X");
    for (uint32_t i = 0; sy_suite_at(i); i++) {
        assert_true(sy_suite_at(i)->scenario.machine && sy_suite_at(i)->scenario.graphs[0]);
        assert_true(sy_suite_at(i)->track <= SY_TRACK_ABLATION);
    }
}

static void goals_say_hit_or_miss(void **state) {
    (void)state;
    struct sy_goals goals = {0};
    struct sy_json_writer out = {0};
    struct sy_buffer text = {0};
    sy_goals_add(&goals,
                 (struct sy_goal){.policy = "a", .text = "x", .value = {1, 1, 1}, .goal = 1});
    sy_goals_add(&goals,
                 (struct sy_goal){
                     .policy = "b", .text = "x", .value = {1, 1, 1}, .goal = 1, .strict = true});
    sy_goals_add(&goals, (struct sy_goal){.policy = "c", .text = "x", .value = {NAN, NAN, NAN}});
    sy_goals_add(
        &goals,
        (struct sy_goal){
            .policy = "d", .text = "x", .value = {0.9, 0, 1}, .goal = 0.8, .at_least = true});
    sy_goals_add(
        &goals,
        (struct sy_goal){
            .policy = "e", .text = "x", .value = {0.9, 0.8, 1.1}, .goal = 1, .surely = true});
    sy_goals_add(
        &goals, (struct sy_goal){
                    .policy = "f", .text = "x", .value = {0.9, 0.8, 1}, .goal = 1, .surely = true});
    sy_goals_write(&goals, SY_TRACK_STATIC, &out, &text);
    assert_non_null(strstr(text.text, "x     a            <= 1                 1.000  hit"));
    assert_non_null(strstr(text.text, "miss"));
    assert_non_null(strstr(text.text, "not measured"));
    assert_non_null(strstr(text.text, "0.900 [0.000, 1.000]  hit"));
    assert_non_null(strstr(text.text, "0.900 [0.800, 1.100]  miss"));
    assert_non_null(strstr(text.text, "0.900 [0.800, 1.000]  hit"));
    sy_buffer_finish(&text);
    sy_buffer_finish(&out.buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_are_paired),
        cmocka_unit_test(best_of_a_list),
        cmocka_unit_test(tails_and_shares),
        cmocka_unit_test(suites_together),
        cmocka_unit_test(tracks),
        cmocka_unit_test(goals_say_hit_or_miss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
