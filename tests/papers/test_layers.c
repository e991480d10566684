/* SPDX-License-Identifier: Apache-2.0 */
#include "papers/matrix.h"
#include "reference.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CASES 60

struct layer_case {
    struct sy_linear linear;
    struct sy_mlp mlp;
    uint32_t rows;
};

static void linear(const void *context, const double *block, const double *x, double *y) {
    const struct layer_case *c = context;
    reference_linear(&c->linear, block, x, c->rows, y);
}

static void mlp(const void *context, const double *block, const double *x, double *y) {
    const struct layer_case *c = context;
    reference_mlp(&c->mlp, block, x, c->rows, y);
}

static float *randoms(struct sy_rng *rng, size_t count) {
    float *memory = floats(count);
    fill_random(rng, memory, count);
    return memory;
}

static void linear_slopes(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(test_seed(), 1, 0);
    for (uint32_t i = 0; i < CASES; i++) {
        uint32_t at = sy_rng_below(&rng, 5);
        struct layer_case c = {.rows = sy_rng_below(&rng, 8)};
        c.linear = sy_linear_make(sy_rng_below(&rng, 20), sy_rng_below(&rng, 45), &at);
        float *block = randoms(&rng, at), *slopes = floats(at);
        float *x = randoms(&rng, c.rows * c.linear.in), *dx = floats(c.rows * c.linear.in);
        float *y = floats(c.rows * c.linear.out), *dy = randoms(&rng, c.rows * c.linear.out);
        struct slope_case s = {
            "linear", &c, at, c.rows * c.linear.in, c.rows * c.linear.out, block, x, dy, linear};
        sy_linear_forward(&c.linear, block, x, c.rows, y);
        sy_linear_backward(&c.linear, block, x, dy, c.rows, slopes, dx);
        check_values(&s, y);
        check_slopes(&s, slopes, dx);
        float *all[] = {block, slopes, x, dx, y, dy};
        for (size_t k = 0; k < SY_COUNT(all); k++) {
            free(all[k]);
        }
    }
}

/* Slopes are added to what is there; the input's are not computed when nobody wants them. */
static void slopes_add(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(test_seed(), 2, 0);
    uint32_t at = 0;
    struct sy_linear layer = sy_linear_make(3, 2, &at);
    float block[8], x[3], dy[2], once[8] = {0}, twice[8] = {0};
    fill_random(&rng, block, 8);
    fill_random(&rng, x, 3);
    fill_random(&rng, dy, 2);
    sy_linear_backward(&layer, block, x, dy, 1, once, NULL);
    sy_linear_backward(&layer, block, x, dy, 1, twice, NULL);
    sy_linear_backward(&layer, block, x, dy, 1, twice, NULL);
    for (int i = 0; i < 8; i++) {
        assert_true(twice[i] == 2 * once[i]);
    }
}

/* A row gives the same bits alone and among others: what is computed anew may be mixed with what
 * was computed before. */
static void rows_are_alone(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(test_seed(), 3, 0);
    uint32_t at = 0, widths[] = {37, 64, 9};
    struct sy_mlp net = sy_mlp_make(21, widths, 3, SY_TANH, SY_LINEAR, &at);
    float *block = floats(at), x[11 * 21], tape[11 * 110], one[110];
    sy_mlp_start(&net, 1, &rng, block);
    fill_random(&rng, x, SY_COUNT(x));
    const float *y = sy_mlp_forward(&net, block, x, 11, tape);
    for (uint32_t r = 0; r < 11; r++) {
        const float *alone = sy_mlp_forward(&net, block, x + r * 21, 1, one);
        assert_memory_equal(alone, y + r * 9, 9 * sizeof *y);
    }
    free(block);
}

static void mlp_slopes(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(test_seed(), 5, 0);
    for (uint32_t i = 0; i < CASES; i++) {
        uint32_t at = sy_rng_below(&rng, 5), in = sy_rng_below(&rng, 12);
        uint32_t count = 1 + sy_rng_below(&rng, SY_MLP_LAYERS), widths[SY_MLP_LAYERS], most = 0;
        for (uint32_t k = 0; k < count; k++) {
            widths[k] = 1 + sy_rng_below(&rng, 18);
            most = widths[k] > most ? widths[k] : most;
        }
        struct layer_case c = {.rows = sy_rng_below(&rng, 7)};
        c.mlp = sy_mlp_make(in, widths, count, sy_rng_below(&rng, 4), sy_rng_below(&rng, 4), &at);
        uint32_t y_count = c.rows * sy_mlp_out(&c.mlp);
        float *block = randoms(&rng, at), *slopes = floats(at), *x = randoms(&rng, c.rows * in);
        float *dx = floats(c.rows * in), *dy = randoms(&rng, y_count);
        float *tape = floats(c.rows * sy_mlp_tape(&c.mlp)), *scratch = floats(2 * c.rows * most);
        struct slope_case s = {"mlp", &c, at, c.rows * in, y_count, block, x, dy, mlp};
        const float *y = sy_mlp_forward(&c.mlp, block, x, c.rows, tape);
        assert_ptr_equal(y, tape + c.rows * (sy_mlp_tape(&c.mlp) - sy_mlp_out(&c.mlp)));
        sy_mlp_backward(&c.mlp, block, x, tape, dy, c.rows, scratch, slopes, dx);
        check_values(&s, y);
        check_slopes(&s, slopes, dx);
        float *all[] = {block, slopes, x, dx, dy, tape, scratch};
        for (size_t k = 0; k < SY_COUNT(all); k++) {
            free(all[k]);
        }
    }
}

static void last_layer_begins_silent(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(test_seed(), 6, 0);
    uint32_t at = 0, widths[] = {8, 3};
    struct sy_mlp net = sy_mlp_make(5, widths, 2, SY_RELU, SY_LINEAR, &at);
    float *block = randoms(&rng, at), x[5], tape[11];
    fill_random(&rng, x, 5);
    sy_mlp_start(&net, 0, &rng, block);
    const float *y = sy_mlp_forward(&net, block, x, 1, tape);
    assert_true(y[0] == 0 && y[1] == 0 && y[2] == 0);
    free(block);
}

static void functions_are_close(void **state) {
    (void)state;
    for (int i = -3000; i <= 3000; i++) {
        float x = (float)i * 0.03f, e = x, t = x, s = x, small = x * 1e-4f, bent = small;
        sy_vector_exp(&e, 1);
        sy_vector_tanh(&t, 1);
        sy_vector_tanh(&bent, 1);
        sy_vector_sigmoid(&s, 1);
        if (fabsf(x) < 80) {
            assert_true(fabs(e - exp((double)x)) <= 2e-7 * exp((double)x));
        }
        assert_true(isfinite(e) && isfinite(t) && isfinite(s));
        assert_true(fabs(t - tanh((double)x)) <= 2e-7);
        assert_true(fabs(s - 1 / (1 + exp(-(double)x))) <= 2e-7);
        assert_true(fabs(bent - tanh((double)small)) <= 2e-7 * fabs(tanh((double)small)));
    }
    float extremes[] = {-INFINITY, INFINITY, -1e30f, 1e30f};
    sy_vector_tanh(extremes, 4);
    assert_true(extremes[0] == -1 && extremes[1] == 1 && extremes[2] == -1 && extremes[3] == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_slopes),
        cmocka_unit_test(slopes_add),
        cmocka_unit_test(rows_are_alone),
        cmocka_unit_test(mlp_slopes),
        cmocka_unit_test(last_layer_begins_silent),
        cmocka_unit_test(functions_are_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
