/* SPDX-License-Identifier: Apache-2.0
 *
 * How totals become rates: wraps, jumps, standstill, and values that are none; and what is pushed.
 */
#include "../base/check.h"
#include "counters/provider.h"

#include <errno.h>
#include <string.h>

#define S 1e9

struct bench {
    struct sy_sources *sources;
    struct sy_sample samples[8];
};

static uint32_t add(struct sy_sources *sources, enum sy_counter_kind kind, struct sy_track track) {
    const struct sy_counter counter = {
        .name = "c", .source = "t", .event = "c", .kind = kind, .unit = "", .pmu = SY_PMU_NONE};
    return sy_add_counter(sources, &counter, &track);
}

static void at(struct bench *bench, double now_ns) {
    bench->sources->now_ns = now_ns;
    bench->sources->samples = bench->samples;
    bench->sources->sample_count = 0;
    bench->sources->sample_capacity = SY_COUNT(bench->samples);
}

/* The rate that a total gives at that time; NAN: no sample. */
static double total(struct bench *bench, uint32_t counter, double now_ns, uint64_t value) {
    at(bench, now_ns);
    sy_put_total(bench->sources, counter, value);
    return bench->sources->sample_count ? bench->samples[0].value : NAN;
}

static int enter(void **state) {
    struct bench *bench = calloc(1, sizeof *bench);
    const struct sy_sources_options options = {0};
    const struct sy_calls calls = {0};
    bench->sources = sy_sources_create(&options, &calls);
    *state = bench;
    return 0;
}

static int leave(void **state) {
    struct bench *bench = *state;
    sy_sources_close(bench->sources);
    free(bench);
    return 0;
}

static void test_plain(void **state) {
    struct bench *bench = *state;
    uint32_t c = add(bench->sources, SY_COUNTER_RATE, (struct sy_track){.scale = 4});
    assert_true(isnan(total(bench, c, 1 * S, 100)));
    assert_near(total(bench, c, 2 * S, 150), 200, 0);
    assert_near(bench->samples[0].start_ns, 1 * S, 0);
    assert_near(total(bench, c, 4 * S, 150), 0, 0);   /* it stood still: idle */
    assert_true(isnan(total(bench, c, 4 * S, 160)));  /* no time passed */
    assert_true(isnan(total(bench, c, 5 * S, 10)));   /* backwards */
    assert_near(total(bench, c, 6 * S, 20), 40, 0);   /* and on from there */
    assert_true(isnan(total(bench, c, 5.5 * S, 30))); /* the clock went backwards */
    assert_near(total(bench, c, 6.5 * S, 40), 40, 0);
    uint64_t high = UINT64_MAX - 5;
    (void)total(bench, c, 7 * S, high);
    assert_near(total(bench, c, 8 * S, high + 3), 12, 0); /* differences do not lose digits */
    sy_put_total(bench->sources, SY_NONE, 1);             /* a counter that is not there */
    sy_forget_total(bench->sources, c);
    assert_true(isnan(total(bench, c, 9 * S, high + 4)));
}

/* A counter of 48 bits, of which not more than 1e10 per second can be had. */
static void test_wrap(void **state) {
    struct bench *bench = *state;
    double range = 281474976710656.0;
    uint32_t c =
        add(bench->sources, SY_COUNTER_RATE, (struct sy_track){.range = range, .rate_max = 1e10});
    (void)total(bench, c, 1 * S, (uint64_t)range - 1000);
    assert_near(total(bench, c, 2 * S, 500), 1500, 0);
    assert_true(isnan(total(bench, c, 3 * S, (uint64_t)1e11))); /* faster than it can */
    assert_near(total(bench, c, 4 * S, (uint64_t)1e11 + 7), 7, 0);
    assert_true(
        isnan(total(bench, c, 5 * S, (uint64_t)1e11 - 7))); /* a step back is no way round */
}

static void test_hold(void **state) {
    struct bench *bench = *state;
    uint32_t c = add(bench->sources, SY_COUNTER_RATE, (struct sy_track){.hold_ns = 0.5 * S});
    (void)total(bench, c, 1 * S, 10);
    assert_true(isnan(total(bench, c, 1.1 * S, 10))); /* not refreshed yet */
    assert_near(total(bench, c, 1.2 * S, 12), 10, 1e-6);
    assert_near(bench->samples[0].start_ns, 1 * S, 0); /* its window went on */
    assert_near(total(bench, c, 2.2 * S, 12), 0, 0);   /* for that long: it is 0 */
}

static void test_values(void **state) {
    struct bench *bench = *state;
    struct sy_sources *sources = bench->sources;
    uint32_t c = add(sources, SY_COUNTER_LEVEL, (struct sy_track){0});
    uint32_t share = add(sources, SY_COUNTER_SHARE, (struct sy_track){0});
    const double wrong[] = {NAN, INFINITY, -INFINITY, -1e-9};
    at(bench, 1 * S);
    for (size_t i = 0; i < SY_COUNT(wrong); i++) {
        sy_put_level(sources, c, wrong[i], 0);
    }
    sy_put_rate(sources, c, 1, 2 * S, 1, 0); /* begins after its end */
    sy_put_rate(sources, c, 1, NAN, 1, 0);   /* nor at no time */
    sy_put_rate(sources, c, 1, 0, 0, 0);     /* did not run */
    assert_int_equal(sources->sample_count, 0);
    sy_put_level(sources, share, 1.7, NAN);
    assert_near(bench->samples[0].value, 1, 0);
    assert_near(bench->samples[0].noise_ratio, 0, 0);
    for (uint32_t i = 0; i < 20; i++) { /* no more than there is room for */
        sy_put_level(sources, c, 1, 0);
    }
    assert_int_equal(sources->sample_count, SY_COUNT(bench->samples));
}

static void test_pushed(void **state) {
    (void)state;
    const char *const kernels[] = {"gemm", "sort", NULL};
    const struct sy_counter told[] = {{.name = "sim.dram0",
                                       .source = "sim",
                                       .event = "dram_bytes",
                                       .kind = SY_COUNTER_RATE,
                                       .unit = "B/s",
                                       .pmu = 7}};
    const struct sy_sources_options options = {
        .only = "tasks,pushed", .kernels = kernels, .pushed = told, .pushed_count = 1};
    struct sy_sources *sources = NULL;
    struct sy_error error = {0};
    struct sy_sample samples[3];
    assert_int_equal(sy_sources_open(&options, &sources, &error), 0);
    assert_int_equal(sources->counter_count, 3);
    assert_int_equal(sy_sources_read(sources, 1, samples, 3), 0);
    assert_int_equal(sy_sources_push_duration(sources, "gemm", 1), 0);
    assert_int_equal(sy_sources_push_duration(sources, "gemm", 3), 0);
    assert_int_equal(sy_sources_push_duration(sources, "gem", 1), -ENOENT);
    assert_int_equal(sy_sources_push_duration(sources, "gemm", NAN), -EINVAL);
    assert_int_equal(sy_sources_push_duration(sources, "gemm", -1), -EINVAL);
    assert_int_equal(sy_sources_push(sources, 2, 5e9, 0.3), 0);
    assert_int_equal(sy_sources_push(sources, 1, 5e9, 0), -ENOENT);
    assert_int_equal(sy_sources_push(sources, 2, INFINITY, 0), -EINVAL);
    assert_int_equal(sy_sources_read(sources, 2, samples, 3), 2);
    assert_near(samples[0].value, 2, 1e-12);
    assert_near(samples[0].noise_ratio, 0.5, 1e-12); /* sqrt(2 / 2) / 2 */
    assert_near(samples[1].value, 5e9, 0);
    assert_near(samples[1].noise_ratio, 0.3, 0);
    assert_int_equal(sy_sources_read(sources, 3, samples, 3), 0); /* given once */
    assert_int_equal(sy_sources_read(sources, NAN, samples, 3), -EINVAL);
    sy_sources_close(sources);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_plain, enter, leave),
        cmocka_unit_test_setup_teardown(test_wrap, enter, leave),
        cmocka_unit_test_setup_teardown(test_hold, enter, leave),
        cmocka_unit_test_setup_teardown(test_values, enter, leave),
        cmocka_unit_test(test_pushed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
