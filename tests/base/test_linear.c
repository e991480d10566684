/* SPDX-License-Identifier: Apache-2.0
 *
 * Factor and solves, of all sizes up to a few blocks, with and without padding.
 */
#include "base/base.h"
#include "base/linear.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MOST   40u
#define STRIDE 48u

/* a = B'B + I / 10 */
static void draw(struct sy_rng *rng, uint32_t n, uint32_t stride, double *a) {
    double b[MOST][MOST];
    for (uint32_t i = 0; i < n * n; i++) {
        b[i / n][i % n] = sy_rng_normal(rng);
    }
    memset(a, 0, sizeof *a * stride * n);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            a[i * stride + j] = i == j ? 0.1 : 0;
            for (uint32_t k = 0; k < n; k++) {
                a[i * stride + j] += b[k][i] * b[k][j];
            }
        }
    }
}

static void factors_and_solves(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(1, 1, 0);
    for (uint32_t n = 1; n <= MOST; n++) {
        uint32_t stride = n % 2 ? n : STRIDE;
        double a[MOST * STRIDE], u[MOST * STRIDE], x[MOST], y[STRIDE], z[MOST];
        draw(&rng, n, stride, a);
        memcpy(u, a, sizeof *u * stride * n);
        assert_true(sy_cholesky(u, stride, n, NULL));
        for (uint32_t i = 0; i < n; i++) {
            x[i] = sy_rng_normal(&rng);
            for (uint32_t j = i; j < n; j++) {
                double sum = 0;
                for (uint32_t k = 0; k <= i; k++) {
                    sum += u[k * stride + i] * u[k * stride + j];
                }
                assert_true(fabs(sum - a[i * stride + j]) < 1e-12 * n);
            }
        }
        sy_sum_rows(y, a, stride, n, x);
        memcpy(z, y, sizeof z);
        sy_solve_forward(u, stride, n, z);
        assert_true(fabs(sy_dot(z, z, n) - sy_dot(x, y, n)) < 1e-9 * n); /* x'Ax = |Ux|^2 */
        sy_solve_backward(u, stride, n, z);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(fabs(z[i] - x[i]) < 1e-8 * n);
        }
    }
}

static void not_positive_definite(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(2, 1, 0);
    double a[MOST * MOST], u[MOST * MOST], floors[MOST];
    for (uint32_t bad = 0; bad < MOST; bad++) {
        draw(&rng, MOST, MOST, a);
        a[bad * MOST + bad] = bad % 2 ? -1 : NAN;
        memcpy(u, a, sizeof u);
        assert_false(sy_cholesky(u, MOST, MOST, NULL));
        a[bad * MOST + bad] = -1;
        memcpy(u, a, sizeof u);
        for (uint32_t i = 0; i < MOST; i++) {
            floors[i] = 0.01;
        }
        assert_true(sy_cholesky(u, MOST, MOST, floors));
        assert_true(u[bad * MOST + bad] == 0.1); /* root of the floor */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_and_solves),
        cmocka_unit_test(not_positive_definite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
