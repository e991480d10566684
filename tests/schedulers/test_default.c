/* SPDX-License-Identifier: Apache-2.0
 *
 * The default policy: with known times never worse than dmdas on dense factorisations, whatever the
 * machine, and where links are shared better; tasks that come unannounced do not stop it.
 */
#include "fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const machines[] = {
    "cpu:4",
    "cpu:16",
    "cpu:9 gpu:3@link=6GB/s,latency=10us",
    "cpu:16 gpu:1@link=50GB/s,latency=5us",
    "cpu:2 gpu:2@link=6GB/s,latency=10us",
    "cpu:12 gpu:4@pcie3x16",
};

static double makespan_ns(const struct sy_workload *workload, const char *policy, bool contention) {
    struct sy_sim_options options = {.seed = 1, .record = true, .contention = contention};
    struct sy_sim *sim = fixture_sim(workload, &options);
    struct sy_sim_result result = fixture_run(sim, workload, policy);
    sy_sim_destroy(sim);
    return result.makespan_ns;
}

static void compare(const char *generator, const uint32_t *tiles, uint32_t count) {
    for (uint32_t m = 0; m < SY_COUNT(machines); m++) {
        for (uint32_t i = 0; i < count; i++) {
            struct fixture f;
            char spec[32];
            snprintf(spec, sizeof spec, "%s:%u", generator, tiles[i]);
            fixture_one(&f, machines[m], spec);
            double theirs = makespan_ns(f.workload, "dmdas", false);
            double ours = makespan_ns(f.workload, sy_scheduler_default(), false);
            if (ours > theirs * (1 + 1e-9)) {
                fail_msg("%s on \"%s\": %.9g ns, dmdas %.9g ns", spec, machines[m], ours, theirs);
            }
            fixture_finish(&f);
        }
    }
}

static void cholesky_is_no_worse_than_dmdas(void **state) {
    (void)state;
    compare("cholesky", (const uint32_t[]){2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 24}, 14);
}

static void lu_is_no_worse_than_dmdas(void **state) {
    (void)state;
    compare("lu", (const uint32_t[]){2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20}, 12);
}

static void qr_is_no_worse_than_dmdas(void **state) {
    (void)state;
    compare("qr", (const uint32_t[]){2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16}, 11);
}

/* Fast accelerators on narrow links: plans that forget that copies share them need twice as long.
 */
static void shared_links_are_planned_for(void **state) {
    (void)state;
    static const char *const specs[] = {"cholesky:16,tile=320", "lu:12,tile=320"};
    for (uint32_t i = 0; i < SY_COUNT(specs); i++) {
        struct fixture f;
        fixture_one(&f, "cpu:6 gpu:8@link=6GB/s,latency=10us", specs[i]);
        double theirs = makespan_ns(f.workload, "dmdas", true);
        double ours = makespan_ns(f.workload, sy_scheduler_default(), true);
        if (ours > 0.8 * theirs) {
            fail_msg("%s: %.9g ns, dmdas %.9g ns", specs[i], ours, theirs);
        }
        fixture_finish(&f);
    }
}

/* Tasks that arrive one by one beside a planned job are run, and the plan is still followed: the
 * job ends well before it would under late binding. */
static void single_tasks_do_not_end_a_plan(void **state) {
    (void)state;
    struct fixture f;
    fixture_init(&f, "cpu:9 gpu:3@link=6GB/s,latency=10us");
    fixture_add(&f, fixture_graph("cholesky:10"), 0, 0, 1);
    for (uint32_t j = 1; j < FIXTURE_JOBS; j++) {
        fixture_add(&f, fixture_graph("chain:1,work=0.1ms,bytes=8"), j * 1e6, 0, 1);
    }
    fixture_seal(&f);
    double late = makespan_ns(f.workload, "lb", false);
    double ours = makespan_ns(f.workload, sy_scheduler_default(), false);
    if (ours > 0.97 * late) {
        fail_msg("%.9g ns, late binding %.9g ns", ours, late);
    }
    fixture_finish(&f);
}

static void default_has_a_name(void **state) {
    (void)state;
    const char *args = NULL;
    const struct sy_scheduler_ops *ops = sy_scheduler_find(sy_scheduler_default(), &args, NULL);
    assert_non_null(ops);
    assert_false(ops->needs_truth);
    assert_ptr_equal(sy_scheduler_find("default", &args, NULL), ops);
    assert_ptr_equal(sy_scheduler_find("default+wspt", &args, NULL), ops);
    assert_string_equal(args, "+wspt");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cholesky_is_no_worse_than_dmdas),
        cmocka_unit_test(lu_is_no_worse_than_dmdas),
        cmocka_unit_test(qr_is_no_worse_than_dmdas),
        cmocka_unit_test(shared_links_are_planned_for),
        cmocka_unit_test(single_tasks_do_not_end_a_plan),
        cmocka_unit_test(default_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
