/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies that plan: what is simulated without noise is the plan, to the nanosecond; a chain runs
 * at the speed of the fastest devices; planning pays against chance.
 */
#include "fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const planners[] = {"heft", "cpop", "peft", "lookahead", "anneal:50"};

/* Devices and order as in the trace, every task as early as device and inputs allow. */
static void check_tight(const struct sy_workload *w, const char *policy, uint64_t seed) {
    struct sy_trace trace;
    struct sy_schedule plan;
    double *start, makespan;
    makespan = fixture_simulate(w, policy, &trace).makespan_ns;
    assert_int_equal(sy_schedule_init(&plan, w->task_count), 0);
    start = test_calloc(w->task_count, sizeof *start);
    for (uint32_t t = 0; t < w->task_count; t++) {
        const struct sy_span *span = fixture_span(&trace, SY_SPAN_TASK, t);
        plan.device[t] = span->place;
        plan.start_ns[t] = start[t] = span->start_ns;
        plan.end_ns[t] = span->end_ns;
    }
    int code = sy_schedule_evaluate(w, NULL, false, &plan);
    if (code || fabs(plan.makespan_ns - makespan) > 1e-6 * makespan) {
        fail_msg("%s, seed %lu: makespan %.9g, as planned %.9g (%d)", policy, seed, makespan,
                 plan.makespan_ns, code);
    }
    for (uint32_t t = 0; t < w->task_count; t++) {
        assert_near(start[t], plan.start_ns[t], 1e-6 * makespan);
    }
    test_free(start);
    sy_schedule_finish(&plan);
    sy_trace_finish(&trace);
}

/* No task takes no time, no two take the same. */
static void untie(struct instance *instance) {
    struct sy_workload *w = instance->workload;
    w->jobs[0].arrive_ns = 0;
    for (uint32_t t = 0; t < w->task_count; t++) {
        w->best_ns[t] = INFINITY;
        for (uint32_t c = 0; c < w->class_count; c++) {
            double *time = &w->time_ns[t * w->class_count + c];
            *time += 1 + 0.001 * (t * w->class_count + c);
            w->best_ns[t] = fmin(w->best_ns[t], *time);
        }
    }
}

static void simulated_as_planned(void **state) {
    (void)state;
    const struct random_shape shape = {3, 16, 1, 5, 3, 3, 0.25, 0.6, 0.1};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct instance instance;
        instance_random(&instance, &shape, seed);
        untie(&instance);
        struct sy_graph *graph = fixture_complete(&instance);
        for (uint32_t p = 0; p < SY_COUNT(planners); p++) {
            check_tight(instance.workload, planners[p], seed);
        }
        sy_graph_destroy(graph);
        instance_finish(&instance);
    }
}

static void check_annealed(const struct sy_workload *w, const char *what, uint64_t seed) {
    struct sy_schedule plan;
    assert_int_equal(sy_schedule_init(&plan, w->task_count), 0);
    assert_int_equal(sy_bound_anneal(w, 1, 300, NULL, &plan), 0);
    double found = fixture_simulate(w, "anneal:300", NULL).makespan_ns;
    if (found > plan.makespan_ns * (1 + 1e-9)) {
        fail_msg("%s %lu: simulated %.9g, planned %.9g", what, seed, found, plan.makespan_ns);
    }
    sy_schedule_finish(&plan);
}

/* The annealer's plan is what is run, not only its choice of devices. */
static void annealed_as_planned(void **state) {
    (void)state;
    static const char *const specs[] = {"cholesky:5", "layered:6,depth=5,ccr=2", "qr:4"};
    const struct random_shape shape = {3, 16, 1, 5, 3, 3, 0.25, 0.6, 0.1};
    for (uint32_t i = 0; i < SY_COUNT(specs); i++) {
        struct fixture f;
        fixture_one(&f, "cpu:4 gpu:2", specs[i]);
        check_annealed(f.workload, specs[i], 0);
        fixture_finish(&f);
    }
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct instance instance;
        instance_random(&instance, &shape, seed);
        untie(&instance);
        struct sy_graph *graph = fixture_complete(&instance);
        check_annealed(instance.workload, "random instance", seed);
        sy_graph_destroy(graph);
        instance_finish(&instance);
    }
}

/* A chain without data: each task where it is fastest; CPOP: all on the one device best for all. */
static void chains(void **state) {
    (void)state;
    static const char *const fastest[] = {"heft", "peft", "lookahead", "dmda", "dmdas", "lb"};
    static const struct instance_device devices[] = {{0, 0}, {1, 0}, {2, 1}};
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 8, 0);
        struct instance instance;
        double sum[3] = {0}, best = 0;
        instance_init(&instance, devices, 3, 1, 0, 12);
        for (uint32_t t = 0; t < 12; t++) {
            double least = INFINITY;
            for (uint32_t c = 0; c < 3; c++) {
                double time = 10 + 100 * sy_rng_uniform(&rng);
                instance_time(&instance, t, c, time);
                sum[c] += time;
                least = fmin(least, time);
            }
            best += least;
            if (t) {
                instance_edge(&instance, t - 1, t, 0);
            }
        }
        instance_seal(&instance);
        struct sy_graph *graph = fixture_complete(&instance);
        for (uint32_t p = 0; p < SY_COUNT(fastest); p++) {
            assert_near(fixture_simulate(instance.workload, fastest[p], NULL).makespan_ns, best,
                        1e-6);
        }
        assert_near(sy_bound_critical_path_ns(instance.workload), best, 1e-6);
        assert_near(fixture_simulate(instance.workload, "cpop", NULL).makespan_ns,
                    fmin(sum[0], fmin(sum[1], sum[2])), 1e-6);
        sy_graph_destroy(graph);
        instance_finish(&instance);
    }
}

/* Geometric mean over graphs of makespan against random placement. */
static void better_than_chance(void **state) {
    (void)state;
    static const char *const policies[] = {"heft", "peft", "cpop", "lookahead", "dmdas", "lb"};
    double ratio[SY_COUNT(policies)] = {0};
    enum { GRAPHS = 12 };
    for (uint32_t g = 0; g < GRAPHS; g++) {
        struct fixture f;
        char spec[64];
        snprintf(spec, sizeof spec, "layered:8,depth=6,ccr=0.5,seed=%u", g + 1);
        fixture_one(&f, "cpu:4 gpu:2", spec);
        double chance = fixture_simulate(f.workload, "random", NULL).makespan_ns;
        for (uint32_t p = 0; p < SY_COUNT(policies); p++) {
            double once = fixture_simulate(f.workload, policies[p], NULL).makespan_ns;
            assert_true(once == fixture_simulate(f.workload, policies[p], NULL).makespan_ns);
            ratio[p] += log(once / chance) / GRAPHS;
        }
        fixture_finish(&f);
    }
    for (uint32_t p = 0; p < SY_COUNT(policies); p++) {
        if (!(exp(ratio[p]) < 0.8)) {
            fail_msg("%s: %.3f of random", policies[p], exp(ratio[p]));
        }
    }
}

/* Tasks that take no time at all block nobody. */
static void no_time_at_all(void **state) {
    (void)state;
    const struct random_shape shape = {3, 16, 1, 4, 2, 2, 0.25, 0.6, 0.1};
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct instance instance;
        struct sy_rng rng = sy_rng_make(seed, 9, 0);
        instance_random(&instance, &shape, seed);
        struct sy_workload *w = instance.workload;
        for (uint32_t t = 0; t < w->task_count; t++) {
            bool nothing = sy_rng_below(&rng, 3) == 0;
            for (uint32_t c = 0; nothing && c < w->class_count; c++) {
                double *time = &w->time_ns[t * w->class_count + c];
                *time = isfinite(*time) ? 0 : *time;
                w->best_ns[t] = 0;
            }
        }
        struct sy_graph *graph = fixture_complete(&instance);
        for (uint32_t p = 0; p < SY_COUNT(planners); p++) {
            fixture_simulate(w, planners[p], NULL);
        }
        sy_graph_destroy(graph);
        instance_finish(&instance);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simulated_as_planned),
        cmocka_unit_test(annealed_as_planned),
        cmocka_unit_test(chains),
        cmocka_unit_test(better_than_chance),
        cmocka_unit_test(no_time_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
