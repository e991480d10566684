/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference sampler against answers that are known (linear and Gaussian ones in closed form,
 * others by quadrature), and the filter against the reference.
 */
#include "mcmc.h"
#include "worlds.h"

#include "papers/dense.h"

static struct sy_model *of_variables(uint32_t count, double start_sd, double drift_sd) {
    struct sy_model *model = sy_model_create("test");
    assert_non_null(model);
    model->step_ns = 1e6;
    for (uint32_t i = 0; i < count; i++) {
        struct sy_variable v = {.name = "v",
                                .counter = i,
                                .start_log = 2 + 0.3 * i,
                                .start_sd = start_sd,
                                .drift_sd = drift_sd,
                                .noise_ratio = 0.2,
                                .capacity = INFINITY,
                                .resource = SY_NONE};
        assert_int_equal(sy_model_add_variable(model, &v), i);
    }
    return model;
}

static void relate(struct sy_model *model, enum sy_factor_kind kind, uint32_t out, double width,
                   const struct sy_term *terms, uint32_t count) {
    struct sy_factor factor = {.kind = kind, .why = "test", .out = out, .width = width};
    assert_int_not_equal(sy_model_add_factor(model, &factor, terms, count), SY_NONE);
}

static struct sy_mcmc *run(const struct sy_model *model, const struct sy_observation *readings,
                           const uint32_t *counts, uint32_t steps, double degrees) {
    struct sy_mcmc *mcmc;
    struct sy_mcmc_options options = {.student_degrees = degrees, .seed = 5};
    assert_int_equal(sy_mcmc_run(model, NULL, NULL, readings, counts, steps, &options, &mcmc), 0);
    assert_true(mcmc->worst_r_hat < 1.03);
    assert_true(mcmc->least_effective > 400);
    return mcmc;
}

/* A relation with one term is a straight line in the logarithms: x_0 + ln c = x_1. Three steps, so
 * that the walk takes part; the answer is one solve. */
static void linear_steps_match_the_exact_answer(void **state) {
    (void)state;
    enum { N = 2, T = 3, ALL = N * T };
    struct sy_model *model = of_variables(N, 0.5, 0.3);
    relate(model, SY_FACTOR_EQUAL, 1, 0.15, (struct sy_term[]){{0, 1.2}}, 1);
    struct sy_observation readings[] = {{0, exp(2.5), 0}, {1, exp(2.4), 0.1}, {0, exp(3.0), 0}};
    uint32_t counts[T] = {1, 1, 1};
    double a[ALL * ALL] = {0}, b[ALL] = {0}, inverse[ALL * ALL];
    double q = 0.09 + 1e-8, p = 0.25 + q;
    for (uint32_t i = 0; i < ALL; i++) {
        uint32_t v = i % N, t = i / N;
        a[i * ALL + i] += t ? 1 / q : 1 / p;
        b[i] += t ? 0 : (2 + 0.3 * v) / p;
        if (t) {
            a[(i - N) * ALL + i - N] += 1 / q;
            a[i * ALL + i - N] -= 1 / q;
            a[(i - N) * ALL + i] -= 1 / q;
        }
        if (v == readings[t].variable) {
            double noise = (readings[t].noise_ratio > 0 ? readings[t].noise_ratio : 0.2) + 0.003;
            a[i * ALL + i] += 1 / (noise * noise);
            b[i] += log(readings[t].rate) / (noise * noise);
        }
    }
    for (uint32_t t = 0; t < T; t++) { /* (x_0 - x_1 + ln 1.2)^2 / width^2 */
        uint32_t i = t * N, j = i + 1;
        double w = 1 / (0.15 * 0.15), c = log(1.2);
        a[i * ALL + i] += w;
        a[j * ALL + j] += w;
        a[i * ALL + j] -= w;
        a[j * ALL + i] -= w;
        b[i] -= w * c;
        b[j] += w * c;
    }
    assert_true(sy_cholesky(a, ALL, ALL, NULL));
    sy_dense_inverse(a, ALL, inverse);
    sy_solve_forward(a, ALL, ALL, b);
    sy_solve_backward(a, ALL, ALL, b);
    struct sy_mcmc *mcmc = run(model, readings, counts, T, INFINITY);
    for (uint32_t i = 0; i < ALL; i++) {
        double sd = sqrt(inverse[i * ALL + i]);
        assert_near(mcmc->mean[i], b[i], 5 * sd / sqrt(mcmc->effective[i]));
        assert_near(mcmc->sd[i] / sd, 1, 0.06);
    }
    print_message("# R-hat %.3f, effective %.0f of %u, accepted %.2f\n", mcmc->worst_r_hat,
                  mcmc->least_effective, mcmc->draw_count, mcmc->accepted);
    sy_mcmc_destroy(mcmc);
    sy_model_destroy(model);
}

/* --- quadrature over three variables ------------------------------------------------------------
 */
struct grid_case {
    const struct sy_model *model;
    const struct sy_observation *readings;
    uint32_t count;
    double degrees;
};

static double student_energy(double degrees, double z) {
    return (degrees + 1) / 2 * log1p(z * z / degrees);
}

/* Written out once more, so that the sampler's own energy is checked too. */
static double grid_energy(const struct grid_case *c, const double *x) {
    double energy = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const struct sy_variable *v = &c->model->variables[i];
        double variance = v->start_sd * v->start_sd + v->drift_sd * v->drift_sd;
        energy += (x[i] - v->start_log) * (x[i] - v->start_log) / variance / 2;
    }
    for (uint32_t i = 0; i < c->count; i++) {
        double off = log(c->readings[i].rate) - x[c->readings[i].variable];
        energy += student_energy(c->degrees, off / 0.203);
    }
    for (uint32_t i = 0; i < c->model->factor_count; i++) {
        const struct sy_factor *f = &c->model->factors[i];
        double sum = 0;
        for (uint32_t k = 0; k < f->term_count; k++) {
            const struct sy_term *term = &c->model->terms[f->first_term + k];
            sum += term->coefficient * exp(x[term->variable]);
        }
        double z = (log(sum) - x[f->out]) / f->width;
        z = f->kind == SY_FACTOR_AT_MOST ? fmax(z, 0) : z;
        energy += student_energy(c->degrees, z);
    }
    return energy;
}

static void quadrature(const struct grid_case *c, double *ret_mean, double *ret_sd) {
    enum { POINTS = 90 };
    double total = 0, first[3] = {0}, second[3] = {0};
    for (uint32_t k = 0; k < POINTS * POINTS * POINTS; k++) {
        uint32_t digits[3] = {k % POINTS, k / POINTS % POINTS, k / POINTS / POINTS};
        double x[3];
        for (uint32_t i = 0; i < 3; i++) {
            const struct sy_variable *v = &c->model->variables[i];
            x[i] = v->start_log + v->start_sd * (-5 + 10 * (digits[i] + 0.5) / POINTS);
        }
        double weight = exp(-grid_energy(c, x));
        total += weight;
        for (uint32_t i = 0; i < 3; i++) {
            first[i] += weight * x[i];
            second[i] += weight * x[i] * x[i];
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        ret_mean[i] = first[i] / total;
        ret_sd[i] = sqrt(second[i] / total - ret_mean[i] * ret_mean[i]);
    }
}

static void bent_relations_match_quadrature(void **state) {
    (void)state;
    for (int at_most = 0; at_most < 2; at_most++) {
        struct sy_model *model = of_variables(3, 0.6, 0.1);
        enum sy_factor_kind kind = at_most ? SY_FACTOR_AT_MOST : SY_FACTOR_EQUAL;
        relate(model, kind, 2, 0.1, (struct sy_term[]){{0, 1}, {1, 1}}, 2);
        struct sy_observation readings[] = {{0, exp(2.3), 0}, {2, exp(2.2), 0}};
        struct grid_case c = {model, readings, 2, 4};
        double mean[3], sd[3];
        quadrature(&c, mean, sd);
        struct sy_mcmc *mcmc = run(model, readings, (uint32_t[]){2}, 1, 4);
        for (uint32_t i = 0; i < 3; i++) {
            print_message("# %s %u: mean %.3f (%.3f), sd %.3f (%.3f)\n",
                          at_most ? "at most" : "equal", i, mcmc->mean[i], mean[i], mcmc->sd[i],
                          sd[i]);
            assert_near(mcmc->mean[i], mean[i], 5 * sd[i] / sqrt(mcmc->effective[i]));
            assert_near(mcmc->sd[i] / sd[i], 1, 0.1);
        }
        sy_mcmc_destroy(mcmc);
        sy_model_destroy(model);
    }
}

static void same_seed_same_draws(void **state) {
    (void)state;
    struct sy_model *model = of_variables(3, 0.6, 0.1);
    relate(model, SY_FACTOR_EQUAL, 2, 0.1, (struct sy_term[]){{0, 1}, {1, 1}}, 2);
    struct sy_mcmc *runs[3];
    for (uint32_t k = 0; k < 3; k++) {
        struct sy_mcmc_options options = {2, 50, 50, 0, k / 2};
        assert_int_equal(
            sy_mcmc_run(model, NULL, NULL, NULL, (uint32_t[]){0}, 1, &options, &runs[k]), 0);
    }
    size_t bytes = sizeof(double) * runs[0]->draw_count * runs[0]->dimensions;
    assert_memory_equal(runs[0]->draws, runs[1]->draws, bytes);
    assert_int_not_equal(memcmp(runs[0]->draws, runs[2]->draws, bytes), 0);
    for (uint32_t k = 0; k < 3; k++) {
        sy_mcmc_destroy(runs[k]);
    }
    sy_model_destroy(model);
}

/* --- the filter against the reference ------------------------------------------------------------
 */
struct gap {
    double mean_sum, mean_worst;             /* |filter - exact| in the exact standard deviations */
    double ratio_sum, ratio_low, ratio_high; /* of standard deviations, filter / exact */
    uint32_t count, far; /* far: off by more than 0.6, or a ratio beyond 2 either way */
};

static void compare_one(const struct sy_model *model, const struct sy_observation *readings,
                        const uint32_t *counts, uint32_t steps, struct gap *gap) {
    struct sy_filter *filter;
    struct sy_mcmc *mcmc;
    struct sy_mcmc_options options = {.seed = 9, .warmup = 300, .draws = 500};
    assert_int_equal(sy_filter_create(model, NULL, &filter), 0);
    const struct sy_observation *at = readings;
    for (uint32_t t = 0; t < steps; t++) {
        sy_filter_step(filter, model->step_ns, at, counts[t]);
        at += counts[t];
    }
    assert_int_equal(sy_mcmc_run(model, NULL, NULL, readings, counts, steps, &options, &mcmc), 0);
    uint32_t n = model->variable_count;
    for (uint32_t i = 0; i < n; i++) {
        struct sy_posterior found = sy_filter_estimate(filter, i);
        uint32_t d = (steps - 1) * n + i;
        double off = fabs(found.log_mean - mcmc->mean[d]) / mcmc->sd[d];
        double ratio = found.log_sd / mcmc->sd[d];
        gap->mean_sum += off;
        gap->mean_worst = fmax(gap->mean_worst, off);
        gap->ratio_sum += log(ratio);
        gap->ratio_low = fmin(gap->ratio_low, ratio);
        gap->ratio_high = fmax(gap->ratio_high, ratio);
        gap->far += off > 0.6 || ratio > 2 || ratio < 0.5;
        gap->count++;
    }
    sy_mcmc_destroy(mcmc);
    sy_filter_destroy(filter);
}

/* The filter's mean is the posterior's maximum and its spread the curvature there: a skewed or
 * heavy-tailed posterior differs. Over random models the mean has to be off by no more than 0.25
 * exact standard deviations on average and the spread by 30 %, and nine of ten variables must not
 * be far. */
static void filter_is_near_the_reference(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(21);
    for (uint32_t steps = 1; steps <= 3; steps += 2) {
        struct gap gap = {.ratio_low = INFINITY};
        for (uint32_t k = 0; k < (steps > 1 ? 4u : 12u); k++) {
            const struct world_shape shape = {8, 4, 0.1, true, k % 2};
            struct sy_model *model = world_model(&rng, &shape);
            struct sy_observation readings[8 * 3];
            double rates[8 * 3];
            uint32_t counts[3];
            for (uint32_t i = 0; i < 8; i++) {
                model->variables[i].capacity = INFINITY; /* a limit that only the filter has */
            }
            struct sy_generate_options options = {
                .steps = steps, .slots = (uint32_t[]){4}, .pmu_count = 1};
            assert_int_equal(sy_model_generate(model, &options, &rng, rates, readings, counts), 0);
            compare_one(model, readings, counts, steps, &gap);
            sy_model_destroy(model);
        }
        double mean = gap.mean_sum / gap.count, ratio = exp(gap.ratio_sum / gap.count);
        print_message("# %u steps: mean off by %.3f sd (worst %.2f); sd ratio %.3f (%.2f to %.2f); "
                      "%u of %u far\n",
                      steps, mean, gap.mean_worst, ratio, gap.ratio_low, gap.ratio_high, gap.far,
                      gap.count);
        assert_true(mean < 0.25 && ratio > 0.7 && ratio < 1.3);
        assert_true(gap.far * 10 <= gap.count);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_steps_match_the_exact_answer),
        cmocka_unit_test(bent_relations_match_quadrature),
        cmocka_unit_test(same_seed_same_draws),
        cmocka_unit_test(filter_is_near_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
