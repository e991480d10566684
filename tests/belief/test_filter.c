/* SPDX-License-Identifier: Apache-2.0
 *
 * The filter: exact where exact is known, unmoved by errors, quick to follow changes, and never
 * anything but finite.
 */
#include "belief/belief.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP_NS 1e6

static struct sy_variable variable(const char *name, double rate, double drift_sd, double noise) {
    return (struct sy_variable){.name = name,
                                .role = "",
                                .counter = 0,
                                .pmu = 0,
                                .start_log = log(rate),
                                .start_sd = 1,
                                .drift_sd = drift_sd,
                                .noise_ratio = noise,
                                .offset = 0,
                                .capacity = INFINITY,
                                .resource = SY_NONE};
}

/* count variables that start at 1000 per second. */
static struct sy_model *walkers(uint32_t count, double drift_sd, double noise) {
    struct sy_model *model = sy_model_create("walkers");
    struct sy_variable v = variable("w", 1000, drift_sd, noise);
    for (uint32_t i = 0; i < count; i++) {
        v.counter = i;
        assert_int_equal(sy_model_add_variable(model, &v), i);
    }
    model->step_ns = STEP_NS;
    return model;
}

/* terms[0] + terms[1] + ... = out */
static void add_sum(struct sy_model *model, uint32_t out, const uint32_t *parts, uint32_t count) {
    struct sy_term terms[8];
    for (uint32_t i = 0; i < count; i++) {
        terms[i] = (struct sy_term){parts[i], 1};
    }
    struct sy_factor factor = {
        .kind = SY_FACTOR_EQUAL, .origin = SY_FROM_ROLE, .why = "sum", .out = out, .width = 0.02};
    assert_int_not_equal(sy_model_add_factor(model, &factor, terms, count), SY_NONE);
}

static struct sy_filter *start(const struct sy_model *model,
                               const struct sy_filter_options *options) {
    struct sy_filter *filter = NULL;
    assert_int_equal(sy_filter_create(model, options, &filter), 0);
    return filter;
}

static void see(struct sy_filter *filter, uint32_t v, double rate) {
    struct sy_observation o = {.variable = v, .rate = rate};
    sy_filter_step(filter, STEP_NS, &o, 1);
}

/* --- against the textbook --------------------------------------------------------------------- */
#define N 5

/* One scalar update of mean and covariance. */
static void textbook(double *x, double (*p)[N], uint32_t v, double y, double noise) {
    double gain[N], s = p[v][v] + noise;
    for (uint32_t i = 0; i < N; i++) {
        gain[i] = p[i][v] / s;
    }
    double row[N], e = y - x[v];
    memcpy(row, p[v], sizeof row);
    for (uint32_t i = 0; i < N; i++) {
        x[i] += gain[i] * e;
        for (uint32_t j = 0; j < N; j++) {
            p[i][j] -= gain[i] * row[j];
        }
    }
}

static void it_is_the_kalman_filter_where_all_is_gaussian(void **state) {
    (void)state;
    struct sy_model *model = walkers(N, 0, 0.05);
    double q[N][N], x[N], p[N][N] = {{0}};
    for (uint32_t i = 0; i < N; i++) {
        for (uint32_t j = 0; j < N; j++) {
            q[i][j] = 0.01 * (i == j ? 1.0 : 0.6);
        }
        x[i] = log(1000);
        p[i][i] = 1;
    }
    model->covariance = &q[0][0];
    struct sy_filter_options options = {.student_degrees = INFINITY, .no_learning = true};
    struct sy_filter *filter = start(model, &options);
    struct sy_rng rng = sy_rng_make(1, 0, 0);
    for (uint32_t t = 0; t < 200; t++) {
        struct sy_observation seen[2] = {{t % N, 1000 * exp(sy_rng_normal(&rng)), 0},
                                         {(t * 2 + 1) % N, 1000 * exp(sy_rng_normal(&rng)), 0.1}};
        uint32_t count = seen[0].variable == seen[1].variable ? 1 : 2;
        for (uint32_t i = 0; i < N; i++) {
            for (uint32_t j = 0; j < N; j++) {
                p[i][j] += q[i][j];
            }
        }
        for (uint32_t k = 0; k < count; k++) {
            /* The filter never believes a reading better than 0.3 %. */
            double sd = (k ? 0.1 : 0.05) + 0.003;
            textbook(x, p, seen[k].variable, log(seen[k].rate), sd * sd);
        }
        sy_filter_step(filter, STEP_NS, seen, count);
        for (uint32_t i = 0; i < N; i++) {
            struct sy_posterior now = sy_filter_estimate(filter, i);
            assert_float_equal(now.log_mean, x[i], 1e-5);
            assert_float_equal(now.log_sd, sqrt(p[i][i]), 1e-5);
        }
    }
    sy_filter_destroy(filter);
    sy_model_destroy(model);
}

static void a_relation_tells_what_is_not_read(void **state) {
    (void)state;
    struct sy_model *model = walkers(3, 0.05, 0.02);
    add_sum(model, 2, (uint32_t[]){0, 1}, 2);
    struct sy_filter *filter = start(model, NULL);
    for (uint32_t t = 0; t < 40; t++) {
        struct sy_observation seen[] = {{0, 3000, 0}, {2, 4000, 0}};
        sy_filter_step(filter, STEP_NS, seen, 2);
    }
    struct sy_posterior hidden = sy_filter_estimate(filter, 1);
    assert_float_equal(hidden.median, 1000, 150);
    assert_true(hidden.low < 1000 && 1000 < hidden.high);
    assert_true(isinf(hidden.age_ns));
    /* The sum is known better than its parts would say. */
    struct sy_term terms[] = {{0, 1}, {1, 1}};
    struct sy_posterior sum = sy_filter_sum(filter, terms, 2);
    assert_float_equal(sum.median, 4000, 200);
    assert_true(sum.log_sd < hidden.log_sd);
    sy_filter_destroy(filter);
    sy_model_destroy(model);
}

/* --- errors and changes ------------------------------------------------------------------------
 */
static void one_gross_error_is_not_believed_a_second_alike_is(void **state) {
    (void)state;
    for (int down = 0; down < 2; down++) {
        struct sy_model *model = walkers(1, 0.02, 0.02);
        struct sy_filter *filter = start(model, NULL);
        for (uint32_t t = 0; t < 50; t++) {
            see(filter, 0, t % 2 ? 990 : 1010);
        }
        double wild = down ? 100 : 10000;
        see(filter, 0, wild);
        assert_float_equal(sy_filter_estimate(filter, 0).median, 1000, 100);
        assert_true(sy_filter_estimate(filter, 0).log_sd > 0.03); /* but it is less sure */
        see(filter, 0, wild);
        see(filter, 0, wild);
        assert_float_equal(sy_filter_estimate(filter, 0).median, wild, wild / 5);
        sy_filter_destroy(filter);
        sy_model_destroy(model);
    }
}

static void noisy_jumps_are_followed(void **state) {
    (void)state;
    struct sy_model *model = walkers(1, 0.1, 0.4);
    struct sy_filter *filter = start(model, NULL);
    struct sy_rng rng = sy_rng_make(3, 0, 0);
    uint32_t late = 0;
    for (uint32_t t = 0; t < 400; t++) {
        double rate = t / 40 % 2 ? 9000 : 1000;
        see(filter, 0, rate * fmax(1 + 0.28 * sy_rng_student(&rng, 4), 0.05));
        double ratio = sy_filter_estimate(filter, 0).median / rate;
        late += t % 40 >= 8 && (ratio < 0.5 || ratio > 2);
    }
    assert_in_range(late, 0, 16); /* of 320 */
    sy_filter_destroy(filter);
    sy_model_destroy(model);
}

static void a_refuted_relation_is_left_out_and_comes_back(void **state) {
    (void)state;
    struct sy_model *model = walkers(3, 0.02, 0.02);
    add_sum(model, 2, (uint32_t[]){0, 1}, 2);
    struct sy_filter *filter = start(model, NULL);
    for (uint32_t t = 0; t < 400; t++) {
        double wrong = t < 200 ? 3 : 1;
        struct sy_observation seen[] = {{0, 3000, 0}, {1, 1000, 0}, {2, 4000 * wrong, 0}};
        sy_filter_step(filter, STEP_NS, seen, 3);
        if (t == 199) {
            assert_true(sy_filter_factor(filter, 0).rejected);
            assert_true(sy_filter_factor(filter, 0).surprise > 2);
            assert_float_equal(sy_filter_estimate(filter, 2).median, 12000, 600);
        }
    }
    assert_false(sy_filter_factor(filter, 0).rejected);
    sy_filter_destroy(filter);
    sy_model_destroy(model);
}

static void a_width_is_learned(void **state) {
    (void)state;
    struct sy_model *model = walkers(3, 0.02, 0.005);
    add_sum(model, 2, (uint32_t[]){0, 1}, 2);
    struct sy_filter *filter = start(model, NULL);
    struct sy_rng rng = sy_rng_make(5, 0, 0);
    for (uint32_t t = 0; t < 2000; t++) {
        double off = exp(0.1 * sy_rng_normal(&rng));
        struct sy_observation seen[] = {{0, 3000, 0}, {1, 1000, 0}, {2, 4000 * off, 0}};
        sy_filter_step(filter, STEP_NS, seen, 3);
    }
    assert_false(sy_filter_factor(filter, 0).rejected);
    assert_true(sy_filter_factor(filter, 0).width > 0.04);
    sy_filter_destroy(filter);
    sy_model_destroy(model);
}

/* --- counters that misbehave -------------------------------------------------------------------
 */
static void a_counter_that_stops_grows_old_and_vague(void **state) {
    (void)state;
    struct sy_model *model = walkers(2, 0.1, 0.02);
    struct sy_filter *filter = start(model, NULL);
    double sd = 0;
    for (uint32_t t = 0; t < 100; t++) {
        struct sy_observation seen[] = {{0, 1000, 0}, {1, 500, 0}};
        sy_filter_step(filter, STEP_NS, seen, t < 50 ? 2 : 1);
        if (t == 49) {
            sd = sy_filter_estimate(filter, 1).log_sd;
        }
    }
    struct sy_posterior gone = sy_filter_estimate(filter, 1);
    assert_float_equal(gone.age_ns, 50 * STEP_NS, 1);
    assert_true(gone.log_sd > 3 * sd);
    assert_float_equal(sy_filter_estimate(filter, 0).age_ns, 0, 0);
    sy_filter_destroy(filter);
    sy_model_destroy(model);
}

static void nonsense_is_ignored_and_counted(void **state) {
    (void)state;
    struct sy_model *model = walkers(2, 0.1, 0.02);
    struct sy_filter *filter = start(model, NULL);
    see(filter, 0, 1234);
    struct sy_observation bad[] = {{0, NAN, 0}, {0, INFINITY, 0}, {0, -1, 0},
                                   {99, 10, 0}, {0, 10, NAN},     {0, 10, -1}};
    for (uint32_t i = 0; i < SY_COUNT(bad); i++) {
        sy_filter_step(filter, 0, &bad[i], 1);
    }
    assert_int_equal(sy_filter_ignored(filter), SY_COUNT(bad));
    assert_float_equal(sy_filter_estimate(filter, 0).median, 1234, 20);
    sy_filter_step(filter, NAN, NULL, 0);
    sy_filter_step(filter, -5, NULL, 0);
    sy_filter_step(filter, 1e30, NULL, 0);
    sy_filter_step(filter, INFINITY, NULL, 0);
    struct sy_posterior after = sy_filter_estimate(filter, 0);
    assert_true(isfinite(after.median) && isfinite(after.high) && after.log_sd > 0.5);
    see(filter, 0, 77);
    assert_float_equal(sy_filter_estimate(filter, 0).median, 77, 5);
    sy_filter_destroy(filter);
    sy_model_destroy(model);
}

static void a_rate_stays_near_its_capacity(void **state) {
    (void)state;
    struct sy_model *model = walkers(2, 0.3, 0.3);
    model->variables[0].capacity = 1000;
    struct sy_term part = {0, 1};
    struct sy_factor below = {.kind = SY_FACTOR_AT_MOST,
                              .origin = SY_FROM_SUBSET,
                              .why = "part of",
                              .out = 1,
                              .width = 0.02};
    assert_int_equal(sy_model_add_factor(model, &below, &part, 1), 0);
    struct sy_filter *filter = start(model, NULL);
    for (uint32_t t = 0; t < 30; t++) {
        struct sy_observation seen[] = {{0, 1500, 0}, {1, 400, 0.01}};
        sy_filter_step(filter, STEP_NS, seen, 1);
        assert_true(sy_filter_estimate(filter, 0).median < 1200);
        /* And what is part of something is at most that. */
        assert_true(sy_filter_estimate(filter, 0).median <
                    1.2 * sy_filter_estimate(filter, 1).median);
    }
    sy_filter_destroy(filter);
    sy_model_destroy(model);
}

/* Whatever is thrown at it. */
static void everything_stays_finite(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 1, 0);
        uint32_t n = 3 + sy_rng_below(&rng, 20), slots = 1 + sy_rng_below(&rng, 6), chosen[8];
        struct sy_model *model = walkers(n, 0.3, 0.1);
        for (uint32_t r = 0; r < n / 3; r++) {
            /* Some of these contradict each other. */
            uint32_t parts[] = {sy_rng_below(&rng, n), sy_rng_below(&rng, n)};
            add_sum(model, sy_rng_below(&rng, n), parts, 2);
        }
        struct sy_filter_options options = {.seed = seed};
        struct sy_filter *filter = start(model, &options);
        for (uint32_t t = 0; t < 200; t++) {
            struct sy_observation seen[8];
            uint32_t count = sy_filter_choose(filter, &slots, 1, chosen);
            for (uint32_t k = 0; k < count; k++) {
                double scale = exp(12 * (sy_rng_uniform(&rng) - 0.5));
                seen[k] = (struct sy_observation){chosen[k],
                                                  sy_rng_below(&rng, 10) ? 1000 * scale : 0, 0};
            }
            sy_filter_step(filter, STEP_NS * exp(4 * sy_rng_normal(&rng)), seen, count);
            for (uint32_t i = 0; i < n; i++) {
                struct sy_posterior p = sy_filter_estimate(filter, i);
                if (!isfinite(p.mean) || !isfinite(p.high) || !(p.log_sd > 0) || p.low < 0) {
                    fail_msg("seed %lu step %u variable %u", (unsigned long)seed, t, i);
                }
            }
        }
        double rates[32];
        sy_filter_sample(filter, &rng, rates);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(isfinite(rates[i]) && rates[i] >= 0);
        }
        sy_filter_destroy(filter);
        sy_model_destroy(model);
    }
}

/* --- bands, learning ---------------------------------------------------------------------------
 */
/* A walk that moves as the model says; returns coverage, and the mean error in ln. */
static double walk(const struct sy_model *model, const double (*factor)[6], uint32_t slots,
                   bool no_learning, uint64_t seed, double *ret_error) {
    uint32_t n = model->variable_count, chosen[6];
    struct sy_filter_options options = {.seed = seed, .no_learning = no_learning};
    struct sy_filter *filter = start(model, &options);
    struct sy_rng rng = sy_rng_make(seed, 2, 0);
    double x[6] = {0}, inside = 0, all = 0, error = 0;
    for (uint32_t t = 0; t < 2000; t++) {
        struct sy_observation seen[6];
        for (uint32_t i = 0; i < n; i++) {
            double z = sy_rng_normal(&rng);
            for (uint32_t j = 0; j < n; j++) {
                x[j] += factor[i][j] * z;
            }
        }
        uint32_t count = sy_filter_choose(filter, &slots, 1, chosen);
        for (uint32_t k = 0; k < count; k++) {
            double noise = 0.053 * sy_rng_normal(&rng);
            seen[k] = (struct sy_observation){chosen[k], 1000 * exp(x[chosen[k]] + noise), 0};
        }
        sy_filter_step(filter, STEP_NS, seen, count);
        for (uint32_t i = 0; i < n && t >= 500; i++) {
            struct sy_posterior p = sy_filter_estimate(filter, i);
            inside += p.low <= 1000 * exp(x[i]) && 1000 * exp(x[i]) <= p.high;
            error += fabs(p.log_mean - log(1000) - x[i]);
            all++;
        }
        for (uint32_t i = 0; i < n; i++) {
            x[i] *= 0.999; /* so that it stays where the model expects it */
        }
    }
    sy_filter_destroy(filter);
    *ret_error = error / all;
    return inside / all;
}

static void bands_cover_what_they_say(void **state) {
    (void)state;
    double factor[6][6] = {{0}}, error, inside = 0;
    struct sy_model *model = walkers(6, 0.1, 0.05);
    for (uint32_t i = 0; i < 6; i++) {
        factor[i][i] = 0.1;
    }
    for (uint64_t seed = 1; seed <= 5; seed++) {
        inside += walk(model, factor, 2, false, seed, &error) / 5;
    }
    print_message("# coverage %.3f\n", inside);
    assert_true(inside > 0.93 && inside < 0.97);
    sy_model_destroy(model);
}

/* All six move together, which the model does not say; readings of three at a time show it. */
static void what_moves_together_is_learned_from_few_readings(void **state) {
    (void)state;
    double factor[6][6] = {{0}}, with, without;
    struct sy_model *model = walkers(6, 0.1, 0.05);
    for (uint32_t i = 0; i < 6; i++) {
        factor[i][i] = 0.02;
        factor[0][i] = 0.1;
    }
    walk(model, factor, 3, false, 1, &with);
    walk(model, factor, 3, true, 1, &without);
    print_message("# error %.4f with learning, %.4f without\n", with, without);
    assert_true(with < 0.9 * without);
    sy_model_destroy(model);
}

/* Rates that return to their usual by a tenth a step, around level in ln, and a walk. */
static void settle(double *rates, uint32_t count, double level, uint64_t seed) {
    struct sy_rng rng = sy_rng_make(seed, 0, 0);
    double x = 0, walk = 0;
    for (uint32_t t = 0; t < count; t++) {
        x = 0.9 * x + 0.2 * sy_rng_normal(&rng);
        walk += 0.02 * sy_rng_normal(&rng);
        rates[t * 2] = 1000 * exp(level + x);
        rates[t * 2 + 1] = 1000 * exp(walk);
    }
}

/* Share of the way back to the usual rate that the filter believes in after a long silence. */
static double after_silence(const struct sy_model *model, const double *rates, uint32_t count) {
    struct sy_filter *filter = NULL;
    assert_int_equal(sy_filter_create(model, NULL, &filter), 0);
    for (uint32_t t = 0; t < count; t++) {
        struct sy_observation o[] = {{0, rates[t * 2], 0}, {1, rates[t * 2 + 1], 0}};
        sy_filter_step(filter, 1e6, o, 2);
    }
    double before = sy_filter_estimate(filter, 0).log_mean;
    sy_filter_step(filter, 50e6, NULL, 0);
    double moved = sy_filter_estimate(filter, 0).log_mean - before;
    double way = model->variables[0].start_log - before;
    sy_filter_destroy(filter);
    return moved / way;
}

static void rates_settle_where_readings_bear_it_out(void **state) {
    (void)state;
    enum { T = 3000, SEEN = 600 };
    struct sy_model *model = walkers(2, 0.1, 0.02);
    double *rates = calloc(T * 2, sizeof *rates);
    model->step_ns = 1e6;
    settle(rates, T, 0, 1);
    assert_int_equal(sy_model_learn(model, rates, (uint32_t[]){T}, 1, 0.5), 0);
    assert_float_equal(model->variables[0].settles, 0.1, 0.02);
    assert_true(model->variables[1].settles < 0.02);
    settle(rates, SEEN, 0, 2);
    assert_true(after_silence(model, rates, SEEN) > 0.6);
    /* A program with a level of its own does not go to where others were. */
    settle(rates, SEEN, 3, 2);
    assert_true(after_silence(model, rates, SEEN) < 0.1);
    /* Two programs with levels of their own have no usual rate in common. */
    settle(rates, T / 2, -1, 3);
    settle(rates + T, T / 2, 1, 4);
    assert_int_equal(sy_model_learn(model, rates, (uint32_t[]){T / 2, T / 2}, 2, 0.5), 0);
    assert_true(model->variables[0].settles < 0.03);
    free(rates);
    sy_model_destroy(model);
}

static void complete_series_teach_covariance_starts_and_widths(void **state) {
    (void)state;
    enum { T = 4000 };
    struct sy_model *model = walkers(3, 1, 0.02);
    add_sum(model, 2, (uint32_t[]){0, 1}, 2);
    double *rates = calloc(T * 3, sizeof *rates), x = 0;
    struct sy_rng rng = sy_rng_make(9, 0, 0);
    for (uint32_t t = 0; t < T; t++) {
        x = 0.99 * x + 0.1 * sy_rng_normal(&rng);
        rates[t * 3] = 1000 * exp(x);
        rates[t * 3 + 1] = 500 * exp(x);
        rates[t * 3 + 2] = 1500 * exp(x + 0.05 * sy_rng_normal(&rng));
    }
    uint32_t lengths[] = {T / 2, T / 2};
    assert_int_equal(sy_model_learn(model, rates, lengths, 2, 0.5), 0);
    assert_float_equal(model->covariance[0], 0.01, 0.001);
    assert_float_equal(model->covariance[1], 0.005, 0.0005); /* share of it */
    assert_float_equal(model->factors[0].width, 0.05, 0.005);
    assert_float_equal(model->variables[1].start_log, log(500), 0.5);
    assert_int_equal(sy_model_check(model, NULL), 0);
    rates[7] = NAN;
    assert_int_equal(sy_model_learn(model, rates, lengths, 2, 0.5), -EINVAL);
    assert_int_equal(sy_model_learn(model, rates, lengths, 0, 0.5), -EINVAL);
    free(rates);
    sy_model_destroy(model);
}

/* --- choice ------------------------------------------------------------------------------------
 */
static void everybody_gets_a_turn_and_nobody_more_than_there_is(void **state) {
    (void)state;
    struct sy_model *model = walkers(30, 0.1, 0.02);
    for (uint32_t i = 0; i < 30; i++) {
        model->variables[i].pmu = i < 2 ? SY_PMU_NONE : i < 20 ? 0 : 1;
        model->variables[i].drift_sd = i == 5 ? 1 : 0.05;
    }
    struct sy_filter *filter = start(model, NULL);
    uint32_t slots[] = {4, 1}, chosen[5], times[30] = {0};
    for (uint32_t t = 0; t < 200; t++) {
        uint32_t count = sy_filter_choose(filter, slots, 2, chosen), of[2] = {0};
        struct sy_observation seen[5];
        for (uint32_t k = 0; k < count; k++) {
            assert_in_range(chosen[k], 2, 29);
            of[model->variables[chosen[k]].pmu]++;
            times[chosen[k]]++;
            seen[k] = (struct sy_observation){chosen[k], 1000, 0};
            for (uint32_t j = 0; j < k; j++) {
                assert_int_not_equal(chosen[j], chosen[k]);
            }
        }
        assert_int_equal(of[0], 4);
        assert_int_equal(of[1], 1);
        sy_filter_step(filter, STEP_NS, seen, count);
    }
    for (uint32_t i = 2; i < 30; i++) {
        assert_true(times[i] >= 5);
        assert_true(i == 5 || times[i] < times[5]); /* what changes most is read most */
    }
    sy_filter_destroy(filter);
    sy_model_destroy(model);
}

static void same_seed_same_bits(void **state) {
    (void)state;
    struct sy_model *model = walkers(12, 0.1, 0.05);
    add_sum(model, 11, (uint32_t[]){0, 1, 2}, 3);
    double sums[3] = {0};
    for (int run = 0; run < 3; run++) {
        struct sy_filter_options options = {.seed = run == 2 ? 8 : 7};
        struct sy_filter *filter = start(model, &options);
        struct sy_rng rng = sy_rng_make(4, 0, 0);
        uint32_t slots = 3, chosen[3];
        for (uint32_t t = 0; t < 100; t++) {
            struct sy_observation seen[3];
            uint32_t count = sy_filter_choose(filter, &slots, 1, chosen);
            for (uint32_t k = 0; k < count; k++) {
                seen[k] = (struct sy_observation){chosen[k], 1000 + sy_rng_uniform(&rng), 0};
            }
            sy_filter_step(filter, STEP_NS, seen, count);
            sums[run] += sy_filter_estimate(filter, t % 12).log_mean;
        }
        sy_filter_destroy(filter);
    }
    assert_memory_equal(&sums[0], &sums[1], sizeof sums[0]);
    assert_memory_not_equal(&sums[0], &sums[2], sizeof sums[0]);
    sy_model_destroy(model);
}

static void reset_is_a_new_beginning(void **state) {
    (void)state;
    struct sy_model *model = walkers(2, 0.1, 0.05);
    struct sy_filter *filter = start(model, NULL);
    struct sy_posterior first = sy_filter_estimate(filter, 0);
    see(filter, 0, 5);
    sy_filter_reset(filter);
    struct sy_posterior again = sy_filter_estimate(filter, 0);
    assert_memory_equal(&first, &again, sizeof first);
    sy_filter_destroy(filter);
    sy_model_destroy(model);
}

/* More relations and readings than one solve takes. */
static void a_large_filter_fits_and_holds(void **state) {
    (void)state;
    enum { VARIABLES = 300, SUMS = 120 };
    struct sy_model *model = walkers(VARIABLES, 0.1, 0.02);
    for (uint32_t r = 0; r < SUMS; r++) {
        add_sum(model, VARIABLES - SUMS + r, (uint32_t[]){r, r + 1, r + 2}, 3);
    }
    struct sy_filter *filter = start(model, NULL);
    assert_true(sy_filter_bytes(filter) < 4000000);
    struct sy_observation seen[VARIABLES];
    for (uint32_t i = 0; i < VARIABLES; i++) {
        seen[i] = (struct sy_observation){i, i < VARIABLES - SUMS ? 1000 : 3000, 0};
    }
    for (uint32_t t = 0; t < 3; t++) {
        sy_filter_step(filter, STEP_NS, seen, VARIABLES);
    }
    for (uint32_t i = 0; i < VARIABLES; i++) {
        assert_float_equal(sy_filter_estimate(filter, i).median, seen[i].rate, 60);
    }
    sy_filter_destroy(filter);
    sy_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_kalman_filter_where_all_is_gaussian),
        cmocka_unit_test(a_relation_tells_what_is_not_read),
        cmocka_unit_test(one_gross_error_is_not_believed_a_second_alike_is),
        cmocka_unit_test(noisy_jumps_are_followed),
        cmocka_unit_test(a_refuted_relation_is_left_out_and_comes_back),
        cmocka_unit_test(a_width_is_learned),
        cmocka_unit_test(a_counter_that_stops_grows_old_and_vague),
        cmocka_unit_test(nonsense_is_ignored_and_counted),
        cmocka_unit_test(a_rate_stays_near_its_capacity),
        cmocka_unit_test(everything_stays_finite),
        cmocka_unit_test(bands_cover_what_they_say),
        cmocka_unit_test(what_moves_together_is_learned_from_few_readings),
        cmocka_unit_test(rates_settle_where_readings_bear_it_out),
        cmocka_unit_test(complete_series_teach_covariance_starts_and_widths),
        cmocka_unit_test(everybody_gets_a_turn_and_nobody_more_than_there_is),
        cmocka_unit_test(same_seed_same_bits),
        cmocka_unit_test(reset_is_a_new_beginning),
        cmocka_unit_test(a_large_filter_fits_and_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
