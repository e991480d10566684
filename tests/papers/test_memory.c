/* SPDX-License-Identifier: Apache-2.0 */
#include "../starve.h"
#include "nets/nets.h"
#include "reference.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdlib.h>

#define VERTICES 6u
#define EDGES    9u

/* Forward and backward through every kind of layer asks for no memory. */
static void no_allocations(void **state) {
    (void)state;
    const uint32_t widths[2] = {7, 5};
    uint32_t at = 0, from[EDGES], to[EDGES];
    struct sy_gn gn = sy_gn_make(2, 3, 1, widths, widths, widths, SY_TANH, &at);
    struct sy_lstm lstm = sy_lstm_make(5, 6, &at);
    size_t size = sy_gn_tape(&gn, VERTICES, EDGES);
    float *block = floats(at), *slopes = floats(at), *tape = floats(size), *scratch = floats(size);
    float *moments[2] = {floats(at), floats(at)}, *x = floats(2 * EDGES + 3 * VERTICES + 1);
    float inner[12] = {0}, cell[42], d_state[12] = {0}, p[VERTICES], d[16] = {0};
    struct sy_adam adam = {.count = at, .first = moments[0], .second = moments[1]};
    struct sy_rng rng = sy_rng_make(test_seed(), 1, 0);
    for (uint32_t e = 0; e < EDGES; e++) {
        from[e] = e % VERTICES;
        to[e] = (e + 2) % VERTICES;
    }
    fill_random(&rng, block, at);
    fill_random(&rng, x, 2 * EDGES + 3 * VERTICES + 1);
    const float *vertices = x + 2 * EDGES;
    struct sy_gn_input input = {VERTICES, EDGES, from, to, x, vertices, vertices + 3 * VERTICES};

    unsigned before = starve_taken;
    struct sy_gn_output output = sy_gn_forward(&gn, block, &input, tape);
    sy_lstm_forward(&lstm, block, output.global, inner, cell);
    sy_softmax(output.vertices, NULL, VERTICES, p);
    sy_softmax_backward(p, VERTICES, 1, 1, 0.1f, d);
    sy_lstm_backward(&lstm, block, output.global, cell, d_state, slopes, NULL);
    sy_gn_backward(&gn, block, &input, tape, NULL, d, scratch, slopes, NULL, NULL, NULL);
    sy_adam_step(&adam, block, slopes, 0.01, 1);
    assert_int_equal(starve_taken, before);
    float *all[] = {block, slopes, tape, scratch, moments[0], moments[1], x};
    for (size_t i = 0; i < SY_COUNT(all); i++) {
        free(all[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
