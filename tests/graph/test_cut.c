/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks cut into parts: how many, what each takes and accesses, and that whoever came before or
 * after the whole comes before or after the parts.
 */
#include "check.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define MS 1e6

/* Kernels: can be cut into 4 for 1 ms each; cannot. The third says nothing of times. */
static struct sy_graph *make(bool is_explicit) {
    struct sy_graph *graph = sy_graph_create("g", is_explicit);
    struct sy_kernel_desc desc = {.name = "cut", .part_max = 4, .part_ns = 1 * MS};
    sy_kernel_id kernel;
    sy_data_id datum;
    desc.variants[SY_CPU] = (struct sy_variant){.present = true, .ns_per_work = 2 * MS};
    desc.variants[SY_GPU] = (struct sy_variant){.present = true, .ns_per_work = 1 * MS};
    assert_int_equal(sy_graph_add_kernel(graph, &desc, &kernel), 0);
    desc = (struct sy_kernel_desc){.name = "whole"};
    desc.variants[SY_CPU] = (struct sy_variant){.present = true, .ns_per_work = 1 * MS};
    assert_int_equal(sy_graph_add_kernel(graph, &desc, &kernel), 0);
    desc = (struct sy_kernel_desc){.name = "unknown", .part_max = 4};
    assert_int_equal(sy_graph_add_kernel(graph, &desc, &kernel), 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(sy_graph_add_data(graph, NULL, 8, &datum), 0);
    }
    return graph;
}

/* Accesses end with mode 0. */
static void add(struct sy_graph *graph, uint32_t kernel, double work, const char *name,
                const struct sy_access *accesses) {
    struct sy_task_desc desc = {
        .name = name, .kernel = {kernel}, .work = work, .accesses = accesses};
    sy_task_id task;
    while (accesses[desc.access_count].mode) {
        desc.access_count++;
    }
    assert_int_equal(sy_graph_add_task(graph, &desc, &task), 0);
}
#define ACCESSES(...)                                                                              \
    (const struct sy_access[]) {                                                                   \
        __VA_ARGS__, {                                                                             \
            0, 0                                                                                   \
        }                                                                                          \
    }

static void link_tasks(struct sy_graph *graph, uint32_t from, uint32_t to) {
    assert_int_equal(sy_graph_add_edge(graph, (sy_task_id){from}, (sy_task_id){to}), 0);
}

static struct sy_graph *cut(struct sy_graph *graph, uint32_t part_max, double more_ratio) {
    struct sy_graph *parts = NULL;
    assert_int_equal(sy_graph_seal(graph, NULL), 0);
    assert_int_equal(sy_graph_cut(graph, &(struct sy_graph_cut){part_max, more_ratio}, &parts), 0);
    check_sealed(parts);
    sy_graph_destroy(graph);
    return parts;
}

static void assert_part(const struct sy_graph *graph, uint32_t task, uint32_t part, uint32_t count,
                        double cpu_ns, double gpu_ns) {
    assert_int_equal(graph->tasks[task].part, part);
    assert_int_equal(graph->tasks[task].part_count, count);
    assert_true(fabs(sy_graph_time_ns(graph, task, SY_CPU) - cpu_ns) < 1e-3);
    assert_true(gpu_ns == INFINITY ? sy_graph_time_ns(graph, task, SY_GPU) == INFINITY
                                   : fabs(sy_graph_time_ns(graph, task, SY_GPU) - gpu_ns) < 1e-3);
}

/* 1000 ms there: (1000 + 3 * 1) / 4 each. */
static void test_a_chain_stands_in_place(void **state) {
    (void)state;
    struct sy_graph *graph = make(false);
    add(graph, 1, 7, "before", ACCESSES({0, SY_WRITE}));
    add(graph, 0, 1000, "long", ACCESSES({0, SY_READ}, {1, SY_WRITE}, {2, SY_READ_WRITE}));
    add(graph, 1, 7, NULL, ACCESSES({1, SY_READ}));
    add(graph, 1, 7, "overwrites", ACCESSES({0, SY_WRITE}));
    link_tasks(graph, 0, 1);
    graph = cut(graph, 0, 0);
    assert_int_equal(graph->task_count, 7);
    assert_part(graph, 0, 0, 0, 7 * MS, INFINITY);
    for (uint32_t part = 0; part < 4; part++) {
        uint32_t task = 1 + part, access = graph->tasks[task].access_start;
        assert_part(graph, task, part, 4, 2003 * MS / 4, 1003 * MS / 4);
        assert_true(graph->tasks[task].work == 1000);
        assert_int_equal(graph->accesses[access].mode, SY_READ);
        assert_int_equal(graph->accesses[access + 1].mode, part ? SY_READ_WRITE : SY_WRITE);
        assert_int_equal(graph->access_producer[access], 0);
        assert_true(check_has_edge(graph, task - 1, task));
        assert_true(check_has_edge(graph, task, 6)); /* all have read what that overwrites */
    }
    char name[32];
    assert_string_equal(sy_graph_task_name(graph, (sy_task_id){2}, name), "long (2 of 4)");
    assert_null(graph->tasks[5].name);
    assert_int_equal(graph->access_producer[graph->tasks[5].access_start], 4);
    assert_int_equal(graph->kernels[0].part_max, 4);
    sy_graph_destroy(graph);
}

/* Nothing but edges says who wrote what, and program order nothing at all. */
static void test_explicit(void **state) {
    (void)state;
    struct sy_graph *graph = make(true);
    add(graph, 0, 1000, "reads", ACCESSES({0, SY_READ}, {1, SY_WRITE}));
    add(graph, 0, 1000, "writes", ACCESSES({0, SY_WRITE}));
    add(graph, 1, 1, "other", ACCESSES({2, SY_WRITE}));
    link_tasks(graph, 1, 0);
    link_tasks(graph, 2, 1);
    graph = cut(graph, 0, 0);
    assert_int_equal(graph->task_count, 9);
    for (uint32_t part = 0; part < 4; part++) {
        uint32_t access = graph->tasks[part].access_start;
        assert_int_equal(graph->access_producer[access], 7); /* the writer's last */
        assert_int_equal(graph->access_producer[access + 1], part ? part - 1 : SY_NONE);
        assert_true(check_has_edge(graph, 7, part));
        assert_true(part == 0 || check_has_edge(graph, 4 + part - 1, 4 + part));
    }
    assert_true(check_has_edge(graph, 8, 4));
    assert_false(check_has_edge(graph, 8, 5));
    sy_graph_destroy(graph);
}

/* A part costs the kernel's 1 ms and the 0.1 ms that a runtime needs; all may cost 2 % of the time
 * on the fastest kind. */
static void test_only_what_is_worth_it(void **state) {
    (void)state;
    static const struct {
        uint32_t kernel;
        double work;
        uint32_t count;
    } cases[] = {{0, 54.9, 1}, {0, 55.1, 2}, {0, 111, 3}, {0, 1e6, 4},
                 {0, 0, 1},    {1, 1e6, 1},  {2, 1e6, 1}};
    for (uint32_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_graph *graph = make(false);
        add(graph, cases[i].kernel, cases[i].work, NULL, ACCESSES({0, SY_READ}));
        graph = cut(graph, 0, 0);
        assert_int_equal(graph->task_count, cases[i].count);
        for (uint32_t part = 1; part < graph->task_count; part++) { /* though all only read */
            assert_true(check_has_edge(graph, part - 1, part));
        }
        sy_graph_destroy(graph);
    }
}

/* For studies: whatever kernels say of themselves. */
static void test_all_kernels(void **state) {
    (void)state;
    struct sy_graph *graph = make(false);
    add(graph, 0, 1000, NULL, ACCESSES({0, SY_READ}));
    add(graph, 1, 1000, NULL, ACCESSES({0, SY_READ}));
    add(graph, 1, 10, NULL, ACCESSES({0, SY_READ})); /* two more parts for 2 % of it */
    add(graph, 1, 1, NULL, ACCESSES({0, SY_READ}));
    graph = cut(graph, 9, 0.08);
    assert_int_equal(graph->task_count, 9 + 9 + 3 + 1);
    assert_part(graph, 8, 8, 9, 2000 * MS * 1.08 / 9, 1000 * MS * 1.08 / 9);
    assert_part(graph, 9, 0, 9, 1000 * MS * 1.08 / 9, INFINITY);
    assert_part(graph, 18, 0, 3, 10 * MS * 1.02 / 3, INFINITY);
    assert_part(graph, 21, 0, 0, 1 * MS, INFINITY);
    sy_graph_destroy(graph);
}

/* Whatever the graph: one chain per task, in the order of the tasks, and no cycle. */
static void test_generated(void **state) {
    (void)state;
    static const char *const specs[] = {"cholesky:5", "fft:3", "layered:width=6,depth=4,seed=3",
                                        "forkjoin:4", "gnn:3"};
    for (uint32_t i = 0; i < SY_COUNT(specs); i++) {
        struct sy_graph *whole = check_generate(specs[i]), *graph = NULL;
        assert_int_equal(sy_graph_cut(whole, &(struct sy_graph_cut){5, 0.1}, &graph), 0);
        check_sealed(graph);
        uint32_t wholes = 0;
        for (uint32_t t = 0; t < graph->task_count; t++) {
            wholes += graph->tasks[t].part == 0;
        }
        assert_int_equal(wholes, whole->task_count);
        sy_graph_destroy(whole);
        sy_graph_destroy(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chain_stands_in_place),
        cmocka_unit_test(test_explicit),
        cmocka_unit_test(test_only_what_is_worth_it),
        cmocka_unit_test(test_all_kernels),
        cmocka_unit_test(test_generated),
    };
    return cmocka_run_group_tests_name("graph_cut", tests, NULL, NULL);
}
