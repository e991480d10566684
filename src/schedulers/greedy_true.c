/* SPDX-License-Identifier: Apache-2.0
 *
 * greedy-true: late binding that is told true times and true contention. It shows what could be
 * gained by knowing them, and is no policy for use; with a gate it also lets a task wait instead of
 * starting it during contention.
 */
#include "schedulers/late_binding.h"

static int init_true(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_late_init(s, view, args, sizeof(struct late),
                        (struct late_mode){.locality = true, .contention = true});
}

static int init_gate(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    struct late_mode mode = {.locality = true, .contention = true, .gate = true};
    return sy_late_init(s, view, args, sizeof(struct late), mode);
}

LATE(sy_policy_greedy_true, "greedy-true", "late binding with true times and true contention",
     init_true, false, true);
LATE(sy_policy_gate, "greedy-true-gate",
     "greedy-true with a gate: a task waits instead of starting during contention", init_gate,
     false, true);
