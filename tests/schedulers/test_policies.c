/* SPDX-License-Identifier: Apache-2.0
 *
 * Every policy with every job order in every kind of world: it ends, its trace is legal, and no
 * world that only ever slows work down lets it beat a lower bound. Each combination of machine,
 * graph and world runs all policies; the job order rotates, so that all are met many times.
 */
#include "fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const machines[] = {
    "cpu:1",
    "cpu:4 gpu:2",
    "2x(cpu:2@smt=2 dram:40GB/s gpu:1@streams=2) fpga:1@regions=3",
    "gpu:2",
};

static const char *const graphs[] = {
    "cholesky:4",           "qr:3",
    "genomics:4,regions=3", "layered:width=5,depth=6,seed=3,ccr=1",
    "forkjoin:5,phases=2",  "chain:8",
    "independent:20",       "chain:1",
    "stencil:4,steps=4",
};

static const char *const orders[] = {"", "+fifo", "+srpt", "+wspt", "+fair"};

enum world {
    PLAIN,
    NOISE,
    SHARED, /* contention, co-run slowdown, other tenants, noisy counters */
    SLOW_DECISIONS,
    LOSSES,
    SPIKES,
    WRONG_MODEL,
    STREAM,
    STORM, /* a stream in a world with everything at once */
    WORLDS
};
static const char *const world_names[WORLDS] = {"plain",          "noise",  "shared",
                                                "slow decisions", "losses", "spikes",
                                                "wrong model",    "stream", "storm"};

static const char *const names[] = {"gemm", "work"};
static double ratios[] = {0.6, 0.7, 0.8, 0.9};
static const struct sy_interference table = {
    .count = 2, .names = (const char **)(uintptr_t)names, .ratio = ratios, .fallback = 0.75};

#define EVENTS 64

/* All accelerators go and some come back, then one core goes and all return; if there is nothing
 * but accelerators or one core, work stops meanwhile. */
static uint32_t make_losses(const struct sy_machine *m, double bound_ns,
                            struct sy_device_event *events) {
    uint32_t count = 0;
    for (uint32_t pass = 0; pass < 4; pass++) {
        double at_ns = bound_ns * (0.15 + 0.2 * pass);
        for (uint32_t d = 0; d < m->device_count; d++) {
            bool core = m->devices[d].kind == SY_CPU, chosen = core ? d == 0 : true;
            bool now = pass == 0   ? !core
                       : pass == 1 ? !core && d % 2 == 0
                       : pass == 2 ? core && chosen
                                   : true;
            if (now && count < EVENTS) {
                bool lost = pass == 0 || pass == 2;
                events[count++] = (struct sy_device_event){at_ns, d, lost};
            }
        }
    }
    return count;
}

static struct sy_sim_options options_of(enum world world, uint64_t seed, double bound_ns,
                                        const struct sy_machine *machine,
                                        struct sy_device_event *events) {
    struct sy_sim_options options = {.seed = seed, .record = true};
    switch (world) {
    case NOISE:
        options.noise_sigma = 0.3;
        break;
    case SHARED:
    case STREAM:
        options.contention = true;
        options.smt = options.gpu = &table;
        options.hidden_load = 0.3;
        options.counter_noise = 0.2;
        options.counter_live = 3;
        break;
    case SLOW_DECISIONS:
        options.decision_ns = bound_ns / 50;
        break;
    case LOSSES:
        options.device_event_count = make_losses(machine, bound_ns, events);
        options.device_events = events;
        break;
    case SPIKES:
        options.spike_probability = 0.1;
        options.spike_factor = 8;
        break;
    case WRONG_MODEL:
        options.model_error_sigma = 0.5;
        break;
    case STORM:
        options = options_of(SHARED, seed, bound_ns, machine, events);
        options.noise_sigma = options.model_error_sigma = 0.3;
        options.spike_probability = 0.05;
        options.spike_factor = 5;
        options.decision_ns = bound_ns / 200;
        options.device_event_count = make_losses(machine, bound_ns, events);
        options.device_events = events;
        break;
    default:
        break;
    }
    return options;
}

static bool never_faster(enum world world) {
    return world != NOISE && world != WRONG_MODEL;
}

/* "greedy-true-rollout" and "anneal" search: a short search will do. */
static void full_name(const struct sy_scheduler_ops *ops, const char *order, char *buffer,
                      size_t size) {
    bool searches =
        strcmp(ops->name, "anneal") == 0 || strcmp(ops->name, "greedy-true-rollout") == 0;
    snprintf(buffer, size, "%s%s%s", ops->name, order, searches ? ":3" : "");
}

static void run(struct sy_sim *sim, const struct sy_workload *workload, const char *policy,
                double bound_ns, const char *what) {
    struct sy_error error = {0};
    struct sy_sim_result result;
    char text[900];
    int code = sy_sim_run(sim, policy, &result, &error);
    if (code) {
        fail_msg("%s, %s: run: %d %s", what, policy, code,
                 sy_error_format(&error, text, sizeof text));
    }
    code = sy_sim_check(workload, sy_sim_trace(sim), &error);
    if (code) {
        fail_msg("%s, %s: check: %s", what, policy, sy_error_format(&error, text, sizeof text));
    }
    assert_int_equal(result.task_count, workload->task_count);
    if (result.makespan_ns < bound_ns * (1 - 1e-9)) {
        fail_msg("%s, %s: makespan %.9g below the bound %.9g", what, policy, result.makespan_ns,
                 bound_ns);
    }
}

static void open_workload(struct fixture *f, const char *machine, const char *graph,
                          enum world world) {
    double gap_ns = 0; /* of a stream: jobs overlap, but not all */
    if (world >= STREAM) {
        fixture_one(f, machine, graph);
        gap_ns = 0.7 * f->workload->job_isolated_ns[0];
        fixture_finish(f);
    }
    fixture_init(f, machine);
    for (uint32_t j = 0; j < (world >= STREAM ? 6u : 1u); j++) {
        fixture_add(f, fixture_graph(graph), j * gap_ns, j % 3, 1 + j % 2);
    }
    fixture_seal(f);
}

static void run_all(const char *machine, const char *graph, enum world world, uint32_t combination,
                    uint32_t order_count) {
    struct fixture f;
    struct sy_device_event events[EVENTS];
    char what[200], policy[64];
    uint64_t seed = 1000 + combination;
    open_workload(&f, machine, graph, world);
    double bound_ns = f.workload->job_isolated_ns[0], floor_ns = 0;
    if (world < STREAM && never_faster(world)) {
        floor_ns = fmax(sy_bound_critical_path_ns(f.workload), sy_bound_area_ns(f.workload));
    }
    struct sy_sim_options options = options_of(world, seed, bound_ns, f.machine, events);
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    snprintf(what, sizeof what, "%s on \"%s\", %s, seed %lu", graph, machine, world_names[world],
             seed);
    const struct sy_scheduler_ops *ops;
    for (uint32_t i = 0; (ops = sy_scheduler_at(i)); i++) {
        for (uint32_t k = 0; k < order_count; k++) {
            full_name(ops, orders[(combination + i + k) % SY_COUNT(orders)], policy, sizeof policy);
            run(sim, f.workload, policy, floor_ns, what);
        }
    }
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static void all_in(enum world world) {
    uint32_t combination = world;
    for (uint32_t m = 0; m < SY_COUNT(machines); m++) {
        for (uint32_t g = 0; g < SY_COUNT(graphs); g++) {
            run_all(machines[m], graphs[g], world, combination, 1);
            combination += 7;
        }
    }
    for (uint32_t m = 0; m < SY_COUNT(machines); m++) { /* and once with every order */
        run_all(machines[m], "layered:width=5,depth=5,seed=9,ccr=1", world, combination + m,
                SY_COUNT(orders));
    }
}

#define WORLD_TEST(name, world)                                                                    \
    static void name(void **state) {                                                               \
        (void)state;                                                                               \
        all_in(world);                                                                             \
    }
WORLD_TEST(plain, PLAIN)
WORLD_TEST(noise, NOISE)
WORLD_TEST(shared, SHARED)
WORLD_TEST(slow_decisions, SLOW_DECISIONS)
WORLD_TEST(losses, LOSSES)
WORLD_TEST(spikes, SPIKES)
WORLD_TEST(wrong_model, WRONG_MODEL)
WORLD_TEST(stream, STREAM)
WORLD_TEST(storm, STORM)

/* A GPU that fails again and again, while the only core is busy with one long task: what comes back
 * is placed anew each time, whatever else the policy still remembers of it. */
static void losses_over_and_over(void **state) {
    (void)state;
    enum { LOSSES_COUNT = 150 };
    struct sy_device_event events[2 * LOSSES_COUNT];
    struct fixture f;
    char policy[64];
    fixture_init(&f, "cpu:1 gpu:1");
    for (uint32_t j = 0; j < 3; j++) { /* 1 ms on the GPU, 100 ms on the core */
        struct sy_graph *graph = fixture_graph("independent:6,work=100ms,bytes=1000");
        fixture_add(&f, graph, 0, j, 1);
    }
    fixture_seal(&f);
    for (uint32_t i = 0; i < f.workload->task_count; i++) {
        f.workload->time_ns[i * f.workload->class_count + f.machine->devices[1].class_index] = 1e6;
        f.workload->best_ns[i] = 1e6;
    }
    for (uint32_t i = 0; i < LOSSES_COUNT; i++) {
        events[2 * i] = (struct sy_device_event){3e5 * (i + 1), 1, true};
        events[2 * i + 1] = (struct sy_device_event){3e5 * (i + 1) + 1e4, 1, false};
    }
    struct sy_sim_options options = {
        .record = true, .device_events = events, .device_event_count = 2 * LOSSES_COUNT};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    const struct sy_scheduler_ops *ops;
    for (uint32_t i = 0; (ops = sy_scheduler_at(i)); i++) {
        for (uint32_t k = 0; k < SY_COUNT(orders); k++) {
            full_name(ops, orders[k], policy, sizeof policy);
            run(sim, f.workload, policy, 0, "a GPU that fails 150 times");
        }
    }
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* Jobs that arrive when there is nothing to run them on are planned and run all the same. */
static void arrivals_when_all_is_lost(void **state) {
    (void)state;
    const struct sy_device_event events[] = {{5, 0, true}, {1e6, 0, false}};
    struct fixture f;
    char policy[64];
    fixture_init(&f, "cpu:1");
    for (uint32_t j = 0; j < 3; j++) {
        fixture_add(&f, fixture_graph("genomics:4,regions=3"), 10.0 * (j + 1), j, 1);
    }
    fixture_seal(&f);
    struct sy_sim_options options = {
        .record = true, .device_events = events, .device_event_count = SY_COUNT(events)};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    const struct sy_scheduler_ops *ops;
    for (uint32_t i = 0; (ops = sy_scheduler_at(i)); i++) {
        for (uint32_t k = 0; k < SY_COUNT(orders); k++) {
            full_name(ops, orders[k], policy, sizeof policy);
            run(sim, f.workload, policy, 0, "jobs that arrive when the only core is lost");
        }
    }
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* Explicit dependencies may leave open who comes first, the writer or a reader: either will do. */
static void races_of_explicit_graphs(void **state) {
    (void)state;
    char policy[64];
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct fixture f;
        struct sy_error error = {0};
        struct sy_graph *graph = sy_graph_create("race", true);
        struct sy_kernel_desc desc = {.name = "any"};
        sy_kernel_id kernel;
        sy_data_id datum;
        sy_task_id id;
        desc.variants[SY_CPU] = (struct sy_variant){.present = true, .ns_per_work = 1};
        assert_int_equal(sy_graph_add_kernel(graph, &desc, &kernel), 0);
        assert_int_equal(sy_graph_add_data(graph, NULL, 1e9, &datum), 0);
        for (uint32_t t = 0; t < 12; t++) {
            struct sy_access access = {datum.index, t % 4 == 0 ? SY_WRITE : SY_READ};
            struct sy_task_desc task = {
                .kernel = kernel, .work = 1e7 * (t + 1), .accesses = &access, .access_count = 1};
            assert_int_equal(sy_graph_add_task(graph, &task, &id), 0);
        }
        assert_int_equal(sy_graph_seal(graph, &error), 0);
        fixture_init(&f, "cpu:2 gpu:2");
        fixture_add(&f, graph, 0, 0, 1);
        fixture_seal(&f);
        struct sy_sim_options options = {.seed = seed, .contention = seed % 2 == 0};
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        const struct sy_scheduler_ops *ops;
        for (uint32_t i = 0; (ops = sy_scheduler_at(i)); i++) {
            full_name(ops, "", policy, sizeof policy);
            assert_int_equal(fixture_run(sim, f.workload, policy).task_count, 12);
        }
        sy_sim_destroy(sim);
        fixture_finish(&f);
    }
}

/* Jobs without tasks arrive and leave; a workload of nothing ends at once. */
static void empty_jobs(void **state) {
    (void)state;
    for (uint32_t jobs = 1; jobs <= 3; jobs++) {
        struct fixture f;
        struct sy_error error = {0};
        fixture_init(&f, "cpu:2");
        for (uint32_t j = 0; j < jobs; j++) {
            struct sy_graph *graph = j == 1 ? fixture_graph("chain:3") : sy_graph_create("e", true);
            if (j != 1) {
                assert_int_equal(sy_graph_seal(graph, &error), 0);
            }
            fixture_add(&f, graph, j * 10.0, 0, 1);
        }
        fixture_seal(&f);
        struct sy_sim_options options = {.record = true};
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        for (uint32_t i = 0; sy_scheduler_at(i); i++) {
            run(sim, f.workload, sy_scheduler_at(i)->name, 0, "jobs without tasks");
        }
        sy_sim_destroy(sim);
        fixture_finish(&f);
    }
}

/* A name that is wrong says so, and what was meant. */
static void unknown_names(void **state) {
    (void)state;
    const char *args = NULL;
    static const char *const wrong[] = {"heftt",      "",
                                        "heft+lifo",  "heft:x",
                                        "heft+srpt:", "heft x",
                                        "heft:3",     "anneal:0",
                                        "anneal:x",   "anneal:1000000000000"};
    for (uint32_t i = 0; i < SY_COUNT(wrong); i++) {
        struct sy_error error = {0};
        assert_null(sy_scheduler_find(wrong[i], &args, &error));
        assert_true(error.message[0]);
    }
    struct sy_error error = {0};
    sy_scheduler_find("heftt", &args, &error);
    assert_non_null(strstr(error.hint, "heft"));
    for (uint32_t i = 0; sy_scheduler_at(i); i++) {
        assert_ptr_equal(sy_scheduler_find(sy_scheduler_at(i)->name, &args, NULL),
                         sy_scheduler_at(i));
        assert_string_equal(args, "");
    }
    assert_string_equal(sy_scheduler_find("mct+fair", &args, NULL)->name, "dmda");
    assert_string_equal(args, "+fair");
    assert_string_equal(sy_scheduler_find("anneal+srpt:5", &args, NULL)->name, "anneal");
    assert_string_equal(args, "+srpt:5");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(noise),
        cmocka_unit_test(shared),
        cmocka_unit_test(slow_decisions),
        cmocka_unit_test(losses),
        cmocka_unit_test(spikes),
        cmocka_unit_test(wrong_model),
        cmocka_unit_test(stream),
        cmocka_unit_test(storm),
        cmocka_unit_test(empty_jobs),
        cmocka_unit_test(races_of_explicit_graphs),
        cmocka_unit_test(unknown_names),
        cmocka_unit_test(arrivals_when_all_is_lost),
        cmocka_unit_test(losses_over_and_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
