/* SPDX-License-Identifier: Apache-2.0
 *
 * Sharing, worked out by hand: threads of a core, streams of a GPU, memory bandwidth, links, other
 * tenants; and what the counters show of it.
 */
#include "scripted.h"
#include "sim/state.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[] = {"a", "b"};

/* Tasks a and b without data, one each on the devices given. */
static void open_pair(struct fixture *f, const char *machine, double a_ns, double b_ns,
                      double a_bytes_per_s, double b_bytes_per_s, bool gpu) {
    struct sy_graph *graph = sy_graph_create("by hand", false);
    assert_non_null(graph);
    uint32_t a = script_kernel(graph, "a", gpu ? 0 : a_ns, gpu ? a_ns : 0, 0, a_bytes_per_s);
    uint32_t b = script_kernel(graph, "b", gpu ? 0 : b_ns, gpu ? b_ns : 0, 0, b_bytes_per_s);
    script_task(graph, a, NULL);
    script_task(graph, b, NULL);
    script_open(f, machine, graph);
}

/* Beside b, a runs at half speed; beside a, b at a quarter: a is done at 2000, when 2500 of b's
 * 3000 are left. */
static void check_siblings(const char *machine, uint32_t first, bool gpu) {
    double ratio[] = {1, 0.5, 0.25, 1};
    const struct sy_interference table = {
        .count = 2, .names = (const char **)(uintptr_t)names, .ratio = ratio, .fallback = 0.1};
    struct fixture f;
    open_pair(&f, machine, 1000, 3000, 0, 0, gpu);
    script.device = (uint32_t[]){first, first + 1};
    struct sy_sim_options options = {.record = true, .contention = true};
    *(gpu ? &options.gpu : &options.smt) = &table;
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    struct sy_sim_result result = fixture_run(sim, f.workload, "script");
    assert_ran(sim, 0, first, 0, 2000);
    assert_ran(sim, 1, first + 1, 0, 4500);
    assert_near(result.within_20, 0, 0);
    sy_sim_destroy(sim);
    *(gpu ? &options.gpu : &options.smt) = NULL; /* without a table they do not disturb */
    sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "script");
    assert_ran(sim, 0, first, 0, 1000);
    assert_ran(sim, 1, first + 1, 0, 3000);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static void threads_of_a_core(void **state) {
    (void)state;
    check_siblings("cpu:1@smt=2", 0, false);
}

static void streams_of_a_gpu(void **state) {
    (void)state;
    check_siblings("cpu:1 gpu:1@streams=2", 1, true);
}

/* Three threads: the slowdowns multiply. A kernel the table does not know gets its fallback. */
static void three_threads(void **state) {
    (void)state;
    double ratio[] = {0.5};
    const struct sy_interference table = {
        .count = 1, .names = (const char **)(uintptr_t)names, .ratio = ratio, .fallback = 0.8};
    struct fixture f;
    struct sy_graph *graph = sy_graph_create("by hand", false);
    uint32_t a = script_kernel(graph, "a", 1000, 0, 0, 0);
    uint32_t c = script_kernel(graph, "c", 4000, 0, 0, 0);
    script_task(graph, a, NULL);
    script_task(graph, a, NULL);
    script_task(graph, c, NULL);
    script_open(&f, "cpu:1@smt=3", graph);
    script.device = (uint32_t[]){0, 1, 2};
    struct sy_sim_options options = {.record = true, .contention = true, .smt = &table};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "script");
    assert_ran(sim, 0, 0, 0, 2500); /* 0.5 beside the other a, 0.8 beside c */
    assert_ran(sim, 1, 1, 0, 2500);
    assert_ran(sim, 2, 2, 0, 2500 + (4000 - 2500 * 0.64)); /* 0.8 twice, then alone */
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static void check_dram(double a_bytes_per_s, double b_bytes_per_s, double a_end_ns,
                       double b_end_ns) {
    struct fixture f;
    open_pair(&f, "cpu:2 dram:10GB/s", 1000, 3000, a_bytes_per_s, b_bytes_per_s, false);
    script.device = (uint32_t[]){0, 1};
    struct sy_sim_options options = {.record = true, .contention = true};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "script");
    assert_ran(sim, 0, 0, 0, a_end_ns);
    assert_ran(sim, 1, 1, 0, b_end_ns);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static void memory_bandwidth(void **state) {
    (void)state;
    check_dram(5e9, 5e9, 1000, 3000);   /* both fit */
    check_dram(10e9, 10e9, 2000, 4000); /* half each; then b has 2000 left */
    check_dram(10e9, 5e9, 2000, 3000);  /* fair in bytes: 5 each, enough for b */
    /* 5 each until 4000, a quarter of its 20 for a; the rest of b alone at 10 of 10. */
    check_dram(20e9, 10e9, 4000, 3000 + 4000 - 2000);
}

/* 1000 bytes at 1 byte/ns and 100 ns latency: 1100 alone, 2200 for two that share the link; the
 * third waits for one of two channels and then has the link to itself. */
static void link_bandwidth(void **state) {
    (void)state;
    struct fixture f;
    struct sy_graph *graph = sy_graph_create("by hand", false);
    uint32_t kernel = script_kernel(graph, "k", 0, 10, 0, 0);
    for (int i = 0; i < 3; i++) {
        uint32_t x = script_data(graph, 1000);
        script_task(graph, kernel, (struct sy_access[]){{x, SY_READ}, {0, 0}});
    }
    script_open(&f, "cpu:1 gpu:1@link=1GB/s,latency=100ns dram:1000GB/s", graph);
    assert_int_equal(f.machine->memories[1].dma_count, 2);
    script.device = (uint32_t[]){1, 1, 1};
    struct sy_sim_options options = {.record = true, .contention = true};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "script");
    assert_copied(sim, 0, 1, 0, 2200);
    assert_copied(sim, 1, 1, 0, 2200);
    assert_copied(sim, 2, 1, 2200, 3300);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* Other tenants take bandwidth: never faster, the same for every policy, different by seed. */
static void other_tenants(void **state) {
    (void)state;
    struct fixture f;
    double ends[4];
    open_pair(&f, "cpu:2 dram:10GB/s", 1e6, 3e6, 5e9, 5e9, false);
    script.device = (uint32_t[]){0, 1};
    for (uint32_t i = 0; i < 4; i++) {
        struct sy_sim_options options = {.record = true,
                                         .contention = true,
                                         .seed = i / 2,
                                         .hidden_load = i == 3 ? 0 : 0.6,
                                         .hidden_period_ns = 1e5};
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        ends[i] = fixture_run(sim, f.workload, "script").makespan_ns;
        sy_sim_destroy(sim);
    }
    assert_true(ends[0] == ends[1]);
    assert_true(ends[0] != ends[2]);
    assert_true(ends[0] > 3.1e6 && ends[2] > 3.1e6);
    assert_near(ends[3], 3e6, 1e-3);
    fixture_finish(&f);
}

/* Those that give way slow nobody much, those that hold on do. */
static void other_tenants_give_way(void **state) {
    (void)state;
    static const double weights[] = {1e-3, 0, 4, 100};
    struct fixture f;
    double ends[4];
    open_pair(&f, "cpu:2 dram:10GB/s", 1e6, 3e6, 5e9, 5e9, false);
    script.device = (uint32_t[]){0, 1};
    for (uint32_t i = 0; i < 4; i++) {
        struct sy_sim_options options = {.record = true,
                                         .contention = true,
                                         .seed = 1,
                                         .hidden_load = 0.6,
                                         .hidden_weight = weights[i],
                                         .hidden_period_ns = 1e5};
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        ends[i] = fixture_run(sim, f.workload, "script").makespan_ns;
        sy_sim_destroy(sim);
    }
    assert_true(ends[0] < 3.01e6 && ends[0] < ends[1] && ends[1] == ends[2]);
    assert_true(ends[3] > ends[2]);
    fixture_finish(&f);
}

/* Devices that lose a part of their speed: the same seed slows the same, with or without flows. */
static void devices_slow_down(void **state) {
    (void)state;
    struct fixture f;
    double ends[6];
    open_pair(&f, "cpu:2 dram:10GB/s", 1e6, 3e6, 0, 0, false);
    script.device = (uint32_t[]){0, 1};
    for (uint32_t i = 0; i < 6; i++) {
        struct sy_sim_options options = {.record = true,
                                         .contention = i % 2,
                                         .seed = i / 2 == 1,
                                         .throttle = i < 4 ? 0.5 : 0,
                                         .hidden_period_ns = 1e5};
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        ends[i] = fixture_run(sim, f.workload, "script").makespan_ns;
        sy_sim_destroy(sim);
    }
    assert_near(ends[0], ends[1], 1);
    assert_near(ends[2], ends[3], 1);
    assert_true(ends[0] != ends[2] && ends[0] > 4e6 && ends[2] > 4e6 && ends[0] < 9e6);
    assert_near(ends[4], 3e6, 1e-3);
    assert_near(ends[5], 3e6, 1e-3);
    fixture_finish(&f);
}

static double makespan_ns(const struct fixture *f, const struct sy_sim_options *options) {
    struct sy_sim *sim = fixture_sim(f->workload, options);
    double end_ns = fixture_run(sim, f->workload, "script").makespan_ns;
    sy_sim_destroy(sim);
    return end_ns;
}

/* A device that is slow for long is so at once, for its share of the worlds; what changes often
 * slows by its mean. Seeds decide, not contention; a throttled straggler is slower than either. */
static void stragglers(void **state) {
    (void)state;
    struct fixture f;
    uint32_t slow = 0;
    open_pair(&f, "cpu:2 dram:10GB/s", 1e3, 3e6, 0, 0, false);
    script.device = (uint32_t[]){0, 1};
    struct sy_sim_options options = {
        .record = true, .straggler_share = 0.3, .straggler_factor = 4, .straggler_ns = 1e15};
    for (options.seed = 0; options.seed < 400; options.seed++) {
        double end_ns = makespan_ns(&f, &options);
        assert_true(fabs(end_ns - 3e6) < 1 || fabs(end_ns - 12e6) < 1);
        slow += end_ns > 6e6;
    }
    assert_true(slow > 90 && slow < 150); /* 120 expected, standard deviation 9 */
    options.seed = 1;
    options.straggler_ns = 3e3;
    double often_ns = makespan_ns(&f, &options);
    assert_near(often_ns, 3e6 / (1 - 0.3 * 0.75), 0.15e6);
    options.contention = true;
    assert_near(makespan_ns(&f, &options), often_ns, 1);
    options.throttle = 0.4;
    options.hidden_period_ns = 1e4;
    double both_ns = makespan_ns(&f, &options);
    options.straggler_share = 0;
    double throttled_ns = makespan_ns(&f, &options);
    assert_true(both_ns > 1.15 * throttled_ns && both_ns > 1.3 * often_ns && both_ns < 10e6);
    options.throttle = 0;
    assert_near(makespan_ns(&f, &options), 3e6, 1e-3);
    fixture_finish(&f);
}

/* --- counters ---------------------------------------------------------------------------------
 */
static struct sy_reading seen[16][4]; /* per look, per resource */
static double looked_at_ns[16];
static uint32_t looks;

static void remember(const struct sy_view *view) {
    bool same = looks && looked_at_ns[looks - 1] == view->now_ns;
    if (looks < SY_COUNT(seen) && !same && view->readings) {
        looked_at_ns[looks] = view->now_ns;
        memcpy(seen[looks++], view->readings,
               view->machine->resource_count * sizeof *view->readings);
    }
}

/* A chain of tasks on one core: 1000 ns at 4 GB/s, 2000 ns at 8, 1000 ns at 2, 1000 ns at 1. */
static void open_chain(struct fixture *f, const char *machine) {
    static const double demand[] = {4e9, 8e9, 2e9, 1e9}, ns[] = {1000, 2000, 1000, 1000};
    static const char *const kernels[] = {"k0", "k1", "k2", "k3"};
    static const uint32_t first_core[] = {0, 0, 0, 0};
    struct sy_graph *graph = sy_graph_create("by hand", true);
    for (uint32_t i = 0; i < 4; i++) {
        script_task(graph, script_kernel(graph, kernels[i], ns[i], 0, 0, demand[i]), NULL);
        if (i) {
            assert_int_equal(sy_graph_add_edge(graph, (sy_task_id){i - 1}, (sy_task_id){i}), 0);
        }
    }
    script_open(f, machine, graph);
    script.device = first_core;
    script.look = remember;
    looks = 0;
}

static void run_chain(const struct sy_sim_options *options, const char *machine) {
    struct fixture f;
    open_chain(&f, machine);
    struct sy_sim *sim = fixture_sim(f.workload, options);
    fixture_run(sim, f.workload, "script");
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static void counters_show_the_mean(void **state) {
    (void)state;
    struct sy_sim_options options = {.contention = true,
                                     .record = true,
                                     .counter_events = SY_SIM_TRAFFIC,
                                     .counter_period_ns = 500};
    run_chain(&options, "cpu:1 dram:10GB/s");
    assert_int_equal(looks, 4); /* at 0, 1000, 3000 and 4000 */
    assert_true(seen[0][0].at_ns < 0);
    static const double rate[] = {0, 4e9, 8e9, 2e9}, at_ns[] = {0, 1000, 3000, 4000};
    for (uint32_t i = 1; i < 4; i++) {
        assert_near(seen[i][0].bytes_per_s, rate[i], 1);
        assert_near(seen[i][0].at_ns, at_ns[i], 1e-6);
    }
    /* A longer window spans two tasks: (4 * 1000 + 8 * 2000) / 3000. */
    options.counter_period_ns = 2500;
    run_chain(&options, "cpu:1 dram:10GB/s");
    assert_true(seen[1][0].at_ns < 0);
    assert_near(seen[2][0].bytes_per_s, 20e9 / 3, 1);
    assert_near(seen[3][0].bytes_per_s, 20e9 / 3, 1); /* not due yet: the old one stays */
    assert_near(seen[3][0].at_ns, 3000, 1e-6);
}

/* One counter of three counts at a time: the others keep what they had. */
static void counters_take_turns(void **state) {
    (void)state;
    struct sy_sim_options options = {.contention = true,
                                     .record = true,
                                     .counter_events = SY_SIM_TRAFFIC,
                                     .counter_period_ns = 500,
                                     .counter_live = 1};
    run_chain(&options, "cpu:1 gpu:1 dram:10GB/s"); /* dram0, gpu0.down, gpu0.up */
    assert_near(seen[1][0].bytes_per_s, 4e9, 1);
    assert_near(seen[1][0].at_ns, 1000, 1e-6);
    assert_true(seen[1][1].at_ns < 0 && seen[1][2].at_ns < 0);
    assert_near(seen[2][0].at_ns, 1000, 1e-6);
    assert_near(seen[2][1].at_ns, 3000, 1e-6);
    assert_near(seen[2][1].bytes_per_s, 0, 1e-9);
    assert_near(seen[3][0].bytes_per_s, 4e9, 1);
    assert_near(seen[3][2].at_ns, 4000, 1e-6);
}

static void counters_are_noisy(void **state) {
    (void)state;
    struct sy_sim_options options = {.contention = true,
                                     .record = true,
                                     .counter_events = SY_SIM_TRAFFIC,
                                     .counter_period_ns = 500,
                                     .counter_noise = 0.1};
    double sum = 0, far = 0;
    for (options.seed = 0; options.seed < 400; options.seed++) {
        run_chain(&options, "cpu:1 dram:10GB/s");
        sum += seen[2][0].bytes_per_s / 8e9;
        far += fabs(seen[2][0].bytes_per_s / 8e9 - 1) > 0.01;
        assert_true(seen[2][0].bytes_per_s >= 0 && seen[2][0].bytes_per_s <= 15e9);
    }
    assert_near(sum / 400, 1, 0.03); /* spread of the mean: 0.1 * sqrt(2) / 20 = 0.007 */
    assert_true(far > 300);
    run_chain(&options, "cpu:1 dram:10GB/s");
    double once = seen[2][0].bytes_per_s;
    run_chain(&options, "cpu:1 dram:10GB/s");
    assert_true(seen[2][0].bytes_per_s == once);
}

/* Without contention there are no counters. */
static void no_counters(void **state) {
    (void)state;
    struct sy_sim_options options = {.record = true};
    run_chain(&options, "cpu:1 dram:10GB/s");
    assert_int_equal(looks, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_a_core),
        cmocka_unit_test(streams_of_a_gpu),
        cmocka_unit_test(three_threads),
        cmocka_unit_test(memory_bandwidth),
        cmocka_unit_test(link_bandwidth),
        cmocka_unit_test(other_tenants),
        cmocka_unit_test(other_tenants_give_way),
        cmocka_unit_test(devices_slow_down),
        cmocka_unit_test(counters_show_the_mean),
        cmocka_unit_test(counters_take_turns),
        cmocka_unit_test(counters_are_noisy),
        cmocka_unit_test(no_counters),
        cmocka_unit_test(stragglers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
