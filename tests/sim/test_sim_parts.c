/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks that run in parts: timelines worked out by hand, on a core and on a GPU, which nothing can
 * push a task aside on; and that cutting changes nothing else. Task "long" takes 1 s, in parts 4 *
 * 253 ms; "short" takes 10 ms and comes after 300.
 */
#include "graph/graph.h"
#include "scripted.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS     1e6
#define ARRIVE (300 * MS)
#define LONG   (1000 * MS)
#define SHORT  (10 * MS)
#define PART   (253 * MS)

static struct sy_graph *one_task(double cpu_ns, double gpu_ns, uint32_t part_max) {
    struct sy_graph *graph = sy_graph_create("one", false), *cut = NULL;
    script_kernel(graph, "k", cpu_ns, gpu_ns, 0, 0);
    graph->kernels[0].part_max = part_max;
    graph->kernels[0].part_ns = 4 * MS;
    script_task(graph, 0, NULL);
    assert_int_equal(sy_graph_seal(graph, NULL), 0);
    assert_int_equal(sy_graph_cut(graph, &(struct sy_graph_cut){0}, &cut), 0);
    sy_graph_destroy(graph);
    return cut;
}

static struct sy_sim *run(struct fixture *f, bool gpu, uint32_t part_max, const char *policy,
                          struct sy_sim_options options) {
    fixture_init(f, gpu ? "cpu:1 gpu:1@pcie3x16" : "cpu:1");
    fixture_add(f, one_task(gpu ? 0 : LONG, gpu ? LONG : 0, part_max), 0, 0, 1);
    fixture_add(f, one_task(gpu ? 0 : SHORT, gpu ? SHORT : 0, 0), ARRIVE, 1, 1);
    fixture_seal(f);
    options.record = true;
    struct sy_sim *sim = fixture_sim(f->workload, &options);
    fixture_run(sim, f->workload, policy);
    return sim;
}

static void finish(struct fixture *f, struct sy_sim *sim) {
    sy_sim_destroy(sim);
    fixture_finish(f);
}

/* It waits for the part that runs, 206 ms, and not for the 700 that are left. */
static void it_runs_between_two_parts(void **state) {
    static const char *const policies[] = {"lb+wspt", "lb+srpt", "symphony", "dmdas+srpt"};
    (void)state;
    for (uint32_t p = 0; p < SY_COUNT(policies); p++) {
        for (uint32_t gpu = 0; gpu < 2; gpu++) {
            struct fixture f;
            struct sy_sim *sim = run(&f, gpu, 4, policies[p], (struct sy_sim_options){0});
            assert_int_equal(f.workload->task_count, 5);
            assert_ran(sim, 0, gpu, 0, PART);
            assert_ran(sim, 1, gpu, PART, 2 * PART);
            assert_ran(sim, 4, gpu, 2 * PART, 2 * PART + SHORT);
            assert_ran(sim, 2, gpu, 2 * PART + SHORT, 3 * PART + SHORT);
            assert_ran(sim, 3, gpu, 3 * PART + SHORT, 4 * PART + SHORT);
            finish(&f, sim);
        }
    }
}

static void the_first_comes_first(void **state) {
    (void)state;
    struct fixture f;
    struct sy_sim *sim = run(&f, true, 4, "lb+fifo", (struct sy_sim_options){0});
    assert_ran(sim, 4, 1, 4 * PART, 4 * PART + SHORT);
    finish(&f, sim);
    sim = run(&f, true, 0, "lb+wspt", (struct sy_sim_options){0}); /* whole */
    assert_ran(sim, 1, 1, LONG, LONG + SHORT);
    finish(&f, sim);
}

static double took_ns(const struct sy_sim *sim, uint32_t task) {
    const struct sy_span *span = fixture_span(sy_sim_trace(sim), SY_SPAN_TASK, task);
    return span->end_ns - span->start_ns;
}

/* Parts are as late as the whole would be, and other tasks as late as they would be anyway. */
static void noise_is_that_of_the_whole(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        const struct sy_sim_options options = {.seed = seed, .noise_sigma = 0.5};
        struct fixture whole, cut;
        struct sy_sim *a = run(&whole, false, 0, "lb+wspt", options);
        struct sy_sim *b = run(&cut, false, 4, "lb+wspt", options);
        double factor = took_ns(a, 0) / LONG;
        for (uint32_t part = 0; part < 4; part++) {
            assert_true(fabs(took_ns(b, part) / PART - factor) < 1e-9);
        }
        assert_true(fabs(took_ns(b, 4) - took_ns(a, 1)) < 1e-3);
        finish(&whole, a);
        finish(&cut, b);
    }
}

/* Whatever comes when: fixture_run() has every trace judged, and every part is a task in it. */
static void streams_stay_legal(void **state) {
    static const char *const policies[] = {"lb+wspt", "symphony", "dmdas", "heft", "eager"};
    static const char *const graphs[] = {"independent:12,work=2s", "outtree:3,work=1s",
                                         "layered:width=6,depth=4,seed=3,work=3s"};
    const struct sy_device_event events[] = {
        {200 * MS, 0, true}, {600 * MS, 0, false}, {400 * MS, 4, true}, {900 * MS, 4, false}};
    const struct sy_device_event *lost[] = {events, events + 2};
    (void)state;
    for (size_t p = 0; p < SY_COUNT(policies); p++) {
        for (uint32_t seed = 0; seed < 2; seed++) {
            struct fixture f;
            fixture_init(&f, "2x(cpu:2 dram:20GB/s) gpu:1@pcie3x16");
            for (uint32_t j = 0; j < 6; j++) {
                struct sy_graph *whole = fixture_graph(graphs[(j + seed) % SY_COUNT(graphs)]);
                struct sy_graph *cut = NULL;
                assert_int_equal(sy_graph_cut(whole, &(struct sy_graph_cut){6, 0.05}, &cut), 0);
                assert_true(cut->task_count > whole->task_count);
                sy_graph_destroy(whole);
                fixture_add(&f, cut, j * 300 * MS, j % 3, 1);
            }
            fixture_seal(&f);
            struct sy_sim_options options = {.seed = seed,
                                             .record = true,
                                             .preempt = seed,
                                             .noise_sigma = 0.3,
                                             .contention = seed,
                                             .device_events = lost[seed],
                                             .device_event_count = 2};
            struct sy_sim *sim = fixture_sim(f.workload, &options);
            struct sy_sim_result result = fixture_run(sim, f.workload, policies[p]);
            assert_int_equal(result.task_count, f.workload->task_count);
            finish(&f, sim);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_runs_between_two_parts),
        cmocka_unit_test(the_first_comes_first),
        cmocka_unit_test(noise_is_that_of_the_whole),
        cmocka_unit_test(streams_stay_legal),
    };
    return cmocka_run_group_tests_name("sim_parts", tests, NULL, NULL);
}
