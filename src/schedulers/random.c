/* SPDX-License-Identifier: Apache-2.0
 *
 * random: any device that can, at random. It shows what thinking is worth.
 */
#include "schedulers/place_when_ready.h"

static uint32_t random_device(struct when_ready *w, const struct sy_view *view, uint32_t task) {
    uint32_t count = view->machine->device_count;
    uint32_t first = sy_rng_below(&w->base.rng, count);
    for (uint32_t i = 0; i < 64; i++) { /* uniform over those that can; rejection first */
        if (sy_when_ready_can(view, task, first)) {
            return first;
        }
        first = sy_rng_below(&w->base.rng, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (sy_when_ready_can(view, task, (first + i) % count)) {
            return (first + i) % count;
        }
    }
    return SY_NONE;
}

struct sy_choice sy_random_choose(struct when_ready *w, const struct sy_view *view, uint32_t task) {
    uint32_t device = random_device(w, view, task);
    return device == SY_NONE ? (struct sy_choice){SY_NONE, 0, 0}
                             : sy_when_ready_on(w, view, task, device);
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return sy_when_ready_init(s, view, args, sy_random_choose, false, false);
}

WHEN_READY(sy_policy_random, "random", "any device that can, at random", init);
