/* SPDX-License-Identifier: Apache-2.0
 *
 * synthetic.so: every kind and shape runs and leaves the traces it should; lost or repeated tasks
 * are noticed; bad arguments are refused. Argument "opencl" or "cuda": the same on such a device.
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
static const struct device *there; /* NULL: on the CPU */

#define SMALL "bytes=4096,flops=1e5,passes=3,link=1e5,ns=2e4"

static void kinds_and_shapes(void **state) {
    (void)state;
    static const char *const kinds[] = {"spin",    "stream",      "transfer",
                                        "emulate", "spin+stream", "stream+transfer+emulate+spin"};
    static const char *const shapes[] = {"independent", "chains", "forkjoin"};
    for (uint32_t at = 0; at < 18; at++) {
        for (uint32_t every = 1; every <= (there ? 3 : 1); every += 2) {
            char arguments[200];
            struct job job;
            snprintf(arguments, sizeof(arguments), "tasks=23,width=4,kind=%s,shape=%s," SMALL,
                     kinds[at / 3], shapes[at % 3]);
            open_job(table, "contend", arguments, &job);
            assert_int_equal(job.graph->task_count, 23);
            job.parts = at % 2 ? 3 : 0;
            run_job(&job, there, every);
            if (!(judge(&job) <= 1)) {
                fail_msg("%s is wrong", arguments);
            }
            close_job(&job);
        }
    }
}

static void shapes_have_their_edges(void **state) {
    (void)state;
    static const struct {
        const char *shape;
        uint32_t edges;
    } cases[] = {
        {"independent", 0},
        {"chains", 9}, /* 3 chains of 4 */
        /* three rounds: 3 into each join; then 3 out of it; each branch also follows itself. */
        {"forkjoin", 3 * 3 + 2 * 3},
    };
    for (uint32_t at = 0; at < 3; at++) {
        char arguments[120];
        struct job job;
        snprintf(arguments, sizeof(arguments), "tasks=12,width=3,shape=%s," SMALL, cases[at].shape);
        open_job(table, "contend", arguments, &job);
        assert_true(job.graph->edge_count >= cases[at].edges);
        assert_true((job.graph->edge_count == 0) == (cases[at].edges == 0));
        close_job(&job);
    }
}

static void lost_and_repeated_tasks_are_noticed(void **state) {
    (void)state;
    for (uint32_t at = 0; at < 4; at++) {
        static const char *const kinds[] = {"spin", "stream", "transfer", "emulate"};
        char arguments[160];
        struct job job;
        snprintf(arguments, sizeof(arguments), "tasks=5,kind=%s," SMALL, kinds[at]);
        open_job(table, "contend", arguments, &job);
        assert_true(judge(&job) > 1); /* nothing ran yet */
        run_job(&job, there, 1);
        assert_true(judge(&job) <= 1);
        double *data = job.data[4];
        data[511] += 1;
        assert_true(judge(&job) > 1);
        data[511] = NAN;
        assert_true(judge(&job) > 1);
        close_job(&job);
    }
}

/* Data of others: no doubles in them, or only written. */
static void foreign_data(void **state) {
    (void)state;
    for (uint32_t k = 0; k < table->kernel_count; k++) {
        double fresh[2] = {NAN, NAN};
        char few[3] = {1, 2, 3}, message[SY_CALL_MESSAGE_MAX] = "";
        struct sy_argument arguments[] = {{fresh, sizeof(fresh), SY_WRITE},
                                          {few, sizeof(few), SY_READ_WRITE}};
        struct sy_call call = {
            .arguments = arguments, .argument_count = 2, .work = 2, .message = message};
        assert_int_equal(run_call(&table->kernels[k], &call, there), 0);
        bool is_stream = strcmp(table->kernels[k].name, "stream") == 0;
        assert_true(fresh[0] == (is_stream ? 2 : 1));
        assert_true(few[0] == 1 && few[2] == 3);
        call.argument_count = 0;
        assert_int_equal(run_call(&table->kernels[k], &call, there), 0);
    }
}

static void features(void **state) {
    (void)state;
    struct sy_argument arguments[] = {{NULL, 800, SY_READ}, {NULL, 200, SY_READ_WRITE}};
    struct sy_call call = {.arguments = arguments, .argument_count = 2, .work = 5};
    struct sy_cost_features found = {0, 0};
    find_kernel(table, "stream")->features(&call, &found);
    assert_true(found.bytes == 5000);
    find_kernel(table, "transfer")->features(&call, &found);
    assert_true(found.bytes == 5);
    assert_non_null(strstr(find_kernel(table, "emulate")->summary, "emulation"));
}

static void bad_arguments(void **state) {
    (void)state;
    static const struct {
        const char *arguments, *message, *hint;
    } cases[] = {
        {"tasks=0", "out of range", "whole number"},
        {"kind=spun", "'spun' is unknown", "spin stream transfer emulate"},
        {"kind=spin+", "'' is unknown", "joined by +"},
        {"kind=", "'' is unknown", "spin"},
        {"shape=chains+forkjoin", "is unknown", "independent"},
        {"bytes=13", "not a multiple of 8", "bytes=8 or bytes=16"},
        {"shape=forkjoin,width=16", "too many arguments", "width=15"},
        {"speed=3", "no argument 'speed'", "tasks="},
    };
    for (uint32_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        struct sy_error error = {0};
        struct sy_graph *graph = NULL;
        void *made = NULL;
        assert_true(table->workloads[0].build(cases[at].arguments, &graph, &made, &error) < 0);
        assert_null(graph);
        if (!strstr(error.message, cases[at].message) || !strstr(error.hint, cases[at].hint)) {
            fail_msg("%s: '%s' ('%s')", cases[at].arguments, error.message, error.hint);
        }
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_and_shapes), cmocka_unit_test(lost_and_repeated_tasks_are_noticed),
        cmocka_unit_test(foreign_data),     cmocka_unit_test(shapes_have_their_edges),
        cmocka_unit_test(features),         cmocka_unit_test(bad_arguments),
    };
    table = open_plugin("synthetic");
    if (!table) {
        return 77;
    }
    if (argc > 1 && strcmp(argv[1], "c") != 0) {
        if (!open_device(argv[1], &device)) {
            return 77;
        }
        there = &device;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (there) {
        close_device(&device);
    }
    return failed;
}
