/* SPDX-License-Identifier: Apache-2.0
 *
 * The learned correction: weights of 0 score as the heuristic does; wild weights still make legal
 * schedules, the same ones for the same seed; corrections stay within the guard's bound and say so;
 * where durations are far off the network is set aside. It moves tasks between devices only: where
 * all are equal, and between jobs, the heuristic's order stands. A job alone, and a mix of very
 * long and very short ones, are left to the heuristic.
 */
#include "fixture.h"

#include "schedulers/late_binding.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const machines[] = {
    "cpu:1", "2x(cpu:4 dram:40GB/s) gpu:2@pcie3x16",
    "2x(cpu:2@smt=2 dram:20GB/s) gpu:1@pcie3x8 fpga:1@regions=2",
    "2x(cpu:2 dram:20GB/s) gpu:8@pcie3x16"}; /* with so many memories figures are kept */

static void open_stream(struct fixture *f, const char *machine) {
    static const char *const graphs[] = {
        "cholesky:5", "genomics:5", "layered:width=6,depth=4", "forkjoin:5",
        "fft:3",      "gnn:3",      "stencil:5,steps=4"};
    fixture_init(f, machine);
    for (uint32_t j = 0; j < SY_COUNT(graphs); j++) {
        fixture_add(f, fixture_graph(graphs[j]), j * 2e7, j % 3, 1 + j % 2);
    }
    fixture_seal(f);
}

static struct sy_weights weights_of(const float *block) {
    return (struct sy_weights){
        .kind = LEARNED_KIND, .shape = LEARNED_SHAPE, .count = LEARNED_COUNT, .block = block};
}

static void fill(float *block, double scale, uint64_t seed) {
    struct sy_rng rng = sy_rng_make(seed, 0x746c, 0);
    for (uint32_t i = 0; i < LEARNED_COUNT; i++) {
        block[i] = (float)(scale * sy_rng_normal(&rng));
    }
}

static struct sy_sim_options options_of(const struct sy_policy_setup *setup) {
    return (struct sy_sim_options){.seed = 5,
                                   .noise_sigma = 0.2,
                                   .contention = true,
                                   .hidden_load = 0.3,
                                   .counter_noise = 0.3,
                                   .belief = SY_SIM_FILTERED,
                                   .setup = setup,
                                   .record = true};
}

/* --- what is decided, seen from outside --------------------------------------------------------
 */
static struct {
    uint32_t guards[SY_GUARD_PLAN + 1];
    double most; /* |correction| over the task's least time */
} seen;

static uint32_t watch(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                      uint32_t capacity) {
    uint32_t count = sy_late_decide(s, view, ret, capacity);
    for (uint32_t i = 0; i < count; i++) {
        if (ret[i].kind == SY_RUN) {
            double least = fmax(view->best_ns[ret[i].task], 1);
            seen.guards[ret[i].reason.guard]++;
            seen.most = fmax(seen.most, fabs((double)ret[i].reason.correction_ns) / least);
            assert_true(isfinite(ret[i].reason.finish_ns) && ret[i].reason.finish_ns >= 0);
            assert_in_range((int)(100 * ret[i].reason.utilisation), 0, 100);
        }
    }
    return count;
}

static struct sy_sim_result run(const struct fixture *f, const struct sy_sim_options *options) {
    struct sy_scheduler_ops ops = sy_policy_learned;
    struct sy_sim_result result = {0};
    struct sy_error error = {0};
    struct sy_sim *sim = fixture_sim(f->workload, options);
    ops.decide = watch;
    memset(&seen, 0, sizeof seen);
    if (sy_sim_run_ops(sim, &ops, NULL, &result, &error)) {
        fail_msg("%s", error.message);
    }
    if (sy_sim_check(f->workload, sy_sim_trace(sim), &error)) {
        fail_msg("%s", error.message);
    }
    sy_sim_destroy(sim);
    return result;
}

/* --- tests --------------------------------------------------------------------------------------
 */
static void nothing_learned_adds_nothing(void **state) {
    (void)state;
    float zero[LEARNED_COUNT] = {0};
    struct sy_weights weights = weights_of(zero);
    struct sy_policy_setup setup = {.weights = &weights};
    struct sy_sim_options options = options_of(&setup);
    for (size_t m = 0; m < SY_COUNT(machines); m++) {
        struct fixture f;
        open_stream(&f, machines[m]);
        run(&f, &options);
        assert_true(seen.most == 0);
        assert_int_equal(seen.guards[SY_GUARD_NONE], 0);
        assert_int_equal(seen.guards[SY_GUARD_BOUNDED], 0);
        fixture_finish(&f);
    }
}

static void wild_weights_decide_legally(void **state) {
    (void)state;
    float block[LEARNED_COUNT];
    struct sy_weights weights = weights_of(block);
    struct sy_policy_setup setup = {.weights = &weights};
    struct sy_sim_options options = options_of(&setup);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct fixture f;
        fill(block, seed % 2 ? 0.5 : 20, seed);
        open_stream(&f, machines[seed / 2 % SY_COUNT(machines)]);
        double once = run(&f, &options).slowdown_mean;
        assert_true(seen.most <= LATE_BOUND * 1.001);
        bool cut = seen.guards[SY_GUARD_BOUNDED] > 0;
        assert_true(seed % 2 || cut || f.machine->device_count == 1);
        assert_true(run(&f, &options).slowdown_mean == once);
        fixture_finish(&f);
    }
}

/* Two tasks that take next to no time on a GPU, with much data between them: whatever the network
 * thinks of the first, it does not send it away from the second. */
static struct sy_graph *short_tasks(void) {
    struct sy_graph *graph = sy_graph_create("short", false);
    struct sy_kernel_desc desc = {.name = "any"};
    sy_kernel_id kernel;
    sy_data_id datum;
    sy_task_id task;
    desc.variants[SY_CPU] = (struct sy_variant){.present = true, .ns_per_work = 1};
    assert_int_equal(sy_graph_add_kernel(graph, &desc, &kernel), 0);
    assert_int_equal(sy_graph_add_data(graph, NULL, 6e5, &datum), 0);
    for (uint32_t t = 0; t < 2; t++) {
        double time_ns[SY_KIND_COUNT] = {t ? 266e3 : 209, t ? 600 : 97, INFINITY, INFINITY};
        struct sy_access access = {datum.index, t ? SY_READ : SY_WRITE};
        struct sy_task_desc one = {.kernel = kernel,
                                   .work = 1,
                                   .time_ns = time_ns,
                                   .accesses = &access,
                                   .access_count = 1};
        assert_int_equal(sy_graph_add_task(graph, &one, &task), 0);
    }
    assert_int_equal(sy_graph_seal(graph, NULL), 0);
    return graph;
}

static void results_do_not_travel_for_little(void **state) {
    (void)state;
    static const char *const links[] = {"cpu:4 gpu:2@link=1GB/s,latency=10us",
                                        "2x(cpu:2) gpu:8@link=1GB/s,latency=10us"};
    float block[LEARNED_COUNT];
    struct sy_weights weights = weights_of(block);
    struct sy_policy_setup setup = {.weights = &weights};
    struct sy_sim_options options = {.setup = &setup, .record = true};
    for (uint64_t seed = 1; seed <= 80; seed++) {
        struct fixture f;
        fill(block, 20, seed);
        fixture_init(&f, links[seed % SY_COUNT(links)]);
        fixture_add(&f, short_tasks(), 0, 0, 1);
        fixture_seal(&f);
        double makespan_ns = run(&f, &options).makespan_ns;
        if (makespan_ns > 698) {
            fail_msg("seed %lu: %.0f ns, not 697", seed, makespan_ns);
        }
        fixture_finish(&f);
    }
}

static const char *const alike[] = {"cholesky:5", "lu:5", "qr:5"};

static void run_jobs(const char *const *graphs, uint32_t count,
                     const struct sy_sim_options *options) {
    struct fixture f;
    fixture_init(&f, machines[1]);
    for (uint32_t j = 0; j < count; j++) {
        fixture_add(&f, fixture_graph(graphs[j]), j, 0, 1);
    }
    fixture_seal(&f);
    run(&f, options);
    fixture_finish(&f);
}

static void far_off_durations_are_doubted(void **state) {
    (void)state;
    float block[LEARNED_COUNT];
    fill(block, 0.5, 9);
    struct sy_weights weights = weights_of(block);
    struct sy_policy_setup setup = {.weights = &weights};
    struct sy_sim_options options = options_of(&setup);
    run_jobs(alike, SY_COUNT(alike), &options);
    assert_int_equal(seen.guards[SY_GUARD_FALLBACK], 0);
    options.model_error_sigma = 3;
    run_jobs(alike, SY_COUNT(alike), &options);
    assert_true(seen.guards[SY_GUARD_FALLBACK] > 0);
    setup.without = SY_PART_GUARD;
    run_jobs(alike, SY_COUNT(alike), &options);
    assert_int_equal(seen.guards[SY_GUARD_FALLBACK], 0);
}

/* Alone, or between jobs that differ in length by more than most that it was trained with, the
 * heuristic decides. */
static void only_where_it_pays(void **state) {
    (void)state;
    static const char *const wide[] = {"stages:5,work=0.01", "stages:5,work=100",
                                       "stages:5,work=0.01"};
    float block[LEARNED_COUNT];
    fill(block, 0.5, 9);
    struct sy_weights weights = weights_of(block);
    struct sy_policy_setup setup = {.weights = &weights};
    struct sy_sim_options options = options_of(&setup);
    run_jobs(alike, 1, &options);
    assert_true(seen.most == 0);
    run_jobs(alike, SY_COUNT(alike), &options);
    assert_true(seen.most > 0);
    assert_int_equal(seen.guards[SY_GUARD_FALLBACK], 0);
    run_jobs(wide, SY_COUNT(wide), &options);
    assert_true(seen.guards[SY_GUARD_FALLBACK] > 0);
}

/* Which task comes first is not the network's: on one core nothing is left to it, and a weight on
 * the kind of device changes nothing where there is one kind. */
static void order_is_the_heuristics(void **state) {
    (void)state;
    static const char *const equal[] = {"cpu:1", "4x(cpu:4 dram:40GB/s)"};
    float block[LEARNED_COUNT] = {0};
    struct sy_weights weights = weights_of(block);
    struct sy_policy_setup setup = {.weights = &weights};
    struct sy_sim_options options = options_of(&setup);
    for (size_t m = 0; m < SY_COUNT(equal); m++) {
        struct fixture f;
        open_stream(&f, equal[m]);
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        double plain = fixture_run(sim, f.workload, "lb-cont+wspt").slowdown_mean;
        sy_sim_destroy(sim);
        fill(block, m ? 0 : 20, 3);
        block[LEARNED_CPU] = 3;
        assert_true(run(&f, &options).slowdown_mean == plain);
        assert_true(seen.most > 0); /* it was asked */
        fixture_finish(&f);
    }
}

static void other_layouts_are_refused(void **state) {
    (void)state;
    float block[LEARNED_COUNT] = {0};
    struct sy_weights weights = weights_of(block);
    struct sy_policy_setup setup = {.weights = &weights};
    struct sy_sim_options options = options_of(&setup);
    struct sy_sim_result result;
    struct fixture f;
    fixture_one(&f, "cpu:2", "chain:3");
    for (int wrong = 0; wrong < 2; wrong++) {
        struct sy_error error = {0};
        weights = weights_of(block);
        weights.shape += wrong == 0;
        weights.count -= wrong == 1;
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        assert_int_equal(sy_sim_run(sim, "learned", &result, &error), -EINVAL);
        sy_sim_destroy(sim);
    }
    fixture_finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_learned_adds_nothing),
        cmocka_unit_test(wild_weights_decide_legally),
        cmocka_unit_test(results_do_not_travel_for_little),
        cmocka_unit_test(far_off_durations_are_doubted),
        cmocka_unit_test(only_where_it_pays),
        cmocka_unit_test(order_is_the_heuristics),
        cmocka_unit_test(other_layouts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
