/* SPDX-License-Identifier: Apache-2.0
 *
 * What policies are told: what durations show, readings, a belief or the truth. Every policy runs
 * on each and passes the checker; the same seed gives the same bytes; the belief is nearer to the
 * truth than the readings it was made from; policies that read no counters do not notice.
 */
#include "../schedulers/fixture.h"
#include "sim/state.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const enum sy_sim_belief kinds[] = {SY_SIM_RAW, SY_SIM_NONE, SY_SIM_FILTERED, SY_SIM_TRUE};

static void open_stream(struct fixture *f) {
    fixture_init(f, "2x(cpu:4 dram:40GB/s) gpu:2@pcie3x16 fpga:1@regions=1");
    fixture_add(f, fixture_graph("genomics:6,regions=4"), 0, 0, 1);
    fixture_add(f, fixture_graph("layered:6,depth=12,seed=3"), 1e7, 1, 2);
    fixture_add(f, fixture_graph("cholesky:5"), 3e7, 2, 1);
    fixture_seal(f);
}

static struct sy_sim_options told(enum sy_sim_belief belief) {
    return (struct sy_sim_options){.seed = 3,
                                   .noise_sigma = 0.1,
                                   .contention = true,
                                   .hidden_load = 0.4,
                                   .counter_noise = 0.4,
                                   .counter_live = 4,
                                   .counter_period_ns = 2e5,
                                   .belief = belief,
                                   .record = true};
}

/* fixture_run judges the trace. */
static void every_policy_runs_on_each(void **state) {
    (void)state;
    struct fixture f;
    open_stream(&f);
    for (uint32_t k = 0; k < SY_COUNT(kinds); k++) {
        struct sy_sim_options options = told(kinds[k]);
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        for (uint32_t i = 0; sy_scheduler_at(i); i++) {
            const char *name = sy_scheduler_at(i)->name;
            if (strcmp(name, "anneal") != 0 && strcmp(name, "greedy-true-rollout") != 0) {
                fixture_run(sim, f.workload, name);
            }
        }
        sy_sim_destroy(sim);
    }
    fixture_finish(&f);
}

static void same_seed_same_bytes(void **state) {
    (void)state;
    struct fixture f;
    open_stream(&f);
    for (uint32_t k = 0; k < SY_COUNT(kinds); k++) {
        struct sy_sim_options options = told(kinds[k]);
        struct sy_sim *first = fixture_sim(f.workload, &options);
        struct sy_sim *second = fixture_sim(f.workload, &options);
        fixture_run(first, f.workload, "lb-cont");
        fixture_run(second, f.workload, "tetris");
        fixture_run(second, f.workload, "lb-cont");
        const struct sy_trace *a = sy_sim_trace(first), *b = sy_sim_trace(second);
        assert_int_equal(a->count, b->count);
        assert_memory_equal(a->spans, b->spans, a->count * sizeof *a->spans);
        sy_sim_destroy(first);
        sy_sim_destroy(second);
    }
    fixture_finish(&f);
}

static void others_do_not_notice(void **state) {
    (void)state;
    struct fixture f;
    double makespan[SY_COUNT(kinds)], aware[SY_COUNT(kinds)];
    open_stream(&f);
    for (uint32_t k = 0; k < SY_COUNT(kinds); k++) {
        struct sy_sim_options options = told(kinds[k]);
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        makespan[k] = fixture_run(sim, f.workload, "lb").makespan_ns;
        aware[k] = fixture_run(sim, f.workload, "lb-cont").makespan_ns;
        assert_true(makespan[k] == makespan[0]);
        assert_true(k == 0 || aware[k] != aware[0]);
        sy_sim_destroy(sim);
    }
    fixture_finish(&f);
}

/* --- a policy that looks on ----------------------------------------------------------------------
 */
static const struct sy_sim *watched;
static uint32_t looks;
static enum sy_sim_belief kind;

static void check_readings(const struct sy_view *view) {
    looks++;
    assert_true(view->posterior == (kind != SY_SIM_RAW));
    for (uint32_t r = 0; r < view->machine->resource_count; r++) {
        const struct sy_reading *reading = &view->readings[r];
        double capacity = view->machine->resources[r].bytes_per_s;
        assert_true(reading->bytes_per_s >= 0 && reading->bytes_per_s <= 1.5 * capacity);
        if (kind == SY_SIM_RAW) {
            assert_true(isnan(reading->sd_bytes_per_s) && isnan(reading->others_bytes_per_s));
            continue;
        }
        assert_true(reading->at_ns <= view->now_ns && reading->sd_bytes_per_s >= 0);
        assert_true(reading->others_bytes_per_s >= 0 && reading->others_bytes_per_s <= capacity);
        if (kind == SY_SIM_TRUE) {
            assert_true(reading->bytes_per_s == watched->resource_use[r]);
            assert_true(reading->sd_bytes_per_s == 0 && reading->at_ns == view->now_ns);
        }
    }
}

static int start(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    (void)s, (void)view, (void)args;
    return 0;
}

static uint32_t decide(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                       uint32_t capacity) {
    (void)s, (void)capacity;
    check_readings(view);
    for (uint32_t t = 0; t < view->task_capacity; t++) {
        bool open = view->task_job[t] < view->job_count && view->task_device[t] == SY_NONE &&
                    view->task_state[t] == SY_TASK_READY;
        for (uint32_t d = 0; open && d < view->machine->device_count; d++) {
            uint32_t class_index = view->machine->devices[(d + t) % 11].class_index;
            if (isfinite(view->time_ns[(size_t)t * view->machine->class_count + class_index])) {
                *ret = (struct sy_decision){.kind = SY_RUN, .task = t, .device = (d + t) % 11};
                return 1;
            }
        }
    }
    return 0;
}

static void readings_are_what_they_say(void **state) {
    (void)state;
    static const struct sy_scheduler_ops ops = {
        .name = "looks on", .summary = "", .needs_readings = true, .init = start, .decide = decide};
    struct fixture f;
    open_stream(&f);
    assert_int_equal(f.machine->device_count, 11);
    for (uint32_t k = 0; k < SY_COUNT(kinds); k++) {
        struct sy_sim_options options = told(kinds[k]);
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        struct sy_sim_result result;
        struct sy_error error = {0};
        watched = sim;
        kind = kinds[k];
        looks = 0;
        assert_int_equal(sy_sim_run_ops(sim, &ops, NULL, &result, &error), 0);
        assert_true(looks > 100);
        sy_sim_destroy(sim);
    }
    fixture_finish(&f);
}

static void belief_is_nearer_than_readings(void **state) {
    (void)state;
    struct fixture f;
    struct sy_sim_accuracy found[SY_COUNT(kinds)];
    open_stream(&f);
    for (uint32_t k = 0; k < SY_COUNT(kinds); k++) {
        struct sy_sim_options options = told(kinds[k]);
        options.judge = true;
        options.hidden_period_ns = 5e7;
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        found[kinds[k]] = fixture_run(sim, f.workload, "lb-cont").accuracy;
        assert_int_equal(found[kinds[k]].task_count, f.workload->task_count);
        sy_sim_destroy(sim);
    }
    for (uint32_t r = SY_RES_DRAM; r <= SY_RES_LINK; r++) {
        assert_true(found[SY_SIM_TRUE].error_points[r] < 1e-9);
        assert_true(found[SY_SIM_FILTERED].error_points[r] <
                    0.5 * found[SY_SIM_RAW].error_points[r]);
    }
    assert_true(found[SY_SIM_TRUE].slowdown_within_10 > 0.7);
    assert_true(found[SY_SIM_NONE].slowdown_within_10 > 0.5);
    fixture_finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_runs_on_each),
        cmocka_unit_test(same_seed_same_bytes),
        cmocka_unit_test(others_do_not_notice),
        cmocka_unit_test(readings_are_what_they_say),
        cmocka_unit_test(belief_is_nearer_than_readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
