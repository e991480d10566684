/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of base share: the seed of property tests, and comparing doubles.
 */
#ifndef TESTS_BASE_CHECK_H
#define TESTS_BASE_CHECK_H

#include "base/base.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

/* SYMPH_SEED of the environment, else always the same; printed, so that a failure can be repeated.
 */
static inline struct sy_rng seeded_rng(uint32_t purpose) {
    const char *text = getenv("SYMPH_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : 20240229;
    print_message("# SYMPH_SEED=%llu\n", (unsigned long long)seed);
    return sy_rng_make(seed, purpose, 0);
}

/* cmocka's own assertion rounds to float before it compares. */
static inline void assert_near(double found, double expected, double tolerance) {
    if (!(fabs(found - expected) <= tolerance)) {
        fail_msg("%.17g, not %.17g", found, expected);
    }
}

#endif
