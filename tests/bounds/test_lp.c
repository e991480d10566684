/* SPDX-License-Identifier: Apache-2.0
 *
 * The mixed LP: the chain of bounds, the proof against lying solvers, solvers that are missing,
 * slow or broken. What needs an installed solver is skipped where none is.
 */
#include "bounds/lp.h"
#include "instance.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct random_shape small = {.task_min = 3,
                                          .task_max = 8,
                                          .device_min = 2,
                                          .device_max = 4,
                                          .class_max = 3,
                                          .memory_max = 2,
                                          .edge_probability = 0.35,
                                          .transfer_ratio = 0.3,
                                          .impossible_probability = 0.1};

static double optimum(const struct sy_workload *workload) {
    struct sy_schedule plan;
    uint64_t nodes;
    assert_int_equal(sy_schedule_init(&plan, workload->task_count), 0);
    assert_int_equal(sy_bound_exact(workload, UINT64_MAX, &plan, &nodes), 0);
    double makespan = plan.makespan_ns;
    sy_schedule_finish(&plan);
    return makespan;
}

static double mixed(const struct sy_workload *workload) {
    struct sy_error error = {0};
    double bound = 0;
    int r = sy_bound_mixed_ns(workload, 60, NULL, &bound, &error);
    if (r == -ENOENT) {
        skip();
    }
    if (r < 0) {
        fail_msg("%s", error.message);
    }
    return bound;
}

static void assert_chain(const struct sy_workload *workload, uint64_t seed, double *ret_gain) {
    struct sy_schedule plan;
    double path = sy_bound_critical_path_ns(workload), area = sy_bound_area_ns(workload);
    double lp = mixed(workload), best = optimum(workload);
    assert_int_equal(sy_schedule_init(&plan, workload->task_count), 0);
    assert_int_equal(sy_bound_anneal(workload, seed, 200, NULL, &plan), 0);
    if (path > lp || area > lp || lp > best * (1 + 1e-9) || best > plan.makespan_ns * (1 + 1e-9)) {
        fail_msg("seed %llu: path %.12g, area %.12g, LP %.12g, optimum %.12g, found %.12g",
                 (unsigned long long)seed, path, area, lp, best, plan.makespan_ns);
    }
    *ret_gain = lp / fmax(path, area);
    sy_schedule_finish(&plan);
}

static void test_chain_of_bounds(void **state) {
    (void)state;
    uint32_t better = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct instance instance;
        double gain = 1;
        instance_random(&instance, &small, seed);
        assert_chain(instance.workload, seed, &gain);
        better += gain > 1.001;
        instance_finish(&instance);
    }
    assert_true(better > 5); /* else the LP would be for nothing */
}

static void chain_on_two_classes(struct instance *instance) {
    static const struct instance_device devices[] = {{0, 0}, {1, 1}};
    instance_init(instance, devices, 2, 1, 0, 4);
    for (uint32_t t = 0; t < 4; t++) {
        instance_time(instance, t, 0, 2);
        instance_time(instance, t, 1, 1);
    }
    instance_edge(instance, 0, 1, 0);
    instance_edge(instance, 2, 3, 0);
    instance_seal(instance);
}

static void test_by_hand(void **state) {
    (void)state;
    struct instance instance;
    chain_on_two_classes(&instance);
    /* Two chains of two; share x on the slow class. Chains end at 2 + 2x, slow load 8x, fast load
     * 4 - 4x: all <= M, least at x = 1/3 where 8x = 4 - 4x = 2 + 2x = 8/3. */
    assert_near(mixed(instance.workload), 8.0 / 3, 1e-6);
    instance_finish(&instance);
}

static void test_equals_area_without_edges(void **state) {
    (void)state;
    static const struct instance_device devices[] = {{0, 0}, {0, 0}, {1, 0}, {1, 0},
                                                     {2, 0}, {2, 0}, {3, 0}, {3, 0}};
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 1, 0);
        struct instance instance;
        instance_init(&instance, devices, 8, 1, 0, 60);
        for (uint32_t t = 0; t < 60; t++) {
            for (uint32_t c = 0; c < 4; c++) {
                instance_time(&instance, t, c, 50 + 100 * sy_rng_uniform(&rng));
            }
        }
        instance_seal(&instance);
        double area = sy_bound_area_ns(instance.workload), lp = mixed(instance.workload);
        if (lp > area * (1 + 1e-6)) {
            fail_msg("seed %llu: area %.12g, but the LP proves %.12g", (unsigned long long)seed,
                     area, lp);
        }
        struct sy_lp inside;
        struct sy_buffer text = {0};
        double proved = 0;
        assert_int_equal(sy_lp_init(&inside, instance.workload, area, &text), 0);
        assert_int_equal(sy_lp_solve(&inside, &text, 60, NULL, NULL), 0);
        assert_int_equal(sy_lp_prove(&inside, &proved), 0);
        assert_true(fabs(proved - area) <= 1e-6 * area);
        sy_buffer_finish(&text);
        sy_lp_finish(&inside);
        instance_finish(&instance);
    }
}

static void assert_solvers_agree(const struct sy_workload *workload, uint64_t seed) {
    static const char *const names[] = {"clp", "cbc", "glpsol"};
    double first = 0;
    for (size_t i = 0; i < SY_COUNT(names); i++) {
        double bound = 0;
        setenv("SYMPH_LP_SOLVER", names[i], 1);
        int r = sy_bound_mixed_ns(workload, 60, NULL, &bound, NULL);
        unsetenv("SYMPH_LP_SOLVER");
        assert_true(r == 0 || r == -ENOENT);
        first = first == 0 ? bound : first;
        if (r == 0 && fabs(bound - first) > 1e-6 * first) {
            fail_msg("seed %llu: %s proves %.12g, another %.12g", (unsigned long long)seed,
                     names[i], bound, first);
        }
    }
}

static void test_every_installed_solver_agrees(void **state) {
    (void)state;
    struct random_shape shape = small;
    shape.task_min = shape.task_max = 40;
    shape.edge_probability = 0.05;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct instance instance;
        instance_random(&instance, &shape, seed);
        assert_solvers_agree(instance.workload, seed);
        instance_finish(&instance);
    }
}

static void test_any_duals_prove_a_bound(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 2, 0);
        struct instance instance;
        struct sy_lp lp;
        struct sy_buffer text = {0};
        instance_random(&instance, &small, seed);
        double best = optimum(instance.workload);
        assert_int_equal(sy_lp_init(&lp, instance.workload, 1, &text), 0);
        for (int round = 0; round < 20; round++) {
            double bound = 0;
            for (uint32_t i = 0; i < lp.slot_count; i++) {
                bool zero = sy_rng_uniform(&rng) < 0.3;
                lp.dual[i] = zero ? 0 : exp(3 * sy_rng_normal(&rng)) - 0.1;
            }
            lp.dual[0] = round == 0 ? NAN : lp.dual[0];
            assert_int_equal(sy_lp_prove(&lp, &bound), 0);
            if (!(bound <= best * (1 + 1e-9))) {
                fail_msg("seed %llu: proved %.17g, optimum %.17g", (unsigned long long)seed, bound,
                         best);
            }
        }
        sy_buffer_finish(&text);
        sy_lp_finish(&lp);
        instance_finish(&instance);
    }
}

static void test_no_solver(void **state) {
    (void)state;
    struct instance instance;
    struct sy_error error = {0};
    double bound = -1;
    chain_on_two_classes(&instance);
    setenv("SYMPH_LP_SOLVER", "/nonexistent/clp", 1);
    assert_int_equal(sy_bound_mixed_ns(instance.workload, 10, NULL, &bound, &error), -ENOENT);
    assert_true(bound == -1);
    assert_non_null(strstr(error.message, "/nonexistent/clp"));
    setenv("SYMPH_LP_SOLVER", "/nonexistent", 1);
    assert_int_equal(sy_bound_mixed_ns(instance.workload, 10, NULL, &bound, NULL), -ENOENT);
    setenv("SYMPH_LP_SOLVER", "sh", 1);
    assert_int_equal(sy_bound_mixed_ns(instance.workload, 10, NULL, &bound, &error), -EINVAL);
    unsetenv("SYMPH_LP_SOLVER");
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(sy_bound_mixed_ns(instance.workload, 10, NULL, &bound, &error), -ENOENT);
    assert_true(error.hint[0] != '\0');
    setenv("PATH", path, 1);
    free(path);
    instance_finish(&instance);
}

/* A directory with a program that pretends to be clp. */
struct fake {
    char directory[64], program[80];
};

static void fake_init(struct fake *fake, const char *script) {
    snprintf(fake->directory, sizeof(fake->directory), "/tmp/symph-test-XXXXXX");
    assert_non_null(mkdtemp(fake->directory));
    snprintf(fake->program, sizeof(fake->program), "%s/clp", fake->directory);
    assert_int_equal(sy_write_file(fake->program, script, strlen(script), NULL), 0);
    assert_int_equal(chmod(fake->program, 0700), 0);
    setenv("SYMPH_LP_SOLVER", fake->program, 1);
    setenv("TMPDIR", fake->directory, 1);
}

/* Nothing may be left but the program. */
static void fake_finish(struct fake *fake) {
    unsetenv("SYMPH_LP_SOLVER");
    unsetenv("TMPDIR");
    assert_int_equal(unlink(fake->program), 0);
    assert_int_equal(rmdir(fake->directory), 0);
}

static void check_fake(const char *script, double time_limit_s, int expected, const char *message) {
    struct fake fake;
    struct instance instance;
    struct sy_error error = {0};
    double bound = -1;
    chain_on_two_classes(&instance);
    fake_init(&fake, script);
    assert_int_equal(sy_bound_mixed_ns(instance.workload, time_limit_s, NULL, &bound, &error),
                     expected);
    fake_finish(&fake);
    assert_true(bound == -1);
    if (strstr(error.message, message) == NULL) {
        fail_msg("unexpected message: %s", error.message);
    }
    instance_finish(&instance);
}

static void test_slow_solver_is_killed(void **state) {
    (void)state;
    check_fake("#!/bin/sh\nexec sleep 1000\n", 0.1, -ETIME, "longer");
    check_fake("#!/bin/sh\nsleep 1000 & sleep 1000\n", 0.1, -ETIME, "longer");
    check_fake("#!/bin/sh\nexec >/dev/null 2>&1\nsleep 1000\n", 0.1, -ETIME, "longer");
    check_fake("#!/bin/sh\nwhile :; do echo noise; done\n", 0.1, -ETIME, "longer");
}

static void test_broken_solver(void **state) {
    (void)state;
    check_fake("#!/bin/sh\necho out of licences; exit 3\n", 10, -EIO, "out of licences");
    check_fake("#!/bin/sh\nkill -9 $$\n", 10, -EIO, "clp");
    check_fake("#!/bin/sh\nexit 0\n", 10, -EIO, "no answer");
    check_fake("#!/bin/sh\necho Infeasible > $6\n", 10, -EIO, "optimum");
    check_fake("#!/bin/sh\necho 'Stopped on time' > $6\n", 10, -ETIME, "optimum");
    check_fake("#!/bin/sh\n(echo Optimal; echo '0 R0 1 1') > $6\n", 10, -EIO, "optimum");
    check_fake("#!/bin/sh\nhead -c 100000 /dev/zero > $6\n", 10, -EIO, "optimum");
}

static void test_what_a_solver_leaves_running_is_ended(void **state) {
    (void)state;
    /* The grandchild holds the pipe open; waiting for it would take forever. */
    check_fake("#!/bin/sh\nsleep 1000 &\nexit 4\n", 60, -EIO, "clp");
}

static void test_lying_solver_proves_nothing_false(void **state) {
    (void)state;
    struct fake fake;
    struct instance instance;
    double bound = -1;
    chain_on_two_classes(&instance);
    fake_init(&fake, "#!/bin/sh\n(echo Optimal - objective value 1e9\ni=0\n"
                     "while [ $i -lt 8 ]; do echo \"$i R$i 0 1e9\"; i=$((i+1)); done) > $6\n");
    assert_int_equal(sy_bound_mixed_ns(instance.workload, 10, NULL, &bound, NULL), 0);
    fake_finish(&fake);
    assert_true(bound >= 2 && bound <= 8.0 / 3 + 1e-9);
    instance_finish(&instance);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain_of_bounds),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_equals_area_without_edges),
        cmocka_unit_test(test_every_installed_solver_agrees),
        cmocka_unit_test(test_any_duals_prove_a_bound),
        cmocka_unit_test(test_no_solver),
        cmocka_unit_test(test_slow_solver_is_killed),
        cmocka_unit_test(test_broken_solver),
        cmocka_unit_test(test_what_a_solver_leaves_running_is_ended),
        cmocka_unit_test(test_lying_solver_proves_nothing_false),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
