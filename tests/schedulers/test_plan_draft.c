/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans under construction against a plain table of intervals: where a task fits first, what stands
 * beside it, what remains after it is taken away.
 */
#include "fixture.h"
#include "view.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { TASKS = 40 };

struct table {
    bool placed[TASKS];
    uint32_t device[TASKS];
    double start[TASKS], end[TASKS];
};

/* A start is when the inputs are there, when the device is open, or when some task ends. */
static double plain_slot(const struct table *table, uint32_t device, double ready, double open,
                         double length) {
    double best = INFINITY;
    for (int c = 0; c <= TASKS; c++) {
        bool end_of = c < TASKS && table->placed[c] && table->device[c] == device;
        double start = end_of ? fmax(table->end[c], fmax(ready, open)) : fmax(ready, open);
        bool fits = c == TASKS || end_of;
        for (int t = 0; fits && t < TASKS; t++) {
            fits = !table->placed[t] || table->device[t] != device ||
                   start + length <= table->start[t] || start >= table->end[t];
        }
        best = fits ? fmin(best, start) : best;
    }
    return best;
}

/* The lists hold exactly what the table does, in order of time, linked both ways. */
static void check_lists(const struct draft *plan, const struct table *table, uint32_t devices) {
    for (uint32_t d = 0; d < devices; d++) {
        uint32_t count = 0, expected = 0, before = SY_NONE;
        for (uint32_t t = plan->first[d]; t != SY_NONE; t = plan->after[t]) {
            assert_true(table->placed[t] && table->device[t] == d);
            assert_int_equal(plan->before[t], before);
            assert_true(before == SY_NONE || plan->end_ns[before] <= plan->start_ns[t]);
            before = t;
            count++;
        }
        assert_int_equal(plan->last[d], before);
        for (int t = 0; t < TASKS; t++) {
            expected += table->placed[t] && table->device[t] == d;
        }
        assert_int_equal(count, expected);
    }
}

static void slots_as_defined(void **state) {
    (void)state;
    struct fixture f;
    fixture_one(&f, "cpu:2 gpu:1", "independent:40");
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 6, 0);
        struct view view;
        struct draft plan = {0};
        struct table table = {0};
        view_open(&view, f.workload);
        view.view.now_ns = 100;
        view.devices[1] = (struct sy_view_device){.running = 0, .running_end_ns = 400};
        assert_int_equal(sy_draft_take(&plan, view.arena, &view.view), 0);
        sy_draft_begin(&plan, &view.view);
        for (uint32_t step = 0; step < 400; step++) {
            uint32_t task = sy_rng_below(&rng, TASKS), device = sy_rng_below(&rng, 3), before;
            if (table.placed[task]) {
                table.placed[task] = false;
                sy_draft_remove(&plan, task);
                continue;
            }
            double ready = 100 + sy_rng_below(&rng, 1500), length = 1 + sy_rng_below(&rng, 200);
            double start = sy_draft_slot_ns(&plan, device, ready, length, &before);
            double expected = plain_slot(&table, device, ready, device == 1 ? 400 : 100, length);
            if (start != expected) {
                fail_msg("seed %lu, step %u: %.9g, not %.9g", seed, step, start, expected);
            }
            sy_draft_place(&plan, task, device, start, start + length, before);
            table.placed[task] = true;
            table.device[task] = device;
            table.start[task] = start;
            table.end[task] = start + length;
            check_lists(&plan, &table, 3);
        }
        view_close(&view);
    }
    fixture_finish(&f);
}

/* A task of no length that is ready when another ends goes behind it, though it would fit before.
 */
static void no_length_goes_behind(void **state) {
    (void)state;
    struct fixture f;
    struct view view;
    struct draft plan = {0};
    uint32_t before;
    fixture_one(&f, "cpu:1", "independent:4");
    view_open(&view, f.workload);
    assert_int_equal(sy_draft_take(&plan, view.arena, &view.view), 0);
    sy_draft_begin(&plan, &view.view);
    sy_draft_place(&plan, 0, 0, 0, 100, SY_NONE);
    sy_draft_place(&plan, 1, 0, 100, 100, 0);
    sy_draft_place(&plan, 2, 0, 300, 300, 1);
    assert_near(sy_draft_slot_ns(&plan, 0, 100, 0, &before), 100, 0);
    assert_int_equal(before, 1);
    assert_near(sy_draft_slot_ns(&plan, 0, 300, 0, &before), 300, 0);
    assert_int_equal(before, 2);
    assert_near(sy_draft_slot_ns(&plan, 0, 100, 50, &before), 100, 0); /* nor past a gap */
    assert_int_equal(before, 1);
    view_close(&view);
    fixture_finish(&f);
}

/* Of tasks that start together those that take no time come first, in the order given. */
static void sorted_by_start_and_end(void **state) {
    (void)state;
    const double start_ns[] = {5, 5, 1, 5, 7, 1}, end_ns[] = {9, 5, 4, 5, 7, 1};
    uint32_t tasks[] = {0, 1, 2, 3, 4, 5}, scratch[6];
    const uint32_t sorted[] = {5, 2, 1, 3, 0, 4};
    sy_draft_sort(tasks, 6, start_ns, end_ns, scratch);
    assert_memory_equal(tasks, sorted, sizeof sorted);
}

/* The next plan starts behind this one; a lost device takes nothing. */
static void plans_follow_each_other(void **state) {
    (void)state;
    struct fixture f;
    struct view view;
    struct draft plan = {0};
    uint32_t before;
    fixture_one(&f, "cpu:2", "independent:4");
    view_open(&view, f.workload);
    assert_int_equal(sy_draft_take(&plan, view.arena, &view.view), 0);
    sy_draft_begin(&plan, &view.view);
    sy_draft_place(&plan, 0, 0, 0, 500, SY_NONE);
    assert_near(plan.makespan_ns, 500, 0);
    sy_draft_keep(&plan, &view.view);
    view.devices[1].lost = true;
    sy_draft_begin(&plan, &view.view);
    assert_near(plan.makespan_ns, 0, 0);
    assert_near(sy_draft_slot_ns(&plan, 0, 10, 5, &before), 500, 0);
    assert_int_equal(before, SY_NONE);
    assert_true(isinf(sy_draft_slot_ns(&plan, 1, 10, 5, &before)));
    view_close(&view);
    fixture_finish(&f);
}

/* Inputs: the end of every predecessor, and of every copy from where it was planned. */
static void inputs_as_defined(void **state) {
    (void)state;
    const struct random_shape shape = {8, 14, 2, 5, 2, 3, 0.3, 1, 0};
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 7, 0);
        struct instance instance;
        struct view view;
        struct draft plan = {0};
        instance_random(&instance, &shape, seed);
        struct sy_graph *graph = fixture_complete(&instance);
        const struct sy_workload *w = instance.workload;
        const struct sy_machine *m = w->machine;
        view_open(&view, w);
        assert_int_equal(sy_draft_take(&plan, view.arena, &view.view), 0);
        sy_draft_begin(&plan, &view.view);
        for (uint32_t t = 0; t < w->task_count; t++) {
            for (uint32_t to = 0; to < m->memory_count; to++) {
                double ready = 0;
                for (uint32_t e = w->pred_start[t]; e < w->pred_start[t + 1]; e++) {
                    ready = fmax(ready, plan.end_ns[w->pred[e]]);
                }
                for (uint32_t a = w->access_start[t]; a < w->access_start[t + 1]; a++) {
                    uint32_t datum = w->access[a].datum, producer = w->access_producer[a];
                    if (w->access[a].mode != SY_READ) {
                        continue;
                    }
                    uint32_t from = producer == SY_NONE
                                        ? (uint32_t)__builtin_ctzll(w->data_home[datum])
                                        : m->devices[plan.device[producer]].memory;
                    double sent = producer == SY_NONE ? 0 : plan.end_ns[producer];
                    ready =
                        fmax(ready, sent + sy_cost_transfer_ns(m, from, to, w->data_bytes[datum]));
                }
                assert_near(sy_draft_inputs_ns(&plan, &view.view, t, to), ready, 1e-9 * ready);
            }
            uint32_t device = sy_rng_below(&rng, m->device_count);
            double start = 1000 * sy_rng_uniform(&rng); /* anywhere: only ends matter here */
            sy_draft_place(&plan, t, device, start, start + 10, plan.last[device]);
        }
        view_close(&view);
        sy_graph_destroy(graph);
        instance_finish(&instance);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_as_defined),        cmocka_unit_test(no_length_goes_behind),
        cmocka_unit_test(sorted_by_start_and_end), cmocka_unit_test(plans_follow_each_other),
        cmocka_unit_test(inputs_as_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
