/* SPDX-License-Identifier: Apache-2.0
 *
 * All widths of the processor's vectors give the same bits. The loops are local to matrix.c, which
 * is therefore included.
 */
#include "papers/matrix.c"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdlib.h>

#define CASES 300
#define MOST  40

struct numbers {
    float a[MOST * MOST], b[MOST * MOST], c[2][MOST * MOST];
};

static struct numbers *draw(struct sy_rng *rng) {
    struct numbers *n = calloc(1, sizeof *n);
    assert_non_null(n);
    for (uint32_t i = 0; i < MOST * MOST; i++) {
        n->a[i] = (float)sy_rng_normal(rng);
        n->b[i] = (float)(30 * sy_rng_normal(rng));
        n->c[0][i] = n->c[1][i] = (float)sy_rng_normal(rng);
    }
    return n;
}

static void same_bits(void **state) {
    (void)state;
#ifdef __x86_64__
    if (!__builtin_cpu_supports("avx2")) {
        print_message("# this processor has no AVX2\n");
        skip();
    }
    uint64_t seed = 20261115;
    print_message("# seed %llu\n", (unsigned long long)seed);
    struct sy_rng rng = sy_rng_make(seed, 0, 0);
    for (uint32_t i = 0; i < CASES; i++) {
        struct numbers *n = draw(&rng);
        uint32_t rows = sy_rng_below(&rng, MOST), depth = sy_rng_below(&rng, MOST);
        uint32_t columns = sy_rng_below(&rng, MOST);
        struct sy_matrix plain = {n->a, depth, 1}, turned = {n->a, 1, rows};
        add_4(i % 2 ? plain : turned, n->b, rows, depth, columns, n->c[0]);
        add_8(i % 2 ? plain : turned, n->b, rows, depth, columns, n->c[1]);
        assert_memory_equal(n->c[0], n->c[1], sizeof n->c[0]);
        across_4(n->a, n->b, rows, depth, columns, i % 2, n->c[0]);
        across_8(n->a, n->b, rows, depth, columns, i % 2, n->c[1]);
        assert_memory_equal(n->c[0], n->c[1], sizeof n->c[0]);
        tanh_4(n->c[0], rows * columns);
        tanh_8(n->c[1], rows * columns);
        exp_4(n->c[0] + rows, depth);
        exp_8(n->c[1] + rows, depth);
        sigmoid_4(n->c[0], rows);
        sigmoid_8(n->c[1], rows);
        assert_memory_equal(n->c[0], n->c[1], sizeof n->c[0]);
        rectify_4(n->c[0], depth, 0.25f);
        rectify_8(n->c[1], depth, 0.25f);
        rectify_back_4(n->a, n->c[0], rows * columns, 0.5f, n->c[0]);
        rectify_back_8(n->a, n->c[1], rows * columns, 0.5f, n->c[1]);
        assert_memory_equal(n->c[0], n->c[1], sizeof n->c[0]);
        free(n);
    }
#else
    print_message("# one width only on this processor\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
