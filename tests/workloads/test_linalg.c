/* SPDX-License-Identifier: Apache-2.0
 *
 * linalg.so on the CPU: right results, wrong ones noticed, bad arguments refused. Argument
 * "opencl" or "cuda": the same with some or all tasks on such a device.
 */
#include "harness.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct sy_kernel_table *table;
static struct device device;

static const char *const names[] = {"cholesky", "lu", "qr", "gemm"};
enum { NAMES = 4 };

static void run_is_right(const char *workload, const char *arguments) {
    struct job job;
    open_job(table, workload, arguments, &job);
    run_job(&job, NULL, 0);
    double found = judge(&job);
    if (!(found <= 1)) {
        fail_msg("%s:%s is wrong: %g tolerances", workload, arguments, found);
    }
    close_job(&job);
}

static void every_workload_is_right(void **state) {
    (void)state;
    /* One tile, one element, odd sides, sides around the panels' widths, both ways to check. */
    static const char *const sizes[] = {"n=1,tile=1",
                                        "n=4,tile=1",
                                        "n=64,tile=64",
                                        "n=99,tile=33",
                                        "n=260,tile=65",
                                        "n=512,tile=128,seed=7",
                                        "n=90,tile=30,check=vectors",
                                        "n=520,tile=130,seed=3,check=vectors"};
    for (uint32_t w = 0; w < NAMES; w++) {
        for (uint32_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            run_is_right(names[w], sizes[s]);
        }
    }
}

/* Products in parts of 4 or 5 columns, of 0 or 1, and beside kernels that cannot be split. */
static void parts_make_the_whole(const struct device *there) {
    static const struct {
        const char *workload, *arguments;
        uint32_t parts;
    } cases[] = {{"gemm", "n=99,tile=33", 7},
                 {"gemm", "n=6,tile=3", 5},
                 {"cholesky", "n=260,tile=65", 3},
                 {"lu", "n=99,tile=33", 33}};
    for (uint32_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        struct job job;
        open_job(table, cases[at].workload, cases[at].arguments, &job);
        job.parts = cases[at].parts;
        run_job(&job, there, there != NULL);
        assert_true(judge(&job) <= 1);
        close_job(&job);
    }
}

static void parts_on_cpu(void **state) {
    (void)state;
    parts_make_the_whole(NULL);
}

static void parts_on_device(void **state) {
    (void)state;
    parts_make_the_whole(&device);
}

/* Any element that the check covers, changed a little, is noticed by both ways to check. */
static void corruption_is_noticed(void **state) {
    (void)state;
    static const char *const sizes[] = {"n=96,tile=32,check=lapack", "n=96,tile=32,check=vectors"};
    for (uint32_t at = 0; at < NAMES * 2; at++) {
        struct job job;
        open_job(table, names[at / 2], sizes[at % 2], &job);
        run_job(&job, NULL, 0);
        assert_true(judge(&job) <= 1);
        uint32_t datum = at / 2 == 3 ? job.graph->data_count - 1 : 0;
        double *tile = job.data[datum], kept = tile[0];
        tile[0] *= 1 + 1e-5;
        assert_true(judge(&job) > 1);
        tile[0] = NAN;
        assert_true(judge(&job) > 1);
        tile[0] = kept;
        assert_true(judge(&job) <= 1);
        close_job(&job);
    }
}

static void seeds_matter_and_repeat(void **state) {
    (void)state;
    struct job job[3];
    open_job(table, "cholesky", "n=64,tile=32,seed=1", &job[0]);
    open_job(table, "cholesky", "n=64,tile=32,seed=1", &job[1]);
    open_job(table, "cholesky", "n=64,tile=32,seed=2", &job[2]);
    assert_memory_equal(job[0].data[1], job[1].data[1], 32 * 32 * 8);
    assert_memory_not_equal(job[0].data[1], job[2].data[1], 32 * 32 * 8);
    for (uint32_t at = 0; at < 3; at++) {
        close_job(&job[at]);
    }
}

static void bad_arguments(void **state) {
    (void)state;
    static const struct {
        const char *arguments, *message, *hint;
    } cases[] = {
        {"n=100,tile=32", "n=100 is not a multiple of tile=32", "n=96 or n=128"},
        {"n=10,tile=32", "n=10 is not a multiple of tile=32", "n=32, or tile=10"},
        {"n=0", "out of range", "whole number"},
        {"n=1e9", "out of range", "1000000"},
        {"n=12.5", "out of range", "whole number"},
        {"n=nan", "not a number", ""},
        {"n=", "not a number", ""},
        {"n=4x", "n=4x is not a number", ""},
        {"size=4", "no argument 'size'", "n=, tile=, seed="},
        {"4096", "no argument '4096'", "n=, tile=, seed="},
        {"n=100000,tile=10", "too many", "tile="},
        {"check=never", "'never' is unknown", "auto lapack vectors"},
    };
    for (uint32_t w = 0; w < NAMES; w++) {
        for (uint32_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
            struct sy_error error = {0};
            struct sy_graph *graph = NULL;
            void *made = NULL;
            assert_true(table->workloads[w].build(cases[at].arguments, &graph, &made, &error) < 0);
            assert_null(graph);
            assert_null(made);
            if (!strstr(error.message, cases[at].message) || !strstr(error.hint, cases[at].hint)) {
                fail_msg("%s: '%s' ('%s')", cases[at].arguments, error.message, error.hint);
            }
            assert_non_null(strstr(error.message, names[w]));
        }
    }
}

/* Any text is either refused with a message or builds; n and tile stay small. */
static void any_text(void **state) {
    (void)state;
    const char *given = getenv("SYMPH_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 20240229;
    printf("# SYMPH_SEED=%llu\n", (unsigned long long)seed);
    static const char letters[] = "seed=check=,,0123456789.-+x \xff:auoml";
    for (uint32_t round = 0; round < 20000; round++) {
        char text[64] = "n=64,tile=32,";
        size_t length = strlen(text);
        while (length < 60 && (seed >> 33) % 16 != 0) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            text[length++] = letters[(seed >> 40) % (sizeof(letters) - 1)];
        }
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        struct sy_error error = {0};
        struct sy_graph *graph = NULL;
        void *made = NULL;
        if (table->workloads[round % NAMES].build(text, &graph, &made, &error)) {
            assert_true(strlen(error.message) > 0 && !graph && !made);
        } else {
            sy_graph_destroy(graph);
            table->workloads[round % NAMES].destroy(made);
        }
    }
}

static int call_with(const char *kernel, uint64_t first, uint64_t second, double *data,
                     char *message) {
    struct sy_argument arguments[] = {{data, first, SY_READ_WRITE}, {data, second, SY_READ_WRITE}};
    const struct sy_kernel_entry *entry = find_kernel(table, kernel);
    struct sy_call call = {
        .arguments = arguments, .argument_count = entry->argument_count, .message = message};
    return run_call(entry, &call, NULL);
}

static void bad_tiles(void **state) {
    (void)state;
    double data[64] = {0};
    char message[SY_CALL_MESSAGE_MAX] = "";
    assert_int_equal(call_with("potrf", 8 * 5, 0, data, message), -EINVAL);
    assert_non_null(strstr(message, "square tile"));
    assert_int_equal(call_with("potrf", 0, 0, data, message), -EINVAL);
    assert_int_equal(call_with("trsm", 8 * 16, 8 * 9, data, message), -EINVAL);
    assert_non_null(strstr(message, "argument 1"));
    data[0] = -1;
    assert_int_equal(call_with("potrf", 8 * 4, 0, data, message), -EDOM);
    assert_non_null(strstr(message, "not positive definite"));
    memset(data, 0, sizeof(data));
    assert_int_equal(call_with("getrf", 8 * 4, 0, data, message), -EDOM);
    assert_non_null(strstr(message, "pivot 1 of 2"));
}

static void features_follow_the_tile(void **state) {
    (void)state;
    struct sy_argument tiles[3] = {{NULL, 8 * 64 * 64, SY_READ},
                                   {NULL, 8 * 64 * 64, SY_READ},
                                   {NULL, 8 * 64 * 64, SY_READ_WRITE}};
    const struct sy_kernel_entry *gemm = find_kernel(table, "gemm");
    struct sy_call call = {.entry = gemm, .arguments = tiles, .argument_count = 3};
    struct sy_cost_features features = {0, 0};
    gemm->features(&call, &features);
    assert_true(features.flops == 2.0 * 64 * 64 * 64);
    assert_true(features.bytes == 3.0 * 8 * 64 * 64);
}

/* A generator's graph binds where its kernels have the same names: QR even on data of no meaning.
 */
static void generated_graphs_bind(void **state) {
    (void)state;
    static const char *const specs[] = {"cholesky:3,tile=8", "lu:3,tile=8", "qr:3,tile=8"};
    for (uint32_t at = 0; at < 3; at++) {
        struct sy_graph *graph = NULL;
        struct sy_error error = {0};
        struct job job;
        assert_int_equal(sy_graph_generate(specs[at], &graph, &error), 0);
        for (uint32_t k = 0; k < graph->kernel_count; k++) {
            assert_non_null(find_kernel(table, graph->kernels[k].name));
        }
        open_graph(table, graph, &job);
        if (at == 2) { /* zeros: no reflector has a length, no row may become NaN */
            run_job(&job, NULL, 0);
            for (uint32_t d = 0; d < graph->data_count; d++) {
                assert_true(isfinite(((double *)job.data[d])[7]));
            }
        }
        close_job(&job);
    }
}

/* --- devices -----------------------------------------------------------------------------------
 */

static void device_is_right(const char *arguments, uint32_t every) {
    for (uint32_t w = 0; w < NAMES; w++) {
        struct job job;
        open_job(table, names[w], arguments, &job);
        uint32_t there = run_job(&job, &device, every);
        double found = judge(&job);
        if (!(found <= 1) || there == 0) {
            fail_msg("%s:%s, every %u: %u tasks there, %g tolerances", names[w], arguments, every,
                     there, found);
        }
        close_job(&job);
    }
}

static void every_workload_on_device(void **state) {
    (void)state;
    device_is_right("n=128,tile=64", 1);
    device_is_right("n=99,tile=33", 1);
    device_is_right("n=390,tile=130", 1);
    device_is_right("n=6,tile=2", 1);
}

static void flavours_mix(void **state) {
    (void)state;
    device_is_right("n=260,tile=65", 2);
    device_is_right("n=384,tile=96,seed=5", 3);
}

/* One call on both: the same numbers to the last digits. */
static void flavours_agree(void **state) {
    (void)state;
    enum { SIDE = 70, BYTES = SIDE * SIDE * 8 };
    for (uint32_t k = 0; k < table->kernel_count; k++) {
        const struct sy_kernel_entry *entry = &table->kernels[k];
        /* Factors of a tile may differ in signs: the workloads judge those. */
        if (!entry->functions[device.flavour] || strstr("potrf getrf geqrt tsqrt", entry->name)) {
            continue;
        }
        double *tiles[2][3];
        for (uint32_t f = 0; f < 2; f++) {
            struct sy_argument arguments[3];
            char message[SY_CALL_MESSAGE_MAX] = "";
            for (uint32_t a = 0; a < entry->argument_count; a++) {
                tiles[f][a] = malloc(BYTES);
                for (uint32_t i = 0; i < SIDE * SIDE; i++) {
                    bool above = i % SIDE < i / SIDE; /* where ormqr's reflectors have zeros */
                    if (a == 0 && above && strcmp(entry->name, "ormqr") == 0) {
                        tiles[f][a][i] = 0;
                        continue;
                    }
                    tiles[f][a][i] = sin(i * (a + 1)) + (i % (SIDE + 1) == 0 ? SIDE : 0);
                }
                arguments[a] = (struct sy_argument){tiles[f][a], BYTES, entry->modes[a]};
            }
            struct sy_call call = {.arguments = arguments,
                                   .argument_count = entry->argument_count,
                                   .message = message};
            assert_int_equal(run_call(entry, &call, f ? &device : NULL), 0);
        }
        double norm = 0, differ = 0;
        for (uint32_t a = 0; a < entry->argument_count; a++) {
            for (uint32_t i = 0; i < SIDE * SIDE; i++) {
                norm = fmax(norm, fabs(tiles[0][a][i]));
                differ = fmax(differ, fabs(tiles[0][a][i] - tiles[1][a][i]));
            }
            free(tiles[0][a]);
            free(tiles[1][a]);
        }
        if (!(differ <= 1e-12 * norm)) {
            fail_msg("%s differs by %g of %g", entry->name, differ, norm);
        }
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest on_cpu[] = {
        cmocka_unit_test(every_workload_is_right),
        cmocka_unit_test(parts_on_cpu),
        cmocka_unit_test(corruption_is_noticed),
        cmocka_unit_test(seeds_matter_and_repeat),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(bad_tiles),
        cmocka_unit_test(features_follow_the_tile),
        cmocka_unit_test(generated_graphs_bind),
        cmocka_unit_test(any_text),
    };
    const struct CMUnitTest on_device[] = {
        cmocka_unit_test(every_workload_on_device),
        cmocka_unit_test(parts_on_device),
        cmocka_unit_test(flavours_mix),
        cmocka_unit_test(flavours_agree),
    };
    bool there = argc > 1 && strcmp(argv[1], "c") != 0;
    table = open_plugin("linalg");
    if (!table || (there && !open_device(argv[1], &device))) {
        return 77;
    }
    int failed = there ? cmocka_run_group_tests(on_device, NULL, NULL)
                       : cmocka_run_group_tests(on_cpu, NULL, NULL);
    if (there) {
        close_device(&device);
    }
    return failed;
}
