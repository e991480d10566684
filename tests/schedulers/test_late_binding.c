/* SPDX-License-Identifier: Apache-2.0
 *
 * When late binding commits: a device whose task should have ended is not free, and an accelerator
 * takes a second task only while what it holds ends soon, unless a plan has chosen it. And where: a
 * copy that holds up others counts against a device.
 */
#include "fixture.h"
#include "view.h"

#include "schedulers/late_binding.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SECOND_NS 1e9

/* --- a world that a test sets ------------------------------------------------------------------
 */
/* A job of independent tasks without data, as long everywhere. */
static void open_world(struct fixture *f, struct view *view, const char *machine, double task_ns) {
    fixture_one(f, machine, "independent:6,bytes=0");
    struct sy_workload *w = f->workload;
    for (uint32_t t = 0; t < w->task_count; t++) {
        for (uint32_t c = 0; c < w->class_count; c++) {
            w->time_ns[(size_t)t * w->class_count + c] = task_ns;
        }
        w->best_ns[t] = task_ns;
    }
    view_open(view, w);
    view->jobs[0].work_left_ns = task_ns * w->task_count;
    view->view.now_ns = 10 * SECOND_NS;
}

static void close_world(struct fixture *f, struct view *view) {
    view_close(view);
    fixture_finish(f);
}

/* Task 0 runs there and is expected to end then. */
static void let_run(struct view *view, uint32_t device, double end_ns) {
    view->devices[device].running = 0;
    view->devices[device].running_end_ns = end_ns;
    view->task_state[0] = SY_TASK_RUNNING;
    view->task_device[0] = device;
}

/* What is decided when tasks 1 .. count become ready. */
static uint32_t decide(struct view *view, const struct sy_scheduler_ops *ops, uint32_t count,
                       struct sy_decision *ret, uint32_t capacity) {
    struct sy_scheduler scheduler = {.ops = ops, .seed = 1};
    assert_int_equal(ops->init(&scheduler, &view->view, ""), 0);
    ops->job_arrived(&scheduler, &view->view, 0);
    for (uint32_t t = 1; t <= count; t++) {
        view->task_state[t] = SY_TASK_READY;
        ops->task_ready(&scheduler, &view->view, t);
    }
    uint32_t said = ops->decide(&scheduler, &view->view, ret, capacity), decided = 0;
    for (uint32_t i = 0; i < said; i++) { /* inputs may travel ahead as they like */
        if (ret[i].kind == SY_RUN) {
            ret[decided++] = ret[i];
        }
    }
    ops->finish(&scheduler);
    return decided;
}

static const struct sy_scheduler_ops *const policies[] = {
    &sy_policy_late, &sy_policy_late_hist, &sy_policy_late_contention, &sy_policy_learned};

/* --- tests -------------------------------------------------------------------------------------
 */
static void an_overdue_core_is_not_free(void **state) {
    (void)state;
    for (size_t p = 0; p < SY_COUNT(policies); p++) {
        struct sy_decision decisions[4];
        struct fixture f;
        struct view view;
        open_world(&f, &view, "cpu:2", SECOND_NS);
        let_run(&view, 0, view.view.now_ns - 1e6);
        assert_int_equal(decide(&view, policies[p], 2, decisions, 4), 1);
        assert_int_equal(decisions[0].device, 1); /* and the other task waits for a device */
        close_world(&f, &view);
    }
}

static void nor_is_an_overdue_accelerator(void **state) {
    (void)state;
    for (size_t p = 0; p < SY_COUNT(policies); p++) {
        struct sy_decision decisions[4];
        struct fixture f;
        struct view view;
        open_world(&f, &view, "gpu:1", SECOND_NS);
        let_run(&view, 0, view.view.now_ns - 1e6);
        assert_int_equal(decide(&view, policies[p], 2, decisions, 4), 0);
        close_world(&f, &view);
    }
}

/* It holds one that lasts, or one that ends soon. */
static void a_second_task_only_behind_what_ends_soon(void **state) {
    (void)state;
    for (size_t p = 0; p < SY_COUNT(policies); p++) {
        for (int soon = 0; soon < 2; soon++) {
            struct sy_decision decisions[4];
            struct fixture f;
            struct view view;
            open_world(&f, &view, "gpu:1", SECOND_NS);
            let_run(&view, 0, view.view.now_ns + (soon ? 1e6 : SECOND_NS));
            assert_int_equal(decide(&view, policies[p], 3, decisions, 4), soon);
            close_world(&f, &view);
        }
    }
}

/* What is decided in the same round counts as held. */
static void nor_behind_what_was_just_decided(void **state) {
    (void)state;
    for (size_t p = 0; p < SY_COUNT(policies); p++) {
        for (int brief = 0; brief < 2; brief++) {
            struct sy_decision decisions[4];
            struct fixture f;
            struct view view;
            open_world(&f, &view, "gpu:1", brief ? 1e6 : SECOND_NS);
            assert_int_equal(decide(&view, policies[p], 3, decisions, 4), brief ? 2 : 1);
            close_world(&f, &view);
        }
    }
}

/* Task 1 has its inputs on the first GPU, which is busy for a little longer than they would travel
 * to the idle second one. Where copies disturb each other, nobody sends them. */
static void a_copy_counts_where_links_are_shared(void **state) {
    (void)state;
    for (size_t p = 0; policies[p] != &sy_policy_learned; p++) { /* a network may think otherwise */
        for (int shared = 0; shared < 2; shared++) {
            struct sy_decision decisions[4];
            struct fixture f;
            struct view view;
            fixture_one(&f, "cpu:1 gpu:2@link=1GB/s", "independent:6,bytes=10000000");
            struct sy_workload *w = f.workload;
            for (uint32_t t = 0; t < w->task_count; t++) {
                for (uint32_t c = 0; c < w->class_count; c++) {
                    bool gpu = w->machine->classes[c].kind == SY_GPU;
                    w->time_ns[(size_t)t * w->class_count + c] = gpu ? SECOND_NS : INFINITY;
                }
                w->best_ns[t] = SECOND_NS;
            }
            view_open(&view, w);
            const struct sy_device *near = &w->machine->devices[1], *far = &w->machine->devices[2];
            assert_int_equal(near->kind, SY_GPU);
            assert_int_equal(far->kind, SY_GPU);
            view.view.shared_links = shared;
            view.view.now_ns = 10 * SECOND_NS;
            uint32_t inputs = 0;
            for (uint32_t a = view.view.access_start[1]; a < view.view.access_start[2]; a++) {
                inputs += (view.view.access[a].mode & SY_READ) != 0;
                view.data_valid[view.view.access[a].datum] = UINT64_C(1) << near->memory;
            }
            assert_true(inputs > 0);
            double travel_ns = sy_estimate_inputs_ns(&view.view, 1, far->memory, NULL);
            assert_true(travel_ns > 1e6);
            let_run(&view, 1, view.view.now_ns + 1.5 * travel_ns);
            uint32_t count = decide(&view, policies[p], 1, decisions, 4), sent = 0;
            for (uint32_t i = 0; i < count; i++) {
                sent += decisions[i].device == 2;
            }
            assert_int_equal(sent, !shared);
            close_world(&f, &view);
        }
    }
}

/* --- whole runs --------------------------------------------------------------------------------
 */
static const struct sy_scheduler_ops *watched;
static uint32_t seconds;

/* As the world stands before a decision: without data nothing else would let it take two. */
static uint32_t watch(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                      uint32_t capacity) {
    uint32_t count = watched->decide(s, view, ret, capacity);
    double lasts_ns[64] = {0};
    uint32_t held[64] = {0};
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        const struct sy_view_device *v = &view->devices[d];
        held[d] = v->queue_length + (v->running != SY_NONE);
        lasts_ns[d] = sy_estimate_end_ns(view, d) - view->now_ns + v->queued_ns;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t d = ret[i].device;
        if (ret[i].kind == SY_RUN && held[d]) {
            seconds++;
            if (lasts_ns[d] >= LATE_SECOND_NS) {
                fail_msg("%s: %s takes another task behind what lasts %.3g s", watched->name,
                         view->machine->devices[d].name, lasts_ns[d] * 1e-9);
            }
        }
        held[d] += ret[i].kind == SY_RUN;
        lasts_ns[d] += ret[i].kind == SY_RUN ? ret[i].expected_ns : 0;
    }
    return count;
}

/* Tasks of a millisecond to two seconds, alone (where the default follows a plan) and in a stream.
 */
static void so_it_is_in_whole_runs(void **state) {
    (void)state;
    static const struct sy_scheduler_ops *const ops[] = {&sy_policy_late, &sy_policy_learned,
                                                         &sy_policy_symphony};
    struct sy_sim_options options = {.seed = 2, .noise_sigma = 0.3, .record = true};
    for (uint32_t jobs = 1; jobs <= 5; jobs += 4) {
        struct fixture f;
        fixture_init(&f, "2x(cpu:2 dram:40GB/s) gpu:3@pcie3x16");
        for (uint32_t j = 0; j < jobs; j++) {
            fixture_add(&f, fixture_graph("independent:40,bytes=0"), j * 0.3 * SECOND_NS, j, 1);
        }
        fixture_seal(&f);
        struct sy_rng rng = sy_rng_make(7, 0x6c617465, jobs);
        for (uint32_t t = 0; t < f.workload->task_count; t++) {
            double ns = 1e6 * pow(2000, sy_rng_uniform(&rng)), best_ns = INFINITY;
            for (uint32_t c = 0; c < f.workload->class_count; c++) {
                double own_ns = ns * (f.machine->classes[c].kind == SY_GPU ? 0.5 : 1);
                f.workload->time_ns[(size_t)t * f.workload->class_count + c] = own_ns;
                best_ns = fmin(best_ns, own_ns);
            }
            f.workload->best_ns[t] = best_ns;
        }
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        for (size_t i = 0; i < SY_COUNT(ops); i++) {
            struct sy_scheduler_ops shell = *ops[i];
            struct sy_sim_result result;
            struct sy_error error = {0};
            watched = ops[i];
            shell.decide = watch;
            seconds = 0;
            assert_int_equal(sy_sim_run_ops(sim, &shell, NULL, &result, &error), 0);
            assert_int_equal(sy_sim_check(f.workload, sy_sim_trace(sim), &error), 0);
            assert_true(seconds > 0); /* it does happen */
        }
        sy_sim_destroy(sim);
        fixture_finish(&f);
    }
}

/* Behind what lasts longer than that. */
static uint32_t watch_long(struct sy_scheduler *s, const struct sy_view *view,
                           struct sy_decision *ret, uint32_t capacity) {
    uint32_t count = watched->decide(s, view, ret, capacity);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t d = ret[i].device;
        bool busy = view->devices[d].running != SY_NONE;
        double lasts_ns = sy_estimate_end_ns(view, d) - view->now_ns;
        seconds += ret[i].kind == SY_RUN && busy && lasts_ns >= LATE_SECOND_NS;
    }
    return count;
}

/* A plan has chosen where: while times are as planned, an accelerator takes a second task that has
 * inputs, and none that has not. Alone in the world, the default follows a plan. */
static void a_plan_keeps_a_second_task_that_has_inputs(void **state) {
    (void)state;
    static const char *const graphs[] = {"layered:width=6,depth=8,seed=3,ccr=0.1",
                                         "independent:40,bytes=0"};
    struct sy_sim_options options = {.seed = 2, .record = true};
    for (size_t g = 0; g < SY_COUNT(graphs); g++) {
        struct fixture f;
        fixture_one(&f, "cpu:2 gpu:2@pcie3x16", graphs[g]);
        for (uint32_t t = 0; t < f.workload->task_count; t++) {
            for (uint32_t c = 0; c < f.workload->class_count; c++) {
                bool gpu = f.machine->classes[c].kind == SY_GPU;
                f.workload->time_ns[(size_t)t * f.workload->class_count + c] =
                    (gpu ? 1 : 8) * SECOND_NS;
            }
            f.workload->best_ns[t] = SECOND_NS;
        }
        struct sy_sim *sim = fixture_sim(f.workload, &options);
        struct sy_scheduler_ops shell = sy_policy_symphony;
        struct sy_sim_result result;
        struct sy_error error = {0};
        watched = &sy_policy_symphony;
        shell.decide = watch_long;
        seconds = 0;
        assert_int_equal(sy_sim_run_ops(sim, &shell, NULL, &result, &error), 0);
        assert_int_equal(seconds > 0, g == 0);
        sy_sim_destroy(sim);
        fixture_finish(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_overdue_core_is_not_free),
        cmocka_unit_test(nor_is_an_overdue_accelerator),
        cmocka_unit_test(a_second_task_only_behind_what_ends_soon),
        cmocka_unit_test(nor_behind_what_was_just_decided),
        cmocka_unit_test(a_copy_counts_where_links_are_shared),
        cmocka_unit_test(so_it_is_in_whole_runs),
        cmocka_unit_test(a_plan_keeps_a_second_task_that_has_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
