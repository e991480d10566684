/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes against all ways to share the devices, plans as text, what is said where there is no plan,
 * hostile problems and plans.
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

#define SEED      11
#define TOLERANCE 1e-9

/* --- a problem that one can count on one's fingers ---------------------------------------------
 * a: 4 ms on a core, 1 ms on the gpu; b: 2 ms and 1 ms. Two cores of 10 W idle, a gpu of 50 W; 100
 * W more where one works. Nothing moves. */
static void make_small(struct instance *small) {
    static const double ms[2][3] = {{4, 2, 1}, {2, 1, 1}};
    memset(small, 0, sizeof *small);
    small->classes[0] = (struct sy_plan_class){"cpu", 2, 10, 1e-5, INFINITY};
    small->classes[1] = (struct sy_plan_class){"gpu", 1, 50, 1e-4, INFINITY};
    small->shapes[0] = (struct sy_plan_shape){0, 1};
    small->shapes[1] = (struct sy_plan_shape){0, 2};
    small->shapes[2] = (struct sy_plan_shape){1, 1};
    small->kernels[0] = (struct sy_plan_kernel){"alpha", 1e6};
    small->kernels[1] = (struct sy_plan_kernel){"beta", 2e6};
    small->data[0] = (struct sy_plan_datum){"in", 1e6, SY_NONE, 1, false};
    small->data[1] = (struct sy_plan_datum){"between", 1e6, 0, 2, false};
    small->data[2] = (struct sy_plan_datum){"out", 1e6, 1, 0, true};
    for (uint32_t i = 0; i < 6; i++) {
        small->time_ns[i] = ms[i / 3][i % 3] * 1e6;
        small->joules[i] = small->time_ns[i] * 1e-9 * 100 * small->shapes[i % 3].width;
    }
    for (uint32_t i = 0; i < 9; i++) {
        small->links[i] = (struct sy_plan_link){0, INFINITY, 0};
    }
    small->problem = (struct sy_plan_problem){small->kernels, 2,
                                              small->data,    3,
                                              small->classes, 2,
                                              small->shapes,  3,
                                              small->time_ns, small->joules,
                                              small->links,   false};
}

static void expect_error(const struct sy_plan_problem *problem,
                         const struct sy_plan_request *request, int expected, const char *message,
                         const char *hint) {
    struct sy_planner *planner = sy_planner_create();
    struct sy_plan plan;
    struct sy_error error = {0};
    int code = sy_plan_solve(planner, problem, request, &plan, &error);
    if (code != expected || strcmp(error.message, message) != 0 || strcmp(error.hint, hint) != 0) {
        fail_msg("%d: %s (%s)", code, error.message, error.hint);
    }
    sy_planner_destroy(planner);
}

static void test_small(void **state) {
    (void)state;
    static const char *const plans[SY_PLAN_OBJECTIVE_COUNT] = {
        [SY_PLAN_THROUGHPUT] = "alpha@gpu | beta@cpu:1x2",
        [SY_PLAN_LATENCY] = "alpha+beta@gpu",
        [SY_PLAN_ENERGY] = "alpha+beta@gpu",
        [SY_PLAN_MONEY] = "alpha+beta@cpu:1x2",
        [SY_PLAN_BALANCED] = "alpha@gpu | beta@cpu:1x2"};
    struct instance small;
    struct sy_planner *planner = sy_planner_create();
    make_small(&small);
    for (uint32_t o = 0; o < SY_PLAN_OBJECTIVE_COUNT; o++) {
        struct sy_plan plan, other;
        struct sy_error error = {0};
        struct sy_buffer text = {0};
        struct sy_plan_request request = {(enum sy_plan_objective)o, sy_plan_unbounded, false};
        assert_int_equal(sy_plan_solve(planner, &small.problem, &request, &plan, &error), 0);
        assert_int_equal(sy_plan_parse(&small.problem, plans[o], &other, &error), 0);
        sy_plan_write(&small.problem, &plan, &text);
        if (sy_plan_value(request.objective, &plan.outcome) !=
            sy_plan_value(request.objective, &other.outcome)) {
            fail_msg("%s", text.text);
        }
        sy_buffer_finish(&text);
    }
    sy_planner_destroy(planner);
}

static void test_parts(void **state) {
    (void)state;
    struct instance small;
    struct sy_plan plan;
    struct sy_plan_part parts[4];
    struct sy_error error = {0};
    make_small(&small);
    for (uint32_t i = 0; i < 9; i++) { /* 1 MB in 1 ms, and 10 us before */
        small.links[i] = (struct sy_plan_link){1e4, 1e9, 1e-9};
    }
    const char *text = "alpha@gpu | beta@cpu || alpha+beta@cpu";
    assert_int_equal(sy_plan_parse(&small.problem, text, &plan, &error), 0);
    sy_plan_parts(&small.problem, &plan, parts);
    assert_true(fabs(parts[0].compute_ns - 1e6) < 1 && fabs(parts[0].transfer_ns - 1.01e6) < 1);
    assert_true(fabs(parts[1].compute_ns - 2e6) < 1 && fabs(parts[1].transfer_ns - 2.02e6) < 1);
    assert_true(fabs(parts[2].compute_ns - 6e6) < 1 && fabs(parts[2].transfer_ns - 2.02e6) < 1);
    assert_true(fabs(parts[0].joules - 0.101) < 1e-9 && fabs(parts[1].joules - 0.202) < 1e-9);
    double rate = 1e9 / 4.02e6 + 1e9 / 8.02e6;
    assert_true(fabs(plan.outcome.period_ns - 1e9 / rate) < 1e-3);
    assert_true(fabs(plan.lane_rate[1] - 1e9 / 8.02e6) < 1e-9);
    assert_true(fabs(plan.outcome.latency_ns - 8.02e6) < 1);
}

/* --- no plan -----------------------------------------------------------------------------------
 */
static void test_bounds_that_cannot_be_met(void **state) {
    (void)state;
    struct instance small;
    make_small(&small);
    struct sy_plan_request request = {SY_PLAN_THROUGHPUT, sy_plan_unbounded, false};
    request.bounds.latency_ns = 1e6;
    expect_error(&small.problem, &request, -ERANGE, "latency<=1ms cannot be met: the least is 2ms",
                 "relax latency to 2ms");
    request.bounds.latency_ns = 2e6;
    request.bounds.power_watts = 40;
    expect_error(&small.problem, &request, -ERANGE,
                 "latency<=2ms cannot be met within power<=40W: the least is 3ms",
                 "relax latency to 3ms, or power to 50.01W");
    request.bounds.power_watts = 5;
    expect_error(&small.problem, &request, -ERANGE, "power<=5W cannot be met: the least is 10.01W",
                 "relax power to 50.01W");
    request.bounds.latency_ns = 1e6;
    expect_error(&small.problem, &request, -ERANGE, "latency<=1ms cannot be met: the least is 2ms",
                 "relax latency to 2ms and power to 50.01W");
    request.bounds = sy_plan_unbounded;
    request.side_by_side = true;
    request.bounds.period_ns = 1e5;
    struct sy_planner *planner = sy_planner_create();
    struct sy_plan plan;
    struct sy_error error = {0};
    assert_int_equal(sy_plan_solve(planner, &small.problem, &request, &plan, &error), -ERANGE);
    assert_non_null(strstr(error.message, "throughput>=10000/s cannot be met side by side"));
    request.bounds.latency_ns = 1e5;
    assert_int_equal(sy_plan_solve(planner, &small.problem, &request, &plan, &error), -ERANGE);
    assert_non_null(strstr(error.message, "latency<=100us cannot be met: the least is 2ms"));
    sy_planner_destroy(planner);
}

/* What is advised works: bounds drawn too small, relaxed as the hint says. */
static void test_advice(void **state) {
    (void)state;
    struct sy_planner *planner = sy_planner_create();
    static const uint32_t devices[3] = {1, 2, 1};
    uint32_t tried = 0;
    print_message("# seed %d\n", SEED);
    for (uint32_t i = 0; i < 200; i++) {
        struct sy_rng rng = sy_rng_make(SEED, 2, i);
        struct instance instance;
        struct sy_plan_request request = {SY_PLAN_LATENCY, sy_plan_unbounded, false};
        struct sy_plan plan;
        struct sy_error error = {0};
        instance_make(&instance, &rng, INSTANCE_CHAIN, 4, devices, 3);
        assert_int_equal(sy_plan_solve(planner, &instance.problem, &request, &plan, &error), 0);
        request.bounds.latency_ns = plan.outcome.latency_ns * (1.1 - 0.2 * sy_rng_uniform(&rng));
        request.bounds.energy_joules = plan.outcome.energy_joules * sy_rng_uniform(&rng);
        int code = sy_plan_solve(planner, &instance.problem, &request, &plan, &error);
        if (!code) {
            continue;
        }
        assert_int_equal(code, -ERANGE);
        assert_non_null(strstr(error.message, "cannot be met"));
        char unit[8] = "";
        double value = 0;
        const char *advice = strstr(error.hint, "latency to ");
        if (advice && sscanf(advice, "latency to %lf%2[a-z]", &value, unit) == 2) {
            double ns = strcmp(unit, "ms") == 0 ? 1e6 : strcmp(unit, "us") == 0 ? 1e3 : 1e9;
            request.bounds.latency_ns = value * ns * (1 + 1e-12);
        }
        advice = strstr(error.hint, "energy to ");
        if (advice && !strstr(error.hint, ", or ")) {
            assert_int_equal(sscanf(advice, "energy to %lfJ", &value), 1);
            request.bounds.energy_joules = value * (1 + 1e-12);
        }
        code = sy_plan_solve(planner, &instance.problem, &request, &plan, &error);
        if (code) {
            fail_msg("instance %u: %s (%s)", i, error.message, error.hint);
        }
        tried++;
    }
    assert_true(tried > 50);
    sy_planner_destroy(planner);
}

static void test_no_device(void **state) {
    (void)state;
    struct instance small;
    struct sy_plan_request request = {SY_PLAN_ENERGY, sy_plan_unbounded, false};
    make_small(&small);
    for (uint32_t i = 3; i < 6; i++) {
        small.time_ns[i] = INFINITY;
    }
    expect_error(&small.problem, &request, -ENODEV,
                 "kernel beta cannot run: no free device can run it",
                 "add a variant for one of the classes, or free a device");
    make_small(&small);
    small.classes[0].memory_bytes = small.classes[1].memory_bytes = 3e6;
    expect_error(&small.problem, &request, -ENODEV,
                 "kernel beta does not fit in any memory: it needs at least 4000000 bytes",
                 "use smaller inputs, or devices with more memory");
    make_small(&small);
    small.time_ns[0] = small.time_ns[1] = small.time_ns[5] = INFINITY;
    small.classes[0].device_count = 0;
    expect_error(&small.problem, &request, -ENODEV,
                 "kernel beta cannot run: no free device can run it",
                 "add a variant for one of the classes, or free a device");
    small.classes[1].device_count = 0;
    expect_error(&small.problem, &request, -ENODEV, "there are no devices for kernel alpha", "");
}

/* --- lanes -------------------------------------------------------------------------------------
 */
struct rates {
    const struct sy_plan_problem *problem;
    double deadline_ns;
    double best[64]; /* by devices used: 4 values per class */
};

static bool keep_rate(void *user, const struct sy_plan *plan) {
    struct rates *rates = user;
    uint32_t used = 0;
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        const struct sy_plan_shape *shape = &rates->problem->shapes[plan->stages[i].shape];
        used += plan->stages[i].replicas * shape->width << 2 * shape->class_index;
    }
    if (plan->outcome.latency_ns <= rates->deadline_ns) {
        rates->best[used] = fmax(rates->best[used], 1e9 / plan->outcome.period_ns);
    }
    return true;
}

/* Every way to give the devices to lanes. */
static double share(const struct rates *rates, const uint32_t *left, uint32_t lanes) {
    double best = 0;
    uint32_t part[3];
    for (part[0] = 0; lanes && part[0] <= left[0]; part[0]++) {
        for (part[1] = 0; part[1] <= left[1]; part[1]++) {
            for (part[2] = 0; part[2] <= left[2]; part[2]++) {
                double rate = rates->best[part[0] + 4 * part[1] + 16 * part[2]];
                const uint32_t rest[3] = {left[0] - part[0], left[1] - part[1], left[2] - part[2]};
                if (rate > 0) {
                    best = fmax(best, rate + share(rates, rest, lanes - 1));
                }
            }
        }
    }
    return best;
}

static void test_lanes(void **state) {
    (void)state;
    static const uint32_t systems[][3] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 0}, {1, 2, 2}, {2, 2, 0}};
    struct sy_planner *planner = sy_planner_create();
    uint32_t several = 0;
    print_message("# seed %d\n", SEED);
    for (uint32_t i = 0; i < 400; i++) {
        struct sy_rng rng = sy_rng_make(SEED, 0, i);
        struct instance instance;
        struct sy_plan_request request = {SY_PLAN_THROUGHPUT, sy_plan_unbounded, true};
        const uint32_t *system = systems[i % SY_COUNT(systems)];
        instance_make(&instance, &rng, i % 2 ? INSTANCE_CHAIN : INSTANCE_GRAPH,
                      1 + sy_rng_below(&rng, 4), system, 3);
        struct rates rates = {.problem = &instance.problem, .deadline_ns = INFINITY};
        if (i % 3 == 0) {
            rates.deadline_ns = request.bounds.latency_ns =
                instance.problem.kernel_count * 1e7 * sy_rng_uniform(&rng);
        }
        sy_plan_enumerate(&instance.problem, &sy_plan_unbounded, keep_rate, &rates);
        double best = share(&rates, system, SY_PLAN_LANE_MAX);
        struct sy_plan plan;
        struct sy_error error = {0};
        struct sy_plan_outcome outcome;
        int code = sy_plan_solve(planner, &instance.problem, &request, &plan, &error);
        if (best == 0) {
            assert_int_equal(code, -ERANGE);
            continue;
        }
        assert_int_equal(code, 0);
        assert_int_equal(
            sy_plan_evaluate(&instance.problem, &request.bounds, &plan, &outcome, &error), 0);
        assert_memory_equal(&outcome, &plan.outcome, sizeof outcome);
        assert_true(outcome.latency_ns <= request.bounds.latency_ns);
        assert_true(fabs(1e9 / outcome.period_ns - best) <= TOLERANCE * best);
        several += plan.lane_count > 1;
        request.bounds.period_ns = outcome.period_ns;
        assert_int_equal(sy_plan_solve(planner, &instance.problem, &request, &plan, &error), 0);
        request.bounds.period_ns = outcome.period_ns * 0.99;
        assert_int_equal(sy_plan_solve(planner, &instance.problem, &request, &plan, &error),
                         -ERANGE);
    }
    print_message("# several lanes in %u\n", several);
    assert_true(several > 20);
    sy_planner_destroy(planner);
}

/* --- text --------------------------------------------------------------------------------------
 */
static void same_plan(const struct sy_plan_problem *problem, const struct sy_plan *plan) {
    struct sy_buffer text = {0}, again = {0};
    struct sy_plan other;
    struct sy_error error = {0};
    sy_plan_write(problem, plan, &text);
    if (sy_plan_parse(problem, text.text, &other, &error)) {
        fail_msg("%s: %s", text.text, error.message);
    }
    assert_int_equal(other.stage_count, plan->stage_count);
    assert_int_equal(other.lane_count, plan->lane_count);
    assert_memory_equal(&other.outcome, &plan->outcome, sizeof other.outcome);
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        assert_true(other.stages[i].kernels == plan->stages[i].kernels);
        assert_int_equal(other.stages[i].shape, plan->stages[i].shape);
        assert_int_equal(other.stages[i].replicas, plan->stages[i].replicas);
        assert_int_equal(other.stages[i].lane, plan->stages[i].lane);
    }
    for (uint32_t i = 0; i < plan->lane_count; i++) {
        assert_true(other.lane_rate[i] == plan->lane_rate[i]);
    }
    sy_plan_write(problem, &other, &again);
    assert_string_equal(text.text, again.text);
    sy_buffer_finish(&text);
    sy_buffer_finish(&again);
}

static bool write_one(void *user, const struct sy_plan *plan) {
    same_plan(user, plan);
    return true;
}

static void test_text(void **state) {
    (void)state;
    static const uint32_t devices[3] = {2, 1, 2};
    struct sy_planner *planner = sy_planner_create();
    print_message("# seed %d\n", SEED);
    for (uint32_t i = 0; i < 20; i++) {
        struct sy_rng rng = sy_rng_make(SEED, 1, i);
        struct instance instance;
        struct sy_plan plan;
        struct sy_error error = {0};
        struct sy_plan_request request = {SY_PLAN_THROUGHPUT, sy_plan_unbounded, true};
        instance_make(&instance, &rng, INSTANCE_GRAPH, 3, devices, 3);
        strcpy(instance.names[0], "a b"); /* a name may hold what ends others */
        strcpy(instance.names[1], "a");
        assert_true(sy_plan_enumerate(&instance.problem, &sy_plan_unbounded, write_one,
                                      &instance.problem) > 10);
        assert_int_equal(sy_plan_solve(planner, &instance.problem, &request, &plan, &error), 0);
        same_plan(&instance.problem, &plan);
    }
    sy_planner_destroy(planner);
}

static void test_text_errors(void **state) {
    (void)state;
    static const struct {
        const char *text, *message, *hint;
        uint32_t column;
    } cases[] = {
        {"", "the name of a kernel is missing", "", 1},
        {"alpha+beta", "'+' and another kernel, or '@' and a class, must follow 'beta'",
         "a stage reads \"gemm1+spmm1@gpu\"", 11},
        {"alhpa@gpu", "unknown kernel 'alhpa'", "did you mean 'alpha'?", 1},
        {"alpha@gqu | beta@cpu", "unknown class 'gqu'", "did you mean 'gpu'?", 7},
        {"alpha@zzzzzzzz", "unknown class 'zzzzzzzz'", "known are cpu, gpu", 7},
        {"alpha+alpha@gpu", "kernel 'alpha' appears twice", "", 7},
        {"alpha@cpu:3", "class 'cpu' has no width of 3 devices", "its widths: 1, 2", 12},
        {"alpha@cpu:1x0", "a number of replicas must be a number from 1 to 64", "", 13},
        {"alpha@cpu:x", "a width must be a number from 1 to 64", "", 11},
        {"alpha@cpu beta", "'|' and another stage, or nothing, must follow a stage",
         "stages read \"gemm1@gpu | gemm2@cpu:4x2\"", 11},
        {"alpha@cpu |", "the name of a kernel is missing", "", 12},
        {"alpha@cpu", "not a plan: kernel beta is in no stage", "", 0},
        {"beta@cpu | alpha@gpu",
         "not a plan: stage 1: one of its kernels needs the result of a later stage", "", 0},
        {"alpha@cpu:2x2 | beta@gpu", "not a plan: it uses 4 devices of class cpu; there are 2",
         "fewer replicas or a smaller width", 0},
        {"alpha@gpu | beta@cpu || beta@cpu",
         "not a plan: stage 3: one of its kernels needs the result of a later stage", "", 0},
        {"alpha@gpu | beta@cpu || alpha@cpu", "not a plan: kernel beta is in no stage of a lane",
         "", 0},
    };
    struct instance small;
    make_small(&small);
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_plan plan;
        struct sy_error error = {0};
        assert_int_equal(sy_plan_parse(&small.problem, cases[i].text, &plan, &error), -EINVAL);
        assert_string_equal(error.message, cases[i].message);
        assert_string_equal(error.hint, cases[i].hint);
        assert_int_equal(error.column, cases[i].column);
    }
}

/* --- hostile -----------------------------------------------------------------------------------
 */
static void expect_refused(const struct instance *instance) {
    struct sy_planner *planner = sy_planner_create();
    struct sy_plan_request request = {SY_PLAN_ENERGY, sy_plan_unbounded, false};
    struct sy_plan plan = {.lane_count = 1};
    struct sy_plan_outcome outcome;
    const struct sy_plan *front;
    uint32_t count;
    struct sy_error error = {0};
    const struct sy_plan_problem *problem = &instance->problem;
    assert_int_equal(sy_plan_solve(planner, problem, &request, &plan, &error), -EINVAL);
    assert_true(error.message[0] != '\0');
    assert_int_equal(sy_plan_greedy(planner, problem, &request, &plan, &error), -EINVAL);
    assert_int_equal(sy_plan_front(planner, problem, &sy_plan_unbounded, &front, &count, &error),
                     -EINVAL);
    assert_int_equal(sy_plan_evaluate(problem, &sy_plan_unbounded, &plan, &outcome, &error),
                     -EINVAL);
    assert_int_equal(sy_plan_parse(problem, "alpha@cpu", &plan, &error), -EINVAL);
    assert_int_equal(sy_plan_enumerate(problem, &sy_plan_unbounded, write_one, NULL), 0);
    sy_planner_destroy(planner);
}

static void test_hostile(void **state) {
    (void)state;
    struct instance small;
    double *const numbers[] = {&small.time_ns[1],
                               &small.joules[4],
                               &small.data[1].bytes,
                               &small.kernels[0].resident_bytes,
                               &small.links[1].latency_ns,
                               &small.links[3].bytes_per_s,
                               &small.links[2].joules_per_byte,
                               &small.classes[0].idle_watts,
                               &small.classes[1].price_per_s,
                               &small.classes[1].memory_bytes};
    for (size_t i = 0; i < SY_COUNT(numbers); i++) {
        make_small(&small);
        *numbers[i] = NAN;
        expect_refused(&small);
        *numbers[i] = -1;
        expect_refused(&small);
    }
    uint32_t *const counts[] = {&small.problem.kernel_count, &small.problem.class_count,
                                &small.problem.shape_count, &small.shapes[0].width};
    for (size_t i = 0; i < SY_COUNT(counts); i++) {
        make_small(&small);
        *counts[i] = 0;
        expect_refused(&small);
    }
    uint32_t *const indices[] = {&small.problem.kernel_count,    &small.problem.class_count,
                                 &small.shapes[1].class_index,   &small.shapes[1].width,
                                 &small.classes[1].device_count, &small.data[1].producer};
    for (size_t i = 0; i < SY_COUNT(indices); i++) {
        make_small(&small);
        *indices[i] = 1000000;
        expect_refused(&small);
    }
    make_small(&small);
    small.data[1].readers = 4; /* a kernel that is not there */
    expect_refused(&small);
    make_small(&small);
    small.data[2].readers = 1; /* a cycle */
    expect_refused(&small);
    make_small(&small);
    small.data[1].readers = 1; /* a kernel that reads what it writes */
    expect_refused(&small);
    make_small(&small);
    small.shapes[1].width = 1; /* twice */
    expect_refused(&small);
}

static void test_requests(void **state) {
    (void)state;
    struct instance small;
    make_small(&small);
    struct sy_plan_request request = {SY_PLAN_ENERGY, sy_plan_unbounded, true};
    expect_error(&small.problem, &request, -EINVAL,
                 "side by side is only for throughput, without bounds on energy, money or power",
                 "leave out side by side, or those bounds");
    request.side_by_side = false;
    request.bounds.money = NAN;
    expect_error(&small.problem, &request, -EINVAL, "a bound is nan; it must not be negative", "");
    request.bounds.money = INFINITY;
    request.objective = SY_PLAN_OBJECTIVE_COUNT;
    expect_error(&small.problem, &request, -EINVAL, "objective 5 does not exist", "");
}

static void test_too_wide(void **state) {
    (void)state;
    static const uint32_t devices[3] = {1, 1, 1};
    struct instance instance;
    struct sy_rng rng = sy_rng_make(SEED, 3, 0);
    struct sy_plan_request request = {SY_PLAN_THROUGHPUT, sy_plan_unbounded, false};
    instance_make(&instance, &rng, INSTANCE_CHAIN, 15, devices, 3);
    instance.problem.datum_count = 1; /* nothing depends on anything: 2^15 down-sets */
    expect_error(&instance.problem, &request, -E2BIG,
                 "the graph has more than 16384 down-sets: too wide for an exact plan",
                 "join kernels that run side by side, or plan parts of the graph on their own");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small),
                                       cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_bounds_that_cannot_be_met),
                                       cmocka_unit_test(test_advice),
                                       cmocka_unit_test(test_no_device),
                                       cmocka_unit_test(test_lanes),
                                       cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_text_errors),
                                       cmocka_unit_test(test_hostile),
                                       cmocka_unit_test(test_requests),
                                       cmocka_unit_test(test_too_wide)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
