/* SPDX-License-Identifier: Apache-2.0
 *
 * Finish estimates in random situations against the sum of their terms, and what history does.
 */
#include "fixture.h"
#include "view.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Queues, running tasks, images, losses and data wherever the dice put them. */
static void stir(struct view *view, struct sy_rng *rng) {
    const struct sy_machine *m = view->view.machine;
    view->view.now_ns = 1000 * sy_rng_uniform(rng);
    view->view.shared_links = sy_rng_below(rng, 2);
    for (uint32_t d = 0; d < m->device_count; d++) {
        bool runs = sy_rng_below(rng, 2);
        uint32_t queue = sy_rng_below(rng, 3), kernels = view->view.kernel_count;
        view->devices[d] = (struct sy_view_device){
            .running = runs ? 0 : SY_NONE,
            .running_end_ns = 2e6 * sy_rng_uniform(rng) - 1e5, /* may be overdue */
            .queue_length = queue,
            .queued_ns = queue * 1e6 * sy_rng_uniform(rng),
            .image = sy_rng_below(rng, 2) ? SY_NONE : sy_rng_below(rng, kernels),
            .last_image = sy_rng_below(rng, 2) ? SY_NONE : sy_rng_below(rng, kernels),
            .lost = sy_rng_below(rng, 4) == 0};
    }
    uint64_t all = (UINT64_C(1) << m->memory_count) - 1;
    for (uint32_t a = 0; a < view->view.access_start[view->view.task_capacity]; a++) {
        uint32_t datum = view->view.access[a].datum;
        view->data_valid[datum] = sy_rng_u32(rng) & all; /* none: not written yet */
        view->data_inflight[datum] = sy_rng_u32(rng) & all & ~view->data_valid[datum];
    }
}

static double plain_copy(const struct sy_view *view, uint32_t datum, uint32_t to) {
    double best = INFINITY;
    for (uint32_t from = 0; from < view->machine->memory_count; from++) {
        if (view->data_valid[datum] >> from & 1) {
            best =
                fmin(best, sy_cost_transfer_ns(view->machine, from, to, view->data_bytes[datum]));
        }
    }
    return view->data_inflight[datum] >> to & 1 ? best / 2 : best;
}

static double plain_inputs(const struct sy_view *view, uint32_t task, uint32_t memory) {
    double sum = 0, longest = 0;
    for (uint32_t a = view->access_start[task]; a < view->access_start[task + 1]; a++) {
        uint32_t datum = view->access[a].datum;
        bool wanted = (view->access[a].mode & SY_READ) && view->data_valid[datum] &&
                      !(view->data_valid[datum] >> memory & 1);
        double ns = wanted ? plain_copy(view, datum, memory) : 0;
        sum += ns;
        longest = fmax(longest, ns);
    }
    return view->shared_links ? sum : longest; /* copies share links, or travel side by side */
}

static double plain_exec(const struct sy_view *view, uint32_t task, uint32_t device) {
    const struct sy_machine *m = view->machine;
    const struct sy_view_device *d = &view->devices[device];
    uint32_t kernel = view->task_kernel[task], board = m->devices[device].board;
    double ns = view->time_ns[task * m->class_count + m->devices[device].class_index];
    if (board == SY_NONE) {
        return ns;
    }
    uint32_t image = d->running == SY_NONE && !d->queue_length ? d->image : d->last_image;
    return ns + (image == kernel ? 0 : view->image_ns[kernel * m->board_count + board]);
}

static double plain_finish(const struct sy_view *view, uint32_t task, uint32_t device) {
    const struct sy_view_device *d = &view->devices[device];
    double free_ns = d->running == SY_NONE ? view->now_ns : fmax(view->now_ns, d->running_end_ns);
    double inputs_ns =
        view->now_ns + plain_inputs(view, task, view->machine->devices[device].memory);
    return d->lost ? INFINITY
                   : fmax(free_ns + d->queued_ns, inputs_ns) + plain_exec(view, task, device);
}

static void check_task(const struct policy *policy, const struct sy_view *view, uint32_t task,
                       uint64_t seed) {
    double best = INFINITY;
    for (uint32_t d = 0; d < view->machine->device_count; d++) {
        best = fmin(best, plain_finish(view, task, d));
    }
    struct sy_choice choice = sy_estimate_earliest(policy, view, task);
    if (!isfinite(best)) {
        assert_int_equal(choice.device, SY_NONE);
        return;
    }
    if (choice.device == SY_NONE || fabs(choice.finish_ns - best) > 1e-9 * best) {
        fail_msg("seed %lu, task %u: finish %.12g, by hand %.12g", seed, task, choice.finish_ns,
                 best);
    }
    assert_near(plain_finish(view, task, choice.device), best, 1e-9 * best);
    assert_near(choice.exec_ns, plain_exec(view, task, choice.device), 1e-9 * best);
}

static void earliest_finish(void **state) {
    (void)state;
    struct fixture f;
    fixture_one(&f, "2x(cpu:2 gpu:1) fpga:1@regions=2", "genomics:3,regions=2");
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct sy_rng rng = sy_rng_make(seed, 5, 0);
        struct view view;
        struct policy policy;
        view_open(&view, f.workload);
        view_policy(&view, &policy);
        stir(&view, &rng);
        for (uint32_t t = 0; t < f.workload->task_count; t++) {
            check_task(&policy, &view.view, t, seed);
        }
        view_close(&view);
    }
    fixture_finish(&f);
}

/* A kernel that always takes twice its time on one class is believed to, there and only there. */
static void history_corrects(void **state) {
    (void)state;
    struct fixture f;
    struct view view;
    struct policy policy;
    fixture_one(&f, "cpu:1 gpu:1", "independent:3");
    view_open(&view, f.workload);
    view_policy(&view, &policy);
    assert_int_equal(sy_policy_use_drift(&policy, &view.view), 0);
    double cpu = sy_estimate_time_ns(&view.view, 0, 0), gpu = sy_estimate_time_ns(&view.view, 0, 1);
    assert_near(sy_estimate_exec_ns(&policy, &view.view, 0, 0), cpu, 1e-6);
    for (int i = 0; i < 60; i++) {
        sy_policy_observe(&policy, &view.view, 1, 0, 2 * cpu);
    }
    assert_near(sy_estimate_exec_ns(&policy, &view.view, 0, 0), 2 * cpu, 0.05 * cpu);
    assert_near(sy_estimate_exec_ns(&policy, &view.view, 0, 1), gpu, 1e-6);
    view_close(&view);
    fixture_finish(&f);
}

/* What should have ended still needs some of its own time, and of the time that it is late. */
static void ends_of_what_runs(void **state) {
    (void)state;
    struct fixture f;
    struct view view;
    fixture_one(&f, "cpu:1", "independent:2");
    view_open(&view, f.workload);
    view.view.now_ns = 1e9;
    assert_near(sy_estimate_end_ns(&view.view, 0), 1e9, 0);
    double own_ns = sy_estimate_time_ns(&view.view, 0, 0);
    view.devices[0].running = 0;
    view.devices[0].running_end_ns = 1e9 + 5;
    assert_near(sy_estimate_end_ns(&view.view, 0), 1e9 + 5, 0);
    view.devices[0].running_end_ns = 1e9 - 1;
    assert_near(sy_estimate_end_ns(&view.view, 0), 1e9 + 0.3 * own_ns, 1e-3);
    view.devices[0].running_end_ns = 1e9 - 4 * own_ns;
    assert_near(sy_estimate_end_ns(&view.view, 0), 1e9 + 2 * own_ns, 1e-3);
    view_close(&view);
    fixture_finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(earliest_finish),
        cmocka_unit_test(history_corrects),
        cmocka_unit_test(ends_of_what_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
