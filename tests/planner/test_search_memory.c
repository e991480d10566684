/* SPDX-License-Identifier: Apache-2.0
 *
 * The planner's memory: a second call of the same size takes none, and where it runs out the answer
 * is -ENOMEM and the planner can be used again.
 */
#include "../starve.h"
#include "instance.h"
#include "symph-bench/plan_judges.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define QUESTIONS (2 * SY_PLAN_OBJECTIVE_COUNT + 4)

static int ask(struct sy_planner *planner, const struct sy_plan_problem *problem, uint32_t question,
               struct sy_error *error) {
    struct sy_plan_request request = {SY_PLAN_THROUGHPUT, sy_plan_unbounded, false};
    struct sy_plan plan;
    const struct sy_plan *front;
    uint32_t count;
    if (question < 2 * SY_PLAN_OBJECTIVE_COUNT) {
        request.objective = (enum sy_plan_objective)(question / 2);
        request.bounds.latency_ns = question % 2 ? 1e9 : INFINITY;
        request.bounds.power_watts = question % 2 ? 500 : INFINITY;
        return sy_plan_solve(planner, problem, &request, &plan, error);
    }
    switch (question - 2 * SY_PLAN_OBJECTIVE_COUNT) {
    case 0:
        return sy_plan_front(planner, problem, &sy_plan_unbounded, &front, &count, error);
    case 1:
        request.side_by_side = true;
        return sy_plan_solve(planner, problem, &request, &plan, error);
    case 2:
        return sy_plan_greedy(planner, problem, &request, &plan, error);
    default: /* what cannot be met is asked many times over */
        request.bounds.latency_ns = request.bounds.energy_joules = 1e-3;
        return sy_plan_solve(planner, problem, &request, &plan, error);
    }
}

static void draw(struct instance *instance) {
    static const uint32_t devices[3] = {1, 2, 3};
    struct sy_rng rng = sy_rng_make(3, 0, 0);
    instance_make(instance, &rng, INSTANCE_SERIES_PARALLEL, 6, devices, 3);
}

static void test_second_call(void **state) {
    (void)state;
    struct instance instance;
    struct sy_error error = {0};
    draw(&instance);
    for (uint32_t question = 0; question < QUESTIONS; question++) {
        struct sy_planner *planner = sy_planner_create();
        int expected = question + 1 == QUESTIONS ? -ERANGE : 0;
        assert_int_equal(ask(planner, &instance.problem, question, &error), expected);
        unsigned before = starve_taken;
        assert_int_equal(ask(planner, &instance.problem, question, &error), expected);
        assert_int_equal(starve_taken, before);
        sy_planner_destroy(planner);
    }
}

static void test_starved(void **state) {
    (void)state;
    struct instance instance;
    struct sy_error error = {0};
    draw(&instance);
    starve_left = 0;
    assert_null(sy_planner_create());
    starve_left = UINT_MAX;
    for (uint32_t question = 0; question < QUESTIONS; question++) {
        int expected = question + 1 == QUESTIONS ? -ERANGE : 0, code = -ENOMEM;
        for (unsigned left = 0; code == -ENOMEM; left++) {
            struct sy_planner *planner = sy_planner_create();
            starve_left = left;
            code = ask(planner, &instance.problem, question, &error);
            starve_left = UINT_MAX;
            assert_true(code == -ENOMEM || code == expected);
            assert_int_equal(ask(planner, &instance.problem, question, &error), expected);
            sy_planner_destroy(planner);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_second_call),
                                       cmocka_unit_test(test_starved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
