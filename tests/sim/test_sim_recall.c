/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks that are taken back: timelines worked out by hand. What has not begun leaves its device's
 * queue, the others there keep their order, and copies under way arrive all the same; what has
 * begun stays. And late binding, which takes a task back for an idle device when what runs before
 * it does not end.
 */
#include "scripted.h"

#include "schedulers/late_binding.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define CPU 0
#define GPU 1

/* Task 0 takes 10 us on the GPU, the others 1 us on either; each has an input of so many bytes. */
static void open_tasks(struct fixture *f, uint32_t count, double bytes) {
    struct sy_graph *graph = sy_graph_create("some", false);
    assert_non_null(graph);
    uint32_t first = script_kernel(graph, "first", 0, 1e4, 0, 0);
    uint32_t next = script_kernel(graph, "next", 1e3, 1e3, 0, 0);
    for (uint32_t t = 0; t < count; t++) {
        uint32_t datum = bytes > 0 && t ? script_data(graph, bytes) : 0;
        script_task(graph, t ? next : first,
                    bytes > 0 && t ? (struct sy_access[]){{datum, SY_READ}, {0, 0}} : NULL);
    }
    script = (struct script){0};
    script_open(f, "cpu:1 gpu:1@link=1GB/s,latency=0.1us", graph);
}

/* When the last task has ended on the core, this one is taken back, and goes to the core. */
static uint32_t wanted, devices[4];
static bool asked;

static uint32_t take_back(const struct sy_view *view, struct sy_decision *ret) {
    if (asked || view->task_state[3] != SY_TASK_DONE) {
        return 0;
    }
    asked = true;
    devices[wanted] = CPU;
    *ret = (struct sy_decision){.kind = SY_RECALL, .task = wanted, .device = GPU};
    return 1;
}

static void open_script(struct fixture *f, uint32_t task, double bytes) {
    open_tasks(f, 4, bytes);
    memcpy(devices, (uint32_t[]){GPU, GPU, GPU, CPU}, sizeof devices);
    script.device = devices;
    script.more = take_back;
    wanted = task;
    asked = false;
}

static void the_others_keep_their_turns(void **state) {
    (void)state;
    for (uint32_t task = 1; task <= 2; task++) {
        struct fixture f;
        open_script(&f, task, 0);
        struct sy_sim_options options = {.record = true};
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        fixture_run(sim, f.workload, "script");
        assert_true(asked);
        assert_ran(sim, 0, GPU, 0, 1e4);
        assert_ran(sim, task, CPU, 1e3, 2e3);
        assert_ran(sim, 3 - task, GPU, 1e4, 1.1e4);
        sy_sim_destroy(sim);
        fixture_finish(&f);
    }
}

/* It had been sent for, and arrives; who wants it there then need not send again. */
static void copies_go_on(void **state) {
    (void)state;
    for (uint32_t contention = 0; contention < 2; contention++) {
        struct fixture f;
        open_script(&f, 1, 2e3); /* 2 us each, and 0.1 */
        struct sy_sim_options options = {.record = true, .contention = contention};
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        struct sy_sim_result result = fixture_run(sim, f.workload, "script");
        assert_ran(sim, 1, CPU, 1e3, 2e3);
        assert_ran(sim, 2, GPU, 1e4, 1.1e4);
        assert_int_equal(result.transfer_count, 2);
        const struct sy_span *copy = fixture_span(sy_sim_trace(sim), SY_SPAN_TRANSFER, 0);
        assert_true(copy->end_ns >= 2e3 && copy->end_ns < 1e4);
        sy_sim_destroy(sim);
        fixture_finish(&f);
    }
}

static const struct sy_decision refused[] = {
    {SY_RECALL, 0, GPU, 0, 0, {0}}, /* nobody's yet */
    {SY_RECALL, 1, CPU, 0, 0, {0}}, /* elsewhere */
};

static uint32_t take_back_what_runs(const struct sy_view *view, struct sy_decision *ret) {
    *ret = (struct sy_decision){.kind = SY_RECALL, .task = 0, .device = GPU};
    return view->task_state[0] == SY_TASK_RUNNING;
}

static void only_what_waits_there(void **state) {
    (void)state;
    for (uint32_t way = 0; way <= SY_COUNT(refused); way++) {
        struct fixture f;
        struct sy_error error = {0};
        struct sy_sim_result result;
        open_script(&f, 1, 0);
        script.more = way ? NULL : take_back_what_runs;
        script.first = way ? &refused[way - 1] : NULL;
        script.first_count = way > 0;
        struct sy_sim_options options = {0};
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        assert_int_equal(sy_sim_run(sim, "script", &result, &error), -EPROTO);
        assert_non_null(strstr(error.message, "it does not wait there"));
        sy_sim_destroy(sim);
        fixture_finish(&f);
    }
}

/* Decisions take 2.5 us each. That it shall be taken back is decided at 11 us, when the task on the
 * core has ended, and due at 13.5; it began at 12.5. */
static void too_late(void **state) {
    (void)state;
    struct fixture f;
    open_script(&f, 1, 0);
    devices[2] = CPU;
    struct sy_sim_options options = {.record = true, .decision_ns = 2.5e3};
    struct sy_sim *sim = fixture_sim(f.workload, &options);
    fixture_run(sim, f.workload, "script");
    assert_true(asked);
    assert_ran(sim, 3, CPU, 1e4, 1.1e4);
    assert_ran(sim, 1, GPU, 1.25e4, 1.35e4);
    sy_sim_destroy(sim);
    fixture_finish(&f);
}

/* --- late binding -------------------------------------------------------------------------------
 */
static uint32_t recalls;
static struct sy_scheduler_ops shell;

static uint32_t count_recalls(struct sy_scheduler *s, const struct sy_view *view,
                              struct sy_decision *ret, uint32_t capacity) {
    uint32_t count = sy_policy_late.decide(s, view, ret, capacity);
    for (uint32_t i = 0; i < count; i++) {
        recalls += ret[i].kind == SY_RECALL;
    }
    return count;
}

/* Tasks of a millisecond for GPUs alone, and now and then one takes fifty times as long: what waits
 * behind it goes to the other GPU. Where all take as long as expected, nothing is taken back. */
static void what_waits_behind_a_straggler(void **state) {
    (void)state;
    for (uint32_t wild = 0; wild < 2; wild++) {
        struct fixture f;
        fixture_init(&f, "cpu:1 gpu:3@pcie3x16");
        fixture_add(&f, fixture_graph("independent:60,bytes=0"), 0, 0, 1);
        fixture_seal(&f);
        for (uint32_t t = 0; t < f.workload->task_count; t++) {
            for (uint32_t c = 0; c < f.workload->class_count; c++) {
                bool gpu = f.machine->classes[c].kind == SY_GPU;
                f.workload->time_ns[(size_t)t * f.workload->class_count + c] = gpu ? 1e6 : INFINITY;
            }
            f.workload->best_ns[t] = 1e6;
        }
        struct sy_sim_options options = {.seed = 3, .record = true};
        options.spike_probability = wild ? 0.05 : 0;
        options.spike_factor = 50;
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        struct sy_sim_result result;
        struct sy_error error = {0};
        shell = sy_policy_late;
        shell.decide = count_recalls;
        recalls = 0;
        assert_int_equal(sy_sim_run_ops(sim, &shell, NULL, &result, &error), 0);
        assert_int_equal(sy_sim_check(f.workload, sy_sim_trace(sim), &error), 0);
        assert_int_equal(recalls > 0, wild);
        sy_sim_destroy(sim);
        fixture_finish(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_others_keep_their_turns),   cmocka_unit_test(copies_go_on),
        cmocka_unit_test(only_what_waits_there),         cmocka_unit_test(too_late),
        cmocka_unit_test(what_waits_behind_a_straggler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
