/* SPDX-License-Identifier: Apache-2.0
 *
 * The builder: what it refuses, which dependencies it infers, how it seals.
 */
#include "check.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sy_graph *make(bool is_explicit, uint32_t data) {
    struct sy_graph *graph = sy_graph_create("g", is_explicit);
    check_kernel(graph, "k");
    sy_data_id datum;
    for (uint32_t i = 0; i < data; i++) {
        assert_int_equal(sy_graph_add_data(graph, NULL, 8, &datum), 0);
    }
    return graph;
}

static uint32_t add(struct sy_graph *graph, const char *name, const struct sy_access *accesses,
                    uint32_t count) {
    struct sy_task_desc desc = {
        .name = name, .work = 1, .accesses = accesses, .access_count = count};
    sy_task_id task;
    assert_int_equal(sy_graph_add_task(graph, &desc, &task), 0);
    return task.index;
}

static uint32_t touch(struct sy_graph *graph, uint32_t datum, uint32_t mode) {
    return add(graph, NULL, &(struct sy_access){datum, mode}, 1);
}

static void edge(struct sy_graph *graph, uint32_t from, uint32_t to) {
    assert_int_equal(sy_graph_add_edge(graph, (sy_task_id){from}, (sy_task_id){to}), 0);
}

static void seal(struct sy_graph *graph) {
    struct sy_error error;
    assert_int_equal(sy_graph_seal(graph, &error), 0);
    check_sealed(graph);
}

static void test_kinds(void **state) {
    (void)state;
    enum sy_device_kind kind;
    for (uint32_t i = 0; i < SY_KIND_COUNT; i++) {
        const char *name = sy_device_kind_name((enum sy_device_kind)i);
        assert_true(sy_device_kind_parse(name, &kind));
        assert_int_equal(kind, i);
    }
    assert_false(sy_device_kind_parse("tpu", &kind));
    assert_string_equal(sy_device_kind_name(SY_FPGA), "fpga");
}

static void test_refuses_bad_numbers(void **state) {
    (void)state;
    const double bad[] = {-1, NAN, INFINITY, -INFINITY, 1e31};
    struct sy_graph *graph = make(false, 1);
    for (uint32_t i = 0; i < SY_COUNT(bad); i++) {
        sy_data_id datum;
        sy_task_id task;
        sy_kernel_id kernel;
        assert_int_equal(sy_graph_add_data(graph, "x", bad[i], &datum), -EINVAL);
        struct sy_task_desc desc = {.work = bad[i]};
        assert_int_equal(sy_graph_add_task(graph, &desc, &task), -EINVAL);
        double times[SY_KIND_COUNT] = {1, NAN, INFINITY, bad[i]};
        desc = (struct sy_task_desc){.work = 1, .time_ns = times};
        bool is_allowed = isnan(bad[i]) || bad[i] == INFINITY;
        assert_int_equal(sy_graph_add_task(graph, &desc, &task), is_allowed ? 0 : -EINVAL);
        for (uint32_t field = 0; field < 7; field++) {
            double values[7] = {0};
            values[field] = bad[i];
            struct sy_kernel_desc described = {.name = "other"};
            described.variants[SY_GPU] = (struct sy_variant){
                true, values[0], values[1], values[2], values[3], values[4], values[5], values[6]};
            assert_int_equal(sy_graph_add_kernel(graph, &described, &kernel), -EINVAL);
        }
        struct sy_kernel_desc cut = {.name = "cut", .part_ns = bad[i]};
        assert_int_equal(sy_graph_add_kernel(graph, &cut, &kernel), -EINVAL);
        cut = (struct sy_kernel_desc){.name = "cut", .part_max = SY_PART_MAX + 1};
        assert_int_equal(sy_graph_add_kernel(graph, &cut, &kernel), -EINVAL);
    }
    assert_int_equal(graph->data_count, 1);
    assert_int_equal(graph->kernel_count, 1);
    sy_graph_destroy(graph);
}

static void test_refuses_bad_indices(void **state) {
    (void)state;
    struct sy_graph *graph = make(false, 1);
    sy_task_id task;
    sy_kernel_id kernel;
    struct sy_task_desc desc = {.kernel = {1}};
    assert_int_equal(sy_graph_add_task(graph, &desc, &task), -EINVAL);
    struct sy_access accesses[] = {{1, SY_READ}};
    desc = (struct sy_task_desc){.accesses = accesses, .access_count = 1};
    assert_int_equal(sy_graph_add_task(graph, &desc, &task), -EINVAL);
    accesses[0] = (struct sy_access){0, 0};
    assert_int_equal(sy_graph_add_task(graph, &desc, &task), -EINVAL);
    accesses[0] = (struct sy_access){0, 4};
    assert_int_equal(sy_graph_add_task(graph, &desc, &task), -EINVAL);
    assert_int_equal(graph->task_count, 0);
    assert_int_equal(sy_graph_add_edge(graph, (sy_task_id){0}, (sy_task_id){0}), -EINVAL);
    struct sy_kernel_desc again = {.name = "k"};
    assert_int_equal(sy_graph_add_kernel(graph, &again, &kernel), -EEXIST);
    again.name = "";
    assert_int_equal(sy_graph_add_kernel(graph, &again, &kernel), -EINVAL);
    seal(graph);
    sy_data_id datum;
    assert_int_equal(sy_graph_add_data(graph, NULL, 1, &datum), -EINVAL);
    desc = (struct sy_task_desc){.work = 1};
    assert_int_equal(sy_graph_add_task(graph, &desc, &task), -EINVAL);
    struct sy_error error;
    assert_int_equal(sy_graph_seal(graph, &error), -EINVAL);
    sy_graph_destroy(graph);
    sy_graph_destroy(NULL);
}

static void test_times(void **state) {
    (void)state;
    struct sy_graph *graph = make(false, 0);
    struct sy_kernel_desc desc = {.name = "two"};
    desc.variants[SY_GPU] = (struct sy_variant){.present = true, .fixed_ns = 5, .ns_per_work = 2};
    sy_kernel_id kernel;
    sy_task_id task;
    assert_int_equal(sy_graph_add_kernel(graph, &desc, &kernel), 0);
    struct sy_task_desc plain = {.kernel = kernel, .work = 10};
    assert_int_equal(sy_graph_add_task(graph, &plain, &task), 0);
    const double times[SY_KIND_COUNT] = {7, NAN, INFINITY, 0};
    struct sy_task_desc overridden = {.kernel = kernel, .work = 10, .time_ns = times};
    assert_int_equal(sy_graph_add_task(graph, &overridden, &task), 0);
    assert_int_equal(sy_graph_add_task(graph, &plain, &task), 0);
    seal(graph);
    for (uint32_t t = 0; t < 3; t += 2) {
        assert_true(sy_graph_time_ns(graph, t, SY_CPU) == INFINITY);
        assert_true(sy_graph_time_ns(graph, t, SY_GPU) == 25);
    }
    assert_true(sy_graph_time_ns(graph, 1, SY_CPU) == 7);
    assert_true(sy_graph_time_ns(graph, 1, SY_GPU) == 25);
    assert_true(sy_graph_time_ns(graph, 1, SY_FPGA) == INFINITY);
    assert_true(sy_graph_time_ns(graph, 1, SY_ASIC) == 0);
    assert_string_equal(graph->kernels[1].interference, "two");
    sy_graph_destroy(graph);
}

static void test_inference(void **state) {
    (void)state;
    struct sy_graph *graph = make(false, 1);
    uint32_t first_read = touch(graph, 0, SY_READ);   /* 0: reads the initial value */
    uint32_t write = touch(graph, 0, SY_WRITE);       /* 1: after 0 (WAR) */
    uint32_t read_a = touch(graph, 0, SY_READ);       /* 2: after 1 (RAW) */
    uint32_t read_b = touch(graph, 0, SY_READ);       /* 3: after 1 (RAW) */
    uint32_t rewrite = touch(graph, 0, SY_WRITE);     /* 4: after 2 and 3 (WAR) */
    uint32_t again = touch(graph, 0, SY_WRITE);       /* 5: after 4 (WAW) */
    uint32_t update = touch(graph, 0, SY_READ_WRITE); /* 6: after 5 (RAW) */
    seal(graph);
    const uint32_t edges[][2] = {{first_read, write}, {write, read_a},   {write, read_b},
                                 {read_a, rewrite},   {read_b, rewrite}, {rewrite, again},
                                 {again, update}};
    for (uint32_t i = 0; i < SY_COUNT(edges); i++) {
        assert_true(check_has_edge(graph, edges[i][0], edges[i][1]));
    }
    assert_int_equal(graph->edge_count, SY_COUNT(edges));
    const uint32_t producers[] = {SY_NONE, SY_NONE, write, write, SY_NONE, SY_NONE, again};
    assert_memory_equal(graph->access_producer, producers, sizeof producers);
    sy_graph_destroy(graph);
}

/* A task that lists a write before a read of the same datum still reads the old value. */
static void test_reads_come_first(void **state) {
    (void)state;
    struct sy_graph *graph = make(false, 1);
    uint32_t before = touch(graph, 0, SY_WRITE);
    const struct sy_access accesses[] = {{0, SY_WRITE}, {0, SY_READ}, {0, SY_WRITE}};
    uint32_t both = add(graph, "both", accesses, 3);
    uint32_t after = touch(graph, 0, SY_READ);
    seal(graph);
    assert_int_equal(graph->edge_count, 2);
    assert_int_equal(graph->access_producer[2], before);
    assert_true(check_has_edge(graph, both, after));
    assert_int_equal(graph->access_producer[4], both);
    sy_graph_destroy(graph);
}

#define TASKS 40
#define DATA  6

/* Must b follow a, by the definition: some datum both touch and one of them writes? */
static bool conflict(const uint32_t *a, const uint32_t *b) {
    for (uint32_t d = 0; d < DATA; d++) {
        if (a[d] && b[d] && ((a[d] | b[d]) & SY_WRITE)) {
            return true;
        }
    }
    return false;
}

static void close_over(bool reach[TASKS][TASKS]) {
    for (uint32_t k = 0; k < TASKS; k++) {
        for (uint32_t i = 0; i < TASKS; i++) {
            for (uint32_t j = 0; j < TASKS; j++) {
                reach[i][j] = reach[i][j] || (reach[i][k] && reach[k][j]);
            }
        }
    }
}

static uint32_t last_writer(uint32_t modes[TASKS][DATA], uint32_t task, uint32_t datum) {
    while (task-- > 0) {
        if (modes[task][datum] & SY_WRITE) {
            return task;
        }
    }
    return SY_NONE;
}

/* On random programs: the order implied is exactly the transitive closure of all conflicts. */
static void test_inference_by_brute_force(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 0, 0);
        static uint32_t modes[TASKS][DATA];
        static bool wanted[TASKS][TASKS], found[TASKS][TASKS];
        struct sy_graph *graph = make(false, DATA);
        for (uint32_t t = 0; t < TASKS; t++) {
            struct sy_access accesses[DATA];
            uint32_t count = 0;
            for (uint32_t d = 0; d < DATA; d++) {
                uint32_t mode = sy_rng_below(&rng, 3) ? 0 : 1 + sy_rng_below(&rng, 3);
                modes[t][d] = mode;
                if (mode) {
                    accesses[count++] = (struct sy_access){d, mode};
                }
            }
            add(graph, NULL, accesses, count);
        }
        seal(graph);
        for (uint32_t i = 0; i < TASKS; i++) {
            for (uint32_t j = 0; j < TASKS; j++) {
                wanted[i][j] = i < j && conflict(modes[i], modes[j]);
                found[i][j] = check_has_edge(graph, i, j);
            }
        }
        close_over(wanted);
        close_over(found);
        if (memcmp(wanted, found, sizeof wanted) != 0) {
            fail_msg("seed %llu: the order differs", (unsigned long long)seed);
        }
        for (uint32_t t = 0; t < TASKS; t++) {
            for (uint32_t a = graph->tasks[t].access_start; a < graph->tasks[t + 1].access_start;
                 a++) {
                uint32_t datum = graph->accesses[a].datum;
                uint32_t producer =
                    modes[t][datum] & SY_READ ? last_writer(modes, t, datum) : SY_NONE;
                assert_int_equal(graph->access_producer[a], producer);
            }
        }
        sy_graph_destroy(graph);
    }
}

static void test_edges_are_unique(void **state) {
    (void)state;
    struct sy_graph *graph = make(false, 1);
    touch(graph, 0, SY_WRITE);
    touch(graph, 0, SY_READ);
    add(graph, NULL, NULL, 0);
    edge(graph, 0, 1); /* implied already */
    edge(graph, 2, 0); /* against program order */
    edge(graph, 2, 0);
    seal(graph);
    assert_int_equal(graph->edge_count, 2);
    assert_int_equal(graph->pred_given[0], 1); /* 2 -> 0 */
    assert_int_equal(graph->pred_given[1], 0); /* 0 -> 1 */
    const uint32_t order[] = {2, 0, 1};
    assert_memory_equal(graph->order, order, sizeof order);
    sy_graph_destroy(graph);
}

static void test_explicit_producers(void **state) {
    (void)state;
    struct sy_graph *graph = make(true, 2);
    touch(graph, 0, SY_WRITE);      /* 0 */
    touch(graph, 0, SY_READ_WRITE); /* 1: after 0 */
    touch(graph, 0, SY_READ);       /* 2: after 0 and 1: the later one wrote it */
    touch(graph, 0, SY_READ);       /* 3: after 0 only */
    touch(graph, 0, SY_READ);       /* 4: after nobody: the initial value */
    touch(graph, 1, SY_READ);       /* 5: after 0, which does not write it */
    edge(graph, 0, 1);
    edge(graph, 0, 2);
    edge(graph, 1, 2);
    edge(graph, 0, 3);
    edge(graph, 0, 5);
    seal(graph);
    assert_int_equal(graph->edge_count, 5); /* nothing is inferred */
    const uint32_t producers[] = {SY_NONE, 0, 1, 0, SY_NONE, SY_NONE};
    assert_memory_equal(graph->access_producer, producers, sizeof producers);
    sy_graph_destroy(graph);
}

static void test_cycle_is_named(void **state) {
    (void)state;
    struct sy_graph *graph = make(true, 0);
    const char *names[] = {"in", "a", "b", "c", "out"};
    for (uint32_t i = 0; i < SY_COUNT(names); i++) {
        add(graph, names[i], NULL, 0);
    }
    edge(graph, 0, 1);
    edge(graph, 1, 2);
    edge(graph, 2, 3);
    edge(graph, 3, 1);
    edge(graph, 3, 4);
    struct sy_error error = {0};
    assert_int_equal(sy_graph_seal(graph, &error), -EINVAL);
    assert_string_equal(error.message, "cycle: a -> b -> c -> a");
    assert_true(error.hint[0]);
    assert_false(graph->sealed);
    sy_graph_destroy(graph);
}

static void test_self_edge(void **state) {
    (void)state;
    struct sy_graph *graph = make(true, 0);
    add(graph, NULL, NULL, 0);
    add(graph, NULL, NULL, 0);
    edge(graph, 1, 1);
    struct sy_error error = {0};
    assert_int_equal(sy_graph_seal(graph, &error), -EINVAL);
    assert_string_equal(error.message, "cycle: task 1 -> task 1");
    sy_graph_destroy(graph);
}

/* On random graphs the named cycle is one: each arrow in the message is an edge. */
static void test_named_cycles_are_real(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 1, 0);
        struct sy_graph *graph = make(true, 0);
        static bool edges[12][12];
        memset(edges, 0, sizeof edges);
        for (uint32_t t = 0; t < 12; t++) {
            add(graph, NULL, NULL, 0);
        }
        for (uint32_t e = 0; e < 14; e++) {
            uint32_t from = sy_rng_below(&rng, 12), to = sy_rng_below(&rng, 12);
            edges[from][to] = true;
            edge(graph, from, to);
        }
        struct sy_error error = {0};
        if (sy_graph_seal(graph, &error) == 0) {
            check_sealed(graph);
        } else {
            const char *at = strstr(error.message, "task ");
            uint32_t first = (uint32_t)atoi(at + 5), before = first, seen = 0;
            while ((at = strstr(at + 5, "task "))) {
                uint32_t task = (uint32_t)atoi(at + 5);
                if (!edges[before][task]) {
                    fail_msg("seed %llu: no edge %u -> %u in %s", (unsigned long long)seed, before,
                             task, error.message);
                }
                before = task;
                seen++;
            }
            assert_true(seen > 0);
            assert_int_equal(before, first);
        }
        sy_graph_destroy(graph);
    }
}

static void test_long_cycle(void **state) {
    (void)state;
    struct sy_graph *graph = make(true, 0);
    uint32_t count = 100000;
    for (uint32_t i = 0; i < count; i++) {
        add(graph, NULL, NULL, 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        edge(graph, i, (i + 1) % count);
    }
    struct sy_error error = {0};
    assert_int_equal(sy_graph_seal(graph, &error), -EINVAL);
    assert_non_null(strstr(error.message, "cycle: task 0 -> task 1 -> "));
    assert_non_null(strstr(error.message, " more) -> task 0"));
    sy_graph_destroy(graph);
}

/* Backwards, so that program order is no help. */
static void test_long_chain(void **state) {
    (void)state;
    struct sy_graph *graph = make(true, 0);
    uint32_t count = 100000;
    for (uint32_t i = 0; i < count; i++) {
        add(graph, NULL, NULL, 0);
    }
    for (uint32_t i = 1; i < count; i++) {
        edge(graph, i, i - 1);
    }
    seal(graph);
    assert_int_equal(graph->order[0], count - 1);
    assert_int_equal(graph->edge_count, count - 1);
    sy_graph_destroy(graph);
}

static void test_empty_graph(void **state) {
    (void)state;
    struct sy_graph *graph = sy_graph_create(NULL, false);
    seal(graph);
    assert_int_equal(sy_graph_task_count(graph), 0);
    assert_int_equal(sy_graph_edge_count(graph), 0);
    assert_string_equal(sy_graph_name(graph), "");
    sy_graph_destroy(graph);
}

static void test_names(void **state) {
    (void)state;
    struct sy_graph *graph = make(true, 3);
    char buffer[32];
    add(graph, NULL, NULL, 0);
    add(graph, "b", NULL, 0);
    assert_string_equal(sy_graph_task_name(graph, (sy_task_id){0}, buffer), "task 0");
    assert_string_equal(sy_graph_task_name(graph, (sy_task_id){1}, buffer), "b");
    assert_int_equal(sy_graph_data_count(graph), 3);
    assert_int_equal(sy_graph_kernel_count(graph), 1);
    sy_graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_refuses_bad_numbers),
        cmocka_unit_test(test_refuses_bad_indices),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_inference),
        cmocka_unit_test(test_reads_come_first),
        cmocka_unit_test(test_inference_by_brute_force),
        cmocka_unit_test(test_edges_are_unique),
        cmocka_unit_test(test_explicit_producers),
        cmocka_unit_test(test_cycle_is_named),
        cmocka_unit_test(test_self_edge),
        cmocka_unit_test(test_named_cycles_are_real),
        cmocka_unit_test(test_long_cycle),
        cmocka_unit_test(test_long_chain),
        cmocka_unit_test(test_empty_graph),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
