/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks that push others aside: timelines worked out by hand, devices that are lost meanwhile,
 * decisions that come too late or are not allowed, traces that no core could have produced; and
 * late binding, which does it for a short job and not for a long one. Task 0 takes 1 ms, task 1
 * 0.1 ms and comes later; what was aside needs 20 us more.
 */
#include "scripted.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define LONG  1e6
#define SHORT 1e5
#define ASIDE 2e4

static struct sy_graph *one_task(double cpu_ns, double bytes) {
    struct sy_graph *graph = sy_graph_create("one", false);
    assert_non_null(graph);
    uint32_t kernel = script_kernel(graph, "k", cpu_ns, 0, 0, 0);
    uint32_t datum = bytes > 0 ? script_data(graph, bytes) : 0;
    script_task(graph, kernel, bytes > 0 ? (struct sy_access[]){{datum, SY_READ}, {0, 0}} : NULL);
    assert_int_equal(sy_graph_seal(graph, NULL), 0);
    return graph;
}

/* The second job comes at that time; its input has so many bytes. */
static void open_two(struct fixture *f, const char *machine, double arrive_ns, double bytes) {
    script = (struct script){.preempt = true};
    fixture_init(f, machine);
    fixture_add(f, one_task(LONG, 0), 0, 0, 1);
    fixture_add(f, one_task(SHORT, bytes), arrive_ns, 1, 1);
    fixture_seal(f);
}

static void assert_part(const struct sy_sim *sim, uint32_t task, uint32_t device, double start_ns,
                        double end_ns) {
    const struct sy_span *part = fixture_span(sy_sim_trace(sim), SY_SPAN_PART, task);
    assert_non_null(part);
    assert_int_equal(part->place, device);
    assert_true(part->start_ns == start_ns && part->end_ns == end_ns);
}

static void it_goes_on_afterwards(void **state) {
    (void)state;
    for (uint32_t contention = 0; contention < 2; contention++) {
        struct fixture f;
        open_two(&f, "cpu:1", 4e5, 0);
        script.device = (uint32_t[]){0, 0};
        struct sy_sim_options options = {.record = true, .preempt = true, .contention = contention};
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        struct sy_sim_result result = fixture_run(sim, f.workload, "script");
        assert_part(sim, 0, 0, 0, 4e5);
        assert_ran(sim, 1, 0, 4e5, 4e5 + SHORT);
        assert_ran(sim, 0, 0, 4e5 + SHORT, LONG + SHORT + ASIDE);
        assert_true(result.device_busy_ns[0] == LONG + SHORT + ASIDE);
        sy_sim_destroy(sim);
        fixture_finish(&f);
    }
}

/* It stands aside for as long as the other computes, not while the other's inputs travel. */
static void inputs_come_first(void **state) {
    (void)state;
    struct fixture f;
    open_two(&f, "2x(cpu:1 dram:1000GB/s) upi:1GB/s", 1e5, 2e5);
    script.device = (uint32_t[]){1, 1};
    struct sy_sim_options options = {.record = true, .preempt = true};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "script");
    const struct sy_span *copy = fixture_span(sy_sim_trace(sim), SY_SPAN_TRANSFER, 0);
    assert_non_null(copy);
    assert_true(copy->start_ns == 1e5 && copy->end_ns >= 3e5);
    assert_part(sim, 0, 1, 0, copy->end_ns);
    assert_ran(sim, 1, 1, copy->end_ns, copy->end_ns + SHORT);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static double late_ns, queued_ns; /* of core 0, when last seen */

static void see_late(const struct sy_view *view) {
    const struct sy_view_device *core = &view->devices[0];
    late_ns = core->running == 0 ? view->now_ns - core->running_end_ns : late_ns;
    queued_ns = core->suspended ? core->queued_ns : queued_ns;
}

/* Everything takes three times as long as expected. What was 1 ms late when it was put aside is as
 * late afterwards: nobody may believe that it is about to end. */
static void late_before_and_after(void **state) {
    (void)state;
    struct fixture f;
    open_two(&f, "cpu:1", 2 * LONG, 0);
    script.device = (uint32_t[]){0, 0};
    script.look = see_late;
    struct sy_sim_options options = {
        .record = true, .preempt = true, .spike_probability = 1, .spike_factor = 3};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "script");
    assert_part(sim, 0, 0, 0, 2 * LONG);
    assert_ran(sim, 1, 0, 2 * LONG, 2 * LONG + 3 * SHORT);
    assert_ran(sim, 0, 0, 2 * LONG + 3 * SHORT, 3 * LONG + 3 * SHORT + ASIDE);
    assert_true(late_ns == LONG - ASIDE);
    assert_true(queued_ns == LONG / 2 + ASIDE);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static void lost_with_what_is_aside(void **state) {
    (void)state;
    struct fixture f;
    const struct sy_device_event loss = {4.5e5, 0, true};
    open_two(&f, "cpu:2", 4e5, 0);
    script.device = (uint32_t[]){0, 0};
    script.fallback = (uint32_t[]){1, 1};
    struct sy_sim_options options = {
        .record = true, .preempt = true, .device_events = &loss, .device_event_count = 1};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "script"); /* both begin anew */
    assert_int_equal(count_spans(sim, SY_SPAN_ABORTED), 2);
    assert_ran(sim, 0, 1, 4.5e5, 4.5e5 + LONG);
    assert_ran(sim, 1, 1, 4.5e5 + LONG, 4.5e5 + LONG + SHORT);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* The decision takes effect when the core is already free. */
static void too_late(void **state) {
    (void)state;
    struct fixture f;
    open_two(&f, "cpu:1", 1.02e6, 0);
    script.device = (uint32_t[]){0, 0};
    struct sy_sim_options options = {.record = true, .preempt = true, .decision_ns = 5e4};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "script");
    assert_int_equal(count_spans(sim, SY_SPAN_PART), 0);
    assert_ran(sim, 0, 0, 5e4, 5e4 + LONG);
    assert_ran(sim, 1, 0, 1.07e6, 1.07e6 + SHORT);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

static const struct sy_decision pushes = {SY_PREEMPT, 0, 0, 0, 0, {0}};

static void assert_refused(struct fixture *f, bool preempt, const char *why) {
    struct sy_error error = {0};
    struct sy_sim_result result;
    struct sy_sim_options options = {.preempt = preempt};
    struct sy_sim *sim = fixture_sim(f->workload, &options);
    assert_int_equal(sy_sim_run(sim, "script", &result, &error), -EPROTO);
    assert_non_null(strstr(error.message, why));
    sy_sim_destroy(sim);
    fixture_finish(f);
}

/* What waits for what runs there would wait for ever, standing aside for it. */
static uint32_t push_successor(const struct sy_view *view, struct sy_decision *ret) {
    *ret = (struct sy_decision){.kind = SY_PREEMPT, .task = 1, .expected_ns = SHORT};
    return view->devices[0].preemptible;
}

static void not_before_it_is_ready(void **state) {
    (void)state;
    struct fixture f;
    struct sy_graph *graph = sy_graph_create("two", false);
    uint32_t kernel = script_kernel(graph, "k", LONG, 0, 0, 0);
    uint32_t datum = script_data(graph, 1);
    script_task(graph, kernel, (struct sy_access[]){{datum, SY_WRITE}, {0, 0}});
    script_task(graph, kernel, (struct sy_access[]){{datum, SY_READ}, {0, 0}});
    script_open(&f, "cpu:1", graph);
    script.device = (uint32_t[]){0, SY_NONE};
    script.more = push_successor;
    assert_refused(&f, true, "a task that is not ready pushes nothing aside");
}

static void only_where_it_is_allowed(void **state) {
    (void)state;
    for (uint32_t preempt = 0; preempt < 2; preempt++) {
        struct fixture f;
        open_two(&f, "cpu:1", 4e5, 0);
        script.first = &pushes; /* nothing runs yet */
        script.first_count = 1;
        assert_refused(&f, preempt, "nothing there can be pushed aside");
    }
}

/* --- traces that cannot be ----------------------------------------------------------------------
 */
static void move_part(struct sy_trace *trace) {
    struct sy_span *part = (struct sy_span *)(uintptr_t)fixture_span(trace, SY_SPAN_PART, 0);
    part->place = 1;
}

static void stretch_part(struct sy_trace *trace) {
    struct sy_span *part = (struct sy_span *)(uintptr_t)fixture_span(trace, SY_SPAN_PART, 0);
    part->end_ns += 1e3;
}

static void drop_rest(struct sy_trace *trace) {
    struct sy_span *rest = (struct sy_span *)(uintptr_t)fixture_span(trace, SY_SPAN_TASK, 0);
    rest->kind = SY_SPAN_PART;
}

static void spoiled_traces_are_refused(void **state) {
    static const struct {
        void (*spoil)(struct sy_trace *trace);
        const char *why;
    } ways[] = {{move_part, "went on on another device"},
                {stretch_part, "does two things at once"},
                {drop_rest, "never ran"}};
    (void)state;
    for (size_t i = 0; i < SY_COUNT(ways); i++) {
        struct fixture f;
        struct sy_error error = {0};
        open_two(&f, "cpu:2", 4e5, 0);
        script.device = (uint32_t[]){0, 0};
        struct sy_sim_options options = {.record = true, .preempt = true};
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        fixture_run(sim, f.workload, "script");
        ways[i].spoil((struct sy_trace *)(uintptr_t)sy_sim_trace(sim));
        assert_int_equal(sy_sim_check(f.workload, sy_sim_trace(sim), &error), -EINVAL);
        assert_non_null(strstr(error.message, ways[i].why));
        sy_sim_destroy(sim);
        fixture_finish(&f);
    }
}

/* --- late binding -------------------------------------------------------------------------------
 */
/* Parts in a stream of one job of first_ns and one of second_ns that comes 10 us later. */
static uint32_t parts(const char *policy, double first_ns, double second_ns) {
    struct fixture f;
    fixture_init(&f, "cpu:1");
    fixture_add(&f, one_task(first_ns, 0), 0, 0, 1);
    fixture_add(&f, one_task(second_ns, 0), 1e4, 1, 1);
    fixture_seal(&f);
    struct sy_sim_options options = {.record = true, .preempt = true};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, policy);
    uint32_t count = count_spans(sim, SY_SPAN_PART);
    sy_sim_destroy(sim);
    fixture_finish(&f);
    return count;
}

static void short_jobs_push_long_ones_aside(void **state) {
    (void)state;
    assert_int_equal(parts("lb+wspt", 100e6, 10e6), 1);
    assert_int_equal(parts("lb+srpt", 100e6, 10e6), 1);
    assert_int_equal(parts("symphony", 100e6, 10e6), 1);
    assert_int_equal(parts("lb+wspt", 10e6, 100e6), 0);
    assert_int_equal(parts("lb+wspt", 10e6, 9.9e6), 0); /* not worth the switch and the wait */
    assert_int_equal(parts("lb+fifo", 100e6, 10e6), 0);
    assert_int_equal(parts("lb", 100e6, 10e6), 0); /* no job comes before another */
}

/* Whatever happens, what comes out is a schedule: fixture_run() has every trace judged. */
static void streams_stay_legal(void **state) {
    static const char *const policies[] = {"lb+wspt", "lb-cont+srpt", "symphony", "learned"};
    static const char *const graphs[] = {"cholesky:4", "independent:30", "fft:3",
                                         "layered:width=6,depth=4,seed=3", "chain:5"};
    const struct sy_device_event events[] = {
        {20e6, 0, true}, {30e6, 0, false}, {40e6, 8, true}, {60e6, 8, false}};
    uint32_t count = 0;
    (void)state;
    for (size_t p = 0; p < SY_COUNT(policies); p++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct fixture f;
            fixture_init(&f, "2x(cpu:4 dram:20GB/s) gpu:1@pcie3x16");
            for (uint32_t j = 0; j < FIXTURE_JOBS; j++) {
                fixture_add(&f, fixture_graph(graphs[(j + seed) % SY_COUNT(graphs)]), j * 7e6,
                            j % 3, 1);
            }
            fixture_seal(&f);
            struct sy_sim_options options = {.seed = seed,
                                             .record = true,
                                             .preempt = true,
                                             .noise_sigma = 0.3,
                                             .contention = seed % 2,
                                             .decision_ns = seed == 3 ? 50e3 : 0,
                                             .device_events = events,
                                             .device_event_count = SY_COUNT(events)};
            struct sy_sim *sim = fixture_sim(f.workload, &options);
            fixture_run(sim, f.workload, policies[p]);
            count += count_spans(sim, SY_SPAN_PART);
            sy_sim_destroy(sim);
            fixture_finish(&f);
        }
    }
    assert_true(count > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_on_afterwards),
        cmocka_unit_test(inputs_come_first),
        cmocka_unit_test(late_before_and_after),
        cmocka_unit_test(lost_with_what_is_aside),
        cmocka_unit_test(too_late),
        cmocka_unit_test(only_where_it_is_allowed),
        cmocka_unit_test(not_before_it_is_ready),
        cmocka_unit_test(spoiled_traces_are_refused),
        cmocka_unit_test(short_jobs_push_long_ones_aside),
        cmocka_unit_test(streams_stay_legal),
    };
    return cmocka_run_group_tests_name("sim_preempt", tests, NULL, NULL);
}
