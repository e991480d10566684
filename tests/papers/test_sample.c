/* SPDX-License-Identifier: Apache-2.0
 *
 * Worlds drawn from a model: moments of the walk and the errors, relations kept, turns taken.
 */
#include "worlds.h"

#define STEPS 4000

static double *rates;
static struct sy_observation *readings;
static uint32_t counts[STEPS];

static void generate(const struct sy_model *model, struct sy_generate_options options,
                     uint64_t seed) {
    struct sy_rng rng = sy_rng_make(seed, 0, 0);
    options.steps = STEPS;
    assert_int_equal(sy_model_generate(model, &options, &rng, rates, readings, counts), 0);
}

static int setup(void **state) {
    (void)state;
    rates = malloc(sizeof *rates * STEPS * 20);
    readings = malloc(sizeof *readings * STEPS * 20);
    return rates && readings ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    free(rates);
    free(readings);
    return 0;
}

/* Without relations the steps of the walk have the model's covariance. */
static void walk_has_the_covariance(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(31);
    const struct world_shape shape = {5, 0, 0.1, true, true};
    struct sy_model *model = world_model(&rng, &shape);
    generate(model, (struct sy_generate_options){0}, 1);
    for (uint32_t i = 0; i < 5; i++) {
        for (uint32_t j = 0; j < 5; j++) {
            double sum = 0;
            for (uint32_t t = 1; t < STEPS; t++) {
                sum += log(rates[t * 5 + i] / rates[(t - 1) * 5 + i]) *
                       log(rates[t * 5 + j] / rates[(t - 1) * 5 + j]);
            }
            double scale = sqrt(model->covariance[i * 6] * model->covariance[j * 6]);
            assert_near(sum / (STEPS - 1), model->covariance[i * 5 + j], 0.09 * scale);
        }
    }
    sy_model_destroy(model);
}

/* Where every step is a new phase, the start values are what is drawn. */
static void phases_begin_at_the_start_values(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(32);
    const struct world_shape shape = {3, 0, 0.1, true, false};
    struct sy_model *model = world_model(&rng, &shape);
    generate(model, (struct sy_generate_options){.jump_ratio = 1}, 2);
    for (uint32_t i = 0; i < 3; i++) {
        double sum = 0, squares = 0, sd = model->variables[i].start_sd;
        for (uint32_t t = 0; t < STEPS; t++) {
            double off = log(rates[t * 3 + i]) - model->variables[i].start_log;
            sum += off / STEPS;
            squares += off * off / STEPS;
        }
        assert_near(sum, 0, 5 * sd / sqrt(STEPS));
        assert_near(sqrt(squares) / sd, 1, 0.06);
    }
    sy_model_destroy(model);
}

/* ln left - ln right of a relation without negative terms. */
static double miss(const struct sy_model *model, const struct sy_factor *f, const double *now) {
    double sum = f->constant;
    for (uint32_t k = 0; k < f->term_count; k++) {
        const struct sy_term *term = &model->terms[f->first_term + k];
        sum += term->coefficient * now[term->variable];
    }
    return log(sum / now[f->out]);
}

static void relations_hold_within_their_widths(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(33);
    const struct world_shape shape = {10, 4, 0.05, true, true};
    struct sy_model *model = world_model(&rng, &shape);
    model->factors[3].kind = SY_FACTOR_AT_MOST;
    generate(model, (struct sy_generate_options){.jump_ratio = 0.01}, 3);
    for (uint32_t i = 0; i < 4; i++) {
        const struct sy_factor *f = &model->factors[i];
        double squares = 0, worst = 0, below = 0;
        for (uint32_t t = 0; t < STEPS; t++) {
            double z = miss(model, f, &rates[t * 10]) / f->width;
            squares += z * z / STEPS;
            worst = fmax(worst, z);
            below += z < 0 ? 1.0 / STEPS : 0;
        }
        print_message("# relation %u: rms %.2f widths, most %.2f, below 0 %.2f\n", i, sqrt(squares),
                      worst, below);
        assert_true(worst < 5);
        if (f->kind == SY_FACTOR_EQUAL) {
            assert_true(sqrt(squares) < 1.1 && sqrt(squares) > 0.3);
        }
    }
    sy_model_destroy(model);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Quartiles of a Student-t with 4 degrees are at 0.7407, of a Gaussian at 0.6745; and tails. */
static void errors_are_student(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(34);
    const struct world_shape shape = {1, 0, 0.1, true, false};
    struct sy_model *model = world_model(&rng, &shape);
    static double errors[STEPS];
    const double quartile[] = {0.7407, 0.6745}, far[] = {0.0161, 0.0001};
    for (uint32_t gauss = 0; gauss < 2; gauss++) {
        double beyond = 0;
        generate(model, (struct sy_generate_options){.student_degrees = gauss ? INFINITY : 4}, 4);
        for (uint32_t t = 0; t < STEPS; t++) {
            assert_int_equal(counts[t], 1);
            errors[t] = fabs(log(readings[t].rate / rates[t])) / model->variables[0].noise_ratio;
            beyond += errors[t] > 4 ? 1.0 / STEPS : 0;
        }
        qsort(errors, STEPS, sizeof *errors, by_value);
        assert_near(errors[STEPS / 2], quartile[gauss], 0.06);
        assert_near(beyond, far[gauss], 0.007);
    }
    sy_model_destroy(model);
}

static void counters_take_turns(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(35);
    const struct world_shape shape = {10, 2, 0.1, true, false};
    struct sy_model *model = world_model(&rng, &shape);
    model->variables[0].pmu = SY_PMU_NONE; /* always there */
    model->variables[1].counter = SY_NONE; /* hidden */
    model->variables[2].pmu = 1;           /* alone on its pmu, which has more slots than that */
    const uint32_t slots[] = {3, 4};
    generate(model, (struct sy_generate_options){.slots = slots, .pmu_count = 2}, 5);
    uint32_t seen[10] = {0}, at = 0;
    for (uint32_t t = 0; t < STEPS; t++) {
        assert_int_equal(counts[t], 1 + 3 + 1);
        uint32_t here = 0;
        for (uint32_t k = 0; k < counts[t]; k++, at++) {
            assert_false(here >> readings[at].variable & 1);
            here |= 1u << readings[at].variable;
            seen[readings[at].variable]++;
        }
    }
    assert_int_equal(seen[0], STEPS);
    assert_int_equal(seen[1], 0);
    assert_int_equal(seen[2], STEPS);
    for (uint32_t i = 3; i < 10; i++) {
        assert_near(seen[i], 3.0 * STEPS / 7, 2);
    }
    sy_model_destroy(model);
}

static void same_seed_same_world(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(36);
    const struct world_shape shape = {6, 3, 0.1, false, true};
    struct sy_model *model = world_model(&rng, &shape);
    static double first[STEPS * 6];
    generate(model, (struct sy_generate_options){.jump_ratio = 0.02}, 6);
    memcpy(first, rates, sizeof first);
    double reading = readings[STEPS].rate;
    generate(model, (struct sy_generate_options){.jump_ratio = 0.02}, 6);
    assert_memory_equal(first, rates, sizeof first);
    assert_true(readings[STEPS].rate == reading);
    generate(model, (struct sy_generate_options){.jump_ratio = 0.02}, 7);
    assert_int_not_equal(memcmp(first, rates, sizeof first), 0);
    sy_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walk_has_the_covariance),
        cmocka_unit_test(phases_begin_at_the_start_values),
        cmocka_unit_test(relations_hold_within_their_widths),
        cmocka_unit_test(errors_are_student),
        cmocka_unit_test(counters_take_turns),
        cmocka_unit_test(same_seed_same_world),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
