/* SPDX-License-Identifier: Apache-2.0
 *
 * A world without a simulator: the view of a workload whose jobs have all arrived, with every
 * state a test wants to set.
 */
#ifndef SY_TESTS_SCHEDULERS_VIEW_H
#define SY_TESTS_SCHEDULERS_VIEW_H

#include "schedulers/policy.h"

struct view {
    struct sy_view view;
    struct sy_arena *arena;
    struct sy_view_device *devices;
    struct sy_view_job *jobs;
    uint8_t *task_state;
    uint32_t *task_device;
    uint64_t *data_valid, *data_inflight;
};

void view_open(struct view *view, const struct sy_workload *workload);
void view_close(struct view *view);
/* A policy's shared state, from the view's arena; no order, no drift. */
void view_policy(struct view *view, struct policy *ret_policy);

#endif
