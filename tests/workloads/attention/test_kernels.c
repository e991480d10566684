/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels in C: each against a dense computation in double precision, with every level of
 * vectors; parts are the whole, bit by bit; what does not fit is refused.
 */
#include "attention/attention.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* after what it needs */
#include <cmocka.h>

/* length, window, batch, model, heads */
static const double shapes[][5] = {
    {1, 2, 1, 1, 1},      {2, 2, 3, 4, 2},      {7, 4, 2, 10, 2},    {64, 16, 2, 32, 4},
    {65, 64, 1, 64, 1},   {130, 62, 1, 128, 2}, {50, 8, 3, 36, 3},   {96, 128, 2, 48, 2},
    {200, 400, 1, 34, 2}, {300, 130, 1, 80, 1}, {129, 2, 1, 256, 1}, {257, 256, 1, 96, 3},
};

struct bench {
    struct attn_shape shape;
    double parameters[5];
    float *qkv, *scores, *probabilities, *mixed;
    double *true_scores, *true_probabilities, *true_mixed;
    uint64_t qkv_count, slot_count, mixed_count;
};

static float *floats(uint64_t count) {
    float *out = malloc(count * sizeof(float));
    assert_non_null(out);
    for (uint64_t i = 0; i < count; i++) {
        out[i] = NAN;
    }
    return out;
}

static void *take(uint64_t count) {
    void *out = calloc(count, sizeof(double));
    assert_non_null(out);
    return out;
}

/* All pairs of tokens, band or not. */
static void compute_row(struct bench *bench, uint64_t row, uint32_t head) {
    const struct attn_shape *s = &bench->shape;
    uint64_t start = row / s->length * s->length, i = row - start;
    uint64_t at = (row * s->heads + head) * s->slots;
    double sum = 0;
    for (uint32_t slot = 0; slot < s->slots; slot++) {
        bench->true_scores[at + slot] = -INFINITY;
    }
    for (uint64_t j = 0; j < s->length; j++) {
        if ((i > j ? i - j : j - i) > s->half) {
            continue;
        }
        const float *q = bench->qkv + row * 3 * s->model + (uint64_t)head * s->width;
        const float *k = bench->qkv + ((start + j) * 3 + 1) * s->model + (uint64_t)head * s->width;
        double dot = 0;
        for (uint32_t c = 0; c < s->width; c++) {
            dot += (double)q[c] * k[c];
        }
        bench->true_scores[at + (j + s->half - i)] = dot / sqrt(s->width);
        sum += exp(dot / sqrt(s->width));
    }
    for (uint32_t slot = 0; slot < s->slots; slot++) {
        double p = exp(bench->true_scores[at + slot]) / sum;
        bench->true_probabilities[at + slot] = p;
        for (uint32_t c = 0; c < s->width && p > 0; c++) {
            uint64_t j = start + i + slot - s->half;
            bench->true_mixed[row * s->model + (uint64_t)head * s->width + c] +=
                p * bench->qkv[(j * 3 + 2) * s->model + (uint64_t)head * s->width + c];
        }
    }
}

static void open_bench(const double *parameters, struct bench *bench) {
    struct sy_argument arguments[2] = {{NULL, UINT64_MAX, 0}, {NULL, UINT64_MAX, 0}};
    struct sy_call call = {.arguments = arguments,
                           .argument_count = 2,
                           .parameters = parameters,
                           .parameter_count = 5};
    memcpy(bench->parameters, parameters, sizeof(bench->parameters));
    assert_int_equal(attn_shape_of(&call, ATTN_SCORES, &bench->shape), 0);
    const struct attn_shape *s = &bench->shape;
    bench->qkv_count = s->rows * 3 * s->model;
    bench->slot_count = s->rows * s->heads * s->slots;
    bench->mixed_count = s->rows * s->model;
    bench->qkv = floats(bench->qkv_count);
    for (uint64_t i = 0; i < bench->qkv_count; i++) {
        bench->qkv[i] = (float)(4 * guest_noise(s->length, i) - 2);
    }
    bench->scores = floats(bench->slot_count);
    bench->probabilities = floats(bench->slot_count);
    bench->mixed = floats(bench->mixed_count);
    bench->true_scores = take(bench->slot_count);
    bench->true_probabilities = take(bench->slot_count);
    bench->true_mixed = take(bench->mixed_count);
    for (uint64_t row = 0; row < s->rows; row++) {
        for (uint32_t head = 0; head < s->heads; head++) {
            compute_row(bench, row, head);
        }
    }
}

static void close_bench(struct bench *bench) {
    free(bench->qkv);
    free(bench->scores);
    free(bench->probabilities);
    free(bench->mixed);
    free(bench->true_scores);
    free(bench->true_probabilities);
    free(bench->true_mixed);
}

static void assert_close(const char *what, const float *got, const double *right, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        bool same = isinf(right[i]) ? got[i] == (float)right[i] : fabs(got[i] - right[i]) < 1e-5;
        if (!same) {
            fail_msg("%s: %g instead of %g at %llu", what, (double)got[i], right[i],
                     (unsigned long long)i);
        }
    }
}

static void run_whole(struct bench *bench, enum guest_simd level) {
    const struct attn_shape *s = &bench->shape;
    attn_run(ATTN_SCORES, s, bench->qkv, NULL, bench->scores, 0, s->rows, level);
    attn_run(ATTN_SOFTMAX, s, bench->scores, NULL, bench->probabilities, 0, s->rows, level);
    attn_run(ATTN_MIX, s, bench->probabilities, bench->qkv, bench->mixed, 0, s->rows, level);
}

static void test_dense(void **state) {
    (void)state;
    for (size_t i = 0; i < GUEST_COUNT(shapes); i++) {
        struct bench bench;
        open_bench(shapes[i], &bench);
        const struct attn_shape *s = &bench.shape;
        for (int level = 0; level <= (int)guest_simd_of_processor(); level++) {
            run_whole(&bench, (enum guest_simd)level);
            assert_close("scores", bench.scores, bench.true_scores, bench.slot_count);
            assert_close("probabilities", bench.probabilities, bench.true_probabilities,
                         bench.slot_count);
            assert_close("mixed", bench.mixed, bench.true_mixed, bench.mixed_count);
            attn_run(ATTN_ATTENTION, s, bench.qkv, NULL, bench.mixed, 0, s->rows,
                     (enum guest_simd)level);
            assert_close("attention", bench.mixed, bench.true_mixed, bench.mixed_count);
        }
        close_bench(&bench);
    }
}

/* Large scores, for which e^x without the largest score would not be a number. */
static void test_large(void **state) {
    (void)state;
    struct bench bench;
    open_bench(shapes[3], &bench);
    const struct attn_shape *s = &bench.shape;
    for (uint64_t i = 0; i < bench.qkv_count; i++) {
        bench.qkv[i] *= 100;
    }
    for (int level = 0; level <= (int)guest_simd_of_processor(); level++) {
        run_whole(&bench, (enum guest_simd)level);
        for (uint64_t line = 0; line < s->rows * s->heads; line++) {
            double sum = 0;
            for (uint32_t slot = 0; slot < s->slots; slot++) {
                sum += bench.probabilities[line * s->slots + slot];
            }
            assert_true(fabs(sum - 1) < 1e-5);
        }
        float *fused = floats(bench.mixed_count);
        attn_run(ATTN_ATTENTION, s, bench.qkv, NULL, fused, 0, s->rows, (enum guest_simd)level);
        for (uint64_t i = 0; i < bench.mixed_count; i++) {
            assert_true(fabsf(fused[i] - bench.mixed[i]) < 2e-2f); /* of up to 200 */
        }
        free(fused);
    }
    close_bench(&bench);
}

/* Runs a kernel in parts through the plug-in's way of dividing rows. */
static void test_parts(void **state) {
    (void)state;
    const uint32_t counts[] = {2, 3, 7, 16};
    for (size_t i = 0; i < GUEST_COUNT(shapes); i++) {
        struct bench bench;
        open_bench(shapes[i], &bench);
        const struct attn_shape *s = &bench.shape;
        enum guest_simd level = guest_simd();
        run_whole(&bench, level);
        float *mixed = floats(bench.mixed_count);
        attn_run(ATTN_ATTENTION, s, bench.qkv, NULL, mixed, 0, s->rows, level);
        const float *a[] = {bench.qkv, bench.scores, bench.probabilities, bench.qkv};
        const float *whole[] = {bench.scores, bench.probabilities, bench.mixed, mixed};
        for (uint32_t kernel = 0; kernel < ATTN_KERNEL_COUNT; kernel++) {
            uint64_t count = kernel < ATTN_MIX ? bench.slot_count : bench.mixed_count;
            for (size_t c = 0; c < GUEST_COUNT(counts); c++) {
                float *out = floats(count);
                for (uint32_t part = 0; part < counts[c]; part++) {
                    attn_run((enum attn_kernel)kernel, s, a[kernel], bench.qkv, out,
                             s->rows * part / counts[c], s->rows * (part + 1) / counts[c], level);
                }
                assert_memory_equal(out, whole[kernel], count * sizeof(float));
                free(out);
            }
        }
        free(mixed);
        close_bench(&bench);
    }
}

static int ask(const double *parameters, uint32_t count, uint64_t bytes, char *message) {
    struct sy_argument arguments[2] = {{NULL, bytes, SY_READ}, {NULL, bytes, SY_WRITE}};
    struct sy_call call = {.arguments = arguments,
                           .argument_count = 2,
                           .parameters = parameters,
                           .parameter_count = count,
                           .message = message};
    struct attn_shape shape;
    return attn_shape_of(&call, ATTN_ATTENTION, &shape);
}

static void test_refused(void **state) {
    (void)state;
    char message[SY_CALL_MESSAGE_MAX] = "";
    const double fine[] = {8, 4, 1, 8, 2}, odd[] = {8, 3, 1, 8, 2}, uneven[] = {8, 4, 1, 9, 2},
                 wide[] = {8, 4, 1, 1024, 2}, broken[] = {8.5, 4, 1, 8, 2},
                 none[] = {0, 4, 1, 8, 2}, nothing[] = {NAN, 4, 1, 8, 2};
    assert_int_equal(ask(fine, 5, 4 * 8 * 24, message), 0);
    assert_int_equal(ask(fine, 5, 4 * 8 * 24 - 1, message), -EINVAL);
    assert_non_null(strstr(message, "767 bytes"));
    assert_int_equal(ask(fine, 4, 1 << 20, message), -EINVAL);
    assert_non_null(strstr(message, "parameters"));
    assert_int_equal(ask(odd, 5, 1 << 20, message), -EINVAL);
    assert_non_null(strstr(message, "even"));
    assert_int_equal(ask(uneven, 5, 1 << 20, message), -EINVAL);
    assert_int_equal(ask(wide, 5, 1 << 20, message), -EINVAL);
    assert_int_equal(ask(broken, 5, 1 << 20, message), -EINVAL);
    assert_non_null(strstr(message, "length=8.5"));
    assert_int_equal(ask(none, 5, 1 << 20, message), -EINVAL);
    assert_int_equal(ask(nothing, 5, 1 << 20, message), -EINVAL);
}

/* The card's time: more work takes longer, and the fused kernel moves less. */
static void test_model(void **state) {
    (void)state;
    struct attn_shape shape = {4096, 512, 1, 768, 12, 64, 256, 513, 4096}, twice = shape;
    twice.length *= 2;
    twice.rows *= 2;
    for (int kernel = 0; kernel < ATTN_KERNEL_COUNT; kernel++) {
        double ns = attn_fpga_model_ns((enum attn_kernel)kernel, &shape);
        double longer = attn_fpga_model_ns((enum attn_kernel)kernel, &twice);
        assert_true(ns > 0 && isfinite(ns));
        assert_true(longer > 1.5 * ns && longer < 2.01 * ns);
    }
    double separate = 0;
    for (int kernel = ATTN_SCORES; kernel <= ATTN_MIX; kernel++) {
        separate += attn_fpga_model_ns((enum attn_kernel)kernel, &shape);
    }
    assert_true(attn_fpga_model_ns(ATTN_ATTENTION, &shape) < separate);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),   cmocka_unit_test(test_large), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_model),
    };
    return cmocka_run_group_tests_name("attention_kernels", tests, NULL, NULL);
}
