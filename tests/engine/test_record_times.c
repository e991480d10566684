/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of a record: the model's, else the median of what was alike; noise is what tasks took over
 * that median, of kernels that ran often enough.
 */
#include "engine/engine.h"
#include "graph/graph.h"
#include "topology/topology.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { TASKS = 7 };

/* Five tasks of one kind on a CPU take 1, 2, 4, 8 and 16 ms; two large ones 100 and 900 ms. */
static struct sy_record *record_of(void) {
    static const double took_ms[TASKS] = {4, 1, 16, 2, 8, 100, 900};
    struct sy_record *record = sy_record_create();
    struct sy_kernel_desc desc = {.name = "k"};
    sy_kernel_id kernel;
    sy_data_id small, large;
    assert_non_null(record);
    assert_int_equal(sy_machine_parse("cpu:1 gpu:1", &record->machine, NULL), 0);
    record->graph = sy_graph_create("g", false);
    assert_int_equal(sy_graph_add_kernel(record->graph, &desc, &kernel), 0);
    assert_int_equal(sy_graph_add_data(record->graph, NULL, 10, &small), 0);
    assert_int_equal(sy_graph_add_data(record->graph, NULL, 1000, &large), 0);
    record->tasks = sy_arena_alloc(record->arena, TASKS, sizeof *record->tasks);
    record->model_ns = sy_arena_alloc(record->arena, 2 * (size_t)TASKS, sizeof(double));
    for (uint32_t t = 0; t < TASKS; t++) {
        struct sy_access access = {t < 5 ? small.index : large.index, SY_READ};
        struct sy_task_desc task = {.kernel = kernel, .accesses = &access, .access_count = 1};
        sy_task_id id;
        assert_int_equal(sy_graph_add_task(record->graph, &task, &id), 0);
        record->tasks[t] = (struct sy_record_task){.end_ns = took_ms[t] * 1e6};
        record->model_ns[2 * t] = record->model_ns[2 * t + 1] = NAN;
    }
    record->model_ns[0] = 5e6;
    assert_int_equal(sy_graph_seal(record->graph, NULL), 0);
    return record;
}

static void times(void **state) {
    struct sy_record *record = record_of();
    double time_ns[2 * TASKS];
    uint32_t unknown = 0;
    (void)state;
    assert_int_equal(sy_record_times(record, time_ns, &unknown), 0);
    assert_int_equal(unknown, TASKS - 1);
    assert_true(time_ns[0] == 5e6 && time_ns[2] == 4e6 && time_ns[2 * 6] == 500e6);
    assert_true(isnan(time_ns[1])); /* it never ran there */
    sy_record_destroy(record);
}

static void noise(void **state) {
    struct sy_record *record = record_of();
    double ratios[TASKS], product = 1;
    uint32_t count = 0;
    (void)state;
    assert_int_equal(sy_record_noise(record, ratios, &count), 0);
    assert_int_equal(count, 5); /* two large ones are too few */
    for (uint32_t i = 0; i < count; i++) {
        assert_true(ratios[i] >= 0.25 && ratios[i] <= 4);
        product *= ratios[i];
    }
    assert_true(fabs(product - 1) < 1e-12);
    assert_int_equal(sy_record_set_spreads(record, record->graph), 0);
    /* Logarithms of 2 to the -2 ... 2: their mean size is 1.2 of ln 2. */
    double sigma = record->graph->kernels[0].variants[SY_CPU].log_sigma;
    assert_true(fabs(sigma - 1.2533 * 1.2 * log(2)) < 1e-9);
    assert_true(record->graph->kernels[0].variants[SY_GPU].log_sigma == 0);
    sy_record_destroy(record);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(times), cmocka_unit_test(noise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
