/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CASES 60
#define MOST  12

struct choice_case {
    uint32_t count, chosen;
    double weight, entropy_weight;
    bool mask[MOST];
};

/* One number: weight * ln p[chosen] + entropy_weight * entropy. */
static void utility(const void *context, const double *block, const double *x, double *y) {
    (void)block;
    const struct choice_case *c = context;
    double p[MOST], entropy = 0;
    reference_softmax(x, c->mask, c->count, p);
    for (uint32_t i = 0; i < c->count; i++) {
        entropy -= p[i] > 0 ? p[i] * log(p[i]) : 0;
    }
    y[0] = c->weight * log(p[c->chosen]) + c->entropy_weight * entropy;
}

static void choices(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(test_seed(), 1, 0);
    for (uint32_t i = 0; i < CASES; i++) {
        struct choice_case c = {.count = 1 + sy_rng_below(&rng, MOST)};
        c.chosen = sy_rng_below(&rng, c.count);
        c.weight = sy_rng_normal(&rng);
        c.entropy_weight = i % 2 ? sy_rng_normal(&rng) : 0;
        float x[MOST], p[MOST], dx[MOST], one = 1;
        fill_random(&rng, x, c.count);
        for (uint32_t k = 0; k < c.count; k++) {
            c.mask[k] = k == c.chosen || sy_rng_below(&rng, 2);
        }
        sy_softmax(x, c.mask, c.count, p);
        float sum = 0;
        for (uint32_t k = 0; k < c.count; k++) {
            assert_true(c.mask[k] ? p[k] > 0 : p[k] == 0);
            sum += p[k];
        }
        assert_float_equal(sum, 1, 1e-6f);
        float y = (float)c.weight * sy_softmax_log(p, c.chosen) +
                  (float)c.entropy_weight * sy_softmax_entropy(p, c.count);
        sy_softmax_backward(p, c.count, c.chosen, (float)c.weight, (float)c.entropy_weight, dx);
        struct slope_case s = {"softmax", &c, 0, c.count, 1, x, x, &one, utility};
        check_values(&s, &y);
        check_slopes(&s, x, dx);
    }
}

static void one_or_none_allowed(void **state) {
    (void)state;
    const float scores[3] = {1, 200, -300};
    bool one[3] = {false, false, true}, none[3] = {false};
    float p[3], slopes[3];
    sy_softmax(scores, one, 3, p);
    assert_true(p[0] == 0 && p[1] == 0 && p[2] == 1);
    assert_true(sy_softmax_log(p, 2) == 0 && sy_softmax_entropy(p, 3) == 0);
    sy_softmax_backward(p, 3, 2, 5, 1, slopes);
    assert_true(slopes[0] == 0 && slopes[1] == 0 && slopes[2] == 0);
    sy_softmax(scores, none, 3, p);
    assert_true(p[0] == 0 && p[1] == 0 && p[2] == 0);
    assert_true(sy_softmax_entropy(p, 3) == 0 && isfinite(sy_softmax_log(p, 0)));
    sy_softmax(scores, NULL, 0, p);
}

/* Scores far apart, far from 0, or masked and not numbers. */
static void extremes(void **state) {
    (void)state;
    const float far[3] = {-3e38f, 1e38f, 1e38f}, odd[3] = {NAN, INFINITY, 7};
    const bool last[3] = {false, false, true};
    float p[3];
    sy_softmax(far, NULL, 3, p);
    assert_true(p[0] >= 0 && p[0] < 1e-30f);
    assert_float_equal(p[1], 0.5f, 1e-6f);
    assert_true(isfinite(sy_softmax_log(p, 0)));
    sy_softmax(odd, last, 3, p);
    assert_true(p[0] == 0 && p[1] == 0 && p[2] == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices),
        cmocka_unit_test(one_or_none_allowed),
        cmocka_unit_test(extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
