/* SPDX-License-Identifier: Apache-2.0
 *
 * From machines to systems, and from pipelines to problems.
 */
#include "gcn.h"
#include "planner/pipeline.h"
#include "topology/topology.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct sy_machine *machine_of(const char *text) {
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    if (sy_machine_parse(text, &machine, &error)) {
        fail_msg("%s: %s", text, error.message);
    }
    return machine;
}

static struct sy_system system_of(const struct sy_machine *machine) {
    struct sy_system system;
    assert_int_equal(sy_system_from_machine(machine, &system, NULL), 0);
    return system;
}

static void assert_near(double a, double b) {
    if (!(fabs(a - b) <= 1e-9 * fabs(b))) {
        fail_msg("%.17g is not %.17g", a, b);
    }
}

static const struct sy_plan_link *link_of(const struct sy_system *system, uint32_t from,
                                          uint32_t to) {
    return &system->links[from * (system->class_count + 1) + to];
}

static uint32_t class_of(const struct sy_system *system, enum sy_device_kind kind) {
    uint32_t i = 0;
    while (i < system->class_count && system->classes[i].kind != kind) {
        i++;
    }
    assert_true(i < system->class_count);
    return i;
}

static void test_classes(void **state) {
    (void)state;
    struct sy_machine *machine =
        machine_of("2x(cpu:6) gpu:2@pcie4x16,memory=80GB,watts=700/70 fpga:1@regions=4");
    struct sy_system system = system_of(machine);
    assert_int_equal(system.class_count, 3);
    const struct sy_system_class *cpu = &system.classes[class_of(&system, SY_CPU)];
    const struct sy_system_class *gpu = &system.classes[class_of(&system, SY_GPU)];
    const struct sy_system_class *fpga = &system.classes[class_of(&system, SY_FPGA)];
    assert_string_equal(cpu->name, "cpu");
    assert_string_equal(cpu->roofline.class_name, "cpu");
    assert_int_equal(cpu->device_count, 12);
    assert_int_equal(cpu->width_max, 12);
    assert_int_equal(gpu->device_count, 2);
    assert_int_equal(gpu->width_max, 1);
    assert_int_equal(gpu->busy_count, 0);
    assert_true(gpu->memory_bytes == 80e9 && gpu->slowdown == 1);
    assert_true(gpu->busy_watts == 700 && gpu->idle_watts == 70);
    assert_true(gpu->roofline.busy_watts == 630);
    assert_true(gpu->roofline.flops_per_s == 30e12 &&
                gpu->price_per_hour == sy_default_price_per_hour(SY_GPU));
    /* a region has a quarter of the board */
    assert_int_equal(fpga->device_count, 4);
    assert_true(fpga->roofline.bytes_per_s == 100e9 &&
                fpga->price_per_hour == sy_default_price_per_hour(SY_FPGA) / 4);
    sy_machine_destroy(machine);
}

static void test_links(void **state) {
    (void)state;
    struct sy_machine *machine = machine_of("2x(cpu:6) gpu:2@pcie4x16 fpga:1@regions=4");
    struct sy_system system = system_of(machine);
    uint32_t cpu = class_of(&system, SY_CPU), gpu = class_of(&system, SY_GPU);
    uint32_t fpga = class_of(&system, SY_FPGA), host = system.class_count;
    assert_true(isinf(link_of(&system, cpu, cpu)->bytes_per_s));
    assert_true(isinf(link_of(&system, cpu, host)->bytes_per_s));
    assert_true(isinf(link_of(&system, host, cpu)->bytes_per_s));
    assert_true(link_of(&system, cpu, host)->latency_ns == 0);
    /* cores are at the host */
    const struct sy_plan_link *down = link_of(&system, host, gpu);
    const struct sy_plan_link *from_cpu = link_of(&system, cpu, gpu);
    assert_true(down->bytes_per_s > 10e9 && down->bytes_per_s < 40e9 && down->latency_ns > 0);
    assert_true(down->joules_per_byte > 0);
    assert_true(from_cpu->bytes_per_s == down->bytes_per_s &&
                from_cpu->latency_ns == down->latency_ns);
    /* two GPUs have two memories, four regions have one */
    assert_true(isfinite(link_of(&system, gpu, gpu)->bytes_per_s));
    assert_true(isinf(link_of(&system, fpga, fpga)->bytes_per_s));
    assert_true(isfinite(link_of(&system, gpu, fpga)->bytes_per_s));
    assert_true(link_of(&system, gpu, fpga)->latency_ns >= down->latency_ns);
    sy_machine_destroy(machine);
}

static void test_large(void **state) {
    (void)state;
    struct sy_machine *machine = machine_of("cpu:100");
    struct sy_system system = system_of(machine);
    assert_int_equal(system.classes[0].device_count, SY_PLAN_DEVICE_MAX);
    assert_int_equal(system.classes[0].width_max, SY_PLAN_DEVICE_MAX);
    sy_machine_destroy(machine);
    struct sy_error error = {0};
    machine = machine_of("cpu:1 gpu:1 gpu:1@speed=2 gpu:1@speed=3 fpga:1");
    assert_int_equal(sy_system_from_machine(machine, &system, &error), -E2BIG);
    assert_non_null(strstr(error.message, "5 classes"));
    sy_machine_destroy(machine);
}

/* --- problems --------------------------------------------------------------------------------- */
struct fixture {
    struct sy_machine *machine;
    struct sy_system system;
    struct sy_pipeline *pipeline;
    struct sy_store *store;
    struct sy_arena *arena;
    double values[4];
};

static struct fixture set_up(const char *machine) {
    struct fixture f = {.machine = machine_of(machine)};
    f.system = system_of(f.machine);
    f.store = sy_store_create();
    f.arena = sy_arena_create();
    assert_true(f.store && f.arena);
    for (uint32_t i = 0; i < f.system.class_count; i++) {
        assert_int_equal(sy_store_set_roofline(f.store, &f.system.classes[i].roofline), 0);
    }
    assert_int_equal(sy_pipeline_read_text("gcn", gcn_text, strlen(gcn_text), &f.pipeline, NULL),
                     0);
    assert_int_equal(sy_pipeline_values(f.pipeline, "arxiv", f.values, NULL), 0);
    return f;
}

static void tear_down(struct fixture *f) {
    sy_pipeline_destroy(f->pipeline);
    sy_store_close(f->store);
    sy_arena_destroy(f->arena);
    sy_machine_destroy(f->machine);
}

static struct sy_plan_problem problem_of(const struct fixture *f, double optimism,
                                         const struct sy_estimate **ret_guesses) {
    struct sy_plan_problem problem;
    struct sy_error error = {0};
    if (sy_pipeline_problem(f->pipeline, f->values, &f->system, f->store, optimism, f->arena,
                            &problem, ret_guesses, &error)) {
        fail_msg("%s", error.message);
    }
    return problem;
}

static uint32_t shape_of(const struct sy_plan_problem *problem, uint32_t class_index,
                         uint32_t width) {
    for (uint32_t i = 0; i < problem->shape_count; i++) {
        if (problem->shapes[i].class_index == class_index && problem->shapes[i].width == width) {
            return i;
        }
    }
    return SY_NONE;
}

static void test_problem(void **state) {
    (void)state;
    struct fixture f = set_up("cpu:6 gpu:2@memory=80GB");
    struct sy_plan_problem problem = problem_of(&f, 0, NULL);
    uint32_t cpu = class_of(&f.system, SY_CPU), gpu = class_of(&f.system, SY_GPU);
    assert_int_equal(problem.kernel_count, 3);
    assert_string_equal(problem.kernels[1].name, "gemm1");
    assert_true(problem.kernels[1].resident_bytes == 4 * 128 * 128);
    assert_true(problem.kernels[0].resident_bytes == 0);
    /* graph, x, h1, h2, out: constants do not move */
    assert_int_equal(problem.datum_count, 5);
    assert_string_equal(problem.data[0].name, "graph");
    assert_true(problem.data[0].producer == SY_NONE && problem.data[0].readers == 5);
    assert_string_equal(problem.data[2].name, "h1");
    assert_true(problem.data[2].producer == 0 && problem.data[2].readers == 2);
    assert_true(problem.data[4].producer == 2 && problem.data[4].readers == 0);
    assert_true(problem.data[4].output && !problem.data[3].output);
    assert_true(problem.data[1].bytes == 4.0 * 169343 * 128);
    /* 1, 2, 4 and all 6 cores; one GPU at a time */
    assert_int_equal(problem.shape_count, 5);
    assert_int_not_equal(shape_of(&problem, cpu, 6), SY_NONE);
    assert_int_equal(shape_of(&problem, gpu, 2), SY_NONE);
    assert_true(problem.classes[gpu].memory_bytes == 80e9);
    assert_true(fabs(problem.classes[gpu].price_per_s * 3600 - sy_default_price_per_hour(SY_GPU)) <
                1e-9);
    /* only gemm1 can be split */
    uint32_t four = shape_of(&problem, cpu, 4), one = shape_of(&problem, cpu, 1);
    assert_true(isinf(problem.time_ns[0 * 5 + four]) && problem.joules[0 * 5 + four] == 0);
    assert_true(isfinite(problem.time_ns[1 * 5 + four]) && isfinite(problem.time_ns[0 * 5 + one]));
    tear_down(&f);
}

static void test_busy_and_slow(void **state) {
    (void)state;
    struct fixture f = set_up("cpu:6 gpu:2");
    uint32_t cpu = class_of(&f.system, SY_CPU), gpu = class_of(&f.system, SY_GPU);
    struct sy_plan_problem before = problem_of(&f, 0, NULL);
    double time_ns = before.time_ns[shape_of(&before, cpu, 1)];
    f.system.classes[cpu].busy_count = 3;
    f.system.classes[cpu].slowdown = 1.5;
    f.system.classes[gpu].busy_count = 2;
    struct sy_plan_problem after = problem_of(&f, 0, NULL);
    assert_int_equal(after.classes[cpu].device_count, 3);
    assert_int_equal(after.classes[gpu].device_count, 0);
    assert_int_equal(after.shape_count, 3); /* 1, 2 and 3 cores */
    assert_int_not_equal(shape_of(&after, cpu, 3), SY_NONE);
    assert_near(after.time_ns[shape_of(&after, cpu, 1)], time_ns * 1.5);
    struct sy_plan_problem problem;
    struct sy_error error = {0};
    f.system.classes[cpu].busy_count = 7;
    assert_int_equal(sy_pipeline_problem(f.pipeline, f.values, &f.system, f.store, 0, f.arena,
                                         &problem, NULL, &error),
                     -EINVAL);
    assert_non_null(strstr(error.message, "7 of 6"));
    tear_down(&f);
}

/* Optimism shortens what is not certain; watts that nobody measured are those of the class. */
static void test_guesses(void **state) {
    (void)state;
    struct fixture f = set_up("cpu:4");
    const struct sy_estimate *guesses = NULL;
    struct sy_plan_problem plain = problem_of(&f, 0, NULL), bold = problem_of(&f, 2, &guesses);
    uint32_t shape_count = plain.shape_count;
    for (uint32_t k = 0; k < 3; k++) {
        for (uint32_t s = 0; s < shape_count; s++) {
            uint32_t at = k * shape_count + s;
            if (isinf(plain.time_ns[at])) {
                assert_true(isinf(bold.time_ns[at]) && isinf(guesses[at].median_ns));
                continue;
            }
            assert_true(guesses[at].log_sigma > 0 && guesses[at].source == SY_COST_ROOFLINE);
            double ratio = exp(-2 * guesses[at].log_sigma);
            assert_near(bold.time_ns[at], plain.time_ns[at] * ratio);
            assert_true(plain.time_ns[at] == guesses[at].median_ns);
            if (isnan(guesses[at].watts)) {
                double watts = f.system.classes[0].roofline.busy_watts * plain.shapes[s].width;
                assert_near(plain.joules[at], watts * plain.time_ns[at] * 1e-9);
            }
        }
    }
    tear_down(&f);
}

static bool no_spmm_on_gpu(const void *user, const char *kernel, uint32_t class_index) {
    return strcmp(kernel, "spmm") != 0 || class_index != *(const uint32_t *)user;
}

static void test_runs(void **state) {
    (void)state;
    struct fixture f = set_up("cpu:1 gpu:1");
    uint32_t gpu = class_of(&f.system, SY_GPU);
    f.system.runs = no_spmm_on_gpu;
    f.system.runs_user = &gpu;
    struct sy_plan_problem problem = problem_of(&f, 0, NULL);
    uint32_t shape = shape_of(&problem, gpu, 1);
    assert_true(isinf(problem.time_ns[0 * 2 + shape]) && isinf(problem.time_ns[2 * 2 + shape]));
    assert_true(isfinite(problem.time_ns[1 * 2 + shape]));
    tear_down(&f);
}

/* A class of which nothing is known runs nothing. */
static void test_unknown_class(void **state) {
    (void)state;
    struct fixture f = set_up("cpu:1 gpu:1");
    uint32_t gpu = class_of(&f.system, SY_GPU);
    f.system.classes[gpu].name = "stranger";
    struct sy_plan_problem problem = problem_of(&f, 0, NULL);
    uint32_t shape = shape_of(&problem, gpu, 1);
    for (uint32_t k = 0; k < 3; k++) {
        assert_true(isinf(problem.time_ns[k * 2 + shape]));
    }
    tear_down(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),       cmocka_unit_test(test_links),
        cmocka_unit_test(test_large),         cmocka_unit_test(test_problem),
        cmocka_unit_test(test_busy_and_slow), cmocka_unit_test(test_guesses),
        cmocka_unit_test(test_runs),          cmocka_unit_test(test_unknown_class),
    };
    return cmocka_run_group_tests_name("planner system", tests, NULL, NULL);
}
