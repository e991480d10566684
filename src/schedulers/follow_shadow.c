/* SPDX-License-Identifier: Apache-2.0
 *
 * A follower in a rehearsal: another policy asks how a plan would do, from its beginning or from
 * where that policy stands with it.
 */
#include "schedulers/follow_plan.h"

static int shadow_init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_follow_init(s, view, args, sizeof(struct shadow),
                          (struct late_mode){.locality = true});
}

static void shadow_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct shadow *shadow = s->state;
    sy_late_job_arrived(s, view, job);
    if (shadow->plan) {
        sy_follow_begin(&shadow->follow, view, job, shadow->plan, shadow->strict);
    } else {
        sy_follow_resume(&shadow->follow, view, job, shadow->beside, shadow->strict);
    }
}

static void shadow_left(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    sy_late_job_left(s, view, job);
    ((struct shadow *)s->state)->follow.following = false;
}

const struct sy_scheduler_ops sy_follow_shadow = {.name = "shadow",
                                                  .init = shadow_init,
                                                  .finish = sy_policy_finish,
                                                  .job_arrived = shadow_arrived,
                                                  .job_left = shadow_left,
                                                  .task_ready = sy_follow_task_ready,
                                                  .task_done = sy_follow_task_done,
                                                  .decide = sy_follow_decide};
