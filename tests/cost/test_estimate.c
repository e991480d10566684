/* SPDX-License-Identifier: Apache-2.0
 *
 * The store against made-up kernels whose true times are known: a roofline with an efficiency,
 * caches, skew, imperfect splitting and a wave that no feature explains. How far it is off, whether
 * it knows how far; repeated, wild, old, hostile and too many samples.
 */
#include "cost/cost.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COSTS 4
#define CELLS 64 /* that a kernel on a class has at most */

static const char *const cost_names[COSTS] = {"flops", "bytes", "rows", "skew"};
static const struct sy_roofline card = {.class_name = "card",
                                        .flops_per_s = 2e13,
                                        .bytes_per_s = 1e12,
                                        .launch_ns = 5000,
                                        .busy_watts = 200};

/* --- made-up kernels ----------------------------------------------------------------------------
 */
struct truth {
    double flops_per_s, bytes_per_s; /* reached, not promised */
    double cache_bytes, cache_ratio; /* faster by the ratio while it fits */
    double skew_power, width_power;
    double wave, phase;
};

struct item {
    double costs[COSTS];
    uint32_t width;
};

static struct truth draw_truth(struct sy_rng *rng) {
    return (struct truth){
        .flops_per_s = card.flops_per_s * (0.2 + 0.6 * sy_rng_uniform(rng)),
        .bytes_per_s = card.bytes_per_s * (0.2 + 0.6 * sy_rng_uniform(rng)),
        .cache_bytes = exp(log(1e6) + log(50) * sy_rng_uniform(rng)),
        .cache_ratio = 1 + 1.5 * sy_rng_uniform(rng),
        .skew_power = 0.4 * sy_rng_uniform(rng),
        .width_power = 0.7 + 0.3 * sy_rng_uniform(rng),
        .wave = 0.1 * sy_rng_uniform(rng),
        .phase = 6.28 * sy_rng_uniform(rng),
    };
}

/* Something like a sparse product: rows, neighbours of a row, columns of the dense side. */
static struct item draw_item(struct sy_rng *rng, uint32_t width_most) {
    double rows = exp(log(1e3) + log(1e3) * sy_rng_uniform(rng));
    double degree = exp(log(3) + log(30) * sy_rng_uniform(rng));
    double columns = exp(log(16) + log(32) * sy_rng_uniform(rng));
    struct item item = {.width = 1 + sy_rng_below(rng, width_most)};
    item.costs[0] = 2 * rows * degree * columns;
    item.costs[1] = 4 * rows * (2 * degree + 2 * columns);
    item.costs[2] = rows;
    item.costs[3] = 1 + 3 * sy_rng_uniform(rng);
    return item;
}

static double true_ns(const struct truth *truth, const struct item *item) {
    double fits = 1 / (1 + pow(item->costs[1] / truth->cache_bytes, 3));
    double bytes_per_s = truth->bytes_per_s * (1 + (truth->cache_ratio - 1) * fits);
    double busy_s = sy_most(item->costs[0] / truth->flops_per_s, item->costs[1] / bytes_per_s);
    double off = truth->wave * sin(1.5 * log(item->costs[2]) + truth->phase);
    return (1e9 * busy_s * pow(item->costs[3], truth->skew_power) /
                pow(item->width, truth->width_power) +
            card.launch_ns) *
           exp(off);
}

static struct sy_features features_of(const struct item *item) {
    return (struct sy_features){
        .count = COSTS, .names = cost_names, .values = item->costs, .width = item->width};
}

static struct sy_cost_sample sample_of(const struct item *item, double time_ns) {
    return (struct sy_cost_sample){.kernel = "spmm",
                                   .class_name = "card",
                                   .features = features_of(item),
                                   .time_ns = time_ns,
                                   .watts = NAN};
}

static void observe(struct sy_store *store, const struct item *item, double time_ns) {
    struct sy_cost_sample sample = sample_of(item, time_ns);
    assert_int_equal(sy_store_observe(store, &sample), 0);
}

static struct sy_estimate ask(const struct sy_store *store, const char *kernel,
                              const char *class_name, const struct item *item) {
    struct sy_features features = features_of(item);
    return sy_estimate(store, kernel, class_name, &features);
}

static struct sy_estimate guess_at(const struct sy_store *store, const struct item *item) {
    struct sy_estimate guess = ask(store, "spmm", "card", item);
    assert_int_not_equal(guess.source, SY_COST_UNKNOWN);
    assert_true(isfinite(guess.median_ns) && guess.median_ns > 0);
    assert_true(isfinite(guess.log_sigma) && guess.log_sigma > 0);
    return guess;
}

static struct sy_store *start(void) {
    struct sy_store *store = sy_store_create();
    assert_non_null(store);
    assert_int_equal(sy_store_set_roofline(store, &card), 0);
    return store;
}

/* --- accuracy and calibration -------------------------------------------------------------------
 */
#define WORLDS 60
#define ASKED  40

struct score {
    double error, error_most, roofline_error, covered, square;
};

/* Each world: samples with noise, one in twenty of them three to thirty times too long. */
static struct score score_of(uint32_t sample_count, double noise, bool wild) {
    struct score score = {0};
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 1, sample_count);
        struct truth truth = draw_truth(&rng);
        struct sy_store *store = start();
        for (uint32_t i = 0; i < sample_count; i++) {
            struct item item = draw_item(&rng, 4);
            double off = noise * sy_rng_normal(&rng), spoilt = sy_rng_uniform(&rng);
            double factor = exp(log(3) + log(10) * sy_rng_uniform(&rng));
            double time_ns = true_ns(&truth, &item) * exp(off);
            observe(store, &item, wild && spoilt < 0.05 ? time_ns * factor : time_ns);
        }
        for (uint32_t i = 0; i < ASKED; i++) {
            struct item item = draw_item(&rng, 4);
            struct sy_estimate guess = guess_at(store, &item);
            double truth_ns = true_ns(&truth, &item), off = log(guess.median_ns / truth_ns);
            double best_ns =
                1e9 * sy_most(item.costs[0] / card.flops_per_s, item.costs[1] / card.bytes_per_s);
            score.error += fabs(off) / (WORLDS * ASKED);
            score.error_most = sy_most(score.error_most, fabs(off));
            score.roofline_error +=
                fabs(log(truth_ns / (best_ns / item.width + card.launch_ns))) / (WORLDS * ASKED);
            score.covered += (fabs(off) <= 2 * guess.log_sigma) / (double)(WORLDS * ASKED);
            score.square += pow(off / guess.log_sigma, 2) / (WORLDS * ASKED);
        }
        sy_store_close(store);
    }
    return score;
}

static void knows_times_and_doubts(void **state) {
    (void)state;
    static const struct {
        uint32_t count;
        double noise;
        bool wild;
        double error_most;
    } cases[] = {{4, 0.03, false, 0.40},   {8, 0.03, false, 0.30},   {16, 0.03, false, 0.20},
                 {32, 0.03, false, 0.15},  {64, 0.03, false, 0.12},  {64, 0.10, false, 0.16},
                 {32, 0.005, false, 0.15}, {128, 0.03, false, 0.12}, {32, 0.03, true, 0.20},
                 {64, 0.03, true, 0.15}};
    bool good = true;
    for (uint32_t i = 0; i < SY_COUNT(cases); i++) {
        struct score score = score_of(cases[i].count, cases[i].noise, cases[i].wild);
        print_message("# %3u samples, noise %4.1f %%%s: off by %4.1f %% on average, at most by a "
                      "factor %.2f (roofline %3.0f %%), %5.1f %% within 2 sigma, z %.2f\n",
                      cases[i].count, 100 * cases[i].noise, cases[i].wild ? ", wild ones" : "",
                      100 * score.error, exp(score.error_most), 100 * score.roofline_error,
                      100 * score.covered, sqrt(score.square));
        good &= score.error < cases[i].error_most && score.error < 0.5 * score.roofline_error &&
                score.covered >= 0.85;
    }
    assert_true(good);
}

/* --- one point ----------------------------------------------------------------------------------
 */
static const struct item here = {.costs = {4e9, 1e8, 1e5, 2}, .width = 1};

static void a_sample_settles_its_point(void **state) {
    (void)state;
    struct sy_store *store = start();
    struct item wider = here, larger = here;
    wider.width = 4;
    for (uint32_t i = 0; i < 3; i++) {
        larger.costs[i] *= 30;
    }
    struct sy_estimate before = guess_at(store, &here);
    assert_true(before.source == SY_COST_ROOFLINE && before.sample_count == 0 &&
                before.log_sigma > 0.5);
    observe(store, &here, 3e6);
    struct sy_estimate after = guess_at(store, &here);
    assert_true(after.source == SY_COST_MEASURED && after.sample_count == 1);
    assert_true(fabs(log(after.median_ns / 3e6)) < 0.01 && after.log_sigma < 0.04);
    /* It says something of other widths and sizes too, and less the farther they are. */
    struct sy_estimate wide = guess_at(store, &wider), large = guess_at(store, &larger);
    assert_true(fabs(log(wide.median_ns / 0.75e6)) < 0.1);
    assert_true(wide.log_sigma > 2 * after.log_sigma && wide.log_sigma < 0.9 * before.log_sigma);
    assert_true(large.log_sigma > wide.log_sigma);
    observe(store, &wider, 1.1e6);
    struct item between = here;
    between.width = 2;
    struct sy_estimate both = guess_at(store, &between);
    assert_true(both.median_ns > 1.1e6 && both.median_ns < 3e6 && both.log_sigma < wide.log_sigma);
    /* Repeated, it becomes surer still. */
    for (uint32_t i = 0; i < 4; i++) {
        observe(store, &here, 3e6);
    }
    struct sy_estimate again = guess_at(store, &here);
    assert_true(again.log_sigma < 0.6 * after.log_sigma && again.sample_count == 6);
    sy_store_close(store);
}

static double off_at(struct sy_store *store, double time_ns) {
    return fabs(log(guess_at(store, &here).median_ns / time_ns));
}

static void a_wild_time_says_nothing(void **state) {
    (void)state;
    struct sy_store *store = start();
    for (uint32_t i = 0; i < 20; i++) {
        observe(store, &here, i % 5 == 2 ? 6e7 : 3e6 * (1 + 0.01 * (i % 3)));
        assert_true(i < 2 || off_at(store, 3.03e6) < (i == 2 ? 0.2 : 0.03));
    }
    /* Two that disagree: nobody knows, and the spread says so. */
    struct item there = here;
    there.costs[2] *= 4;
    observe(store, &there, 3e6);
    observe(store, &there, 9e6);
    assert_true(guess_at(store, &there).log_sigma > 0.05);
    sy_store_close(store);
}

/* Neighbours all say the same, one says five times as much; near it too they are believed. */
static void a_wild_point_is_doubted(void **state) {
    (void)state;
    struct sy_store *store = start();
    for (uint32_t i = 0; i < 9; i++) {
        struct item item = here;
        double factor = pow(1.5, (double)i - 4);
        for (uint32_t k = 0; k < 3; k++) {
            item.costs[k] *= factor;
        }
        observe(store, &item, 3e6 * factor * (i == 4 ? 5 : 1));
    }
    assert_true(off_at(store, 3e6) < 0.1);
    /* Unless it says so again. */
    observe(store, &here, 1.5e7);
    assert_true(off_at(store, 1.5e7) < 0.1);
    sy_store_close(store);
}

static void newest_win(void **state) {
    (void)state;
    struct sy_store *store = start();
    for (uint32_t i = 0; i < 50; i++) {
        observe(store, &here, 3e6);
    }
    observe(store, &here, 4.5e6);
    observe(store, &here, 4.5e6);
    assert_true(off_at(store, 4.5e6) < 0.02);
    /* A slow drift: 1 % per sample. */
    double time_ns = 4.5e6;
    for (uint32_t i = 0; i < 70; i++, time_ns *= 1.01) {
        observe(store, &here, time_ns);
    }
    assert_true(off_at(store, time_ns) < 0.05);
    sy_store_close(store);
}

static void measured_beats_modelled(void **state) {
    (void)state;
    struct sy_store *store = start();
    struct sy_cost_sample sample = sample_of(&here, 5e6);
    sample.modelled = true;
    assert_int_equal(sy_store_observe(store, &sample), 0);
    assert_true(guess_at(store, &here).source == SY_COST_MODEL && off_at(store, 5e6) < 0.01);
    observe(store, &here, 3e6);
    assert_true(guess_at(store, &here).source == SY_COST_MEASURED && off_at(store, 3e6) < 0.01);
    assert_int_equal(sy_store_observe(store, &sample), 0);
    assert_true(guess_at(store, &here).source == SY_COST_MEASURED && off_at(store, 3e6) < 0.01);
    sy_store_close(store);
}

/* --- priors -------------------------------------------------------------------------------------
 */
static void unseen_is_the_roofline(void **state) {
    (void)state;
    struct sy_store *store = start();
    struct item wider = here;
    wider.width = 2;
    double best_ns = 1e9 * sy_most(here.costs[0] / 2e13, here.costs[1] / 1e12);
    struct sy_estimate guess = ask(store, "sddmm", "card", &wider);
    assert_true(fabs(guess.median_ns / (best_ns / 2 + 5000) - 1) < 1e-9);
    assert_true(guess.sample_count == 0 && guess.source == SY_COST_ROOFLINE && guess.watts == 400);
    assert_int_equal(ask(store, "sddmm", "board", &here).source, SY_COST_UNKNOWN);
    /* Where another kernel reaches a fourth of it, this one will not reach all of it. */
    observe(store, &here, 4 * best_ns);
    guess = ask(store, "sddmm", "card", &here);
    assert_true(guess.median_ns > 1.5 * best_ns && guess.median_ns < 4 * best_ns);
    sy_store_close(store);
}

/* Of many kernels at half the roofline one that is a thousand times slower says nothing. */
static void odd_kernels_do_not_move_the_others(void **state) {
    (void)state;
    struct sy_store *store = start();
    double best_ns = 1e9 * sy_most(here.costs[0] / 2e13, here.costs[1] / 1e12) + card.launch_ns;
    for (uint32_t i = 0; i < 8; i++) {
        char name[16];
        struct sy_cost_sample sample = sample_of(&here, best_ns * (i == 3 ? 1000 : 2));
        snprintf(name, sizeof name, "k%u", i);
        sample.kernel = name;
        assert_int_equal(sy_store_observe(store, &sample), 0);
    }
    double ratio = ask(store, "new", "card", &here).median_ns / best_ns;
    assert_true(fabs(ratio - 2) < 0.01);
    sy_store_close(store);
}

/* The same samples with and without a roofline, which may also come late: where there are samples,
 * they count. */
static void the_roofline_may_be_missing(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(5, 2, 0);
    struct truth truth = draw_truth(&rng);
    struct sy_store *with = start(), *without = sy_store_create(), *late = sy_store_create();
    assert_true(without && late);
    for (uint32_t i = 0; i < 40; i++) {
        struct item item = draw_item(&rng, 4);
        observe(with, &item, true_ns(&truth, &item));
        observe(without, &item, true_ns(&truth, &item));
        observe(late, &item, true_ns(&truth, &item));
    }
    assert_int_equal(sy_store_set_roofline(late, &card), 0);
    double error = 0;
    for (uint32_t i = 0; i < 40; i++) {
        struct item item = draw_item(&rng, 4);
        double time_ns = true_ns(&truth, &item);
        error += fabs(log(guess_at(without, &item).median_ns / time_ns)) / 40;
        assert_true(guess_at(late, &item).median_ns == guess_at(with, &item).median_ns);
    }
    assert_true(error < 0.2);
    sy_store_close(with);
    sy_store_close(without);
    sy_store_close(late);
}

/* Calibrated on what is small, asked for what is up to a thousand times larger. Nothing says what a
 * launch takes here. */
static void sees_far(void **state) {
    (void)state;
    double error = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 6, 0);
        double flops_ns = exp(-3 - 3 * sy_rng_uniform(&rng)),
               bytes_ns = exp(-3 - 3 * sy_rng_uniform(&rng));
        double launch_ns = 2e4 * sy_rng_uniform(&rng);
        struct sy_store *store = sy_store_create();
        assert_non_null(store);
        for (uint32_t i = 0; i < 70; i++) {
            struct item item = draw_item(&rng, 1);
            double scale = i < 30 ? exp(-4 - 3 * sy_rng_uniform(&rng)) : 1;
            for (uint32_t k = 0; k < 3; k++) {
                item.costs[k] *= scale;
            }
            double time_ns = item.costs[0] * flops_ns + item.costs[1] * bytes_ns + launch_ns;
            if (i < 30) {
                observe(store, &item, time_ns * exp(0.02 * sy_rng_normal(&rng)));
            } else {
                error += fabs(log(guess_at(store, &item).median_ns / time_ns)) / 800;
            }
        }
        sy_store_close(store);
    }
    print_message("# a thousand times larger than all samples: off by %.1f %%\n", 100 * error);
    assert_true(error < 0.15);
}

static void watts_are_robust(void **state) {
    (void)state;
    struct sy_store *store = start();
    for (uint32_t i = 0; i < 30; i++) {
        struct item item = draw_item(&(struct sy_rng){.key = {i, 1}}, 4);
        struct sy_cost_sample sample = sample_of(&item, 1e6);
        sample.watts = (i % 7 == 3 ? 5000 : 100) * item.width;
        assert_int_equal(sy_store_observe(store, &sample), 0);
    }
    struct item item = here;
    item.width = 3;
    assert_true(guess_at(store, &item).watts == 300);
    sy_store_close(store);
}

/* What a model says of power does not replace what was read; what was read replaces it. */
static void read_watts_stay(void **state) {
    (void)state;
    struct sy_store *store = start();
    struct item item = here;
    item.width = 1;
    struct sy_cost_sample read = sample_of(&item, 1e6), model = read;
    model.modelled = true;
    model.watts = 70;
    assert_int_equal(sy_store_observe(store, &model), 0);
    assert_true(guess_at(store, &item).watts == 70);
    assert_int_equal(sy_store_observe(store, &read), 0);
    struct sy_estimate guess = guess_at(store, &item);
    assert_true(guess.watts == card.busy_watts && guess.sample_count == 1 &&
                guess.source == SY_COST_MEASURED);
    read.watts = 50;
    assert_int_equal(sy_store_observe(store, &read), 0);
    assert_int_equal(sy_store_observe(store, &model), 0);
    assert_true(guess_at(store, &item).watts == 50);
    sy_store_close(store);
}

/* --- odd samples --------------------------------------------------------------------------------
 */
static void features_that_do_not_vary(void **state) {
    (void)state;
    struct sy_store *store = start();
    struct item item = here;
    for (uint32_t i = 0; i < 30; i++) {
        item.costs[0] = here.costs[0] * pow(1.2, i);
        observe(store, &item, 1e6 * pow(1.2, i));
    }
    item.costs[0] = here.costs[0] * pow(1.2, 14.5);
    assert_true(fabs(log(guess_at(store, &item).median_ns / (1e6 * pow(1.2, 14.5)))) < 0.03);
    item.costs[3] = 3; /* it never moved: what it does is not known */
    item.costs[2] *= 100;
    assert_true(guess_at(store, &item).log_sigma > 0.1);
    sy_store_close(store);
}

static void refuses(struct sy_cost_sample sample) {
    struct sy_store *store = start();
    observe(store, &here, 3e6);
    assert_int_equal(sy_store_observe(store, &sample), -EINVAL);
    assert_true(off_at(store, 3e6) < 0.01);
    sy_store_close(store);
}

static void refuses_what_is_no_sample(void **state) {
    (void)state;
    struct sy_cost_sample sample = sample_of(&here, 1e6);
    const double bad[] = {NAN, INFINITY, 0, -1};
    for (uint32_t i = 0; i < SY_COUNT(bad); i++) {
        struct sy_cost_sample time = sample, cost = sample;
        struct item item = {.costs = {1, 1, bad[i], 1}, .width = 1};
        time.time_ns = bad[i];
        cost.features = features_of(&item);
        refuses(time);
        refuses(cost);
        struct sy_store *store = start();
        assert_int_equal(ask(store, "spmm", "card", &item).source, SY_COST_UNKNOWN);
        sy_store_close(store);
    }
    static const char *const twice[COSTS] = {"flops", "bytes", "rows", "rows"};
    static const char *const no_bytes[COSTS] = {"flops", "columns", "rows", "skew"};
    static const char *const unsorted[COSTS] = {"flops", "bytes", "skew", "rows"};
    struct sy_cost_sample odd = sample, same = sample, missing = sample, narrow = sample,
                          few = sample;
    odd.features.names = unsorted;
    same.features.names = twice;
    missing.features.names = no_bytes;
    narrow.features.width = 0;
    few.features.count = 1;
    refuses(odd);
    refuses(same);
    refuses(missing);
    refuses(narrow);
    refuses(few);
}

/* Other costs are something else: they neither help nor harm. */
static void other_costs_are_apart(void **state) {
    (void)state;
    static const char *const others[COSTS] = {"flops", "bytes", "columns", "rows"};
    struct sy_store *store = start();
    observe(store, &here, 3e6);
    struct sy_estimate before = guess_at(store, &here);
    struct sy_cost_sample other = sample_of(&here, 9e9), fewer = sample_of(&here, 9e8);
    other.features.names = others;
    fewer.features.count = 3;
    assert_int_equal(sy_store_observe(store, &other), 0);
    assert_int_equal(sy_store_observe(store, &fewer), 0);
    assert_true(guess_at(store, &here).median_ns == before.median_ns);
    double ns = sy_estimate(store, "spmm", "card", &other.features).median_ns;
    assert_true(fabs(log(ns / 9e9)) < 0.01);
    /* And so are sizes. */
    sy_cell_observe(sy_store_cell(store, "spmm", "card", here.costs[1], here.costs[0], 0), 5);
    assert_true(guess_at(store, &here).median_ns == before.median_ns);
    sy_store_close(store);
}

/* Names without end: the first ones count, and nothing breaks. */
static void too_many_names_are_not_learned(void **state) {
    (void)state;
    struct sy_store *store = start();
    for (uint32_t i = 0; i < 300; i++) {
        char name[16];
        struct sy_cost_sample sample = sample_of(&here, 1e6);
        snprintf(name, sizeof name, "rows%u", i);
        const char *const names[] = {"flops", "bytes", name};
        sample.features.names = names;
        sample.features.count = 3;
        assert_int_equal(sy_store_observe(store, &sample), 0);
        enum sy_cost_source source = sy_estimate(store, "spmm", "card", &sample.features).source;
        assert_int_equal(source, i < 254 ? SY_COST_MEASURED : SY_COST_ROOFLINE);
    }
    sy_store_close(store);
}

/* What another build took is not used, and goes with the first time of the new one. */
static void builds_are_told_apart(void **state) {
    (void)state;
    struct sy_store *store = start();
    struct item there = here;
    there.costs[2] *= 4;
    assert_int_equal(sy_store_set_build(store, "spmm", 1), 0);
    observe(store, &here, 3e6);
    observe(store, &there, 3e6);
    assert_int_equal(guess_at(store, &here).source, SY_COST_MEASURED);
    assert_int_equal(sy_store_set_build(store, "spmm", 2), 0);
    assert_int_equal(guess_at(store, &here).source, SY_COST_ROOFLINE);
    observe(store, &here, 1e6);
    struct sy_estimate guess = guess_at(store, &here);
    assert_true(guess.sample_count == 1 && off_at(store, 1e6) < 0.01);
    sy_store_close(store);
}

/* Numbers from one end of what a double holds to the other. */
static void stays_finite(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 4, 0);
        struct sy_store *store = start();
        for (uint32_t i = 0; i < 20; i++) {
            struct item item = {.width = 1 + sy_rng_below(&rng, 64)};
            for (uint32_t k = 0; k < COSTS; k++) {
                item.costs[k] = exp(1400 * (sy_rng_uniform(&rng) - 0.5));
            }
            observe(store, &item, exp(1400 * (sy_rng_uniform(&rng) - 0.5)));
            guess_at(store, &item);
            guess_at(store, &here);
        }
        sy_store_close(store);
    }
}

/* The same calls give the same bits; ten thousand samples no more memory than two hundred. */
static void same_again_and_bounded(void **state) {
    (void)state;
    struct sy_estimate first[20];
    for (uint32_t run = 0; run < 2; run++) {
        struct sy_store *store = start();
        struct sy_rng rng = sy_rng_make(7, 5, 0);
        struct truth truth = draw_truth(&rng);
        size_t used = 0;
        for (uint32_t i = 0; i < 10000; i++) {
            struct item item = draw_item(&rng, 4);
            observe(store, &item, true_ns(&truth, &item) * exp(0.03 * sy_rng_normal(&rng)));
            used = i == 200 ? mallinfo2().uordblks : used;
        }
        assert_true(mallinfo2().uordblks <= used);
        for (uint32_t i = 0; i < 20; i++) {
            struct item item = draw_item(&rng, 4);
            struct sy_estimate guess = guess_at(store, &item);
            assert_true(guess.sample_count >= CELLS);
            if (run == 0) {
                first[i] = guess;
            }
            assert_true(memcmp(&first[i].median_ns, &guess.median_ns, sizeof(double)) == 0);
            assert_true(memcmp(&first[i].log_sigma, &guess.log_sigma, sizeof(double)) == 0);
        }
        sy_store_close(store);
    }
}

/* A copy says the same, learns for itself, and outlives the first. */
static void a_copy_goes_its_own_way(void **state) {
    (void)state;
    struct sy_store *store = start();
    struct sy_rng rng = sy_rng_make(9, 5, 0);
    struct truth truth = draw_truth(&rng);
    for (uint32_t i = 0; i < 30; i++) {
        struct item item = draw_item(&rng, 4);
        observe(store, &item, true_ns(&truth, &item));
    }
    struct item item = draw_item(&rng, 4);
    struct sy_estimate before = guess_at(store, &item);
    struct sy_store *copy = sy_store_copy(store);
    assert_non_null(copy);
    observe(copy, &item, 10 * before.median_ns);
    assert_true(guess_at(store, &item).median_ns == before.median_ns);
    sy_store_close(store);
    assert_true(guess_at(copy, &item).sample_count == before.sample_count + 1);
    sy_store_close(copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_times_and_doubts),
        cmocka_unit_test(a_sample_settles_its_point),
        cmocka_unit_test(a_wild_time_says_nothing),
        cmocka_unit_test(a_wild_point_is_doubted),
        cmocka_unit_test(newest_win),
        cmocka_unit_test(measured_beats_modelled),
        cmocka_unit_test(unseen_is_the_roofline),
        cmocka_unit_test(odd_kernels_do_not_move_the_others),
        cmocka_unit_test(the_roofline_may_be_missing),
        cmocka_unit_test(sees_far),
        cmocka_unit_test(watts_are_robust),
        cmocka_unit_test(read_watts_stay),
        cmocka_unit_test(features_that_do_not_vary),
        cmocka_unit_test(refuses_what_is_no_sample),
        cmocka_unit_test(other_costs_are_apart),
        cmocka_unit_test(too_many_names_are_not_learned),
        cmocka_unit_test(builds_are_told_apart),
        cmocka_unit_test(stays_finite),
        cmocka_unit_test(same_again_and_bounded),
        cmocka_unit_test(a_copy_goes_its_own_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
