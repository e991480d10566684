/* SPDX-License-Identifier: Apache-2.0
 *
 * The statistical cases have fixed seeds; their tolerances are five standard errors or more.
 */
#include "base/base.h"
#include "check.h"
#include <math.h>
#include <stdlib.h>

#define DRAWS 200000

/* From tests/kat_vectors of Random123: counter, key, result. */
static void gives_the_published_vectors(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_rng rng = {.used = 4};
        for (int j = 0; j < 4; j++) {
            rng.counter[j] = cases[i].counter[j];
        }
        rng.key[0] = cases[i].key[0];
        rng.key[1] = cases[i].key[1];
        for (int j = 0; j < 4; j++) {
            assert_true(sy_rng_u32(&rng) == cases[i].out[j]);
        }
    }
    struct sy_rng zero = sy_rng_make(0, 0, 0);
    assert_true(sy_rng_u32(&zero) == 0x6627e8d5);
}

static void counts_on_after_a_block(void **state) {
    (void)state;
    struct sy_rng whole = sy_rng_make(5, 6, 7), second = whole;
    second.counter[0] = 1;
    for (int i = 0; i < 4; i++) {
        sy_rng_u32(&whole);
    }
    for (int i = 0; i < 4; i++) {
        assert_true(sy_rng_u32(&whole) == sy_rng_u32(&second));
    }
}

static uint64_t first_draw(uint64_t seed, uint32_t purpose, uint64_t index) {
    struct sy_rng rng = sy_rng_make(seed, purpose, index);
    uint64_t high = sy_rng_u32(&rng);
    return high << 32 | sy_rng_u32(&rng);
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Every bit of the name counts: flipping any one gives another stream. */
static void every_name_has_its_own_stream(void **state) {
    (void)state;
    uint64_t first[161];
    size_t count = 0;
    first[count++] = first_draw(1, 2, 3);
    for (int bit = 0; bit < 64; bit++) {
        first[count++] = first_draw(1 ^ (uint64_t)1 << bit, 2, 3);
        first[count++] = first_draw(1, 2, 3 ^ (uint64_t)1 << bit);
    }
    for (int bit = 0; bit < 32; bit++) {
        first[count++] = first_draw(1, 2 ^ (uint32_t)1 << bit, 3);
    }
    assert_int_equal(count, SY_COUNT(first));
    qsort(first, count, sizeof *first, by_number);
    for (size_t i = 1; i < count; i++) {
        assert_true(first[i - 1] != first[i]);
    }
    assert_true(first_draw(1, 2, 3) == first_draw(1, 2, 3));
}

struct moments {
    double mean, variance, low, high;
};

static struct moments measure(double (*draw)(struct sy_rng *), uint64_t seed) {
    struct sy_rng rng = sy_rng_make(seed, 0, 0);
    double sum = 0, squares = 0;
    struct moments found = {.low = INFINITY, .high = -INFINITY};
    for (int i = 0; i < DRAWS; i++) {
        double x = draw(&rng);
        assert_true(isfinite(x));
        sum += x;
        squares += x * x;
        found.low = fmin(found.low, x);
        found.high = fmax(found.high, x);
    }
    found.mean = sum / DRAWS;
    found.variance = squares / DRAWS - found.mean * found.mean;
    return found;
}

static double near_enough(double variance_of_draw) {
    return 5 * sqrt(variance_of_draw / DRAWS);
}

static void uniform_numbers(void **state) {
    (void)state;
    struct moments found = measure(sy_rng_uniform, 11);
    assert_near(found.mean, 0.5, near_enough(1.0 / 12));
    assert_near(found.variance, 1.0 / 12, near_enough(1.0 / 180));
    assert_true(found.low >= 0 && found.low < 1e-3);
    assert_true(found.high < 1 && found.high > 1 - 1e-3);
}

static void neighbouring_streams_are_unrelated(void **state) {
    (void)state;
    double product = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct sy_rng one = sy_rng_make(12, 0, i), next = sy_rng_make(12, 0, i + 1);
        product += (sy_rng_uniform(&one) - 0.5) * (sy_rng_uniform(&next) - 0.5);
    }
    assert_near(product / DRAWS, 0, near_enough(1.0 / 144));
}

static void normal_numbers(void **state) {
    (void)state;
    struct moments found = measure(sy_rng_normal, 13);
    assert_near(found.mean, 0, near_enough(1));
    assert_near(found.variance, 1, near_enough(2));
    assert_true(found.low < -3.5 && found.high > 3.5);
}

static void exponential_numbers(void **state) {
    (void)state;
    struct moments found = measure(sy_rng_exponential, 14);
    assert_near(found.mean, 1, near_enough(1));
    assert_near(found.variance, 1, near_enough(8));
    assert_true(found.low >= 0 && found.high > 8);
}

static double student_9(struct sy_rng *rng) {
    return sy_rng_student(rng, 9);
}

static void student_numbers(void **state) {
    (void)state;
    struct moments found = measure(student_9, 15);
    /* Variance 9/7, fourth moment 3 * 81 / (7 * 5). */
    assert_near(found.mean, 0, near_enough(9.0 / 7));
    assert_near(found.variance, 9.0 / 7, near_enough(243.0 / 35 - 81.0 / 49));
    /* One degree is the Cauchy distribution: half of it lies within 1, 12.6 % beyond 5. */
    struct sy_rng rng = sy_rng_make(16, 0, 0);
    double inner = 0, outer = 0;
    for (int i = 0; i < DRAWS; i++) {
        double x = fabs(sy_rng_student(&rng, 1));
        inner += x < 1;
        outer += x > 5;
    }
    assert_near(inner / DRAWS, 0.5, near_enough(0.25));
    assert_near(outer / DRAWS, 0.125666, near_enough(0.11));
}

/* Of four degrees: half lies within 0.7407, 1 % beyond 4.6041; signs do not go together. */
static void student_numbers_by_eight(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(18, 0, 0);
    double inner = 0, outer = 0, above = 0, together = 0;
    for (int i = 0; i < DRAWS / 8; i++) {
        float x[8];
        sy_rng_students(&rng, x);
        for (int k = 0; k < 8; k++) {
            inner += fabsf(x[k]) < 0.740697f;
            outer += fabsf(x[k]) > 4.604095f;
            above += x[k] > 0;
            together += (x[k] > 0) == (x[(k + 1) % 8] > 0);
        }
    }
    assert_near(inner / DRAWS, 0.5, near_enough(0.25));
    assert_near(outer / DRAWS, 0.01, near_enough(0.0099));
    assert_near(above / DRAWS, 0.5, near_enough(0.25));
    assert_near(together / DRAWS, 0.5, near_enough(0.25));
}

static void numbers_below_a_bound(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(17, 0, 0);
    double counts[7] = {0}, square = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint32_t drawn = sy_rng_below(&rng, 7);
        assert_true(drawn < 7);
        counts[drawn]++;
    }
    for (int i = 0; i < 7; i++) {
        double excess = counts[i] - DRAWS / 7.0;
        square += excess * excess / (DRAWS / 7.0);
    }
    assert_true(square < 30); /* chi-square of 6 degrees: less than one in 20,000 */
    assert_int_equal(sy_rng_below(&rng, 1), 0);
    bool high = false;
    for (int i = 0; i < 100; i++) {
        high = high || sy_rng_below(&rng, UINT32_MAX) > UINT32_MAX / 2;
    }
    assert_true(high);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_published_vectors),
        cmocka_unit_test(counts_on_after_a_block),
        cmocka_unit_test(every_name_has_its_own_stream),
        cmocka_unit_test(uniform_numbers),
        cmocka_unit_test(neighbouring_streams_are_unrelated),
        cmocka_unit_test(normal_numbers),
        cmocka_unit_test(exponential_numbers),
        cmocka_unit_test(student_numbers),
        cmocka_unit_test(student_numbers_by_eight),
        cmocka_unit_test(numbers_below_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
