/* SPDX-License-Identifier: Apache-2.0
 *
 * rr: round robin. Each task goes to the next device that can run it.
 */
#include "schedulers/place_when_ready.h"

static struct sy_choice in_turn(struct when_ready *w, const struct sy_view *view, uint32_t task) {
    uint32_t count = view->machine->device_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t device = w->turn++ % count;
        if (sy_when_ready_can(view, task, device)) {
            return sy_when_ready_on(w, view, task, device);
        }
    }
    return (struct sy_choice){SY_NONE, 0, 0};
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_when_ready_init(s, view, args, in_turn, false, false);
}

WHEN_READY(sy_policy_round_robin, "rr", "devices in turn", init);
