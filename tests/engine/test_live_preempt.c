/* SPDX-License-Identifier: Apache-2.0
 *
 * Preemption in a live world: what policies see while a task stands aside, in whatever order the
 * runtime tells of it, and after the world was exchanged meanwhile.
 */
#include "../base/check.h"
#include "engine/live.h"
#include "topology/topology.h"
#include <math.h>

enum { LONG, SHORT, LATER };

struct stage {
    struct sy_machine *machine;
    struct sy_live *live;
    const struct sy_view *view;
    uint32_t pushed, told; /* tasks; SY_NONE */
};

static void on_told(void *context, uint32_t task, uint32_t device, bool fetch) {
    struct stage *s = context;
    assert_int_equal(device, 0);
    assert_false(fetch);
    s->told = task;
}

static void on_pushed(void *context, uint32_t task, uint32_t device) {
    struct stage *s = context;
    assert_int_equal(device, 0);
    assert_int_equal(s->pushed, SY_NONE);
    s->pushed = task;
}

static void ask(struct stage *s, double now_ns) {
    struct sy_live_listener listener = {.context = s, .told = on_told, .pushed = on_pushed};
    sy_live_clock(s->live, now_ns);
    s->told = s->pushed = SY_NONE;
    sy_live_decide(s->live, &listener);
    assert_null(sy_live_failure(s->live));
}

/* Three jobs of a task, on one core: of 1 s, 1 ms and 1 ms. */
static struct sy_live *make_world(struct stage *s, const char *policy, bool preempts) {
    static const double ns[] = {1e9, 1e6, 1e6};
    struct sy_live_options options = {
        .machine = s->machine, .policy = policy, .task_capacity = 8, .preempts = preempts};
    struct sy_live *live = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_live_create(&options, &live, &error), 0);
    sy_live_clock(live, s->live ? sy_live_view(s->live)->now_ns : 0);
    for (uint32_t t = 0; t < SY_COUNT(ns); t++) {
        sy_live_begin_job(live, t, 1);
        sy_live_tell_job(live, 1e3 * t, 0);
        assert_int_equal(sy_live_add_task(live, &(struct sy_live_task){.time_ns = &ns[t]}), t);
        sy_live_end_job(live);
    }
    return live;
}

static void open(struct stage *s, const char *policy, bool preempts) {
    struct sy_error error = {0};
    *s = (struct stage){0};
    assert_int_equal(sy_machine_parse("cpu:1", &s->machine, &error), 0);
    s->live = make_world(s, policy, preempts);
    s->view = sy_live_view(s->live);
    sy_live_ready(s->live, LONG);
    ask(s, 0);
    assert_int_equal(s->told, LONG);
    assert_int_equal(sy_live_hand(s->live, 0), LONG);
    sy_live_begin(s->live, LONG);
    sy_live_started(s->live, LONG, 0);
    assert_true(s->view->devices[0].preemptible == preempts);
}

static void finish(struct stage *s) {
    sy_live_destroy(s->live);
    sy_machine_destroy(s->machine);
}

/* At 0.1 s the short one comes, and is handed over. */
static void push(struct stage *s) {
    open(s, "lb+wspt", true);
    sy_live_clock(s->live, 1e8);
    sy_live_ready(s->live, SHORT);
    ask(s, 1e8);
    assert_int_equal(s->pushed, SHORT);
    assert_int_equal(s->told, SY_NONE);
    const struct sy_view_device *d = &s->view->devices[0];
    assert_false(d->preemptible);
    assert_int_equal(d->running, LONG);
    assert_int_equal(d->suspended, 0);
    assert_int_equal(d->queue_length, 1);
    assert_int_equal(sy_live_first(s->live, 0), SY_NONE); /* nobody else takes it */
}

static void begin_short(struct stage *s, double now_ns) {
    sy_live_clock(s->live, now_ns);
    sy_live_begin(s->live, SHORT);
    sy_live_started(s->live, SHORT, 0);
}

static void check_aside(const struct stage *s, double now_ns) {
    const struct sy_view_device *d = &s->view->devices[0];
    assert_int_equal(d->running, SHORT);
    assert_int_equal(d->suspended, 1);
    assert_false(d->preemptible);
    assert_int_equal(d->queue_length, 0);
    assert_true(fabs(d->running_end_ns - now_ns - 1e6) < 1);
    assert_true(fabs(d->queued_ns - 0.9e9) < 1);
    assert_int_equal(s->view->task_state[LONG], SY_TASK_RUNNING);
}

static void check_back(const struct stage *s, double now_ns) {
    const struct sy_view_device *d = &s->view->devices[0];
    assert_int_equal(d->running, LONG);
    assert_int_equal(d->suspended, 0);
    assert_true(d->preemptible);
    assert_true(fabs(d->running_end_ns - now_ns - 0.9e9) < 1);
    assert_true(d->queued_ns == 0);
}

static void it_stands_aside_and_goes_on(void **state) {
    (void)state;
    struct stage s;
    push(&s);
    begin_short(&s, 1e8);
    check_aside(&s, 1e8);
    sy_live_ready(s.live, LATER); /* one at a time: this one waits for what pushed */
    ask(&s, 1e8);
    assert_int_equal(s.pushed, SY_NONE);
    sy_live_clock(s.live, 1.01e8);
    sy_live_done(s.live, SHORT, 1e6);
    ask(&s, 1.01e8);
    assert_int_equal(s.pushed, LATER); /* and then does as well */
    finish(&s);
    push(&s);
    begin_short(&s, 1e8);
    sy_live_clock(s.live, 1.01e8);
    sy_live_done(s.live, SHORT, 1e6);
    check_back(&s, 1.01e8);
    sy_live_ready(s.live, LATER);
    ask(&s, 1.01e8);
    assert_int_equal(s.pushed, LATER);
    finish(&s);
}

/* The long one had ended when the other began, and nobody knew. */
static void its_end_is_told_late(void **state) {
    (void)state;
    struct stage s;
    push(&s);
    begin_short(&s, 1e8);
    sy_live_done(s.live, LONG, 1e8);
    const struct sy_view_device *d = &s.view->devices[0];
    assert_int_equal(d->running, SHORT);
    assert_int_equal(d->suspended, 0);
    assert_false(d->preemptible); /* its worker pushes: there is no third */
    assert_true(d->queued_ns == 0);
    sy_live_done(s.live, SHORT, 1e6);
    assert_int_equal(d->running, SY_NONE);
    assert_false(d->preemptible);
    finish(&s);
    push(&s); /* or before it began */
    sy_live_done(s.live, LONG, 1e8);
    d = &s.view->devices[0];
    assert_int_equal(d->running, SY_NONE);
    begin_short(&s, 1e8);
    assert_int_equal(d->running, SHORT);
    assert_int_equal(d->suspended, 0);
    sy_live_done(s.live, SHORT, 1e6);
    assert_int_equal(d->running, SY_NONE);
    finish(&s);
}

static void exchange(struct stage *s, bool begun, bool long_first) {
    struct sy_live *next = make_world(s, "lb+wspt", true);
    enum sy_restore state = begun ? SY_RESTORE_PUSHED : SY_RESTORE_PUSHING;
    if (long_first) {
        sy_live_restore(next, LONG, SY_RESTORE_RUNNING, 0, 0, 1e9);
    }
    sy_live_restore(next, SHORT, state, 0, INFINITY, 1e6);
    if (!long_first) {
        sy_live_restore(next, LONG, SY_RESTORE_RUNNING, 0, 0, 1e9);
    }
    sy_live_restore_load(next, s->live);
    sy_live_destroy(s->live);
    s->live = next;
    s->view = sy_live_view(next);
}

static void worlds_are_exchanged_meanwhile(void **state) {
    (void)state;
    for (int long_first = 0; long_first < 2; long_first++) {
        struct stage s;
        push(&s);
        begin_short(&s, 1e8);
        exchange(&s, true, long_first);
        check_aside(&s, 1e8);
        sy_live_clock(s.live, 1.01e8);
        sy_live_done(s.live, SHORT, 1e6);
        check_back(&s, 1.01e8);
        finish(&s);
        push(&s);
        exchange(&s, false, long_first);
        assert_int_equal(s.view->devices[0].running, LONG);
        assert_false(s.view->devices[0].preemptible);
        assert_int_equal(sy_live_first(s.live, 0), SY_NONE);
        begin_short(&s, 1e8);
        check_aside(&s, 1e8);
        finish(&s);
    }
}

/* It has taken twice its time: it is not taken to be about to end, which would queue others. */
static void late_ones_need_more(void **state) {
    (void)state;
    struct stage s;
    open(&s, "lb+wspt", true);
    sy_live_clock(s.live, 2e9);
    sy_live_ready(s.live, SHORT);
    ask(&s, 2e9);
    assert_int_equal(s.pushed, SHORT);
    begin_short(&s, 2e9);
    assert_true(s.view->devices[0].queued_ns >= 1e8 - 1);
    finish(&s);
}

/* Nor without being asked to, nor by an order that lets the first come first. */
static void nobody_pushes_else(void **state) {
    (void)state;
    static const char *const policies[] = {"lb+wspt", "lb+fifo", "lb"};
    for (uint32_t i = 0; i < SY_COUNT(policies); i++) {
        struct stage s;
        open(&s, policies[i], i > 0);
        sy_live_clock(s.live, 1e8);
        sy_live_ready(s.live, SHORT);
        ask(&s, 1e8);
        assert_int_equal(s.pushed, SY_NONE);
        finish(&s);
    }
}

/* What is told of a job is what the policy sees. */
static void jobs_are_told_of(void **state) {
    (void)state;
    struct stage s;
    open(&s, "lb+wspt", false);
    assert_true(s.view->jobs[1].arrive_ns == 1e3 && s.view->jobs[1].isolated_ns == 1e6);
    const double ns = 5;
    sy_live_begin_job(s.live, 0, 1);
    sy_live_tell_job(s.live, 0, 77);
    sy_live_add_task(s.live, &(struct sy_live_task){.time_ns = &ns});
    sy_live_end_job(s.live);
    assert_true(s.view->jobs[3].isolated_ns == 77);
    assert_true(s.view->jobs[3].work_left_ns == 5);
    finish(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_stands_aside_and_goes_on),
        cmocka_unit_test(its_end_is_told_late),
        cmocka_unit_test(worlds_are_exchanged_meanwhile),
        cmocka_unit_test(late_ones_need_more),
        cmocka_unit_test(nobody_pushes_else),
        cmocka_unit_test(jobs_are_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
