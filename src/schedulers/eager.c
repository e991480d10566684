/* SPDX-License-Identifier: Apache-2.0
 *
 * eager: an idle device takes the oldest ready task. prio: the one of highest upward rank.
 */
#include "schedulers/take_when_idle.h"

static double oldest(const struct when_idle *w, const struct sy_view *view, uint32_t task,
                     uint32_t class_index) {
    (void)view, (void)task, (void)class_index;
    return -w->arrivals;
}

static double highest(const struct when_idle *w, const struct sy_view *view, uint32_t task,
                      uint32_t class_index) {
    (void)view, (void)class_index;
    return w->base.rank[task];
}

static int init_eager(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_when_idle_init(s, view, args, oldest);
}

static int init_priority(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_when_idle_init(s, view, args, highest);
}

WHEN_IDLE(sy_policy_eager, "eager", "an idle device takes the oldest ready task", init_eager);
WHEN_IDLE(sy_policy_priority, "prio", "an idle device takes the ready task of highest upward rank",
          init_priority);
