/* SPDX-License-Identifier: Apache-2.0
 *
 * The search against all plans, one by one: every objective, every kind of bound, chains and
 * graphs, transfers overlapped or not, kernels that cannot run and memories that are small.
 */
#include "instance.h"
#include "symph-bench/plan_judges.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEED      7
#define INSTANCES 3600
#define FRONTS    300
#define TOLERANCE 1e-9

static const uint32_t systems[][3] = {{1, 1, 1}, {1, 2, 0}, {0, 2, 1}, {2, 1, 1}, {3, 1, 0},
                                      {1, 0, 3}, {1, 1, 2}, {4, 0, 0}, {1, 2, 2}};

/* --- all plans of a problem, kept --------------------------------------------------------------
 */
struct plans {
    struct sy_plan_outcome *outcomes;
    uint32_t count, capacity;
};

static bool keep(void *user, const struct sy_plan *plan) {
    struct plans *plans = user;
    assert_int_equal(
        sy_grow(&plans->outcomes, &plans->capacity, plans->count + 1, sizeof *plans->outcomes), 0);
    plans->outcomes[plans->count++] = plan->outcome;
    return true;
}

static void draw(struct instance *instance, struct sy_rng *rng, uint32_t i) {
    const uint32_t *system = systems[i % SY_COUNT(systems)];
    enum instance_form form = (enum instance_form)(i / SY_COUNT(systems) % 3);
    uint32_t devices = system[0] + system[1] + system[2];
    uint32_t kernels = 1 + sy_rng_below(rng, devices > 4 ? 4 : devices > 3 ? 5 : 6);
    instance_make(instance, rng, form, kernels, system, 3);
    if (i % 4 == 3) {
        instance_restrict(instance, rng);
    }
}

/* A bound near what some plan comes to: now met by many, now by few, now by none. */
static double near_value(const struct plans *plans, struct sy_rng *rng, size_t offset) {
    double value = INFINITY;
    if (plans->count) {
        const struct sy_plan_outcome *one = &plans->outcomes[sy_rng_below(rng, plans->count)];
        memcpy(&value, (const char *)one + offset, sizeof value);
    }
    uint32_t kind = sy_rng_below(rng, 3);
    return kind == 0 ? value : value * (0.5 + sy_rng_uniform(rng));
}

static struct sy_plan_bounds draw_bounds(const struct plans *plans, struct sy_rng *rng,
                                         uint32_t which) {
    struct sy_plan_bounds bounds = sy_plan_unbounded;
    if (which & 1) {
        bounds.latency_ns = near_value(plans, rng, offsetof(struct sy_plan_outcome, latency_ns));
    }
    if (which & 2) {
        bounds.period_ns = near_value(plans, rng, offsetof(struct sy_plan_outcome, period_ns));
    }
    if (which & 4) {
        bounds.energy_joules =
            near_value(plans, rng, offsetof(struct sy_plan_outcome, energy_joules));
    }
    if (which & 8) {
        bounds.money = near_value(plans, rng, offsetof(struct sy_plan_outcome, money));
    }
    if (which & 16) {
        bounds.power_watts = near_value(plans, rng, offsetof(struct sy_plan_outcome, power_watts));
    }
    return bounds;
}

static double best_of(const struct plans *plans, enum sy_plan_objective objective,
                      const struct sy_plan_bounds *bounds) {
    double best = INFINITY;
    for (uint32_t i = 0; i < plans->count; i++) {
        if (sy_plan_within(bounds, &plans->outcomes[i])) {
            best = fmin(best, sy_plan_value(objective, &plans->outcomes[i]));
        }
    }
    return best;
}

static void same_outcome(const struct sy_plan_problem *problem, const struct sy_plan_bounds *bounds,
                         const struct sy_plan *plan) {
    struct sy_plan_outcome outcome;
    struct sy_error error = {0};
    int code = sy_plan_evaluate(problem, bounds, plan, &outcome, &error);
    if (code) {
        fail_msg("%s", error.message);
    }
    assert_memory_equal(&outcome, &plan->outcome, sizeof outcome);
    assert_true(sy_plan_within(bounds, &outcome));
}

/* Of equals: among those of least period the least energy, among those of least latency the least
 * period. */
static void check_tie(const struct plans *plans, enum sy_plan_objective objective,
                      const struct sy_plan_outcome *outcome) {
    bool fast = objective == SY_PLAN_THROUGHPUT;
    struct sy_plan_bounds bounds = sy_plan_unbounded;
    *(fast ? &bounds.period_ns : &bounds.latency_ns) = sy_plan_value(objective, outcome);
    double best = best_of(plans, fast ? SY_PLAN_ENERGY : SY_PLAN_THROUGHPUT, &bounds);
    double value = fast ? outcome->energy_joules : outcome->period_ns;
    assert_true(fabs(value - best) <= TOLERANCE * best);
}

/* What greedy is beside it. */
struct tally {
    uint32_t feasible, infeasible, worse;
};

static void compare(struct sy_planner *planner, const struct sy_plan_problem *problem,
                    const struct plans *plans, const struct sy_plan_request *request,
                    struct tally *tally) {
    struct sy_plan plan, greedy;
    struct sy_error error = {0};
    double best = best_of(plans, request->objective, &request->bounds);
    int code = sy_plan_solve(planner, problem, request, &plan, &error);
    if (best == INFINITY) {
        assert_true(code == -ERANGE || code == -ENODEV);
        assert_true((code == -ENODEV) == !plans->count);
        assert_true(error.message[0] && error.hint[0]);
        tally->infeasible++;
        return;
    }
    if (code) {
        fail_msg("%s: %s", error.message, error.hint);
    }
    same_outcome(problem, &request->bounds, &plan);
    double value = sy_plan_value(request->objective, &plan.outcome);
    if (!(fabs(value - best) <= TOLERANCE * best)) {
        fail_msg("%s: %.17g, but there is one with %.17g",
                 sy_plan_objective_name(request->objective), value, best);
    }
    tally->feasible++;
    if (memcmp(&request->bounds, &sy_plan_unbounded, sizeof request->bounds) == 0 &&
        (request->objective == SY_PLAN_THROUGHPUT || request->objective == SY_PLAN_LATENCY)) {
        check_tie(plans, request->objective, &plan.outcome);
    }
    code = sy_plan_greedy(planner, problem, request, &greedy, &error);
    assert_true(code == 0 || code == -ERANGE);
    if (code == 0) {
        same_outcome(problem, &request->bounds, &greedy);
    }
    double other = code ? INFINITY : sy_plan_value(request->objective, &greedy.outcome);
    assert_true(other >= best * (1 - TOLERANCE));
    tally->worse += other > best * (1 + TOLERANCE);
}

static void test_exact(void **state) {
    (void)state;
    struct sy_planner *planner = sy_planner_create();
    struct plans plans = {0};
    struct instance instance;
    struct tally tally = {0};
    print_message("# seed %d\n", SEED);
    for (uint32_t i = 0; i < INSTANCES; i++) {
        struct sy_rng rng = sy_rng_make(SEED, 0, i);
        draw(&instance, &rng, i);
        plans.count = 0;
        sy_plan_enumerate(&instance.problem, &sy_plan_unbounded, keep, &plans);
        /* each kind of bound alone, then several at once */
        uint32_t which = i % 7 < 6 ? (1u << i % 7) >> 1 : sy_rng_below(&rng, 32);
        struct sy_plan_request request = {.bounds = draw_bounds(&plans, &rng, which)};
        if (which & 16) {
            plans.count = 0;
            sy_plan_enumerate(&instance.problem, &request.bounds, keep, &plans);
        }
        for (uint32_t o = 0; o < SY_PLAN_OBJECTIVE_COUNT; o++) {
            request.objective = (enum sy_plan_objective)o;
            compare(planner, &instance.problem, &plans, &request, &tally);
        }
    }
    print_message("# %u feasible questions, %u not; greedy worse in %u\n", tally.feasible,
                  tally.infeasible, tally.worse);
    assert_true(tally.feasible > 2 * tally.infeasible && tally.infeasible > INSTANCES / 10);
    assert_true(tally.worse > 0);
    free(plans.outcomes);
    sy_planner_destroy(planner);
}

/* --- the front ---------------------------------------------------------------------------------
 */
static bool covers(const struct sy_plan_outcome *a, const struct sy_plan_outcome *b, double slack) {
    return a->period_ns <= b->period_ns * (1 + slack) &&
           a->latency_ns <= b->latency_ns * (1 + slack) &&
           a->energy_joules <= b->energy_joules * (1 + slack) && a->money <= b->money * (1 + slack);
}

static void compare_front(const struct plans *plans, const struct sy_plan_problem *problem,
                          const struct sy_plan_bounds *bounds, const struct sy_plan *front,
                          uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        same_outcome(problem, bounds, &front[i]);
        assert_true(i == 0 || front[i - 1].outcome.period_ns <= front[i].outcome.period_ns);
        for (uint32_t j = 0; j < count; j++) {
            assert_false(i != j && covers(&front[j].outcome, &front[i].outcome, 0));
        }
        for (uint32_t j = 0; j < plans->count; j++) { /* no plan is clearly better everywhere */
            assert_false(covers(&plans->outcomes[j], &front[i].outcome, -TOLERANCE) &&
                         sy_plan_within(bounds, &plans->outcomes[j]));
        }
    }
    for (uint32_t j = 0; j < plans->count; j++) {
        bool covered = !sy_plan_within(bounds, &plans->outcomes[j]);
        for (uint32_t i = 0; !covered && i < count; i++) {
            covered = covers(&front[i].outcome, &plans->outcomes[j], TOLERANCE);
        }
        assert_true(covered);
    }
}

static void test_front(void **state) {
    (void)state;
    struct sy_planner *planner = sy_planner_create();
    struct plans plans = {0};
    struct instance instance;
    uint32_t sizes = 0;
    print_message("# seed %d\n", SEED);
    for (uint32_t i = 0; i < FRONTS; i++) {
        struct sy_rng rng = sy_rng_make(SEED, 1, i);
        const struct sy_plan *front = NULL;
        uint32_t count = 0;
        struct sy_error error = {0};
        draw(&instance, &rng, i);
        plans.count = 0;
        sy_plan_enumerate(&instance.problem, &sy_plan_unbounded, keep, &plans);
        struct sy_plan_bounds bounds =
            draw_bounds(&plans, &rng, i % 2 ? 0 : sy_rng_below(&rng, 32));
        plans.count = 0;
        sy_plan_enumerate(&instance.problem, &bounds, keep, &plans);
        int code = sy_plan_front(planner, &instance.problem, &bounds, &front, &count, &error);
        if (best_of(&plans, SY_PLAN_THROUGHPUT, &bounds) == INFINITY) {
            assert_true(code == -ERANGE || code == -ENODEV);
        } else {
            assert_int_equal(code, 0);
            compare_front(&plans, &instance.problem, &bounds, front, count);
            sizes += count;
        }
    }
    print_message("# %u plans on %u fronts\n", sizes, FRONTS);
    assert_true(sizes > FRONTS);
    free(plans.outcomes);
    sy_planner_destroy(planner);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exact), cmocka_unit_test(test_front)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
