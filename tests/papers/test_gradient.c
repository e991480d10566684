/* SPDX-License-Identifier: Apache-2.0
 *
 * The pathwise gradient against finite differences of the same function, on random models; and that
 * following it does what it should.
 */
#include "worlds.h"

#define VARIABLES  20
#define MODELS     100
#define STEPS      4
#define PARAMETERS 400

/* A function with no symmetry that could hide a mistake. */
static double odd_loss(void *user, struct sy_draws *draws) {
    const double *weights = user;
    double sum = 0;
    for (uint32_t s = 0; s < draws->count; s++) {
        double mixed = 0;
        for (uint32_t i = 0; i < draws->n; i++) {
            size_t at = (size_t)s * draws->n + i;
            mixed += weights[i] * draws->utilisations[at] + 1e-3 * weights[i] * draws->rates[at];
        }
        double value = tanh(mixed), slope = (1 - value * value) / draws->count;
        for (uint32_t i = 0; i < draws->n; i++) {
            size_t at = (size_t)s * draws->n + i;
            draws->utilisation_slopes[at] += slope * weights[i];
            draws->rate_slopes[at] += 1e-3 * slope * weights[i];
        }
        sum += value / draws->count;
    }
    return sum * (1 + draws->step);
}

/* The step's factor of odd_loss, kept apart so that the loss stays readable. */
static double stepped_loss(void *user, struct sy_draws *draws) {
    double value = odd_loss(user, draws);
    for (size_t i = 0; i < (size_t)draws->count * draws->n; i++) {
        draws->utilisation_slopes[i] *= 1 + draws->step;
        draws->rate_slopes[i] *= 1 + draws->step;
    }
    return value;
}

struct case_of {
    struct sy_model *model;
    struct sy_observation readings[STEPS * VARIABLES];
    uint32_t counts[STEPS], steps;
    double theta[PARAMETERS], gradient[PARAMETERS], weights[VARIABLES];
    struct sy_gradient_options options;
    struct sy_loss loss;
};

static void make_case(struct case_of *c, struct sy_rng *rng, const struct world_shape *shape,
                      uint32_t steps) {
    uint32_t at = 0;
    c->model = world_model(rng, shape);
    c->steps = steps;
    assert_true(sy_parameter_first(c->model, SY_PARAMETER_KINDS) <= PARAMETERS);
    for (uint32_t t = 0; t < steps; t++) {
        at += c->counts[t] = world_readings(c->model, rng, 0.5, c->readings + at);
    }
    for (uint32_t i = 0; i < VARIABLES; i++) {
        c->weights[i] = sy_rng_normal(rng);
    }
    sy_parameters_read(c->model, c->theta);
    c->options = (struct sy_gradient_options){.draw_count = 8, .seed = 7};
    c->loss = (struct sy_loss){stepped_loss, c->weights};
}

static double value_at(struct case_of *c, uint32_t parameter, double shift) {
    double kept = c->theta[parameter], value = NAN;
    c->theta[parameter] = kept + shift;
    assert_int_equal(sy_gradient(c->model, c->theta, c->readings, c->counts, c->steps, &c->options,
                                 &c->loss, &value, NULL),
                     0);
    c->theta[parameter] = kept;
    return value;
}

/* Fourth-order central difference, and how far it is from that of twice the step: much where a
 * corner (an "at most" that begins to bind) or a bend lies within. */
static double difference(struct case_of *c, uint32_t i, double step, double *ret_doubt) {
    double h = step * fmax(1, fabs(c->theta[i])), found[2];
    for (int k = 0; k < 2; k++, h /= 2) {
        found[k] = (8 * (value_at(c, i, h) - value_at(c, i, -h)) -
                    (value_at(c, i, 2 * h) - value_at(c, i, -2 * h))) /
                   (12 * h);
    }
    *ret_doubt = fabs(found[0] - found[1]);
    return found[1];
}

/* Worst |found - difference| over the model's parameters, relative to the gradient's largest
 * element of the same kind. Quotients that have not settled are counted, not compared. */
static double worst_error(struct case_of *c, uint32_t every, uint32_t offset, uint32_t *unsettled) {
    double value, worst = 0;
    assert_int_equal(sy_gradient(c->model, c->theta, c->readings, c->counts, c->steps, &c->options,
                                 &c->loss, &value, c->gradient),
                     0);
    for (uint32_t kind = 0; kind < SY_PARAMETER_KINDS; kind++) {
        uint32_t first = sy_parameter_first(c->model, kind);
        uint32_t end = sy_parameter_first(c->model, kind + 1);
        double largest = 1e-6;
        for (uint32_t i = first; i < end; i++) {
            largest = fmax(largest, fabs(c->gradient[i]));
        }
        for (uint32_t i = first + offset; i < end; i += every) {
            double doubt, expected = difference(c, i, 1e-4, &doubt);
            if (doubt > 1e-5 * largest) {
                (*unsettled)++;
                continue;
            }
            worst = fmax(worst, fabs(c->gradient[i] - expected) / largest);
        }
    }
    return worst;
}

static void compare(const struct world_shape *shape, uint32_t models, uint32_t steps,
                    uint32_t every, uint32_t purpose) {
    struct sy_rng rng = seeded_rng(purpose);
    uint32_t unsettled = 0, compared = 0;
    double worst = 0;
    for (uint32_t k = 0; k < models; k++) {
        struct case_of c = {0};
        make_case(&c, &rng, shape, steps);
        double error = worst_error(&c, every, k % every, &unsettled);
        compared += sy_parameter_first(c.model, SY_PARAMETER_KINDS) / every;
        sy_model_destroy(c.model);
        worst = fmax(worst, error);
        assert_true(error <= 1e-4);
    }
    print_message("# %u models of %u variables, %u steps: worst %.2g relative; %u of %u quotients "
                  "unsettled\n",
                  models, shape->variables, steps, worst, unsettled, compared);
    assert_true(unsettled <= compared / 20);
}

static void one_step_matches_finite_differences(void **state) {
    (void)state;
    const struct world_shape shape = {VARIABLES, 10, 0.1, false, true};
    compare(&shape, MODELS, 1, 3, 11); /* a third of each model's parameters, in turn */
}

static void several_steps_match_finite_differences(void **state) {
    (void)state;
    const struct world_shape shape = {VARIABLES, 8, 0.1, false, false};
    compare(&shape, 10, STEPS, 3, 12);
}

/* Where everything is linear and Gaussian the answer is known: one variable, one reading. */
static double mean_loss(void *user, struct sy_draws *draws) {
    (void)user;
    double sum = 0;
    for (uint32_t s = 0; s < draws->count; s++) {
        sum += log(draws->rates[s]) / draws->count;
        draws->rate_slopes[s] += 1 / draws->rates[s] / draws->count;
    }
    return sum;
}

static void one_variable_has_the_known_answer(void **state) {
    (void)state;
    struct sy_model *model = sy_model_create("one");
    struct sy_variable v = {.name = "v",
                            .counter = 0,
                            .start_log = 1,
                            .start_sd = 0.5,
                            .drift_sd = 0.3,
                            .noise_ratio = 0.2,
                            .capacity = INFINITY,
                            .resource = SY_NONE};
    assert_int_equal(sy_model_add_variable(model, &v), 0);
    double theta[8], gradient[8], value;
    sy_parameters_read(model, theta);
    struct sy_observation reading = {.variable = 0, .rate = exp(2)};
    struct sy_gradient_options options = {20000, INFINITY, 1};
    struct sy_loss loss = {mean_loss, NULL};
    assert_int_equal(
        sy_gradient(model, theta, &reading, (uint32_t[]){1}, 1, &options, &loss, &value, gradient),
        0);
    double prior = 0.25 + 0.09 + 1e-8, noise = 0.203 * 0.203, gain = prior / (prior + noise);
    assert_near(value, 1 + gain, 0.005);
    /* the draws' mean is not quite 0: compare where it does not matter */
    assert_near(gradient[sy_parameter_first(model, SY_PARAMETER_START)], 1 - gain, 1e-9);
    double by_prior = noise / ((prior + noise) * (prior + noise));
    assert_near(gradient[sy_parameter_first(model, SY_PARAMETER_START_SD)], 2 * 0.25 * by_prior,
                0.005);
    sy_model_destroy(model);
}

/* Rates are drawn from one model; a second one with wrong widths and coefficients, trained on the
 * squared error of its draws, comes nearer. */
struct truth {
    const double *rates;
};

static double error_loss(void *user, struct sy_draws *draws) {
    const struct truth *truth = user;
    double sum = 0, scale = 1.0 / (draws->count * draws->n);
    for (size_t i = 0; i < (size_t)draws->count * draws->n; i++) {
        double true_log = log(truth->rates[(size_t)draws->step * draws->n + i % draws->n]);
        double off = log(draws->rates[i]) - true_log;
        sum += scale * off * off;
        draws->rate_slopes[i] += scale * 2 * off / draws->rates[i];
    }
    return sum;
}

static void descent_learns_a_wrong_coefficient(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(1, 13, 0); /* one world: not every one is so instructive */
    const struct world_shape shape = {6, 3, 0.02, true, false};
    struct sy_model *model = world_model(&rng, &shape);
    enum { T = 12 };
    double rates[T * 6], theta[PARAMETERS], gradient[PARAMETERS], value, first = 0;
    struct sy_observation readings[T * 6];
    uint32_t counts[T];
    struct sy_generate_options options = {.steps = T, .slots = (uint32_t[]){3}, .pmu_count = 1};
    assert_int_equal(sy_model_generate(model, &options, &rng, rates, readings, counts), 0);
    sy_parameters_read(model, theta);
    uint32_t from = sy_parameter_first(model, SY_PARAMETER_COEFFICIENT);
    double right = theta[from];
    theta[from] *= 1.6;
    struct truth truth = {rates};
    struct sy_loss loss = {error_loss, &truth};
    for (uint32_t k = 0; k < 60; k++) {
        assert_int_equal(
            sy_gradient(model, theta, readings, counts, T, NULL, &loss, &value, gradient), 0);
        first = k ? first : value;
        double step = 0.02 * fmin(1, 5 / fabs(gradient[from]));
        theta[from] -= step * gradient[from];
    }
    print_message("# loss %.4f -> %.4f, coefficient %.3f -> %.3f, true %.3f\n", first, value,
                  1.6 * right, theta[from], right);
    assert_true(value < first);
    assert_true(fabs(theta[from] - right) < 0.4 * 0.6 * right);
    sy_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_variable_has_the_known_answer),
        cmocka_unit_test(one_step_matches_finite_differences),
        cmocka_unit_test(several_steps_match_finite_differences),
        cmocka_unit_test(descent_learns_a_wrong_coefficient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
