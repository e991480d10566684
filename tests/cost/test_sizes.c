/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/store.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#define SEED 3

static int setup(void **state) {
    *state = sy_store_create();
    return *state ? 0 : -1;
}

static int teardown(void **state) {
    sy_store_close(*state);
    return 0;
}

/* So often that it is believed. */
static void observe(struct sy_store *store, double bytes, double flops, double ns) {
    struct sy_cell *cell = sy_store_cell(store, "k", "cpu", bytes, flops, 0);
    assert_non_null(cell);
    for (uint32_t i = 0; i < SY_CELL_TRUSTED; i++) {
        sy_cell_observe(cell, ns);
    }
}

static void give(struct sy_store *store, const char *kernel, const char *class_name, double bytes,
                 double flops, double mean_ns, double stddev_ns, uint64_t count) {
    struct sy_cell *cell = sy_store_cell(store, kernel, class_name, bytes, flops, 0);
    assert_non_null(cell);
    assert_int_equal(sy_cell_give(store, cell, mean_ns, stddev_ns, count), 0);
}

static struct sy_estimate ask(const struct sy_store *store, const char *kernel,
                              const char *class_name, double bytes, double flops) {
    const struct sy_features features = {.values = (double[]){flops, bytes}};
    return sy_estimate(store, kernel, class_name, &features);
}

static void unknown_until_observed(void **state) {
    struct sy_store *store = *state;
    assert_int_equal(ask(store, "k", "cpu", 1, 1).source, SY_COST_UNKNOWN);
    observe(store, 8, 100, 5);
    assert_int_equal(ask(store, "k", "gpu", 8, 100).source, SY_COST_UNKNOWN);
    assert_int_equal(ask(store, "other", "cpu", 8, 100).source, SY_COST_UNKNOWN);
    assert_int_equal(ask(store, "k", "cpu", 8, 200).source, SY_COST_UNKNOWN);
}

static void exact_size_is_measured(void **state) {
    struct sy_store *store = *state;
    for (uint32_t i = 0; i < 20; i++) {
        observe(store, 8, 1e6, i == 13 ? 1e9 : 1000);
    }
    struct sy_estimate found = ask(store, "k", "cpu", 8, 1.00001e6);
    assert_int_equal(found.source, SY_COST_MEASURED);
    assert_int_equal(found.sample_count, 20 * SY_CELL_TRUSTED);
    assert_float_equal(found.median_ns, 1000, 10);
}

static void same_flops_in_other_precision_is_measured(void **state) {
    struct sy_store *store = *state;
    observe(store, 400, 1e6, 1000);
    struct sy_estimate found = ask(store, "k", "cpu", 800, 1e6);
    assert_int_equal(found.source, SY_COST_MEASURED);
    found = ask(store, "k", "cpu", 400, 0);
    assert_int_equal(found.source, SY_COST_MEASURED);
}

/* time = 2 * flops^0.9, one sample of each size, one in ten wild. */
static void regression_survives_wild_sizes(void **state) {
    struct sy_store *store = *state;
    struct sy_rng rng = sy_rng_make(SEED, 1, 0);
    for (uint32_t i = 0; i < 30; i++) {
        double flops = 1e4 * pow(1.3, i);
        double noise = exp(0.05 * sy_rng_normal(&rng)) * (i % 10 == 4 ? 50 : 1);
        observe(store, 0, flops, 2 * pow(flops, 0.9) * noise);
    }
    for (double flops = 5e3; flops < 1e8; flops *= 1.7) {
        struct sy_estimate found = ask(store, "k", "cpu", 0, flops);
        assert_int_equal(found.source, SY_COST_REGRESSED);
        assert_true(fabs(log(found.median_ns / (2 * pow(flops, 0.9)))) < 0.8);
    }
    struct sy_estimate beyond = ask(store, "k", "cpu", 0, 1e8);
    assert_true(fabs(log(beyond.median_ns / (2 * pow(1e8, 0.9)))) < 0.2);
}

static void regression_goes_through_well_measured_sizes(void **state) {
    struct sy_store *store = *state;
    /* A device that fills up: flat, then linear. No line fits it. */
    const double flops[] = {1e3, 1e4, 1e5, 1e6, 1e7}, times[] = {100, 110, 200, 1100, 10100};
    for (size_t i = 0; i < SY_COUNT(flops); i++) {
        give(store, "k", "cpu", 0, flops[i], times[i], 1, 1000);
    }
    double near = ask(store, "k", "cpu", 0, 1.01e6).median_ns;
    assert_true(near > 1050 && near < 1200);
    near = ask(store, "k", "cpu", 0, 1.01e3).median_ns;
    assert_true(near > 90 && near < 115);
}

static void regression_never_falls(void **state) {
    struct sy_store *store = *state;
    struct sy_rng rng = sy_rng_make(SEED, 1, 1);
    for (uint32_t i = 0; i < 25; i++) {
        double bytes = 1e3 * pow(1.5, i);
        observe(store, bytes, 0, pow(bytes, 0.3) * exp(1.0 * sy_rng_normal(&rng)));
    }
    double last = 0;
    for (double bytes = 900; bytes < 1e8; bytes *= 1.0501) {
        struct sy_estimate found = ask(store, "k", "cpu", bytes, 0);
        if (found.source == SY_COST_REGRESSED) {
            assert_true(found.median_ns >= last * (1 - 1e-12));
            last = found.median_ns;
        }
    }
    assert_true(last > 0);
}

static void nothing_is_claimed_far_away(void **state) {
    struct sy_store *store = *state;
    observe(store, 0, 1e6, 1e3);
    observe(store, 0, 1e7, 1e4);
    struct sy_estimate near = ask(store, "k", "cpu", 0, 2e7);
    struct sy_estimate far = ask(store, "k", "cpu", 0, 1e9);
    assert_int_equal(far.source, SY_COST_REGRESSED);
    assert_true(far.log_sigma > near.log_sigma);
    assert_float_equal(far.median_ns, 1e6, 1e4);
    assert_int_equal(ask(store, "k", "cpu", 0, 1).source, SY_COST_UNKNOWN);
    assert_int_equal(ask(store, "k", "cpu", 0, 1e12).source, SY_COST_UNKNOWN);
}

static void summaries_combine_robustly(void **state) {
    struct sy_store *store = *state;
    const double means[] = {100, 101, 99, 100, 900};
    for (size_t i = 0; i < SY_COUNT(means); i++) {
        give(store, "k", "gpu", 64, 0, means[i], 10, 50);
    }
    struct sy_estimate found = ask(store, "k", "gpu", 64, 0);
    assert_int_equal(found.source, SY_COST_MEASURED);
    assert_int_equal(found.sample_count, 250);
    assert_true(found.median_ns > 97 && found.median_ns < 110);
    assert_true(found.log_sigma >= 0.09);
}

static void many_sizes_regress(void **state) {
    struct sy_store *store = *state;
    for (uint32_t i = 1; i <= 1000; i++) {
        observe(store, 0, 1000.0 * i, 10.0 * i);
    }
    struct sy_estimate found = ask(store, "k", "cpu", 0, 1e6);
    assert_int_equal(found.source, SY_COST_MEASURED);
    found = ask(store, "k", "cpu", 0, 500500);
    assert_int_equal(found.source, SY_COST_REGRESSED);
    assert_true(fabs(found.median_ns / 5005 - 1) < 0.02);
}

static void alias_serves_where_the_name_does_not(void **state) {
    struct sy_store *store = *state;
    give(store, "long_gemm", "cpu", 8, 0, 5, 0, 1);
    give(store, "second_gemm", "cpu", 8, 0, 7, 0, 1);
    assert_int_equal(sy_store_add_alias(store, "gemm", "long_gemm"), 0);
    assert_int_equal(sy_store_add_alias(store, "gemm", "second_gemm"), 0);
    assert_float_equal(ask(store, "gemm", "cpu", 8, 0).median_ns, 5, 1e-9);
    give(store, "gemm", "cpu", 8, 0, 9, 0, 1);
    assert_float_equal(ask(store, "gemm", "cpu", 8, 0).median_ns, 9, 1e-9);
}

/* What was published is never written as if it had been measured here. */
static void summaries_are_not_kept(void **state) {
    struct sy_store *store = *state;
    struct sy_buffer text = {0};
    give(store, "k", "cpu", 8, 0, 5, 0, 10);
    sy_store_write_text(store, &text);
    assert_null(strstr(text.text, "k,cpu"));
    sy_buffer_finish(&text);
    assert_int_equal(sy_store_clear(store, NULL), 0);
    assert_int_equal(ask(store, "k", "cpu", 8, 0).source, SY_COST_UNKNOWN);
}

/* How well a cell answers for a size, by going through all of them: -1 for the very same, else by
 * how many bytes it is off; INFINITY: not at all. */
static double farness(const struct sy_cell *cell, double bytes, double flops) {
    double its_bytes = cell->values[SY_BYTES], its_flops = cell->values[SY_FLOPS];
    bool states = its_bytes > 0 || its_flops > 0;
    bool by_flops = flops > 0 && its_flops > 0;
    bool same = by_flops ? its_flops == flops : its_bytes == bytes && bytes > 0;
    return !states || sy_cell_count(cell) < SY_CELL_TRUSTED || !same ? INFINITY
           : its_bytes == bytes && its_flops == flops                ? -1
                                                                     : fabs(its_bytes - bytes);
}

static void check_same_size(const struct sy_store *store, double bytes, double flops) {
    struct sy_estimate found = ask(store, "k", "cpu", bytes, flops);
    double least = INFINITY;
    bool is_nearest = false;
    for (uint32_t i = 0; i < sy_store_count(store); i++) {
        least = fmin(least, farness(sy_store_at(store, i), bytes, flops));
    }
    for (uint32_t i = 0; i < sy_store_count(store); i++) {
        const struct sy_cell *cell = sy_store_at(store, i);
        is_nearest |= farness(cell, bytes, flops) == least &&
                      isfinite(least) && /* times are unique */
                      cell->median_ns == found.median_ns;
    }
    assert_int_equal(found.source == SY_COST_MEASURED, isfinite(least));
    assert_int_equal(is_nearest, isfinite(least));
}

/* Sizes are found by search, in an order that is kept as cells come to be trusted. */
static void sizes_are_found_as_if_all_were_looked_at(void **state) {
    struct sy_store *store = *state;
    struct sy_rng rng = sy_rng_make(SEED, 9, 0);
    for (uint32_t i = 0; i < 3000; i++) {
        double flops = 1000.0 * sy_rng_below(&rng, 12), bytes = 50.0 * sy_rng_below(&rng, 12);
        struct sy_cell *cell =
            sy_store_cell(store, "k", "cpu", bytes, flops, sy_rng_below(&rng, 4));
        sy_cell_observe(cell, 1e6 + 10.0 * i);
        if (i % 500 == 250) {
            assert_int_equal(sy_store_set_build(store, "k", i % 1000), 0); /* half of them count */
        }
        check_same_size(store, 50.0 * sy_rng_below(&rng, 12), 1000.0 * sy_rng_below(&rng, 12));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    print_message("# seed %d\n", SEED);
    const struct CMUnitTest tests[] = {
        TEST(unknown_until_observed),
        TEST(exact_size_is_measured),
        TEST(same_flops_in_other_precision_is_measured),
        TEST(regression_survives_wild_sizes),
        TEST(regression_goes_through_well_measured_sizes),
        TEST(regression_never_falls),
        TEST(nothing_is_claimed_far_away),
        TEST(summaries_combine_robustly),
        TEST(many_sizes_regress),
        TEST(alias_serves_where_the_name_does_not),
        TEST(summaries_are_not_kept),
        TEST(sizes_are_found_as_if_all_were_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
