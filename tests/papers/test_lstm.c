/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CASES 25
#define STEPS 4

struct lstm_case {
    struct sy_lstm lstm;
    uint32_t steps;
};

/* x: the rows of all steps, then the first state; y: h of every step, then the last state. */
static void unrolled(const void *context, const double *block, const double *x, double *y) {
    const struct lstm_case *c = context;
    const uint32_t width = c->lstm.width;
    double state[REFERENCE_MAX];
    memcpy(state, x + c->steps * c->lstm.in, 2 * width * sizeof *state);
    for (uint32_t t = 0; t < c->steps; t++) {
        reference_lstm(&c->lstm, block, x + t * c->lstm.in, state);
        memcpy(y + t * width, state, width * sizeof *y);
    }
    memcpy(y + c->steps * width, state, 2 * width * sizeof *y);
}

/* Forward and back through all steps, with a loss at each of them. */
static void run(const struct lstm_case *c, const float *block, const float *x, const float *dy,
                float *y, float *slopes, float *dx) {
    const uint32_t width = c->lstm.width, in = c->lstm.in, size = sy_lstm_tape(&c->lstm);
    float *tape = floats(c->steps * size), *state = floats(2 * width);
    memcpy(state, x + c->steps * in, 2 * width * sizeof *state);
    for (uint32_t t = 0; t < c->steps; t++) {
        sy_lstm_forward(&c->lstm, block, x + t * in, state, tape + t * size);
        memcpy(y + t * width, state, width * sizeof *y);
    }
    memcpy(y + c->steps * width, state, 2 * width * sizeof *y);
    float *d_state = dx + c->steps * in;
    memcpy(d_state, dy + c->steps * width, 2 * width * sizeof *dy);
    for (uint32_t t = c->steps; t-- > 0;) {
        for (uint32_t j = 0; j < width; j++) {
            d_state[j] += dy[t * width + j];
        }
        sy_lstm_backward(&c->lstm, block, x + t * in, tape + t * size, d_state, slopes,
                         dx + t * in);
    }
    free(tape);
    free(state);
}

static void slopes(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(test_seed(), 1, 0);
    for (uint32_t i = 0; i < CASES; i++) {
        uint32_t at = sy_rng_below(&rng, 5);
        struct lstm_case c = {.steps = sy_rng_below(&rng, STEPS + 1)};
        c.lstm = sy_lstm_make(sy_rng_below(&rng, 9), 1 + sy_rng_below(&rng, 10), &at);
        const uint32_t x_count = c.steps * c.lstm.in + 2 * c.lstm.width;
        const uint32_t y_count = (c.steps + 2) * c.lstm.width;
        float *block = floats(at), *slope = floats(at), *x = floats(x_count), *dx = floats(x_count);
        float *y = floats(y_count), *dy = floats(y_count);
        fill_random(&rng, block, at);
        fill_random(&rng, x, x_count);
        fill_random(&rng, dy, y_count);
        run(&c, block, x, dy, y, slope, dx);
        struct slope_case s = {"LSTM", &c, at, x_count, y_count, block, x, dy, unrolled};
        check_values(&s, y);
        check_slopes(&s, slope, dx);
        float *all[] = {block, slope, x, dx, y, dy};
        for (size_t k = 0; k < SY_COUNT(all); k++) {
            free(all[k]);
        }
    }
}

static void widest(void **state) {
    (void)state;
    uint32_t at = 0;
    struct sy_lstm lstm = sy_lstm_make(2, SY_LSTM_WIDTH, &at);
    struct sy_rng rng = sy_rng_make(test_seed(), 2, 0);
    float *block = floats(at), *slope = floats(at), *tape = floats(sy_lstm_tape(&lstm));
    float x[2] = {1, -1}, inner[2 * SY_LSTM_WIDTH] = {0}, d_state[2 * SY_LSTM_WIDTH];
    sy_lstm_start(&lstm, &rng, block);
    sy_lstm_forward(&lstm, block, x, inner, tape);
    memcpy(d_state, inner, sizeof inner);
    sy_lstm_backward(&lstm, block, x, tape, d_state, slope, NULL);
    assert_true(isfinite(d_state[0]) && isfinite(slope[at - 1]));
    free(block);
    free(slope);
    free(tape);
}

/* Forget gates start open: what is in the cell stays there a while. */
static void remembers(void **state) {
    (void)state;
    uint32_t at = 0;
    struct sy_lstm lstm = sy_lstm_make(1, 4, &at);
    struct sy_rng rng = sy_rng_make(test_seed(), 3, 0);
    float *block = floats(at), *tape = floats(sy_lstm_tape(&lstm));
    sy_lstm_start(&lstm, &rng, block);
    for (uint32_t j = 0; j < 16; j++) {
        assert_true(block[at - 16 + j] == (j >= 4 && j < 8 ? 1.0f : 0.0f));
    }
    for (uint32_t j = 0; j < at - 16; j++) {
        assert_true(fabsf(block[j]) <= sqrtf(6.0f / 9) && block[j] != 0);
    }
    free(block);
    free(tape);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes),
        cmocka_unit_test(widest),
        cmocka_unit_test(remembers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
