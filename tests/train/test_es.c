/* SPDX-License-Identifier: Apache-2.0
 *
 * Evolution strategies find the lowest point of a bowl, with the same bytes each time, and a run
 * that was cut in two is the run that was not.
 */
#include "topology/topology.h"
#include "train/train.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 12, PAIRS = 10, GENERATIONS = 300 };

static const struct sy_es_options options = {
    .seed = 3, .count = COUNT, .pairs = PAIRS, .sigma = 0.1, .rate = 0.05, .keep = 0.9};

/* Lowest at i / 10, ten times as steep in some directions. */
static double bowl(const float *x) {
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        double off = (double)x[i] - i / 10.0;
        sum += (i % 3 ? 1 : 10) * off * off;
    }
    return sum;
}

static void run(struct sy_es *es, int generations) {
    for (int g = 0; g < generations; g++) {
        double scores[2 * PAIRS];
        sy_es_ask(es);
        for (int p = 0; p < 2 * PAIRS; p++) {
            scores[p] = bowl(es->points + (size_t)p * COUNT);
        }
        sy_es_tell(es, scores, (double)es->generation / GENERATIONS);
    }
}

static void finds_the_bottom(void **state) {
    static const float zero[COUNT];
    struct sy_es es;
    (void)state;
    assert_int_equal(sy_es_init(&es, &options, zero), 0);
    double before = bowl(es.average);
    run(&es, GENERATIONS);
    assert_true(bowl(es.average) < before * 1e-3);
    assert_true(bowl(es.average) < 2 * bowl(es.block)); /* averaging does no harm */
    sy_es_finish(&es);
}

static void same_bytes(void **state) {
    static const float zero[COUNT];
    struct sy_es first, second;
    (void)state;
    assert_int_equal(sy_es_init(&first, &options, zero), 0);
    assert_int_equal(sy_es_init(&second, &options, zero), 0);
    run(&first, 20);
    run(&second, 13);
    run(&second, 7);
    assert_memory_equal(first.block, second.block, sizeof zero);
    assert_memory_equal(first.average, second.average, sizeof zero);
    struct sy_es_options other = options;
    other.seed = 4;
    sy_es_finish(&second);
    assert_int_equal(sy_es_init(&second, &other, zero), 0);
    run(&second, 20);
    assert_memory_not_equal(first.block, second.block, sizeof zero);
    sy_es_finish(&first);
    sy_es_finish(&second);
}

static void points_are_antithetic(void **state) {
    static const float zero[COUNT];
    struct sy_es es;
    double squares = 0;
    (void)state;
    assert_int_equal(sy_es_init(&es, &options, zero), 0);
    sy_es_ask(&es);
    for (size_t p = 0; p < PAIRS; p++) {
        for (size_t i = 0; i < COUNT; i++) {
            float plus = es.points[2 * p * COUNT + i], minus = es.points[(2 * p + 1) * COUNT + i];
            assert_true(plus == -minus);
            squares += (double)plus * (double)plus;
        }
    }
    assert_true(fabs(sqrt(squares / (PAIRS * COUNT)) / options.sigma - 1) < 0.25);
    sy_es_finish(&es);
}

/* Scores that are all alike say nothing, and nothing must move. */
static void flat_ground(void **state) {
    static const float zero[COUNT];
    static const double scores[2 * PAIRS];
    struct sy_es es;
    (void)state;
    assert_int_equal(sy_es_init(&es, &options, zero), 0);
    sy_es_ask(&es);
    sy_es_tell(&es, scores, 0);
    assert_memory_equal(es.block, zero, sizeof zero);
    assert_int_equal(es.generation, 1);
    sy_es_finish(&es);
}

static void utilities(void **state) {
    struct sy_utility u;
    struct sy_error error = {0};
    (void)state;
    assert_int_equal(sy_utility_parse("slowdown=1,p99=0.25", &u, &error), 0);
    assert_true(u.weight[SY_MEASURE_SLOWDOWN] == 0.8 && u.weight[SY_MEASURE_P99] == 0.2);
    double cost[SY_MEASURE_COUNT] = {2, 1, 5, 1, 1, 1}, reference[SY_MEASURE_COUNT];
    for (int i = 0; i < SY_MEASURE_COUNT; i++) {
        reference[i] = 1;
    }
    assert_true(fabs(sy_utility_score(&u, cost, reference) - 0.8 * log(2)) < 1e-12);
    static const char *const wrong[] = {"",      "coins",     "slow",         "slowdown=x",
                                        "p99=0", "energy=-1", "slowdown,,p99"};
    for (size_t i = 0; i < SY_COUNT(wrong); i++) {
        error = (struct sy_error){0};
        assert_true(sy_utility_parse(wrong[i], &u, &error) < 0);
        assert_true(error.message[0]);
    }
}

static void prices(void **state) {
    struct sy_machine *machine = NULL;
    struct sy_prices p = sy_prices_default();
    struct sy_error error = {0};
    (void)state;
    assert_int_equal(sy_prices_parse("gpu=3.6/h,cpu=.36/h", &p, &error), 0);
    assert_true(p.per_hour[SY_GPU] == 3.6 && p.per_hour[SY_CPU] == 0.36);
    assert_true(p.per_hour[SY_FPGA] == sy_prices_default().per_hour[SY_FPGA]);
    for (int kind = 0; kind < SY_KIND_COUNT; kind++) { /* those that symph plan assumes */
        double price = sy_default_price_per_hour((enum sy_device_kind)kind);
        assert_true(sy_prices_default().per_hour[kind] == price);
    }
    assert_int_equal(sy_machine_parse("cpu:2 gpu:1@streams=2", &machine, &error), 0);
    double busy_ns[4] = {10e9, 0, 1e9, 1e9}; /* two cores, two streams that share a GPU */
    assert_int_equal(machine->device_count, 4);
    assert_true(fabs(sy_prices_sum(&p, machine, busy_ns) - (1e-3 + 1e-3)) < 1e-12);
    sy_machine_destroy(machine);
    assert_int_equal(sy_prices_parse("gpu=24/day,cpu=0", &p, &error), 0);
    assert_true(p.per_hour[SY_GPU] == 1 && p.per_hour[SY_CPU] == 0);
    static const char *const wrong[] = {"",        "gpu",       "gpu=",      "gpu=-1/h",  "=1/h",
                                        "tpu=1/h", "gpu=1e9/h", "gpu=1/h,,", "gpu=x",     "gpu=1",
                                        "gpu=/h",  "gpu=1/y",   "gpu=1h",    "cpugpu=1/h"};
    for (size_t i = 0; i < SY_COUNT(wrong); i++) {
        error = (struct sy_error){0};
        assert_true(sy_prices_parse(wrong[i], &p, &error) < 0);
        assert_true(error.message[0]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_bottom),
        cmocka_unit_test(same_bytes),
        cmocka_unit_test(points_are_antithetic),
        cmocka_unit_test(flat_ground),
        cmocka_unit_test(utilities),
        cmocka_unit_test(prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
