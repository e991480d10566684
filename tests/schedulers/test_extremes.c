/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs whose tasks take no time, a nanosecond or a billion seconds, with and without data: every
 * policy ends, its trace is legal and every number that it and the simulator give is finite; under
 * a job order no job that needs nothing waits until the machine is empty.
 */
#include "fixture.h"

#include "bounds/bounds.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define TASKS 14

static const char *const machines[] = {
    "cpu:3", "cpu:4 gpu:2@pcie3x16", "2x(cpu:2@smt=2 dram:40GB/s) gpu:1@streams=2 fpga:1@regions=3",
    "2x(cpu:2 dram:20GB/s) gpu:8@pcie3x16", /* with so many memories figures are kept */
};

/* What tasks of a graph take on a core, and how many bytes they hand on. */
struct sizes {
    const char *name;
    double time_ns[6], bytes[4];
};
static const struct sizes sizes[] = {
    {"nothing", {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0}},
    {"nothing but data", {0, 0, 0, 0, 0, 0}, {0, 1, 1e6, 1e9}},
    {"a nanosecond", {1, 1, 1, 0, 1, 1}, {0, 0, 1, 0}},
    {"far below a nanosecond", {1e-9, 0, 1e-9, 1e-18, 1, 0}, {0, 1e3, 0, 0}},
    {"a billion seconds", {1e18, 1e18, 1e17, 1e18, 1e18, 1e16}, {0, 1e9, 1e12, 0}},
    {"sync tasks", {0, 1e9, 0, 2e8, 1e6, 0}, {0, 0, 1e6, 1e7}},
    {"all at once", {0, 1e-9, 1, 1e5, 1e9, 1e18}, {0, 1, 1e6, 1e12}},
};

static const char *const orders[] = {"", "+fifo", "+srpt", "+wspt", "+fair", "+share2"};

enum world { PLAIN, NOISE, SHARED, BELIEVED, SLOW_DECISIONS, WORLDS };
static const char *const world_names[WORLDS] = {"plain", "noise", "shared", "believed",
                                                "slow decisions"};

/* --- graphs ------------------------------------------------------------------------------------
 */
static double pick(struct sy_rng *rng, const double *values, uint32_t count) {
    return values[sy_rng_below(rng, count)];
}

/* Half of the tasks name a time for each kind of device, the others for a core alone. */
static void add_task(struct sy_graph *graph, const struct sizes *of, struct sy_rng *rng,
                     sy_kernel_id kernel, const sy_data_id *data, uint32_t task) {
    struct sy_access accesses[TASKS];
    double time_ns[SY_KIND_COUNT] = {INFINITY, INFINITY, INFINITY, INFINITY};
    uint32_t count = 0;
    time_ns[SY_CPU] = pick(rng, of->time_ns, SY_COUNT(of->time_ns));
    if (task % 2) {
        time_ns[SY_GPU] = pick(rng, of->time_ns, SY_COUNT(of->time_ns));
        time_ns[SY_FPGA] = time_ns[SY_CPU] / 4;
    }
    for (uint32_t b = 0; b < task; b++) {
        if (sy_rng_uniform(rng) < 1.5 / (task + 1)) {
            accesses[count++] = (struct sy_access){data[b].index, SY_READ};
        }
    }
    accesses[count++] = (struct sy_access){data[task].index, SY_WRITE};
    struct sy_task_desc desc = {.kernel = kernel,
                                .work = 1,
                                .time_ns = time_ns,
                                .accesses = accesses,
                                .access_count = count};
    sy_task_id id;
    assert_int_equal(sy_graph_add_task(graph, &desc, &id), 0);
}

static struct sy_graph *make_graph(const struct sizes *of, uint32_t tasks, uint64_t seed) {
    struct sy_rng rng = sy_rng_make(seed, 0x65787472, 0);
    struct sy_error error = {0};
    struct sy_graph *graph = sy_graph_create(of->name, false);
    sy_kernel_id kernels[2];
    sy_data_id data[TASKS];
    for (uint32_t k = 0; k < 2; k++) {
        struct sy_kernel_desc desc = {.name = k ? "sync" : "work"};
        desc.variants[SY_CPU] =
            (struct sy_variant){.present = true, .ns_per_work = 1, .demand_bytes_per_s = 3e9};
        assert_int_equal(sy_graph_add_kernel(graph, &desc, &kernels[k]), 0);
    }
    for (uint32_t t = 0; t < tasks; t++) {
        double bytes = pick(&rng, of->bytes, SY_COUNT(of->bytes));
        assert_int_equal(sy_graph_add_data(graph, NULL, bytes, &data[t]), 0);
        add_task(graph, of, &rng, kernels[sy_rng_below(&rng, 2)], data, t);
    }
    assert_int_equal(sy_graph_seal(graph, &error), 0);
    return graph;
}

/* --- worlds ------------------------------------------------------------------------------------
 */
static double horizon_ns(const struct sy_workload *w) {
    double sum = 1e6;
    for (uint32_t t = 0; t < w->task_count; t++) {
        sum += w->best_ns[t];
    }
    for (uint32_t d = 0; d < w->data_count; d++) { /* travels with a nanosecond a byte or so */
        sum += w->data_bytes[d];
    }
    return sum + w->jobs[w->job_count - 1].arrive_ns;
}

static struct sy_sim_options options_of(enum world world, uint64_t seed, double long_ns) {
    static const char *const names[] = {"work", "sync"};
    static double ratios[] = {0.6, 0.7, 0.8, 0.9};
    static const struct sy_interference pairs = {
        .count = 2, .names = (const char **)(uintptr_t)names, .ratio = ratios, .fallback = 0.75};
    struct sy_sim_options options = {.seed = seed, .record = true};
    if (world == NOISE || world == BELIEVED) {
        options.noise_sigma = 0.5;
        options.model_error_sigma = 0.3;
    }
    if (world == SHARED || world == BELIEVED) {
        options.contention = true;
        options.smt = options.gpu = &pairs;
        options.hidden_load = 0.3;
        options.counter_noise = 0.2;
        options.hidden_period_ns = long_ns / 20;
        options.counter_period_ns = long_ns / 50;
        options.belief = world == BELIEVED ? SY_SIM_FILTERED : SY_SIM_RAW;
        options.judge = true;
    }
    options.decision_ns = world == SLOW_DECISIONS ? 10 : 0;
    return options;
}

/* --- what is decided and what comes of it ------------------------------------------------------
 */
static const struct sy_scheduler_ops *watched;
static const char *what;

static uint32_t watch(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                      uint32_t capacity) {
    uint32_t count = watched->decide(s, view, ret, capacity);
    for (uint32_t i = 0; i < count; i++) {
        const struct sy_decision *d = &ret[i];
        const float reasons[] = {d->reason.finish_ns, d->reason.correction_ns, d->reason.slowdown,
                                 d->reason.slowdown_sd, d->reason.utilisation};
        bool finite = isfinite(d->priority) && isfinite(d->expected_ns) && d->expected_ns >= 0;
        for (size_t k = 0; k < SY_COUNT(reasons); k++) {
            finite = finite && isfinite(reasons[k]);
        }
        if (!finite) {
            fail_msg("%s, %s: a decision of priority %g, expected %g ns, finish %g ns, "
                     "correction %g ns, slowdown %g +- %g, utilisation %g",
                     what, watched->name, d->priority, d->expected_ns, (double)reasons[0],
                     (double)reasons[1], (double)reasons[2], (double)reasons[3],
                     (double)reasons[4]);
        }
    }
    return count;
}

static void check_result(const struct sy_workload *w, const char *policy,
                         const struct sy_sim_result *r) {
    const double numbers[] = {r->makespan_ns,  r->jct_mean_ns, r->jct_p99_ns,    r->slowdown_mean,
                              r->slowdown_p99, r->fairness,    r->energy_joules, r->bytes_moved,
                              r->within_0,     r->within_10,   r->within_20};
    for (size_t i = 0; i < SY_COUNT(numbers); i++) {
        if (!isfinite(numbers[i]) || numbers[i] < 0) {
            fail_msg("%s, %s: number %zu of the result is %g", what, policy, i, numbers[i]);
        }
    }
    assert_int_equal(r->task_count, w->task_count);
    for (uint32_t j = 0; j < w->job_count; j++) {
        if (!isfinite(r->jobs[j].done_ns) || !isfinite(r->jobs[j].slowdown) ||
            !(r->jobs[j].slowdown > 0)) {
            fail_msg("%s, %s: job %u is done after %g ns, slowdown %g", what, policy, j,
                     r->jobs[j].done_ns, r->jobs[j].slowdown);
        }
    }
}

/* Searches may be short. */
static const char *full_name(const struct sy_scheduler_ops *ops, const char *order, char *buffer,
                             size_t size) {
    snprintf(buffer, size, "%s%s%s", ops->name, order, ops->takes_number ? ":3" : "");
    return buffer;
}

static void run_policy(struct sy_sim *sim, const struct sy_workload *w,
                       const struct sy_scheduler_ops *ops, const char *order) {
    char policy[64], text[900];
    struct sy_error error = {0};
    struct sy_sim_result result;
    struct sy_scheduler_ops shell = *ops;
    watched = ops;
    shell.decide = watch;
    full_name(ops, order, policy, sizeof policy);
    int code = sy_sim_run_ops(sim, &shell, NULL, &result, &error);
    code = code ? code : sy_sim_check(w, sy_sim_trace(sim), &error);
    code = code ? code : sy_sim_run(sim, policy, &result, &error);
    code = code ? code : sy_sim_check(w, sy_sim_trace(sim), &error);
    if (code) {
        fail_msg("%s, %s: %d %s", what, policy, code, sy_error_format(&error, text, sizeof text));
    }
    check_result(w, policy, &result);
}

static void check_bounds(const struct sy_workload *w) {
    const double numbers[] = {sy_bound_critical_path_ns(w), sy_bound_area_ns(w)};
    for (size_t i = 0; i < SY_COUNT(numbers); i++) {
        if (!isfinite(numbers[i]) || numbers[i] < 0) {
            fail_msg("%s: bound %zu is %g", what, i, numbers[i]);
        }
    }
}

static void run_all(struct fixture *f, enum world world, uint32_t combination) {
    double long_ns = horizon_ns(f->workload);
    struct sy_sim_options options = options_of(world, 1 + combination, long_ns);
    struct sy_sim *sim = fixture_sim(f->workload, &options);
    const struct sy_scheduler_ops *ops;
    check_bounds(f->workload);
    for (uint32_t i = 0; (ops = sy_scheduler_at(i)); i++) {
        run_policy(sim, f->workload, ops, orders[(combination + i) % SY_COUNT(orders)]);
    }
    sy_sim_destroy(sim);
}

static void all_in(enum world world) {
    char text[200];
    uint32_t combination = world;
    for (uint32_t m = 0; m < SY_COUNT(machines); m++) {
        for (uint32_t s = 0; s < SY_COUNT(sizes); s++, combination++) {
            struct fixture f;
            snprintf(text, sizeof text, "%s on \"%s\", %s, seed %u", sizes[s].name, machines[m],
                     world_names[world], 1 + combination);
            what = text;
            fixture_init(&f, machines[m]);
            fixture_add(&f, make_graph(&sizes[s], TASKS, combination), 0, 0, 1);
            fixture_seal(&f);
            run_all(&f, world, combination);
            fixture_finish(&f);
        }
        struct fixture f; /* and a stream of all of them */
        snprintf(text, sizeof text, "a stream on \"%s\", %s, seed %u", machines[m],
                 world_names[world], 1 + combination);
        what = text;
        fixture_init(&f, machines[m]);
        for (uint32_t s = 0; s < SY_COUNT(sizes); s++) {
            uint32_t tasks = s % 3 ? TASKS : 1;
            double arrive_ns = s < 4 ? 1e3 * s : 1e8 * s;
            fixture_add(&f, make_graph(&sizes[s], tasks, combination + s), arrive_ns, s % 3,
                        1 + s % 2);
        }
        fixture_seal(&f);
        run_all(&f, world, combination++);
        fixture_finish(&f);
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
WORLD_TEST(believed, BELIEVED)
WORLD_TEST(slow_decisions, SLOW_DECISIONS)

/* --- with known times ---------------------------------------------------------------------------
 */
/* Found by symph-bench adversarial: the third task, which takes no time, must start before the
 * first one though both could start when the second has ended. */
static struct sy_graph *found_graph(void) {
    static const double cpu_ns[] = {1e8, 1e9, 9e12, 3e4, 2e6}, gpu_ns[] = {5e7, 3e5, 0, 1e7, 8e4};
    struct sy_graph *graph = sy_graph_create("found", false);
    struct sy_kernel_desc desc = {.name = "work"};
    sy_kernel_id kernel;
    sy_data_id data[5];
    sy_task_id id;
    desc.variants[SY_CPU] = (struct sy_variant){.present = true, .ns_per_work = 1};
    assert_int_equal(sy_graph_add_kernel(graph, &desc, &kernel), 0);
    for (uint32_t t = 0; t < 5; t++) {
        double time_ns[SY_KIND_COUNT] = {cpu_ns[t], gpu_ns[t], INFINITY, INFINITY};
        assert_int_equal(sy_graph_add_data(graph, NULL, 0, &data[t]), 0);
        struct sy_access accesses[2] = {{data[t].index, SY_WRITE},
                                        {data[t > 1 ? t - 1 : 0].index, SY_READ}};
        struct sy_task_desc task = {.kernel = kernel,
                                    .work = 1,
                                    .time_ns = time_ns,
                                    .accesses = accesses,
                                    .access_count = t > 1 ? 2 : 1};
        assert_int_equal(sy_graph_add_task(graph, &task, &id), 0);
    }
    assert_int_equal(sy_graph_seal(graph, NULL), 0);
    return graph;
}

/* The default rehearses the usual policies: it can hardly end later than they do. */
static void no_usual_policy_is_better(void **state) {
    (void)state;
    static const char *const usual[] = {"heft", "peft", "dmdas", "dmda", "heteroprio", "lb"};
    const struct sizes some = {"some of no length", {0, 3e4, 3e5, 3e6, 3e7, 3e8}, {0, 1, 1e5, 1e6}};
    for (uint32_t seed = 0; seed <= 60; seed++) {
        struct fixture f;
        bool slow = seed % 2;
        fixture_init(&f, slow ? "cpu:2 gpu:2@link=1GB/s,latency=10us" : "cpu:4 gpu:1@pcie3x16");
        fixture_add(&f, seed ? make_graph(&some, TASKS, seed) : found_graph(), 0, 0, 1);
        fixture_seal(&f);
        double ours_ns = fixture_simulate(f.workload, "symphony", NULL).makespan_ns;
        for (size_t i = 0; i < SY_COUNT(usual); i++) {
            double theirs_ns = fixture_simulate(f.workload, usual[i], NULL).makespan_ns;
            if (ours_ns > 1.005 * theirs_ns) {
                fail_msg("seed %u: %.9g ns, %s %.9g", seed, ours_ns, usual[i], theirs_ns);
            }
        }
        fixture_finish(&f);
    }
}

/* --- nobody starves ----------------------------------------------------------------------------
 */
#define LONG_NS 1e9 /* of a task of the jobs that fill the machine */
#define FILLING 4   /* such jobs */
#define HOPS    3   /* tasks of a job that needs nothing, one behind the other */

static struct sy_graph *make_chain(const char *name, double time_ns, uint32_t tasks) {
    struct sy_error error = {0};
    struct sy_graph *graph = sy_graph_create(name, false);
    struct sy_kernel_desc desc = {.name = name};
    sy_kernel_id kernel;
    sy_data_id datum;
    desc.variants[SY_CPU] = (struct sy_variant){.present = true, .ns_per_work = 1};
    assert_int_equal(sy_graph_add_kernel(graph, &desc, &kernel), 0);
    assert_int_equal(sy_graph_add_data(graph, NULL, 0, &datum), 0);
    for (uint32_t t = 0; t < tasks; t++) {
        sy_task_id id;
        struct sy_access access = {datum.index, SY_READ | SY_WRITE};
        struct sy_task_desc task = {
            .kernel = kernel, .work = time_ns, .accesses = &access, .access_count = 1};
        assert_int_equal(sy_graph_add_task(graph, &task, &id), 0);
    }
    assert_int_equal(sy_graph_seal(graph, &error), 0);
    return graph;
}

/* Jobs of many tasks fill the machine; then come jobs that need nothing, or next to nothing. */
static void fill_and_disturb(struct fixture *f, const char *machine, const char *filling) {
    fixture_init(f, machine);
    for (uint32_t j = 0; j < FILLING; j++) {
        fixture_add(f, fixture_graph(filling), 1e6 * j, 0, 1);
    }
    fixture_add(f, make_chain("sync", 0, HOPS), 1.1 * LONG_NS, 1, 1);
    fixture_add(f, make_chain("blink", 1, HOPS), 1.2 * LONG_NS, 2, 1);
    fixture_add(f, make_chain("sync", 0, 1), 1.3 * LONG_NS, 1, 1);
    fixture_seal(f);
    for (uint32_t t = 0; t < f->workload->job_first_task[FILLING]; t++) { /* as long everywhere */
        for (uint32_t c = 0; c < f->workload->class_count; c++) {
            f->workload->time_ns[(size_t)t * f->workload->class_count + c] = LONG_NS;
        }
        f->workload->best_ns[t] = LONG_NS;
    }
}

/* The papers' networks choose freely: no order binds them. */
static bool follows(const struct sy_scheduler_ops *ops) {
    return strcmp(ops->name, "symphony-paper") != 0 && strcmp(ops->name, "black-box") != 0;
}

/* A task of such a job may have to wait for what a device holds, one task or two, and not more. */
static void look_for_starving(struct sy_sim *sim, const struct sy_workload *w, const char *policy) {
    struct sy_sim_result r = fixture_run(sim, w, policy);
    check_result(w, policy, &r);
    for (uint32_t j = FILLING; j < w->job_count; j++) {
        uint32_t tasks = w->job_first_task[j + 1] - w->job_first_task[j];
        if (r.jobs[j].done_ns > 2.5 * LONG_NS * tasks) {
            fail_msg("\"%s\", %s: job %u, which needs nothing, is done after %.3g s", what, policy,
                     j, r.jobs[j].done_ns * 1e-9);
        }
    }
}

static void none_starves_under_an_order(void **state) {
    (void)state;
    char policy[64];
    struct sy_sim_options options = {.seed = 3, .noise_sigma = 0.2, .record = true};
    for (uint32_t m = 0; m < SY_COUNT(machines); m++) {
        struct fixture f;
        what = machines[m];
        fill_and_disturb(&f, what, "independent:60,work=1000ms");
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        const struct sy_scheduler_ops *ops;
        for (uint32_t i = 0; (ops = sy_scheduler_at(i)); i++) {
            if (follows(ops)) {
                look_for_starving(sim, f.workload, full_name(ops, "+wspt", policy, sizeof policy));
            }
        }
        sy_sim_destroy(sim);
        fixture_finish(&f);
    }
}

/* Some put short jobs first of themselves; tetris among as many tasks as it looks at. */
static void none_starves_where_short_jobs_come_first(void **state) {
    (void)state;
    static const char *const policies[] = {"symphony", "learned", "tetris"};
    struct sy_sim_options options = {.seed = 3, .noise_sigma = 0.2, .record = true};
    struct fixture f;
    what = machines[0];
    fill_and_disturb(&f, what, "independent:15,work=1000ms");
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    for (size_t i = 0; i < SY_COUNT(policies); i++) {
        look_for_starving(sim, f.workload, policies[i]);
    }
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(noise),
        cmocka_unit_test(shared),
        cmocka_unit_test(believed),
        cmocka_unit_test(slow_decisions),
        cmocka_unit_test(no_usual_policy_is_better),
        cmocka_unit_test(none_starves_under_an_order),
        cmocka_unit_test(none_starves_where_short_jobs_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
