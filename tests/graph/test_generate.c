/* SPDX-License-Identifier: Apache-2.0
 *
 * Generators: how many tasks and edges, which kernels, what is refused, and repeatability.
 */
#include "check.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void check_count(const char *spec, uint32_t tasks) {
    struct sy_graph *graph = check_generate(spec);
    if (graph->task_count != tasks) {
        fail_msg("%s: %u tasks, not %u", spec, graph->task_count, tasks);
    }
    assert_string_equal(graph->name, spec);
    sy_graph_destroy(graph);
}

static void test_factorizations(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 12; n++) {
        char spec[32];
        uint32_t squares = (n - 1) * n * (2 * n - 1) / 6;
        snprintf(spec, sizeof spec, "cholesky:%u", n);
        check_count(spec, n + n * (n - 1) + n * (n - 1) * (n - 2) / 6);
        snprintf(spec, sizeof spec, "lu:%u", n);
        check_count(spec, n + n * (n - 1) + squares);
        snprintf(spec, sizeof spec, "qr:%u", n);
        check_count(spec, n + n * (n - 1) + squares);
    }
}

static void test_shapes(void **state) {
    (void)state;
    check_count("fft:3", 8 * 4);
    check_count("gauss:10", (100 + 10 - 2) / 2);
    check_count("stencil:5,steps=7", 35);
    check_count("outtree:4,arity=3", 40);
    check_count("intree:4,arity=3", 40);
    check_count("intree:6,arity=1", 6);
    check_count("forkjoin:5,phases=3", 18);
    check_count("layered:4,depth=6", 24);
    check_count("layered:width=8,depth=20,seed=3", 160);
    check_count("chain:9", 9);
    check_count("chain:100000", 100000);
    check_count("independent:9", 9);
    check_count("genomics:4,regions=3", 3 * 4 + 3 * 3 + 1);
    check_count("eeg:4,groups=3", 4 * (2 * 3 + 1) + 1);
    check_count("attack:3,users=5", 3 * (2 * 5 + 2));
    check_count("gnn:3", 3 * 2 * 2);
    check_count("transformer:2,windows=3", 2 * 3 * 4);
}

static uint32_t count_of(const struct sy_graph *graph, const char *kernel) {
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        count += strcmp(graph->kernels[graph->tasks[t].kernel].name, kernel) == 0;
    }
    return count;
}

static uint32_t longest_path(const struct sy_graph *graph) {
    uint32_t *depth = test_calloc(graph->task_count, sizeof *depth), most = 0;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        uint32_t t = graph->order[i];
        depth[t]++;
        most = depth[t] > most ? depth[t] : most;
        for (uint32_t e = graph->succ_start[t]; e < graph->succ_start[t + 1]; e++) {
            uint32_t s = graph->succ[e];
            depth[s] = depth[s] > depth[t] ? depth[s] : depth[t];
        }
    }
    test_free(depth);
    return most;
}

static void test_cholesky(void **state) {
    (void)state;
    struct sy_graph *graph = check_generate("cholesky:6");
    assert_int_equal(count_of(graph, "potrf"), 6);
    assert_int_equal(count_of(graph, "trsm"), 15);
    assert_int_equal(count_of(graph, "syrk"), 15);
    assert_int_equal(count_of(graph, "gemm"), 20);
    assert_int_equal(longest_path(graph), 3 * 6 - 2); /* potrf, trsm, syrk per step */
    assert_int_equal(graph->data_count, 21);
    assert_true(graph->data_bytes[0] == 8.0 * 960 * 960);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        const char *kernel = graph->kernels[graph->tasks[t].kernel].name;
        double n = 960;
        double flops = strcmp(kernel, "gemm") == 0    ? 2 * n * n * n
                       : strcmp(kernel, "potrf") == 0 ? n * n * n / 3 + n * n / 2 + n / 6
                                                      : n * n * n + n * n;
        assert_true(graph->tasks[t].work == flops);
        assert_true(sy_graph_time_ns(graph, t, SY_CPU) > sy_graph_time_ns(graph, t, SY_GPU));
    }
    sy_graph_destroy(graph);
}

/* Each stage ends in a task that takes no time; without spread all stages take about as long. */
static void test_stages(void **state) {
    (void)state;
    for (uint32_t spread = 0; spread <= 3; spread += 3) {
        char spec[64];
        snprintf(spec, sizeof spec, "stages:40,width=9,work=100,spread=%u,seed=2", spread);
        struct sy_graph *graph = check_generate(spec);
        double least = INFINITY, most = 0;
        assert_int_equal(count_of(graph, "sync"), 40);
        assert_in_range(graph->task_count, 40 * 2, 40 * 10);
        for (uint32_t t = 0; t < graph->task_count; t++) {
            double work = graph->tasks[t].work;
            bool sync = strcmp(graph->kernels[graph->tasks[t].kernel].name, "sync") == 0;
            assert_true(sync == (work == 0));
            assert_true(!sync || sy_graph_time_ns(graph, t, SY_CPU) == 0);
            assert_true(sync || graph->succ_start[t + 1] - graph->succ_start[t] == 1);
            least = sync ? least : fmin(least, work);
            most = fmax(most, work);
        }
        assert_true(spread ? most / least > 1000 : most / least <= 1.5);
        sy_graph_destroy(graph);
    }
}

static void test_critical_paths(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        uint32_t length;
    } cases[] = {{"chain:7", 7},
                 {"independent:7", 1},
                 {"outtree:5", 5},
                 {"intree:5,arity=3", 5},
                 {"forkjoin:4,phases=3", 6},
                 {"stencil:6,steps=5", 5},
                 {"fft:4", 5},
                 {"gauss:6", 10},
                 {"layered:5,depth=9", 9},
                 {"genomics:3,regions=4", 7},
                 {"eeg:4,groups=3", 2 + 4 + 1},
                 {"attack:3,users=5", 2 + 3 + 1},
                 {"gnn:4,layers=3", 6},
                 {"transformer:3,windows=4", 12},
                 {"lu:5", 13}};
    for (uint32_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_graph *graph = check_generate(cases[i].spec);
        if (longest_path(graph) != cases[i].length) {
            fail_msg("%s: longest path %u, not %u", cases[i].spec, longest_path(graph),
                     cases[i].length);
        }
        sy_graph_destroy(graph);
    }
}

static void test_genomics_kernels(void **state) {
    (void)state;
    struct sy_graph *graph = check_generate("genomics:2,regions=2");
    bool has_fpga = false;
    for (uint32_t k = 0; k < graph->kernel_count; k++) {
        assert_string_not_equal(graph->kernels[k].interference, graph->kernels[k].name);
        assert_true(graph->kernels[k].variants[SY_CPU].demand_bytes_per_s > 0);
        has_fpga = has_fpga || graph->kernels[k].variants[SY_FPGA].present;
    }
    assert_true(has_fpga);
    assert_int_equal(count_of(graph, "pairhmm"), 2);
    sy_graph_destroy(graph);
}

/* The ratios of inference are the papers': a core, a GPU and an FPGA. */
static void test_inference_kernels(void **state) {
    (void)state;
    static const struct {
        const char *spec, *kernel;
        double ratio;
    } cases[] = {{"eeg:2", "eeg_infer", 102.1}, {"attack:2", "attack_infer", 48.4}};
    for (uint32_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_graph *graph = check_generate(cases[i].spec);
        const struct sy_variant *variants = NULL;
        for (uint32_t k = 0; k < graph->kernel_count; k++) {
            if (strcmp(graph->kernels[k].name, cases[i].kernel) == 0) {
                variants = graph->kernels[k].variants;
            }
        }
        assert_non_null(variants);
        double fpga_ns = variants[SY_FPGA].ns_per_work;
        assert_true(fabs(variants[SY_CPU].ns_per_work / fpga_ns - cases[i].ratio) < 1e-6);
        assert_true(fabs(variants[SY_GPU].ns_per_work / fpga_ns - 12.5) < 1e-6);
        sy_graph_destroy(graph);
    }
}

static void test_repeatable(void **state) {
    (void)state;
    const char *specs[] = {"layered:6,depth=9,seed=5", "forkjoin:7,seed=5",
                           "genomics:3,seed=5",        "eeg:3,seed=5",
                           "attack:3,seed=5",          "stages:4,seed=5"};
    for (uint32_t i = 0; i < SY_COUNT(specs); i++) {
        struct sy_graph *a = check_generate(specs[i]), *b = check_generate(specs[i]);
        check_same(a, b);
        char other[64];
        snprintf(other, sizeof other, "%.*s6", (int)strlen(specs[i]) - 1, specs[i]);
        struct sy_graph *c = check_generate(other);
        bool differs = a->edge_count != c->edge_count;
        for (uint32_t t = 0; t < a->task_count && t < c->task_count; t++) {
            differs = differs || a->tasks[t].work != c->tasks[t].work;
        }
        assert_true(differs);
        sy_graph_destroy(a);
        sy_graph_destroy(b);
        sy_graph_destroy(c);
    }
}

static void test_density(void **state) {
    (void)state;
    struct sy_graph *full = check_generate("layered:8,depth=5,density=1");
    struct sy_graph *thin = check_generate("layered:8,depth=5,density=0,ccr=0");
    assert_int_equal(full->edge_count, 4 * 64);
    assert_int_equal(thin->edge_count, 4 * 8); /* each task keeps one predecessor */
    assert_true(thin->data_bytes[0] == 0);
    sy_graph_destroy(full);
    sy_graph_destroy(thin);
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        uint32_t column;
        const char *message, *hint;
    } cases[] = {
        {"colesky:3", 1, "there is no generator 'colesky'", "did you mean 'cholesky'?"},
        {"", 1, "there is no generator ''", "known are cholesky, lu"},
        {"cholesky:x", 10, "not a number: 'x'", NULL},
        {"cholesky:nan", 10, "not a number", NULL},
        {"cholesky:0", 10, "tiles is 0, but must be a whole number in 1", NULL},
        {"cholesky:-3", 10, "tiles is -3", NULL},
        {"cholesky:2.5", 10, "whole number", NULL},
        {"cholesky:1000000000", 10, "tiles is 1e+09", NULL},
        {"cholesky:900", 10, "would have about", "at most"},
        {"chain:1e9", 7, "tasks is 1e+09", NULL},
        {"outtree:1000", 9, "would have about", NULL},
        {"intree:1000000,arity=1000000", 8, "would have about", NULL},
        {"layered:20000,depth=1000000", 9, "would have about", NULL},
        {"cholesky:4,tle=3", 12, "unknown parameter 'tle'", "did you mean tile?"},
        {"cholesky:4,zzzzzz=3", 12, "unknown parameter", "cholesky:TILES"},
        {"cholesky:4,5", 12, "given twice: 'tiles'", NULL},
        {"cholesky:4,tile=1,tile=2", 19, "given twice: 'tile'", NULL},
        {"cholesky:4,tile", 12, "no value for 'tile'", "write tile=960"},
        {"cholesky:4,zzzzzz", 12, "unknown parameter", "cholesky:TILES"},
        {"cholesky:4,", 12, "missing after the comma", NULL},
        {"cholesky:4,tile=", 17, "not a number", NULL},
        {"layered:4,density=1.5", 19, "density is 1.5", NULL},
    };
    for (uint32_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_error error = {0};
        struct sy_graph *graph = NULL;
        assert_int_equal(sy_graph_generate(cases[i].spec, &graph, &error), -EINVAL);
        assert_null(graph);
        if (!strstr(error.message, cases[i].message) || error.column != cases[i].column ||
            error.line != 1 || (cases[i].hint && !strstr(error.hint, cases[i].hint))) {
            fail_msg("%s: %u: %s (%s)", cases[i].spec, error.column, error.message, error.hint);
        }
    }
}

/* Each has a help line that starts with its name, and works without arguments. */
static void test_list(void **state) {
    (void)state;
    const char *name, *help = NULL;
    uint32_t count = 0;
    for (; (name = sy_graph_generator_at(count, &help)); count++) {
        assert_int_equal(strncmp(help, name, strlen(name)), 0);
        sy_graph_destroy(check_generate(name));
    }
    assert_int_equal(count, 18);
    assert_null(sy_graph_generator_at(count, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factorizations),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_cholesky),
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_critical_paths),
        cmocka_unit_test(test_genomics_kernels),
        cmocka_unit_test(test_inference_kernels),
        cmocka_unit_test(test_repeatable),
        cmocka_unit_test(test_density),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
