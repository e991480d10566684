/* SPDX-License-Identifier: Apache-2.0
 *
 * A world without a simulator; see view.h.
 */
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NEW(count, type)                                                                           \
    ((type *)checked(sy_arena_alloc(view->arena, (size_t)(count) + 1, sizeof(type))))

static void *checked(void *memory) {
    assert_non_null(memory);
    return memory;
}

static void open_state(struct view *view, const struct sy_workload *w) {
    view->devices = NEW(w->machine->device_count, struct sy_view_device);
    view->jobs = NEW(w->job_count, struct sy_view_job);
    view->task_state = NEW(w->task_count, uint8_t);
    view->task_device = NEW(w->task_count, uint32_t);
    view->data_valid = NEW(w->data_count, uint64_t);
    view->data_inflight = NEW(w->data_count, uint64_t);
    memcpy(view->data_valid, w->data_home, w->data_count * sizeof *w->data_home);
    memset(view->task_device, 0xff, w->task_count * sizeof *view->task_device);
    for (uint32_t d = 0; d < w->machine->device_count; d++) {
        view->devices[d] =
            (struct sy_view_device){.running = SY_NONE, .image = SY_NONE, .last_image = SY_NONE};
    }
    for (uint32_t j = 0; j < w->job_count; j++) {
        uint32_t first = w->job_first_task[j], end = w->job_first_task[j + 1];
        view->jobs[j] = (struct sy_view_job){.first_task = first,
                                             .task_count = end - first,
                                             .tenant = w->jobs[j].tenant,
                                             .weight = w->jobs[j].weight,
                                             .arrive_ns = w->jobs[j].arrive_ns,
                                             .isolated_ns = w->job_isolated_ns[j],
                                             .tasks_left = end - first};
    }
}

void view_open(struct view *view, const struct sy_workload *w) {
    *view = (struct view){.arena = checked(sy_arena_create())};
    open_state(view, w);
    view->view = (struct sy_view){.machine = w->machine,
                                  .devices = view->devices,
                                  .job_count = w->job_count,
                                  .task_capacity = w->task_count,
                                  .job_capacity = w->job_count,
                                  .kernel_count = w->kernel_count,
                                  .jobs = view->jobs,
                                  .task_job = w->task_job,
                                  .task_kernel = w->task_kernel,
                                  .task_state = view->task_state,
                                  .task_device = view->task_device,
                                  .succ_start = w->succ_start,
                                  .succ = w->succ,
                                  .pred_start = w->pred_start,
                                  .pred = w->pred,
                                  .access_start = w->access_start,
                                  .access = w->access,
                                  .access_producer = w->access_producer,
                                  .order = w->order,
                                  .time_ns = w->time_ns,
                                  .best_ns = w->best_ns,
                                  .log_sigma = w->log_sigma,
                                  .demand_bytes_per_s = w->demand_bytes_per_s,
                                  .link_demand_bytes_per_s = w->link_demand_bytes_per_s,
                                  .image_ns = w->image_ns,
                                  .data_bytes = w->data_bytes,
                                  .data_valid = view->data_valid,
                                  .data_inflight = view->data_inflight};
}

void view_close(struct view *view) {
    sy_arena_destroy(view->arena);
    *view = (struct view){0};
}

/* By way of the policies' own start, then out of its arena and into ours. */
void view_policy(struct view *view, struct policy *ret_policy) {
    struct sy_scheduler scheduler = {.ops = &sy_policy_eager, .seed = 1};
    assert_int_equal(sy_policy_init(&scheduler, &view->view, "", sizeof(struct policy)), 0);
    *ret_policy = *(struct policy *)scheduler.state;
    sy_policy_finish(&scheduler);
    ret_policy->arena = view->arena;
    ret_policy->rank = NEW(view->view.task_capacity, double);
    ret_policy->service_ns = NEW(view->view.job_capacity, double);
    ret_policy->start_tag_ns = NEW(view->view.task_capacity, double);
}
