/* SPDX-License-Identifier: Apache-2.0
 *
 * Timelines worked out by hand, to the nanosecond: copies, FPGA regions, arrivals, decisions that
 * take time, devices that go and come back; and decisions that no world can carry out.
 */
#include "scripted.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* One byte per nanosecond and 100 ns latency between host (0) and GPU (1). */
#define CPU_GPU "cpu:1 gpu:1@link=1GB/s,latency=100ns dram:1000GB/s"

enum { CPU, GPU };

static struct sy_graph *explicit_graph(void) {
    struct sy_graph *graph = sy_graph_create("by hand", false);
    assert_non_null(graph);
    return graph;
}

/* A (cpu, 1000) writes x; B (gpu, 2000) reads the input and x, writes y; C (cpu, 700) reads y. */
static void open_three(struct fixture *f) {
    struct sy_graph *graph = explicit_graph();
    uint32_t a = script_kernel(graph, "a", 1000, 0, 0, 0);
    uint32_t b = script_kernel(graph, "b", 0, 2000, 0, 0);
    uint32_t c = script_kernel(graph, "c", 700, 0, 0, 0);
    uint32_t input = script_data(graph, 200), x = script_data(graph, 500);
    uint32_t y = script_data(graph, 300);
    script_task(graph, a, (struct sy_access[]){{x, SY_WRITE}, {0, 0}});
    script_task(graph, b,
                (struct sy_access[]){{input, SY_READ}, {x, SY_READ}, {y, SY_WRITE}, {0, 0}});
    script_task(graph, c, (struct sy_access[]){{y, SY_READ}, {0, 0}});
    script_open(f, CPU_GPU, graph);
}

static void copies_when_ready(void **state) {
    (void)state;
    struct fixture f;
    open_three(&f);
    script.device = (uint32_t[]){CPU, GPU, CPU};
    struct sy_sim_options options = {.record = true};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    struct sy_sim_result result = fixture_run(sim, f.workload, "script");
    assert_ran(sim, 0, CPU, 0, 1000);
    assert_copied(sim, 0, 1, 1000, 1300); /* asked for when B is committed */
    assert_copied(sim, 1, 1, 1000, 1600);
    assert_ran(sim, 1, GPU, 1600, 3600);
    assert_copied(sim, 2, 0, 3600, 4000);
    assert_ran(sim, 2, CPU, 4000, 4700);
    assert_near(result.makespan_ns, 4700, 1e-6);
    assert_near(result.bytes_moved, 1000, 1e-9);
    assert_int_equal(result.transfer_count, 3);
    assert_near(result.device_busy_ns[CPU], 1700, 1e-6);
    assert_near(result.device_busy_ns[GPU], 2000, 1e-6);
    /* Only A did not wait for data. */
    assert_near(result.within_0, 1 / 3.0, 1e-12);
    const struct sy_machine *m = f.machine;
    double joules = m->devices[CPU].busy_watts * 1700 + m->devices[CPU].idle_watts * 3000 +
                    m->devices[GPU].busy_watts * 2000 + m->devices[GPU].idle_watts * 2700;
    assert_near(result.energy_joules, joules * 1e-9, 1e-12);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static void copies_ahead(void **state) {
    (void)state;
    struct fixture f;
    open_three(&f);
    script.device = (uint32_t[]){CPU, GPU, CPU};
    script.ahead = true;
    struct sy_sim_options options = {.record = true};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "script");
    assert_copied(sim, 0, 1, 0, 300); /* the input travels while A runs */
    assert_copied(sim, 1, 1, 1000, 1600);
    assert_ran(sim, 1, GPU, 1600, 3600);
    const struct sy_span *stall = fixture_span(sy_sim_trace(sim), SY_SPAN_STALL, 1);
    assert_near(stall->start_ns, 1000, 1e-6);
    assert_near(stall->end_ns, 1600, 1e-6);
    assert_ran(sim, 2, CPU, 4000, 4700);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* Two readers of one datum in one memory share one copy; a higher priority goes first. */
static void shared_copy_and_priority(void **state) {
    (void)state;
    struct fixture f;
    struct sy_graph *graph = explicit_graph();
    uint32_t kernel = script_kernel(graph, "k", 0, 1000, 0, 0);
    uint32_t x = script_data(graph, 400);
    for (int i = 0; i < 3; i++) {
        script_task(graph, kernel, (struct sy_access[]){{x, SY_READ}, {0, 0}});
    }
    script_open(&f, CPU_GPU, graph);
    script.device = (uint32_t[]){GPU, GPU, GPU};
    script.priority = (double[]){3, 1, 2};
    struct sy_sim_options options = {.record = true};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    struct sy_sim_result result = fixture_run(sim, f.workload, "script");
    assert_int_equal(result.transfer_count, 1);
    assert_ran(sim, 0, GPU, 500, 1500);
    assert_ran(sim, 2, GPU, 1500, 2500);
    assert_ran(sim, 1, GPU, 2500, 3500);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* An image of 1 MB through a port of 100 MB/s, then 1 ms: 11 ms, one region at a time. */
#define IMAGE_NS 11e6

static void open_fpga(struct fixture *f) {
    struct sy_graph *graph = explicit_graph();
    uint32_t a = script_kernel(graph, "a", 0, 0, 1000, 0);
    uint32_t b = script_kernel(graph, "b", 0, 0, 2000, 0);
    script_task(graph, a, NULL);
    script_task(graph, b, NULL);
    script_task(graph, a, NULL);
    script_task(graph, b, NULL);
    script_open(f, "cpu:1 fpga:1@regions=2,port=100MB/s,image=1MB,init=1ms", graph);
    assert_near(f->workload->image_ns[0], IMAGE_NS, 1e-3);
}

static void fpga_regions(void **state) {
    (void)state;
    struct fixture f;
    open_fpga(&f);
    script.device = (uint32_t[]){1, 2, 1, 1}; /* a, a and b in the first region, b in the second */
    struct sy_sim_options options = {.record = true};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    struct sy_sim_result result = fixture_run(sim, f.workload, "script");
    assert_ran(sim, 0, 1, IMAGE_NS, IMAGE_NS + 1000);
    assert_ran(sim, 2, 1, IMAGE_NS + 1000, IMAGE_NS + 2000); /* the image is there */
    assert_ran(sim, 1, 2, 2 * IMAGE_NS, 2 * IMAGE_NS + 2000);
    /* The first region wants another image while the port loads the second's. */
    assert_ran(sim, 3, 1, 3 * IMAGE_NS, 3 * IMAGE_NS + 2000);
    assert_int_equal(result.reconfigure_count, 3);
    assert_int_equal(count_spans(sim, SY_SPAN_RECONFIGURE), 3);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* An image asked for by decision is there when its task comes. */
static void fpga_reconfigure_decision(void **state) {
    (void)state;
    struct fixture f;
    open_fpga(&f);
    const struct sy_decision first[] = {{.kind = SY_RECONFIGURE, .task = 1, .device = 1},
                                        {.kind = SY_RUN, .task = 1, .device = 1},
                                        {.kind = SY_RUN, .task = 0, .device = 2}};
    script.first = first;
    script.first_count = 3;
    script.device = (uint32_t[]){2, 1, 2, 1};
    struct sy_sim_options options = {.record = true};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    struct sy_sim_result result = fixture_run(sim, f.workload, "script");
    assert_ran(sim, 1, 1, IMAGE_NS, IMAGE_NS + 2000);
    assert_ran(sim, 3, 1, IMAGE_NS + 2000, IMAGE_NS + 4000);
    assert_ran(sim, 0, 2, 2 * IMAGE_NS, 2 * IMAGE_NS + 1000);
    assert_int_equal(result.reconfigure_count, 2);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* A region that is lost forgets its image, and leaves the port to the next. */
static void fpga_loss(void **state) {
    (void)state;
    struct fixture f;
    open_fpga(&f);
    script.device = (uint32_t[]){1, 2, 1, 2};
    const struct sy_device_event events[] = {{4e6, 1, true}, {5e6, 1, false}};
    struct sy_sim_options options = {
        .record = true, .device_events = events, .device_event_count = 2};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "script");
    assert_ran(sim, 1, 2, 4e6 + IMAGE_NS, 4e6 + IMAGE_NS + 2000);
    assert_ran(sim, 0, 1, 4e6 + 2 * IMAGE_NS, 4e6 + 2 * IMAGE_NS + 1000);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static void open_pair(struct fixture *f) {
    struct sy_graph *graph = explicit_graph();
    uint32_t kernel = script_kernel(graph, "k", 1000, 2000, 0, 0);
    script_task(graph, kernel, NULL);
    script_task(graph, kernel, NULL);
    script_open(f, CPU_GPU, graph);
}

static void loss_and_return(void **state) {
    (void)state;
    struct fixture f;
    open_pair(&f);
    script.device = (uint32_t[]){GPU, GPU};
    script.fallback = (uint32_t[]){CPU, SY_NONE};
    const struct sy_device_event events[] = {{500, GPU, true}, {700, GPU, false}};
    struct sy_sim_options options = {
        .record = true, .device_events = events, .device_event_count = 2};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    struct sy_sim_result result = fixture_run(sim, f.workload, "script");
    const struct sy_span *aborted = fixture_span(sy_sim_trace(sim), SY_SPAN_ABORTED, 0);
    assert_near(aborted->start_ns, 0, 1e-6);
    assert_near(aborted->end_ns, 500, 1e-6);
    assert_ran(sim, 0, CPU, 500, 1500); /* again from the start, elsewhere */
    assert_ran(sim, 1, GPU, 700, 2700); /* waited for the device to return */
    const struct sy_span *lost = fixture_span(sy_sim_trace(sim), SY_SPAN_LOST, SY_NONE);
    assert_near(lost->start_ns, 500, 1e-6);
    assert_near(lost->end_ns, 700, 1e-6);
    assert_int_equal(result.task_count, 2);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* Lost twice, or returned without having gone: nothing happens. */
static void loss_twice(void **state) {
    (void)state;
    struct fixture f;
    open_pair(&f);
    script.device = (uint32_t[]){GPU, CPU};
    script.fallback = (uint32_t[]){CPU, CPU};
    const struct sy_device_event events[] = {
        {100, CPU, false}, {500, GPU, true}, {600, GPU, true}, {700, GPU, false}};
    struct sy_sim_options options = {
        .record = true, .device_events = events, .device_event_count = 4};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "script");
    assert_int_equal(count_spans(sim, SY_SPAN_ABORTED), 1);
    assert_int_equal(count_spans(sim, SY_SPAN_LOST), 1);
    assert_ran(sim, 0, CPU, 1000, 2000);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static void slow_decisions(void **state) {
    (void)state;
    struct fixture f;
    open_pair(&f);
    script.device = (uint32_t[]){CPU, GPU};
    struct sy_sim_options options = {.record = true, .decision_ns = 100};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    struct sy_sim_result result = fixture_run(sim, f.workload, "script");
    assert_ran(sim, 0, CPU, 100, 1100);
    assert_ran(sim, 1, GPU, 200, 2200);
    assert_int_equal(result.decision_count, 2);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* A clock that only the policy moves: 5000 ns to plan a job, 100 ns to decide. */
static double fake_ns;
static double fake_clock(void) {
    return fake_ns;
}
static void plan_slowly(void) {
    fake_ns += 5000;
}
static void decide_slowly(const struct sy_view *view) {
    (void)view;
    fake_ns += 100;
}

/* One that runs ever faster, so that every call takes longer than the first look at it cost. */
static double running_clock(void) {
    static double looks;
    looks++;
    return looks * looks;
}

static struct sy_sim_result run_pair(bool charge, uint64_t *ret_calls) {
    struct fixture f;
    open_pair(&f);
    script.device = (uint32_t[]){CPU, GPU};
    script.plan = plan_slowly;
    script.look = decide_slowly;
    struct sy_sim_options options = {.record = true, .clock_ns = fake_clock, .charge = charge};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fake_ns = 0;
    struct sy_sim_result result = fixture_run(sim, f.workload, "script");
    *ret_calls = (uint64_t)((fake_ns - 5000) / 100);
    double start_ns = charge ? 5100 : 0;
    assert_ran(sim, 0, CPU, start_ns, start_ns + 1000);
    assert_ran(sim, 1, GPU, start_ns, start_ns + 2000);
    sy_sim_destroy(sim);
    fixture_finish(&f);
    return result;
}

static void measured_decisions(void **state) {
    (void)state;
    uint64_t calls;
    struct sy_sim_result free_of_charge = run_pair(false, &calls);
    assert_near(free_of_charge.makespan_ns, 2000, 1e-6);
    assert_near(free_of_charge.policy_ns, 5000 + 100.0 * (double)calls, 1e-6);
    struct sy_sim_result charged = run_pair(true, &calls);
    assert_near(charged.makespan_ns, 7100, 1e-6);
    assert_near(charged.policy_ns, 5000 + 100.0 * (double)calls, 1e-6);
}

/* What searches offline is not charged. */
static void measured_searches(void **state) {
    (void)state;
    static const char *const names[] = {"anneal:2", "greedy-true", "dmdas"};
    struct fixture f;
    fixture_init(&f, "cpu:2");
    fixture_add(&f, fixture_graph("chain:4,work=1us"), 0, 0, 1);
    fixture_seal(&f);
    for (size_t i = 0; i < SY_COUNT(names); i++) {
        struct sy_sim_options options = {.clock_ns = running_clock, .charge = true};
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        double makespan_ns = fixture_run(sim, f.workload, names[i]).makespan_ns;
        assert_int_equal(makespan_ns > 5000, i == 2);
        sy_sim_destroy(sim);
    }
    fixture_finish(&f);
}

/* The second decision sees the first one: tasks spread over the cores as they do for nothing. */
static void slow_decisions_are_seen(void **state) {
    (void)state;
    static const char *const names[] = {"dmda", "dmdas", "lb", "heft", "symphony"};
    struct fixture f;
    fixture_init(&f, "cpu:4");
    fixture_add(&f, fixture_graph("independent:8,work=10ms"), 0, 0, 1);
    fixture_seal(&f);
    for (size_t i = 0; i < SY_COUNT(names); i++) {
        struct sy_sim_options options = {.decision_ns = 1};
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        assert_near(fixture_run(sim, f.workload, names[i]).makespan_ns, 20e6, 1000);
        sy_sim_destroy(sim);
    }
    fixture_finish(&f);
}

/* The device goes away while the scheduler thinks: the decision is taken back. */
static void slow_decision_for_a_lost_device(void **state) {
    (void)state;
    struct fixture f;
    open_pair(&f);
    script.device = (uint32_t[]){GPU, CPU};
    script.fallback = (uint32_t[]){CPU, CPU};
    const struct sy_device_event event = {50, GPU, true};
    struct sy_sim_options options = {
        .record = true, .decision_ns = 100, .device_events = &event, .device_event_count = 1};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "script");
    assert_ran(sim, 1, CPU, 200, 1200);
    assert_ran(sim, 0, CPU, 1200, 2200);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* The last decision, about C, takes effect after B has ended: its input is fetched then. */
static void slow_decisions_ahead(void **state) {
    (void)state;
    struct fixture f;
    open_three(&f);
    script.device = (uint32_t[]){CPU, GPU, CPU};
    script.ahead = true;
    struct sy_sim_options options = {.record = true, .decision_ns = 3000};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "script");
    assert_ran(sim, 0, CPU, 3000, 4000);
    assert_ran(sim, 1, GPU, 6600, 8600);
    assert_copied(sim, 2, 0, 9000, 9400);
    assert_ran(sim, 2, CPU, 9400, 10100);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static void arrivals(void **state) {
    (void)state;
    static const double arrive_ns[] = {5000, 0, 5500}; /* out of order: sorted by arrival */
    struct fixture f;
    struct sy_error error = {0};
    fixture_init(&f, "cpu:1");
    for (uint32_t j = 0; j < 3; j++) {
        struct sy_graph *graph = explicit_graph();
        script_task(graph, script_kernel(graph, "k", 1000, 0, 0, 0), NULL);
        assert_int_equal(sy_graph_seal(graph, &error), 0);
        fixture_add(&f, graph, arrive_ns[j], j, 1);
    }
    fixture_seal(&f);
    script = (struct script){.device = (uint32_t[]){0, 0, 0}};
    struct sy_sim_options options = {.record = true};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    struct sy_sim_result result = fixture_run(sim, f.workload, "script");
    assert_ran(sim, 0, 0, 0, 1000);
    assert_ran(sim, 1, 0, 5000, 6000);
    assert_ran(sim, 2, 0, 6000, 7000);
    assert_near(result.jobs[0].done_ns, 1000, 1e-6);
    assert_near(result.jobs[1].done_ns, 1000, 1e-6);
    assert_near(result.jobs[2].done_ns, 1500, 1e-6);
    assert_near(result.jobs[2].slowdown, 1.5, 1e-9);
    assert_near(result.jct_mean_ns, 3500 / 3.0, 1e-6);
    assert_near(result.slowdown_mean, 3.5 / 3, 1e-9);
    /* Jain's index of 1, 1 and 1.5. */
    assert_near(result.fairness, 3.5 * 3.5 / (3 * (1 + 1 + 2.25)), 1e-9);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* Of 1 to 5 units alone, one after the other, the last two are as long as each other: both are of
 * the longest fifth. A job without tasks is none of them. */
static void longest_fifth(void **state) {
    (void)state;
    static const double alone_ns[] = {1e5, 2e5, 0, 3e5, 5e5, 5e5};
    struct fixture f;
    struct sy_error error = {0};
    fixture_init(&f, "cpu:1");
    for (uint32_t j = 0; j < SY_COUNT(alone_ns); j++) {
        struct sy_graph *graph = explicit_graph();
        if (alone_ns[j] > 0) {
            script_task(graph, script_kernel(graph, "k", alone_ns[j], 0, 0, 0), NULL);
        }
        assert_int_equal(sy_graph_seal(graph, &error), 0);
        fixture_add(&f, graph, 0, j, 1);
    }
    fixture_seal(&f);
    script = (struct script){.device = (uint32_t[]){0, 0, 0, 0, 0}};
    struct sy_sim *sim = fixture_sim(f.workload, &(struct sy_sim_options){.record = true});
    struct sy_sim_result result = fixture_run(sim, f.workload, "script");
    assert_near(result.slowdown_mean, (1 + 1.5 + 2 + 2.2 + 3.2) / 5, 1e-9);
    assert_near(result.slowdown_long, (2.2 + 3.2) / 2, 1e-9);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* --- what a policy must not do ------------------------------------------------------------------
 */
static void assert_refused(struct fixture *f, const struct sy_decision *decision, uint32_t count,
                           const char *why) {
    struct sy_error error = {0};
    struct sy_sim_result result;
    struct sy_sim_options options = {0};
    struct sy_sim *sim = fixture_sim(f->workload, &options);
    script.first = decision;
    script.first_count = count;
    assert_int_equal(sy_sim_run(sim, "script", &result, &error), -EPROTO);
    if (!strstr(error.message, why) || !strstr(error.message, "script")) {
        fail_msg("\"%s\" does not say \"%s\"", error.message, why);
    }
    /* The simulator can still be used. */
    script.first_count = 0;
    assert_int_equal(sy_sim_run(sim, "eager", &result, &error), 0);
    sy_sim_destroy(sim);
}

static void impossible_decisions(void **state) {
    (void)state;
    struct fixture f;
    open_three(&f);
    const struct sy_decision run_a = {SY_RUN, 0, CPU, 0, 0, {0}};
    const struct sy_decision twice[] = {run_a, run_a};
    script.device = (uint32_t[]){CPU, GPU, CPU};
    assert_refused(&f, &(struct sy_decision){SY_RUN, 0, 9, 0, 0, {0}}, 1, "no such device");
    assert_refused(&f, &(struct sy_decision){SY_RUN, 3, CPU, 0, 0, {0}}, 1, "no such task");
    assert_refused(&f, &(struct sy_decision){SY_RUN, 1, CPU, 0, 0, {0}}, 1, "no variant");
    assert_refused(&f, twice, 2, "committed already");
    assert_refused(&f, &(struct sy_decision){SY_RUN, 0, CPU, NAN, 0, {0}}, 1, "not a number");
    assert_refused(&f, &(struct sy_decision){SY_RUN, 0, CPU, 0, -1, {0}}, 1, "not a number");
    assert_refused(&f, &(struct sy_decision){SY_RUN, 0, CPU, 0, NAN, {0}}, 1, "not a number");
    assert_refused(&f, &(struct sy_decision){SY_RECONFIGURE, 0, CPU, 0, 0, {0}}, 1, "FPGA region");
    fixture_finish(&f);
}

static void impossible_reconfigurations(void **state) {
    (void)state;
    struct fixture f;
    open_fpga(&f);
    const struct sy_decision again = {SY_RECONFIGURE, 0, 1, 0, 0, {0}};
    const struct sy_decision twice[] = {again, again};
    script.device = (uint32_t[]){1, 1, 1, 1};
    assert_refused(&f, &(struct sy_decision){SY_RECONFIGURE, 7, 1, 0, 0, {0}}, 1, "kernel");
    assert_refused(&f, twice, 2, "busy");
    fixture_finish(&f);
}

static void lost_device_is_refused(void **state) {
    (void)state;
    struct fixture f;
    open_pair(&f);
    const struct sy_decision first = {SY_RUN, 0, GPU, 0, 0, {0}};
    const struct sy_device_event event = {0, GPU, true};
    struct sy_sim_options options = {.device_events = &event, .device_event_count = 1};
    struct sy_error error = {0};
    struct sy_sim_result result;
    script.first = &first;
    script.first_count = 1;
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    assert_int_equal(sy_sim_run(sim, "script", &result, &error), -EPROTO);
    assert_non_null(strstr(error.message, "lost"));
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static void a_policy_that_stops(void **state) {
    (void)state;
    struct fixture f;
    open_three(&f);
    struct sy_error error = {0};
    struct sy_sim_result result;
    struct sy_sim_options options = {.contention = true, .hidden_load = 0.5};
    script.idle = true;
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    assert_int_equal(sy_sim_run(sim, "script", &result, &error), -EDEADLK);
    assert_non_null(strstr(error.message, "script"));
    assert_non_null(strstr(error.message, "1 tasks ready"));
    /* B is ahead of A in a queue of one device each other's way. */
    const struct sy_decision cycle[] = {{SY_RUN, 2, CPU, 9, 0, {0}}, {SY_RUN, 0, CPU, 1, 0, {0}}};
    script.first = cycle;
    script.first_count = 2;
    assert_int_equal(sy_sim_run(sim, "script", &result, &error), -EDEADLK);
    assert_non_null(strstr(error.message, "2 committed but blocked"));
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* --- copies under way when their reader loses its device ----------------------------------------
 */
/* R reads x on the GPU (the copy takes 1,000,100 ns), the GPU goes, R runs on the CPU, W writes x
 * anew there, and S reads it on the GPU: it must get W's version, not the one still on its way. */
static void a_copy_of_an_old_version(void **state) {
    (void)state;
    struct fixture f;
    struct sy_graph *graph = explicit_graph();
    uint32_t any = script_kernel(graph, "any", 1000, 1000, 0, 0);
    uint32_t x = script_data(graph, 1e6);
    script_task(graph, any, (struct sy_access[]){{x, SY_READ}, {0, 0}});
    script_task(graph, any, (struct sy_access[]){{x, SY_READ_WRITE}, {0, 0}});
    script_task(graph, any, (struct sy_access[]){{x, SY_READ}, {0, 0}});
    script_open(&f, CPU_GPU, graph);
    script.device = (uint32_t[]){GPU, CPU, GPU};
    script.fallback = (uint32_t[]){CPU, CPU, CPU};
    const struct sy_device_event events[] = {{500, GPU, true}, {600, GPU, false}};
    struct sy_sim_options options = {
        .record = true, .device_events = events, .device_event_count = 2};
    for (int shared = 0; shared < 2; shared++) {
        options.contention = shared;
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        fixture_run(sim, f.workload, "script"); /* the checker looks at versions */
        assert_ran(sim, 1, CPU, 1500, 2500);
        sy_sim_destroy(sim);
    }
    fixture_finish(&f);
}

/* A fetch commits nothing, and what it brings is there when somebody wants it. */
static void a_fetch(void **state) {
    (void)state;
    struct fixture f;
    open_three(&f);
    script.device = (uint32_t[]){CPU, GPU, CPU};
    const struct sy_decision fetch = {.kind = SY_FETCH, .task = 1, .device = GPU};
    script.first = &fetch;
    script.first_count = 1;
    struct sy_sim_options options = {.record = true};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    struct sy_sim_result result = fixture_run(sim, f.workload, "script");
    assert_copied(sim, 0, 1, 0, 300); /* the input; x does not exist yet */
    assert_copied(sim, 1, 1, 1000, 1600);
    assert_int_equal(result.transfer_count, 3);
    assert_ran(sim, 2, CPU, 4000, 4700);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* What was fetched for a reader that ran elsewhere, and was then overwritten, is of no use. */
static void a_fetch_of_an_old_version(void **state) {
    (void)state;
    struct fixture f;
    struct sy_graph *graph = explicit_graph();
    uint32_t any = script_kernel(graph, "any", 1000, 1000, 0, 0);
    uint32_t x = script_data(graph, 1e6);
    script_task(graph, any, (struct sy_access[]){{x, SY_READ}, {0, 0}});
    script_task(graph, any, (struct sy_access[]){{x, SY_READ_WRITE}, {0, 0}});
    script_task(graph, any, (struct sy_access[]){{x, SY_READ}, {0, 0}});
    script_open(&f, CPU_GPU, graph);
    script.device = (uint32_t[]){CPU, CPU, GPU};
    const struct sy_decision fetch = {.kind = SY_FETCH, .task = 0, .device = GPU};
    script.first = &fetch;
    script.first_count = 1;
    struct sy_sim_options options = {.record = true};
    for (int shared = 0; shared < 2; shared++) {
        options.contention = shared;
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        fixture_run(sim, f.workload, "script");
        const struct sy_span *last = fixture_span(sy_sim_trace(sim), SY_SPAN_TASK, 2);
        assert_true(last->start_ns >= 2000 + 1000100 - 1e-3);
        sy_sim_destroy(sim);
    }
    fixture_finish(&f);
}

/* Every reader is chased from GPU to GPU while its copies are still on their way. */
static void many_copies_at_once(void **state) {
    (void)state;
    enum { READERS = 100, GPUS = 6 };
    struct fixture f;
    struct sy_graph *graph = explicit_graph();
    uint32_t kernel = script_kernel(graph, "k", 0, 1000, 0, 0);
    for (uint32_t i = 0; i < READERS; i++) {
        uint32_t x = script_data(graph, 1e6);
        script_task(graph, kernel, (struct sy_access[]){{x, SY_READ}, {0, 0}});
    }
    script_open(&f, "cpu:1 gpu:6@link=1GB/s", graph);
    struct sy_device_event events[3 * GPUS];
    uint32_t count = 0;
    for (uint32_t g = 2; g <= GPUS; g++) { /* all start with the first GPU alone */
        events[count++] = (struct sy_device_event){0, g, true};
    }
    for (uint32_t g = 1; g < GPUS; g++) {
        events[count++] = (struct sy_device_event){100.0 * g, g + 1, false};
        events[count++] = (struct sy_device_event){100.0 * g, g, true};
    }
    struct sy_sim_options options = {
        .record = true, .device_events = events, .device_event_count = count};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "dmda");
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_when_ready),
        cmocka_unit_test(copies_ahead),
        cmocka_unit_test(shared_copy_and_priority),
        cmocka_unit_test(fpga_regions),
        cmocka_unit_test(fpga_reconfigure_decision),
        cmocka_unit_test(fpga_loss),
        cmocka_unit_test(loss_and_return),
        cmocka_unit_test(loss_twice),
        cmocka_unit_test(slow_decisions),
        cmocka_unit_test(slow_decisions_are_seen),
        cmocka_unit_test(measured_decisions),
        cmocka_unit_test(measured_searches),
        cmocka_unit_test(slow_decision_for_a_lost_device),
        cmocka_unit_test(arrivals),
        cmocka_unit_test(longest_fifth),
        cmocka_unit_test(impossible_decisions),
        cmocka_unit_test(impossible_reconfigurations),
        cmocka_unit_test(lost_device_is_refused),
        cmocka_unit_test(a_policy_that_stops),
        cmocka_unit_test(slow_decisions_ahead),
        cmocka_unit_test(a_copy_of_an_old_version),
        cmocka_unit_test(a_fetch),
        cmocka_unit_test(a_fetch_of_an_old_version),
        cmocka_unit_test(many_copies_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
