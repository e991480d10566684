/* SPDX-License-Identifier: Apache-2.0
 *
 * The native format: what it says, that it comes back the same, and each way it can be wrong.
 */
#include "check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAD                                                                                       \
    "{\"schema\": \"symph-graph-1\", \"name\": \"g\",\n"                                           \
    "\"kernels\": [{\"name\": \"k\", \"variants\": {\"cpu\": {\"ns_per_work\": 2}}}],\n"           \
    "\"data\": [{\"name\": \"A\", \"bytes\": 8}, {\"bytes\": 16}],\n"                              \
    "\"tasks\": [\n"

static void test_whole(void **state) {
    (void)state;
    struct sy_graph_list list = check_read(
        "{\"schema\": \"symph-graph-1\", \"name\": \"demo\", \"dependencies\": \"sequential\",\n"
        " \"kernels\": [{\"name\": \"k\", \"interference\": \"PairHMM\", \"part_max\": 16,\n"
        "   \"part_ns\": 2e4, \"variants\": {\n"
        "   \"cpu\": {\"fixed_ns\": 1, \"ns_per_work\": 2, \"log_sigma\": 0.1,\n"
        "            \"demand_bytes_per_s\": 3e9, \"watts\": 20},\n"
        "   \"fpga\": {\"link_demand_bytes_per_s\": 1e9, \"image_bytes\": 4e6}}}],\n"
        " \"data\": [{\"name\": \"A\", \"bytes\": 8}],\n"
        " \"tasks\": [\n"
        "   {\"name\": \"one\", \"kernel\": \"k\", \"work\": 10, \"writes\": [\"A\"]},\n"
        "   {\"kernel\": 0, \"reads\": [0], \"time_ns\": {\"cpu\": 7, \"fpga\": null}},\n"
        "   {\"kernel\": 0, \"after\": [\"one\", 1]}]}\n",
        NULL);
    assert_int_equal(list.count, 1);
    const struct sy_graph *graph = list.graphs[0];
    assert_string_equal(graph->name, "demo");
    assert_false(graph->is_explicit);
    const struct sy_kernel *kernel = &graph->kernels[0];
    assert_string_equal(kernel->interference, "PairHMM");
    assert_int_equal(kernel->part_max, 16);
    assert_true(kernel->part_ns == 2e4);
    assert_true(kernel->variants[SY_CPU].log_sigma == 0.1);
    assert_true(kernel->variants[SY_CPU].demand_bytes_per_s == 3e9);
    assert_true(kernel->variants[SY_CPU].watts == 20);
    assert_true(kernel->variants[SY_FPGA].present);
    assert_true(kernel->variants[SY_FPGA].link_demand_bytes_per_s == 1e9);
    assert_true(kernel->variants[SY_FPGA].image_bytes == 4e6);
    assert_false(kernel->variants[SY_GPU].present);
    assert_true(sy_graph_time_ns(graph, 0, SY_CPU) == 21);
    assert_true(sy_graph_time_ns(graph, 1, SY_CPU) == 7);
    assert_true(sy_graph_time_ns(graph, 1, SY_FPGA) == INFINITY);
    assert_true(sy_graph_time_ns(graph, 2, SY_CPU) == 3); /* work is 1 unless said */
    assert_int_equal(graph->edge_count, 3);
    assert_int_equal(graph->access_producer[1], 0);
    sy_graph_list_finish(&list);
}

static void test_forward_references(void **state) {
    (void)state;
    struct sy_graph_list list =
        check_read(HEAD "{\"kernel\": 0, \"after\": [\"last\", 1]},\n"
                        "{\"kernel\": 0}, {\"kernel\": 0, \"name\": \"last\"}]}",
                   NULL);
    const struct sy_graph *graph = list.graphs[0];
    assert_int_equal(graph->edge_count, 2);
    assert_true(check_has_edge(graph, 2, 0));
    assert_true(check_has_edge(graph, 1, 0));
    sy_graph_list_finish(&list);
}

static void test_array_of_graphs(void **state) {
    (void)state;
    struct sy_graph_list list =
        check_read("[" HEAD "{\"name\": \"t\", \"kernel\": 0, \"after\": []}]},\n" HEAD
                   "{\"name\": \"t\", \"kernel\": 0}, {\"kernel\": \"k\", \"after\": [\"t\"]}]}]",
                   NULL);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.graphs[1]->task_count, 2);
    sy_graph_list_finish(&list);
    list = check_read("[]", NULL);
    assert_int_equal(list.count, 0);
    sy_graph_list_finish(&list);
}

static void round_trip(const struct sy_graph *graph) {
    struct sy_buffer text = {0}, again = {0};
    sy_graph_write_json(graph, &text);
    assert_false(text.failed);
    struct sy_graph_list list = check_read(text.text, NULL);
    assert_int_equal(list.count, 1);
    check_same(graph, list.graphs[0]);
    sy_graph_write_json(list.graphs[0], &again);
    assert_string_equal(text.text, again.text);
    sy_graph_list_finish(&list);
    sy_buffer_finish(&text);
    sy_buffer_finish(&again);
}

static void test_generators_round_trip(void **state) {
    (void)state;
    const char *help;
    for (uint32_t i = 0; sy_graph_generator_at(i, &help); i++) {
        struct sy_graph *graph = check_generate(sy_graph_generator_at(i, &help));
        round_trip(graph);
        sy_graph_destroy(graph);
    }
}

/* Odd names, every order of accesses, overrides, extra edges, both kinds of dependencies. */
static void test_random_round_trip(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 2, 0);
        struct sy_graph *graph = sy_graph_create("na\"me \\ \n \xc3\xa9", seed % 2);
        sy_kernel_id kernel = check_kernel(graph, "kern\tel");
        sy_data_id datum;
        sy_task_id task;
        for (uint32_t d = 0; d < 5; d++) {
            double bytes = sy_rng_uniform(&rng) * 1e9;
            assert_int_equal(sy_graph_add_data(graph, d == 2 ? "A/1" : NULL, bytes, &datum), 0);
        }
        for (uint32_t t = 0; t < 20; t++) {
            struct sy_access accesses[4];
            double times[SY_KIND_COUNT] = {sy_rng_uniform(&rng), NAN, INFINITY, 0};
            char name[16];
            uint32_t count = sy_rng_below(&rng, 5);
            for (uint32_t a = 0; a < count; a++) {
                accesses[a] = (struct sy_access){sy_rng_below(&rng, 5), 1 + sy_rng_below(&rng, 3)};
            }
            snprintf(name, sizeof name, "t\"%u", t);
            struct sy_task_desc desc = {.name = t % 3 ? name : NULL,
                                        .kernel = kernel,
                                        .work = sy_rng_uniform(&rng) / 3,
                                        .time_ns = t % 4 == 1 ? times : NULL,
                                        .accesses = accesses,
                                        .access_count = count};
            assert_int_equal(sy_graph_add_task(graph, &desc, &task), 0);
            if (t && sy_rng_below(&rng, 2)) {
                sy_task_id from = {sy_rng_below(&rng, t)};
                assert_int_equal(sy_graph_add_edge(graph, from, task), 0);
            }
        }
        struct sy_error error;
        assert_int_equal(sy_graph_seal(graph, &error), 0);
        round_trip(graph);
        sy_graph_destroy(graph);
    }
}

struct wrong {
    const char *text;
    uint32_t line, column;
    const char *message, *hint;
};

static void check_all(const struct wrong *cases, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        check_refused(cases[i].text, cases[i].line, cases[i].column, cases[i].message,
                      cases[i].hint);
    }
}

static void test_wrong_graphs(void **state) {
    (void)state;
    static const struct wrong cases[] = {
        {"{}", 1, 1, "a graph lacks \"tasks\"", NULL},
        {"{\"schema\": \"symph-graph-1\"}", 1, 1, "a graph lacks \"tasks\"", NULL},
        {"{\"schema\": \"symph-graph-9\"}", 1, 12, "\"symph-graph-9\" is not a graph",
         "symph-graph-1"},
        {"{\"tasks\": []}", 1, 2, "begins with its schema", "first"},
        {"{\"schema\": \"symph-graph-1\", \"task\": []}", 1, 29, "no member \"task\"",
         "did you mean 'tasks'?"},
        {"{\"schema\": \"symph-graph-1\", \"schema\": 1}", 1, 29, "\"schema\" appears twice", NULL},
        {"{\"schema\": \"symph-graph-1\", \"dependencies\": \"implied\"}", 1, 45,
         "\"implied\" is not a kind of dependencies", "sequential, explicit"},
        {"{\"schema\": \"symph-graph-1\", \"tasks\": [], \"data\": []}", 1, 42, "comes too late",
         "order is"},
        {"{\"schema\": \"symph-graph-1\", \"tasks\": [], \"name\": \"x\"}", 1, 42, "too late",
         NULL},
        {"{\"schema\": \"symph-graph-1\",\n \"tasks\": [\n", 3, 1, "the text ends here", NULL},
        {"{\"schema\": \"symph-graph-1\", \"tasks\": []} x", 1, 42, "end of the text", NULL},
        {"[[]]", 1, 2, "expected an object", NULL},
        {"{\"schema\": \"symph-graph-1\", \"kernels\": [{}]}", 1, 41, "a kernel lacks \"name\"",
         NULL},
        {"{\"schema\": \"symph-graph-1\", \"kernels\": [{\"name\": \"\"}]}", 1, 50,
         "may not be empty", NULL},
        {"{\"schema\": \"symph-graph-1\", \"kernels\": [{\"name\": \"a\"}, {\"name\": \"a\"}]}", 1,
         56, "kernel \"a\" is described twice", NULL},
        {"{\"schema\": \"symph-graph-1\", \"kernels\": [{\"name\": \"a\",\n \"variants\": "
         "{\"tpu\": {}}}]}",
         2, 15, "no member \"tpu\"", "did you mean"},
        {"{\"schema\": \"symph-graph-1\", \"kernels\": [{\"name\": \"a\",\n \"variants\": "
         "{\"cpu\": {\"fixed_ns\": -1}}}]}",
         2, 35, "fixed_ns is -1, outside", NULL},
        {"{\"schema\": \"symph-graph-1\", \"data\": [{\"name\": \"a\"}]}", 1, 38,
         "a datum lacks \"bytes\"", NULL},
        {"{\"schema\": \"symph-graph-1\", \"data\": [{\"bytes\": NaN}]}", 1, 48, "expected a value",
         NULL},
        {"{\"schema\": \"symph-graph-1\", \"data\": [{\"bytes\": 1e999}]}", 1, 48,
         "not a number that fits", NULL},
        {"{\"schema\": \"symph-graph-1\", \"data\": [{\"bytes\": -1}]}", 1, 48, "bytes is -1",
         NULL},
        {"{\"schema\": \"symph-graph-1\", \"data\": [{\"name\": \"a\", \"bytes\": 1},\n{\"name\": "
         "\"a\", \"bytes\": 1}]}",
         2, 1, "datum \"a\" is described twice", NULL},
    };
    check_all(cases, SY_COUNT(cases));
}

static void test_wrong_tasks(void **state) {
    (void)state;
    static const struct wrong cases[] = {
        {HEAD "{}]}", 5, 1, "a task lacks \"kernel\"", NULL},
        {HEAD "{\"kernel\": \"q\"}]}", 5, 12, "no kernel \"q\"", "before the tasks"},
        {HEAD "{\"kernel\": 1}]}", 5, 12, "no kernel 1: there are 1", NULL},
        {HEAD "{\"kernel\": 0.5}]}", 5, 12, "no kernel 0.5", NULL},
        {HEAD "{\"kernel\": 0, \"work\": -2}]}", 5, 23, "work is -2", NULL},
        {HEAD "{\"kernel\": 0, \"wrok\": 2}]}", 5, 15, "no member \"wrok\"",
         "did you mean 'work'?"},
        {HEAD "{\"kernel\": 0, \"reads\": [\"B\"]}]}", 5, 25, "no datum \"B\"", NULL},
        {HEAD "{\"kernel\": 0, \"reads\": [2]}]}", 5, 25, "no datum 2: there are 2", NULL},
        {HEAD "{\"kernel\": 0, \"reads\": 2}]}", 5, 24, "expected an array", NULL},
        {HEAD "{\"kernel\": 0, \"accesses\": [[\"rd\", 0]]}]}", 5, 29, "\"rd\" is not a mode",
         "read, write, update"},
        {HEAD "{\"kernel\": 0, \"accesses\": [[\"read\", 0, 1]]}]}", 5, 37,
         "expected [mode, datum]", NULL},
        {HEAD "{\"kernel\": 0, \"accesses\": [[]]}]}", 5, 28, "expected [mode, datum]", NULL},
        {HEAD "{\"kernel\": 0, \"accesses\": [[\"read\"]]}]}", 5, 29, "expected [mode, datum]",
         NULL},
        {HEAD "{\"kernel\": 0, \"after\": [\"x\"]}]}", 5, 25, "no task \"x\"", NULL},
        {HEAD "{\"kernel\": 0, \"after\": [1]}]}", 5, 25, "no task 1: there are 1", NULL},
        {HEAD "{\"kernel\": 0, \"after\": [1000000000]}]}", 5, 25, "no task 1e+09", NULL},
        {HEAD "{\"kernel\": 0, \"time_ns\": {\"cpu\": -1}}]}", 5, 34, "time_ns is -1", NULL},
        {HEAD "{\"kernel\": 0, \"name\": \"a\"},\n{\"kernel\": 0, \"name\": \"a\"}]}", 6, 1,
         "task \"a\" is described twice", NULL},
        {HEAD "{\"kernel\": 0, \"name\": \"a\", \"after\": [\"a\"]}]}", 5, 1, "cycle: a -> a",
         NULL},
        {HEAD "{\"kernel\": 0, \"name\": \"x\"},\n  {\"kernel\": 0, \"name\": \"a\", \"after\": "
              "[\"c\"]},\n{\"kernel\": 0, \"name\": \"b\", \"after\": [\"a\"]},\n{\"kernel\": 0, "
              "\"name\": \"c\", \"after\": [\"b\"]}]}",
         6, 3, "cycle: a -> b -> c -> a", NULL},
    };
    check_all(cases, SY_COUNT(cases));
}

static void test_deep_nesting(void **state) {
    (void)state;
    size_t depth = 200000;
    char *text = malloc(depth + 64);
    size_t length = (size_t)snprintf(text, 64, "{\"schema\": \"symph-graph-1\", \"tasks\": ");
    memset(text + length, '[', depth);
    text[length + depth] = '\0';
    check_refused(text, 1, (uint32_t)length + 2, "expected an object", NULL);
    memset(text, '[', depth);
    text[depth] = '\0';
    check_refused(text, 1, 2, "expected an object", NULL);
    /* As a member that is skipped while the format is told. */
    length = (size_t)snprintf(text, 64, "{\"x\": ");
    memset(text + length, '[', depth);
    text[length + depth] = '\0';
    check_refused(text, 1, 2, "no member \"x\"", NULL);
    free(text);
}

static void test_truncation(void **state) {
    (void)state;
    struct sy_graph *graph = check_generate("cholesky:3");
    struct sy_buffer text = {0};
    sy_graph_write_json(graph, &text);
    for (size_t length = 0; length + 2 < text.length; length++) {
        struct sy_error error = {0};
        struct sy_graph_list list = {0};
        assert_int_not_equal(sy_graph_read_text("t", text.text, length, NULL, &list, &error), 0);
        assert_true(error.line > 0 && error.column > 0 && error.message[0]);
    }
    sy_buffer_finish(&text);
    sy_graph_destroy(graph);
}

/* A program may name its tasks as it likes: what is written can be read all the same. */
static void test_names_that_come_twice(void **state) {
    (void)state;
    struct sy_graph *graph = sy_graph_create("g", false);
    sy_kernel_id kernel = check_kernel(graph, "k");
    sy_data_id datum;
    sy_task_id task;
    struct sy_error error = {0};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sy_graph_add_data(graph, "same", 8, &datum), 0);
        struct sy_access access = {datum.index, SY_WRITE};
        struct sy_task_desc desc = {.name = i ? "same" : "other",
                                    .kernel = kernel,
                                    .work = 1,
                                    .accesses = &access,
                                    .access_count = 1};
        assert_int_equal(sy_graph_add_task(graph, &desc, &task), 0);
    }
    assert_int_equal(sy_graph_seal(graph, &error), 0);
    struct sy_buffer text = {0};
    sy_graph_write_json(graph, &text);
    assert_false(text.failed);
    struct sy_graph_list list = check_read(text.text, NULL);
    assert_int_equal(list.graphs[0]->task_count, 3);
    assert_string_equal(list.graphs[0]->tasks[0].name, "other");
    assert_string_equal(list.graphs[0]->tasks[1].name, "same");
    assert_null(list.graphs[0]->tasks[2].name);
    assert_int_equal(list.graphs[0]->accesses[2].datum, 2);
    sy_graph_list_finish(&list);
    sy_buffer_finish(&text);
    sy_graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_forward_references),
        cmocka_unit_test(test_array_of_graphs),
        cmocka_unit_test(test_generators_round_trip),
        cmocka_unit_test(test_random_round_trip),
        cmocka_unit_test(test_wrong_graphs),
        cmocka_unit_test(test_wrong_tasks),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_names_that_come_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
