/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the belief: updating and choosing take none, and every allocation of create may fail.
 * See tests/starve.h.
 */
#include "../starve.h"
#include "belief/belief.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct sy_pmu pmus[] = {{"cpu", 1}};
static const struct sy_counter counters[] = {
    {"a", "t", "busy", SY_COUNTER_SHARE, "", SY_SCOPE_CPU, 0, 0.02, SY_PMU_NONE},
    {"b", "t", "cache-misses", SY_COUNTER_RATE, "/s", SY_SCOPE_CPU, 0, 0.02, 0},
    {"c", "t", "cache-references", SY_COUNTER_RATE, "/s", SY_SCOPE_CPU, 0, 0.02, 0},
    {"d", "t", "pcie_rx", SY_COUNTER_RATE, "B/s", SY_SCOPE_GPU, 0, 0.02, SY_PMU_NONE},
    {"e", "t", "mbm_total_bytes", SY_COUNTER_RATE, "B/s", SY_SCOPE_PACKAGE, 0, 0.05, SY_PMU_NONE},
};

static int make(const struct sy_machine *machine, struct sy_belief **ret_belief) {
    return sy_belief_create(machine, NULL, counters, SY_COUNT(counters), pmus, 1, ret_belief, NULL);
}

static void use(struct sy_belief *belief, uint32_t steps) {
    struct sy_sample samples[SY_COUNT(counters)];
    uint32_t chosen[8];
    for (uint32_t s = 0; s < steps; s++) {
        for (uint32_t i = 0; i < SY_COUNT(counters); i++) {
            samples[i] = (struct sy_sample){i, i ? 1e7 : 0.5, 1e8 * s, 1e8 * (s + 1), 1, 0};
        }
        sy_belief_update(belief, 1e8 * (s + 1), samples, SY_COUNT(counters));
        (void)sy_belief_choose(belief, chosen, SY_COUNT(chosen));
    }
}

static void the_hot_path_allocates_nothing(void **state) {
    (void)state;
    struct sy_machine *machine;
    struct sy_belief *belief;
    assert_int_equal(sy_machine_parse("2x(cpu:2) gpu:2", &machine, NULL), 0);
    assert_int_equal(make(machine, &belief), 0);
    starve_taken = 0;
    use(belief, 200);
    assert_int_equal(starve_taken, 0);
    sy_belief_destroy(belief);
    sy_machine_destroy(machine);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    struct sy_machine *machine;
    assert_int_equal(sy_machine_parse("cpu:1 gpu:1", &machine, NULL), 0);
    int code = -ENOMEM;
    unsigned tries = 0;
    for (; code && tries < 5000; tries++) {
        struct sy_belief *belief = NULL;
        starve_left = tries;
        code = make(machine, &belief);
        starve_left = UINT_MAX;
        if (code) {
            assert_int_equal(code, -ENOMEM);
            assert_null(belief);
        } else {
            use(belief, 3);
            sy_belief_destroy(belief);
        }
    }
    assert_int_equal(code, 0);
    assert_true(tries > 20);
    sy_machine_destroy(machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hot_path_allocates_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
